"""The board's pages of cases: the list, a case, and the vote (R19-R22).

Every page checks access to a case by `case_seen_by` or `case_opened_by` (R21).
"""

from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.forms import HiddenInput, TextInput
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django_filters import CharFilter, ChoiceFilter

from common.domain_clock import domain_now
from common.errors import Conflict
from common.web.form_fields import redirect_with_message
from common.web.forms import Form
from common.web.lists import ListFilter, page_of
from common.web.page import page
from contest.board.case_messages import describe_case
from contest.board.cases import (
    VoteCount,
    ballot_of,
    case_opened_by,
    case_seen_by,
    count_of,
    refuse_missing_parties,
)
from contest.board.models import Vote
from contest.board.public_decisions import ballot_words, public_decision
from contest.board.recusal import undisclosed
from contest.board.selectors import cases_listed, count_by_state, neighbouring_cases, parties_of, to_vote_on
from contest.core.enums import CaseKind, CaseState, PartyRole
from contest.core.models import Case
from contest.core.roles import board_member_of
from contest.core.teams import final_team
from contest.pages.board.case_content import picture_case_content
from contest.pages.board.case_list import case_rows
from contest.pages.board.case_words import motion_content
from contest.pages.board.disclosure_forms import ROLE_WORDS
from contest.pages.board.disclosure_views import disclose_first
from contest.pages.board.vote_forms import DropMotionForm, VoteForm
from contest.web.page_context import money_context

PAGE_SIZE = 25
EVERY_STATE = "all"
# The list -------------------------------------------------------------------------------------------------------------


class CaseFilter(ListFilter):
    """Filters cases by state, by subject, and by an ID."""

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
    """List the cases that the member may see, with deadlines: open ones that wait for the member's vote come first."""
    now = domain_now()
    filtered = CaseFilter(request, cases_listed(member))
    page = page_of(request, filtered.rows, PAGE_SIZE)
    context = {
        "filter": filtered,
        "state": filtered.shown_state,
        "counts": count_by_state(member, **filtered.rest),
        "page": page,
        "rows": case_rows(page.object_list, member, now=now),
        "to_vote": to_vote_on(member).count(),
        "query": urlencode(filtered.rest),
    }
    return render(request, "board/cases.html", context | money_context(now))


# A case ---------------------------------------------------------------------------------------------------------------


@page(board_member_of)
def case_page(request: HttpRequest, member: User, public_id: str) -> HttpResponse:
    """Show a case that is open to the member: its subject, the votes, and the decision."""
    refuse_missing_parties(case_seen_by(member, public_id), now=domain_now())
    try:
        case = case_opened_by(member, public_id)
    except Conflict:
        return redirect("board-case-disclose", public_id)
    return show_case(request, case, member)


def show_case(
    request: HttpRequest, case: Case, member: User, form: VoteForm | None = None, *, refused: Form | None = None
) -> HttpResponse:
    """Show a case, with the vote as it was sent. `refused` is another form of the case with its error."""
    now = domain_now()
    framed = money_context(now)
    before, after = neighbouring_cases(case, member)
    content = (
        picture_case_content(case, member, now=now)
        if case.kind == CaseKind.PICTURE
        else motion_content(case, currency=framed["currency"])
    )
    count = count_of(case)
    vote = vote_of(count, member)
    form = form or VoteForm(case=case, vote=vote)
    refused = refused or form
    context = {
        "case": case,
        "what": describe_case(case),
        "before": before,
        "after": after,
        "overdue": case.state == CaseState.OPEN and case.due_at <= now,
        "decision": _decision_of(case),
        "parties": [(final_team(each.team), ROLE_WORDS[PartyRole(each.role)]) for each in reversed(parties_of(case))],
        "form": refused,
        "vote": form,
        **content,
        **_voting(case, member, count, vote),
    }
    name = "board/picture_case.html" if case.kind == CaseKind.PICTURE else "board/motion_case.html"
    return render(request, name, context | framed, status=refused.status)


def vote_of(count: VoteCount, member: User) -> Vote | None:
    """Return the member's vote that counts, if any."""
    return next((vote for vote in count.votes if vote.member_id == member.pk), None)


def _decision_of(case: Case) -> Any:
    decision = getattr(case, "decision", None)
    return public_decision(decision) if decision is not None else None


def _voting(case: Case, member: User, count: VoteCount, mine: Vote | None) -> dict[str, Any]:
    """Return the context beside the vote form: the others' votes, once the member has voted."""
    return {
        "count": count,
        "mine": mine,
        "mine_words": ballot_words(ballot_of(mine)) if mine else "",
        "votes": vote_rows(count, member) if mine else [],
        "decides": ballot_words(count.decides),
        "missing": max(count.quorum - len(count.votes), 0),
        "joins": case.ruling is not None and case.ruling.label != "",
        "may_drop": case.kind == CaseKind.MOTION and case.opened_by_id == member.pk and case.state == CaseState.OPEN,
    }


def vote_rows(count: VoteCount, member: User) -> list[dict[str, Any]]:
    """Return the votes that count now, without names; the member's own vote is marked."""
    return [
        {"vote": vote, "words": ballot_words(ballot_of(vote)), "own": vote.member_id == member.pk}
        for vote in count.votes
    ]


# Voting ---------------------------------------------------------------------------------------------------------------


@page(board_member_of, "GET POST")
def case_vote(request: HttpRequest, member: User, public_id: str) -> HttpResponse:
    """Cast or change the member's vote; a refused form keeps what was typed.

    A GET, as after signing in again, redirects to the case.
    """
    case = case_seen_by(member, public_id)
    if request.method != "POST":
        return redirect("board-case", public_id)
    form = VoteForm.of(request, case=case, vote=None)
    vote = form.submit(by=member)
    if vote is None:
        return show_refused(request, public_id, member, form, kept=request.POST.get("words", ""))
    words = f"Your vote is recorded: {ballot_words(ballot_of(vote))}. You can change it until the case is decided."
    return redirect_with_message(request, words, "board-case", public_id)


def show_refused(request: HttpRequest, public_id: str, member: User, form: Form, *, kept: str = "") -> HttpResponse:
    """Show the case again with the errors; where it has a new team, ask for conflicts first and keep the words.

    Http404 where the member steps aside in the meantime."""
    case = case_seen_by(member, public_id)
    if undisclosed(case, member):
        error = form.refused or Conflict("The case is about another team as well by now.", "others")
        return disclose_first(request, case, member, error, kept=kept)
    if isinstance(form, VoteForm):
        return show_case(request, case, member, form)
    vote = VoteForm(case=case, vote=vote_of(count_of(case), member), words=kept)
    return show_case(request, case, member, vote, refused=form)


@page(board_member_of, "GET POST")
def case_drop(request: HttpRequest, member: User, public_id: str) -> HttpResponse:
    """Let the member who opened a motion withdraw it while it is open; a GET redirects to the case."""
    case = case_seen_by(member, public_id)
    if request.method != "POST":
        return redirect("board-case", public_id)
    form = DropMotionForm.of(request)
    if not form.submit(case=case, by=member):
        return show_refused(request, public_id, member, form)
    return redirect_with_message(
        request, f"Motion {public_id} is taken back. It stays on record with its votes.", "board-case", public_id
    )
