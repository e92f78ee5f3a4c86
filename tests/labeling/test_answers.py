"""What a form must hold (R9-R12): every wrong field is named, with what to change."""

from typing import Any

import pytest

from common.errors import WrongFields
from labeling.answers import read_answers
from labeling.enums import OutlineGate

RINGS = [[[10, 10], [200, 10], [200, 200]]]
NEGATIVE = {"contains_bird": "definitely_no", "contains_bicycle": "definitely_no"}
BIRD = {
    "contains_bird": "definitely_yes", "contains_bicycle": "definitely_no", "outline": RINGS,
    "complete": True, "unoccluded": True, "real": False,
}  # fmt: skip


def read(data: dict[str, Any], gate: OutlineGate = OutlineGate.BEST_GUESS_YES) -> Any:
    return read_answers(data, width=299, height=299, gate=gate)


def without(data: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name not in names}


WRONG = [
    ({}, {"contains_bird", "contains_bicycle"}, "questions 1 and 2 are always asked"),
    (NEGATIVE | {"contains_bird": "yes"}, {"contains_bird"}, "not one of the four answers"),
    (NEGATIVE | {"contains_bird": None}, {"contains_bird"}, "null is no answer"),
    (NEGATIVE | {"contains_bird": ["definitely_no"]}, {"contains_bird"}, "a list is no answer"),
    (NEGATIVE | {"colour": "red"}, {"colour"}, "an unknown field"),
    (NEGATIVE | {"outline": RINGS}, {"outline"}, "an outline that was not asked"),
    (NEGATIVE | {"real": True}, {"real"}, "a statement that was not asked"),
    (NEGATIVE | {"complete": False, "outline": RINGS}, {"complete", "outline"}, "all of them are named"),
    (BIRD | {"contains_bicycle": "unsure_no"}, {"outline", "complete", "unoccluded", "real"}, "not excluded"),
    (without(BIRD, "outline"), {"outline"}, "a forgotten outline"),
    (without(BIRD, "real"), {"real"}, "a forgotten statement"),
    (BIRD | {"real": None}, {"real"}, "a statement left open"),
    (BIRD | {"real": "true"}, {"real"}, "a word is not a truth value"),
    (BIRD | {"complete": 1}, {"complete"}, "nor is a number"),
    (BIRD | {"outline": [[[0, 0], [9, 9]]]}, {"outline"}, "two corners"),
    (BIRD | {"outline": [[[0, 0], [9, 9], [0, 9], [9, 0]]]}, {"outline"}, "crosses itself"),
    (BIRD | {"outline": [[[float("nan"), 0], [9, 9], [0, 9]]]}, {"outline"}, "not a number"),
    (BIRD | {"outline": [[[n % 299, n // 299] for n in range(100_000)]]}, {"outline"}, "100,000 corners"),
    (NEGATIVE | {"seconds": -1}, {"seconds"}, "negative time"),
    (NEGATIVE | {"seconds": float("nan")}, {"seconds"}, "no time at all"),
    (NEGATIVE | {"seconds": "3"}, {"seconds"}, "a text is no time"),
    (NEGATIVE | {"seconds": True}, {"seconds"}, "nor is a truth value"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "fields", "why"), WRONG, ids=[row[2] for row in WRONG])
def test_wrong(data: dict[str, Any], fields: set[str], why: str) -> None:
    with pytest.raises(WrongFields) as refusal:
        read(data)
    assert set(refusal.value.fields) == fields, why
    assert all(message.endswith(".") for message in refusal.value.fields.values())


def test_a_negative_needs_nothing_else_and_a_null_says_that_nothing_can_be_outlined() -> None:
    answers = read(NEGATIVE | {"outline": None, "complete": None, "seconds": 2.5})
    assert (answers.outline, answers.complete, answers.milliseconds) == (None, None, 2500)
    assert read(BIRD | {"outline": None}).outline is None


def test_the_gate_is_policy() -> None:
    guess_no = BIRD | {"contains_bird": "unsure_no"}
    assert read(guess_no, OutlineGate.NOT_EXCLUDED).outline is not None
    with pytest.raises(WrongFields):
        read(guess_no)


def test_time_taken_is_not_part_of_what_was_said() -> None:
    assert read(BIRD | {"seconds": 1}).sha256 == read(BIRD | {"seconds": 9}).sha256
    assert read(BIRD).sha256 != read(BIRD | {"real": True}).sha256
