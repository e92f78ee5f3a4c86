"""The sweep of monitoring: who is looked at, what fires, and that it fires once (R6)."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core.cache import cache

from labeling.enums import AssignmentState, TaskerState
from labeling.models import Assignment, Notice, Panel, StateChange, Tasker, WatchEvent, WatchRule
from labeling.policy import Policy
from labeling.states import tasker_state_change
from labeling.watching.actions import tasker_return
from labeling.watching.watch import watch, watch_now_and_then
from tests import factories
from tests.labeling.cast import kept, people, statements
from tests.labeling.watching.rows import BICYCLE, BIRD, full_panel, gold_answers

pytestmark = pytest.mark.django_db
POLICY = Policy()
HOUR = timedelta(hours=1)


@pytest.fixture
def no_rules(db: None) -> None:
    """Only the rules of the test are in force."""
    WatchRule.objects.update(retired_at=factories.NOW)


def rule(
    collector: str, comparison: str, threshold: float, action: str, *, minimum: int = 2, window: int = 20
) -> WatchRule:
    judged = {"collector": collector, "comparison": comparison, "threshold": threshold, "action": action}
    judged |= {"minimum": minimum, "window": window, "words": "Please slow down."}
    return WatchRule.objects.create(name="rule of the test", created_at=factories.NOW, **judged)


def answers(by: Tasker, count: int, *, now: datetime) -> None:
    for number in range(count):
        factories.response(by, factories.panel(), now=now + timedelta(seconds=number))


@pytest.mark.both("own SQL finds who is looked at; locks")
def test_clearly_under_the_gold_share_pauses(tara: Tasker, now: datetime) -> None:
    """What the tasker holds is given back, gold as well."""
    gold_answers(tara, right=3, wrong=8)
    panel, known = factories.panel(), factories.gold()
    factories.assignment(tara, panel, state=AssignmentState.LEASED)
    Panel.objects.filter(pk=panel.pk).update(leased=1)
    of_gold = factories.assignment(tara, known.panel, state=AssignmentState.RELEASED, known=known)
    Assignment.objects.filter(pk=of_gold.pk).update(slot=2, state=AssignmentState.LEASED)
    assert watch(policy=POLICY, now=now + HOUR) == 1
    tara.refresh_from_db()
    assert tara.state == TaskerState.PAUSED
    event = WatchEvent.objects.get()
    assert (event.rule.collector, event.action) == ("gold_doubt", "pause")
    assert (event.figures["n"], event.figures["right"]) == (11, 3)
    change = StateChange.objects.get(tasker=tara)
    assert (change.event, change.code, change.reason) == (event, "paused", event.rule.words)
    assert Notice.objects.get().text.startswith("Your labeling is paused: Too many of your answers")
    assert not Assignment.objects.filter(state=AssignmentState.LEASED).exists()
    assert kept(panel, "leased") == 0


@pytest.mark.parametrize(
    ("right", "wrong", "why"),
    [(5, 5, "not clearly under the share"), (0, 9, "too few to be judged by"), (60, 5, "92 % right")],
)
def test_honest_taskers_are_left_alone(right: int, wrong: int, why: str, tara: Tasker, now: datetime) -> None:
    WatchRule.objects.exclude(collector="gold_doubt").update(retired_at=now)
    gold_answers(tara, right=right, wrong=wrong)
    assert watch(policy=POLICY, now=now + 2 * HOUR) == 0, why
    assert kept(tara, "state") == TaskerState.QUALIFIED


def test_a_rule_fires_again_after_as_many_new_answers(no_rules: None, tara: Tasker, now: datetime) -> None:
    """The sweep running again changes nothing."""
    rule("fast_share", "<=", 0.5, "warn", minimum=3)
    for hours, many, fired in ((0, 3, [1, 0, 0]), (2, 2, [0]), (4, 1, [1])):
        answers(tara, many, now=now + hours * HOUR)
        assert [watch(policy=POLICY, now=now + (hours + 1) * HOUR) for _ in fired] == fired
    assert {each.text for each in Notice.objects.all()} == {"A word about your answers: Please slow down."}


def test_after_a_pause_only_new_answers_are_looked_at(tara: Tasker, olga: Any, now: datetime) -> None:
    gold_answers(tara, right=0, wrong=10)
    assert watch(policy=POLICY, now=now + HOUR) == 1
    tara.refresh_from_db()
    tasker_return(tasker=tara, reason="We talked.", by=olga, now=now + 2 * HOUR)
    answers(tara, 1, now=now + 3 * HOUR)
    assert watch(policy=POLICY, now=now + 4 * HOUR) == 0
    gold_answers(tara, right=0, wrong=10, begin=now + 5 * HOUR)
    assert watch(policy=POLICY, now=now + 6 * HOUR) == 1


def test_a_short_qualification_wipes_out_no_gold(tara: Tasker, now: datetime) -> None:
    """Or who is asked to qualify again and again would never have answered enough gold to be judged by."""
    WatchRule.objects.exclude(collector="gold_doubt").update(retired_at=now)
    gold_answers(tara, right=0, wrong=6)
    assert watch(policy=POLICY, now=now + HOUR) == 0
    for after in (TaskerState.LEARNING, TaskerState.QUALIFIED):
        tara.refresh_from_db()
        tasker_state_change(tasker=tara, after=after, code="requalify", reason="Once more.", now=now + HOUR)
    gold_answers(tara, right=0, wrong=6, begin=now + 2 * HOUR)
    assert watch(policy=POLICY, now=now + 4 * HOUR) == 1
    assert Tasker.objects.get(pk=tara.pk).state == TaskerState.PAUSED


def test_when_two_rules_would_pause_the_first_does(no_rules: None, tara: Tasker, now: datetime) -> None:
    for action in ("warn", "pause", "pause"):
        rule("fast_share", "<=", 0.5, action)
    answers(tara, 3, now=now)
    assert watch(policy=POLICY, now=now + HOUR) == 2
    assert list(WatchEvent.objects.order_by("pk").values_list("action", flat=True)) == ["warn", "pause"]


def test_requalification_sends_back_to_learn(no_rules: None, tara: Tasker, now: datetime) -> None:
    rule("outline_iou", ">", 0, "requalify", minimum=1)
    full_panel([tara, *people("anna", "bert")], [BIRD] * 3, now=now)
    assert watch(policy=POLICY, now=now + HOUR) == 3
    tara.refresh_from_db()
    assert (tara.state, StateChange.objects.get(tasker=tara).code) == (TaskerState.LEARNING, "requalify")


@pytest.mark.parametrize(
    ("spoil", "hours", "why"),
    [
        (lambda now: Tasker.objects.update(state="paused"), 1, "who is paused is judged already"),
        (lambda now: WatchRule.objects.update(retired_at=now), 1, "a retired rule rests"),
        (lambda now: WatchRule.objects.update(created_at=now + timedelta(days=9)), 1, "a rule of the future waits"),
        (lambda now: None, 48, "who has not answered for a day"),
    ],
)
def test_who_is_not_looked_at(spoil: Callable[..., Any], hours: int, why: str, tara: Tasker, now: datetime) -> None:
    gold_answers(tara, right=0, wrong=10)
    spoil(now)
    assert watch(policy=POLICY, now=now + hours * HOUR) == 0, why


def test_a_look_now_and_then_sees_what_is_new(no_rules: None, tara: Tasker, now: datetime) -> None:
    cache.clear()
    rule("fast_share", "<=", 0.5, "warn", minimum=1)
    answers(tara, 1, now=now)
    minute = timedelta(minutes=1)
    assert watch_now_and_then(policy=POLICY, now=now + minute) == 1
    answers(tara, 1, now=now + minute * 1.2)
    assert watch_now_and_then(policy=POLICY, now=now + minute * 1.5) == 0, "the last look was just now"
    assert watch_now_and_then(policy=POLICY, now=now + minute * 2) == 1
    assert watch_now_and_then(policy=POLICY, now=now - minute) == 0, "a clock set back hides nothing and adds nothing"


def test_who_is_concerned_by_the_answer_of_another_is_looked_at(
    no_rules: None, tara: Tasker, otto: Tasker, uma: Tasker, now: datetime
) -> None:
    rule("agreement", "<", 0.7, "warn", minimum=1)
    panel = factories.panel()
    factories.response(tara, panel, now=now, **BICYCLE)
    factories.response(otto, panel, now=now)
    assert watch(policy=POLICY, now=now + HOUR, since=now) == 0
    factories.response(uma, panel, now=now + 2 * HOUR)
    assert watch(policy=POLICY, now=now + 3 * HOUR, since=now + HOUR) == 1
    assert WatchEvent.objects.get().tasker == tara


def test_the_panel_tells_who_names_other_classes(tara: Tasker, otto: Tasker, uma: Tasker, now: datetime) -> None:
    for number in range(8):
        full_panel([tara, otto, uma], [BICYCLE, BIRD, BIRD], now=now + timedelta(minutes=number))
    assert watch(policy=POLICY, now=now + HOUR) == 1
    assert WatchEvent.objects.get().rule.collector == "disagreement_run"
    states = dict(Tasker.objects.values_list("user__username", "state"))
    assert states == {"tara": "paused", "otto": "qualified", "uma": "qualified"}


def test_one_tasker_costs_few_statements(tara: Tasker, otto: Tasker, uma: Tasker, now: datetime) -> None:
    costs = []
    for begin, end in ((0, 3), (3, 20)):
        for number in range(begin, end):
            full_panel([tara, otto, uma], [BIRD, BIRD, BIRD], now=now + timedelta(minutes=number))
        costs.append(len(statements(lambda: watch(policy=POLICY, now=now + HOUR))))
    assert costs[0] == costs[1]
