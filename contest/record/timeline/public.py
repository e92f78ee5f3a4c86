"""Builds the public timeline of a picture (R24, R39)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.urls import reverse

from contest.board.models import Appeal, AppealStatement, CaseDecision
from contest.board.public_decisions import public_decision
from contest.core.breaks import PictureMistakes
from contest.core.models import Case, Release
from contest.core.picture_access import KnownImage
from contest.core.weeks import week_called
from contest.record.closed_cases import appeals_in, cases_closed_on, statements_in
from contest.record.picture_answers import RulingShown, marks_of
from contest.record.timeline import events
from contest.record.timeline.events import Event, EvidenceLink
from contest.record.timeline.money import money_events
from contest.record.timeline.outputs import break_events, mistake_events, output_events


@dataclass(frozen=True, slots=True)
class PublicCases:
    """What was argued and decided about a picture, as far as everybody may know of it."""

    appeals: tuple[Appeal, ...]
    statements: tuple[AppealStatement, ...]
    decisions: tuple[CaseDecision, ...]
    cases: tuple[Case, ...]

    @classmethod
    def about(cls, known: KnownImage) -> "PublicCases":
        """Read all of it: nothing before the picture is in the record."""
        cases = cases_closed_on(known.image) if known.in_record else []
        if not cases:
            return cls((), (), (), ())
        decisions = sorted((each.decision for each in cases), key=lambda each: (each.decided_at, each.pk), reverse=True)
        return cls(tuple(appeals_in(cases)), tuple(statements_in(cases)), tuple(decisions), tuple(cases))

    def marks(self) -> list[dict[str, Any]]:
        """Return what the appeals draw on the picture, lettered in their order."""
        return marks_of(self.appeals)


def public_timeline(
    known: KnownImage,
    rulings: Sequence[RulingShown],
    cases: PublicCases,
    mistakes: PictureMistakes | None,
    *,
    release: Release | None,
    now: datetime,
) -> list[Event]:
    """Return what happened to a picture, the newest last.

    `rulings` are those that the reader may know of; with `mistakes`, which is None where the reader may not know of
    them, comes what defenses answered and what money followed.
    """
    counted = events.panels_counted(each.ruling for each in rulings)
    parts = [_received(known), _weeks(known, now), counted, _rulings(rulings, cases), _cases(cases)]
    if mistakes is not None:
        parts += [output_events(known.image), break_events(mistakes.breaks, rulings)]
        parts += [mistake_events(mistakes.outside), money_events(mistakes.recorded, now)]
    listed = [each for part in parts for each in part]
    return events.events_in_order(listed if release is None else [*listed, events.record_published(release)])


def _received(known: KnownImage) -> Iterator[Event]:
    if not known.attacks:
        yield events.image_imported(known.image)
    for attack in known.attacks:
        yield events.attack_received(attack)
        if attack.withdrawn_at is not None:
            yield events.attack_withdrawn(attack)


def _weeks(known: KnownImage, now: datetime) -> Iterator[Event]:
    for name in dict.fromkeys(each.week for each in known.attacks if each.withdrawn_at is None):
        if week_called(name).end <= now:
            yield events.week_ended(name)


def _rulings(rulings: Iterable[RulingShown], cases: PublicCases) -> Iterator[Event]:
    """Yield the rulings; the explanation of one that the board made stands with its decision."""
    made_by = {each.ruling_id: each.case for each in cases.decisions if each.ruling_id is not None}
    for shown in rulings:
        event = replace(events.ruling_made(shown.ruling), ruling=shown)
        case = made_by.get(shown.ruling.pk)
        if case is None:
            yield replace(event, text=shown.ruling.explanation)
        else:
            yield event.linked(f"case {case.public_id}", f"#case-{case.public_id}")


def _cases(cases: PublicCases) -> Iterator[Event]:
    for case in cases.cases:
        if not events.opened_by_appeal(case, cases.appeals):
            yield events.case_opened(case, by_appeal=False)
    marks = iter(cases.marks())
    for appeal in cases.appeals:
        yield replace(events.appeal_sent(appeal), text=appeal.argument, marks=tuple(next(marks) for _ in appeal.marks))
    for statement in cases.statements:
        yield replace(events.statement_sent(statement), text=statement.words)
    for decision in cases.decisions:
        listed = reverse("overrules") + f"?outcome=all&find={decision.case.public_id}"
        link = EvidenceLink("in the list of decisions", listed)
        yield replace(events.case_decided(decision), links=(link,), decision=public_decision(decision))
