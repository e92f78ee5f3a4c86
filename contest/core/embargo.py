"""The embargo (R24): the one place that decides what is public when.

An attack is under embargo for everybody but its sender and the organizers until its week has ended, and for ever when
it was withdrawn. Its picture is public from that moment on; answers, rulings and outputs are public with the release
of their week (contest.core.publication.released), and so are pictures that organizers took in.
"""

from datetime import datetime

from django.db.models import Q, QuerySet

from contest.core.enums import RELEASED_ORIGINS
from contest.core.models import Attack
from contest.core.publication import released
from contest.core.weeks import week_at
from labeling.models import Image


def attacks_public(attack: str = "", *, now: datetime) -> Q:
    """The attacks that everybody may know of: their week has ended and they were not withdrawn.

    `attack` leads to the attack, for example `attacks__`. Weeks follow each other without a gap, so what was received
    before the present one began is of an ended week, whatever zone that was in. Gold and example pictures stay out,
    also where somebody sent the same pixels as an attack (R5, R6).
    """
    ended = {f"{attack}received_at__lt": week_at(now).start, f"{attack}withdrawn_at__isnull": True}
    return Q(**ended, **{f"{attack}image__origin__in": RELEASED_ORIGINS})


def published(image: str = "", *, now: datetime) -> Q:
    """The pictures that everybody may see at `now`; `image` leads to the picture, for example `image__`."""
    return Q(**{f"{image}pk__in": public_attacks(now=now).values("image")}) | released(image)


def public_attacks(*, now: datetime) -> QuerySet[Attack]:
    """Return the attacks that everybody may know of."""
    return Attack.objects.filter(attacks_public(now=now))


def public_pictures(*, now: datetime) -> QuerySet[Image]:
    """Return the pictures that everybody may see."""
    return Image.objects.filter(published(now=now))


def pictures_of_public_attacks(now: datetime) -> QuerySet[Image]:
    """Return the pictures that were sent as attacks that everybody may know of, wherever else they came from."""
    return Image.objects.filter(pk__in=public_attacks(now=now).values("image"))
