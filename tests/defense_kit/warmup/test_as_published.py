"""`--as-published` (R40): each deviation of the code of 2018 beside what the contest does; order and counts."""

from collections.abc import Callable
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from defense_kit.warmup import boundary
from defense_kit.warmup.as_published import DEVIATIONS, NOT_REPEATED
from defense_kit.warmup.as_published import coverage as published_coverage
from defense_kit.warmup.as_published.pictures import shuffled
from defense_kit.warmup.attacks import SIDE, Rows, Scores
from defense_kit.warmup.boundary import BoundaryState, way_from
from defense_kit.warmup.spsa import SpsaState
from tests.defense_kit.warmup.defenses import alone, made, picture
from tests.defense_kit.warmup.small_runs import (
    BIRD,
    BLACK,
    CODE_OF_2018,
    CONTEST,
    DOT,
    GREY,
    SHAPE,
    STREAMS,
    Code,
    answers,
    by_value,
    descended,
    named,
)

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "defenses.md"


# Each deviation: what is measured of the two codes


def ties(code: Code) -> dict[str, bool]:
    both = code.method.arranged([named(1), named(2, is_bird=False)])
    return {each.of_class: each.picture.is_wrong(np.zeros(2, np.float32)) for each in both}


def is_ascending(code: Code) -> bool:
    found = [each.picture.sha256 for each in code.method.arranged([named(number) for number in range(9)])]
    return found == sorted(found)


def first_part_of_grid(code: Code) -> Rows:
    return made(next(code.method.stateless["spatial_grid"](replace(BIRD, pixels=DOT))))


def centre(row: Rows) -> tuple[float, float]:
    """Return where a picture's values are on average, in pixels across and down."""
    places = np.arange(SIDE) + 0.5
    return float(row.sum(axis=(0, 2)) @ places / row.sum()), float(row.sum(axis=(1, 2)) @ places / row.sum())


def way_of_one_part(code: Code) -> int:
    rows = first_part_of_grid(code)
    return round(centre(rows[-1])[1] - centre(rows[0])[1])


def offset_of_first_move(code: Code) -> tuple[float, float]:
    across, down = centre(first_part_of_grid(code)[0])
    return round(across + 18 - SIDE / 2, 1) + 0, round((down - SIDE / 2) % 1, 1)


def is_in_8_bits(code: Code) -> bool:
    found = code.method.first_move(picture(1), STREAMS) * 255
    return bool(np.abs(found - np.rint(found)).max() < 1e-3)


def size_of_estimate(code: Code) -> float:
    means = []
    for each in (code, CONTEST):
        states: list[SpsaState] = []
        descended(each, by_value, keep=states.append, steps=1)
        means.append(np.linalg.norm(states[0].mean))
    return round(float(means[0] / means[1]), 3)


def range_of_probes(code: Code) -> tuple[float, float]:
    seen: list[tuple[float, float]] = []

    def classify(rows: Rows) -> Scores:
        seen.append((round(float(rows.min()), 3), round(float(rows.max()), 3)))
        return by_value(rows)

    for start in (BLACK, BLACK + 1):
        descended(code, classify, start, steps=1)
    return min(low for low, _ in seen), max(high for _, high in seen)


def steps_where_wrong_from_the_start(code: Code) -> int:
    steps: int = descended(code, answers(-2)).chosen["steps"]
    return steps


def step_of_the_result(code: Code) -> int:
    """Return whose picture is the result where the first step leads to the worst of three."""
    losses = answers(3, 1, 2)
    step: int = descended(code, lambda rows: losses(rows[-1:]).repeat(len(rows), axis=0), steps=3).chosen["best_step"]
    return step


def starts_that_are_tried(code: Code) -> int:
    others = [picture(number).pixels for number in range(4)]
    return alone(code.method.boundary(picture(9), others), answers(1)).queries - 1


def is_direction_of_signs(code: Code) -> bool:
    way = way_from(GREY, np.linspace(0, 1, GREY.size, dtype=np.float32).reshape(SHAPE))
    direction = code.boundary.drawn_direction(STREAMS, way, 0.25, 3, 2)
    assert float(np.linalg.norm(direction)) == pytest.approx(0.25)
    is_sign = len(np.unique(np.abs(direction))) == 1
    assert is_sign or abs(float((direction * way.offset).sum())) < 1e-6 * way.length, "nothing of it leads to the goal"
    return is_sign


def state_of(code: Code, step: int, at: Rows, **values: float) -> BoundaryState:
    kind: Any = code.method.states["boundary"]
    state: BoundaryState = kind(step, at, np.zeros(2, np.float32), 0, **values)
    return state


def directions_that_count(code: Code) -> int:
    states: list[BoundaryState] = []
    at = state_of(code, 0, BLACK + 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(code.boundary, "GOAL", 0.0)
        alone(code.boundary.approach(BIRD, GREY, [], STREAMS, at, states.append, 1), answers(1))
    return len(states[0].step_window)


def steps_after_a_small_one(code: Code) -> int:
    at = state_of(code, 7, BLACK + 1, towards=1e-8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(code.boundary, "GOAL", 0.0)
        steps: int = alone(code.boundary.approach(BIRD, GREY, [], STREAMS, at), answers(1)).chosen["steps"]
    return steps - 7


def queries_and_steps_to_the_goal(code: Code) -> tuple[int, int]:
    """Return what a test takes whose first picture is wrong and within the goal."""
    far = BLACK.copy()
    far[0, 0, 0] = 0.9
    at = state_of(code, 9, far, spherical=0.5)
    with pytest.MonkeyPatch.context() as patch:
        for module in (boundary, code.boundary):
            patch.setattr(module, "GOAL", 0.89)  # values below 0 are clipped, so the sphere's point is nearer
        walk = code.boundary.approach(BIRD, BLACK, [], STREAMS, at, steps=10)
        found = alone(walk, answers(-1, 1))
    return found.queries, found.chosen["steps"] - 9


def pictures_of_boundary(code: Code) -> int:
    return len(code.method.boundary_pictures([named(number) for number in range(130)]))


def worst_corruption(code: Code) -> str:
    scores = np.tile(np.float32([0, 1]), (17, 1))  # bicycle, bird
    scores[2], scores[3], scores[5], scores[7] = [9, np.nan], [5, 9], [2, 1], [0, 20]
    name: str = alone(code.method.stateless["corruptions"](picture(1)), lambda rows: scores).chosen["corruption"]
    return name


def covered_of_nine(code: Code) -> int:
    return code.method.covered_accuracy(np.arange(9.0), np.zeros(9, bool)).covered


def risks_of_a_tie(code: Code) -> tuple[int, float]:
    found = code.method.risk_coverage(np.ones(4), np.array([True, False, False, False]))
    return len(found), round(max(risk for _, risk in found), 6)


ROWS: list[tuple[str, Callable[[Code], Any], Any, Any, str]] = [
    # deviation, what is measured, in the contest, as published, why
    ("ties", ties, {"bird": True, "bicycle": True}, {"bird": True, "bicycle": False}, "only < makes a bird"),
    ("order", is_ascending, True, False, "a shuffled DataLoader"),
    ("grid", way_of_one_part, 0, 60, "the fastest of the three numbers is dy, not the angle"),
    ("grid move", offset_of_first_move, (0, 0), (-0.1, 0.2), "torchvision's centre, from 112 turned about 112.5"),
    ("first move", is_in_8_bits, True, False, "TensorFlow keeps floats"),
    ("SPSA estimate", size_of_estimate, 1, 0.01, "the mean of loss times probe over the size of a probe"),
    ("SPSA probes", range_of_probes, (0, 1), (-0.01, 1.01), "nothing clips them"),
    ("SPSA stop", steps_where_wrong_from_the_start, 0, 1, "the loss is that of before the step"),
    ("SPSA result", step_of_the_result, 1, 3, "no best picture is kept"),
    ("boundary start", starts_that_are_tried, 4, 1, "one random choice"),
    ("boundary directions", is_direction_of_signs, True, False, "normal values, as in the paper"),
    ("boundary steps", lambda code: code.boundary.STEPS, 7500, 5000, "as many queries, most of the time"),
    ("boundary windows", directions_that_count, 25, 0, "a step that is no test tells the published code nothing"),
    ("boundary end", steps_after_a_small_one, 0, 215, "29 reductions in 4 steps each, and 99 steps to make sure"),
    ("boundary goal", queries_and_steps_to_the_goal, (27, 1), (1, 1), "any query can reach the threshold"),
    ("boundary pictures", pictures_of_boundary, 50, 100, "25 batches of 4; all are birds here"),
    ("corruption", worst_corruption, "motion_blur", "defocus_blur", "5 beside 9 is right, and above 2 beside 1"),
    ("coverage", covered_of_nine, 8, 7, "7.2 pictures"),
    ("curve", risks_of_a_tie, (1, 0.25), (100, 25), "1 wrong of 4, over 1 % of 4"),
]


def test_each_deviation_has_a_row() -> None:
    assert [name for name, *_ in ROWS] == list(DEVIATIONS)


@pytest.mark.parametrize("sentence", [*DEVIATIONS.values(), *NOT_REPEATED])
def test_the_document_has_it(sentence: str) -> None:
    assert sentence in " ".join(DOCUMENT.read_text(encoding="utf-8").split())


@pytest.mark.parametrize(("name", "measure", "contest", "published", "why"), ROWS, ids=[row[0] for row in ROWS])
def test_what_the_contest_does_and_what_the_published_code_did(
    name: str, measure: Callable[[Code], Any], contest: Any, published: Any, why: str
) -> None:
    assert (measure(CONTEST), measure(CODE_OF_2018)) == (contest, published), why


# Order and counts


def test_the_order_is_drawn_and_depends_on_no_other_picture() -> None:
    pictures = [named(number, is_bird=bool(number % 2)) for number in range(40)]
    order = [each.name for each in shuffled(pictures)]
    assert sorted(order) == sorted(each.name for each in pictures)
    assert [each.name for each in shuffled(pictures[::-1])] == order
    few = [each.name for each in shuffled(pictures[::3])]
    assert few == [name for name in order if name in few]
    birds = sum(each.of_class == "bird" for each in shuffled(pictures)[:20])
    assert birds != 10, "the first ones of this order are not balanced"


@pytest.mark.parametrize(
    ("pictures", "covered", "why"),
    [
        (1, 1, "the index 0 - 1 is the last picture, the only one"),
        (2, 1, "of 1.6"),
        (4, 3, "of 3.2"),
        (9, 7, "of 7.2"),
        (100, 80, "as in the contest"),
        (250, 200, "as in the contest"),
    ],
)
def test_how_many_are_covered(pictures: int, covered: int, why: str) -> None:
    wrong = np.zeros(pictures, bool)
    found = published_coverage.covered_accuracy(np.arange(pictures, dtype=float), wrong)
    assert (found.covered, found.threshold) == (covered, pictures - covered), why


def test_no_picture_is_an_error() -> None:
    with pytest.raises(ValueError, match="no picture"):
        published_coverage.covered_accuracy(np.array([]), np.array([], bool))


def test_the_curve_s_100_points() -> None:
    rng = np.random.default_rng(3)
    confidences, wrong = rng.integers(0, 12, 30).astype(float), rng.random(30) < 0.3
    confidences[:3] = -inf
    curve = published_coverage.risk_coverage(confidences, wrong)
    assert [round(coverage, 9) for coverage, _ in curve] == [number / 100 for number in range(1, 101)]
    for number, (_, risk) in enumerate(curve, 1):
        ranked = sorted(confidences, reverse=True)
        threshold = ranked[int(np.linspace(0.01, 1, 100)[number - 1] * 30) - 1]
        bad = sum(is_wrong for at, is_wrong in zip(confidences, wrong, strict=True) if at >= threshold)
        assert risk == pytest.approx(bad / (30 * number / 100)), number
    assert curve[-1] == (1, wrong.mean())
