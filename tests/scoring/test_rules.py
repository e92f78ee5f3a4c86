"""The rules of scoring and of trials, without a database: the batch plan, mistakes, who answers for a fault, what
answers add up to, in which order and how altered pictures are asked about (R29, R30, R31)."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from defense_kit.container import LOADING_SECONDS
from labeling.enums import Label
from policy.numbers import Policy
from scoring.enums import NEXT_RUN_STATE, DefenseAnswer, Fault, RunState, TrialKind, Variant
from scoring.leases import longest
from scoring.plan import PlannedBatch, permuted, picture_batches
from scoring.rules import is_mistaken_outcome, is_parted, is_retried, wait_before_retry
from scoring.trials import answers, probe, totals
from scoring.trials.order import TrialOrder
from scoring.trials.totals import AnswerTotals
from tests import tables


@pytest.mark.parametrize(
    ("label", "answer", "mistake", "why"),
    [
        (Label.BIRD, DefenseAnswer.BICYCLE, True, "the other class"),
        (Label.BICYCLE, DefenseAnswer.BIRD, True, "the other class"),
        (Label.BIRD, DefenseAnswer.BIRD, False, "right"),
        (Label.BICYCLE, DefenseAnswer.BICYCLE, False, "right"),
        (Label.BIRD, DefenseAnswer.ABSTAIN, False, "an abstention is no mistake"),
        (Label.BICYCLE, DefenseAnswer.ABSTAIN, False, "an abstention is no mistake"),
    ],
)
def test_confident_mistake(label: Label, answer: DefenseAnswer, mistake: bool, why: str) -> None:
    assert is_mistaken_outcome(label, answer) is mistake, why


@pytest.mark.parametrize(
    ("fault", "platform"),
    [
        (Fault.IMAGE_PULL, True),
        (Fault.START_TIMEOUT, False),
        (Fault.HELLO_TIMEOUT, False),
        (Fault.BATCH_TIMEOUT, False),
        (Fault.CRASHED, False),
        (Fault.OUT_OF_MEMORY, False),
        (Fault.GPU_OUT_OF_MEMORY, False),
        (Fault.PROTOCOL, False),
        (Fault.NONFINITE, False),
        (Fault.DISK, False),
        (Fault.CANCELLED, True),
        (Fault.PLATFORM, True),
    ],
)
def test_only_the_platforms_faults_are_tried_again_and_three_times_at_most(fault: Fault, platform: bool) -> None:
    assert [is_retried(fault, attempt) for attempt in (1, 2, 3)] == [platform, platform, False]


@tables.cases(
    "pictures fault worked failures parted why",
    (2, Fault.CRASHED, True, 23, True, "one of the two is to blame"),
    (1, Fault.CRASHED, True, 1, False, "a single picture is apart already"),
    (2, Fault.CRASHED, True, 24, False, "it fails always, whatever the pictures"),
    (2, Fault.CRASHED, False, 1, False, "it never answered anything"),
    (2, Fault.PLATFORM, False, 24, True, "the platform is to blame, whatever the defense does"),
)
def test_whether_the_pictures_of_a_failed_batch_get_a_run_apart(
    pictures: int, fault: Fault, worked: bool, failures: int, parted: bool, why: str
) -> None:
    assert is_parted(pictures, fault, worked=worked, failures=failures) is parted, why


def test_the_rest_before_another_try_grows_up_to_an_hour() -> None:
    seconds = [wait_before_retry(attempt) / timedelta(seconds=1) for attempt in (1, 2, 3, 4, 5, 9)]
    assert seconds == [30, 120, 480, 1920, 3600, 3600]


def test_the_transition_table_names_every_state() -> None:
    assert set(NEXT_RUN_STATE) == set(RunState)


pictures = st.lists(st.integers(), unique=True, min_size=1, max_size=70)


sizes = st.integers(1, 20)


seeds = st.integers(0, 2**63 - 1)


def planned(pictures: Sequence[int], *, seed: int, batch_size: int) -> list[PlannedBatch[int]]:
    """The whole plan of a run."""
    return list(picture_batches(permuted(pictures, seed=seed), batch_size=batch_size))


@given(pictures, seeds, sizes)
def test_every_picture_is_asked_about_once_in_full_batches_and_padding_is_not(
    ids: list[int], seed: int, size: int
) -> None:
    plan = planned(ids, seed=seed, batch_size=size)
    for batch in plan:
        assert len(batch.rows) == size and 1 <= batch.real <= size and set(batch.rows) <= set(ids)
    assert sorted(row for batch in plan for row in batch.rows[: batch.real]) == sorted(ids)
    assert all(batch.real == size for batch in plan[:-1])
    assert [batch.number for batch in plan] == list(range(len(plan)))


@given(st.lists(st.integers(), unique=True, max_size=70), seeds, sizes)
def test_the_recorded_order_is_enough_to_repeat_the_plan(ids: list[int], seed: int, size: int) -> None:
    """And the same seed gives the same order; no pictures make no batch."""
    plan = planned(ids, seed=seed, batch_size=size)
    assert list(picture_batches(permuted(list(ids), seed=seed), batch_size=size)) == plan
    assert bool(plan) == bool(ids)


def test_other_seeds_give_a_picture_other_companions() -> None:
    plans = [planned(range(64), seed=seed, batch_size=8) for seed in (1, 2, 3)]
    companions = [next(set(batch.rows) for batch in plan if 0 in batch.rows) for plan in plans]
    assert companions[0] != companions[1] != companions[2]


BIRD, BICYCLE = Label.BIRD, Label.BICYCLE


PARTS = [
    (BIRD, DefenseAnswer.BIRD, "right", "the class"),
    (BICYCLE, DefenseAnswer.BICYCLE, "right", "the class"),
    (BIRD, DefenseAnswer.BICYCLE, "wrong", "the other class"),
    (BICYCLE, DefenseAnswer.BIRD, "wrong", "the other class"),
    (BIRD, DefenseAnswer.ABSTAIN, "abstained", "an abstention is no mistake"),
    (BICYCLE, None, "faults", "no answer came"),
]


@pytest.mark.parametrize(("label", "answer", "part", "why"), PARTS)
def test_an_answer_is_in_one_part(label: Label, answer: int | None, part: str, why: str) -> None:
    assert totals.count_answers([(label, answer)]) == AnswerTotals(1, **{part: 1}), why


ANSWERS = st.lists(st.tuples(st.sampled_from(Label), st.sampled_from([*DefenseAnswer, None])), max_size=60)


@given(ANSWERS)
def test_totals_add_up_and_survive_being_written(pairs: list[tuple[Label, int | None]]) -> None:
    found = totals.count_answers(pairs)
    assert found.pictures == len(pairs) == found.right + found.wrong + found.abstained + found.faults
    assert totals.read_totals(asdict(found)) == found
    assert found.mistakes == found.wrong + found.faults


@pytest.mark.parametrize("parts", [{"pictures": 3, "right": 1}, {"pictures": 0, "right": 1, "wrong": -1}])
def test_totals_that_do_not_add_up_are_refused(parts: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="do not add up"):
        AnswerTotals(**parts)


# right, wrong, abstained, faults, percent, strict -> enough
ENOUGH = [
    ((8, 0, 2, 0), 80, True, True, "exactly four fifths, the rest abstained"),
    ((7, 0, 3, 0), 80, True, False, "less than four fifths"),
    ((799, 0, 201, 0), 80, True, False, "79.9 % is not rounded up"),
    ((9, 1, 0, 0), 80, True, False, "one wrong answer, strictly read"),
    ((9, 1, 0, 0), 80, False, True, "one wrong answer, leniently read"),
    ((9, 0, 0, 1), 80, True, False, "a fault counts as a wrong answer"),
    ((9, 0, 0, 1), 80, False, True, "a fault is one wrong answer and no more"),
    ((7, 0, 0, 3), 80, False, False, "faults are not taken out of the pictures"),
    ((0, 0, 0, 0), 80, True, False, "no pictures prove nothing"),
    ((1, 0, 99, 0), 1, True, True, "the percentage is the policy's"),
    ((10, 0, 0, 0), 100, True, True, "all right"),
]


@pytest.mark.parametrize(("parts", "percent", "strict", "enough", "why"), ENOUGH)
def test_when_the_private_set_is_passed(
    parts: tuple[int, ...], percent: int, strict: bool, enough: bool, why: str
) -> None:
    assert totals.passes_private(AnswerTotals(sum(parts), *parts), percent=percent, strict=strict) is enough, why


@given(ANSWERS, st.integers(1, 100))
def test_the_strict_reading_is_never_easier(pairs: Any, percent: int) -> None:
    found = totals.count_answers(pairs)
    strict, lenient = (totals.passes_private(found, percent=percent, strict=each) for each in (True, False))
    assert lenient or not strict


@given(st.integers(1, 10**6), st.data())
def test_four_fifths_is_the_rule_book_s_inequality(pictures: int, data: st.DataObject) -> None:
    right = data.draw(st.integers(0, pictures))
    found = AnswerTotals(pictures, right=right, abstained=pictures - right)
    assert totals.passes_private(found, percent=80, strict=True) == (5 * right >= 4 * pictures)


@pytest.mark.parametrize(
    ("parts", "passes", "why"),
    [
        ((0, 0, 0, 0), True, "there were no attacks yet"),
        ((1, 0, 5, 0), True, "abstaining is no mistake"),
        ((6, 1, 0, 0), False, "one confident mistake"),
        ((6, 0, 0, 1), False, "a fault counts as a wrong answer"),
    ],
)
def test_when_the_earlier_attacks_are_passed(parts: tuple[int, ...], passes: bool, why: str) -> None:
    assert totals.passes_earlier(AnswerTotals(sum(parts), *parts)) is passes, why


@pytest.mark.parametrize(
    ("rows", "milliseconds", "quick", "a_minute", "why"),
    [
        (16, 16 * 60_000, True, 1, "exactly one a minute"),
        (16, 16 * 60_000 + 1, False, 0, "a millisecond more"),
        (0, 0, False, 0, "nothing was answered"),
        (16, 0, True, 960_000, "quicker than the clock can tell"),
    ],
)
def test_when_it_is_quick_enough(rows: int, milliseconds: int, quick: bool, a_minute: int, why: str) -> None:
    found = totals.is_quick_enough(rows, milliseconds, seconds_per_picture=60), totals.per_minute(rows, milliseconds)
    assert found == (quick, a_minute), why


# The odds of throwing so uneven a split with a fair coin, both sides counted, by hand.
CHANCES = [(0, 0, 1.0), (1, 0, 1.0), (2, 0, 0.5), (5, 0, 0.0625), (8, 0, 2 / 256), (1, 9, 22 / 1024), (4, 4, 1.0)]


@pytest.mark.parametrize(("lost", "gained", "p"), CHANCES)
def test_the_odds_of_a_split(lost: int, gained: int, p: float) -> None:
    assert totals.chance(lost, gained) == pytest.approx(p)


@given(st.integers(0, 200), st.integers(0, 200))
def test_the_odds_are_odds_and_the_same_either_way(lost: int, gained: int) -> None:
    assert 0 < totals.chance(lost, gained) == totals.chance(gained, lost) <= 1


SHOWN = [
    (100, 0, 0, False, "nothing changed"),
    (100, 7, 0, False, "seven of a hundred, and p is 0.016"),
    (100, 8, 0, True, "p is 0.008"),
    (100, 11, 1, True, "p is 0.006"),
    (10, 1, 0, False, "ten points are not more than ten"),
    (10, 2, 0, True, "twenty points"),
    (1000, 30, 25, False, "many changes, both ways"),
    (0, 0, 0, False, "no published pictures"),
]


@pytest.mark.parametrize(("pictures", "lost", "gained", "shown", "why"), SHOWN)
def test_when_the_board_is_shown_a_difference(pictures: int, lost: int, gained: int, shown: bool, why: str) -> None:
    assert totals.AnswerDifference(pictures, lost, gained, totals.chance(lost, gained)).is_shown is shown, why


def test_a_difference_counts_what_was_right_and_is_not_any_more() -> None:
    plain = [DefenseAnswer.BIRD, DefenseAnswer.BIRD, DefenseAnswer.ABSTAIN, DefenseAnswer.BICYCLE]
    altered = [DefenseAnswer.ABSTAIN, DefenseAnswer.BICYCLE, DefenseAnswer.BICYCLE, None]
    found = totals.difference([BIRD, BIRD, BICYCLE, BICYCLE], plain, altered)
    assert (found.pictures, found.lost, found.gained, found.to_json()["points"]) == (4, 3, 1, 50.0)


def alike(pictures: int = 50, answered: int = 10, *, other: int = 0, off: float = 0.0) -> totals.AnswerSimilarity:
    one = [(1 if at < answered else -1, 0.2, 0.8) for at in range(pictures)]
    two = [(label if at >= other else 0, bicycle, bird + off) for at, (label, bicycle, bird) in enumerate(one)]
    return totals.compare_answers(zip(one, two, strict=True))


@pytest.mark.parametrize(
    ("values", "flagged", "why"),
    [
        ({}, True, "fifty pictures, ten answered, all alike"),
        ({"pictures": 49}, False, "too few pictures"),
        ({"answered": 9}, False, "too few answers: everybody abstains alike"),
        ({"answered": 50, "other": 1}, False, "one answer differs"),
        ({"off": 0.00005}, True, "scores to four places"),
        ({"off": 0.0002}, False, "other scores"),
    ],
)
def test_when_answers_are_alike(values: Any, flagged: bool, why: str) -> None:
    assert alike(**values).is_alike is flagged, why


NAMES = [f"{number:064x}" for number in range(200)]


ORDER = TrialOrder("the secret", TrialKind.PRIVATE, 7, 1)


def in_order(
    defense: int = 7, number: int = 1, *, secret: str = "the secret", kind: Any = TrialKind.PRIVATE
) -> list[str]:
    return TrialOrder(secret, kind, defense, number).of(NAMES, str)


def test_the_same_trial_has_the_same_order_whatever_came_first() -> None:
    assert ORDER.of(NAMES[::-1], str) == in_order() != NAMES == sorted(in_order())


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ({"secret": "another"}, "another installation"),
        ({"kind": TrialKind.EARLIER}, "another kind"),
        ({"defense": 8}, "another defense"),
        ({"number": 2}, "the next trial"),
        ({"defense": 71}, "numbers do not run together"),
    ],
)
def test_another_trial_has_another_order(other: dict[str, Any], why: str) -> None:
    assert sum(one == name for one, name in zip(in_order(), in_order(**other), strict=True)) < 10, why


def test_no_beginning_has_much_more_of_what_was_imported_first() -> None:
    for number in range(20):
        more = np.cumsum([1 if name in NAMES[:100] else -1 for name in in_order(number=number)])
        assert abs(more).max() < 60 and more[-1] == 0  # four times the spread of 200 tosses of a coin


def test_the_secret_is_not_written_anywhere() -> None:
    assert "the secret" not in repr(ORDER)


SHA, OTHER = "ab" * 32, "cd" * 32


@pytest.fixture
def picture() -> NDArray[np.uint8]:
    values = np.random.default_rng(1).integers(0, 256, (31, 31, 3), dtype=np.uint8)
    values[0], values[1] = 0, 255
    return values


def test_noise_moves_every_value_by_one_and_is_the_picture_s_own(picture: NDArray[np.uint8]) -> None:
    noised = probe.noised(picture, SHA)
    assert set(np.unique(np.abs(noised.astype(int) - picture.astype(int)))) == {1}
    assert 0 < (noised > picture).mean() < 1
    assert np.array_equal(noised, probe.noised(picture, SHA))
    assert not np.array_equal(noised, probe.noised(picture, OTHER))


def test_a_shift_moves_by_one_pixel_and_repeats_the_edge(picture: NDArray[np.uint8]) -> None:
    shifted = probe.shift_right(picture)
    assert np.array_equal(shifted[:, 1:], picture[:, :-1]) and np.array_equal(shifted[:, 0], picture[:, 0])
    assert (shifted.dtype, shifted.shape) == (np.uint8, picture.shape)


def test_each_variant_is_another_picture_and_plain_is_the_same(picture: NDArray[np.uint8]) -> None:
    before = picture.tobytes()
    shown = {variant: probe.altered(picture, variant, SHA).tobytes() for variant in Variant}
    assert (shown[Variant.PLAIN], picture.tobytes(), len(set(shown.values()))) == (before, before, len(Variant))


def test_kept_answers_come_back_in_the_pictures_order() -> None:
    kept = answers.pack_rows([(7, 1, -1, 0.25, 0.5), (3, 0, 1, 0.1, 0.9), (7, 0, 0, 1.0, 0.0)])
    back = answers.unpack_rows(memoryview(kept))
    assert (len(kept), len(answers.unpack_rows(answers.pack_rows([])))) == (3 * 20, 0)
    assert back[["picture", "variant", "label"]].tolist() == [(3, 0, 1), (7, 0, 0), (7, 1, -1)]
    assert back["scores"][0].tolist() == pytest.approx([0.1, 0.9])
    with pytest.raises(ValueError):
        answers.unpack_rows(kept[:-1])


def test_work_takes_no_longer_than_with_every_deadline_used_up() -> None:
    """A defense that is opened twice may be fetched and started twice."""
    policy = Policy(start_seconds=60, hello_seconds=30, seconds_per_picture=4)
    once, twice = (longest(policy, batch_size=10, batches=3, opened=opened) for opened in (1, 2))
    assert once == timedelta(seconds=LOADING_SECONDS + 60 + 30 + 10 * 3 * 4)
    assert twice - once == timedelta(seconds=LOADING_SECONDS + 60 + 30)
