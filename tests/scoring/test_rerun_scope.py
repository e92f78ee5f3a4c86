"""What a re-run means: written down and read again, and held still while answers come in."""

import json
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from scoring import reruns
from scoring.models import Defense, Prediction, Run
from scoring.rerun_scope import Kind, Scope, held_still, images_of, items_in_scope, kinds
from tests import factories
from tests.scoring import cast

TOKYO = datetime(2026, 11, 20, 10, 0, tzinfo=ZoneInfo("Asia/Tokyo"))
NOW, DAY = factories.NOW, timedelta(days=1)
RECORDS = [
    (Scope("All answers."), "nothing narrows it"),
    (Scope("x", received=(TOKYO, TOKYO + timedelta(days=7))), "a week in the contest's zone"),
    (Scope("x", answered=(TOKYO, TOKYO + timedelta(microseconds=1))), "to the microsecond"),
    (Scope("x", device="NVIDIA <1>"), "a device"),
    (Scope("x", run=7), "a run"),
    (Scope("x", newest=0, unfinished=(3, 4)), "held still"),
]


@pytest.mark.parametrize(("scope", "why"), RECORDS, ids=[row[1] for row in RECORDS])
def test_a_scope_is_read_as_it_was_written(scope: Scope, why: str) -> None:
    assert Scope.from_record(json.loads(json.dumps(scope.to_record()))) == scope, why


@pytest.fixture(scope="module")
def defense(module_world: Any) -> Defense:
    """A defense that answered three pictures."""
    return cast.answered(NOW, "numpy-statistics", pictures=3)[0]


def device() -> str:
    return Prediction.objects.values_list("device", flat=True)[0]


SCOPES = [
    (lambda: Scope("x"), 9, 15, "all"),
    (lambda: Scope("x", received=(NOW, NOW + DAY)), 9, 15, "the week they came in"),
    (lambda: Scope("x", received=(NOW + 7 * DAY, NOW + 14 * DAY)), 0, 0, "another week"),
    (lambda: Scope("x", answered=(NOW, NOW + DAY)), 9, 15, "a span that is not over"),
    (lambda: Scope("x", answered=(NOW - DAY, NOW)), 0, 0, "half open: the end is not in it"),
    (lambda: Scope("x", device="no such card"), 0, 0, "a device that answered nothing"),
    (lambda: Scope("x", device=device()), 9, 15, "a device that goes on"),
    (lambda: Scope("x", run=Run.objects.order_by("pk")[1].pk), 3, 3, "one run"),
]


@pytest.mark.django_db
@pytest.mark.parametrize(("scope", "answers", "later", "why"), SCOPES, ids=[row[3] for row in SCOPES])
def test_an_organizer_chooses_which_answers_and_later_ones_are_not_meant(
    scope: Any, answers: int, later: int, why: str, defense: Defense
) -> None:
    meant: Scope = scope()
    assert reruns.rerun_preview(defense, meant).answers == answers, why
    still = held_still(defense, meant)
    before = set(items_in_scope(defense, still))
    cast.answered_later(NOW, 2)
    assert (len(before), items_in_scope(defense, meant).count()) == (answers, later), why
    assert set(items_in_scope(defense, still)) == before, why


@pytest.mark.django_db
def test_kinds_part_rounds_and_sizes(defense: Defense) -> None:
    cast.answered_later(NOW, 1, size=100)
    items = items_in_scope(defense, Scope("x"))
    assert kinds(items) == {
        Kind(number, 4, number == 3, width): {75: 3, 100: 1}[width] for number in (1, 2, 3) for width in (75, 100)
    }
    first, second, third = images_of(items, Kind(2, 4, False, 75), after=0)
    assert images_of(items, Kind(2, 4, False, 75), after=first) == [second, third]
    assert images_of(items, Kind(2, 4, False, 75), after=third) == []
