"""What is written to people about attacks."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import CharField, Exists, F, OuterRef, Value
from django.db.models.functions import Coalesce, NullIf
from django.urls import reverse

from common.times import to_the_second
from contest.attacks import quota
from contest.attacks.selectors import against_all
from contest.enums import MessageKind
from contest.messages.writing import write
from contest.models import Attack, Message
from contest.teams.selectors import final_team, team_of
from contest.weeks import week_called, zone_of
from labeling.policy import Policy
from labeling.selectors import policy_at

# A receipt is written when its upload is over. One whose process died before is written by a sweep after this long.
_MISSED_AFTER, _MISSED_WITHIN = timedelta(minutes=5), timedelta(days=1)


def tell_received(attacks: Sequence[Attack], *, by: User, policy: Policy, now: datetime) -> int:
    """Write the receipts of one upload to who sent it, in one message; once. Returns how many were written."""
    first = attacks[0]
    week = week_called(first.week)
    zone = zone_of(week)
    alone = len(attacks) == 1
    return write(
        by,
        MessageKind.ATTACK_RECEIVED,
        about=reverse("attack", args=[first.public_id]) if alone else reverse("attacks"),
        now=now,
        key=first.upload or first.public_id,
        username=by.get_username(),
        team=first.team.name,
        count=len(attacks),
        received_at=to_the_second(first.received_at, zone),
        week=week.name,
        ends_at=to_the_second(week.end, zone),
        left=quota.left(first.team, policy=policy, now=now),
        receipts=[_receipt(attack, against_all(first)) for attack in attacks],
    )


def tell_missed(*, now: datetime) -> int:
    """Write the receipts of the uploads whose process died before it did; return how many."""
    written = Message.objects.filter(kind=MessageKind.ATTACK_RECEIVED, user=OuterRef("sent_by"), key=OuterRef("key"))
    lately = Attack.objects.filter(received_at__lt=now - _MISSED_AFTER, received_at__gt=now - _MISSED_WITHIN)
    keyed = lately.alias(key=Coalesce(NullIf(F("upload"), Value("")), F("public_id"), output_field=CharField()))
    missed = keyed.filter(~Exists(written), sent_by__isnull=False).select_related("image", "team", "sent_by")
    uploads: dict[str, list[Attack]] = {}
    for attack in missed.order_by("pk"):
        uploads.setdefault(attack.upload or attack.public_id, []).append(attack)
    return sum(_tell_missed(attacks, now) for attacks in uploads.values())


def _tell_missed(attacks: Sequence[Attack], now: datetime) -> int:
    by = attacks[0].sent_by
    assert by is not None, "the query asks for a sender"
    return tell_received(attacks, by=by, policy=policy_at(now), now=now)


def tell_withdrawn(attack: Attack, *, by: User, now: datetime) -> None:
    """Write to who took an attack back, and to who sent it where that is another member of the team now."""
    readers = {person.pk: person for person in (by, attack.sent_by) if person is not None}
    for reader in readers.values():
        if reader == by or team_of(reader) == final_team(attack.team):
            write(
                reader,
                MessageKind.ATTACK_WITHDRAWN,
                about=reverse("attack", args=[attack.public_id]),
                now=now,
                username=reader.get_username(),
                own=reader == by,
                by=by.get_username(),
                team=attack.team.name,
                withdrawn_at=to_the_second(now, zone_of(week_called(attack.week))),
                receipt=_receipt(attack, ""),
            )


def _receipt(attack: Attack, all_words: str) -> dict[str, Any]:
    return {
        "id": attack.public_id,
        "file_name": attack.file_name,
        "sha256": attack.image.pixels_sha256,
        "targets": [defense.name for defense in attack.targets.order_by("name")],
        "against_all": all_words,
        "warnings": list(attack.warnings),
        "link": settings.PUBLIC_URL + reverse("attack", args=[attack.public_id]),
    }
