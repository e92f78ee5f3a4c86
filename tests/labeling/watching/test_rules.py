"""Collectors and conditions, on answers written down by hand (R6)."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from labeling.policy import Policy
from labeling.watching.rules import COLLECTORS, Form, Handover, Look, Reading, Rule, Seen, agreements, fires

BEGIN = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
POLICY = Policy()
BIRD: Form = ("definitely_yes", "definitely_no", True, True, True)
CUT_BIRD: Form = ("definitely_yes", "definitely_no", False, True, True)
NEITHER: Form = ("definitely_no", "definitely_no", None, None, None)
UNSURE: Form = ("unsure_yes", "definitely_no", True, True, True)


def look(
    form: Form = BIRD,
    *others: Form,
    at: int = 0,
    gold: bool | None = None,
    ms: int = 5_000,
    iou: float | None = None,
) -> Look:
    return Look(BEGIN + timedelta(seconds=at), ms, form, gold, others, iou)


def gold(right: int, wrong: int) -> Seen:
    return Seen([look(gold=True)] * right + [look(gold=False)] * wrong)


def read(collector: str, looks: Sequence[Look] | Seen, window: int = 100) -> Reading | None:
    return COLLECTORS[collector].read(looks if isinstance(looks, Seen) else Seen(looks), window, POLICY)


def value(collector: str, looks: Sequence[Look] | Seen, window: int = 100) -> float | None:
    return (reading := read(collector, looks, window)) and reading.value


@pytest.mark.parametrize(
    ("right", "wrong", "suspends", "why"),
    [
        (4, 6, True, "0.64 % that the true share is 80 %"),
        (5, 5, False, "3.28 %: not clearly under"),
        (0, 9, False, "nine gold pictures are too few to judge by"),
        (0, 10, True, "ten are enough"),
        (11, 9, True, "11 of 20: 0.998 %, just under the bound"),
        (12, 8, False, "12 of 20: 3.2 %"),
        (10, 0, False, "all right"),
    ],
)
def test_the_gold_rule(right: int, wrong: int, suspends: bool, why: str) -> None:
    assert (fires(Rule("gold_doubt", 500, 1, "<", 1.0), gold(right, wrong), POLICY) is not None) is suspends, why


def test_the_gold_rule_follows_the_policy() -> None:
    rule = Rule("gold_doubt", 500, 1, "<", 1.0)
    strict = Policy(gold_pass_percent=95, gold_minimum=5, gold_doubt_percent=5)
    assert fires(rule, gold(3, 2), POLICY) is None
    fired = fires(rule, gold(3, 2), strict)
    assert fired is not None
    assert (fired.n, fired.figures) == (5, {"right": 3, "chance_percent": 2.2593})


@pytest.mark.parametrize(
    ("minimum", "comparison", "threshold", "fired", "why"),
    [
        (2, "<", 0.5, False, "a half is not under a half"),
        (2, "<=", 0.5, True, "and it is at most a half"),
        (2, ">", 0.5, False, "nor over it"),
        (2, ">=", 0.5, True, "and it is at least a half"),
        (3, ">=", 0.5, False, "there are two answers"),
    ],
)
def test_a_rule_compares_once_it_has_its_minimum(
    minimum: int, comparison: str, threshold: float, fired: bool, why: str
) -> None:
    seen = Seen([look(ms=100), look(ms=9_000)])
    assert (fires(Rule("fast_share", 10, minimum, comparison, threshold), seen, POLICY) is not None) is fired, why


HONEST, LAZY = [look(BIRD, BIRD, BIRD)] * 10, [look(BIRD, BIRD, BIRD)] * 5 + [look(BIRD, NEITHER, NEITHER)] * 5
FAST_THEN_SLOW = [look(ms=100)] * 10 + [look(ms=9_000)] * 10
GIVEN_BACK = Seen(handovers=[Handover(BEGIN, True), Handover(BEGIN, False), Handover(BEGIN, False)])
ODD, EVEN, SAME = look(CUT_BIRD, BIRD, BIRD), look(BIRD, BIRD, CUT_BIRD), look(BIRD, BIRD, BIRD)
ODDS = [ODD, EVEN, SAME, ODD, SAME, EVEN]
OTHER = look(NEITHER, BIRD, BIRD)


@pytest.mark.parametrize(
    ("collector", "looks", "window", "expected", "why"),
    [
        ("fast_share", FAST_THEN_SLOW, 10, 0, "a window holds the latest answers"),
        ("fast_share", FAST_THEN_SLOW, 20, 0.5, "a larger one holds all of them"),
        ("outline_iou", [look(iou=80), look(), look(iou=90)], 100, 85, "the mean of those with an outline"),
        ("even_rhythm", [look(ms=2_000)] * 9, 100, 0, "always the same time"),
        ("even_rhythm", [look(ms=1_000), look(ms=3_000)], 100, 2**0.5 / 2, "the spread over the mean"),
        ("same_answer_share", HONEST, 100, 1, "always the same answer, as others say"),
        ("same_answer_share", LAZY, 100, 1, "always the same answer, whatever others say"),
        ("same_answer_excess", HONEST, 100, 0, "no more often than others on the same pictures"),
        ("same_answer_excess", LAZY, 100, 0.5, "more often than others on the same pictures"),
        ("skip_share", GIVEN_BACK, 2, 1, "the latest two were given back"),
        ("skip_share", GIVEN_BACK, 100, 2 / 3, "two of three were given back"),
        ("odd_share", ODDS, 100, 1 / 2, "two of the four panels with an odd one out"),
        ("odd_share", ODDS, 3, 1 / 3, "one of the latest three"),
        ("disagreement_run", [OTHER] * 3, 100, 3, "three in a row"),
        ("disagreement_run", [OTHER, SAME], 100, 0, "the latest answer agrees"),
        ("disagreement_run", [OTHER, look(NEITHER, BIRD, UNSURE), OTHER], 100, 2, "others differ: nobody is judged"),
        ("disagreement_run", [ODD], 100, 0, "the statements are no class"),
        *[(collector, [], 100, None, "nothing seen is nothing read") for collector in sorted(COLLECTORS)],
    ],
)
def test_what_collectors_read(
    collector: str, looks: Sequence[Look] | Seen, window: int, expected: float | None, why: str
) -> None:
    assert value(collector, looks, window) == (None if expected is None else pytest.approx(expected)), why


@pytest.mark.parametrize(
    ("form", "others", "expected", "why"),
    [
        (BIRD, [BIRD, BIRD], [True] * 5, "everybody says the same"),
        (CUT_BIRD, [BIRD, BIRD], [True, True, False, True, True], "another answer to one statement"),
        (NEITHER, [BIRD, BIRD], [False, True, False, False, False], "what was not answered is not agreed with"),
        (BIRD, [BIRD, UNSURE], [True] * 4, "the others differ on question 1: it is nobody's majority"),
        (BIRD, [NEITHER, NEITHER], [False, True], "the others were asked no statement"),
        (BIRD, [BIRD, BIRD, NEITHER], [True] * 5, "two of three are a majority"),
    ],
)
def test_agreement_is_with_the_majority_of_the_others(
    form: Form, others: list[Form], expected: list[bool], why: str
) -> None:
    assert list(agreements(look(form, *others)).values()) == expected, why


def test_agreement_counts_questions_of_answers_with_a_majority() -> None:
    reading = read("agreement", [SAME, ODD, look(BIRD), look(gold=True)])
    assert reading and (reading.value, reading.n) == (0.9, 2)


def test_what_came_before_a_moment_is_left_out() -> None:
    seen = Seen([look(at=1), look(at=2)], [Handover(BEGIN + timedelta(seconds=1), True)])
    later = seen.since(BEGIN + timedelta(seconds=1))
    assert ([each.at.second for each in later.looks], later.handovers) == ([2], [])
    assert seen.since(None) is seen


@pytest.mark.parametrize(
    ("form", "others", "expected", "why"),
    [
        (CUT_BIRD, (BIRD, BIRD), 1, "alone against two"),
        (BIRD, (BIRD, CUT_BIRD), 0, "another one is"),
        (BIRD, (BIRD, BIRD), None, "all say the same"),
        (BIRD, (CUT_BIRD, NEITHER), None, "everybody says something else"),
        (BIRD, (CUT_BIRD,), None, "of two, neither is the odd one"),
        (BIRD, (BIRD, CUT_BIRD, CUT_BIRD), None, "two against two"),
        (CUT_BIRD, (BIRD, BIRD, BIRD), 1, "alone against three"),
    ],
)
def test_the_odd_one_out(form: Form, others: tuple[Form, ...], expected: float | None, why: str) -> None:
    assert value("odd_share", [look(form, *others)]) == expected, why
