"""Receipts of attacks as JSON, for programs and for the upload page (R26)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.urls import reverse

from common.errors import DomainError
from common.times import to_the_second
from contest.attacks import quota
from contest.attacks.attack_states import AttackStatus
from contest.attacks.selectors import known_pixels
from contest.attacks.services import UploadResult
from contest.attacks.uploads import MAX_ENTRIES, MAX_ZIP_BYTES, NO_PICTURE, TOO_MANY_PICTURES
from contest.core.embargo import public_attack_condition
from contest.core.models import Attack, Team
from contest.core.weeks import week_called, zone_of_week
from labeling.notices import iso
from picture_files.decoding import MAX_PICTURE_BYTES, MAX_PIXELS
from picture_files.refusals import BLACK_AND_WHITE, CMYK, GREYSCALE, LOSSY, PALETTE, REFUSALS
from policy.numbers import Policy


@dataclass(frozen=True, slots=True)
class Receipt:
    """An attack with what its receipt adds: the end of its week, the time zone, its targets, and the attack it copies,
    where that may be shown."""

    attack: Attack
    ends_at: datetime
    zone: str
    targets: tuple[str, ...]
    original: Attack | None


def attack_receipt(attack: Attack, *, unrestricted: bool, now: datetime) -> Receipt:
    """Return the receipt. It names the copied attack only if that is public, or if `unrestricted`: otherwise it would
    reveal what another team sent (R24).
    """
    week = week_called(attack.week)
    original = attack.copy_of
    if (
        original is not None
        and not unrestricted
        and not Attack.objects.filter(public_attack_condition(now=now), pk=original.pk).exists()
    ):
        original = None
    targets = tuple(attack.targets.order_by("public_id").values_list("public_id", flat=True))
    return Receipt(attack, week.end, zone_of_week(week), targets, original)


def attack_receipt_json(receipt: Receipt, *, state: AttackStatus | None = None) -> dict[str, Any]:
    """Return a receipt as the API writes it."""
    attack = receipt.attack
    return {
        "id": attack.public_id,
        "received_at": iso(attack.received_at),
        "week": attack.week,
        "week_ends_at": iso(receipt.ends_at),
        "time_zone": receipt.zone,
        "image": attack.image.public_id,
        "sha256_pixels": attack.image.pixels_sha256,
        "file_name": attack.file_name,
        "of_quota": attack.of_quota,
        "defenses": list(receipt.targets),
        "warnings": attack.warnings,
        "copy_of": receipt.original.public_id if receipt.original else None,
        "withdrawn_at": iso(attack.withdrawn_at) if attack.withdrawn_at else None,
        **({"state": str(state.state)} if state else {}),
    }


def refusal_json(error: DomainError, earlier: Attack | None) -> dict[str, Any]:
    """Return a refusal with its stable code, and the earlier receipt of a picture that was sent before."""
    body: dict[str, Any] = {"code": error.code, "detail": error.message}
    return body | ({"receipt": earlier.public_id} if earlier else {})


def outcomes_json(outcomes: Sequence[UploadResult], *, team: Team, policy: Policy, now: datetime) -> dict[str, Any]:
    """Return the results of an upload for the script of the page."""
    return {
        "outcomes": [_outcome_json(each, now) for each in outcomes],
        "quota_left": quota.quota_left(team, policy=policy, now=now),
        "day_ends": _day_ends(policy, now),
    }


def _day_ends(policy: Policy, now: datetime) -> str:
    return to_the_second(quota.day_ends(policy, now), policy.time_zone)


def _outcome_json(outcome: UploadResult, now: datetime) -> dict[str, Any]:
    body: dict[str, Any] = {"name": outcome.name}
    if outcome.attack is not None:
        receipt = attack_receipt(outcome.attack, unrestricted=False, now=now)
        body["receipt"] = attack_receipt_json(receipt) | {"url": reverse("attack", args=[outcome.attack.public_id])}
    if outcome.refused is not None:
        body["refused"] = refusal_json(outcome.refused, outcome.earlier)
        if outcome.earlier is not None:
            body["refused"]["url"] = reverse("attack", args=[outcome.earlier.public_id])
    return body


def upload_page_config(team: Team, *, policy: Policy, now: datetime) -> dict[str, Any]:
    """Return the configuration of the upload page's script: limits, hashes of pictures sent before, and all texts."""
    return {
        "send": reverse("attacks-send"),
        "signIn": f"{reverse('sign-in')}?next={reverse('attacks')}",
        "size": policy.image_size,
        "maxBytes": MAX_PICTURE_BYTES,
        "maxPixels": MAX_PIXELS,
        "maxUpload": MAX_ZIP_BYTES,
        "maxEntries": MAX_ENTRIES,
        "left": quota.quota_left(team, policy=policy, now=now),
        "perDay": policy.attacks_per_day,
        "dayEnds": _day_ends(policy, now),
        "dayLeft": (quota.day_ends(policy, now) - now).total_seconds(),
        "known": known_pixels(team),
        "refusals": {name: refusal.words for name, refusal in REFUSALS.items()},
        "kinds": {"blackAndWhite": BLACK_AND_WHITE, "greyscale": GREYSCALE, "palette": PALETTE, "cmyk": CMYK},
        "lossy": LOSSY,
        "words": WORDS,
    }


WORDS = {
    "looking": "Looking at it",
    "ready": "Ready to send",
    "zip": "A zip of {count} pictures: they are looked at when it has arrived",
    "zipOne": "A zip of 1 picture: it is looked at when it has arrived",
    "zipName": "zip",
    "zipEmpty": NO_PICTURE,
    "zipMost": TOO_MANY_PICTURES,
    "zipUnread": "A zip: its pictures are looked at when it has arrived",
    "known": "Your team has sent exactly this picture before.",
    "sending": "Sending, {percent} %",
    "arrived": "Arrived, being checked",
    "receipt": "Receipt {id}",
    "refused": "Not sent: {words}",
    "serverRefused": "Refused: {words}",
    "sendingAll": "Sending. Each picture gets its own receipt.",
    "nextDay": ". The next day begins on {when}.",
    "failed": "Not sent: the server did not answer. Check the connection and send it again.",
    "signedOut": "You are signed out, and nothing more was sent. Your pictures are still here: sign in and send them.",
    "signIn": "Sign in, in a new tab",
    "tooLarge": "Not sent: one upload has at most {most} MiB.",
    "remove": "Remove",
    "removeNamed": "Remove {name}",
    "send": "Send {count} pictures",
    "sendOne": "Send 1 picture",
    "sendNone": "Send",
    "left": "{count} left for your team today",
    "done": "{sent} received, {refused} refused.",
    "tooMany": "More than your team has left today: the last ones will be refused.",
    "usedUp": "Your team has sent all its pictures of today. What you chose waits here until the next day begins.",
}
