"""Supply of gold, the known pictures that measure taskers: how much is left, worn out, suspicious (R6)."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Exists, F, OuterRef, Q, Sum

from common import charts
from labeling.enums import KnownUse, TaskerState
from labeling.models import Assignment, GoldMark, KnownPicture, Response, Tasker
from monitoring.statistics import wilson
from policy.numbers import Policy

ACTIVE = timedelta(days=7)
MAX_LISTED = 5
# A picture is nearly used up from this share of its allowed uses on.
_WORN_PERCENT = 80
# This few remaining pictures last a day or two.
FEW = 10
# A picture is suspicious if, after this many answers, the upper end of its pass rate's interval is under half.
_SUSPICIOUS_SHARE = 0.5
_MIN_ANSWERS = 5


@dataclass(frozen=True, slots=True)
class GoldLeft:
    """A tasker's gold: pictures not assigned to them yet, those assigned in the last seven days, and for how many days
    the rest lasts; None for a tasker who had no gold lately."""

    public_id: str
    pictures: int
    met: int

    @property
    def days(self) -> int | None:
        """Return for how many days the pictures left last at the pace of the last seven."""
        return self.pictures * ACTIVE.days // self.met if self.met else None


@dataclass(frozen=True, slots=True)
class SuspiciousGold:
    """A gold picture that many taskers fail: right answers of all answers. Its known answer may be wrong."""

    public_id: str
    right: int
    asked: int


def gold_supply(policy: Policy, *, now: datetime) -> dict[str, Any]:
    """Return the state of the gold: pictures in use, uses left of all of them, pictures nearly used up, held, used up.

    `left` are those with the least gold, MAX_LISTED at most; `taskers` is the number of all qualified taskers who
    answered in the last seven days, `short` how many of these have under `few`.
    """
    cap = policy.gold_most_uses
    known = KnownPicture.objects.filter(use=KnownUse.GOLD, retired_at__isnull=True)
    usable = Q(held_at__isnull=True, uses__lt=cap)
    counts = known.aggregate(
        usable=Count("pk", filter=usable),
        uses_left=Sum(cap - F("uses"), filter=usable),
        worn=Count("pk", filter=usable & Q(uses__gte=-(-cap * _WORN_PERCENT // 100))),
        used_up=Count("pk", filter=Q(uses__gte=cap)),
        held=Count("pk", filter=Q(held_at__isnull=False)),
    )
    left = _gold_left_by_tasker(counts["usable"], cap, now)
    return {
        **counts,
        "uses_left": counts["uses_left"] or 0,
        "taskers": len(left),
        "short": sum(each.pictures < FEW for each in left),
        "few": FEW,
        "left": left[:MAX_LISTED],
        "suspicious": _suspicious(),
        "chart": _chart(counts),
    }


def _chart(counts: Mapping[str, int]) -> charts.Chart:
    values = [
        charts.ChartValue("fresh", counts["usable"] - counts["worn"], "valid"),
        charts.ChartValue("nearly used up", counts["worn"]),
        charts.ChartValue("used up", counts["used_up"], "rejected"),
        charts.ChartValue("held", counts["held"]),
    ]
    return charts.bars("gold-states", "Gold pictures by state", values)


def _gold_left_by_tasker(usable: int, cap: int, now: datetime) -> list[GoldLeft]:
    """The gold left to each qualified tasker who answered lately, the least first."""
    of_gold = Assignment.objects.filter(
        known__held_at__isnull=True, known__retired_at__isnull=True, known__uses__lt=cap, known__isnull=False
    )
    asked = Counter(dict(of_gold.order_by().values_list("tasker").annotate(count=Count("pk"))))
    lately = Assignment.objects.filter(known__isnull=False, leased_at__gt=now - ACTIVE)
    met = Counter(dict(lately.order_by().values_list("tasker").annotate(count=Count("pk"))))
    answered = Response.objects.filter(tasker=OuterRef("pk"), submitted_at__gt=now - ACTIVE)
    active = Tasker.objects.filter(Exists(answered), state=TaskerState.QUALIFIED)
    rows = [GoldLeft(name, usable - asked[pk], met[pk]) for pk, name in active.values_list("pk", "public_id")]
    return sorted(rows, key=lambda row: (row.pictures, row.public_id))


def _suspicious() -> tuple[SuspiciousGold, ...]:
    marks = GoldMark.objects.filter(known__use=KnownUse.GOLD, known__retired_at__isnull=True).order_by()
    by_picture = marks.values_list("known__image__public_id")
    rates = by_picture.annotate(hits=Count("pk", filter=Q(right=True)), asked=Count("pk"))
    found = [SuspiciousGold(name, right, asked) for name, right, asked in rates if _fails(right, asked)]
    return tuple(sorted(found, key=lambda each: (each.right / each.asked, each.public_id))[:MAX_LISTED])


def _fails(right: int, asked: int) -> bool:
    bounds = wilson(right, asked) if asked >= _MIN_ANSWERS else None
    return bounds is not None and bounds[1] < _SUSPICIOUS_SHARE
