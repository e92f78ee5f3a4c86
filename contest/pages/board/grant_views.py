"""Board page of grants: a team without a paper may attack until its grant is revoked (R21, R25)."""

from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from common.domain_clock import domain_now
from common.web.page import page
from contest.board.open_motions import open_motions_for
from contest.board.recusal import teams_stepped_aside_for
from contest.core.enums import DecisionKind
from contest.core.roles import board_member_of
from contest.pages.board.motion_forms import GrantForm, RevokeGrantForm
from contest.pages.board.motion_preview import preview_or_open
from contest.teams.selectors import grants_given, teams_without_grant
from policy.selectors import policy_in_force


@page(board_member_of, "GET POST")
def grants(request: HttpRequest, member: User) -> HttpResponse:
    """Show the board's grants, and open motions to grant or to revoke."""
    now = domain_now()
    aside = teams_stepped_aside_for(member, now=now)
    moved = open_motions_for(member, DecisionKind.GRANT, DecisionKind.REVOKE)
    closed = aside | {team for each in moved for team in each.case.subject["team"]}
    grant, revoke = GrantForm.of(request, teams=teams_without_grant(but=closed)), RevokeGrantForm.of(request)
    if answer := preview_or_open(request, grant, revoke, by=member, back=reverse("board-grants")):
        return answer
    sent = revoke if revoke.is_bound else grant
    policy = policy_in_force(now).policy
    context: dict[str, Any] = {
        "form": sent,
        "grant": grant,
        "moved": moved,
        "aside": aside,
        "closed": closed,
        "quorum": policy.board_quorum,
        "granted": [(each, revoke.for_row(each.pk)) for each in grants_given()],
        "now": now,
        "zone": policy.time_zone,
    }
    return render(request, "teams/grants.html", context, status=sent.status)
