"""Rulings (R16): one for each full panel, appended with the ids it counted, under the policy of its dealing."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from threading import Barrier

import pytest
from django.db import DatabaseError, connections, transaction

from adjudication.enums import DecidedBy, Verdict
from adjudication.models import Ruling
from adjudication.services import panel_settle, panels_settle
from labeling.enums import Answer, OutlineGate, PanelState
from labeling.models import Panel, PolicyVersion
from labeling.policy import Policy
from labeling.selectors import forget_versions, policy_in_force
from tests import factories


def full_panel(**answers: object) -> Panel:
    panel = factories.panel()
    for n in range(3):
        factories.response(factories.tasker(f"{panel.pk}-{n}"), panel, **answers)  # type: ignore[arg-type]
    return panel


@pytest.mark.django_db
class TestSettling:
    @pytest.mark.both("the panel is locked, and answers are counted in the order of their places")
    def test_a_ruling_says_all_it_rests_on(self, now: datetime) -> None:
        panel = full_panel(box=(0, 0, 14950, 14950))
        assert panels_settle(policy_at=policy_in_force, now=now) == 1
        ruling = Ruling.objects.get()
        assert (ruling.number, ruling.verdict, ruling.label, ruling.reasons) == (1, Verdict.VALID, "bird", [])
        assert (ruling.smallest_box_numerator, ruling.smallest_box_denominator) == (1, 4)
        assert ruling.response_ids == list(panel.responses.order_by("place__number").values_list("pk", flat=True))
        assert (ruling.policy.version, ruling.decided_by, ruling.decided_at) == (1, DecidedBy.RULES, now)
        panel.refresh_from_db()
        assert panel.state == PanelState.SETTLED

    def test_a_surplus_answer_does_not_count(self, now: datetime) -> None:
        panel = full_panel()
        factories.response(factories.tasker("late"), panel, bird=Answer.DEFINITELY_NO, box=None, counted=False)
        panels_settle(policy_at=policy_in_force, now=now)
        ruling = Ruling.objects.get()
        assert ruling.verdict == Verdict.VALID and len(ruling.response_ids) == 3

    def test_without_a_box_there_is_no_share(self, now: datetime) -> None:
        full_panel(bird=Answer.DEFINITELY_NO, box=None, complete=None, unoccluded=None, real=None)
        panels_settle(policy_at=policy_in_force, now=now)
        assert Ruling.objects.get().smallest_box_numerator is None

    def test_the_policy_is_the_one_under_which_the_panel_was_dealt(self, now: datetime) -> None:
        """Nobody was asked for an outline, so a gate that was widened meanwhile finds none missing."""
        full_panel(bird=Answer.UNSURE_NO, box=None, complete=None, unoccluded=None, real=None)
        widened = Policy(outline_gate=OutlineGate.NOT_EXCLUDED)
        PolicyVersion.objects.create(
            version=2, numbers=widened.to_json(), in_force_from=now + timedelta(hours=1), reason="wider"
        )
        forget_versions()
        panels_settle(policy_at=policy_in_force, now=now + timedelta(hours=2))
        ruling = Ruling.objects.get()
        assert (ruling.reasons, ruling.policy.version) == (["uncertain"], 1)

    @pytest.mark.both("triggers refuse it")
    @pytest.mark.parametrize("change", ["update", "delete"])
    def test_the_database_keeps_a_ruling(self, change: str, now: datetime) -> None:
        full_panel()
        panels_settle(policy_at=policy_in_force, now=now)
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            if change == "update":
                Ruling.objects.update(verdict=Verdict.REJECTED, label="")
            else:
                Ruling.objects.all().delete()


@pytest.mark.postgres("eight sweeps beside each other: SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_many_at_once_make_one_ruling_each(now: datetime) -> None:
    factories.policy_version()
    panels = [full_panel() for _ in range(10)]
    barrier = Barrier(8)

    def settle(_: int) -> int:
        barrier.wait()
        try:
            settled = (panel_settle(panel_id=each.pk, policy_at=policy_in_force, now=now) for each in panels)
            return sum(settled)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        made = sum(pool.map(settle, range(8)))
    made += panels_settle(policy_at=policy_in_force, now=now)
    assert (made, Ruling.objects.count()) == (10, 10)
