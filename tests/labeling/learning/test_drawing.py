"""Which pictures a try gets."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labeling.enums import TieBreak, Topic
from labeling.learning.drawing import draw, tie_break_for


@given(
    kinds=st.lists(st.integers(0, 6), max_size=60),
    size=st.integers(1, 12),
    seed=st.integers(0, 2**32),
)
def test_every_kind_comes_once_before_any_comes_twice(kinds: list[int], size: int, seed: int) -> None:
    pool = list(enumerate(kinds))
    drawn = draw(pool, size, Random(seed))
    if len(pool) < size:
        assert drawn is None
        return
    assert drawn is not None
    assert len(drawn) == len(set(drawn)) == size
    counts, available = Counter(kinds[key] for key in drawn), Counter(kinds)
    for kind, count in counts.items():
        # A kind is drawn again only when the others have been drawn as often, as far as there are any.
        assert all(counts[other] >= min(count - 1, available[other]) for other in available), kind


def test_the_order_says_nothing_about_the_kind() -> None:
    pool = [(key, key % 10) for key in range(40)]
    firsts = Counter(draw(pool, 10, Random(seed))[0] % 10 for seed in range(400))  # type: ignore[index]
    assert len(firsts) == 10
    assert max(firsts.values()) < 80


LEFT = "[[[10,10],[90,10],[90,90]]]"
RIGHT = "[[[210,10],[290,10],[290,90]]]"


@pytest.mark.parametrize(
    ("topic", "outline", "drawn"),
    [
        (Topic.SEVERAL, LEFT, {TieBreak.LEFTMOST}),
        (Topic.SEVERAL, RIGHT, {TieBreak.RIGHTMOST}),
        (Topic.CLEAR, LEFT, set(TieBreak)),
    ],
    ids=["left", "right", "of one the choice is random"],
)
def test_of_several_the_known_outline_is_the_one_asked_for(topic: Topic, outline: str, drawn: set[TieBreak]) -> None:
    assert {tie_break_for(topic, outline, width=299, rng=Random(seed)) for seed in range(20)} == drawn
