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
from contest.attacks.selectors import against_all
from contest.models import Attack
from contest.teams.selectors import final_team, team_of
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
        "receipts": [_receipt(attack, against_all(attacks[0])) for attack in attacks],
    }
    send_behind(letter("attack_received", to=by.email, language=language_of(by), **context))


def tell_withdrawn(attack: Attack, *, by: User, now: datetime) -> None:
    """Write to who took an attack back, and to who sent it where that is another member of the team now."""
    context = {
        "by": by.get_username(),
        "team": attack.team.name,
        "withdrawn_at": to_the_second(now, zone_of(week_called(attack.week))),
        "receipt": _receipt(attack, ""),
    }
    readers = {person.pk: person for person in (by, attack.sent_by) if person is not None and person.email}
    for reader in readers.values():
        if reader == by or team_of(reader) == final_team(attack.team):
            told = context | {"username": reader.get_username(), "own": reader == by}
            send_behind(letter("attack_withdrawn", to=reader.email, language=language_of(reader), **told))


def _receipt(attack: Attack, all_words: str) -> dict[str, Any]:
    return {
        "id": attack.public_id,
        "file_name": attack.file_name,
        "sha256": attack.image.pixels_sha256,
        "targets": [defense.name for defense in attack.targets.order_by("name")],
        "against_all": all_words,
        "warnings": attack.warnings,
        "link": settings.PUBLIC_URL + reverse("attack", args=[attack.public_id]),
    }
