"""Collectors and conditions, on answers written down by hand (R6)."""

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


def read(collector: str, seen: Seen, window: int = 100) -> Reading | None:
    return COLLECTORS[collector].read(seen, window, POLICY)


def value(collector: str, seen: Seen, window: int = 100) -> float:
    reading = read(collector, seen, window)
    assert reading is not None
    return reading.value


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
    rule = Rule("gold_doubt", 500, 1, "<", 1.0)
    assert (fires(rule, gold(right, wrong), POLICY) is not None) is suspends, why


def test_the_gold_rule_follows_the_policy() -> None:
    rule = Rule("gold_doubt", 500, 1, "<", 1.0)
    strict = Policy(gold_pass_percent=95, gold_minimum=5, gold_doubt_percent=5)
    assert fires(rule, gold(3, 2), POLICY) is None
    fired = fires(rule, gold(3, 2), strict)
    assert fired is not None
    assert (fired.n, fired.figures) == (5, {"right": 3, "chance_percent": 2.2593})


@pytest.mark.parametrize(
    ("comparison", "threshold", "fired", "why"),
    [
        ("<", 0.5, False, "a half is not under a half"),
        ("<=", 0.5, True, "and it is at most a half"),
        (">", 0.5, False, "nor over it"),
        (">=", 0.5, True, "and it is at least a half"),
    ],
)
def test_a_condition_compares(comparison: str, threshold: float, fired: bool, why: str) -> None:
    seen = Seen([look(ms=100), look(ms=9_000)])
    assert (fires(Rule("fast_share", 10, 2, comparison, threshold), seen, POLICY) is not None) is fired, why


def test_a_rule_waits_for_its_minimum() -> None:
    seen = Seen([look(ms=100)] * 4)
    assert fires(Rule("fast_share", 10, 5, ">", 0.5), seen, POLICY) is None
    assert fires(Rule("fast_share", 10, 4, ">", 0.5), seen, POLICY) is not None


def test_a_window_holds_the_latest_answers() -> None:
    seen = Seen([look(ms=100)] * 10 + [look(ms=9_000)] * 10)
    assert [value("fast_share", seen, window) for window in (10, 20)] == [0, 0.5]


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
    seen = Seen([look(BIRD, BIRD, BIRD), look(CUT_BIRD, BIRD, BIRD), look(BIRD), look(gold=True)])
    reading = read("agreement", seen)
    assert reading is not None
    assert (reading.value, reading.n) == (0.9, 2)


@pytest.mark.parametrize(
    ("looks", "run", "why"),
    [
        ([look(NEITHER, BIRD, BIRD)] * 3, 3, "three in a row"),
        ([look(NEITHER, BIRD, BIRD), look(BIRD, BIRD, BIRD)], 0, "the latest answer agrees"),
        (
            [look(NEITHER, BIRD, BIRD), look(NEITHER, BIRD, UNSURE), look(NEITHER, BIRD, BIRD)],
            2,
            "where the others differ among themselves, nobody is judged",
        ),
        ([look(CUT_BIRD, BIRD, BIRD)], 0, "the statements are no class"),
    ],
)
def test_a_run_of_other_classes(looks: list[Look], run: int, why: str) -> None:
    assert value("disagreement_run", Seen(looks)) == run, why


def test_outlines_and_rhythm() -> None:
    assert value("outline_iou", Seen([look(iou=80), look(), look(iou=90)])) == 85
    assert value("even_rhythm", Seen([look(ms=2_000)] * 9)) == 0
    assert value("even_rhythm", Seen([look(ms=1_000), look(ms=3_000)])) == pytest.approx(0.7071, abs=1e-4)


def test_one_answer_is_judged_by_what_others_say_of_the_same_pictures() -> None:
    honest = Seen([look(BIRD, BIRD, BIRD)] * 10)
    lazy = Seen([look(BIRD, BIRD, BIRD)] * 5 + [look(BIRD, NEITHER, NEITHER)] * 5)
    assert [value("same_answer_share", seen) for seen in (honest, lazy)] == [1, 1]
    assert [value("same_answer_excess", seen) for seen in (honest, lazy)] == [0, 0.5]


def test_pictures_given_back() -> None:
    given = Seen(handovers=[Handover(BEGIN, True), Handover(BEGIN, False), Handover(BEGIN, False)])
    assert value("skip_share", given, window=2) == 1
    assert value("skip_share", given) == pytest.approx(2 / 3)


@pytest.mark.parametrize("collector", sorted(COLLECTORS))
def test_nothing_seen_is_nothing_read(collector: str) -> None:
    assert read(collector, Seen()) is None


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
    reading = read("odd_share", Seen([look(form, *others)]))
    assert (reading and reading.value) == expected, why


def test_the_odd_one_out_counts_the_latest_panels_with_one() -> None:
    unanimous, odd, even = look(BIRD, BIRD, BIRD), look(CUT_BIRD, BIRD, BIRD), look(BIRD, BIRD, CUT_BIRD)
    seen = Seen([odd, even, unanimous, odd, unanimous, even])
    assert value("odd_share", seen) == 1 / 2
    assert value("odd_share", seen, window=3) == 1 / 3
    assert (reading := read("odd_share", seen)) and reading.n == 4
