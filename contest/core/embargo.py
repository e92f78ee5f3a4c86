"""Query conditions for the embargo (R24): the only place that decides when attacks and pictures become public.

An attack is under embargo for everybody but its sender and the organizers until its week has ended, and for ever when
it was withdrawn. Its picture is public when the embargo ends; answers, rulings and predictions are public with the
release of their week (contest.core.publication.released), and so are pictures that organizers imported.
"""

from datetime import datetime

from django.db.models import Q, QuerySet

from contest.core.enums import RELEASED_ORIGINS
from contest.core.models import Attack
from contest.core.publication import released
from contest.core.weeks import week_at
from labeling.models import Image


def public_attack_condition(attack_prefix: str = "", *, now: datetime) -> Q:
    """Return the condition for attacks that are public: their week has ended and they were not withdrawn.

    `attack_prefix` leads to the attack, for example `attacks__`. Weeks follow each other without gaps, so an attack
    received before the current week began belongs to an ended week, whatever its time zone. Gold and example pictures
    are left out, even if somebody sent the same pixels as an attack (R5, R6).
    """
    ended = {f"{attack_prefix}received_at__lt": week_at(now).start, f"{attack_prefix}withdrawn_at__isnull": True}
    return Q(**ended, **{f"{attack_prefix}image__origin__in": RELEASED_ORIGINS})


def public_image_condition(image: str = "", *, now: datetime) -> Q:
    """Return the condition for pictures that are public; `image` leads to the picture, for example `image__`."""
    return Q(**{f"{image}pk__in": public_attacks(now=now).values("image")}) | released(image)


def public_attacks(*, now: datetime) -> QuerySet[Attack]:
    """Return the public attacks."""
    return Attack.objects.filter(public_attack_condition(now=now))


def public_pictures(*, now: datetime) -> QuerySet[Image]:
    """Return the public pictures."""
    return Image.objects.filter(public_image_condition(now=now))


def pictures_of_public_attacks(now: datetime) -> QuerySet[Image]:
    """Return the pictures of public attacks, also those that came from another source too."""
    return Image.objects.filter(pk__in=public_attacks(now=now).values("image"))
