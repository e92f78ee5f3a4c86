"""The page that a member sees before a case opens: what ties them to its teams (R21)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from common.database.deadlocks import retry_on_deadlock
from common.domain_clock import domain_now
from common.errors import DomainError, WrongFields
from common.web.error_status import http_status
from common.web.form_fields import errors_of, go_to, text
from common.web.page import page
from contest.board.cases import case_seen_by, disclose, parties_refresh, refuse_missing_parties
from contest.board.conflicts import MOST_CHARACTERS as MOST_TIE_CHARACTERS
from contest.board.conflicts import conflict_declare
from contest.board.recusal import DISCLOSURE_STANDS, undisclosed
from contest.board.selectors import parties_of
from contest.core.enums import ConflictKind, PartyRole
from contest.core.models import Case, Team
from contest.core.roles import board_member_of
from contest.core.teams import final_team
from contest.web.page_context import frame

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


@page(board_member_of, "GET POST")
def case_disclose(request: HttpRequest, member: User, public_id: str) -> HttpResponse:
    """Ask whether anything ties the member to the teams that a case is about, before anything of it is shown (R21)."""
    now = domain_now()
    if request.method != "POST":
        case = case_seen_by(member, public_id)
        refuse_missing_parties(case, now=now)
        return disclosure_page(request, case, member)
    parties_refresh(public_id, now=now)
    case = case_seen_by(member, public_id)
    try:
        aside = _disclosed(request, case, member, domain_now())
    except DomainError as error:
        return disclosure_page(request, case_seen_by(member, public_id), member, error)
    if not aside:
        return go_to("board-case", public_id)
    words = f"You stepped aside from case {public_id}. It is closed to you now, and others decide it. Thank you."
    messages.success(request, words)
    return go_to("board-cases")


@retry_on_deadlock
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


def disclosure_page(
    request: HttpRequest, case: Case, member: User, error: DomainError | None = None, *, kept: str = ""
) -> HttpResponse:
    waiting = undisclosed(case, member)
    if not waiting and error is None:
        return redirect("board-case", case.public_id)
    # The first reason for which a team is part of it is told last, and so kept.
    roles = {final_team(each.team).pk: PartyRole(each.role) for each in parties_of(case)}
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


def _asked_of(request: HttpRequest, team: Team, role: str) -> dict[str, Any]:
    typed = {name: request.POST.get(f"{name}-{team.public_id}", "") for name in ("tie", "kind", "words")}
    return {"team": team, "role": role, **typed}
