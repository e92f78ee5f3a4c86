"""Hooks by which the contest tells scoring which pictures are public and which were attacks (R24)."""

from collections.abc import Callable
from datetime import datetime

from django.db.models import QuerySet

from labeling.models import Image

Find = Callable[[], "QuerySet[Image]"]
FindAt = Callable[[datetime], "QuerySet[Image]"]


class PublishedImages:
    """The registered functions; before registration no picture is public and none is an attack."""

    find: Find = staticmethod(lambda: Image.objects.none())
    find_attacks: FindAt = staticmethod(lambda now: Image.objects.none())


def register_published(find: Find, find_attacks: FindAt) -> None:
    """Register functions that return the public pictures and the attacks; called at the application's start."""
    PublishedImages.find, PublishedImages.find_attacks = staticmethod(find), staticmethod(find_attacks)


def published_pictures() -> "QuerySet[Image]":
    """Return the public pictures."""
    return PublishedImages.find()


def published_attack_pictures(*, now: datetime) -> "QuerySet[Image]":
    """Return the pictures of the attacks that are out of their embargo at `now` and were not withdrawn (R24).

    An attack may have the pixels of a picture that organizers took in before: such a picture is an attack as well.
    """
    return PublishedImages.find_attacks(now)
