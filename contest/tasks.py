"""Sweeps of the contest, as Celery carries them."""

from common.queues import quick_task, slow_task
from contest import pipeline


@quick_task
def record_breaks() -> None:
    """Turn confident mistakes into breaks."""
    pipeline.record_breaks()


@slow_task
def release_due_weeks() -> None:
    """Publish the ended weeks that are settled."""
    pipeline.release_weeks()
