"""The organizers' pages of teams: requests, associations, mergings, and accounts that look like one person."""

from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from accounts.access import organizer_of
from common.domain_clock import domain_now
from common.errors import Conflict, DomainError, InvalidInput
from common.typed import whole_number
from common.web.form_fields import errors_of, go_to, text
from common.web.page import page
from contest.core.enums import EntitlementKind, EntitlementState
from contest.core.models import Team
from contest.core.teams import final_team, team_by_id, team_named
from contest.teams import associations, entitlements, merging, selectors
from contest.teams.models import Entitlement
from contest.teams.same_person import same_persons, same_persons_find
from policy.selectors import policy_in_force

_PER_PAGE = 25


def _zone() -> str:
    return policy_in_force(domain_now()).policy.time_zone


def _status(error: DomainError) -> int:
    return 409 if isinstance(error, Conflict) else 400


@page(organizer_of)
def teams(request: HttpRequest, organizer: User) -> HttpResponse:
    """Show what waits for an organizer, and every team."""
    now, find = domain_now(), request.GET.get("find", "").replace("\x00", "").strip()
    page = Paginator(selectors.teams_found(find), _PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "waiting": list(selectors.requests_waiting()),
        "page": page,
        "rows": [(team, selectors.is_entitled(team, now), selectors.is_paid(team, now)) for team in page],
        "find": find,
        "pairs": same_persons().count(),
        "now": now,
        "zone": _zone(),
    }
    return render(request, "teams/organizer_teams.html", context)


@page(organizer_of, "GET POST")
def team(request: HttpRequest, organizer: User, public_id: str) -> HttpResponse:
    """Show a team with its people; declare, end and take back associations, merge it into another one."""
    shown = team_named(public_id)
    if request.method != "POST":
        return _team_page(request, shown)
    wanted = text(request, "action", 20)
    try:
        messages.success(request, _action(wanted)(request, organizer, shown))
    except DomainError as error:
        return _team_page(request, shown, wanted, error)
    return go_to("organizer-team", public_id)


def _team_page(request: HttpRequest, shown: Team, wanted: str = "", error: DomainError | None = None) -> HttpResponse:
    now = domain_now()
    context = {
        "team": shown,
        "members": list(selectors.members_of(shown)),
        "past": list(shown.past_members.select_related("user").order_by("-left_at")),
        "entitled": selectors.entitlement_in_force(shown, now),
        "requests": list(selectors.entitlements_of(shown)),
        "associations": list(selectors.associations_of(shown)),
        "merged": list(shown.merges.select_related("team")),
        "others": list(selectors.teams_to_merge_into(shown)),
        "wanted": wanted,
        "errors": errors_of(error) if error else {},
        "typed": request.POST if error else {},
        "now": now,
        "zone": _zone(),
    }
    return render(request, "teams/organizer_team.html", context, status=_status(error) if error else 200)


def _declare(request: HttpRequest, organizer: User, shown: Team) -> str:
    since = _day(request, "since")
    if since is None:
        raise InvalidInput("Write the day it begins.", "invalid", field="since")
    associations.association_declare(
        team=shown,
        since=since,
        until=_end_of_day(request),
        reason=text(request, "reason", associations.MOST_CHARACTERS + 1),
        by=organizer,
        now=domain_now(),
    )
    return f"Team {shown.name} is marked as associated with the contest; it was told."


def _end(request: HttpRequest, organizer: User, shown: Team) -> str:
    until = _end_of_day(request)
    if until is None:
        raise InvalidInput("Write the last day of the association.", "invalid", field="until")
    associations.association_end(association_id=_association(request), until=until, by=organizer, now=domain_now())
    return "The end is recorded; the team was told."


def _mistaken(request: HttpRequest, organizer: User, shown: Team) -> str:
    reason = text(request, "reason", associations.MOST_CHARACTERS + 1)
    number = _association(request)
    associations.association_mistaken(association_id=number, reason=reason, by=organizer, now=domain_now())
    return "The association is recorded as an error and counts for nothing any more; the team was told."


def _association(request: HttpRequest) -> int:
    return whole_number(text(request, "association")) or 0


def _merge(request: HttpRequest, organizer: User, shown: Team) -> str:
    into = team_by_id(text(request, "into"))
    if into is None:
        raise InvalidInput("Choose the team it becomes part of.", "invalid", field="into")
    reason = text(request, "reason", merging.MOST_CHARACTERS + 1)
    merging.teams_merge(team=shown, into=into, reason=reason, by=organizer, now=domain_now())
    return f"Team {shown.name} is part of team {into.name} now; both were told."


_ACTIONS: dict[str, Callable[[HttpRequest, User, Team], str]] = {
    "declare": _declare,
    "end": _end,
    "mistaken": _mistaken,
    "merge": _merge,
}


def _action(wanted: str) -> Callable[[HttpRequest, User, Team], str]:
    if wanted not in _ACTIONS:
        raise InvalidInput("Use one of the forms of this page.", "invalid")
    return _ACTIONS[wanted]


def _day(request: HttpRequest, name: str, days_later: int = 0) -> datetime | None:
    """Return the midnight in the contest's zone with which the typed day begins, None when nothing was typed."""
    typed = text(request, name)
    if not typed:
        return None
    try:
        day = date.fromisoformat(typed) + timedelta(days=days_later)
    except (ValueError, OverflowError):
        raise InvalidInput("Write a day such as 2026-11-18.", "invalid", field=name) from None
    return datetime.combine(day, time.min, ZoneInfo(_zone()))


def _end_of_day(request: HttpRequest) -> datetime | None:
    return _day(request, "until", days_later=1)


@page(organizer_of, "GET POST")
def entitlement(request: HttpRequest, organizer: User, number: int) -> HttpResponse:
    """Show a request with every step, decide about it, and take back what was accepted."""
    found = selectors.entitlement_numbered(number)
    error: DomainError | None = None
    if request.method == "POST":
        try:
            messages.success(request, _decide(request, organizer, number))
            return go_to("organizer-teams")
        except DomainError as wrong:
            error = wrong
    return _entitlement_page(request, found, error)


def _entitlement_page(request: HttpRequest, found: Entitlement, error: DomainError | None) -> HttpResponse:
    context = {
        "request_row": found,
        "team": final_team(found.team),
        "waiting": found.state in selectors.WAITING,
        "accepted_paper": found.kind == EntitlementKind.PAPER and found.state == EntitlementState.ACCEPTED,
        "alike": list(selectors.entitlements_alike(found)),
        "errors": errors_of(error) if error else {},
        "typed": request.POST if error else {},
        "longest": entitlements.MOST_CHARACTERS,
        "now": domain_now(),
        "zone": _zone(),
    }
    return render(request, "teams/organizer_entitlement.html", context, status=_status(error) if error else 200)


def _decide(request: HttpRequest, organizer: User, number: int) -> str:
    wanted, words = text(request, "action", 20), text(request, "words", entitlements.MOST_CHARACTERS + 1)
    now = domain_now()
    if wanted == "accept":
        done = entitlements.entitlement_accept(number=number, by=organizer, now=now)
        return f"Team {done.team.name} is entitled now; it was told."
    if wanted == "question":
        done = entitlements.entitlement_question(number=number, words=words, by=organizer, now=now)
        return f"The question is on its way to team {done.team.name}."
    if wanted == "refuse":
        done = entitlements.entitlement_refuse(number=number, words=words, by=organizer, now=now)
        return f"The request of team {done.team.name} is refused; it was told why."
    if wanted == "revoke":
        done = entitlements.entitlement_revoke(number=number, words=words, by=organizer, now=now)
        return f"The entitlement of team {done.team.name} is revoked; it was told why."
    raise InvalidInput("Accept the request, ask something, refuse it, or revoke it.", "invalid")


@page(organizer_of, "GET POST")
def same_person(request: HttpRequest, organizer: User) -> HttpResponse:
    """Show the accounts that look like one person, with the figures; look again when asked to."""
    if request.method == "POST":
        new = same_persons_find(now=domain_now(), by=organizer)
        messages.success(request, f"Looked at every account: {new} new pair{'' if new == 1 else 's'}.")
        return go_to("same-person")
    page = Paginator(same_persons(), _PER_PAGE).get_page(request.GET.get("page"))
    return render(request, "teams/same_person.html", {"page": page, "now": domain_now(), "zone": _zone()})
