"""Records when each sweep (periodic job) last ran and whether it fails, for organizers and Prometheus."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import structlog
from django.db import Error, transaction
from django.db.models.functions import Coalesce
from django.utils import timezone

from common.models import SweepRun
from common.outages import outages

# While nothing changes, a process writes at most this often: each commit wakes the workers of other processes.
SECONDS_BETWEEN_NOTES = 300.0
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class SweepAge:
    """How long ago a sweep ran first and last, and for how long it has failed: None where its last run succeeded."""

    first: timedelta
    last: timedelta
    failing: timedelta | None


def seconds_since_sweeps() -> dict[str, SweepAge]:
    """Return sweep name -> when it ran; a sweep that never ran is not there."""
    now = timezone.now()
    return {
        each.name: SweepAge(
            now - each.first_ran_at, now - each.ran_at, now - each.failing_since if each.failing_since else None
        )
        for each in SweepRun.objects.all()
    }


class SweepLog:
    """What this process recorded of each sweep: whether it failed, and when it wrote that."""

    def __init__(self) -> None:
        self._noted: dict[str, tuple[bool, float]] = {}

    @contextmanager
    def running(self, name: str) -> Iterator[None]:
        """Note a run of the sweep `name`, which failed if this raises."""
        try:
            yield
        except Exception:
            self._note(name, failed=True)
            raise
        self._note(name, failed=False)

    def _note(self, name: str, *, failed: bool) -> None:
        failed_before, noted = self._noted.get(name, (False, float("-inf")))
        if failed == failed_before and time.monotonic() < noted + SECONDS_BETWEEN_NOTES:
            return
        self._noted[name] = (failed, time.monotonic())
        try:
            _write(name, failed)
        except Error as error:
            # The sweep's work counts even if its run cannot be recorded; an outage is logged elsewhere.
            if not outages.failed("noting sweeps", error):
                log.exception("sweep_not_noted", sweep=name)
        else:
            outages.succeeded("noting sweeps")


def _write(name: str, failed: bool) -> None:
    """Save the run; the time of the first failure stays, whichever process recorded it."""
    now = timezone.now()
    with transaction.atomic():
        since = Coalesce("failing_since", now) if failed else None
        if not SweepRun.objects.filter(name=name).update(ran_at=now, failing_since=since):
            first = SweepRun(name=name, first_ran_at=now, ran_at=now, failing_since=now if failed else None)
            SweepRun.objects.bulk_create([first], ignore_conflicts=True)


sweep_log = SweepLog()
