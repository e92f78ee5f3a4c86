"""Eight threads do everything that locks panels, leases and taskers, on a few pictures: none of them is refused because
two waited for each other. The order of the locks is at the head of `labeling/models/panels.py`."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import count
from random import Random
from time import sleep

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction

from adjudication.enums import Reason, Verdict
from adjudication.services import panels_settle, rule_by_board
from common.errors import Conflict, NotFound
from labeling import services
from labeling.asking.services import report_decide, report_make
from labeling.enums import AssignmentState, PanelState, ReportDecision, ReportKind, TaskerState, WatchAction
from labeling.models import Assignment, KnownPicture, Panel, Report, Response, Tasker
from labeling.more_taskers import panel_fresh, panel_join
from labeling.policy import Policy
from labeling.selectors import policy_in_force
from labeling.voiding import responses_void
from labeling.watching.actions import action_take, tasker_return
from tests import factories
from tests.at_once import at_once

pytestmark = [
    pytest.mark.postgres("locks of rows: SQLite has one writer"),
    pytest.mark.slow("eight threads at work"),
    pytest.mark.django_db(transaction=True),
]
THREADS, STEPS, PICTURES, GOLD, TASKERS = 8, 60, 12, 4, 4
POLICY = Policy(lease_seconds=60, gold_percent=30)
FORM = {"contains_bird": "definitely_no", "contains_bicycle": "definitely_no"}


class Hand:
    """One thread: a tasker in one of two browsers, and at times an organizer or a sweep."""

    def __init__(self, number: int, olga: User, start: datetime) -> None:
        self.name, self.olga, self.rng = f"t{number % TASKERS}", olga, Random(number)
        self._start, self._ticks = start, count(number)
        self.held: list[Assignment] = []
        self.refused, self.done = Counter[str](), 0
        self.acts: dict[Callable[[], object], int] = {
            self.claim: 40, self.submit: 25, self.beat: 6, self.release: 6, self.lapse: 4, self.pause: 3, self.void: 3,
            self.settle: 6, self.more: 4, self.rule: 2, self.report: 2, self.decide: 3, self.deal: 3,
        }  # fmt: skip

    def now(self) -> datetime:
        return self._start + timedelta(seconds=next(self._ticks))

    def work(self) -> None:
        for act in self.rng.choices(list(self.acts), list(self.acts.values()), k=STEPS):
            try:
                act()
                self.done += 1
            except (Conflict, NotFound) as refusal:
                self.refused[refusal.code] += 1

    @property
    def tasker(self) -> Tasker:
        return Tasker.objects.get(user__username=self.name)

    def _of_mine(self) -> Assignment | None:
        return self.rng.choice(self.held) if self.held else None

    def claim(self) -> None:
        holding = [each.public_id for each in self.held[-2:]]
        found = services.assignment_next(
            tasker=self.tasker, holding=holding, policy=POLICY, now=self.now(), rng=self.rng
        )
        if isinstance(found, Assignment):
            self.held = [*self.held[-5:], found]

    def submit(self) -> None:
        if held := self._of_mine():
            services.response_submit(
                tasker=self.tasker, assignment_id=held.public_id, lease_token=held.lease_token, data=FORM,
                policy_at=lambda _: POLICY, now=self.now(),
            )  # fmt: skip

    def beat(self) -> None:
        if held := self._of_mine():
            services.assignment_heartbeat(
                tasker=self.tasker, assignment_id=held.public_id, lease_token=held.lease_token, policy=POLICY,
                now=self.now(),
            )  # fmt: skip

    def release(self) -> None:
        if held := self._of_mine():
            services.assignment_release(
                tasker=self.tasker, assignment_id=held.public_id, lease_token=None, problem="", now=self.now()
            )

    def lapse(self) -> None:
        services.leases_lapse(now=self.now())

    def pause(self) -> None:
        tasker = self.tasker
        if tasker.state == TaskerState.QUALIFIED:
            action_take(tasker=tasker, action=WatchAction.PAUSE, reason="Looked at.", now=self.now(), by=self.olga)
            tasker.refresh_from_db()
        if tasker.state == TaskerState.PAUSED:
            tasker_return(tasker=tasker, reason="Looked at.", by=self.olga, now=self.now())

    def void(self) -> None:
        responses_void(tasker=self.tasker, since=None, reason="Looked at random.", by=self.olga, now=self.now())

    def settle(self) -> None:
        panels_settle(policy_at=policy_in_force, now=self.now())

    def _panel(self) -> Panel:
        panels = Panel.objects.filter(image__known__isnull=True).select_related("image")
        return self.rng.choice(list(panels))

    def more(self) -> None:
        panel = self._panel()
        if self.rng.random() < 0.5:
            panel_join(panel, 1, now=self.now())
        else:
            panel_fresh(panel.image, 3, now=self.now())

    def rule(self) -> None:
        rule_by_board(
            image=self._panel().image, verdict=Verdict.REJECTED, label=None, reasons=[Reason.OCCLUDED],
            explanation="The wing is behind a post, which all three of the answers overlooked.",
            policy=policy_in_force(self.now()), now=self.now(),
        )  # fmt: skip

    def report(self) -> None:
        if held := self._of_mine():
            report_make(
                tasker=self.tasker, assignment_id=held.public_id, lease_token=held.lease_token,
                kind=ReportKind.OTHER, words="", now=self.now(),
            )  # fmt: skip

    def decide(self) -> None:
        report = Report.objects.filter(decided_at__isnull=True).select_related("image").first()
        if report is not None:
            report_decide(image=report.image, decision=ReportDecision.REOPENED, reply="", by=self.olga, now=self.now())

    def deal(self) -> None:
        factories.panel(dealt_at=self.now())


def test_no_deadlock_of_mixed_work_reaches_anybody(olga: User, now: datetime) -> None:
    """One is left, and done again: two requests of one tasker, of which one took a picture and had to give it back, and
    then wants the picture that the other one is taking."""
    factories.policy_version()
    for _ in range(PICTURES):
        factories.panel()
    for _ in range(GOLD):
        factories.gold()
    for number in range(TASKERS):
        factories.tasker(f"t{number}")
    hands = [Hand(number, olga, now) for number in range(THREADS)]
    at_once(*(hand.work for hand in hands))
    refused = sum((hand.refused for hand in hands), Counter())
    assert sum(hand.done for hand in hands) > 100 and Response.objects.count() > 20, refused


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
    policy = replace(POLICY, gold_percent=50 if waiting == "gold" else 0)

    def work() -> object:
        if lapsed is not None and waiting == "heartbeat":
            return services.assignment_heartbeat(
                tasker=tara, assignment_id=lapsed.public_id, lease_token=lapsed.lease_token, policy=policy, now=now
            )
        return services.assignment_next(tasker=tara, holding=(), policy=policy, now=now, rng=_Heads(1))

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            factories.assignment(tara, other, state=AssignmentState.LEASED)
            done = pool.submit(at_once, work)
            _wait_for_somebody_to_wait()
            locked = Panel.objects.select_for_update(nowait=True, no_key=True)
            list(locked.filter(pk=panel.pk).values_list("pk"))
            list(KnownPicture.objects.select_for_update(nowait=True, no_key=True).values_list("pk"))
        assert done.result(30) != [None]


class _Heads(Random):
    """Draws gold whenever there is any."""

    def randrange(self, *_: int) -> int:
        return 0


def _wait_for_somebody_to_wait() -> None:
    for _ in range(1_000):
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM pg_locks WHERE NOT granted")
            if cursor.fetchone():
                return
        sleep(0.01)
    raise AssertionError("nobody waits")
