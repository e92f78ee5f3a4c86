"""Panels, leases, voidings, rulings, and what the board asks for, in any order (R6-R8, R16, R19, R20)."""

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from django.db import transaction
from django.db.models import Count, F
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from adjudication.enums import DecidedBy, Verdict
from adjudication.models import Ruling
from adjudication.services import panels_settle, rule_by_board
from common.errors import Conflict
from labeling import services
from labeling.enums import AssignmentState, Label, PanelState
from labeling.models import Assignment, Panel, Response, Tasker
from labeling.more_taskers import panel_fresh, panel_join
from labeling.policy import LARGEST_PANEL, Policy
from labeling.selectors import policy_in_force
from labeling.voiding import responses_void
from tests import factories

TASKERS, PICTURES = 14, 2
POLICY = Policy(gold_percent=0)
WHY = "The answers show one bird, complete and large enough; the twig hides nothing of it."
FORMS: list[dict[str, Any]] = [
    {
        "contains_bird": "definitely_yes", "contains_bicycle": "definitely_no", "complete": True, "unoccluded": True,
        "real": True, "outline": [[[5, 5], [290, 9], [290, 290], [5, 280]]],
    },
    {"contains_bird": "unsure_no", "contains_bicycle": "definitely_no"},
]  # fmt: skip
_reached: Counter[str] = Counter()
_tasker, _picture = st.integers(0, TASKERS - 1), st.integers(0, PICTURES - 1)


class Panels(RuleBasedStateMachine):
    """Taskers, pictures, a board; each step is a minute later."""

    def __init__(self) -> None:
        super().__init__()
        self.atomic = transaction.atomic()
        self.atomic.__enter__()
        self.rng, self.now = Random(1), factories.NOW
        self.taskers = [factories.tasker(f"tasker {number}") for number in range(TASKERS)]
        self.images = [factories.panel().image for _ in range(PICTURES)]
        self.counted: dict[int, list[int]] = {}

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.atomic.__exit__(None, None, None)

    @rule(order=st.permutations(range(TASKERS)), many=st.integers(1, TASKERS), form=st.sampled_from(FORMS))
    def work(self, order: list[int], many: int, form: dict[str, Any]) -> None:
        """Some claim and answer, one after the other; the last one says what `form` does."""
        for turn, who in enumerate(order[:many]):
            self._work(who, form if turn == many - 1 else FORMS[0], answers=True)

    @rule(who=_tasker)
    def claim(self, who: int) -> None:
        self._work(who, FORMS[0], answers=False)

    def _work(self, who: int, form: dict[str, Any], *, answers: bool) -> None:
        """Claim, and answer: what the board waits for comes before everything else."""
        self.now += timedelta(minutes=1)
        tasker = Tasker.objects.get(pk=self.taskers[who].pk)
        room = Panel.objects.filter(state=PanelState.OPEN, size__gt=F("answered") + F("leased"))
        free = list(room.exclude(image__in=Assignment.objects.filter(tasker=tasker).values("image")))
        held_before = tasker.assignments.filter(state=AssignmentState.LEASED).exists()
        held = services.assignment_next(tasker=tasker, holding=(), policy=POLICY, now=self.now, rng=self.rng)
        if not held_before and any(panel.urgent for panel in free):
            _reached["urgent first"] += not all(panel.urgent for panel in free)
            assert isinstance(held, Assignment) and held.panel.urgent
        assert isinstance(held, Assignment) or not free, "nobody is idle while there is work"
        if isinstance(held, Assignment) and answers:
            services.response_submit(
                tasker=tasker, assignment_id=held.public_id, lease_token=held.lease_token, data=form,
                policy_at=lambda _: POLICY, now=self.now,
            )  # fmt: skip

    @rule(minutes=st.sampled_from([5, 40]))
    def lapse(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes)
        services.leases_lapse(now=self.now)

    @rule(who=_tasker)
    def void(self, who: int) -> None:
        done = responses_void(tasker=self.taskers[who], since=None, reason="At random.", by=None, now=self.now)
        voided = set(done.responses.values_list("response", flat=True))
        _reached["voided"] += len(voided)
        assert not voided & {pk for ids in self.counted.values() for pk in ids}, "a counted answer was voided"

    @rule()
    def settle(self) -> None:
        self.now += timedelta(minutes=1)
        full = Panel.objects.filter(state=PanelState.FULL).count()
        assert panels_settle(policy_at=policy_in_force, now=self.now) == full
        for ruling in Ruling.objects.filter(decided_at=self.now, decided_by=DecidedBy.RULES):
            self._ruled(ruling)

    def _ruled(self, ruling: Ruling) -> None:
        before = self.counted.get(ruling.panel_id, [])
        answers = Response.objects.filter(panel=ruling.panel_id, place__isnull=False, voided__isnull=True)
        assert ruling.response_ids == list(answers.order_by("place__number").values_list("pk", flat=True))
        assert ruling.response_ids == sorted(ruling.response_ids), "the order of the places is that of the answers"
        assert ruling.response_ids[: len(before)] == before and len(ruling.response_ids) == ruling.panel.size
        sure = not answers.filter(contains_bird="unsure_no").exists()
        assert (ruling.verdict == Verdict.VALID) == sure, "unanimity covers all"
        self.counted[ruling.panel_id] = ruling.response_ids
        _reached["ruled again" if before else "fresh ruled" if ruling.panel.number > 1 else "ruled"] += 1

    @rule(which=_picture, more=st.integers(1, 4))
    def join(self, which: int, more: int) -> None:
        panel = self._newest(which)
        places, settled = panel.places.count(), panel.state == PanelState.SETTLED
        try:
            panel_join(panel, more, now=self.now)
        except Conflict as refusal:
            assert refusal.code == ("panel_too_large" if settled else "not_settled")
            assert not settled or places + more > LARGEST_PANEL
        else:
            assert settled and self._newest(which).missing == more
            _reached["joined"] += 1

    @rule(which=_picture, size=st.integers(3, 4))
    def fresh(self, which: int, size: int) -> None:
        panel = self._newest(which)
        try:
            made = panel_fresh(panel.image, size, now=self.now)
        except Conflict as refusal:
            assert refusal.code == "not_settled" and panel.state != PanelState.SETTLED
        else:
            assert panel.state == PanelState.SETTLED and (made.number, made.missing) == (panel.number + 1, size)
            _reached["fresh"] += 1

    @precondition(lambda self: Ruling.objects.exists())
    @rule(which=_picture, valid=st.booleans())
    def overrule(self, which: int, valid: bool) -> None:
        panel, before = self._newest(which), self._rulings(which)
        try:
            made = rule_by_board(
                image=panel.image, verdict=Verdict.VALID if valid else Verdict.REJECTED,
                label=Label.BIRD if valid else None, reasons=[] if valid else ["occluded"], explanation=WHY,
                policy=policy_in_force(self.now), now=self.now,
            )  # fmt: skip
        except Conflict as refusal:
            assert refusal.code == "not_settled" and panel.state != PanelState.SETTLED
        else:
            assert made.number == len(before) + 1 and made.response_ids == before[-1].response_ids
            _reached["overruled"] += 1

    def _newest(self, which: int) -> Panel:
        return Panel.objects.filter(image=self.images[which]).latest("number")

    def _rulings(self, which: int) -> list[Ruling]:
        return list(Ruling.objects.filter(image=self.images[which]).order_by("number"))

    @invariant()
    def panels_add_up(self) -> None:
        leased = Counter(Assignment.objects.filter(state=AssignmentState.LEASED).values_list("panel", flat=True))
        standing = Response.objects.filter(place__isnull=False, voided__isnull=True)
        answers = Counter(standing.values_list("panel", flat=True))
        for panel in Panel.objects.all():
            assert panel.answered == answers[panel.pk] <= panel.size <= LARGEST_PANEL
            assert panel.leased == leased[panel.pk] <= panel.missing
            places = panel.places.filter(response__isnull=True).count()
            assert places == panel.missing == panel.size - panel.answered
            assert (panel.missing == 0) == (panel.state in (PanelState.FULL, PanelState.SETTLED))

    @invariant()
    def the_newest_panel_alone_waits(self) -> None:
        for which in range(PICTURES):
            *earlier, _ = Panel.objects.filter(image=self.images[which]).order_by("number")
            assert all(panel.state == PanelState.SETTLED for panel in earlier)

    @invariant()
    def nobody_sees_a_picture_twice(self) -> None:
        assert not Assignment.objects.values("tasker", "image").annotate(n=Count("pk")).filter(n__gt=1).exists()

    @invariant()
    def rulings_are_numbered_and_keep_what_they_counted(self) -> None:
        for which in range(PICTURES):
            rulings = self._rulings(which)
            assert [ruling.number for ruling in rulings] == list(range(1, len(rulings) + 1))
        named = {pk for ids in self.counted.values() for pk in ids}
        standing = Response.objects.filter(pk__in=named, place__isnull=False, voided__isnull=True)
        assert standing.count() == len(named)


@pytest.mark.slow("a walk of many steps, with a look at every row after each")
@pytest.mark.django_db
@pytest.mark.parametrize(
    ("walks", "steps"), [(1, 25), pytest.param(8, 40, marks=pytest.mark.long("many walks; one and every state remain"))]
)
def test_in_any_order(walks: int, steps: int) -> None:
    factories.policy_version()
    quick = settings(max_examples=walks, stateful_step_count=steps, suppress_health_check=list(HealthCheck))
    run_state_machine_as_test(Panels, settings=quick)


@pytest.mark.slow("every state, with a look at every row after each step")
@pytest.mark.django_db
def test_the_steps_lead_to_every_state() -> None:
    """What is drawn at random may miss a state: here each is reached on purpose, with the same checks on the way."""
    factories.policy_version()
    _reached.clear()
    panels, everybody = Panels(), list(range(TASKERS))
    steps: list[Callable[[], None]] = [
        lambda: panels.work(everybody, 3, FORMS[0]),
        panels.settle,
        lambda: panels.join(0, 1),
        lambda: panels.join(1, 1),
        lambda: panels.work(everybody[3:], 2, FORMS[1]),
        lambda: panels.void(3),
        lambda: panels.work(everybody[5:], 4, FORMS[0]),
        panels.settle,
        lambda: panels.overrule(0, True),
        lambda: panels.overrule(0, False),
        lambda: panels.fresh(1, 3),
        lambda: panels.claim(12),
        lambda: panels.lapse(40),
        lambda: panels.work(everybody[::-1], TASKERS, FORMS[0]),
        panels.settle,
    ]
    try:
        for step in steps:
            step()
            panels.panels_add_up()
            panels.the_newest_panel_alone_waits()
            panels.nobody_sees_a_picture_twice()
            panels.rulings_are_numbered_and_keep_what_they_counted()
    finally:
        panels.teardown()
    wanted = {"voided", "ruled", "ruled again", "fresh ruled", "joined", "fresh", "overruled", "urgent first"}
    assert wanted <= set(+_reached)
