"""Overlaps of many panels at once are those of one pair after the other."""

from itertools import combinations
from random import Random

import pytest

from labeling.outlines import iou_percent
from labeling.watching.drawing import drawn_outline
from labeling.watching.overlap import mean_overlaps

LEFT, RIGHT = "[[10,10],[100,10],[100,200],[10,200]]", "[[100,10],[200,10],[200,200],[100,200]]"


def square(rng: Random) -> str:
    x, y, side = rng.randint(0, 100), rng.randint(0, 100), rng.randint(20, 150)
    return f"[[[{x},{y}],[{x + side},{y}],[{x + side},{y + side}],[{x},{y + side}]]]"


def test_means_are_those_of_the_pairs() -> None:
    rng = Random(3)
    panels = [{10 * number + member: square(rng) for member in range(4)} for number in range(50)]
    found = mean_overlaps(panels)
    for panel in panels:
        pairs = {pair: iou_percent(panel[pair[0]], panel[pair[1]]) or 0.0 for pair in combinations(panel, 2)}
        for response in panel:
            shares = [share for pair, share in pairs.items() if response in pair]
            assert found[response] == pytest.approx(sum(shares) / 3, abs=1e-6)


@pytest.mark.parametrize(
    ("panel", "overlaps", "why"),
    [
        ({1: f"[{LEFT}]", 2: f"[{LEFT}]"}, {1: 100, 2: 100}, "the very same"),
        ({1: f"[{LEFT}]", 2: f"[{RIGHT}]"}, {1: 0, 2: 0}, "they only touch"),
        ({1: f"[{LEFT},{LEFT}]", 2: f"[{LEFT}]"}, {1: 100, 2: 100}, "ground covered twice counts once"),
        ({1: f"[{LEFT}]", 2: ""}, {}, "alone with an outline"),
        ({}, {}, "nobody there"),
    ],
)
def test_panels_by_hand(panel: dict[int, str], overlaps: dict[int, float], why: str) -> None:
    assert mean_overlaps([panel]) == pytest.approx(overlaps), why


def test_an_outline_is_drawn_as_a_path() -> None:
    assert drawn_outline("[[[1,2],[3.5,2],[3,4]],[[0,0],[1,0],[1,1]]]") == "M1,2 L3.5,2 L3,4 Z M0,0 L1,0 L1,1 Z"
    assert drawn_outline("") == ""
