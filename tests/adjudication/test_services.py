"""Rulings: one for each full panel (R16), again where the board asked for more taskers (R19), its own (R20), and what
other numbers would have made of the answers."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from fractions import Fraction
from functools import partial
from itertools import count
from random import Random
from typing import Any

import pytest
from django.db import DatabaseError, transaction

from adjudication.enums import DecidedBy, Reason, Verdict
from adjudication.models import Ruling
from adjudication.rules import VerdictPolicy as Rules
from adjudication.services import panel_settle, panels_settle, rule_by_board, validate_explanation
from adjudication.what_if import TriedNumbers, pictures_decided, try_batch
from common.errors import InvalidInput
from labeling.enums import Answer, Label, PanelState
from labeling.leases import assignment_next
from labeling.models import Assignment, Panel, Report, Response, Tasker
from labeling.more_taskers import panel_fresh, panel_join
from labeling.selectors import forget_versions
from labeling.submission import response_submit
from policy.enums import OutlineGate
from policy.models import PolicyVersion
from policy.numbers import Policy
from policy.selectors import policy_in_force
from tests import factories
from tests.at_once import at_once
from tests.refusals import refused

pytestmark = pytest.mark.django_db
WHY = "All six outlines show one bird, which is complete and covers a third of the picture."
BIRD: dict[str, Any] = {}
UNSURE: dict[str, Any] = {"bird": "unsure_yes"}
SMALL: dict[str, Any] = {"box": (0, 0, 3000, 3000)}
FIFTH: dict[str, Any] = {"box": (0, 0, 13450, 13450)}  # 20.2 % of the picture
BICYCLE: dict[str, Any] = {"bird": "definitely_no", "bicycle": "definitely_yes"}
NO_BIRD: dict[str, Any] = {"bird": "definitely_no", "box": None, "complete": None, "unoccluded": None, "real": None}
REJECTED: dict[str, Any] = {"verdict": Verdict.REJECTED, "label": None}
HOUR = timedelta(hours=1)
_numbers = count(1)


@pytest.fixture(autouse=True)
def policy(db: None) -> None:
    factories.policy_version()
    forget_versions()


def say(panel: Panel, answers: Sequence[dict[str, Any]], now: datetime) -> None:
    """New taskers answer, each as told; who is told nothing says that there is a fine, large bird."""
    for each in answers:
        large = {"box": (0, 0, 20000, 20000)}
        factories.response(factories.tasker(f"tasker {next(_numbers)}"), panel, now=now, **(large | each))


def ruled(answers: Sequence[dict[str, Any]], now: datetime) -> Panel:
    panel = factories.panel(size=len(answers))
    say(panel, answers, now)
    assert settle(now) == 1
    panel.refresh_from_db()
    return panel


def settle(now: datetime) -> int:
    return panels_settle(policy_at=policy_in_force, now=now)


def newest(panel: Panel) -> Ruling:
    return Ruling.objects.filter(image=panel.image_id).latest("number")


def board(panel: Panel, now: datetime, **given: Any) -> Ruling:
    usual = {"verdict": Verdict.VALID, "label": Label.BIRD, "reasons": (), "explanation": WHY}
    return rule_by_board(image=panel.image, policy=policy_in_force(now), now=now, **(usual | given))


# By the rules ---------------------------------------------------------------------------------------------------------


@pytest.mark.both("the panel is locked, and answers are counted in the order of their places")
def test_a_ruling_says_all_it_rests_on(now: datetime) -> None:
    panel = ruled([{"box": (0, 0, 14950, 14950)}] * 3, now)
    ruling = newest(panel)
    assert (ruling.number, ruling.verdict, ruling.label, ruling.reasons) == (1, Verdict.VALID, "bird", [])
    assert (ruling.smallest_box_numerator, ruling.smallest_box_denominator) == (1, 4)
    assert ruling.response_ids == list(panel.responses.order_by("place__number").values_list("pk", flat=True))
    assert (ruling.policy.version, ruling.decided_by, ruling.decided_at) == (1, DecidedBy.RULES, now)
    assert panel.state == PanelState.SETTLED


def test_a_surplus_answer_does_not_count(now: datetime) -> None:
    panel = factories.panel()
    say(panel, [BIRD] * 3, now)
    factories.response(factories.tasker("late"), panel, bird=Answer.DEFINITELY_NO, box=None, counted=False)
    settle(now)
    assert (newest(panel).verdict, len(newest(panel).response_ids)) == (Verdict.VALID, 3)


def test_without_a_box_there_is_no_share(now: datetime) -> None:
    assert newest(ruled([NO_BIRD] * 3, now)).smallest_box_numerator is None


@pytest.mark.parametrize("joined", [False, True], ids=["of those first asked", "of one who joined"])
def test_the_policy_is_the_one_under_which_the_panel_was_dealt(joined: bool, now: datetime) -> None:
    """Nobody was asked for an outline, so a gate that was widened meanwhile finds none missing."""
    panel = ruled([BIRD] * 3, now) if joined else factories.panel()
    wider = Policy(outline_gate=OutlineGate.NOT_EXCLUDED, panel_size=5).to_json()
    PolicyVersion.objects.create(version=2, numbers=wider, in_force_from=now + timedelta(minutes=1), reason="wider")
    forget_versions()
    waiting = panel_join(panel, 1, now=now) if joined else panel
    say(waiting, [NO_BIRD | {"bird": "unsure_no"}] * waiting.missing, now)
    settle(now + HOUR)
    assert (newest(panel).reasons, newest(panel).policy.version) == (["uncertain"], 1)


CHANGES: dict[str, Callable[[], object]] = {
    "update": lambda: Ruling.objects.update(verdict=Verdict.REJECTED, label=""),
    "delete": lambda: Ruling.objects.all().delete(),
}


@pytest.mark.both("triggers refuse it")
@pytest.mark.parametrize("change", CHANGES)
def test_the_database_keeps_a_ruling(change: str, now: datetime) -> None:
    ruled([BIRD] * 3, now)
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        CHANGES[change]()


# More taskers (R19) ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "verdict", "reasons", "why"),
    [
        ([BIRD] * 3, "valid", [], "all six agree"),
        ([BIRD, UNSURE, BIRD], "rejected", ["uncertain"], "one of those who joined is uncertain"),
        ([BIRD, BICYCLE, BIRD], "rejected", ["taskers_disagree"], "one of them sees the other class"),
        ([NO_BIRD] * 3, "rejected", ["neither_class", "taskers_disagree"], "three against three"),
        ([BIRD, SMALL, BIRD], "rejected", ["too_small"], "the smallest box of all six is too small"),
        ([BIRD], "valid", [], "one was asked for"),
        ([UNSURE], "rejected", ["uncertain"], "one was asked for, and is uncertain"),
    ],
)
def test_unanimity_covers_all_who_join_a_panel(
    more: list[dict[str, Any]], verdict: str, reasons: list[str], why: str, now: datetime
) -> None:
    panel = ruled([BIRD] * 3, now)
    first, joined = newest(panel), panel_join(panel, len(more), now=now)
    assert settle(now) == 0, "while they are asked the first ruling holds"
    say(joined, more, now + HOUR)
    assert settle(now + 2 * HOUR) == 1
    again = newest(panel)
    assert (again.number, again.panel, again.verdict, again.reasons) == (2, panel, verdict, reasons), why
    assert (again.decided_by, again.policy) == (DecidedBy.RULES, first.policy)
    assert again.response_ids[:3] == first.response_ids and len(again.response_ids) == 3 + len(more)
    assert settle(now + 3 * HOUR) == 0, "running it twice adds none"


@pytest.mark.parametrize(
    ("answers", "verdict", "label", "reasons", "why"),
    [
        ([BIRD] * 3, "valid", "bird", [], "all of them agree, against the first panel"),
        ([BICYCLE] * 3, "valid", "bicycle", [], "whatever the class"),
        ([BIRD, BICYCLE, BIRD], "rejected", "", ["taskers_disagree"], "they disagree as well"),
        ([UNSURE] * 3, "rejected", "", ["uncertain"], "they are as uncertain"),
        ([BIRD] * 5, "valid", "bird", [], "as many as the board asked"),
    ],
)
def test_a_fresh_panel_alone_decides(
    answers: list[dict[str, Any]], verdict: str, label: str, reasons: list[str], why: str, now: datetime
) -> None:
    """It replaces the first one: under unanimity joining could never help."""
    first = ruled([BIRD, UNSURE, BIRD], now)
    fresh = panel_fresh(first.image, len(answers), now=now)
    say(fresh, answers, now)
    assert settle(now) == 1
    ruling = newest(first)
    assert (ruling.number, ruling.panel, ruling.verdict, ruling.label) == (2, fresh, verdict, label), why
    assert (ruling.reasons, len(ruling.response_ids)) == (reasons, len(answers))
    assert Response.objects.filter(panel=first).count() == 3, "the first stays on record"


# The board (R20) ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", ["dealt", "joined", "fresh"])
def test_the_board_waits_for_the_taskers(missing: str, now: datetime) -> None:
    """Their ruling would come on top of the board's."""
    panel = factories.panel() if missing == "dealt" else ruled([BIRD, UNSURE, BIRD], now)
    if missing == "joined":
        panel_join(panel, 1, now=now)
    if missing == "fresh":
        panel_fresh(panel.image, 3, now=now)
    refused("not_settled", board, panel, now)


def test_the_board_rules_on_top_over_the_same_answers(now: datetime) -> None:
    panel = ruled([BIRD, UNSURE, BIRD], now)
    first = newest(panel)
    ruling = board(panel, now + timedelta(days=1), explanation=f"  {WHY}\r\n")
    ruling.refresh_from_db()
    assert (ruling.number, ruling.panel, ruling.response_ids) == (2, panel, first.response_ids)
    assert (ruling.verdict, ruling.label, ruling.reasons) == (Verdict.VALID, "bird", [])
    told = (DecidedBy.BOARD, WHY, first.smallest_box_numerator)
    assert (ruling.decided_by, ruling.explanation, ruling.smallest_box_numerator) == told
    assert settle(now) == 0, "the rules have nothing to add"


def test_reasons_stand_in_their_order(now: datetime) -> None:
    given = [Reason.TRUNCATED, Reason.UNCERTAIN, Reason.TRUNCATED]
    assert board(ruled([BIRD] * 3, now), now, **REJECTED, reasons=given).reasons == ["uncertain", "truncated"]


@pytest.mark.parametrize(
    ("given", "field", "why"),
    [
        ({"label": None}, "label", "valid without a class"),
        ({"reasons": [Reason.UNCERTAIN]}, "reasons", "valid with a reason of rejection"),
        ({"verdict": Verdict.REJECTED, "reasons": [Reason.UNCERTAIN]}, "label", "rejected with a class"),
        (REJECTED, "reasons", "rejected without a reason"),
        (REJECTED | {"reasons": [Reason.AMBIGUOUS]}, "reasons", "not of R15"),
        (REJECTED | {"reasons": [Reason.OCCLUDED, Reason.KNOWN_BAD]}, "reasons", "one of them is not of R15"),
        ({"explanation": " \n "}, "explanation", "no explanation"),
        ({"explanation": "It is a bird."}, "explanation", "too short"),
        ({"explanation": "bird " * 20}, "explanation", "one word again and again"),
        ({"explanation": "...... " * 20}, "explanation", "no word at all"),
        ({"explanation": "a word " * 1000}, "explanation", "too long"),
    ],
)
def test_what_the_board_may_not_say(given: dict[str, Any], field: str, why: str, now: datetime) -> None:
    panel = ruled([BIRD, UNSURE, BIRD], now)
    with pytest.raises(InvalidInput) as refusal:
        board(panel, now, **given)
    assert (refusal.value.field, Ruling.objects.count()) == (field, 1), why


@pytest.mark.parametrize(
    "said",
    [
        WHY,
        "Das Rad ist ganz zu sehen, kein Zweig verdeckt es.",
        "この鳥は 完全に 写って いる。 枝は 何も 隠して いない。 三人の 答えは 正しく、 箱は 十分に 大きいです。",
    ],
)
def test_an_explanation_may_be_in_any_language(said: str) -> None:
    assert validate_explanation(said) == said


def test_a_picture_without_a_ruling_has_none_to_overrule(now: datetime) -> None:
    refused("no_ruling", board, factories.settle(factories.panel()), now)


def test_what_an_organizer_keeps_out_waits_for_nobody(now: datetime) -> None:
    panel = ruled([BIRD, UNSURE, BIRD], now)
    fresh = panel_fresh(panel.image, 3, now=now)
    late = factories.assignment(factories.tasker("late"), fresh, state="released")
    told = {"assignment": late, "image": panel.image, "tasker": late.tasker, "kind": "other", "reported_at": now}
    Report.objects.create(**told)
    Panel.objects.filter(pk=fresh.pk).update(state=PanelState.HELD)
    refused("not_settled", board, panel, now)
    Report.objects.update(decision="kept_out", decided_at=now)
    ruling = board(panel, now)
    assert (ruling.number, ruling.panel) == (2, panel), "the fresh panel was never counted"


# At once --------------------------------------------------------------------------------------------------------------


@pytest.mark.postgres("requests that run beside each other: SQLite has one writer")
@pytest.mark.slow("threads at work, turn after turn")
@pytest.mark.django_db(transaction=True)
class TestAtOnce:
    def test_many_at_once_make_one_ruling_each(self, now: datetime) -> None:
        panels = [factories.panel() for _ in range(10)]
        for each in panels:
            say(each, [BIRD] * 3, now)

        def sweep() -> int:
            return sum(panel_settle(panel_id=each.pk, policy_at=policy_in_force, now=now) for each in panels)

        made = sum(at_once(*[sweep] * 8)) + settle(now)
        assert (made, Ruling.objects.count()) == (10, 10)

    def test_claims_run_while_others_join(self, now: datetime) -> None:
        """Everybody new gets the picture that was asked for, nobody twice, and never more than there are places."""
        policy = Policy(gold_percent=0)
        panels = [ruled([BIRD] * 3, now) for _ in range(4)]
        taskers = [factories.tasker(f"claims {number}") for number in range(8)]

        def work(tasker: Tasker) -> None:
            for turn in range(12):
                at = now + timedelta(seconds=turn)
                held = assignment_next(tasker=tasker, holding=(), policy=policy, now=at, rng=Random(turn))
                if isinstance(held, Assignment):
                    response_submit(
                        tasker=tasker, assignment_id=held.public_id, lease_token=held.lease_token,
                        data={"contains_bird": "definitely_no", "contains_bicycle": "definitely_no"},
                        policy_at=lambda _: policy, now=at,
                    )  # fmt: skip

        def ask() -> int:
            return sum(panel_join(each, 3, now=now).joined for each in panels)

        assert at_once(ask, *(partial(work, each) for each in taskers)) == [12, *[None] * 8]
        for tasker in taskers:
            work(tasker)
        found = Panel.objects.filter(pk__in=[each.pk for each in panels])
        assert set(found.values_list("state", "answered", "leased", "size")) == {(PanelState.FULL, 6, 0, 6)}
        answered = Response.objects.filter(panel__in=panels, place__isnull=False).values_list("panel", flat=True)
        assert (set(Counter(answered).values()), settle(now)) == ({6}, 4)
        assert {newest(each).reasons[-1] for each in panels} == {"taskers_disagree"}

    def test_two_ask_for_more(self, now: datetime) -> None:
        for turn in range(8):
            panel = ruled([BIRD] * 3, now)
            others = (lambda: panel_fresh(panel.image, 3, now=now), lambda: panel_join(panel, 3, now=now))  # noqa: B023
            made = at_once(lambda: panel_join(panel, 3, now=now), others[turn % 2])  # noqa: B023
            assert made.count("not_settled") == 1, made
            waiting = Panel.objects.get(image=panel.image_id, state=PanelState.OPEN)
            assert (waiting.missing, waiting.places.count()) == (3, waiting.size)

    def test_the_board_rules_twice_and_the_sweep_runs(self, now: datetime) -> None:
        """Numbers never clash, and nothing comes on top of the board unseen."""
        for _ in range(8):
            panel = ruled([UNSURE] * 3, now)
            full = panel_fresh(panel.image, 3, now=now).pk
            say(Panel.objects.get(pk=full), [BIRD] * 3, now)
            made = at_once(
                lambda: board(panel, now),  # noqa: B023
                lambda: panel_settle(panel_id=full, policy_at=policy_in_force, now=now),  # noqa: B023
                lambda: board(panel, now, **REJECTED, reasons=[Reason.OCCLUDED]),  # noqa: B023
            )
            panel_settle(panel_id=full, policy_at=policy_in_force, now=now)
            rulings = list(Ruling.objects.filter(image=panel.image_id).order_by("number"))
            boards = sum(isinstance(each, Ruling) for each in made)
            assert [each.number for each in rulings] == list(range(1, 3 + boards))
            assert [each.decided_by for each in rulings[1:]] == ["rules"] + ["board"] * boards
            assert all(each.panel_id == full for each in rulings[1:])


# What other numbers would have made -----------------------------------------------------------------------------------


AS_IT_IS = TriedNumbers(Rules(), 3)
A_FIFTH_IS_ENOUGH = TriedNumbers(Rules(min_box_fraction=Fraction(1, 5)), 3)


@pytest.mark.parametrize(
    ("said", "numbers", "label", "reasons"),
    [
        (FIFTH, Rules(min_box_fraction=Fraction(1, 5)), Label.BIRD, ()),
        ({"unoccluded": False}, Rules(occlusion_allowed=True), Label.BIRD, ()),
        (BIRD, Rules(min_box_fraction=Fraction(1, 2)), None, (Reason.TOO_SMALL,)),
        (FIFTH | {"unoccluded": False}, Rules(occlusion_allowed=True), None, (Reason.TOO_SMALL,)),
        (
            NO_BIRD | {"bird": "unsure_no"},
            Rules(outline_gate=OutlineGate.NOT_EXCLUDED),
            None,
            (Reason.UNCERTAIN, Reason.NO_OUTLINE, Reason.DEPICTION, Reason.OCCLUDED, Reason.TRUNCATED),
        ),
    ],
)
def test_what_would_be_different(
    said: dict[str, Any], numbers: Rules, label: Label | None, reasons: tuple[Reason, ...], now: datetime
) -> None:
    panel = ruled([said, BIRD, BIRD], now)
    before = Ruling.objects.values().get()
    [change] = try_batch(TriedNumbers(numbers, 3)).changes
    assert change.after and (change.image, change.after.label, change.after.reasons) == (panel.image, label, reasons)
    assert change.turns == (change.before != label)
    assert Ruling.objects.values().get() == before, "nothing is written"


@pytest.mark.parametrize(
    ("said", "missing"),
    [
        (BIRD, [None]),  # valid by three: a fourth might have disagreed
        (NO_BIRD, []),  # another answer never makes a rejected picture valid
    ],
)
def test_what_a_fourth_tasker_would_have_said_is_missing(
    said: dict[str, Any], missing: list[None], now: datetime
) -> None:
    ruled([said, BIRD, BIRD], now)
    found = try_batch(TriedNumbers(Rules(), 4))
    assert (found.looked, [change.after for change in found.changes]) == (1, missing)
    assert not any(change.turns for change in found.changes)


def test_fewer_taskers_are_the_first_ones(now: datetime) -> None:
    ruled([BIRD, BIRD, BIRD, NO_BIRD], now)
    [change] = try_batch(AS_IT_IS).changes
    assert (change.before, change.after and change.after.label) == (None, Label.BIRD)


def test_the_numbers_that_were_in_force_change_nothing(now: datetime) -> None:
    for said in (BIRD, FIFTH, NO_BIRD, {"unoccluded": False}):
        ruled([said, BIRD, BIRD], now)
    assert (try_batch(AS_IT_IS).looked, try_batch(AS_IT_IS).changes) == (4, ())


def test_who_joined_counts_whatever_the_size(now: datetime) -> None:
    panel = ruled([BIRD] * 3, now)
    say(panel_join(panel, 2, now=now), [BIRD, UNSURE], now)
    assert try_batch(AS_IT_IS).looked == 0, "a picture that is asked about again is left out"
    settle(now)
    assert (try_batch(AS_IT_IS).changes, try_batch(AS_IT_IS).looked) == ((), 1)


def test_parts_follow_each_other_until_nothing_is_left(now: datetime) -> None:
    images = [ruled([FIFTH, BIRD, BIRD], now).image_id for _ in range(3)]
    first = try_batch(A_FIFTH_IS_ENOUGH, limit=2)
    second = try_batch(A_FIFTH_IS_ENOUGH, behind=first.through or 0, limit=2)
    last = try_batch(A_FIFTH_IS_ENOUGH, behind=second.through or 0, limit=2)
    assert [change.ruling.image_id for change in (*first.changes, *second.changes)] == images
    assert (first.looked, second.looked, last) == (2, 1, replace(last, looked=0, through=None, changes=()))
    assert pictures_decided() == 3


def test_what_the_board_decided_is_left_out(now: datetime) -> None:
    board(ruled([FIFTH, BIRD, BIRD], now), now)
    assert (pictures_decided(), try_batch(A_FIFTH_IS_ENOUGH).looked) == (0, 0)
