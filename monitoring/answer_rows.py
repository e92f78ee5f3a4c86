"""Queries that stream taskers' answers with the rest of their panel, for statistics."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from labeling.enums import PanelState
from labeling.models import Response
from monitoring.overlap import mean_overlaps
from monitoring.rules import Form, JudgedAnswer

COMPLETE = (PanelState.FULL, PanelState.SETTLED)
_CHUNK = 2_000
# Panels named in one statement: fewer than the parameters a database takes.
_PANELS_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """One response. `counts` is false for surplus, voided and gold ones; `gold` says how a gold one was marked."""

    pk: int
    tasker_id: int
    panel_id: int
    at: datetime
    milliseconds: int
    form: Form
    outline: str
    holds_place: bool
    voided: bool
    is_gold: bool
    gold: bool | None
    panel_complete: bool

    @property
    def counts(self) -> bool:
        """Say whether a ruling counts it, or will."""
        return self.holds_place and not self.voided

    @property
    def surplus(self) -> bool:
        """Say whether it came after its place was taken (R8)."""
        return not self.holds_place and not self.is_gold


_COLUMNS = (
    "pk",
    "tasker_id",
    "panel_id",
    "submitted_at",
    "milliseconds",
    "contains_bird",
    "contains_bicycle",
    "complete",
    "unoccluded",
    "real",
    "outline",
    "place_id",
    "voided__pk",
    "assignment__known_id",
    "gold_mark__right",
    "panel__state",
)


def answer_rows(responses: QuerySet[Response]) -> Iterator[AnswerRow]:
    """Stream responses as rows."""
    for pk, tasker, panel, at, milliseconds, *said, outline, place, voided, known, gold, state in responses.values_list(
        *_COLUMNS
    ).iterator(chunk_size=_CHUNK):
        yield AnswerRow(
            pk,
            tasker,
            panel,
            at,
            milliseconds,
            (said[0], said[1], said[2], said[3], said[4]),
            outline,
            place is not None,
            voided is not None,
            known is not None,
            gold,
            state in COMPLETE,
        )


def counted_responses() -> QuerySet[Response]:
    """Return the responses that a ruling counts, or will count."""
    return Response.objects.filter(place__isnull=False, voided__isnull=True)


def counted_on_complete_panels() -> QuerySet[Response]:
    """Return the responses on which agreement is measured: counted ones of panels with all answers."""
    return counted_responses().filter(panel__state__in=COMPLETE)


@dataclass(frozen=True, slots=True)
class PanelComparison:
    """The answers of the members of complete panels, and their outlines' mean overlap (percent, by response)."""

    panels: Mapping[int, list[AnswerRow]]
    overlaps: Mapping[int, float]

    def others(self, row: AnswerRow) -> list[AnswerRow]:
        """Return the other members' answers; none where the answer itself does not count."""
        members = self.panels.get(row.panel_id, []) if row.counts else []
        return [member for member in members if member.pk != row.pk]

    def look(self, row: AnswerRow) -> JudgedAnswer:
        """Return the answer as input of the monitoring rules."""
        others = tuple(member.form for member in self.others(row))
        overlap = self.overlaps.get(row.pk) if others else None
        return JudgedAnswer(row.at, row.milliseconds, row.form, row.gold, others, overlap)


def company(panel_ids: Iterable[int]) -> PanelComparison:
    """Return the members of those of these panels that are complete."""
    ids = sorted(set(panel_ids))
    blocks = (ids[at : at + _PANELS_AT_ONCE] for at in range(0, len(ids), _PANELS_AT_ONCE))
    return company_of(
        row for block in blocks for row in answer_rows(counted_on_complete_panels().filter(panel__in=block))
    )


def by_panel(rows: Iterable[AnswerRow]) -> dict[int, list[AnswerRow]]:
    """Group answers by their panel's primary key."""
    panels: dict[int, list[AnswerRow]] = defaultdict(list)
    for row in rows:
        panels[row.panel_id].append(row)
    return panels


def company_of(rows: Iterable[AnswerRow]) -> PanelComparison:
    """Return the panels of these counted answers, all of complete panels."""
    panels = by_panel(rows)
    outlines = ({row.pk: row.outline for row in members} for members in panels.values())
    return PanelComparison(panels, mean_overlaps(outlines))
