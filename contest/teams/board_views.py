"""The board's page of grants: a team that has no paper may attack all the same, until that is revoked (R25)."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from common.errors import Conflict, DomainError, InvalidInput
from common.typed import whole_number
from contest.access import board_member_of
from contest.decisions import MOST_REASON_CHARACTERS
from contest.enums import EntitlementKind, EntitlementState
from contest.models import Entitlement, Team
from contest.teams.entitlements import entitlement_grant, grant_revoke
from labeling.accounts.forms import errors_of, go_to, text
from labeling.selectors import policy_in_force


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def grants(request: HttpRequest) -> HttpResponse:
    """Show what the board has granted, grant, and take a grant back."""
    member = board_member_of(request.user)
    if request.method != "POST":
        return _page(request, None)
    act = _revoke if text(request, "action") == "revoke" else _grant
    try:
        said = act(request, member)
    except DomainError as error:
        return _page(request, error)
    messages.success(request, said)
    return go_to("board-grants")


def _grant(request: HttpRequest, member: User) -> str:
    team = Team.objects.filter(public_id=text(request, "team")).first()
    if team is None:
        raise InvalidInput("Choose a team of the list.", "invalid", field="team")
    entitlement_grant(team=team, reason=_reason(request), by=member, now=timezone.now())
    return f"Team {team.name} may attack now; it was told."


def _revoke(request: HttpRequest, member: User) -> str:
    number = whole_number(text(request, "grant")) or 0
    done = grant_revoke(number=number, reason=_reason(request), by=member, now=timezone.now())
    return f"The grant of team {done.team.name} is revoked; the team was told."


def _reason(request: HttpRequest) -> str:
    return text(request, "reason", MOST_REASON_CHARACTERS + 1)


def _page(request: HttpRequest, error: DomainError | None) -> HttpResponse:
    now = timezone.now()
    granted = Entitlement.objects.filter(kind=EntitlementKind.GRANT).select_related("team", "decision__decided_by")
    in_force = granted.filter(state=EntitlementState.ACCEPTED)
    context: dict[str, Any] = {
        "teams": list(Team.objects.filter(merged_into=None).exclude(entitlements__in=in_force).order_by("name")),
        "granted": list(granted.prefetch_related("steps__made_by").order_by("-decided_at", "-pk")),
        "revoking": text(request, "grant") if error and request.POST.get("action") == "revoke" else "",
        "longest": MOST_REASON_CHARACTERS,
        "errors": errors_of(error) if error else {},
        "typed": request.POST if error else {},
        "now": now,
        "zone": policy_in_force(now).policy.time_zone,
    }
    status = 200 if error is None else 409 if isinstance(error, Conflict) else 400
    return render(request, "teams/grants.html", context, status=status)
