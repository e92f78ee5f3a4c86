"""Queries for teams, members, entitlements and associations."""

from collections.abc import Collection
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from common.errors import NotFound, required
from contest.core.enums import EntitlementKind, EntitlementState
from contest.core.models import Member, Team
from contest.core.teams import final_team, teams_counted_together
from contest.teams.models import Association, Entitlement

WAITING = (EntitlementState.ASKED, EntitlementState.QUESTION)


def all_teams() -> QuerySet[Any]:
    """Return every team in the order of their names, each with the number of its members as `people`."""
    return Team.objects.select_related("merged_into").annotate(people=Count("members")).order_by("name")


def teams_matching(rows: QuerySet[Any], text: str) -> QuerySet[Any]:
    """Return the teams with `text` in their name, or as their ID."""
    return rows.filter(Q(name__icontains=text) | Q(public_id__iexact=text))


def other_teams(numbers: Collection[int]) -> QuerySet[Team]:
    """Return the teams that are not merged into another, except those with these numbers, by name."""
    return Team.objects.filter(merged_into=None).exclude(pk__in=numbers).order_by("name", "pk")


def membership_of(user: User) -> Member | None:
    """Return the membership of `user` with their team, None outside of any."""
    return Member.objects.select_related("team").filter(user=user).first()


def captain_of(team: Team) -> User | None:
    """Return the captain, None for a team that everybody has left."""
    return User.objects.filter(membership__team=team, membership__captain=True).first()


def members_of(team: Team) -> QuerySet[Member]:
    """Return the members, the captain first, then in the order in which they came."""
    return team.members.select_related("user").order_by("-captain", "joined_at", "pk")


def entitlements_of(team: Team) -> QuerySet[Entitlement]:
    """Return every request and grant of the team and of those merged into it, newest first."""
    rows = Entitlement.objects.filter(team__in=teams_counted_together(team)).select_related("decision", "author")
    return rows.order_by("-asked_at", "-pk")


def entitlement_in_force(team: Team, now: datetime) -> Entitlement | None:
    """Return why the team may attack (R25): a grant, or an accepted paper whose author is a member now; or None.

    A paper entitles one team at a time: the one its author is in.
    """
    here = Exists(Member.objects.filter(user=OuterRef("author"), team=final_team(team)))
    return _accepted(team, now).filter(Q(kind=EntitlementKind.GRANT) | Q(here)).order_by("decided_at", "pk").first()


def _accepted(team: Team, now: datetime) -> QuerySet[Entitlement]:
    return entitlements_of(team).filter(state=EntitlementState.ACCEPTED, decided_at__lte=now)


def speaks_for(user: User, team: Team, now: datetime) -> bool:
    """Say whether the team may attack only by papers of `user`, and so no longer once they leave it."""
    if not is_entitled(team, now):
        return False
    here = Exists(Member.objects.filter(user=OuterRef("author"), team=final_team(team)).exclude(user=user))
    return not _accepted(team, now).filter(Q(kind=EntitlementKind.GRANT) | Q(here)).exists()


def is_entitled(team: Team, now: datetime) -> bool:
    """Say whether the team may attack (R25)."""
    return entitlement_in_force(team, now) is not None


def is_paid(team: Team, at: datetime) -> bool:
    """Say whether the team could be paid for what it did at `at`: no association covers that moment (R27), save one
    that was declared in error.

    Teams merged by then count together: no team becomes paid by being merged into another.
    """
    covers = Q(since__lte=at) & (Q(until__isnull=True) | Q(until__gt=at))
    return not Association.objects.filter(covers, mistake=None, team__in=_together_at(team, at)).exists()


def is_paid_throughout(team: Team, first: datetime, last: datetime) -> bool:
    """Say whether `team` could be paid at every moment from `first` to `last` (R27)."""
    together = teams_counted_together(team)
    begins = list(Association.objects.filter(team__in=together).values_list("since", flat=True))
    if not begins:
        return True
    # A team becomes unpaid when an association begins, or when it becomes one with a team that has one.
    begins += [each.merged_at for each in together if each.merged_at is not None]
    return all(is_paid(team, at) for at in {first, last, *begins} if first <= at <= last)


def _together_at(team: Team, at: datetime) -> Collection[Team]:
    while team.merged_into is not None and team.merged_at is not None and team.merged_at <= at:
        team = team.merged_into
    found = [team]
    for each in found:
        found.extend(each.merged.filter(merged_at__lte=at))
    return found


def associations_of(team: Team) -> QuerySet[Association]:
    """Return the times in which the team, or one merged into it, is associated with the contest, newest first."""
    rows = Association.objects.filter(team__in=teams_counted_together(team)).select_related("mistake")
    return rows.order_by("-since", "-pk")


def requests_waiting() -> QuerySet[Entitlement]:
    """Return the requests that wait for an organizer or for the team's answer, the oldest first."""
    return Entitlement.objects.filter(state__in=WAITING).select_related("team", "author").order_by("asked_at", "pk")


def pending_requests() -> QuerySet[Entitlement]:
    """Return the requests that wait for an organizer."""
    return Entitlement.objects.filter(state=EntitlementState.ASKED)


def grants_given() -> QuerySet[Entitlement]:
    """Return the grants of the board (R25), also revoked ones, with their steps; newest first."""
    granted = Entitlement.objects.filter(kind=EntitlementKind.GRANT).select_related("team", "decision__decided_by")
    return granted.prefetch_related("steps__made_by").order_by("-decided_at", "-pk")


def teams_without_grant(*, but: Collection[int]) -> list[Team]:
    """Return the teams that have no grant in force (R25) and are no part of another one, but those with these numbers,
    in the order of their names."""
    in_force = Entitlement.objects.filter(kind=EntitlementKind.GRANT, state=EntitlementState.ACCEPTED)
    return list(other_teams(but).exclude(entitlements__in=in_force))


def entitlement_by_number(number: int) -> Entitlement | None:
    """Return the request or grant with this number, None when there is none."""
    return Entitlement.objects.filter(pk=number).first()


def entitlement_numbered(number: int) -> Entitlement:
    """Return a request or grant with every step of it; NotFound when there is none with this number."""
    rows = Entitlement.objects.select_related("team", "author", "asked_by", "decision")
    found = rows.prefetch_related("steps__made_by").filter(pk=number).first()
    return required(found, NotFound("There is no such request.", "not_found"))


def entitlements_alike(entitlement: Entitlement) -> QuerySet[Entitlement]:
    """Return the others, of whatever team, that name the same paper or the same author's address."""
    paper = Q(arxiv_id=entitlement.arxiv_id, arxiv_id__gt="")
    alike = paper | Q(email__iexact=entitlement.email, email__gt="")
    return Entitlement.objects.select_related("team").filter(alike).exclude(pk=entitlement.pk)


def association_marks(team: Team) -> dict[str, Any]:
    """Return the marks of R27 for a page: every association, and whether any of them counts."""
    rows = list(associations_of(team))
    return {"associations": rows, "marked": any(not hasattr(each, "mistake") for each in rows)}
