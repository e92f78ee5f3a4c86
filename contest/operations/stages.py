"""Counts and oldest times per stage of the pipeline, for organizers and Prometheus.

Every question reads a partial index or a table that stays small, so that the answers are quick at 500,000 pictures;
only the count of the rulings reads each of them.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Exists, Min, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from adjudication.enums import Reason, Verdict
from adjudication.models import Ruling
from labeling.enums import AssignmentState, PanelState
from labeling.models import Assignment, Image, Panel
from scoring.models import RunItem
from scoring.selectors import runs_of_interest


@dataclass(frozen=True, slots=True)
class PipelineStage:
    """How many pictures are at one stage of the pipeline, and since when the oldest is."""

    count: int
    oldest: datetime | None = None


@dataclass(frozen=True, slots=True)
class Rulings:
    """Counts of the rulings in force: pictures by (verdict, label), and by reason, of which one may have several."""

    verdicts: dict[tuple[str, str], int]
    reasons: dict[str, int]

    def of(self, verdict: Verdict) -> int:
        """Return how many pictures have this verdict."""
        return sum(count for (each, _), count in self.verdicts.items() if each == verdict)


def waiting_for_panel(now: datetime) -> PipelineStage:
    """Return the pictures that are due and have no panel yet."""
    return _stage(Image.objects.filter(dealt_at__isnull=True, label_from__lte=now), "label_from")


def due_later(now: datetime) -> PipelineStage:
    """Return the pictures whose panel waits for the end of their week (R24); `oldest` is the first to be due."""
    return _stage(Image.objects.filter(dealt_at__isnull=True, label_from__gt=now), "label_from")


def open_panels() -> dict[int, PipelineStage]:
    """Return the open panels by missing answers, most first; `oldest` is since when one misses that many."""
    return {
        row["missing"]: PipelineStage(row["count"], row["oldest"])
        for row in Panel.objects.filter(state=PanelState.OPEN)
        .values("missing")
        .annotate(count=Count("pk"), oldest=Min("waiting_since"))
        .order_by("-missing")
    }


def held_panels() -> PipelineStage:
    """Return the panels that wait for an organizer's decision on a report, or were excluded by one."""
    return _stage(Panel.objects.filter(state=PanelState.HELD), "waiting_since")


def full_panels() -> PipelineStage:
    """Return the panels that have every answer and no ruling yet."""
    return _stage(Panel.objects.filter(state=PanelState.FULL), "full_at")


def _stage(rows: QuerySet[Any], since: str) -> PipelineStage:
    found = rows.aggregate(count=Count("pk"), oldest=Min(since))
    return PipelineStage(found["count"], found["oldest"])


def leases(now: datetime) -> tuple[int, int]:
    """Return how many leases are live, and how many ran out and wait for the sweep."""
    held = Assignment.objects.filter(state=AssignmentState.LEASED)
    return held.filter(expires_at__gt=now).count(), held.filter(expires_at__lte=now).count()


def rulings() -> Rulings:
    """Return the counts of the rulings in force: all rulings, less those that a later one replaced (R16)."""
    several = Ruling.objects.filter(number__gt=1).values("image")
    newer = Ruling.objects.filter(image=OuterRef("image"), number__gt=OuterRef("number"))
    replaced = Ruling.objects.filter(Exists(newer), image__in=several)
    # Looking for a newer ruling of each costs twice as much as counting all and subtracting the few replaced.
    tally = _tally(Ruling.objects.all())
    tally.subtract(_tally(replaced))
    return _summed((kind, count) for kind, count in tally.items() if count)


_Kind = tuple[str, str, tuple[str, ...]]


def _tally(rows: QuerySet[Ruling]) -> Counter[_Kind]:
    kinds = rows.values_list("verdict", "label", "reasons").annotate(count=Count("pk")).order_by()
    return Counter({(verdict, label, tuple(reasons)): count for verdict, label, reasons, count in kinds})


def _summed(kinds: Iterable[tuple[_Kind, int]]) -> Rulings:
    verdicts: Counter[tuple[str, str]] = Counter()
    reasons: Counter[str] = Counter()
    for (verdict, label, given), count in kinds:
        verdicts[verdict, label] += count
        reasons.update(dict.fromkeys(given, count))
    return Rulings(dict(verdicts), {reason.value: reasons[reason] for reason in Reason if reasons[reason]})


def run_groups() -> list[Any]:
    """Return all runs by `defense`, `round` and `state`, without those of cancelled re-runs and the
    stopped ones of others: how many `runs`, how many `pictures` their plans hold, and when the `oldest` was made.

    `again` says that they belong to a re-run: their pictures were answered in that round before. A plan's positions
    begin at 0, so the last tells its size.
    """
    last = RunItem.objects.filter(run=OuterRef("pk")).order_by("-position").values("position")[:1]
    keys = ("defense", "round", "state", "again")
    rows = runs_of_interest().annotate(planned=Subquery(last) + 1, again=Q(rerun__isnull=False)).values(*keys)
    groups = rows.annotate(runs=Count("pk"), pictures=Coalesce(Sum("planned"), 0), oldest=Min("created_at"))
    return list(groups.order_by(*keys).values_list(*keys, "runs", "pictures", "oldest", named=True))
