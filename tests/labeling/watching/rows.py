"""Answers, gold and whole months of answers for the tests of monitoring."""

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Any

from labeling.enums import Answer
from labeling.models import GoldMark, KnownPicture, Panel, Response, Tasker
from tests import factories
from tests.factories import NOW

BIRD = {"bird": Answer.DEFINITELY_YES, "bicycle": Answer.DEFINITELY_NO}
BICYCLE = {"bird": Answer.DEFINITELY_NO, "bicycle": Answer.DEFINITELY_YES}
NEITHER = {"bird": Answer.DEFINITELY_NO, "bicycle": Answer.DEFINITELY_NO, "box": None}
NEITHER |= {"complete": None, "unoccluded": None, "real": None}


def full_panel(by: Sequence[Tasker], said: Sequence[dict[str, Any]], *, now: datetime = NOW, **all_say: Any) -> Panel:
    """A full panel with one answer by each."""
    panel = factories.panel(size=len(by))
    for tasker, answers in zip(by, said, strict=True):
        factories.response(tasker, panel, now=now, **(all_say | answers))
    return panel


def gold_answer(by: Tasker, *, right: bool, now: datetime = NOW, known: KnownPicture | None = None) -> GoldMark:
    """A marked answer on a gold picture, of its own unless it is named."""
    known = known or factories.gold()
    assert known.panel is not None
    response = factories.response(by, known.panel, now=now, counted=False, known=known)
    marks = {"contains_bird": right, "contains_bicycle": True}
    return GoldMark.objects.create(
        response=response, known=known, tasker=by, right=right, marks=marks, iou_percent=90.0, marked_at=now
    )


def gold_answers(by: Tasker, *, right: int, wrong: int, begin: datetime = NOW) -> None:
    """Marked answers, a minute apart, the wrong ones first."""
    for number, hit in enumerate([False] * wrong + [True] * right):
        gold_answer(by, right=hit, now=begin + timedelta(minutes=number))


def month(taskers: Sequence[Tasker], answers: int, *, rng: Random, begin: datetime = NOW) -> None:
    """A great many answers on full panels of three, in few statements; outlines are rough circles."""
    said = [(BIRD["bird"], BIRD["bicycle"]), (BICYCLE["bird"], BICYCLE["bicycle"])]
    for number in range(answers // 3):
        panel = factories.panel()
        members = rng.sample(list(taskers), 3)
        rows = [
            _answer(tasker, panel, place, said[rng.random() < 0.4], rng, begin + timedelta(seconds=30 * number))
            for tasker, place in zip(members, panel.places.all(), strict=True)
        ]
        Response.objects.bulk_create(rows)
        factories.settle(panel, now=begin + timedelta(seconds=30 * number))


def _answer(by: Tasker, on: Panel, place: Any, said: tuple[str, str], rng: Random, at: datetime) -> Response:
    x, y = rng.randint(5, 15), rng.randint(5, 15)
    corners = [[x, y], [x + 180, y], [x + 200, y + 90], [x + 180, y + 200], [x + 90, y + 210], [x, y + 200]]
    return Response(
        assignment=factories.assignment(by, on, now=at),
        image=on.image,
        panel=on,
        tasker=by,
        place=place,
        contains_bird=said[0],
        contains_bicycle=said[1],
        outline=str([corners]).replace(" ", ""),
        box_xmin=x * 100,
        box_ymin=y * 100,
        box_xmax=(x + 200) * 100,
        box_ymax=(y + 210) * 100,
        complete=True,
        unoccluded=rng.random() < 0.9,
        real=True,
        milliseconds=rng.randint(3_000, 20_000),
        submitted_at=at,
        answers_sha256="0" * 64,
        receipt=uuid.uuid4().hex[:16],
    )
