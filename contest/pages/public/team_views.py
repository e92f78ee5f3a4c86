"""Public page of a team: its attacks, their breaks, its defenses and its prizes."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from common.domain_clock import domain_now
from common.web.lists import page_of
from common.web.page import page
from contest.core.models import Team
from contest.core.teams import team_named, with_merged
from contest.record import public_teams
from contest.teams import selectors
from contest.teams.selectors import association_marks
from policy.selectors import policy_in_force

PAGE_SIZE = 24


@page()
def team_public(request: HttpRequest, public_id: str) -> HttpResponse:
    """Show the public facts of a team; members and e-mail addresses are never public."""
    team, now = team_named(public_id), domain_now()
    policy = policy_in_force(now).policy
    context = {
        "team": team,
        "entitled": selectors.is_entitled(team, now),
        **association_marks(team),
        "paid": selectors.is_paid(team, now),
        "merged": list(team.merges.select_related("team")),
        "now": now,
        "zone": policy.time_zone,
        "currency": policy.currency,
    }
    return render(request, "teams/public.html", context | _record(request, team))


def _record(request: HttpRequest, team: Team) -> dict[str, object]:
    """Return the team's public record."""
    now, teams, kind = domain_now(), with_merged(team), _kind(request)
    breaks = public_teams.breaks_of_team(teams, now=now)
    page = page_of(request, public_teams.public_attacks_of(teams, kind, now=now), PAGE_SIZE)
    prizes, cents = public_teams.prizes_of(teams, now=now)
    return {
        "counts": public_teams.team_counts(teams, breaks, now=now),
        "several": len(teams) > 1,
        "kind": kind,
        "kinds": public_teams.KINDS,
        "page": page,
        "rows": public_teams.team_attacks(list(page.object_list), now=now),
        "breaks": breaks[: public_teams.MAX_BREAKS],
        "more_breaks": len(breaks) - public_teams.MAX_BREAKS,
        "defenses": public_teams.defenses_of(teams, now=now),
        "prizes": prizes,
        "cents": cents,
    }


def _kind(request: HttpRequest) -> str:
    asked = request.GET.get("show", "")
    return asked if asked in public_teams.KINDS else ""
