"""People associated with the contest may compete; they are marked, and never paid (R27)."""

from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from common.errors import Conflict, InvalidInput, NotAllowed, NotFound
from contest.models import Association, Team
from contest.teams.letters import association_tell
from labeling.people import is_organizer
from labeling.selectors import policy_in_force

MOST_CHARACTERS = 1_000


@transaction.atomic
def association_declare(
    *, team: Team, since: datetime, until: datetime | None, reason: str, by: User, now: datetime
) -> Association:
    """Declare that a team is associated with the contest from `since` on and before `until`; None: until it is ended.

    It may begin in the past: what was won since then is not paid either.
    """
    _check_organizer(by)
    said = reason.replace("\x00", "").strip()
    if not 0 < len(said) <= MOST_CHARACTERS:
        words = f"Give the reason, in at most {MOST_CHARACTERS:,} characters: the team reads it."
        raise InvalidInput(words, "invalid", field="reason")
    if until is not None and until <= since:
        raise InvalidInput("The association has to end after it begins.", "invalid", field="until")
    made = Association.objects.create(team=team, since=since, until=until, reason=said, declared_by=by, declared_at=now)
    association_tell(made, policy_in_force(now).policy.time_zone)
    return made


@transaction.atomic
def association_end(*, association_id: int, until: datetime, by: User, now: datetime) -> Association:
    """Say when an open association ends. What has a past end stays as it is: money was counted by it."""
    _check_organizer(by)
    found = Association.objects.select_for_update(of=("self",)).filter(pk=association_id).first()
    if found is None:
        raise NotFound("There is no such association.", "not_found")
    if found.until is not None and found.until <= now:
        raise Conflict("This association is over already.", "over_already")
    if until <= max(found.since, now):
        raise InvalidInput("It ends in the future, and after it began.", "invalid", field="until")
    found.until = until
    found.save(update_fields=["until"])
    association_tell(found, policy_in_force(now).policy.time_zone)
    return found


def _check_organizer(by: User) -> None:
    if not is_organizer(by):
        raise NotAllowed("Only organizers declare associations.", "not_an_organizer")
