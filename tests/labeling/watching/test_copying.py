"""Copying is seen, and people who work on their own are not accused."""

import math
from random import Random

import pytest

from labeling.watching import copying
from labeling.watching.copying import ALIKE_BY_CHANCE, Look, Seen, alike, at_least

GOOD = ("definitely_yes", "definitely_no", True, True, True)
HANDS = [0.7, 1.0, 1.5, 2.5]


def shape(rng: Random, corners: int) -> list[tuple[float, float]]:
    """The obvious corners of a thing."""
    turns = [2 * math.pi * (k + rng.uniform(-0.2, 0.2)) / corners for k in range(corners)]
    return [
        (150 + rng.uniform(80, 110) * math.cos(turn), 150 + rng.uniform(80, 110) * math.sin(turn)) for turn in turns
    ]


def drawn(true: list[tuple[float, float]], rng: Random, hand: float) -> list[tuple[float, float]]:
    """The shape as a hand draws it that misses by `hand` px on each axis."""
    return [(round(x + rng.gauss(0, hand), 2), round(y + rng.gauss(0, hand), 2)) for x, y in true]


@pytest.mark.parametrize("hand", HANDS)
@pytest.mark.parametrize("corners", [5, 8, 14])
def test_two_people_seldom_draw_alike(hand: float, corners: int) -> None:
    """Even where both click exactly the same corners, which is the most alike that honest outlines can be."""
    rng = Random(f"{hand} {corners}")
    shapes = [shape(rng, corners) for _ in range(400)]
    found = sum(alike(drawn(true, rng, hand), drawn(true, rng, hand)) for true in shapes)
    assert at_least(found, 400, ALIKE_BY_CHANCE) > 1e-3, f"{found} of 400"


@pytest.mark.parametrize("jitter", [0.0, 0.1, 0.3])
def test_a_copied_outline_is_alike(jitter: float) -> None:
    rng = Random(f"copied {jitter}")
    originals = [drawn(shape(rng, 9), rng, 1.5) for _ in range(200)]
    assert sum(alike(original, drawn(original, rng, jitter)) for original in originals) == 200


OUTLINES = [
    ([(0, 0), (9, 0), (9, 9), (5, 12), (0, 9)], True, "the same"),
    ([(9, 9), (5, 12), (0, 9), (0, 0), (9, 0)], True, "begun at another corner"),
    ([(0, 9), (5, 12), (9, 9), (9, 0), (0, 0)], True, "drawn the other way round"),
    ([(0, 0), (9, 0), (9, 9), (5, 12), (2, 10.2), (0, 9)], True, "a corner more on the same line"),
    ([(0, 0), (9, 0), (9, 9), (5, 12), (0, 9), (-4, 5), (-3, 2)], False, "two corners more"),
    ([(1, 0), (10, 0), (10, 9), (6, 12), (1, 9)], False, "moved by one pixel"),
    ([(0, 0), (9, 0), (9, 9), (5, 17), (0, 9)], False, "one corner elsewhere"),
]


@pytest.mark.parametrize(("other", "expected", "why"), OUTLINES, ids=[row[2] for row in OUTLINES])
def test_alike(other: list[tuple[float, float]], expected: bool, why: str) -> None:
    one = [(0, 0), (9, 0), (9, 9), (5, 12), (0, 9)]
    assert alike(one, other) is expected, why
    assert alike(other, one) is expected, f"{why}, seen from the other"


class Crowd:
    """Panels of three out of `people`, whose pictures differ in difficulty."""

    def __init__(self, seed: int, people: int = 12, hand: float = 1.0) -> None:
        self.rng, self.hand, self.people = Random(seed), hand, people
        self.look = Look()

    def answer(self, tasker: int, true: list[tuple[float, float]], difficulty: float, at: float) -> Seen:
        wrong = self.rng.random() < 0.15 * difficulty
        return Seen(
            tasker=tasker,
            said=(*GOOD[:2], not wrong, *GOOD[3:]),
            corners=drawn(true, self.rng, self.hand),
            seconds=self.rng.lognormvariate(2.5 + 0.5 * difficulty, 0.4),
            at=at + self.rng.uniform(0, 8 * 3600),
        )

    def panels(self, count: int) -> None:
        for number in range(count):
            true, difficulty = shape(self.rng, 8), self.rng.random()
            members = self.rng.sample(range(1, self.people + 1), 3)
            self.look.add([self.answer(each, true, difficulty, number * 60.0) for each in members])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("hand", [0.7, 1.5])
def test_nobody_of_an_honest_crowd_is_suspected(seed: int, hand: float) -> None:
    """Each pair shares some 45 pictures, as in a month of fifty taskers."""
    crowd = Crowd(seed, hand=hand)
    crowd.panels(1_000)
    found = crowd.look.figures()
    assert len(found) == 66
    assert not [pair for pair, figures in found.items() if figures.suspected]


def copied(seen: Seen, rng: Random, jitter: float) -> Seen:
    return Seen(
        tasker=99,
        said=seen.said,
        corners=[(x + rng.gauss(0, jitter), y + rng.gauss(0, jitter)) for x, y in seen.corners],
        seconds=rng.uniform(4, 8),
        at=seen.at + rng.uniform(20, 60),
    )


@pytest.mark.parametrize("seed", range(5))
def test_who_copies_outlines_is_suspected_after_a_dozen(seed: int) -> None:
    crowd = Crowd(seed)
    crowd.panels(300)
    for number in range(12):
        true = shape(crowd.rng, 8)
        original, third = crowd.answer(1, true, 0.5, number * 60), crowd.answer(2, true, 0.5, number * 60)
        crowd.look.add([original, third, copied(original, crowd.rng, 0.2)])
    assert [pair for pair, figures in crowd.look.figures().items() if figures.suspected] == [(1, 99)]


def neither(tasker: int, said: str, at: float) -> Seen:
    return Seen(tasker, (said, "definitely_no", None, None, None), (), 5.0, at)


def without_outlines(lag: tuple[float, float], splits: int = 60) -> Look:
    """1 and 99 agree against one of many others; 99 is `lag` seconds later. Beside others, each is the odd one."""
    rng, look = Random(4), Look()
    for number in range(splits):
        at = number * 300.0
        others = [neither(2 + (number + k) % 20, "definitely_no", rng.uniform(0, 30_000)) for k in (0, 3, 6)]
        look.add([neither(1, "unsure_no", at), neither(99, "unsure_no", at + rng.uniform(*lag)), others[0]])
        for who in (1, 99):
            look.add([neither(who, "unsure_no", at), *others[1:]])
    return look


def test_taking_sides_needs_a_rhythm_beside_it() -> None:
    together = without_outlines((20, 60)).figures()[1, 99]
    assert together.sided == together.splits == 60 and together.suspected
    apart = without_outlines((0, 20_000)).figures()[1, 99]
    assert apart.sided == apart.splits == 60 and apart.sides_chance <= apart.limit and not apart.suspected


def test_a_rhythm_alone_never_accuses() -> None:
    rng, look = Random(5), Look()
    for number in range(500):
        true, at = shape(rng, 8), number * 30.0
        answers = [Seen(who, GOOD, drawn(true, rng, 1.0), 5.0 + number % 9, at + 10 * who) for who in (1, 2, 3)]
        look.add(answers)
    found = look.figures()
    assert all(figures.lags_chance < figures.limit for figures in found.values())
    assert not any(figures.suspected for figures in found.values())


def test_two_good_taskers_beside_a_careless_third_are_not_suspected() -> None:
    """They side with each other nearly always, because the third is wrong; and they work at the same hours."""
    rng, look = Random(6), Look()
    for number in range(800):
        at = number * 30.0
        said = ["unsure_no" if rng.random() < share else "definitely_no" for share in (0.03, 0.03, 0.4)]
        look.add([neither(who, said[who - 1], at + 5 * who) for who in (1, 2, 3)])
    figures = look.figures()[1, 2]
    assert figures.splits > 200 and figures.sided > 0.8 * figures.splits
    assert figures.sides_chance > 1e-3 and not figures.suspected


def test_difficulty_explains_times_that_go_together() -> None:
    rng, look = Random(7), Look()
    for number in range(400):
        hard = rng.gauss(0, 0.8)
        look.add([Seen(who, GOOD, (), math.exp(2 + hard + rng.gauss(0, 0.3)), number) for who in (1, 2, 3)])
    found = look.figures()
    assert all((figures.seconds_correlation or 0) > 0.7 for figures in found.values())
    assert all(figures.seconds_chance > 1e-3 for figures in found.values())


def test_pairs_apart_are_not_compared_and_the_others_share_the_limit() -> None:
    look = Look()
    look.add([Seen(who, GOOD, (), 5.0, who) for who in range(1, 11)], apart=[(1, 2)])
    assert len(look.figures()) == 44 and (1, 2) not in look.figures()
    assert {figures.limit for figures in look.figures().values()} == {copying.MOST_DOUBT / 45}


TAILS = [
    (0, 10, 0.5, 1.0, "at least none is certain"),
    (3, 10, 0.5, 1.0, "fewer than expected is no evidence"),
    (10, 10, 0.5, 0.5**10, "all"),
    (9, 10, 0.5, 11 * 0.5**10, "all but one"),
    (0, 0, 0.5, 1.0, "nothing to count"),
]


@pytest.mark.parametrize(("times", "of", "chance", "expected", "why"), TAILS, ids=[row[-1] for row in TAILS])
def test_tail(times: int, of: int, chance: float, expected: float, why: str) -> None:
    assert at_least(times, of, chance) == pytest.approx(expected, rel=1e-9), why
