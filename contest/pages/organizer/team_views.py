"""The organizers' pages of teams: requests, associations, mergings, and accounts that look like one person."""

from django.contrib.auth.models import User
from django.forms import TextInput
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django_filters import CharFilter

from accounts.access import organizer_of
from common.domain_clock import domain_now
from common.web.form_fields import redirect_with_message
from common.web.forms import sent_form
from common.web.lists import ListFilter, filter_method, page_of
from common.web.page import page
from contest.core.enums import EntitlementKind, EntitlementState
from contest.core.teams import final_team, team_named
from contest.pages.organizer.team_forms import (
    AcceptEntitlementForm,
    DeclareAssociationForm,
    EndAssociationForm,
    EntitlementAnswerForm,
    MergeForm,
    MistakenAssociationForm,
    RevokeEntitlementForm,
)
from contest.teams import selectors
from contest.teams.same_person import same_persons, same_persons_find
from policy.selectors import policy_in_force

PAGE_SIZE = 25


def _zone() -> str:
    return policy_in_force(domain_now()).policy.time_zone


class TeamFilter(ListFilter):
    """Filters teams by name or ID."""

    find = CharFilter(
        label="Name or ID", method=filter_method(selectors.teams_matching), widget=TextInput({"type": "search"})
    )


@page(organizer_of)
def teams(request: HttpRequest, organizer: User) -> HttpResponse:
    """Show requests that wait for an organizer, and every team."""
    now, filtered = domain_now(), TeamFilter(request, selectors.all_teams())
    page = page_of(request, filtered.rows, PAGE_SIZE)
    context = {
        "waiting": list(selectors.requests_waiting()),
        "page": page,
        "rows": [(team, selectors.is_entitled(team, now), selectors.is_paid(team, now)) for team in page],
        "filter": filtered,
        "pairs": same_persons().count(),
        "now": now,
        "zone": _zone(),
    }
    return render(request, "teams/organizer_teams.html", context)


@page(organizer_of, "GET POST")
def team(request: HttpRequest, organizer: User, public_id: str) -> HttpResponse:
    """Show a team with its people; declare, end and void associations, merge it into another one."""
    team, now = team_named(public_id), domain_now()
    declare = DeclareAssociationForm.of(request, action="declare")
    merge = MergeForm.of(request, action="merge", auto_id="merge-%s").for_team(team)
    end, mistaken = EndAssociationForm.of(request, action="end"), MistakenAssociationForm.of(request, action="mistaken")
    sent = sent_form(request, declare, merge, end, mistaken)
    if sent and (done := sent.submit(team=team, by=organizer)):
        return redirect_with_message(request, done, "organizer-team", public_id)
    context = {
        "team": team,
        "members": list(selectors.members_of(team)),
        "past": list(team.past_members.select_related("user").order_by("-left_at")),
        "entitled": selectors.entitlement_in_force(team, now),
        "requests": list(selectors.entitlements_of(team)),
        "associations": [
            (each, end.for_row(each.pk), mistaken.for_row(each.pk)) for each in selectors.associations_of(team)
        ],
        "merged": list(team.merges.select_related("team")),
        "form": sent,
        "declare": declare,
        "merge": merge,
        "now": now,
        "zone": _zone(),
    }
    return render(request, "teams/organizer_team.html", context, status=sent.status if sent else 200)


@page(organizer_of, "GET POST")
def entitlement(request: HttpRequest, organizer: User, number: int) -> HttpResponse:
    """Show an entitlement request with every step; decide it, or revoke an accepted one."""
    found = selectors.entitlement_numbered(number)
    accept, revoke = (
        AcceptEntitlementForm.of(request, action="accept"),
        RevokeEntitlementForm.of(request, action="revoke"),
    )
    answer = EntitlementAnswerForm.of(request, action=("question", "refuse"))
    sent = sent_form(request, accept, answer, revoke)
    if sent and (done := sent.submit(number=number, by=organizer)):
        return redirect_with_message(request, done, "organizer-teams")
    context = {
        "request_row": found,
        "team": final_team(found.team),
        "waiting": found.state in selectors.WAITING,
        "accepted_paper": found.kind == EntitlementKind.PAPER and found.state == EntitlementState.ACCEPTED,
        "alike": list(selectors.entitlements_alike(found)),
        "form": sent,
        "answer": answer,
        "revoke": revoke,
        "now": domain_now(),
        "zone": _zone(),
    }
    return render(request, "teams/organizer_entitlement.html", context, status=sent.status if sent else 200)


@page(organizer_of, "GET POST")
def same_person(request: HttpRequest, organizer: User) -> HttpResponse:
    """Show the accounts that look like one person, with figures; a POST searches again."""
    if request.method == "POST":
        new = same_persons_find(now=domain_now(), by=organizer)
        return redirect_with_message(
            request, f"Looked at every account: {new} new pair{'' if new == 1 else 's'}.", "same-person"
        )
    page = page_of(request, same_persons(), PAGE_SIZE)
    return render(request, "teams/same_person.html", {"page": page, "now": domain_now(), "zone": _zone()})
