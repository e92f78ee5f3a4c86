"""Team page of its own prize money."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from common.domain_clock import domain_now
from common.web.page import page
from contest.core.models import Team
from contest.core.roles import own_team_of
from contest.core.teams import teams_counted_together
from contest.ledger.selectors import team_accounts
from contest.payments.payable import payables_of
from contest.payments.services import payments_to
from contest.payments.statements import entries
from contest.web.page_context import money_context, page_end


@page(own_team_of)
def team_money(request: HttpRequest, team: Team) -> HttpResponse:
    """Show a team its account: the balance, sums that wait for the release of a week, and payments."""
    now = domain_now()
    teams = teams_counted_together(team)
    shown, more = entries(told_at=now, of=team_accounts(teams), to=teams, before=page_end(request))
    context = {
        "team": team,
        "accounts": payables_of(team, now=now),
        "payments": list(payments_to(teams)),
        "entries": shown,
        "more": more,
        "before": page_end(request),
    }
    return render(request, "money/team.html", context | money_context(now))
