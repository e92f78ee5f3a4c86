"""Queries for the team of a person, and for teams that were merged (R25)."""

from collections.abc import Mapping

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Q

from common.database.request_memory import once_per_request
from common.errors import NotFound, required
from contest.core.models import Team


def team_of(user: User) -> Team | None:
    """Return the team that `user` is in, None outside of any."""
    return Team.objects.filter(members__user=user).first()


def teams_of(user: User | AnonymousUser) -> list[Team]:
    """Return the teams that `user` is in, by name."""
    return list(Team.objects.filter(members__user=user.pk).order_by("name"))


def final_team(team: Team) -> Team:
    """Return the team that `team` is part of now: itself unless it was merged."""
    while team.merged_into is not None:
        team = team.merged_into
    return team


def teams_counted_together(team: Team) -> list[Team]:
    """Return the teams with a common quota (R25): the team that `team` is part of now, and all merged into that."""
    return list(_family(final_team(team)))


@once_per_request
def _family(team: Team) -> tuple[Team, ...]:
    return tuple(with_merged(team))


def with_merged(team: Team) -> list[Team]:
    """Return the team and those that became part of it."""
    found = [team]
    for each in found:
        found.extend(each.merged.order_by("pk"))
    return found


@once_per_request
def teams_by_number() -> Mapping[int, Team]:
    """Return every team with the one that it is part of now, by its primary key."""
    return Team.objects.select_related("merged_into").in_bulk()


def team_named(public_id: str) -> Team:
    """Return the team with this ID; NotFound when there is none."""
    return required(
        Team.objects.select_related("merged_into").filter(public_id=public_id).first(),
        NotFound("There is no team with this ID.", "not_found"),
    )


def team_called(typed: str) -> Team | None:
    """Return the team with this ID or this name, in whatever case it is typed; None when there is none."""
    return Team.objects.filter(Q(public_id__iexact=typed) | Q(name__iexact=typed)).first()


def team_by_id(public_id: str) -> Team | None:
    """Return the team with this ID, None when there is none."""
    return Team.objects.filter(public_id=public_id).first()
