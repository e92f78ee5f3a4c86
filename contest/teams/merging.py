"""Merges two teams: members, quota and entitlement count together from then on (R25)."""

from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from accounts.roles import is_organizer
from common.audit.trail import audit
from common.errors import Conflict, NotAllowed
from common.typed import clean_words
from contest.core.models import Member, Team
from contest.teams.letters import notify_merged
from contest.teams.models import PastMember, TeamMerge
from contest.teams.services import lock_team

MOST_CHARACTERS = 1_000


@transaction.atomic
def teams_merge(*, team: Team, into: Team, reason: str, by: User, now: datetime) -> TeamMerge:
    """Make `team` part of `into`; it stays in the record, with all that it sent. There is no way back.

    Conflict when they are one team already (`same_team`, `merged`); InvalidInput (`reason`) without a reason.
    """
    if not is_organizer(by):
        raise NotAllowed("Only organizers merge teams.", "not_an_organizer")
    ask = "Give the reason: both teams read it."
    said = clean_words(reason, field="reason", ask=ask, most=MOST_CHARACTERS)
    gone, stays = _both_held(team, into)
    notify_merged(gone, stays, reason=said, now=now)
    _move_members(gone, stays, now)
    gone.invitations.filter(accepted_at__isnull=True, withdrawn_at__isnull=True).update(withdrawn_at=now)
    Team.objects.filter(pk=gone.pk).update(merged_into=stays, merged_at=now)
    audit("team.merge", by=by, subject={"team": [gone.public_id, stays.public_id]}, why=said, now=now)
    return TeamMerge.objects.create(team=gone, into=stays, reason=said, merged_by=by, merged_at=now)


def _both_held(team: Team, into: Team) -> tuple[Team, Team]:
    if team.pk == into.pk:
        raise Conflict("A team is not merged with itself: choose another one.", "same_team", field="into")
    # In the order of their numbers, so that two mergings at once wait for each other and never both.
    held = {number: lock_team(number) for number in sorted((team.pk, into.pk))}
    for each in held.values():
        if each.merged_into_id is not None:
            raise Conflict(f"Team {each.name} is part of another one already: choose that one.", "merged", field="into")
    return held[team.pk], held[into.pk]


def _move_members(gone: Team, stays: Team, now: datetime) -> None:
    moving = list(gone.members.all())
    PastMember.objects.bulk_create(
        PastMember(team=gone, user_id=each.user_id, joined_at=each.joined_at, left_at=now) for each in moving
    )
    # A team that everybody had left is led by who leads the one that joins it.
    led = stays.members.exists()
    for each in moving:
        Member.objects.filter(pk=each.pk).update(team=stays, captain=each.captain and not led, joined_at=now)
