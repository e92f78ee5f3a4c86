"""The board's page of grants: a team that has no paper may attack all the same, until that is revoked (R21, R25)."""

from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from common.domain_clock import domain_now
from common.errors import DomainError, InvalidInput
from common.typed import whole_number
from common.web.error_status import http_status
from common.web.form_fields import errors_of, text
from common.web.page import page
from contest.board.motion_factories import grant_move, revoke_move
from contest.board.open_motions import moved_for
from contest.board.recusal import teams_stepped_aside_for
from contest.core.decisions import MOST_REASON_CHARACTERS
from contest.core.enums import DecisionKind
from contest.core.models import Case
from contest.core.roles import board_member_of
from contest.core.teams import team_by_id
from contest.pages.board.motion_preview import is_changed, move_or_show
from contest.teams.selectors import entitlement_by_number, grants_given, teams_without_grant
from policy.selectors import policy_in_force


@page(board_member_of, "GET POST")
def grants(request: HttpRequest, member: User) -> HttpResponse:
    """Show what the board has granted, and move to grant or to take a grant back."""
    if request.method != "POST" or is_changed(request):
        return _page(request, member, None)
    move = _revoke if text(request, "action") == "revoke" else _grant
    try:
        return move_or_show(request, lambda: move(request, member), back=reverse("board-grants"))
    except DomainError as error:
        return _page(request, member, error)


def _grant(request: HttpRequest, member: User) -> Case:
    team = team_by_id(text(request, "team"))
    if team is None:
        raise InvalidInput("Choose a team of the list.", "invalid", field="team")
    return grant_move(team, reason=_reason(request), by=member, now=domain_now())


def _revoke(request: HttpRequest, member: User) -> Case:
    grant = entitlement_by_number(whole_number(text(request, "grant")) or 0)
    if grant is None:
        raise InvalidInput("Choose a grant of the list.", "invalid", field="grant")
    return revoke_move(grant, reason=_reason(request), by=member, now=domain_now())


def _reason(request: HttpRequest) -> str:
    return text(request, "reason", MOST_REASON_CHARACTERS + 1)


def _page(request: HttpRequest, member: User, error: DomainError | None) -> HttpResponse:
    now = domain_now()
    policy = policy_in_force(now).policy
    aside = teams_stepped_aside_for(member, now=now)
    moved = moved_for(member, DecisionKind.GRANT, DecisionKind.REVOKE)
    named = {team for each in moved for team in each.case.subject["team"]}
    context: dict[str, Any] = {
        "teams": teams_without_grant(but=aside | named),
        "moved": moved,
        "aside": aside,
        "closed": aside | named,
        "quorum": policy.board_quorum,
        "granted": list(grants_given()),
        "revoking": text(request, "grant") if request.POST.get("action") == "revoke" else "",
        "longest": MOST_REASON_CHARACTERS,
        "errors": errors_of(error) if error else {},
        "typed": request.POST,
        "now": now,
        "zone": policy.time_zone,
    }
    return render(request, "teams/grants.html", context, status=http_status(error) if error else 200)
