"""Queries for the credit of a picture (R26): the first attack with its pixels that was not withdrawn."""

from collections.abc import Iterable
from datetime import datetime

from django.db.models import Q

from contest.core.breaks import was_unknown
from contest.core.embargo import public_attack_condition
from contest.core.models import Attack
from labeling.enums import Origin


def has_credit() -> Q:
    """Condition for attacks with the credit: the first receipt of a picture that was not to be labeled anyhow.

    Nobody has the credit for a picture of the organizers that a team sends afterwards.
    """
    return Q(copy_of__isnull=True) & was_unknown()


def was_to_be_labeled_before(attack: Attack) -> bool:
    """Say whether the picture of an attack was to be labeled anyhow before it was sent."""
    image = attack.image
    return image.origin != Origin.ATTACK and image.label_from is not None and image.label_from <= attack.received_at


def first_receipts(images: Iterable[int], *, unrestricted: bool, now: datetime) -> dict[int, Attack]:
    """Return picture -> its first attack that was not withdrawn: of public attacks, or of all if `unrestricted`."""
    told = Q(withdrawn_at__isnull=True) if unrestricted else public_attack_condition(now=now)
    rows = Attack.objects.filter(told, image__in=list(images)).select_related("team", "image")
    return {attack.image_id: attack for attack in rows.order_by("-received_at", "-pk")}
