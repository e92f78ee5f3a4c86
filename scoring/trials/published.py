"""Hooks by which the contest tells scoring which pictures are public and which were attacks (R24)."""

from collections.abc import Callable
from datetime import datetime

from django.db.models import QuerySet

from labeling.models import Image

Find = Callable[[], "QuerySet[Image]"]
FindAt = Callable[[datetime], "QuerySet[Image]"]


class PublishedImages:
    """Where the answers come from: until somebody says so, nothing is public and nothing was attacked."""

    find: Find = staticmethod(lambda: Image.objects.none())
    find_attacks: FindAt = staticmethod(lambda now: Image.objects.none())


def register_published(find: Find, find_attacks: FindAt) -> None:
    """Let these say from now on which pictures are public and which are attacks; for an application's start."""
    PublishedImages.find, PublishedImages.find_attacks = staticmethod(find), staticmethod(find_attacks)


def published_pictures() -> "QuerySet[Image]":
    """Return the pictures that anybody can have seen."""
    return PublishedImages.find()


def published_attack_pictures(*, now: datetime) -> "QuerySet[Image]":
    """Return the pictures of the attacks that are out of their embargo at `now` and were not withdrawn (R24).

    An attack may have the pixels of a picture that organizers took in before: such a picture is an attack as well.
    """
    return PublishedImages.find_attacks(now)
