"""The board's pages of cases: the list, a case, and the vote (R19-R22).

Nothing here shows anything of a case but through `case_seen_by` and `case_opened_by` (R21).
"""

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.forms import HiddenInput, TextInput
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django_filters import CharFilter, ChoiceFilter

from adjudication.counting import CHOICES
from adjudication.rules import REASONS
from adjudication.wording import REASON_WORDS
from common.domain_clock import domain_now
from common.errors import Conflict, DomainError, InvalidInput
from common.web.error_status import http_status
from common.web.form_fields import errors_of, go_to
from common.web.lists import ListFilter, page_of
from common.web.page import page
from contest.board.case_messages import what_of
from contest.board.cases import (
    MOST_WORDS,
    Count,
    ballot_of,
    case_opened_by,
    case_seen_by,
    count_of,
    refuse_missing_parties,
    vote_cast,
)
from contest.board.models import Vote
from contest.board.motions import motion_drop
from contest.board.public_decisions import CHOICE_WORDS, ballot_words, public_decision
from contest.board.recusal import undisclosed
from contest.board.selectors import cases_listed, count_by_state, neighbours, parties_of, to_vote_on
from contest.core.enums import CaseKind, CaseState, PartyRole, VoteChoice
from contest.core.models import Case
from contest.core.roles import board_member_of
from contest.core.teams import final_team
from contest.pages.board.case_content import picture_content
from contest.pages.board.case_list import rows_of
from contest.pages.board.case_words import motion_content
from contest.pages.board.disclosure_forms import ROLE_WORDS
from contest.pages.board.disclosure_views import disclose_first
from contest.web.page_context import frame
from labeling.enums import Label

ON_A_PAGE = 25
EVERY_STATE = "all"
# The list -------------------------------------------------------------------------------------------------------------


class CaseFilter(ListFilter):
    """Cases by state, by what they are about, and by an ID."""

    state = CharFilter(widget=HiddenInput)
    find = CharFilter(
        label="ID of a case, picture, appeal or team",
        max_length=80,
        widget=TextInput({"type": "search", "autocomplete": "off"}),
    )
    kind = ChoiceFilter(
        label="About",
        empty_label="everything",
        choices=[(CaseKind.PICTURE.value, "pictures"), (CaseKind.MOTION.value, "motions")],
    )

    @property
    def shown_state(self) -> str:
        """Return the state whose cases are listed."""
        state = self.data.get("state")
        return state if state in {*CaseState, EVERY_STATE} else CaseState.OPEN.value

    @property
    def rest(self) -> dict[str, str]:
        """Return the other filters."""
        given = self.form.cleaned_data if self.is_valid() else {}
        return {name: given.get(name, "") for name in ("kind", "find")}

    def filter_queryset(self, queryset: QuerySet[Case]) -> QuerySet[Case]:
        """Filter the list."""
        state = "" if self.shown_state == EVERY_STATE else self.shown_state
        return cases_listed(self.request.user, state=state, **self.rest)


@page(board_member_of)
def case_list(request: HttpRequest, member: User) -> HttpResponse:
    """List the cases that the member may know of: open ones that wait for their vote first, with their clocks."""
    now = domain_now()
    filtered = CaseFilter(request, cases_listed(member))
    page = page_of(request, filtered.rows, ON_A_PAGE)
    context = {
        "filter": filtered,
        "state": filtered.shown_state,
        "counts": count_by_state(member, **filtered.rest),
        "page": page,
        "rows": rows_of(page.object_list, member, now=now),
        "to_vote": to_vote_on(member).count(),
        "query": urlencode(filtered.rest),
    }
    return render(request, "board/cases.html", context | frame(now))


# A case ---------------------------------------------------------------------------------------------------------------


@page(board_member_of)
def case_page(request: HttpRequest, member: User, public_id: str) -> HttpResponse:
    """Show a case that is open to the member: what it is about, the votes, and what was decided."""
    refuse_missing_parties(case_seen_by(member, public_id), now=domain_now())
    try:
        case = case_opened_by(member, public_id)
    except Conflict:
        return redirect("board-case-disclose", public_id)
    return show_case(request, case, member)


def show_case(request: HttpRequest, case: Case, member: User, error: DomainError | None = None) -> HttpResponse:
    now = domain_now()
    framed = frame(now)
    before, after = neighbours(case, member)
    content = (
        picture_content(case, member, now=now)
        if case.kind == CaseKind.PICTURE
        else motion_content(case, currency=framed["currency"])
    )
    context = {
        "case": case,
        "what": what_of(case),
        "before": before,
        "after": after,
        "overdue": case.state == CaseState.OPEN and case.due_at <= now,
        "decision": _decision_of(case),
        "parties": [(final_team(each.team), ROLE_WORDS[PartyRole(each.role)]) for each in reversed(parties_of(case))],
        **content,
        **_voting(request, case, member, error),
    }
    status = http_status(error) if error else 200
    name = "board/picture_case.html" if case.kind == CaseKind.PICTURE else "board/motion_case.html"
    return render(request, name, context | framed, status=status)


def _decision_of(case: Case) -> Any:
    decision = getattr(case, "decision", None)
    return public_decision(decision) if decision is not None else None


def _voting(request: HttpRequest, case: Case, member: User, error: DomainError | None) -> dict[str, Any]:
    """Return what the form of the vote needs, with the votes of others once the member has voted."""
    count = count_of(case)
    mine = next((vote for vote in count.votes if vote.member_id == member.pk), None)
    return {
        "count": count,
        "mine": mine,
        "mine_words": ballot_words(ballot_of(mine)) if mine else "",
        "votes": votes_shown(count, member) if mine else [],
        "decides": ballot_words(count.decides),
        "missing": max(count.quorum - len(count.votes), 0),
        "choices": [(each.value, CHOICE_WORDS[each]) for each in CHOICES[CaseKind(case.kind)]],
        "labels": [each.value for each in Label],
        "reasons": [(each.value, REASON_WORDS[each].words) for each in REASONS],
        "joins": case.ruling is not None and case.ruling.label != "",
        "typed": _typed(request) if error else _of_vote(mine),
        "errors": errors_of(error) if error else {},
        "refused": error,
        "longest": MOST_WORDS,
        "may_drop": case.kind == CaseKind.MOTION and case.opened_by_id == member.pk and case.state == CaseState.OPEN,
    }


def votes_shown(count: Count, member: User) -> list[dict[str, Any]]:
    """Return the votes that count now, without names but whether it is the member's own."""
    return [
        {"vote": vote, "words": ballot_words(ballot_of(vote)), "own": vote.member_id == member.pk}
        for vote in count.votes
    ]


def _typed(request: HttpRequest) -> dict[str, Any]:
    return {
        "choice": request.POST.get("choice", ""),
        "outcome": request.POST.get("outcome", ""),
        "reasons": request.POST.getlist("reasons"),
        "words": request.POST.get("words", request.POST.get("explanation", "")),
        "public": bool(request.POST.get("public")),
    }


def _of_vote(vote: Vote | None) -> dict[str, Any]:
    if vote is None:
        return {"reasons": []}
    outcome = vote.label or ("reject" if vote.reasons else "")
    told = {"choice": vote.choice, "outcome": outcome, "reasons": vote.reasons}
    return told | {"words": vote.words, "public": vote.public}


# Voting ---------------------------------------------------------------------------------------------------------------


@page(board_member_of, "GET POST")
def case_vote(request: HttpRequest, member: User, public_id: str) -> HttpResponse:
    """Cast or change the member's vote; what was typed is kept whatever is refused. Who comes here by an address, as
    after signing in again, is led to the case."""
    now = domain_now()
    case = case_seen_by(member, public_id)
    if request.method != "POST":
        return redirect("board-case", public_id)
    try:
        vote = vote_cast(case=case, by=member, now=now, **_vote_of(request))
    except DomainError as error:
        return _refused(request, public_id, member, error)
    words = f"Your vote is recorded: {ballot_words(ballot_of(vote))}. You can change it until the case is decided."
    messages.success(request, words)
    return go_to("board-case", public_id)


def _vote_of(request: HttpRequest) -> dict[str, Any]:
    typed = _typed(request)
    if typed["choice"] not in set(VoteChoice):
        raise InvalidInput("Choose what you vote for.", "invalid", field="choice")
    overrules = typed["choice"] == VoteChoice.OVERRULE
    return {
        "choice": VoteChoice(typed["choice"]),
        "label": typed["outcome"] if overrules and typed["outcome"] != "reject" else "",
        # What is ticked under another choice than the rejection is no part of the vote.
        "reasons": typed["reasons"] if overrules and typed["outcome"] == "reject" else [],
        "words": typed["words"],
        "public": typed["public"],
    }


def _refused(request: HttpRequest, public_id: str, member: User, error: DomainError) -> HttpResponse:
    """Show the case again with what is wrong; what ties the member to a new team is asked first, with the words kept.

    Http404 where the member steps aside by now."""
    case = case_seen_by(member, public_id)
    if undisclosed(case, member):
        return disclose_first(request, case, member, error, kept=request.POST.get("words", ""))
    return show_case(request, case, member, error)


@page(board_member_of, "GET POST")
def case_drop(request: HttpRequest, member: User, public_id: str) -> HttpResponse:
    """Let who moved something take it back while it is open; who comes here by an address is led to the case."""
    case = case_seen_by(member, public_id)
    if request.method != "POST":
        return redirect("board-case", public_id)
    try:
        motion_drop(case=case, by=member, now=domain_now())
    except DomainError as error:
        return _refused(request, public_id, member, error)
    messages.success(request, f"Motion {public_id} is taken back. It stays on record with its votes.")
    return go_to("board-case", public_id)
