"""Panels, leases, voidings, rulings, reports, and what the board asks for: in any order, one after the other (R6-R8,
R16, R19, R20), and eight threads at once, of which none is refused because two waited for each other. The order of
the locks is at the head of `labeling/models/panels.py`."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import count
from random import Random
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import Count, F
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from adjudication.enums import DecidedBy, Reason, Verdict
from adjudication.models import Ruling
from adjudication.services import panels_settle, rule_by_board
from common.errors import Conflict, NotAllowed, NotFound
from labeling import leases
from labeling.enums import AssignmentState, Label, MonitoringAction, PanelState, ReportDecision, ReportKind, TaskerState
from labeling.models import Assignment, KnownPicture, Panel, Report, Response, Tasker
from labeling.more_taskers import panel_fresh, panel_join
from labeling.questions.services import report_create, report_decide
from labeling.submission import response_submit
from labeling.voiding import responses_void
from monitoring.actions import action_take, tasker_return
from policy.numbers import MAX_PANEL_SIZE, Policy
from policy.selectors import policy_in_force
from tests import factories
from tests.at_once import at_once
from tests.processes import wait_for

WHY = "The answers show one bird, complete and large enough; the twig hides nothing of it."


# What always holds ----------------------------------------------------------------------------------------------------


def panels_add_up() -> None:
    leased = Counter(Assignment.objects.filter(state=AssignmentState.LEASED).values_list("panel", flat=True))
    standing = Response.objects.filter(place__isnull=False, voided__isnull=True)
    answers = Counter(standing.values_list("panel", flat=True))
    for panel in Panel.objects.filter(image__known__isnull=True):
        assert panel.answered == answers[panel.pk] <= panel.size <= MAX_PANEL_SIZE
        assert panel.leased == leased[panel.pk] <= panel.missing
        assert panel.places.filter(response__isnull=True).count() == panel.missing == panel.size - panel.answered
        assert (panel.missing == 0) == (panel.state in (PanelState.FULL, PanelState.SETTLED))


def nobody_sees_a_picture_twice() -> None:
    assert not Assignment.objects.values("tasker", "image").annotate(n=Count("pk")).filter(n__gt=1).exists()


# In any order ---------------------------------------------------------------------------------------------------------


TASKERS, PICTURES = 14, 2
POLICY = Policy(gold_percent=0)
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
        held = leases.assignment_next(tasker=tasker, holding=(), policy=POLICY, now=self.now, rng=self.rng)
        if not held_before and any(panel.urgent for panel in free):
            _reached["urgent first"] += not all(panel.urgent for panel in free)
            assert isinstance(held, Assignment) and held.panel.urgent
        assert isinstance(held, Assignment) or not free, "nobody is idle while there is work"
        if isinstance(held, Assignment) and answers:
            response_submit(
                tasker=tasker, assignment_id=held.public_id, lease_token=held.lease_token, data=form,
                policy_at=lambda _: POLICY, now=self.now,
            )  # fmt: skip

    @rule(minutes=st.sampled_from([5, 40]))
    def lapse(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes)
        leases.leases_lapse(now=self.now)

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
            assert not settled or places + more > MAX_PANEL_SIZE
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
    def all_adds_up(self) -> None:
        panels_add_up()
        nobody_sees_a_picture_twice()

    @invariant()
    def the_newest_panel_alone_waits(self) -> None:
        for which in range(PICTURES):
            *earlier, _ = Panel.objects.filter(image=self.images[which]).order_by("number")
            assert all(panel.state == PanelState.SETTLED for panel in earlier)

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
            panels.all_adds_up()
            panels.the_newest_panel_alone_waits()
            panels.rulings_are_numbered_and_keep_what_they_counted()
    finally:
        panels.teardown()
    wanted = {"voided", "ruled", "ruled again", "fresh ruled", "joined", "fresh", "overruled", "urgent first"}
    assert wanted <= set(+_reached)


# Eight threads --------------------------------------------------------------------------------------------------------


THREADS, STEPS, HANDS = 8, 60, 4
WITH_GOLD = Policy(lease_seconds=60, gold_percent=30)


class Hand:
    """One thread: a tasker in one of two browsers, and at times an organizer or a sweep."""

    def __init__(self, number: int, olga: User, start: datetime) -> None:
        self.name, self.olga, self.rng = f"t{number % HANDS}", olga, Random(number)
        self._start, self._ticks = start, count(number)
        self.held: list[Assignment] = []
        self.refused, self.done = Counter[str](), 0
        self.acts: dict[Callable[[], object], int] = {
            self.claim: 40, self.submit: 25, self.beat: 6, self.release: 6, self.pause: 3, self.void: 3, self.more: 4,
            self.rule: 2, self.report: 2, self.decide: 3,
            lambda: leases.leases_lapse(now=self.now()): 4,
            lambda: panels_settle(policy_at=policy_in_force, now=self.now()): 6,
            lambda: factories.panel(dealt_at=self.now()): 3,
        }  # fmt: skip

    def now(self) -> datetime:
        return self._start + timedelta(seconds=next(self._ticks))

    def work(self) -> None:
        for act in self.rng.choices(list(self.acts), list(self.acts.values()), k=STEPS):
            try:
                act()
                self.done += 1
            except (Conflict, NotAllowed, NotFound) as refusal:
                self.refused[refusal.code] += 1

    @property
    def tasker(self) -> Tasker:
        return Tasker.objects.get(user__username=self.name)

    def _of_mine(self) -> Assignment | None:
        return self.rng.choice(self.held) if self.held else None

    def claim(self) -> None:
        holding = [each.public_id for each in self.held[-2:]]
        found = leases.assignment_next(
            tasker=self.tasker, holding=holding, policy=WITH_GOLD, now=self.now(), rng=self.rng
        )
        if isinstance(found, Assignment):
            self.held = [*self.held[-5:], found]

    def submit(self) -> None:
        if held := self._of_mine():
            response_submit(
                tasker=self.tasker, assignment_id=held.public_id, lease_token=held.lease_token, data=FORMS[1],
                policy_at=lambda _: WITH_GOLD, now=self.now(),
            )  # fmt: skip

    def beat(self) -> None:
        if held := self._of_mine():
            leases.assignment_heartbeat(
                tasker=self.tasker, assignment_id=held.public_id, lease_token=held.lease_token, policy=WITH_GOLD,
                now=self.now(),
            )  # fmt: skip

    def release(self) -> None:
        if held := self._of_mine():
            leases.assignment_release(
                tasker=self.tasker, assignment_id=held.public_id, lease_token=None, problem="", now=self.now()
            )

    def pause(self) -> None:
        looked: dict[str, Any] = {"reason": "Looked at.", "by": self.olga}
        if (tasker := self.tasker).state == TaskerState.QUALIFIED:
            action_take(tasker=tasker, action=MonitoringAction.PAUSE, now=self.now(), **looked)
        if (tasker := self.tasker).state == TaskerState.PAUSED:
            tasker_return(tasker=tasker, now=self.now(), **looked)

    def void(self) -> None:
        responses_void(tasker=self.tasker, since=None, reason="Looked at random.", by=self.olga, now=self.now())

    def _panel(self) -> Panel:
        return self.rng.choice(list(Panel.objects.filter(image__known__isnull=True).select_related("image")))

    def more(self) -> None:
        panel = self._panel()
        if self.rng.random() < 0.5:
            panel_join(panel, 1, now=self.now())
        else:
            panel_fresh(panel.image, 3, now=self.now())

    def rule(self) -> None:
        rule_by_board(
            image=self._panel().image, verdict=Verdict.REJECTED, label=None, reasons=[Reason.OCCLUDED],
            explanation=WHY, policy=policy_in_force(self.now()), now=self.now(),
        )  # fmt: skip

    def report(self) -> None:
        if held := self._of_mine():
            report_create(
                tasker=self.tasker, assignment_id=held.public_id, lease_token=held.lease_token,
                kind=ReportKind.OTHER, words="", now=self.now(),
            )  # fmt: skip

    def decide(self) -> None:
        report = Report.objects.filter(decided_at__isnull=True).select_related("image").first()
        if report is not None:
            report_decide(image=report.image, decision=ReportDecision.REOPENED, reply="", by=self.olga, now=self.now())


@pytest.mark.postgres("locks of rows: SQLite has one writer")
@pytest.mark.slow("eight threads at work")
@pytest.mark.django_db(transaction=True)
def test_no_deadlock_of_mixed_work_reaches_anybody_and_all_adds_up(olga: User, now: datetime) -> None:
    """One is left, and done again: two requests of one tasker, of which one took a picture and had to give it back, and
    then wants the picture that the other one is taking."""
    factories.policy_version()
    for _ in range(12):
        factories.panel()
    for _ in range(4):
        factories.gold()
    for number in range(HANDS):
        factories.tasker(f"t{number}")
    hands = [Hand(number, olga, now) for number in range(THREADS)]
    assert at_once(*(hand.work for hand in hands)) == [None] * THREADS
    refused = sum((hand.refused for hand in hands), Counter())
    assert sum(hand.done for hand in hands) > 100 and Response.objects.count() > 20, refused
    panels_add_up()
    nobody_sees_a_picture_twice()


@pytest.mark.postgres("locks of rows: SQLite has one writer")
@pytest.mark.slow("eight threads at work")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("waiting", ["claim", "gold", "again", "heartbeat"])
def test_who_waits_for_a_slot_holds_no_panel(waiting: str, tara: Tasker, now: datetime) -> None:
    """Another request of the same tasker has the slot, and has not committed: whoever needs the panel goes on."""
    factories.policy_version()
    panel, other = factories.panel(), factories.panel(dealt_at=now + timedelta(days=1))
    Panel.objects.filter(pk=other.pk).update(state=PanelState.HELD)  # nobody new is asked
    gold, lapsed = factories.gold(), None
    if waiting in ("again", "heartbeat"):
        lapsed = factories.assignment(tara, panel, state=AssignmentState.EXPIRED)
        factories.assignment(tara, gold.panel, known=gold)
    policy = replace(WITH_GOLD, gold_percent=50 if waiting == "gold" else 0)

    def work() -> object:
        if lapsed is not None and waiting == "heartbeat":
            return leases.assignment_heartbeat(
                tasker=tara, assignment_id=lapsed.public_id, lease_token=lapsed.lease_token, policy=policy, now=now
            )
        return leases.assignment_next(tasker=tara, holding=(), policy=policy, now=now, rng=_Heads(1))

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            factories.assignment(tara, other, state=AssignmentState.LEASED)
            done = pool.submit(at_once, work)
            wait_for(_somebody_waits, "the other request")
            locked = Panel.objects.select_for_update(nowait=True, no_key=True)
            list(locked.filter(pk=panel.pk).values_list("pk"))
            list(KnownPicture.objects.select_for_update(nowait=True, no_key=True).values_list("pk"))
        assert done.result(30) != [None]


class _Heads(Random):
    """Draws gold whenever there is any."""

    def randrange(self, *_: int) -> int:
        return 0


def _somebody_waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_locks WHERE NOT granted")
        return cursor.fetchone() is not None
