"""Sweeps that have run, for tests of what organizers read."""

from datetime import timedelta

from django.utils import timezone

from common.models import SweepRun
from contest.operations.pipeline import SWEEPS


def sweeps_ran(*, ago: timedelta = timedelta(0), failing: timedelta | None = None, but: tuple[str, ...] = ()) -> None:
    """Let every sweep but these have run, and all of them fail for so long."""
    now = timezone.now()
    since = now - failing if failing is not None else None
    rows = [SweepRun(name=each.name, ran_at=now - ago, failing_since=since) for each in SWEEPS if each.name not in but]
    SweepRun.objects.bulk_create(rows)
