"""The board's page that decides a case: what the votes decide, what follows, and how the public will read it (R22)."""

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from adjudication.counting import agrees
from adjudication.services import MOST_CHARACTERS
from common.domain_clock import domain_now
from common.errors import Conflict, DomainError
from common.web.error_status import http_status
from common.web.form_fields import errors_of, go_to
from common.web.page import page
from contest.board.case_messages import OUTCOME_WORDS, what_of
from contest.board.cases import (
    Count,
    ballot_of,
    case_opened_by,
    case_seen_by,
    count_of,
    parties_refresh,
    refuse_missing_parties,
)
from contest.board.decisions import case_decide, refuse_undecided
from contest.board.impact_preview import what_follows
from contest.board.motion_handlers import motion_check
from contest.board.public_decisions import ballot_words, decision_to_come
from contest.board.recusal import teams_of, undisclosed
from contest.core.enums import CaseKind, CaseOutcome, CaseState, VoteChoice
from contest.core.models import Case
from contest.core.roles import board_member_of
from contest.pages.board.case_views import show_case, votes_shown
from contest.pages.board.case_words import Said, following, motion_content, sums_awarded
from contest.pages.board.disclosure_views import disclose_first
from contest.web.page_context import frame


@page(board_member_of, "GET POST")
def case_decision(request: HttpRequest, member: User, public_id: str) -> HttpResponse:
    """Show what the votes decide, what follows, and how the public will read it; and take the confirmation."""
    if request.method == "POST":
        parties_refresh(public_id, now=domain_now())
    case, explanation = case_seen_by(member, public_id), request.POST.get("explanation", "")
    refuse_missing_parties(case, now=domain_now())
    try:
        case = case_opened_by(member, public_id)
    except Conflict as error:
        if request.method == "POST":
            return disclose_first(request, case, member, error, kept=explanation)
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
            return disclose_first(request, again, member, error, kept=explanation)
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
        return show_case(request, case, member, error) if error else redirect("board-case", case.public_id)
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
