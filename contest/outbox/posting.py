"""Sends each letter (e-mail) at most once, and tries one again that could not be sent.

A row is marked as taken before its letter is sent, so that a sweep killed in between loses at most that one letter and
repeats none. A letter that the mail server may have taken stays marked too: organizers decide whether to repeat it.
Rows are of subclasses of Posted (contest.outbox.models).
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Any

import structlog
from django.core.mail import EmailMessage
from django.db.models import F, Q, QuerySet

from common.errors import Conflict
from common.mail import send_letter
from contest.outbox.models import Posted

# A letter that could not be made or sent is tried again after this long, this often.
AGAIN_AFTER = timedelta(minutes=30)
MAX_TRIES = 5
# The most letters of one sweep, and how long it begins others, so that other due work does not wait for a slow server.
BATCH_SIZE = 50
MAX_SWEEP = timedelta(minutes=5)
# Sending a letter takes at most this long: some seconds for each answer of the mail server, and a minute for the last.
UNDER_WAY = timedelta(minutes=10)
NOBODY = "Its reader has no address, or may not be told any more."
_MAX_ERROR_CHARACTERS = Posted._meta.get_field("error").max_length or 0
log = structlog.get_logger(__name__)


def post_due(rows: QuerySet[Any], write: Callable[[Any], EmailMessage | None], *, clock: Callable[[], datetime]) -> int:
    """Send the letters that are due, the oldest first; return how many went out.

    `write` renders the letter of a row, or returns None if there is no longer anybody to send it to: then it is over. A
    letter that fails does not stop the others.
    """
    now = clock()
    due = rows.filter(Q(not_before__isnull=True) | Q(not_before__lte=now), taken_at__isnull=True, tries__lt=MAX_TRIES)
    in_time = takewhile(lambda _: clock() < now + MAX_SWEEP, due.order_by("pk")[:BATCH_SIZE])
    return sum(_post(rows, row, write, clock()) for row in in_time)


def _post(rows: QuerySet[Any], row: Any, write: Callable[[Any], EmailMessage | None], now: datetime) -> int:
    """Take a letter and send it; one that could not be made, or that the mail server refused, is due again later. One
    that the server may have taken is not."""
    itself = type(row).objects.filter(pk=row.pk)
    # Checked again: another sweep may have taken it, or its reader may have changed the preference.
    if not rows.filter(pk=row.pk, taken_at__isnull=True).update(taken_at=now, tries=F("tries") + 1):
        return 0
    try:
        message = write(row)
        if message is not None:
            send_letter(message)
    except Exception as error:  # whatever it is, the next letter is to be sent
        refused = isinstance(error, Conflict)  # logged where the mail server refused it
        lost = isinstance(error, Conflict) and error.code == "mail_lost"
        again = {} if lost else {"taken_at": None, "not_before": now + AGAIN_AFTER}
        itself.update(error=_why(error), **again)
        log.warning("letter_not_sent", letter=f"{row._meta.label} {row.pk}", tries=row.tries + 1, exc_info=not refused)
        return 0
    itself.update(error=NOBODY) if message is None else itself.update(sent_at=now, error="")
    return int(message is not None)


def _why(error: Exception) -> str:
    """Return why a letter was not sent, for organizers: what the mail server said, or what is wrong with its text."""
    cause = error.__cause__ if isinstance(error, Conflict) and error.__cause__ is not None else error
    return f"{type(cause).__name__}: {cause}"[:_MAX_ERROR_CHARACTERS]


def failing_letters(rows: QuerySet[Any]) -> QuerySet[Any]:
    """Return the letters that were tried and not sent: due again, or given up after MAX_TRIES."""
    return rows.filter(taken_at__isnull=True, tries__gt=0)


def given_up_letters(rows: QuerySet[Any]) -> QuerySet[Any]:
    """Return the letters that are no longer tried: their readers did not get them."""
    return failing_letters(rows).filter(tries__gte=MAX_TRIES)


def lost_letters(rows: QuerySet[Any], *, now: datetime) -> QuerySet[Any]:
    """Return the letters that a killed sweep had taken, or that the mail server did not confirm: whether they were sent
    is unknown."""
    return rows.filter(taken_at__lt=now - UNDER_WAY, sent_at__isnull=True).exclude(error=NOBODY)


def post_again(rows: QuerySet[Any]) -> int:
    """Make letters due at once that were not sent, or maybe not; return how many."""
    return rows.filter(sent_at__isnull=True).update(taken_at=None, not_before=None, tries=0)
