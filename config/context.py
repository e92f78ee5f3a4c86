"""Context processor: the template context of every page."""

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext_lazy as _

from common.domain_clock import demo_ahead, domain_now
from common.times import distance
from config.audience import TRANSLATED
from contest.core.roles import Roles, header_roles
from contest.outbox.selectors import MAX_COUNTED, unread_count
from labeling.enums import TaskerState

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

# The pages of each role's menu, in the order of the day; organizers' pages are in English.
LEARNER: "list[tuple[str, StrOrPromise]]" = [("learn", _("Learn")), ("qualification", _("Qualification"))]
TASKER: "list[tuple[str, StrOrPromise]]" = [
    ("label", _("Label")),
    ("my-work", _("My work")),
    ("questions", _("Questions")),
    ("learn", _("Learn")),
]
# In groups: the header shows the groups, and below them the pages of the one that the reader is in.
ORGANIZER: "list[tuple[str, list[tuple[str, StrOrPromise]]]]" = [
    (
        "Work",
        [
            ("overview", "Overview"),
            ("organizer-pictures", "Pictures"),
            ("reports", "Reports"),
            ("scoring-queue", "Scoring"),
            ("organizer-releases", "Releases"),
            ("audit", "Audit trail"),
        ],
    ),
    (
        "People",
        [
            ("organizer-taskers", "Taskers"),
            ("watching", "Monitoring"),
            ("gold", "Gold"),
            ("organizer-learning", "Learning"),
            ("organizer-questions", "Questions"),
            ("people", "Accounts"),
        ],
    ),
    (
        "Teams",
        [
            ("organizer-teams", "Teams"),
            ("same-person", "Same person"),
            ("organizer-attacks", "Attacks"),
            ("near-duplicates", "Look-alikes"),
            ("defenses", "Defenses"),
            ("organizer-conflicts", "Conflicts"),
        ],
    ),
    (
        "Money and rules",
        [
            ("organizer-money", "Money"),
            ("organizer-stakes", "Stakes"),
            ("policy", "Policy"),
            ("what-if", "What if"),
        ],
    ),
]
RESEARCHER: "list[tuple[str, StrOrPromise]]" = [
    ("home", "Home"),
    ("team", "Team"),
    ("attacks", "Attacks"),
    ("defenses", "Defenses"),
]
# A team's header links to its own defenses, the footer to all public ones.
IN_A_TEAM = [("team-defenses", words) if name == "defenses" else (name, words) for name, words in RESEARCHER]
IN_A_TEAM += [("appeals", "Appeals")]
BOARD: "list[tuple[str, StrOrPromise]]" = [
    ("home", "Home"),
    ("board-cases", "Cases"),
    ("board-conflicts", "Conflicts"),
    ("board-grants", "Grants"),
    ("frameworks", "Frameworks"),
    ("board-stakes", "Stakes"),
    ("awards", "Awards"),
    ("board-withheld", "Withheld"),
    ("defenses", "Defenses"),
]
# Public links; taskers get none to attacks, defenses and predictions (R8).
PUBLIC: "list[tuple[str, StrOrPromise]]" = [
    ("defenses", _("Defenses")),
    ("leaderboard", _("Leaderboard")),
    ("releases", _("Releases")),
    ("overrules", "Overrules"),
    ("rules", _("Rules")),
    ("search", "Search"),
]
ABOUT: "list[tuple[str, StrOrPromise]]" = [("front", _("About the contest")), *PUBLIC, ("money", _("Money"))]
FOR_TASKERS: "list[tuple[str, StrOrPromise]]" = [("rules", _("Rules"))]
ELSE: "list[tuple[str, StrOrPromise]]" = [("home", _("Home"))]


class MenuLink(NamedTuple):
    """One entry of the header: its address and words, and whether the reader is on it (`page`) or in its group."""

    url: str
    words: "StrOrPromise"
    current: bool
    page: bool = True


class MenuGroup(NamedTuple):
    """The pages of the group that the reader is in."""

    words: str
    pages: list[MenuLink]


def site(request: HttpRequest) -> dict[str, Any]:
    """Return demo mode (pages then show its sign-ins, clock and letters), the organizers' address, whether the page is
    translated, the user's roles, and the header's entries.

    Roles and the clock are read only by a page that shows them: no query for a fragment or a stranger.
    """
    roles = SimpleLazyObject(lambda: header_roles(request.user))
    return {
        "demo": settings.DEMO,
        "demo_clock": SimpleLazyObject(_demo_clock),
        "demo_letters": settings.EMAIL_FILE_PATH if settings.DEMO else None,
        "contact": settings.CONTACT_EMAIL,
        "offers_languages": _offers_languages(request),
        "roles": roles,
        "has_messages": _has_messages(request),
        "unread_messages": SimpleLazyObject(lambda: _unread(request)),
        "pages": SimpleLazyObject(lambda: list(_header(request, roles))),  # type: ignore[arg-type]
        "page_group": SimpleLazyObject(lambda: _group(request, roles)),  # type: ignore[arg-type]
        "public_pages": SimpleLazyObject(lambda: list(_links(request, _public(roles)))),  # type: ignore[arg-type]
    }


def _offers_languages(request: HttpRequest) -> bool:
    """Say whether the page is translated."""
    match = request.resolver_match
    return match is not None and match.url_name in TRANSLATED


class DemoClockShown(NamedTuple):
    """How far the demo's time is ahead of the machine's, in words, and what time it is there."""

    ahead: str
    now: datetime


def _demo_clock() -> DemoClockShown | None:
    """Return the demo's clock if it was moved."""
    ahead = demo_ahead()
    return DemoClockShown(distance(ahead), domain_now()) if ahead else None


def _has_messages(request: HttpRequest) -> bool:
    """Say whether the reader has a page of messages: every account but a tasker's; for taskers no query is made."""
    user = getattr(request, "user", AnonymousUser())
    return user.is_authenticated and getattr(user, "tasker", None) is None


def _unread(request: HttpRequest) -> str:
    number = unread_count(request.user)  # type: ignore[arg-type]  # asked by pages of who is signed in
    return f"{MAX_COUNTED}+" if number > MAX_COUNTED else str(number or "")


def _links(request: HttpRequest, entries: "list[tuple[str, StrOrPromise]]") -> Iterator[MenuLink]:
    for name, words in entries:
        url = reverse(name)
        yield MenuLink(url, words, request.path == url)


def _header(request: HttpRequest, roles: Roles) -> Iterator[MenuLink]:
    if not _organizes(request, roles):
        yield from _links(request, _entries(request, roles))
        return
    group = _group(request, roles)
    for words, pages in ORGANIZER:
        yield MenuLink(reverse(pages[0][0]), words, group is not None and group.words == words, page=False)


def _group(request: HttpRequest, roles: Roles) -> MenuGroup | None:
    """Return the group of organizers' pages that the reader is in; the address of a detail begins with its list's."""
    if not _organizes(request, roles):
        return None
    groups = [MenuGroup(words, list(_links(request, pages))) for words, pages in ORGANIZER]
    fits = [(len(page.url), group) for group in groups for page in group.pages if request.path.startswith(page.url)]
    return max(fits, key=lambda fit: fit[0])[1] if fits else None


def _organizes(request: HttpRequest, roles: Roles) -> bool:
    # A request that was refused early has no user.
    return getattr(request, "user", AnonymousUser()).is_authenticated and roles.organizer


def _entries(request: HttpRequest, roles: Roles) -> "list[tuple[str, StrOrPromise]]":
    # A request that was refused early has no user.
    if not getattr(request, "user", AnonymousUser()).is_authenticated:
        return PUBLIC
    if roles.tasker:
        learning = request.user.tasker.state == TaskerState.LEARNING  # type: ignore[union-attr]
        return LEARNER + TASKER[1:3] if learning else TASKER
    if roles.team:
        return IN_A_TEAM
    if roles.competes:
        return RESEARCHER
    if roles.board:
        return BOARD
    return ELSE


def _public(roles: Roles) -> "list[tuple[str, StrOrPromise]]":
    """Return the footer's links; strangers have most of them in the header."""
    return FOR_TASKERS if roles.tasker else ABOUT
