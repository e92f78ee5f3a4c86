"""The board's pages of cases: the list, what ties a member to the teams, a case, the vote, and the decision (R19-R22).

Nothing here shows anything of a case but through `case_seen_by` and `case_opened_by` (R21).
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from accounts.pages.form_fields import errors_of, go_to, text
from adjudication.counting import CHOICES, agrees
from adjudication.rules import REASONS
from adjudication.services import MOST_CHARACTERS
from adjudication.wording import REASON_WORDS
from common.database.deadlocks import again_after_deadlock
from common.domain_clock import domain_now
from common.errors import Conflict, DomainError, InvalidInput, WrongFields
from common.web.error_status import http_status
from contest.board.carriers import motion_check
from contest.board.cases import (
    MOST_WORDS,
    Count,
    ballot_of,
    case_opened_by,
    case_seen_by,
    count_of,
    disclose,
    parties_refresh,
    refuse_missing_parties,
    vote_cast,
)
from contest.board.conflicts import MOST_CHARACTERS as MOST_TIE_CHARACTERS
from contest.board.conflicts import conflict_declare
from contest.board.deciding import case_decide, refuse_undecided
from contest.board.follows import what_follows
from contest.board.motions import motion_drop
from contest.board.public_decisions import CHOICE_WORDS, ballot_words, decision_to_come, public_decision
from contest.board.recusal import DISCLOSURE_STANDS, teams_of, undisclosed
from contest.board.telling import OUTCOME_WORDS, what_of
from contest.core.enums import CaseKind, CaseOutcome, CaseState, ConflictKind, PartyRole, VoteChoice
from contest.core.roles import board_member_of
from contest.core.teams import final_team
from contest.models import Case, CaseParty, Team, Vote
from contest.pages.board.case_content import picture_content
from contest.pages.board.case_list import Asked, cases_asked, counts_of, neighbours, rows_of, to_vote_on
from contest.pages.board.case_words import Said, following, motion_content, sums_awarded
from contest.web.page_context import frame
from labeling.enums import Label

ON_A_PAGE = 25
# What a member may say of themselves; that they were of a team is found.
TIES: Mapping[ConflictKind, str] = {
    ConflictKind.COAUTHOR: "We wrote a recent paper together",
    ConflictKind.INSTITUTION: "We are of one institution",
    ConflictKind.ADVISOR: "One of us advised the other",
    ConflictKind.OTHER: "Something else",
}
ROLE_WORDS: Mapping[PartyRole, str] = {
    PartyRole.SENDER: "sent the picture",
    PartyRole.DEFENDER: "has a defense that the picture meets",
    PartyRole.APPELLANT: "appealed",
    PartyRole.CONCERNED: "is who the motion is about",
}
NO_TIE, ASIDE = "none", "aside"


# The list -------------------------------------------------------------------------------------------------------------


@login_required
@never_cache
@require_safe
def case_list(request: HttpRequest) -> HttpResponse:
    """List the cases that the member may know of: open ones that wait for their vote first, with their clocks."""
    member, now = board_member_of(request.user), domain_now()
    asked = Asked.of(request.GET.dict())
    page = Paginator(cases_asked(member, asked), ON_A_PAGE).get_page(request.GET.get("page"))
    context = {
        "asked": asked,
        "counts": counts_of(member, asked),
        "page": page,
        "rows": rows_of(page.object_list, member, now=now),
        "to_vote": to_vote_on(member).count(),
        "query": urlencode({"kind": asked.kind, "find": asked.find}),
    }
    return render(request, "board/cases.html", context | frame(now))


# Before a case opens --------------------------------------------------------------------------------------------------


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def case_disclose(request: HttpRequest, public_id: str) -> HttpResponse:
    """Ask whether anything ties the member to the teams that a case is about, before anything of it is shown (R21)."""
    member, now = board_member_of(request.user), domain_now()
    if request.method != "POST":
        case = case_seen_by(member, public_id)
        refuse_missing_parties(case, now=now)
        return _disclosure(request, case, member)
    parties_refresh(public_id, now=now)
    case = case_seen_by(member, public_id)
    try:
        aside = _disclosed(request, case, member, domain_now())
    except DomainError as error:
        return _disclosure(request, case_seen_by(member, public_id), member, error)
    if not aside:
        return go_to("board-case", public_id)
    words = f"You stepped aside from case {public_id}. It is closed to you now, and others decide it. Thank you."
    messages.success(request, words)
    return go_to("board-cases")


@again_after_deadlock
@transaction.atomic
def _disclosed(request: HttpRequest, case: Case, member: User, now: datetime) -> bool:
    """Record what the member says of each team; return whether they step aside."""
    waiting = undisclosed(case, member)
    said = {team.public_id: request.POST.get(f"tie-{team.public_id}", "") for team in waiting}
    if wrong := _wrong(request, said):
        raise WrongFields(wrong)
    tied = [team for team in waiting if said[team.public_id] == ASIDE]
    for team in tied:
        kind = ConflictKind(request.POST[f"kind-{team.public_id}"])
        words = text(request, f"words-{team.public_id}", MOST_TIE_CHARACTERS + 1)
        conflict_declare(member=member, team=team, kind=kind, since=now, words=words, by=member, now=now)
    if not tied:
        disclose(case=case, teams=list(said), by=member, now=now)
    return bool(tied)


def _wrong(request: HttpRequest, said: Mapping[str, str]) -> dict[str, str]:
    """Return what is missing by the team's public ID."""
    wrong = {}
    for team, answer in said.items():
        if answer not in (NO_TIE, ASIDE):
            wrong[team] = "Choose one of the two for this team."
        elif answer == ASIDE and request.POST.get(f"kind-{team}") not in list(TIES):
            wrong[team] = "Choose what ties you to this team."
    return wrong


def _disclosure(
    request: HttpRequest, case: Case, member: User, error: DomainError | None = None, *, kept: str = ""
) -> HttpResponse:
    waiting = undisclosed(case, member)
    if not waiting and error is None:
        return redirect("board-case", case.public_id)
    roles = {final_team(each.team).pk: PartyRole(each.role) for each in _parties(case)}
    now = domain_now()
    context = {
        "case": case,
        "asked": [_asked_of(request, team, ROLE_WORDS[roles[team.pk]]) for team in waiting],
        "kinds": TIES.items(),
        "errors": errors_of(error) if error else {},
        "longest": MOST_TIE_CHARACTERS,
        "stands": DISCLOSURE_STANDS.days,
        "kept": kept,
    }
    status = http_status(error) if error else 200
    return render(request, "board/disclose.html", context | frame(now), status=status)


def _parties(case: Case) -> list[CaseParty]:
    # The first reason for which a team is part of it is told last, and so kept.
    return list(CaseParty.objects.filter(case=case).select_related("team__merged_into").order_by("-pk"))


def _asked_of(request: HttpRequest, team: Team, role: str) -> dict[str, Any]:
    typed = {name: request.POST.get(f"{name}-{team.public_id}", "") for name in ("tie", "kind", "words")}
    return {"team": team, "role": role, **typed}


# A case ---------------------------------------------------------------------------------------------------------------


@login_required
@never_cache
@require_safe
def case_page(request: HttpRequest, public_id: str) -> HttpResponse:
    """Show a case that is open to the member: what it is about, the votes, and what was decided."""
    member = board_member_of(request.user)
    refuse_missing_parties(case_seen_by(member, public_id), now=domain_now())
    try:
        case = case_opened_by(member, public_id)
    except Conflict:
        return redirect("board-case-disclose", public_id)
    return _page(request, case, member)


def _page(request: HttpRequest, case: Case, member: User, error: DomainError | None = None) -> HttpResponse:
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
        "parties": [(final_team(each.team), ROLE_WORDS[PartyRole(each.role)]) for each in reversed(_parties(case))],
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


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def case_vote(request: HttpRequest, public_id: str) -> HttpResponse:
    """Cast or change the member's vote; what was typed is kept whatever is refused. Who comes here by an address, as
    after signing in again, is led to the case."""
    member, now = board_member_of(request.user), domain_now()
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
        return _disclosure(request, case, member, error, kept=request.POST.get("words", ""))
    return _page(request, case, member, error)


# Deciding -------------------------------------------------------------------------------------------------------------


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def case_decision(request: HttpRequest, public_id: str) -> HttpResponse:
    """Show what the votes decide, what follows, and how the public will read it; and take the confirmation."""
    member = board_member_of(request.user)
    if request.method == "POST":
        parties_refresh(public_id, now=domain_now())
    case, explanation = case_seen_by(member, public_id), request.POST.get("explanation", "")
    refuse_missing_parties(case, now=domain_now())
    try:
        case = case_opened_by(member, public_id)
    except Conflict as error:
        if request.method == "POST":
            return _disclosure(request, case, member, error, kept=explanation)
        return redirect("board-case-disclose", public_id)
    if request.method != "POST":
        return _decision_page(request, case, member)
    if _plain(explanation) != _plain(request.POST.get("previewed", "")):
        # Nobody confirms what they have not seen as the public will.
        return _decision_page(request, case, member, previewed=True)
    return _confirmed(request, case, member, explanation)


def _plain(words: str) -> str:
    return words.replace("\r\n", "\n").strip()


def _confirmed(request: HttpRequest, case: Case, member: User, explanation: str) -> HttpResponse:
    seen = request.POST.get("seen", "")
    try:
        made = case_decide(case=case, seen=seen, explanation=explanation, by=member, now=domain_now())
    except DomainError as error:
        again = case_seen_by(member, case.public_id)
        if undisclosed(again, member):
            return _disclosure(request, again, member, error, kept=explanation)
        return _decision_page(request, again, member, error)
    messages.success(request, f"Decided: {OUTCOME_WORDS[CaseOutcome(made.outcome)]}.")
    return go_to("board-case", case.public_id)


def _decision_page(
    request: HttpRequest, case: Case, member: User, error: DomainError | None = None, *, previewed: bool = False
) -> HttpResponse:
    """Show what the votes of now decide. A member who has not voted, or a case that was decided, has no such page."""
    now = domain_now()
    framed, count = frame(now), count_of(case)
    if case.state != CaseState.OPEN or all(vote.member_id != member.pk for vote in count.votes):
        return _page(request, case, member, error) if error else redirect("board-case", case.public_id)
    explanation = request.POST.get("explanation", _offered(count))
    context = {
        "case": case,
        "what": what_of(case),
        "count": count,
        "votes": votes_shown(count, member),
        "missing": max(count.quorum - len(count.votes), 0),
        "decides": ballot_words(count.decides),
        "overrules": count.decides.choice is VoteChoice.OVERRULE,
        "explanation": explanation,
        "preview": decision_to_come(count, _plain(explanation)),
        "previewed": previewed,
        "errors": errors_of(error) if error else {},
        "refused": error,
        "longest": MOST_CHARACTERS,
        **_what_comes(case, count, member, framed),
    }
    return render(request, "board/decide.html", context | framed, status=http_status(error) if error else 200)


def _what_comes(case: Case, count: Count, member: User, framed: Mapping[str, Any]) -> dict[str, Any]:
    """Return what follows from what the votes decide, or why it cannot be done now."""
    currency, now = framed["currency"], framed["now"]
    try:
        refuse_undecided(case, count, now=now)
        if case.kind == CaseKind.PICTURE:
            found = what_follows(case, count.decides, now=now)
            return {"follows": following(found, teams_of(case), currency=currency)}
        content = motion_content(case, currency=currency)
        if count.decides.choice is not VoteChoice.IN_FAVOUR:
            return content | {"follows": [Said("The motion is lost, and nothing changes.")]}
        motion_check(case, now=now)
        return content | {"follows": [Said(content["does"]), *sums_awarded(case, currency=currency)]}
    except DomainError as error:
        return {"cannot": error.message}


def _offered(count: Count) -> str:
    """Return what members who voted for what is decided publish: the explanation begins with it."""
    said = (vote.words for vote in count.votes if vote.public and agrees(ballot_of(vote), count.decides))
    return "\n\n".join(dict.fromkeys(said))  # the same words of two members are said once


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def case_drop(request: HttpRequest, public_id: str) -> HttpResponse:
    """Let who moved something take it back while it is open; who comes here by an address is led to the case."""
    member = board_member_of(request.user)
    case = case_seen_by(member, public_id)
    if request.method != "POST":
        return redirect("board-case", public_id)
    try:
        motion_drop(case=case, by=member, now=domain_now())
    except DomainError as error:
        return _refused(request, public_id, member, error)
    messages.success(request, f"Motion {public_id} is taken back. It stays on record with its votes.")
    return go_to("board-case", public_id)
