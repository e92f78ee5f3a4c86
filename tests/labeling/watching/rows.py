"""Answers, gold and whole months of answers for the tests of monitoring."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from labeling.enums import Answer
from labeling.models import GoldMark, KnownPicture, Panel, Tasker
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
