"""Counts open panels by age and by missing answers."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from django.db.models import Count, Q
from django.db.models.functions import Coalesce

from common import charts
from labeling.enums import PanelState
from labeling.models import Panel

_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)
# Classes of age: each from this age up to the next one.
_AGES = (
    ("under 1 h", timedelta(0)),
    ("1 to 6 h", _HOUR),
    ("6 to 24 h", 6 * _HOUR),
    ("1 to 2 days", _DAY),
    ("2 to 4 days", 2 * _DAY),
    ("4 to 7 days", 4 * _DAY),
    ("7 days and more", 7 * _DAY),
)


@dataclass(frozen=True, slots=True)
class PanelAge:
    """Open panels of one age: `counts` by missing answers, in the order of `PanelAges.missing`."""

    name: str
    counts: tuple[int, ...]

    @property
    def total(self) -> int:
        """Return how many there are."""
        return sum(self.counts)


@dataclass(frozen=True, slots=True)
class PanelAges:
    """The open panels by age and missing answers, as figures and drawn."""

    missing: tuple[int, ...]
    rows: tuple[PanelAge, ...]
    chart: charts.Chart


def panel_ages(*, now: datetime) -> PanelAges:
    """Return the ages of the open panels, the youngest first."""
    # A panel that the board enlarged has waited since then (R19).
    panels = Panel.objects.filter(state=PanelState.OPEN).annotate(since=Coalesce("joined_at", "dealt_at"))
    rows = panels.order_by("missing").values("missing")
    found: list[Any] = list(rows.annotate(**{f"age_{at}": Count("pk", filter=span) for at, span in _spans(now)}))
    shown = tuple(PanelAge(name, tuple(row[f"age_{at}"] for row in found)) for at, (name, _) in enumerate(_AGES))
    chart = charts.bars("panel-ages", "Open panels by age", [charts.ChartValue(age.name, age.total) for age in shown])
    return PanelAges(tuple(row["missing"] for row in found), shown, chart)


def _spans(now: datetime) -> Iterator[tuple[int, Q]]:
    for at, ((_, younger), (_, older)) in enumerate(pairwise(_AGES)):
        # A new panel may have been written with a clock that is a little ahead.
        yield at, Q(since__gt=now - older) & (Q(since__lte=now - younger) if at else Q())
    yield len(_AGES) - 1, Q(since__lte=now - _AGES[-1][1])
