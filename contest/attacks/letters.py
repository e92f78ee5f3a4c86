"""What is written to people about attacks."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.urls import reverse

from common.mail import letter, send_behind
from common.times import to_the_second
from contest.attacks import quota
from contest.models import Attack
from contest.weeks import week_called, zone_of
from labeling.accounts.letters import language_of
from labeling.policy import Policy


def tell_received(attacks: Sequence[Attack], *, by: User, policy: Policy, now: datetime) -> None:
    """Send the receipts of one upload to who sent it, where there is an address."""
    if not by.email:
        return
    team, week = attacks[0].team, week_called(attacks[0].week)
    zone = zone_of(week)
    context = {
        "username": by.get_username(),
        "team": team.name,
        "count": len(attacks),
        "received_at": to_the_second(attacks[0].received_at, zone),
        "week": week.name,
        "ends_at": to_the_second(week.end, zone),
        "left": quota.left(team, policy=policy, now=now),
        "receipts": [_receipt(attack) for attack in attacks],
    }
    send_behind(letter("attack_received", to=by.email, language=language_of(by), **context))


def _receipt(attack: Attack) -> dict[str, Any]:
    return {
        "id": attack.public_id,
        "file_name": attack.file_name,
        "sha256": attack.image.pixels_sha256,
        "targets": [defense.name for defense in attack.targets.order_by("name")],
        "warnings": attack.warnings,
        "link": settings.PUBLIC_URL + reverse("attack", args=[attack.public_id]),
    }
