"""The sweep that looks for copying."""

from django.utils import timezone

from common.queues import slow_task
from labeling.watching import links


@slow_task
def look_for_copies() -> None:
    """Link the taskers whose answers are too much alike."""
    links.copies_look_now_and_then(now=timezone.now())
