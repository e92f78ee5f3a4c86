"""What is told because of facts, by sweeps that may run at any time and as often as they like."""

from collections.abc import Callable
from datetime import datetime, timedelta

from django.core.cache import cache

from contest.defenses.letters import not_eligible_tell
from contest.notifications.breaks import broke_tell, broken_tell
from contest.notifications.cases import cases_tell
from contest.notifications.deadlines import appeals_closing_tell, questions_tell
from contest.notifications.organizers import failed_releases_tell, given_up_tell, stuck_panels_tell
from contest.notifications.verdicts import valid_tell, verdicts_tell

LOOK_EVERY = timedelta(minutes=5)
_LAST_LOOK = "messages-looked"
_TELL: tuple[Callable[..., int], ...] = (
    not_eligible_tell,
    verdicts_tell,
    valid_tell,
    broke_tell,
    broken_tell,
    cases_tell,
    appeals_closing_tell,
    questions_tell,
    failed_releases_tell,
    stuck_panels_tell,
    given_up_tell,
)


def messages_tell(*, now: datetime) -> int:
    """Tell everything that is due; return how many messages or readers there were. Twice tells nothing more."""
    return sum(tell(now=now) for tell in _TELL)


def messages_tell_now_and_then(*, now: datetime) -> int:
    """Look when nobody has for LOOK_EVERY; 0 when it is not time yet. Forgetting when that was costs a look."""
    last: datetime | None = cache.get(_LAST_LOOK)
    if last is not None and last <= now < last + LOOK_EVERY:
        return 0
    cache.set(_LAST_LOOK, now, LOOK_EVERY.total_seconds())
    return messages_tell(now=now)
