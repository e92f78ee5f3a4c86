"""Queries for the pictures that are public because the record of their week is released (R24, R39)."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import or_

from django.db.models import Q, QuerySet

from adjudication.models import Ruling
from adjudication.selectors import rulings_in_force
from common.database.request_memory import once_per_request
from contest.core.enums import RELEASED_ORIGINS
from contest.core.models import Attack, Release
from contest.core.weeks import week_called
from labeling.models import Image
from policy.calendar import Week


@dataclass(frozen=True, slots=True)
class ReleasedWeeks:
    """The released weeks, which decide which pictures are public (R24, R39).

    `releases` is week -> its release, without errata; `spans` are their times, with adjacent weeks joined.
    """

    releases: Mapping[str, Release]
    spans: tuple[tuple[datetime, datetime], ...]

    @classmethod
    def of(cls, releases: Iterable[Release]) -> "ReleasedWeeks":
        """Return the weeks of these releases."""
        by_week = {each.week: each for each in releases}
        return cls(by_week, tuple(_joined(map(week_called, by_week))))

    def condition(self, image: str) -> Q:
        """Return the condition for pictures of these weeks; `has` checks one picture."""
        received = [
            Q(**{f"{image}received_at__gte": start, f"{image}received_at__lt": end}) for start, end in self.spans
        ]
        public = Q(**{f"{image}origin__in": RELEASED_ORIGINS, f"{image}label_from__isnull": False})
        return public & reduce(or_, received) if received else Q(**{f"{image}pk__in": []})

    def has(self, image: Image) -> bool:
        """Say whether a picture belongs to one of these weeks."""
        public = image.origin in RELEASED_ORIGINS and image.label_from is not None
        return public and any(start <= image.received_at < end for start, end in self.spans)


@once_per_request
def released_weeks(*, by: datetime | None = None) -> ReleasedWeeks:
    """Return the weeks that are released now, or that were released by the moment `by`."""
    parts = Release.objects.filter(part=0) if by is None else Release.objects.filter(part=0, released_at__lte=by)
    return ReleasedWeeks.of(parts.defer("counts").order_by("pk"))


def released(image: str = "", *, by: datetime | None = None) -> Q:
    """Condition for the pictures of released weeks (R24, R39): the only one that decides which are public.

    `image` leads to the picture, for example `image__`; `by` leaves out what was released after it.
    """
    return released_weeks(by=by).condition(image)


def _joined(weeks: Iterable[Week]) -> list[tuple[datetime, datetime]]:
    """Return the spans of weeks, adjacent ones joined: so the condition stays short over the years."""
    spans: list[tuple[datetime, datetime]] = []
    for week in sorted(weeks, key=lambda each: each.start):
        if spans and spans[-1][1] == week.start:
            spans[-1] = (spans[-1][0], week.end)
        else:
            spans.append((week.start, week.end))
    return spans


def published_images() -> QuerySet[Image]:
    """Return the pictures of the released weeks (R24)."""
    return Image.objects.filter(released())


def is_released(image: Image) -> bool:
    """Say whether a picture is public (R24)."""
    return released_weeks().has(image)


def released_of_attacks(attacks: Collection[Attack]) -> set[int]:
    """Return the numbers of the pictures of these attacks that are public (R24)."""
    return set(published_images().filter(attacks__in=attacks).values_list("pk", flat=True))


def newest_rulings_released(limit: int) -> list[Ruling]:
    """Return the rulings in force on public pictures (R24), the most recent first, with their pictures."""
    rows = rulings_in_force().filter(released("image__")).select_related("image")
    return list(rows.order_by("-decided_at", "-pk")[:limit])
