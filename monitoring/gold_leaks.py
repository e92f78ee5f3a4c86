"""Detects leaked gold: a sudden rise of a picture's pass rate (R6)."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction

from django.db import transaction
from django.db.models import Count, Max, Q

from labeling.models import GoldMark, KnownPicture
from monitoring.models import GoldFlag
from monitoring.statistics import chance_of_such_a_rise
from policy.numbers import Policy

# The number of latest answers that are compared with all earlier ones, and the least number of earlier ones.
LATE = 15
EARLY = 15
# A picture without answers for this long is not checked again.
IN_USE = timedelta(days=1)
# The chance of a false flag, over all checked gold pictures together.
FALSE_ALARM = Fraction(1, 100)


@dataclass(frozen=True, slots=True)
class GoldRise:
    """Right answers late and early, and the chance of such a rise by itself."""

    late_right: int
    late: int
    early_right: int
    early: int

    @property
    def chance(self) -> Fraction:
        """Return Fisher's exact one-sided p."""
        return chance_of_such_a_rise(self.late_right, self.late, self.early_right, self.early)


def gold_flag_leaks(*, policy: Policy, now: datetime) -> int:
    """Flag the gold pictures whose latest answers are right much more often than the earlier ones; returns how many.

    A flagged picture is held: it is not dealt before an organizer has looked. Only answers of taskers who pass gold on
    the whole are compared, so that a pause of careless ones does not look like a leak; and the bound is shared by all
    pictures looked at, so that many pictures do not make many false alarms.
    """
    marks = _marks(policy, now)
    rises = {known: rise for known, given in marks.items() if (rise := rise_of(given)) is not None}
    bound = FALSE_ALARM / max(len(rises), 1)
    return sum(_flag(known, rise, bound, now) for known, rise in rises.items() if rise.chance < bound)


def rise_of(right: Sequence[bool], late: int = LATE, early: int = EARLY) -> GoldRise | None:
    """Split answers, oldest first, into the latest `late` and those before; None with too few of them."""
    if len(right) < late + early:
        return None
    before, after = right[:-late], right[-late:]
    return GoldRise(sum(after), len(after), sum(before), len(before))


def _marks(policy: Policy, now: datetime) -> dict[int, list[bool]]:
    """Return the marks of each gold picture in use, oldest first. After a flag, a new check needs LATE new ones."""
    lately = GoldMark.objects.filter(marked_at__gte=now - IN_USE).values("known")
    usable = KnownPicture.objects.filter(pk__in=lately, retired_at__isnull=True, held_at__isnull=True)
    flagged = dict(usable.annotate(last=Max("flags__flagged_at")).values_list("pk", "last"))
    rows = GoldMark.objects.filter(known__in=usable, tasker__in=_trusted(policy)).order_by("marked_at", "pk")
    given: dict[int, list[tuple[datetime, bool]]] = defaultdict(list)
    for known, at, right in rows.values_list("known_id", "marked_at", "right").iterator():
        given[known].append((at, right))
    return {
        known: [right for _, right in marks]
        for known, marks in given.items()
        if _all_new((at for at, _ in marks[-LATE:]), flagged[known])
    }


def _all_new(moments: Iterable[datetime], flagged: datetime | None) -> bool:
    return flagged is None or all(moment > flagged for moment in moments)


def _trusted(policy: Policy) -> list[int]:
    """Return the taskers whose share of right gold answers, over all they gave, is at least the policy's."""
    totals = GoldMark.objects.values("tasker").annotate(asked=Count("pk"), right=Count("pk", filter=Q(right=True)))
    return [row["tasker"] for row in totals if 100 * row["right"] >= policy.gold_pass_percent * row["asked"]]


@transaction.atomic
def _flag(known_id: int, rise: GoldRise, bound: Fraction, now: datetime) -> int:
    """Hold the picture and record why; 0 when another sweep was faster."""
    usable = KnownPicture.objects.filter(pk=known_id, held_at__isnull=True, retired_at__isnull=True)
    if usable.update(held_at=now) == 0:
        return 0
    figures = {
        "late_right": rise.late_right,
        "late": rise.late,
        "early_right": rise.early_right,
        "early": rise.early,
        "chance_percent": round(float(100 * rise.chance), 6),
        "bound_percent": round(float(100 * bound), 6),
    }
    GoldFlag.objects.create(known_id=known_id, figures=figures, flagged_at=now)
    return 1
