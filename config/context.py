"""What every page knows."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext_lazy as _

from contest.access import Roles, header_roles
from labeling.enums import TaskerState

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

# Where each role goes to work, in the order of the day; organizers' pages are in English.
LEARNER: "list[tuple[str, StrOrPromise]]" = [("learn", _("Learn")), ("qualification", _("Qualification"))]
TASKER: "list[tuple[str, StrOrPromise]]" = [
    ("label", _("Label")),
    ("my-work", _("My work")),
    ("questions", _("Questions")),
    ("learn", _("Learn")),
]
ORGANIZER: "list[tuple[str, StrOrPromise]]" = [
    ("overview", "Overview"),
    ("scoring-queue", "Scoring"),
    ("defenses", "Defenses"),
    ("organizer-taskers", "Taskers"),
    ("gold", "Gold"),
    ("organizer-learning", "Learning"),
    ("reports", "Reports"),
    ("organizer-questions", "Questions"),
    ("people", "People"),
]
ELSE: "list[tuple[str, StrOrPromise]]" = [("home", _("Home"))]


class Link(NamedTuple):
    """One entry of the header: its address, its words, and whether the reader is there."""

    url: str
    words: "StrOrPromise"
    current: bool


def site(request: HttpRequest) -> dict[str, Any]:
    """Return whether this is the demo, whose sign-ins the page may print, the roles, and the header's entries.

    Roles are read only by a page that shows them: no query for a fragment or a stranger.
    """
    roles = SimpleLazyObject(lambda: header_roles(request.user))
    return {
        "demo": settings.DEMO,
        "roles": roles,
        "pages": SimpleLazyObject(lambda: list(_pages(request, roles))),  # type: ignore[arg-type]
    }


def _pages(request: HttpRequest, roles: Roles) -> Iterator[Link]:
    for name, words in _entries(request, roles):
        url = reverse(name)
        yield Link(url, words, request.path == url)


def _entries(request: HttpRequest, roles: Roles) -> "list[tuple[str, StrOrPromise]]":
    if roles.organizer:
        return ORGANIZER
    if roles.tasker:
        learning = request.user.tasker.state == TaskerState.LEARNING  # type: ignore[union-attr]
        return LEARNER + TASKER[1:3] if learning else TASKER
    return ELSE
