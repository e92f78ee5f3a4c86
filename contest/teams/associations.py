"""Services for associations of teams with the contest: such teams compete, are marked, and are never paid (R27)."""

from datetime import UTC, datetime

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q

from accounts.roles import is_organizer
from common.audit.chain import moment
from common.audit.trail import Subject, audit
from common.errors import Conflict, InvalidInput, NotAllowed, NotFound, required
from common.times import absolute
from common.typed import clean_words
from contest.core.models import Team
from contest.teams.letters import notify_association
from contest.teams.models import Association, AssociationMistake
from policy.selectors import policy_in_force

MAX_CHARACTERS = 1_000
_ASK_WHY = "Give the reason: the team reads it."
EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)


@transaction.atomic
def association_declare(
    *, team: Team, since: datetime, until: datetime | None, reason: str, by: User, now: datetime
) -> Association:
    """Declare that a team is associated with the contest from `since` on and before `until`; None: until it is ended.

    It may begin in the past: prizes won since then are not paid either. InvalidInput for a time before EARLIEST or
    without an end after its beginning, Conflict (`overlaps`) where the team is associated already.
    """
    _check_organizer(by)
    said = clean_words(reason, field="reason", ask=_ASK_WHY, max_length=MAX_CHARACTERS)
    if since < EARLIEST:
        raise InvalidInput(
            f"Give a day in {EARLIEST.year} or later: there was no contest before.", "invalid", field="since"
        )
    if until is not None and until <= since:
        raise InvalidInput("The association has to end after it begins.", "invalid", field="until")
    _refuse_overlap(team, since, until)
    made = Association.objects.create(team=team, since=since, until=until, reason=said, declared_by=by, declared_at=now)
    notify_association(made, now=now)
    _record("association.declare", made, by, now, said)
    return made


@transaction.atomic
def association_end(*, association_id: int, until: datetime, by: User, now: datetime) -> Association:
    """Set when an open association ends. A past end never changes, because money was computed by it.

    `association_mistaken` takes back an association that should never have been declared.
    """
    _check_organizer(by)
    found = _lock_association(association_id)
    if hasattr(found, "mistake"):
        raise Conflict("This association was declared in error: it has no end to record.", "mistaken_already")
    if found.until is not None and found.until <= now:
        raise Conflict("This association is over already.", "over_already")
    if until <= max(found.since, now):
        raise InvalidInput("It ends in the future, and after it began.", "invalid", field="until")
    _refuse_overlap(found.team, found.since, until, but=found.pk)
    found.until = until
    found.save(update_fields=["until"])
    notify_association(found, now=now)
    _record("association.end", found, by, now)
    return found


@transaction.atomic
def association_mistaken(*, association_id: int, reason: str, by: User, now: datetime) -> AssociationMistake:
    """Record that an association was declared in error: it becomes void, also for the past.

    It stays in the record with the mistake; the next settlement corrects prizes computed by it (R22). This cannot be
    undone: a true association is declared as a new one. Conflict (`mistaken_already`) the second time.
    """
    _check_organizer(by)
    said = clean_words(reason, field="reason", ask=_ASK_WHY, max_length=MAX_CHARACTERS)
    found = _lock_association(association_id)
    if hasattr(found, "mistake"):
        raise Conflict("This association is recorded as an error already.", "mistaken_already")
    made = AssociationMistake.objects.create(association=found, reason=said, declared_by=by, declared_at=now)
    notify_association(found, now=now, mistake=made)
    _record("association.mistaken", found, by, now, said)
    return made


def _record(action: str, of: Association, by: User, now: datetime, why: str = "") -> None:
    told = {"since": moment(of.since), "until": moment(of.until) if of.until else None}
    subject: Subject = {"team": [of.team.public_id], "association": [of.pk]}
    audit(action, by=by, subject=subject, why=why, now=now, private=told)


def _refuse_overlap(team: Team, since: datetime, until: datetime | None, *, but: int = 0) -> None:
    """Refuse a time that overlaps with another association: each of them is public on the team's page.

    An association declared in error does not count.
    """
    Team.objects.select_for_update(no_key=True).get(pk=team.pk)  # simultaneous requests wait for each other
    others = Association.objects.filter(team=team, mistake=None).exclude(pk=but)
    overlaps = Q(until__isnull=True) | Q(until__gt=since)
    if until is not None:
        overlaps &= Q(since__lt=until)
    found = others.filter(overlaps).order_by("since").first()
    if found is not None:
        raise Conflict(_overlapping(found), "overlaps")


def _overlapping(found: Association) -> str:
    zone = policy_in_force(found.declared_at).policy.time_zone
    span = f"since {absolute(found.since, zone)}"
    span += f" until {absolute(found.until, zone)}" if found.until else ", without an end"
    return f"The team is associated already {span}: give a time outside of that, or end that one first."


def _lock_association(association_id: int) -> Association:
    rows = Association.objects.select_for_update(of=("self",)).filter(pk=association_id)
    return required(rows.first(), NotFound("There is no such association.", "not_found"))


def _check_organizer(by: User) -> None:
    if not is_organizer(by):
        raise NotAllowed("Only organizers declare associations.", "not_an_organizer")
