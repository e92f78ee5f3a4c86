"""Settled pictures become gold with right answers that fit the form (R6, R10), and gold that leaked is found."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from random import Random
from typing import Any

import pytest
from django.contrib.auth.models import User

from common.errors import Conflict, InvalidInput, NotFound, WrongFields
from labeling.enums import Answer, OutlineGate
from labeling.models import GoldFlag, KnownPicture, Panel, Tasker
from labeling.policy import Policy
from labeling.watching import gold
from labeling.watching.gold import Expected
from labeling.watching.leaks import Rise, gold_flag_leaks, rise_of
from tests import factories
from tests.labeling.cast import people
from tests.labeling.watching.rows import BICYCLE, BIRD, NEITHER, full_panel, gold_answer

pytestmark = pytest.mark.django_db


GATE = OutlineGate.BEST_GUESS_YES


SQUARE = "[[[10,10],[200,10],[200,200],[10,200]]]"


CLEAR_BIRD = Expected(
    accepts_bird=("definitely_yes",),
    accepts_bicycle=("definitely_no",),
    outline=SQUARE,
    min_iou_percent=70,
    complete=True,
    unoccluded=True,
    real=True,
    topic="clear",
)


NOTHING_THERE = Expected(("definitely_no",), ("definitely_no",), "", 70, None, None, None, "neither_class")


@pytest.fixture
def three(tara: Tasker, otto: Tasker, uma: Tasker) -> list[Tasker]:
    return [tara, otto, uma]


@pytest.fixture
def settled(three: list[Tasker]) -> Panel:
    return factories.settle(full_panel(three, [BIRD] * 3))


def suggested(panel: Panel) -> Expected:
    return gold.proposal(gold.counted_answers([panel.pk])[panel.pk])


def test_what_is_suggested(settled: Panel, three: list[Tasker]) -> None:
    """What all said; or else what most said, and the outline nearest to the others."""
    assert suggested(settled) == CLEAR_BIRD
    loose, near, tight = (f"[[[{n},{n}],[200,{n}],[200,200],[{n},200]]]" for n in (1, 10, 12))
    said = [BIRD | {"outline": loose}, BIRD | {"outline": near, "complete": False}, BIRD | {"outline": tight}]
    assert suggested(factories.settle(full_panel(three, said))) == replace(CLEAR_BIRD, outline=near)


@pytest.mark.parametrize(
    ("said", "topic"),
    [
        (BIRD | {"real": False}, "painting"),
        (BIRD | {"unoccluded": False}, "occluded"),
        (BIRD | {"complete": False}, "truncated"),
        (BIRD | {"bird": Answer.UNSURE_YES}, "uncertain"),
        (NEITHER, "neither_class"),
        (NEITHER | {"bird": Answer.DEFINITELY_YES, "bicycle": Answer.DEFINITELY_YES}, "both_classes"),
    ],
)
def test_what_a_picture_tests_is_suggested(said: dict[str, Any], topic: str, three: list[Tasker]) -> None:
    assert suggested(factories.settle(full_panel(three, [said] * 3))).topic == topic


@pytest.mark.parametrize(
    ("expected", "outline", "complete"),
    [(CLEAR_BIRD, SQUARE, True), (NOTHING_THERE, "", None)],
    ids=["a bird", "nothing to outline"],
)
def test_a_settled_picture_becomes_gold(
    expected: Expected, outline: str, complete: bool | None, settled: Panel, olga: User, now: datetime
) -> None:
    known = gold.gold_add(panel=settled, expected=expected, gate=GATE, by=olga, now=now)
    assert (known.use, known.image, known.panel, known.created_by) == ("gold", settled.image, settled, olga)
    assert (known.accepts_bird, known.outline, known.complete) == (list(expected.accepts_bird), outline, complete)


@pytest.mark.parametrize(
    ("change", "fields", "why"),
    [
        ({"accepts_bird": ()}, {"accepts_bird"}, "nothing would be right"),
        ({"accepts_bicycle": ("maybe",)}, {"accepts_bicycle"}, "no answer of the form"),
        ({"topic": "cats"}, {"topic"}, "not what a picture can test"),
        ({"min_iou_percent": 0}, {"min_iou_percent"}, "any outline would be right"),
        ({"min_iou_percent": 101}, {"min_iou_percent"}, "none would"),
        ({"outline": "[[[0,0],"}, {"outline"}, "no JSON"),
        ({"outline": "[[[0,0],[9,9],[0,9],[9,0]]]"}, {"outline"}, "crosses itself"),
        ({"outline": "[[[0,0],[9,9]]]"}, {"outline"}, "too few corners"),
        (
            {"accepts_bird": ("definitely_no",)},
            {"outline", "complete", "unoccluded", "real"},
            "questions 3 and 4 are never asked with these answers",
        ),
        ({"accepts_bird": (), "topic": ""}, {"accepts_bird", "topic"}, "all that is wrong is told at once"),
    ],
)
def test_right_answers_that_cannot_be(
    change: dict[str, Any], fields: set[str], why: str, settled: Panel, olga: User, now: datetime
) -> None:
    with pytest.raises(WrongFields) as refused:
        gold.gold_add(panel=settled, expected=replace(CLEAR_BIRD, **change), gate=GATE, by=olga, now=now)
    assert set(refused.value.fields) == fields, why
    assert not KnownPicture.objects.exists()


def test_only_settled_pictures_that_are_free(settled: Panel, three: list[Tasker], olga: User, now: datetime) -> None:
    full = full_panel(three, [BIRD] * 3)
    with pytest.raises(Conflict, match="not settled"):
        gold.gold_add(panel=full, expected=CLEAR_BIRD, gate=GATE, by=olga, now=now)
    gold.gold_add(panel=settled, expected=CLEAR_BIRD, gate=GATE, by=olga, now=now)
    with pytest.raises(Conflict, match="known answer already"):
        gold.gold_add(panel=settled, expected=CLEAR_BIRD, gate=GATE, by=olga, now=now)


def test_candidates_are_settled_free_and_unanimous_ones_first(three: list[Tasker]) -> None:
    differing = factories.settle(full_panel(three, [BIRD, BIRD, BICYCLE]))
    same = factories.settle(full_panel(three, [BIRD] * 3))
    full_panel(three, [BIRD] * 3)
    factories.gold(full_panel(three, [BIRD] * 3))
    found = gold.candidates()
    assert [(each.panel, each.unanimous, each.answers) for each in found] == [(same, True, 3), (differing, False, 3)]
    assert gold.candidates("gold") == []
    assert len(gold.candidates("dataset")) == 2
    assert gold.candidate_panel(same.image.public_id) == same


@pytest.mark.parametrize("make", [lambda: factories.panel(), lambda: factories.gold().panel])
def test_other_pictures_are_no_candidates(make: Callable[[], Panel]) -> None:
    with pytest.raises(NotFound):
        gold.candidate_panel(make().image.public_id)


def test_gold_is_held_let_go_and_retired(olga: User, now: datetime) -> None:
    said: dict[str, Any] = {"known": factories.gold(), "by": olga, "now": now}
    for act, held in ((gold.gold_hold, now), (gold.gold_let_go, None)):
        act(**said)
        assert KnownPicture.objects.get().held_at == held
    with pytest.raises(InvalidInput):
        gold.gold_retire(**said, reason=" ")
    gold.gold_retire(**said, reason="It leaked.")
    assert KnownPicture.objects.values_list("retired_at", "retired_because").get() == (now, "It leaked.")
    for again in (partial(gold.gold_retire, reason="Again."), gold.gold_hold, gold.gold_let_go):
        with pytest.raises(Conflict):
            again(**said)


def test_pass_rates_by_question(tara: Tasker, otto: Tasker) -> None:
    known = factories.gold()
    gold_answer(tara, right=True, known=known)
    gold_answer(otto, right=False, known=known)
    rate = gold.pass_rates([known.pk])[known.pk]
    assert (rate.right.part, rate.right.whole) == (1, 2)
    assert {name: (share.part, share.whole) for name, share in rate.questions.items()} == {
        "contains_bird": (1, 2),
        "contains_bicycle": (2, 2),
    }
    assert gold.pass_rates([]) == {}


POLICY = Policy()


@pytest.mark.parametrize(
    ("right", "rise", "why"),
    [
        ([True] * 29, None, "too few answers to split"),
        ([False] * 15 + [True] * 15, Rise(15, 15, 0, 15), "none before, all of the latest"),
        ([True] * 20 + [False] * 15, Rise(0, 15, 20, 20), "a fall"),
    ],
)
def test_the_split(right: list[bool], rise: Rise | None, why: str) -> None:
    assert rise_of(right) == rise, why


@pytest.mark.parametrize(
    ("rise", "flagged", "why"),
    [
        (Rise(15, 15, 20, 40), True, "from half right to all right: 0.03 %"),
        (Rise(15, 15, 32, 40), False, "from 80 % to all right happens by chance"),
        (Rise(15, 15, 60, 60), False, "always easy"),
        (Rise(10, 15, 40, 60), False, "no rise"),
    ],
)
def test_what_looks_like_a_leak(rise: Rise, flagged: bool, why: str) -> None:
    assert (rise.chance < 0.01) is flagged, why


def answered(known: KnownPicture, by: Sequence[Tasker], right: Sequence[bool], now: datetime) -> None:
    for number, (tasker, hit) in enumerate(zip(by, right, strict=True)):
        gold_answer(tasker, right=hit, known=known, now=now + timedelta(seconds=number))


@pytest.fixture
def crowd(db: None) -> list[Tasker]:
    """Forty taskers."""
    return people(*(f"tasker{number}" for number in range(40)))


@pytest.mark.both("own SQL reads the marks of gold")
@pytest.mark.django_db
def test_a_sudden_rise_is_flagged_and_held(crowd: list[Tasker], now: datetime) -> None:
    for known in [factories.gold() for _ in range(4)]:
        answered(known, crowd, [True] * 40, now - timedelta(days=3))
    leaked = factories.gold()
    answered(leaked, crowd, [number % 2 == 0 for number in range(25)] + [True] * 15, now)
    assert [gold_flag_leaks(policy=POLICY, now=now + timedelta(hours=1)) for _ in range(2)] == [1, 0]
    flag = GoldFlag.objects.get()
    leaked.refresh_from_db()
    assert (flag.known, leaked.held_at) == (leaked, now + timedelta(hours=1))
    assert flag.figures.items() >= {"late_right": 15, "late": 15, "early_right": 13, "early": 25}.items()
    assert not KnownPicture.objects.filter(held_at__isnull=False).exclude(pk=leaked.pk).exists()


@pytest.mark.django_db
def test_after_an_organizer_looked_it_takes_new_answers(crowd: list[Tasker], now: datetime) -> None:
    answered(factories.gold(), crowd[:35], [False] * 20 + [True] * 15, now)
    trusting = Policy(gold_pass_percent=1, gold_minimum=1)
    for tasker in crowd[:20]:
        gold_answer(tasker, right=True, now=now - timedelta(days=2))
    assert gold_flag_leaks(policy=trusting, now=now + timedelta(hours=1)) == 1
    KnownPicture.objects.update(held_at=None)
    assert gold_flag_leaks(policy=trusting, now=now + timedelta(hours=2)) == 0


@pytest.mark.django_db
def test_careless_taskers_who_leave_are_no_leak(crowd: list[Tasker], now: datetime) -> None:
    answered(factories.gold(), crowd, [False] * 20 + [True] * 20, now)
    assert gold_flag_leaks(policy=POLICY, now=now + timedelta(hours=1)) == 0


def test_false_alarms_are_rare_at_any_honest_share() -> None:
    rng = Random(7)
    alarms = 0
    for _ in range(2_000):
        share = rng.uniform(0.7, 1)
        rise = rise_of([rng.random() < share for _ in range(60)])
        assert rise is not None
        alarms += rise.chance < 0.01
    assert alarms <= 20  # 1 % of 2,000; exact tests stay below their bound
