"""Sweeps that have run, for tests of what organizers read."""

from datetime import timedelta

from django.utils import timezone

from common.models import SweepRun
from contest.operations.pipeline import SWEEPS


def sweeps_ran(
    *,
    ago: timedelta = timedelta(0),
    failing: timedelta | None = None,
    but: tuple[str, ...] = (),
    begun: timedelta = timedelta(days=1),
) -> None:
    """Let every sweep but these have run, and all of them fail for so long."""
    now = timezone.now()
    since = now - failing if failing is not None else None
    times = {"first_ran_at": now - max(ago, begun), "ran_at": now - ago, "failing_since": since}
    SweepRun.objects.bulk_create(SweepRun(name=each.name, **times) for each in SWEEPS if each.name not in but)
