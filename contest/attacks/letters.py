"""Sends messages to teams about their attacks: receipts and withdrawals."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.urls import reverse

from common.times import to_the_second
from contest.attacks import quota
from contest.attacks.selectors import against_all
from contest.core.enums import MessageKind
from contest.core.models import Attack
from contest.core.teams import final_team, team_of
from contest.core.weeks import week_called, zone_of_week
from contest.outbox.models import Message
from contest.outbox.writing import notify
from policy.numbers import Policy

# The e-mail about an upload waits for its last picture; if the process dies, it is sent after this long.
_UPLOAD_TAKES = timedelta(minutes=1)


def write_receipt(attack: Attack, *, by: User, policy: Policy, now: datetime) -> None:
    """Write the receipt of an attack (R26) to who sent it. Call it in the transaction that records the attack.

    Pictures that were sent together share one message, which grows with each of them until its letter leaves.
    """
    key = attack.upload or attack.public_id
    ours = Message.objects.select_for_update().filter(user=by, kind=MessageKind.ATTACK_RECEIVED, key=key)
    begun = ours.first()
    if begun is None:
        _write([attack], key, by=by, policy=policy, now=now)
        ours.filter(taken_at=None).update(not_before=now + _UPLOAD_TAKES if attack.upload else None)
    elif begun.taken_at is None and begun.digest_id is None:
        together = Attack.objects.filter(upload=attack.upload, sent_by=by).select_related("image", "team")
        begun.about, begun.facts = reverse("attacks"), _facts(list(together.order_by("pk")), by, policy, now)
        begun.save(update_fields=["about", "facts"])
    else:
        _write([attack], attack.public_id, by=by, policy=policy, now=now)


def notify_upload_ended(upload: str, *, by: User) -> None:
    """Release the e-mail about an upload for sending, after its last picture."""
    Message.objects.filter(user=by, kind=MessageKind.ATTACK_RECEIVED, key=upload, tries=0).update(not_before=None)


def _write(attacks: Sequence[Attack], key: str, *, by: User, policy: Policy, now: datetime) -> None:
    about = reverse("attack", args=[attacks[0].public_id])
    notify(by, MessageKind.ATTACK_RECEIVED, about=about, now=now, key=key, **_facts(attacks, by, policy, now))


def _facts(attacks: Sequence[Attack], by: User, policy: Policy, now: datetime) -> dict[str, Any]:
    first = attacks[0]
    week = week_called(first.week)
    zone = zone_of_week(week)
    return {
        "username": by.get_username(),
        "team": first.team.name,
        "count": len(attacks),
        "received_at": to_the_second(first.received_at, zone),
        "week": week.name,
        "ends_at": to_the_second(week.end, zone),
        "left": quota.quota_left(first.team, policy=policy, now=now),
        "receipts": [_receipt(attack, against_all(first)) for attack in attacks],
    }


def notify_withdrawn(attack: Attack, *, by: User, now: datetime) -> None:
    """Write to the member who withdrew an attack, and to its sender if that is another member of the team now."""
    readers = {person.pk: person for person in (by, attack.sent_by) if person is not None}
    for reader in readers.values():
        if reader == by or team_of(reader) == final_team(attack.team):
            notify(
                reader,
                MessageKind.ATTACK_WITHDRAWN,
                about=reverse("attack", args=[attack.public_id]),
                now=now,
                username=reader.get_username(),
                own=reader == by,
                by=by.get_username(),
                team=attack.team.name,
                withdrawn_at=to_the_second(now, zone_of_week(week_called(attack.week))),
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
