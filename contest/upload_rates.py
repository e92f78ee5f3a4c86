"""How many uploads of a team may be refused in an hour: a refusal costs no quota (R25), and still the server's work.

The count is kept in the database, so that it holds for all web processes together. It begins again with each hour.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from math import ceil

from django.db import transaction
from django.db.models import F

from common.errors import Busy, DomainError, TooMany
from common.times import to_the_second
from contest.enums import UploadKind
from contest.models import RefusedUploads, Team
from contest.teams.selectors import final_team
from labeling.selectors import policy_in_force

MOST_REFUSED_AN_HOUR = {UploadKind.ATTACK: 60, UploadKind.DEFENSE: 20}
_WHAT = {
    UploadKind.ATTACK: ("pictures", "The page of your attacks says what is wrong with a picture before it is sent."),
    UploadKind.DEFENSE: (
        "hand-ins",
        "python -m defense_kit check says what is wrong with a defense before it is sent.",
    ),
}
TOO_MANY_REFUSED = "too_many_refused"
_HOUR = timedelta(hours=1)


def check(team: Team, kind: UploadKind, *, now: datetime) -> None:
    """Raise TooMany (`too_many_refused`) for a team that has had as many refusals as there are in an hour."""
    rows = RefusedUploads.objects.filter(team=final_team(team), kind=kind, hour=_hour(now))
    if rows.filter(count__gte=MOST_REFUSED_AN_HOUR[kind]).exists():
        raise _too_many(kind, now)


@contextmanager
def refusals_counted(team: Team, kind: UploadKind, *, now: datetime) -> Iterator[None]:
    """Count what is refused inside, for what was done to find out; raises as `check` before anything is done.

    Not counted: refusals for a limit of the team or of the server. It must not be inside a transaction that the
    refusal undoes.
    """
    check(team, kind, now=now)
    try:
        yield
    except (TooMany, Busy):
        raise
    except DomainError:
        count(team, kind, now=now)
        raise


@transaction.atomic
def count(team: Team, kind: UploadKind, *, now: datetime) -> None:
    """Count one refusal."""
    whole, hour = final_team(team), _hour(now)
    RefusedUploads.objects.get_or_create(team=whole, kind=kind, defaults={"hour": hour})
    row = RefusedUploads.objects.select_for_update(no_key=True).get(team=whole, kind=kind)
    if row.hour < hour:
        row.hour, row.count = hour, 0
        row.save(update_fields=["hour", "count"])
    RefusedUploads.objects.filter(pk=row.pk).update(count=F("count") + 1)


def _hour(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0)


def _too_many(kind: UploadKind, now: datetime) -> TooMany:
    what, hint = _WHAT[kind]
    again = _hour(now) + _HOUR
    words = (
        f"{MOST_REFUSED_AN_HOUR[kind]} {what} of your team were refused in this hour, which is the most. {hint} "
        f"More are taken from {to_the_second(again, policy_in_force(now).policy.time_zone)} on. "
        "This one was neither looked at nor kept, and nothing that came behind it."
    )
    return TooMany(words, TOO_MANY_REFUSED, retry_after=ceil((again - now).total_seconds()))
