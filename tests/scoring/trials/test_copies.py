"""Copies with a trivial change: what is flagged, what is not, and with which figures."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import pytest

from scoring.enums import Likeness, RunState, TrialKind
from scoring.models import CopyFlag, Defense, Prediction, Trial
from scoring.trials import answers, copies
from tests import factories
from tests.contest.release_fixtures import scored
from tests.scoring import cast as scoring_cast
from tests.scoring.trials import cast

pytestmark = pytest.mark.django_db
E = copies.EMPTY_LAYER

# the newcomer's layers, the other's, above the base, has the other's top layer; None where nothing is flagged
LAYERS: list[tuple[Sequence[str], Sequence[str], tuple[int, bool] | None, str]] = [
    (["py", "np", "a"], ["py", "np", "b"], None, "the same base, and their own on top"),
    (["py", "np", "b", "x"], ["py", "np", "b"], (0, True), "built on top of the other"),
    (["py", "np", "b"], ["py", "np", "b"], (0, True), "the same layers under another configuration"),
    (["ub", "np2", "b"], ["py", "np", "b"], (1, True), "the other's program on another base"),
    (["py", "new", "weights", "x"], ["py", "np", "weights", "b"], (1, False), "the other's weights"),
    (["py", E, "a", E], ["py", E, "b", E], None, "layers without a file prove nothing"),
    (["py", "b", E], ["py", "b"], (0, True), "an empty layer on top of the other"),
    (["a"], ["b"], None, "nothing in common"),
    ([], ["b"], None, "no image"),
    (["a"], [], None, "shipped with this project"),
]


PUBLISHED = {"published_at": factories.NOW}


@pytest.fixture
def older() -> Defense:
    return cast.container("older", layers=["py", "b"], weights="w" * 64, **PUBLISHED)


@pytest.mark.parametrize(("ours", "theirs", "found", "why"), LAYERS)
def test_layers_above_a_common_base_are_flagged(
    ours: Sequence[str], theirs: Sequence[str], found: tuple[int, bool] | None, why: str
) -> None:
    figures = copies.shared_layers(ours, theirs)
    assert (figures and (figures["above_the_base"], figures["their_top_layer"])) == found, why


def test_flags_are_made_once_with_figures_in_plain_numbers(older: Defense, now: datetime) -> None:
    newcomer = cast.container(layers=["py", "b", "c"], weights="w" * 64)
    assert [copies.copies_flag(now=now) for _ in range(2)] == [2, 0]
    layers, weights = CopyFlag.objects.order_by("likeness")
    assert (layers.likeness, weights.likeness) == (Likeness.LAYERS, Likeness.WEIGHTS)
    assert {(each.defense, each.original) for each in (layers, weights)} == {(newcomer, older)}
    assert weights.figures["same_name"] is False
    assert layers.figures == {
        "shared": 2, "of_theirs": 2, "of_ours": 3, "base": 2, "above_the_base": 0, "their_top_layer": True,
        "percent_of_theirs": 100.0, "same_name": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("newer", "older", "flags", "why"),
    [
        ({"weights": ""}, {"weights": ""}, 0, "no weights are nobody's weights"),
        ({"weights": "a"}, {"weights": "b"}, 0, "other weights"),
        ({"weights": "a"}, {"weights": "a", "published_at": None}, 0, "never published: nothing to copy"),
        ({"weights": "a"}, {"weights": "a", "retired_at": factories.NOW}, 1, "a retired one counts"),
    ],
)
def test_who_is_compared_with_whom(
    newer: dict[str, Any], older: dict[str, Any], flags: int, why: str, now: datetime
) -> None:
    cast.container("older", **(PUBLISHED | older))
    cast.container("newer", **newer)
    assert copies.copies_flag(now=now) == flags, why


def kept(labels: Sequence[int], *, off: float = 0.0, first: int = 1) -> bytes:
    rows = [(first + at, 0, label, 0.1 + at / 1000, 0.5 + off) for at, label in enumerate(labels)]
    return answers.pack(answers.rows_of(rows))


LABELS = [1, 0, -1, 1, 0] * 10


@pytest.mark.parametrize(
    ("ours", "flagged", "why"),
    [
        (kept(LABELS), True, "all alike"),
        (kept(LABELS, off=0.00002), True, "scores to four places"),
        (kept(LABELS, off=0.01), False, "other scores"),
        (kept([-1, *LABELS[1:]]), False, "one answer differs"),
        (kept(LABELS[:49]), False, "too few"),
        (kept(LABELS, first=1000), False, "other pictures"),
        (b"", False, "a fault ended it at once"),
    ],
)
def test_answers_to_the_private_set_are_compared(
    ours: bytes, flagged: bool, why: str, older: Defense, now: datetime
) -> None:
    cast.passed(older, TrialKind.PRIVATE, answers=kept(LABELS))
    cast.passed(cast.container(), TrialKind.PRIVATE, answers=ours)
    assert copies.copies_flag(now=now) == int(flagged), why
    parts = {"pictures": 50, "same": 50, "answered": 40, "scores_vary": True}
    assert all(flag.figures | parts == flag.figures for flag in CopyFlag.objects.all())


def test_altered_pictures_and_other_kinds_of_number_are_kept_apart(older: Defense, now: datetime) -> None:
    newcomer = cast.container()
    cast.passed(older, TrialKind.PRIVATE, answers=kept(LABELS))
    cast.passed(newcomer, TrialKind.EARLIER, answers=kept(LABELS))  # the same numbers, of Images
    altered = [(at, 1, 1, 0.0, 0.0) for at in range(60)]
    cast.passed(newcomer, TrialKind.PROBE, answers=answers.pack(answers.rows_of(altered)))
    assert copies.copies_flag(now=now) == 0
    assert set(copies.answers_of(newcomer)) == {("image", number) for number in range(1, 51)}


def test_official_answers_of_the_older_one_are_compared_too(older: Defense, now: datetime) -> None:
    newcomer = cast.container()
    for image, label in zip(scoring_cast.valid_pictures(50), LABELS, strict=True):
        scored(older, image, [label])
    official = Prediction.objects.order_by("image_id").values_list("image_id", "answer", "score_bicycle", "score_bird")
    rows = [(image, 0, answer, bicycle, bird) for image, answer, bicycle, bird in official]
    cast.passed(newcomer, TrialKind.EARLIER, answers=answers.pack(answers.rows_of(rows)))
    assert copies.copies_flag(now=now) == 1
    flag = CopyFlag.objects.get()
    assert (flag.likeness, flag.figures["scores_vary"]) == (Likeness.OUTPUTS, False)
    Trial.objects.filter(defense=newcomer).update(state=RunState.DEAD)
    assert copies.answers_of(newcomer) == {}
