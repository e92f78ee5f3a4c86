"""A team's own page of money."""

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from common.domain_clock import domain_now
from common.errors import NotAllowed
from contest.core.models import Team
from contest.core.roles import roles_of
from contest.core.teams import team_of, teams_counted_together
from contest.ledger.selectors import team_accounts
from contest.payments.payable import payables_of
from contest.payments.services import payments_to
from contest.payments.statements import entries
from contest.web.page_context import before_of, frame


@login_required
@never_cache
@require_safe
def team_money(request: HttpRequest) -> HttpResponse:
    """Show a team its account: what it has, what of it waits for which weeks, and what was paid."""
    team, now = _team_of(request), domain_now()
    teams = teams_counted_together(team)
    shown, more = entries(told_at=now, of=team_accounts(teams), to=teams, before=before_of(request))
    context = {
        "team": team,
        "accounts": payables_of(team, now=now),
        "payments": list(payments_to(teams)),
        "entries": shown,
        "more": more,
        "before": before_of(request),
    }
    return render(request, "money/team.html", context | frame(now))


def _team_of(request: HttpRequest) -> Team:
    team = team_of(request.user)  # type: ignore[arg-type]
    if team is not None:
        return team
    if roles_of(request.user).names:
        raise NotAllowed("Only members of a team have an account here; this account has another role.", "not_in_a_team")
    raise Http404("nothing here for a stranger")
