"""Monitoring: what collectors read, when rules fire, what organizers may do, and what the tasker is told (R6)."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User

from common.errors import Conflict, DomainError, InvalidInput
from labeling.enums import AssignmentState, MonitoringAction, TaskerState
from labeling.models import (
    Assignment,
    MonitoringEvent,
    MonitoringRule,
    Notice,
    Panel,
    StateChange,
    Tasker,
    VoidedResponse,
)
from labeling.states import tasker_state_change
from monitoring.actions import action_take, answers_void, tasker_return
from monitoring.check_taskers import check_taskers, check_taskers_periodically
from monitoring.rules import (
    COLLECTORS,
    CollectorValue,
    Form,
    HandedPicture,
    JudgedAnswer,
    RuleTerms,
    TaskerHistory,
    agreements,
    fires,
)
from policy.numbers import Policy
from tests import factories
from tests.labeling.cast import BICYCLE, BIRD, full_panel, gold_answers, kept, people, refused, statements

pytestmark = pytest.mark.django_db


POLICY = Policy()


HOUR = timedelta(hours=1)


@pytest.fixture
def no_rules(db: None) -> None:
    """Only the rules of the test are in force."""
    MonitoringRule.objects.update(retired_at=factories.NOW)


def rule(
    collector: str, comparison: str, threshold: float, action: str, *, minimum: int = 2, window: int = 20
) -> MonitoringRule:
    judged = {"collector": collector, "comparison": comparison, "threshold": threshold, "action": action}
    judged |= {"minimum": minimum, "window": window, "words": "Please slow down."}
    return MonitoringRule.objects.create(name="rule of the test", created_at=factories.NOW, **judged)


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
    assert (check_taskers(policy=POLICY, now=now + HOUR), kept(tara, "state")) == (1, TaskerState.PAUSED)
    event = MonitoringEvent.objects.get()
    figures = (event.figures["n"], event.figures["right"])
    assert (event.rule.collector, event.action, figures) == ("gold_doubt", "pause", (11, 3))
    change = StateChange.objects.get(tasker=tara)
    assert (change.event, change.code, change.reason) == (event, "paused", event.rule.words)
    assert Notice.objects.get().text.startswith("Your labeling is paused: Too many of your answers")
    assert (Assignment.objects.filter(state=AssignmentState.LEASED).count(), kept(panel, "leased")) == (0, 0)


@pytest.mark.parametrize(
    ("right", "wrong", "why"),
    [(5, 5, "not clearly under the share"), (0, 9, "too few to be judged by"), (60, 5, "92 % right")],
)
def test_honest_taskers_are_left_alone(right: int, wrong: int, why: str, tara: Tasker, now: datetime) -> None:
    MonitoringRule.objects.exclude(collector="gold_doubt").update(retired_at=now)
    gold_answers(tara, right=right, wrong=wrong)
    assert (check_taskers(policy=POLICY, now=now + 2 * HOUR), kept(tara, "state")) == (0, TaskerState.QUALIFIED), why


def test_a_rule_fires_again_after_as_many_new_answers(no_rules: None, tara: Tasker, now: datetime) -> None:
    """The sweep running again changes nothing."""
    rule("fast_share", "<=", 0.5, "warn", minimum=3)
    for hours, many, fired in ((0, 3, [1, 0, 0]), (2, 2, [0]), (4, 1, [1])):
        answers(tara, many, now=now + hours * HOUR)
        assert [check_taskers(policy=POLICY, now=now + (hours + 1) * HOUR) for _ in fired] == fired
    assert {each.text for each in Notice.objects.all()} == {"About your answers: Please slow down."}


def ends_pause(tasker: Tasker, by: User, now: datetime) -> None:
    tasker_return(tasker=tasker, reason="We talked.", by=by, now=now)


def ends_pause_with_a_qualification(tasker: Tasker, by: User, now: datetime) -> None:
    """The tasker passes it at once."""
    action_take(tasker=tasker, action=MonitoringAction.REQUALIFY, reason="Once more.", by=by, now=now)
    tasker_state_change(tasker=tasker, after=TaskerState.QUALIFIED, code="qualified", reason="Passed.", now=now)


@pytest.mark.parametrize("end", [ends_pause, ends_pause_with_a_qualification])
def test_after_a_pause_only_new_answers_are_looked_at(
    end: Callable[..., None], tara: Tasker, olga: Any, now: datetime
) -> None:
    gold_answers(tara, right=0, wrong=10)
    assert (check_taskers(policy=POLICY, now=now + HOUR), kept(tara, "state")) == (1, TaskerState.PAUSED)
    end(tara, olga, now + 2 * HOUR)
    answers(tara, 1, now=now + 3 * HOUR)
    assert check_taskers(policy=POLICY, now=now + 4 * HOUR) == 0
    gold_answers(tara, right=0, wrong=10, begin=now + 5 * HOUR)
    assert check_taskers(policy=POLICY, now=now + 6 * HOUR) == 1


def test_a_short_qualification_wipes_out_no_gold(tara: Tasker, now: datetime) -> None:
    """Or who is asked to qualify again and again would never have answered enough gold to be judged by."""
    MonitoringRule.objects.exclude(collector="gold_doubt").update(retired_at=now)
    gold_answers(tara, right=0, wrong=6)
    assert check_taskers(policy=POLICY, now=now + HOUR) == 0
    for after in (TaskerState.LEARNING, TaskerState.QUALIFIED):
        tara.refresh_from_db()
        tasker_state_change(tasker=tara, after=after, code="requalify", reason="Once more.", now=now + HOUR)
    gold_answers(tara, right=0, wrong=6, begin=now + 2 * HOUR)
    assert (check_taskers(policy=POLICY, now=now + 4 * HOUR), kept(tara, "state")) == (1, TaskerState.PAUSED)


def test_when_two_rules_would_pause_the_first_does(no_rules: None, tara: Tasker, now: datetime) -> None:
    for action in ("warn", "pause", "pause"):
        rule("fast_share", "<=", 0.5, action)
    answers(tara, 3, now=now)
    assert check_taskers(policy=POLICY, now=now + HOUR) == 2
    assert list(MonitoringEvent.objects.order_by("pk").values_list("action", flat=True)) == ["warn", "pause"]


def test_requalification_sends_back_to_learn(no_rules: None, tara: Tasker, now: datetime) -> None:
    rule("outline_iou", ">", 0, "requalify", minimum=1)
    full_panel([tara, *people("anna", "bert")], [BIRD] * 3, now=now)
    assert check_taskers(policy=POLICY, now=now + HOUR) == 3
    assert (kept(tara, "state"), StateChange.objects.get(tasker=tara).code) == (TaskerState.LEARNING, "requalify")


@pytest.mark.parametrize(
    ("spoil", "hours", "why"),
    [
        (lambda now: Tasker.objects.update(state="paused"), 1, "who is paused is judged already"),
        (lambda now: MonitoringRule.objects.update(retired_at=now), 1, "a retired rule rests"),
        (
            lambda now: MonitoringRule.objects.update(created_at=now + timedelta(days=9)),
            1,
            "a rule of the future waits",
        ),
        (lambda now: None, 48, "who has not answered for a day"),
    ],
)
def test_who_is_not_looked_at(spoil: Callable[..., Any], hours: int, why: str, tara: Tasker, now: datetime) -> None:
    gold_answers(tara, right=0, wrong=10)
    spoil(now)
    assert check_taskers(policy=POLICY, now=now + hours * HOUR) == 0, why


def test_a_look_now_and_then_sees_what_is_new(no_rules: None, tara: Tasker, now: datetime) -> None:
    rule("fast_share", "<=", 0.5, "warn", minimum=1)
    answers(tara, 1, now=now)
    minute = timedelta(minutes=1)
    assert check_taskers_periodically(policy=POLICY, now=now + minute) == 1
    answers(tara, 1, now=now + minute * 1.2)
    assert check_taskers_periodically(policy=POLICY, now=now + minute * 1.5) == 0, "the last look was just now"
    assert check_taskers_periodically(policy=POLICY, now=now + minute * 2) == 1
    assert check_taskers_periodically(policy=POLICY, now=now - minute) == 0, (
        "a clock set back hides nothing and adds nothing"
    )


def test_who_is_concerned_by_the_answer_of_another_is_looked_at(
    no_rules: None, tara: Tasker, otto: Tasker, uma: Tasker, now: datetime
) -> None:
    rule("agreement", "<", 0.7, "warn", minimum=1)
    panel = factories.panel()
    factories.response(tara, panel, now=now, **BICYCLE)
    factories.response(otto, panel, now=now)
    assert check_taskers(policy=POLICY, now=now + HOUR, since=now) == 0
    factories.response(uma, panel, now=now + 2 * HOUR)
    assert (
        check_taskers(policy=POLICY, now=now + 3 * HOUR, since=now + HOUR),
        MonitoringEvent.objects.get().tasker,
    ) == (
        1,
        tara,
    )


def test_the_panel_tells_who_names_other_classes(tara: Tasker, otto: Tasker, uma: Tasker, now: datetime) -> None:
    for number in range(8):
        full_panel([tara, otto, uma], [BICYCLE, BIRD, BIRD], now=now + timedelta(minutes=number))
    assert check_taskers(policy=POLICY, now=now + HOUR) == 1
    assert MonitoringEvent.objects.get().rule.collector == "disagreement_run"
    states = dict(Tasker.objects.values_list("user__username", "state"))
    assert states == {"tara": "paused", "otto": "qualified", "uma": "qualified"}


def test_one_tasker_costs_few_statements(tara: Tasker, otto: Tasker, uma: Tasker, now: datetime) -> None:
    costs = []
    for begin, end in ((0, 3), (3, 20)):
        for number in range(begin, end):
            full_panel([tara, otto, uma], [BIRD, BIRD, BIRD], now=now + timedelta(minutes=number))
        costs.append(len(statements(lambda: check_taskers(policy=POLICY, now=now + HOUR))))
    assert costs[0] == costs[1]


@pytest.mark.parametrize(
    ("before", "action", "after", "told"),
    [
        ("qualified", MonitoringAction.WARN, "qualified", "About your answers"),
        ("qualified", MonitoringAction.PAUSE, "paused", "Your labeling is paused"),
        ("learning", MonitoringAction.PAUSE, "paused", "Your labeling is paused"),
        ("qualified", MonitoringAction.REQUALIFY, "learning", "A short qualification comes before the next picture"),
        ("paused", MonitoringAction.REQUALIFY, "learning", "A short qualification comes before the next picture"),
    ],
)
def test_an_action(before: str, action: MonitoringAction, after: str, told: str, olga: User, now: datetime) -> None:
    action_take(tasker=factories.tasker("nina", state=before), action=action, reason=" too loose ", by=olga, now=now)
    assert (Tasker.objects.get().state, Notice.objects.get().text) == (after, f"{told}: too loose")
    changes = list(StateChange.objects.values_list("before", "after", "reason", "by"))
    assert changes == ([] if before == after else [(before, after, "too loose", olga.pk)])


@pytest.mark.parametrize(
    ("state", "do", "error", "why"),
    [
        ("paused", {"action": MonitoringAction.PAUSE}, Conflict, "paused already"),
        (
            "learning",
            {"action": MonitoringAction.REQUALIFY},
            Conflict,
            "there is a qualification before labeling anyway",
        ),
        ("qualified", {"action": MonitoringAction.WARN, "reason": " \n"}, InvalidInput, "no reason"),
        ("qualified", {"action": MonitoringAction.WARN, "reason": "x" * 1001}, InvalidInput, "too long a reason"),
    ],
)
def test_what_is_refused(
    state: str, do: dict[str, Any], error: type[DomainError], why: str, olga: User, now: datetime
) -> None:
    tasker = factories.tasker("nina", state=state)
    refused(error, action_take, **{"tasker": tasker, "reason": "why", "by": olga, "now": now} | do)
    assert not Notice.objects.exists(), why


@pytest.mark.parametrize("before", ["qualified", "learning"])
def test_who_returns_goes_on_where_the_pause_began(before: str, olga: User, now: datetime) -> None:
    tasker, back = factories.tasker("nina", state=before), {"reason": "back", "by": olga, "now": now}
    assert "not paused" in str(refused(Conflict, tasker_return, tasker=tasker, **back))
    action_take(tasker=tasker, action=MonitoringAction.PAUSE, reason="away", by=olga, now=now)
    tasker_return(tasker=tasker, **back)
    assert kept(tasker, "state") == before


def test_voiding_is_told_once_with_its_reason(tara: Tasker, olga: User, now: datetime) -> None:
    factories.response(tara, factories.panel())
    said: dict[str, Any] = {"tasker": tara, "since": None, "reason": "careless", "by": olga, "now": now}
    answers_void(**said)
    assert "no unsettled answer" in str(refused(Conflict, answers_void, **said))
    assert VoidedResponse.objects.count() == 1
    assert "they stay in the record. The reason: careless" in Notice.objects.get(tasker=tara).text


A_BIRD: Form = ("definitely_yes", "definitely_no", True, True, True)


CUT_BIRD: Form = ("definitely_yes", "definitely_no", False, True, True)


NEITHER: Form = ("definitely_no", "definitely_no", None, None, None)


UNSURE: Form = ("unsure_yes", "definitely_no", True, True, True)


def look(
    form: Form = A_BIRD,
    *others: Form,
    at: int = 0,
    gold: bool | None = None,
    ms: int = 5_000,
    iou: float | None = None,
) -> JudgedAnswer:
    return JudgedAnswer(factories.NOW + timedelta(seconds=at), ms, form, gold, others, iou)


def marked(right: int, wrong: int) -> TaskerHistory:
    """Gold alone, marked."""
    return TaskerHistory([look(gold=True)] * right + [look(gold=False)] * wrong)


def read(collector: str, looks: Sequence[JudgedAnswer] | TaskerHistory, window: int = 100) -> CollectorValue | None:
    return COLLECTORS[collector].read(
        looks if isinstance(looks, TaskerHistory) else TaskerHistory(looks), window, POLICY
    )


def value(collector: str, looks: Sequence[JudgedAnswer] | TaskerHistory, window: int = 100) -> float | None:
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
    assert (fires(RuleTerms("gold_doubt", 500, 1, "<", 1.0), marked(right, wrong), POLICY) is not None) is suspends, why


def test_the_gold_rule_follows_the_policy() -> None:
    rule = RuleTerms("gold_doubt", 500, 1, "<", 1.0)
    strict = Policy(gold_pass_percent=95, gold_minimum=5, gold_doubt_percent=5)
    assert fires(rule, marked(3, 2), POLICY) is None
    fired = fires(rule, marked(3, 2), strict)
    assert fired and (fired.n, fired.figures) == (5, {"right": 3, "chance_percent": 2.2593})


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
    seen = TaskerHistory([look(ms=100), look(ms=9_000)])
    assert (fires(RuleTerms("fast_share", 10, minimum, comparison, threshold), seen, POLICY) is not None) is fired, why


HONEST, LAZY = (
    [look(A_BIRD, A_BIRD, A_BIRD)] * 10,
    [look(A_BIRD, A_BIRD, A_BIRD)] * 5 + [look(A_BIRD, NEITHER, NEITHER)] * 5,
)


FAST_THEN_SLOW = [look(ms=100)] * 10 + [look(ms=9_000)] * 10


GIVEN_BACK = TaskerHistory(handovers=[HandedPicture(factories.NOW, answered) for answered in (True, False, False)])


ODD, EVEN, SAME = look(CUT_BIRD, A_BIRD, A_BIRD), look(A_BIRD, A_BIRD, CUT_BIRD), look(A_BIRD, A_BIRD, A_BIRD)


ODDS = [ODD, EVEN, SAME, ODD, SAME, EVEN]


OTHER = look(NEITHER, A_BIRD, A_BIRD)


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
        ("disagreement_run", [OTHER, look(NEITHER, A_BIRD, UNSURE), OTHER], 100, 2, "others differ: nobody is judged"),
        ("disagreement_run", [ODD], 100, 0, "the statements are no class"),
        *[(collector, [], 100, None, "nothing seen is nothing read") for collector in sorted(COLLECTORS)],
    ],
)
def test_what_collectors_read(
    collector: str, looks: Sequence[JudgedAnswer] | TaskerHistory, window: int, expected: float | None, why: str
) -> None:
    assert value(collector, looks, window) == (None if expected is None else pytest.approx(expected)), why


@pytest.mark.parametrize(
    ("form", "others", "expected", "why"),
    [
        (A_BIRD, [A_BIRD, A_BIRD], [True] * 5, "everybody says the same"),
        (CUT_BIRD, [A_BIRD, A_BIRD], [True, True, False, True, True], "another answer to one statement"),
        (NEITHER, [A_BIRD, A_BIRD], [False, True, False, False, False], "what was not answered is not agreed with"),
        (A_BIRD, [A_BIRD, UNSURE], [True] * 4, "the others differ on question 1: it is nobody's majority"),
        (A_BIRD, [NEITHER, NEITHER], [False, True], "the others were asked no statement"),
        (A_BIRD, [A_BIRD, A_BIRD, NEITHER], [True] * 5, "two of three are a majority"),
    ],
)
def test_agreement_is_with_the_majority_of_the_others(
    form: Form, others: list[Form], expected: list[bool], why: str
) -> None:
    assert list(agreements(look(form, *others)).values()) == expected, why


def test_agreement_counts_questions_of_answers_with_a_majority() -> None:
    reading = read("agreement", [SAME, ODD, look(A_BIRD), look(gold=True)])
    assert reading and (reading.value, reading.n) == (0.9, 2)


def test_what_came_before_a_moment_is_left_out() -> None:
    seen = TaskerHistory([look(at=1), look(at=2)], [HandedPicture(factories.NOW + timedelta(seconds=1), True)])
    later = seen.since(factories.NOW + timedelta(seconds=1))
    assert ([each.at.second for each in later.looks], later.handovers, seen.since(None)) == ([2], [], seen)


@pytest.mark.parametrize(
    ("form", "others", "expected", "why"),
    [
        (CUT_BIRD, (A_BIRD, A_BIRD), 1, "alone against two"),
        (A_BIRD, (A_BIRD, CUT_BIRD), 0, "another one is"),
        (A_BIRD, (A_BIRD, A_BIRD), None, "all say the same"),
        (A_BIRD, (CUT_BIRD, NEITHER), None, "everybody says something else"),
        (A_BIRD, (CUT_BIRD,), None, "of two, neither is the odd one"),
        (A_BIRD, (A_BIRD, CUT_BIRD, CUT_BIRD), None, "two against two"),
        (CUT_BIRD, (A_BIRD, A_BIRD, A_BIRD), 1, "alone against three"),
    ],
)
def test_the_odd_one_out(form: Form, others: tuple[Form, ...], expected: float | None, why: str) -> None:
    assert value("odd_share", [look(form, *others)]) == expected, why
