"""Builds the content of a picture's page for a reader (R24, R39).

It has the rulings that `contest.core.picture_access` lets the reader see, answers and predictions with the release of
the week, appeals and decisions once their case is public (`contest.record.closed_cases`).
"""

from dataclasses import replace
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, Q

from adjudication.models import Ruling
from contest.core.breaks import PictureMistakes
from contest.core.models import Attack, Release
from contest.core.picture_access import KnownImage, Reader
from contest.core.publication import released_weeks
from contest.core.weeks import week_called
from contest.record.picture_answers import (
    NARROW,
    WIDE,
    AnswerShown,
    RulingShown,
    panel_answers,
    rulings_with_answers,
    smallest_box_of,
    zoom_of,
)
from contest.record.timeline.outputs import first_by_defense
from contest.record.timeline.public import PublicCases, public_timeline
from labeling.enums import PanelState
from labeling.models import Image, Panel, Report
from labeling.pictures.addresses import picture_url


def public_picture_content(known: KnownImage, reader: Reader, *, now: datetime) -> dict[str, Any]:
    """Return what the page of a picture that the reader may see shows; the timeline has the newest last."""
    image = known.image
    answers, rulings = _answers_and_rulings(reader, known)
    cases = PublicCases.about(known)
    mistakes = PictureMistakes.on(image) if known.in_record or reader.organizer else None
    release = released_weeks().releases.get(known.week) if known.in_record else None
    holds = rulings[-1] if rulings else None
    return {
        "image": image,
        "known": known,
        "hidden": _hidden(known, reader, now),
        "ended": any(_is_of_ended_week(each, now) for each in known.attacks),
        "url": picture_url(image, now=now),
        "answers": answers,
        "holds": holds,
        "smallest": smallest_box_of(holds, image) if holds and holds.columns else None,
        "marks": cases.marks(),
        "zoom": zoom_of(image.width, WIDE),
        "zoom_phone": zoom_of(image.width, NARROW),
        "timeline": public_timeline(known, rulings, cases, mistakes, release=release, now=now),
        "defenses": [each.defense for each in first_by_defense(mistakes.breaks_in_force)] if mistakes else [],
        "release": release,
    }


def _hidden(known: KnownImage, reader: Reader, now: datetime) -> str:
    """Return in words why others cannot see this page; empty if they can.

    Of a picture that is kept out for good its sender learns no more than of one that is kept out for a while (R5, R6).
    """
    if known.public:
        return ""
    if known.attacks and all(each.withdrawn_at is not None for each in known.attacks):
        return "It was withdrawn: it is never labeled nor published."
    if any(each.withdrawn_at is None and not _is_of_ended_week(each, now) for each in known.attacks):
        return "Under embargo until its week has ended: only organizers and the team that sent it see this page."
    return "Not public: only organizers see all of this page."


def _is_of_ended_week(attack: Attack, now: datetime) -> bool:
    return attack.withdrawn_at is None and week_called(attack.week).end <= now


# Answers and rulings --------------------------------------------------------------------------------------------------


def _answers_and_rulings(reader: Reader, known: KnownImage) -> tuple[list[AnswerShown], list[RulingShown]]:
    """Return the answers that the reader may know of, and the rulings, each with its certificate where its answers are
    among them."""
    answers = panel_answers(known.image, known.rulings)
    rulings = rulings_with_answers(known.image, known.rulings, answers)
    if reader.organizer:
        return answers, rulings
    kept = set() if known.in_record else {each.response.panel_id for each in answers}
    panels = [each.response.panel for each in answers] + [each.panel for each in known.rulings]
    if any(each.state in (PanelState.OPEN, PanelState.HELD) for each in panels):
        kept |= _open_panels(known.image, known.week)
    told = [each for each in answers if each.response.panel_id not in kept]
    return told, [_without_answers(each) if each.ruling.panel_id in kept else each for each in rulings]


def _open_panels(image: Image, week: str) -> set[int]:
    """Return the panels on which somebody still has to answer, who shall not read what others did (R8). What stood in
    a release before others joined a panel is not taken back (R19)."""
    undecided = Report.objects.filter(image=image, decided_at__isnull=True)
    room = Q(state=PanelState.OPEN) | Q(Exists(undecided), state=PanelState.HELD)
    ruled = Ruling.objects.filter(panel=OuterRef(OuterRef("pk")), decided_at__lte=OuterRef("released_at"))
    before = Release.objects.filter(Exists(ruled), week=week, released_at__lt=OuterRef("joined_at"))
    return set(Panel.objects.filter(room, ~Exists(before), image=image).values_list("pk", flat=True))


def _without_answers(shown: RulingShown) -> RulingShown:
    return replace(shown, columns=(), rows=(), lines=(), as_answered=True, same_as=0)
