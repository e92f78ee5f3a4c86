"""What is ruled when the board asked for more taskers (R19), and what it rules itself (R20)."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from itertools import count
from random import Random
from threading import Barrier
from typing import Any

import pytest
from django.db import connections

from adjudication.enums import DecidedBy, Reason, Verdict
from adjudication.models import Ruling
from adjudication.rules import Policy as Rules
from adjudication.services import explanation_said, panel_settle, panels_settle, rule_by_board
from adjudication.what_if import Numbers, try_out
from common.errors import Conflict, InvalidInput
from labeling import services
from labeling.enums import Label, OutlineGate, PanelState
from labeling.models import Assignment, Panel, PolicyVersion, Report, Response, Tasker
from labeling.more_taskers import panel_fresh, panel_join
from labeling.policy import Policy
from labeling.selectors import forget_versions, policy_in_force
from tests import factories

WHY = "All six outlines show one bird, which is complete and covers a third of the picture."
BIRD: dict[str, Any] = {}
UNSURE: dict[str, Any] = {"bird": "unsure_yes"}
SMALL: dict[str, Any] = {"box": (0, 0, 3000, 3000)}
BICYCLE: dict[str, Any] = {"bird": "definitely_no", "bicycle": "definitely_yes"}
NO_BIRD: dict[str, Any] = {"bird": "definitely_no", "box": None, "complete": None, "unoccluded": None, "real": None}
_numbers = count(1)


@pytest.fixture(autouse=True)
def policy(db: None) -> None:
    factories.policy_version()
    forget_versions()


def say(panel: Panel, answers: Sequence[dict[str, Any]], now: datetime) -> None:
    large = {"box": (0, 0, 20000, 20000)}
    for each in answers:
        factories.response(factories.tasker(f"tasker {next(_numbers)}"), panel, now=now, **(large | each))


def ruled(answers: Sequence[dict[str, Any]], now: datetime) -> Panel:
    panel = factories.panel()
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


class TestJoined:
    """The new taskers join the panel, and unanimity covers all of them."""

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
    def test_unanimity_covers_all(
        self, more: list[dict[str, Any]], verdict: str, reasons: list[str], why: str, now: datetime
    ) -> None:
        panel = ruled([BIRD] * 3, now)
        first = newest(panel)
        joined = panel_join(panel, len(more), now=now)
        assert settle(now) == 0, "while they are asked the first ruling holds"
        say(joined, more, now + timedelta(hours=1))
        assert settle(now + timedelta(hours=2)) == 1
        again = newest(panel)
        assert (again.number, again.panel, again.verdict, again.reasons) == (2, panel, verdict, reasons), why
        assert again.response_ids[:3] == first.response_ids and len(again.response_ids) == 3 + len(more)
        assert (again.decided_by, again.policy) == (DecidedBy.RULES, first.policy)
        assert settle(now + timedelta(hours=3)) == 0, "running it twice adds none"

    def test_under_the_policy_of_the_dealing(self, now: datetime) -> None:
        panel = ruled([BIRD] * 3, now)
        later = Policy(outline_gate=OutlineGate.NOT_EXCLUDED, panel_size=5)
        since = now + timedelta(minutes=1)
        PolicyVersion.objects.create(version=2, numbers=later.to_json(), in_force_from=since, reason="wider")
        forget_versions()
        say(panel_join(panel, 1, now=now), [{"bird": "unsure_no", "box": None}], now)
        settle(now + timedelta(hours=1))
        assert (newest(panel).reasons, newest(panel).policy.version) == (["uncertain"], 1)


class TestFresh:
    """A fresh panel replaces the first, and is ruled upon alone; under unanimity joining could never help."""

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
    def test_it_alone_decides(
        self, answers: list[dict[str, Any]], verdict: str, label: str, reasons: list[str], why: str, now: datetime
    ) -> None:
        first = ruled([BIRD, UNSURE, BIRD], now)
        fresh = panel_fresh(first.image, len(answers), now=now)
        say(fresh, answers, now)
        assert settle(now) == 1
        ruling = newest(first)
        assert (ruling.number, ruling.panel, ruling.verdict, ruling.label) == (2, fresh, verdict, label), why
        assert (ruling.reasons, len(ruling.response_ids)) == (reasons, len(answers))
        assert Response.objects.filter(panel=first).count() == 3, "the first stays on record"


class TestWhatIf:
    """Those whom the board asked count under every number, and a picture that is asked about again is left out."""

    def test_who_joined_counts_whatever_the_size(self, now: datetime) -> None:
        panel = ruled([BIRD] * 3, now)
        say(panel_join(panel, 2, now=now), [BIRD, UNSURE], now)
        assert try_out(Numbers(Rules(), 3)).looked == 0
        settle(now)
        assert try_out(Numbers(Rules(), 3)).changes == ()
        assert try_out(Numbers(Rules(), 3)).looked == 1


@pytest.mark.parametrize("missing", ["dealt", "joined", "fresh"])
def test_the_board_waits_for_the_taskers(missing: str, now: datetime) -> None:
    """Their ruling would come on top of the board's."""
    panel = factories.panel() if missing == "dealt" else ruled([BIRD, UNSURE, BIRD], now)
    if missing == "joined":
        panel_join(panel, 1, now=now)
    if missing == "fresh":
        panel_fresh(panel.image, 3, now=now)
    with pytest.raises(Conflict) as refusal:
        board(panel, now)
    assert refusal.value.code == "not_settled"


class TestBoard:
    def test_a_ruling_on_top_over_the_same_answers(self, now: datetime) -> None:
        panel = ruled([BIRD, UNSURE, BIRD], now)
        first = newest(panel)
        ruling = board(panel, now + timedelta(days=1), explanation=f"  {WHY}\r\n")
        ruling.refresh_from_db()
        assert (ruling.number, ruling.panel, ruling.response_ids) == (2, panel, first.response_ids)
        assert (ruling.verdict, ruling.label, ruling.reasons) == (Verdict.VALID, "bird", [])
        assert (ruling.decided_by, ruling.explanation) == (DecidedBy.BOARD, WHY)
        assert ruling.smallest_box_numerator == first.smallest_box_numerator
        assert settle(now) == 0, "the rules have nothing to add"

    def test_reasons_stand_in_their_order(self, now: datetime) -> None:
        panel = ruled([BIRD] * 3, now)
        given = [Reason.TRUNCATED, Reason.UNCERTAIN, Reason.TRUNCATED]
        ruling = board(panel, now, verdict=Verdict.REJECTED, label=None, reasons=given)
        assert ruling.reasons == ["uncertain", "truncated"]

    @pytest.mark.parametrize(
        ("given", "field", "why"),
        [
            ({"label": None}, "label", "valid without a class"),
            ({"reasons": [Reason.UNCERTAIN]}, "reasons", "valid with a reason of rejection"),
            ({"verdict": Verdict.REJECTED, "reasons": [Reason.UNCERTAIN]}, "label", "rejected with a class"),
            ({"verdict": Verdict.REJECTED, "label": None}, "reasons", "rejected without a reason"),
            ({"verdict": Verdict.REJECTED, "label": None, "reasons": [Reason.AMBIGUOUS]}, "reasons", "not of R15"),
            (
                {"verdict": Verdict.REJECTED, "label": None, "reasons": [Reason.OCCLUDED, Reason.KNOWN_BAD]},
                "reasons",
                "one of them is not of R15",
            ),
            ({"explanation": " \n "}, "explanation", "no explanation"),
            ({"explanation": "It is a bird."}, "explanation", "too short"),
            ({"explanation": "bird " * 20}, "explanation", "one word again and again"),
            ({"explanation": "...... " * 20}, "explanation", "no word at all"),
            ({"explanation": "a word " * 1000}, "explanation", "too long"),
        ],
    )
    def test_refused(self, given: dict[str, Any], field: str, why: str, now: datetime) -> None:
        panel = ruled([BIRD, UNSURE, BIRD], now)
        with pytest.raises(InvalidInput) as refusal:
            board(panel, now, **given)
        assert refusal.value.field == field, why
        assert Ruling.objects.count() == 1

    @pytest.mark.parametrize(
        "said",
        [
            WHY,
            "Das Rad ist ganz zu sehen, kein Zweig verdeckt es.",
            "この鳥は 完全に 写って いる。 枝は 何も 隠して いない。 三人の 答えは 正しく、 箱は 十分に 大きいです。",
        ],
    )
    def test_it_may_be_in_any_language(self, said: str) -> None:
        assert explanation_said(said) == said

    def test_a_picture_without_a_ruling_has_none_to_overrule(self, now: datetime) -> None:
        panel = factories.settle(factories.panel())
        with pytest.raises(Conflict) as refusal:
            board(panel, now)
        assert refusal.value.code == "no_ruling"

    def test_what_an_organizer_keeps_out_waits_for_nobody(self, now: datetime) -> None:
        panel = ruled([BIRD, UNSURE, BIRD], now)
        fresh = panel_fresh(panel.image, 3, now=now)
        late = factories.assignment(factories.tasker("late"), fresh, state="released")
        report = Report.objects.create(
            assignment=late, image=panel.image, tasker=late.tasker, kind="other", reported_at=now
        )
        Panel.objects.filter(pk=fresh.pk).update(state=PanelState.HELD)
        with pytest.raises(Conflict):
            board(panel, now)
        Report.objects.filter(pk=report.pk).update(decision="kept_out", decided_at=now)
        ruling = board(panel, now)
        assert (ruling.number, ruling.panel) == (2, panel), "the fresh panel was never counted"


def at_once(*steps: Callable[[], Any]) -> list[Any]:
    """Run all steps at the same moment, each in a thread; return what each gave, or the Conflict it raised."""
    barrier = Barrier(len(steps))

    def run(step: Callable[[], Any]) -> Any:
        barrier.wait()
        try:
            return step()
        except Conflict as refusal:
            return refusal
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(steps)) as pool:
        return list(pool.map(run, steps))


@pytest.mark.postgres("requests that run beside each other: SQLite has one writer")
@pytest.mark.slow("threads at work, turn after turn")
@pytest.mark.django_db(transaction=True)
class TestAtOnce:
    """On PostgreSQL, where transactions really run beside each other."""

    def test_two_ask_for_more(self, now: datetime) -> None:
        for turn in range(8):
            panel = ruled([BIRD] * 3, now)
            others = (lambda: panel_fresh(panel.image, 3, now=now), lambda: panel_join(panel, 3, now=now))  # noqa: B023
            made = at_once(lambda: panel_join(panel, 3, now=now), others[turn % 2])  # noqa: B023
            assert [type(each) for each in made].count(Conflict) == 1, made
            assert Panel.objects.filter(image=panel.image_id, state=PanelState.OPEN).count() == 1
            waiting = Panel.objects.get(image=panel.image_id, state=PanelState.OPEN)
            assert (waiting.missing, waiting.places.count()) == (3, waiting.size)

    def test_the_board_rules_twice_and_the_sweep_runs(self, now: datetime) -> None:
        """Numbers never clash, and nothing comes on top of the board unseen."""
        for _ in range(8):
            panel = ruled([UNSURE] * 3, now)
            say(panel_fresh(panel.image, 3, now=now), [BIRD] * 3, now)
            full = Panel.objects.get(image=panel.image_id, number=2).pk
            made = at_once(
                lambda: board(panel, now),  # noqa: B023
                lambda: panel_settle(panel_id=full, policy_at=policy_in_force, now=now),  # noqa: B023
                lambda: board(panel, now, verdict=Verdict.REJECTED, label=None, reasons=[Reason.OCCLUDED]),  # noqa: B023
            )
            panel_settle(panel_id=full, policy_at=policy_in_force, now=now)
            rulings = list(Ruling.objects.filter(image=panel.image_id).order_by("number"))
            boards = [each for each in made if isinstance(each, Ruling)]
            assert [each.number for each in rulings] == list(range(1, 3 + len(boards)))
            assert [each.decided_by for each in rulings[1:]] == ["rules"] + ["board"] * len(boards)
            assert all(each.panel_id == full for each in rulings[1:])

    def test_claims_run_while_others_join(self, now: datetime) -> None:
        """Everybody new gets the picture that was asked for, nobody twice, and never more than there are places."""
        policy = Policy(gold_percent=0)
        panels = [ruled([BIRD] * 3, now) for _ in range(4)]
        taskers = [factories.tasker(f"claims {n}") for n in range(8)]

        def work(tasker: Tasker) -> int:
            rng, done = Random(tasker.pk), 0
            for turn in range(12):
                at = now + timedelta(seconds=turn)
                held = services.assignment_next(tasker=tasker, holding=(), policy=policy, now=at, rng=rng)
                if isinstance(held, Assignment):
                    services.response_submit(
                        tasker=tasker, assignment_id=held.public_id, lease_token=held.lease_token,
                        data={"contains_bird": "definitely_no", "contains_bicycle": "definitely_no"},
                        policy_at=lambda _: policy, now=at,
                    )  # fmt: skip
                    done += 1
            return done

        def ask() -> int:
            return sum(panel_join(each, 3, now=now).joined for each in panels)

        at_once(ask, *[lambda tasker=each: work(tasker) for each in taskers])
        for tasker in taskers:
            work(tasker)
        for panel in panels:
            panel.refresh_from_db()
            assert (panel.state, panel.answered, panel.leased, panel.size) == (PanelState.FULL, 6, 0, 6)
            assert Response.objects.filter(panel=panel, place__isnull=False).count() == 6
        assert settle(now) == 4
        assert {newest(each).reasons[-1] for each in panels} == {"taskers_disagree"}
