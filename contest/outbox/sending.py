"""Sends messages by e-mail, one by one or as a daily digest."""

from collections.abc import Callable
from datetime import datetime, time
from zoneinfo import ZoneInfo

from django.db import transaction
from django.db.models import QuerySet

from contest.core.enums import MessageRate
from contest.outbox.letters import digest_mail_of, mail_of
from contest.outbox.models import Digest, Message
from contest.outbox.posting import post_due
from policy.selectors import policy_in_force

# When the letter of the day is made, by the clock of the contest's zone.
MORNING = time(7)


def messages_send(*, clock: Callable[[], datetime]) -> int:
    """Make the daily digests when it is time, and send the e-mails that are due; return how many were sent."""
    digests_make(now=clock())
    alone = Message.objects.filter(rate=MessageRate.AT_ONCE).select_related("user", "team")
    return post_due(alone, mail_of, clock=clock) + post_due(
        Digest.objects.select_related("user"), digest_mail_of, clock=clock
    )


def digests_make(*, now: datetime) -> int:
    """Collect the messages that waited for this morning in one digest for each person; return how many were made.

    A person has one digest a day: later messages wait for the next. Of two simultaneous sweeps one makes it.
    """
    zone = ZoneInfo(policy_in_force(now).policy.time_zone)
    morning = datetime.combine(now.astimezone(zone).date(), MORNING, zone)
    if now < morning:
        return 0
    readers = _waiting().filter(made_at__lt=morning).order_by().values_list("user", flat=True).distinct()
    return sum(_digest_make(user, morning, now) for user in readers)


def _waiting() -> QuerySet[Message]:
    return Message.objects.filter(rate=MessageRate.DIGEST, digest__isnull=True, taken_at__isnull=True)


@transaction.atomic
def _digest_make(user: int, morning: datetime, now: datetime) -> int:
    row, new = Digest.objects.get_or_create(user_id=user, day=morning.date(), defaults={"made_at": now})
    if not new:
        return 0
    if not _waiting().filter(user=user, made_at__lt=morning).update(digest=row):
        row.delete()  # the person changed their preference to `at_once` a moment ago
        return 0
    return 1
