"""Searches the whole record by ID or name, attacks, rulings and appeals too, as far as the reader may see it (R24)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from django.urls import reverse

from common.errors import NotFound
from common.ids import ALPHABET
from contest.attacks.selectors import attack_seen_by
from contest.core.models import Team
from contest.core.picture_access import Reader, picture_seen_by, rulings_seen_by
from contest.core.roles import picture_reader
from contest.core.weeks import week_called
from contest.record.closed_cases import public_appeals, public_cases, public_decisions
from contest.record.overrules import decisions_containing
from scoring.models import Defense
from scoring.selectors import defense_named

MAX_SEARCH_CHARACTERS = 80
MAX_RESULTS = 20
_ID = re.compile(rf"[PADGCL]-[{ALPHABET}]{{4,12}}")
# A ruling is named by its picture and its number: `P-7Q4M2K9X 2`, `P-7Q4M2K9X/2`, `P-7Q4M2K9X#ruling-2`.
_RULING = re.compile(rf"(P-[{ALPHABET}]{{8}})(?:[ /,]+|#)(?:RULING[ -]?)?(\d{{1,5}})")
_WEEK = re.compile(r"\d{4}-W\d{2}")


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A page that was found, in words."""

    words: str
    url: str


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search gives: one page whose ID was asked for, or pages whose names have the words in them."""

    exact: SearchHit | None = None
    hits: tuple[SearchHit, ...] = ()


class Search:
    """A search by one person at one moment."""

    def __init__(self, user: object, *, now: datetime) -> None:
        """Set the reader and the moment."""
        self._team, self._organizer = picture_reader(user)
        self._reader = Reader.of(user)
        self._now = now

    def find(self, asked: str) -> SearchResult:
        """Return the hits; none for what does not exist and for what the reader may not know of."""
        if not asked:
            return SearchResult()
        exact = self._named(asked.upper())
        return SearchResult(exact) if exact else SearchResult(hits=tuple(self._with_words(asked)))

    def _named(self, asked: str) -> SearchHit | None:
        try:
            if _WEEK.fullmatch(asked):
                return self._week(asked)
            if ruling := _RULING.fullmatch(asked):
                return self._ruling(ruling[1], int(ruling[2]))
            return self._by_id(asked) if _ID.fullmatch(asked) else None
        except NotFound:
            return None

    def _by_id(self, asked: str) -> SearchHit | None:
        kinds = {"P": self._picture, "A": self._attack, "D": self._defense, "G": self._of_team, "C": self._case}
        return kinds.get(asked[0], self._appeal)(asked)

    def _week(self, asked: str) -> SearchHit | None:
        try:
            week = week_called(asked)
        except ValueError:
            return None
        return SearchHit(f"Week {asked}", reverse("week", args=[asked])) if week.end <= self._now else None

    def _picture(self, asked: str) -> SearchHit:
        image = picture_seen_by(asked, self._reader, now=self._now)
        return SearchHit(f"Picture {asked}", reverse("picture-record", args=[image.public_id]))

    def _ruling(self, asked: str, number: int) -> SearchHit | None:
        image = picture_seen_by(asked, self._reader, now=self._now)
        if not rulings_seen_by(image, self._reader, now=self._now).filter(number=number).exists():
            return None
        return SearchHit(f"Ruling {number} on {asked}", reverse("picture-record", args=[asked]) + f"#ruling-{number}")

    def _attack(self, asked: str) -> SearchHit:
        attack = attack_seen_by(asked, team=self._team, organizer=self._organizer, now=self._now)
        return SearchHit(f"Attack {asked}", reverse("attack", args=[attack.public_id]))

    def _defense(self, asked: str) -> SearchHit:
        found = defense_named(asked, public=not self._organizer)
        return SearchHit(f"Defense {found.name}", reverse("defense", args=[asked]))

    def _of_team(self, asked: str) -> SearchHit | None:
        found = Team.objects.filter(public_id=asked).first()
        return SearchHit(f"Team {found.name}", reverse("team-public", args=[asked])) if found else None

    def _case(self, asked: str) -> SearchHit | None:
        case = public_cases().filter(public_id=asked).select_related("image").first()
        if case is None or case.image is None:
            return None
        return SearchHit(f"Case {asked}", reverse("picture-record", args=[case.image.public_id]) + f"#case-{asked}")

    def _appeal(self, asked: str) -> SearchHit | None:
        appeal = public_appeals().filter(public_id=asked).select_related("image").first()
        if appeal is None:
            return None
        return SearchHit(
            f"Appeal {asked}", reverse("picture-record", args=[appeal.image.public_id]) + f"#appeal-{asked}"
        )

    def _with_words(self, asked: str) -> Iterator[SearchHit]:
        for team in Team.objects.filter(name__icontains=asked).order_by("name", "pk")[:MAX_RESULTS]:
            yield SearchHit(f"Team {team.name}", reverse("team-public", args=[team.public_id]))
        shown = Defense.objects.filter(published_at__isnull=False, name__icontains=asked)
        for defense in shown.order_by("name", "pk")[:MAX_RESULTS]:
            yield SearchHit(f"Defense {defense.name}", reverse("defense", args=[defense.public_id]))
        if number := decisions_containing(public_decisions(), asked).count():
            words = f"{number:,} {'decision' if number == 1 else 'decisions'} of the board with these words"
            yield SearchHit(words, f"{reverse('overrules')}?{urlencode({'outcome': 'all', 'find': asked})}")


def search_from(text: str) -> str:
    """Return what somebody typed as it is looked for."""
    return "".join(each for each in text if each.isprintable()).strip()[:MAX_SEARCH_CHARACTERS]
