"""Runs all notification sweeps. Idempotent."""

from collections.abc import Callable
from datetime import datetime, timedelta

import structlog
from django.core.cache import cache
from django.db import OperationalError

from contest.defenses.letters import notify_not_eligible
from contest.notifications.breaks import notify_broke, notify_broken
from contest.notifications.cases import notify_cases
from contest.notifications.deadlines import notify_appeals_closing, notify_questions
from contest.notifications.organizers import notify_failed_releases, notify_given_up, notify_stuck_panels
from contest.notifications.verdicts import notify_valid, notify_verdicts

LOOK_EVERY = timedelta(minutes=5)
_LAST_LOOK = "messages-looked"
log = structlog.get_logger(__name__)
_TELL: tuple[Callable[..., int], ...] = (
    notify_not_eligible,
    notify_verdicts,
    notify_valid,
    notify_broke,
    notify_broken,
    notify_cases,
    notify_appeals_closing,
    notify_questions,
    notify_failed_releases,
    notify_stuck_panels,
    notify_given_up,
)


def notify_of_facts(*, now: datetime) -> int:
    """Tell everything that is due; return how many messages or readers there were. Twice tells nothing more.

    A kind that fails does not stop the others: all errors are raised together at the end, as one ExceptionGroup.
    """
    count, failed = 0, dict[str, Exception]()
    for tell in _TELL:
        try:
            count += tell(now=now)
        except OperationalError:
            raise
        except Exception as error:  # whatever it is, only this kind fails
            log.exception("message_kind_failed", kind=tell.__name__)
            failed[tell.__name__] = error
    if failed:
        raise ExceptionGroup(f"not written: {', '.join(failed)}", list(failed.values()))
    return count


def notify_of_facts_periodically(*, now: datetime) -> int:
    """Run at most once per LOOK_EVERY; 0 when it is not time yet. If the cache loses the time, it runs once more."""
    last: datetime | None = cache.get(_LAST_LOOK)
    if last is not None and last <= now < last + LOOK_EVERY:
        return 0
    cache.set(_LAST_LOOK, now, LOOK_EVERY.total_seconds())
    return notify_of_facts(now=now)
