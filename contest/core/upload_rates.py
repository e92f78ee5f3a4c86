"""Limits the number of refused uploads per team and hour; a refusal costs no quota (R25), but work of the server.

The hours are those of the server's clock, not of the contest's clock: the limit protects the server.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from common import rates
from common.errors import DomainError, ServerBusy, ServiceUnavailable, TooMany
from common.times import to_the_second
from contest.core.enums import UploadKind
from contest.core.models import Team
from contest.core.teams import final_team
from picture_files.refusals import PictureRefused
from policy.selectors import policy_in_force

MAX_REFUSED_PER_HOUR = {UploadKind.ATTACK: 60, UploadKind.DEFENSE: 20}
_WHAT = {
    UploadKind.ATTACK: ("pictures", "The page of your attacks says what is wrong with a picture before it is sent."),
    UploadKind.DEFENSE: (
        "hand-ins",
        "python -m defense_kit check says what is wrong with a defense before it is sent.",
    ),
}
TOO_MANY_REFUSED = "too_many_refused"


def check_upload_rate(team: Team, kind: UploadKind) -> None:
    """Raise TooMany (`too_many_refused`) for a team that has reached the most refusals of an hour."""
    now = timezone.now()
    if rates.read_count(_key(team, kind), now=now) >= MAX_REFUSED_PER_HOUR[kind]:
        raise _too_many(kind, now)


@dataclass(slots=True)
class UploadCount:
    """State of the count in one upload: all pictures refused by their headers alone count as one refusal."""

    glanced: bool = False

    def takes(self, error: DomainError) -> bool:
        """Say whether a refusal counts, given those counted before in this upload."""
        if isinstance(error, PictureRefused) and error.decoded:
            return True
        first, self.glanced = not self.glanced, True
        return first


@contextmanager
def count_refusals(team: Team, kind: UploadKind, upload: UploadCount | None = None) -> Iterator[None]:
    """Context manager that counts a refusal raised inside; raises as `check_upload_rate` before any work.

    `upload` is common to the pictures of one upload. Not counted: refusals for a limit of the team or of the server,
    and outages. It must not be inside a transaction that the refusal rolls back.
    """
    check_upload_rate(team, kind)
    try:
        yield
    except (TooMany, ServerBusy, ServiceUnavailable):
        raise
    except DomainError as error:
        if upload is None or upload.takes(error):
            rates.increment(_key(team, kind), now=timezone.now())
        raise


def _key(team: Team, kind: UploadKind) -> str:
    return f"refused {kind} of team {final_team(team).pk}"


def _too_many(kind: UploadKind, now: datetime) -> TooMany:
    what, hint = _WHAT[kind]
    again = to_the_second(rates.hour_ends(now), policy_in_force(now).policy.time_zone)
    words = (
        f"{MAX_REFUSED_PER_HOUR[kind]} {what} of your team were refused in this hour, which is the most. {hint} "
        f"More are taken from {again} on. "
        "This one was neither looked at nor kept, and nothing that came behind it."
    )
    return TooMany(words, TOO_MANY_REFUSED, retry_after=rates.seconds_left(now))
