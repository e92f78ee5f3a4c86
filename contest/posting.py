"""Sending letters that rows stand for: each once, whatever happens.

A row is taken before its letter goes, so that a sweep that dies in between loses at most the one letter it held and
repeats none. A row has `taken_at`, `not_before` and `tries`.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.core.mail import EmailMessage
from django.db.models import F, Q, QuerySet

from common.errors import Conflict
from common.mail import send

# A letter that the mail server refused is tried again after this long, this often.
AGAIN_AFTER = timedelta(minutes=30)
MOST_TRIES = 5
# One sweep sends so many: what is due behind it waits no longer than these take.
AT_ONCE = 50


def post_due(rows: QuerySet[Any], write: Callable[[Any], EmailMessage | None], *, clock: Callable[[], datetime]) -> int:
    """Send the letters that are due, the oldest first; return how many went out.

    `write` makes the letter of a row, or None where there is nobody to send it to any more: then it is over.
    """
    now = clock()
    due = rows.filter(Q(not_before__isnull=True) | Q(not_before__lte=now), taken_at__isnull=True, tries__lt=MOST_TRIES)
    return sum(_post(row, write, clock()) for row in due.order_by("pk")[:AT_ONCE])


def _post(row: Any, write: Callable[[Any], EmailMessage | None], now: datetime) -> int:
    """Take a letter and send it; one that the mail server refuses is due again later."""
    itself = type(row).objects.filter(pk=row.pk)
    if not itself.filter(taken_at__isnull=True).update(taken_at=now, tries=F("tries") + 1):
        return 0  # another sweep has it
    message = write(row)
    if message is None:
        return 0
    try:
        send(message)
    except Conflict:
        itself.update(taken_at=None, not_before=now + AGAIN_AFTER)
        return 0
    return 1
