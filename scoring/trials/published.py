"""Which pictures are public. The application above knows (R24), and says so here since nothing here may name it."""

from collections.abc import Callable

from django.db.models import QuerySet

from labeling.models import Image

Find = Callable[[], "QuerySet[Image]"]


class Published:
    """Where the answer comes from: until somebody says so, nothing is public."""

    find: Find = staticmethod(lambda: Image.objects.none())


def published_are(find: Find) -> None:
    """Let `find` say from now on which pictures are public; for an application's start."""
    Published.find = staticmethod(find)


def published_pictures() -> "QuerySet[Image]":
    """Return the pictures that anybody can have seen."""
    return Published.find()
