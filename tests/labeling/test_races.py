"""32 threads against PostgreSQL, thousands of random steps: no panel over its size, nobody twice, no answer lost."""

from collections import Counter
from datetime import datetime, timedelta
from functools import partial
from itertools import count
from random import Random
from threading import Lock

import pytest
from django.db.models import Count, F, Q

from common.errors import Conflict
from labeling import services
from labeling.enums import AssignmentState, PanelState
from labeling.models import Assignment, GoldMark, Panel, Response, Tasker, VoidedResponse
from labeling.policy import Policy
from labeling.voiding import responses_void
from tests import factories
from tests.labeling.cast import at_once, beat, give_back, people, submit

pytestmark = [
    pytest.mark.postgres("claims, answers and voidings at once, with row locks"),
    pytest.mark.django_db(transaction=True),
]
THREADS, PICTURES, GOLD, TASKERS = 32, 500, 20, 24
POLICY = Policy()
FORMS = [
    {"contains_bird": "definitely_no", "contains_bicycle": "definitely_no"},
    {"contains_bird": "unsure_no", "contains_bicycle": "definitely_no"},
    {
        "contains_bird": "definitely_yes", "contains_bicycle": "definitely_no", "complete": True, "unoccluded": True,
        "real": False, "outline": [[[5, 5], [250, 9], [120, 280]]],
    },
]  # fmt: skip


class Clock:
    """A clock all threads share: each look is a second later, so that leases of 20 minutes run out in a test."""

    def __init__(self, start: datetime) -> None:
        self._start, self._ticks, self._lock = start, count(), Lock()

    def __call__(self) -> datetime:
        with self._lock:
            return self._start + timedelta(seconds=next(self._ticks))


class Person:
    """One thread's random walk as one of the taskers; several threads are the same person in several browsers."""

    def __init__(self, tasker: Tasker, clock: Clock, seed: int) -> None:
        self.tasker, self.clock, self.rng = tasker, clock, Random(seed)
        self.held: list[Assignment] = []
        self.receipts: list[str] = []
        self.refused: Counter[str] = Counter()

    def step(self) -> None:
        actions = [self.claim, self.beat, self.release, self.submit, self.lapse, self.void]
        action = self.rng.choices(actions, [40, 10, 5, 42.5, 2, 0.5])
        try:
            action[0]()
        except Conflict as refusal:
            self.refused[refusal.code] += 1

    def claim(self) -> None:
        holding = [held.public_id for held in self.held[-2:]]
        tasker = Tasker.objects.get(pk=self.tasker.pk)
        found = services.assignment_next(tasker=tasker, holding=holding, policy=POLICY, now=self.clock(), rng=self.rng)
        if isinstance(found, Assignment):
            self.held.append(found)

    def beat(self) -> None:
        if self.held:
            beat(self.rng.choice(self.held), self.clock(), POLICY)

    def release(self) -> None:
        if self.held:
            give_back(self.held.pop(self.rng.randrange(len(self.held))), self.clock())

    def submit(self) -> None:
        if not self.held:
            return
        # Sometimes an old one: its lease ran out or it was answered in another browser meanwhile.
        held = self.held.pop(self.rng.randrange(len(self.held)))
        form = self.rng.choice(FORMS)
        for _ in range(2 if self.rng.random() < 0.2 else 1):
            self.receipts.append(submit(held, self.clock(), form, POLICY).response.receipt)

    def lapse(self) -> None:
        services.leases_lapse(now=self.clock())

    def void(self) -> None:
        """An organizer voids the last minutes of somebody who is answering meanwhile (R6)."""
        since = (now := self.clock()) - timedelta(minutes=10)
        responses_void(tasker=self.tasker, since=since, reason="Looked at random.", by=None, now=now)


@pytest.mark.slow("32 threads take thousands of steps")
@pytest.mark.parametrize("steps", [2_000, pytest.param(10_000, marks=pytest.mark.long("takes half a minute"))])
def test_thousands_of_random_steps(steps: int, now: datetime) -> None:
    factories.policy_version()
    for _ in range(PICTURES):
        factories.panel()
    for _ in range(GOLD):
        factories.gold()
    taskers, clock = people(*(f"tasker-{n}" for n in range(TASKERS))), Clock(now)

    def walk(number: int) -> Person:
        person = Person(taskers[number % TASKERS], clock, seed=number)
        for _ in range(steps // THREADS):
            person.step()
        return person

    walked = at_once(*[partial(walk, number) for number in range(THREADS)])
    _audit([receipt for person in walked for receipt in person.receipts], steps)
    refusals = set().union(*(person.refused for person in walked))
    assert refusals <= {"place_taken", "lease_ended", "already_answered", "enough_held", "ask_again"}, refusals


def _audit(receipts: list[str], steps: int) -> None:
    assert set(receipts) == set(Response.objects.values_list("receipt", flat=True)), "an answer was lost"
    assert Response.objects.count() > steps / 10, "the walk did something"
    counted = Response.objects.filter(place__isnull=False, voided__isnull=True)
    assert VoidedResponse.objects.count() > steps / 1_000, "some were voided"
    gold = Response.objects.filter(assignment__known__isnull=False)
    assert gold.exists() and not gold.filter(place__isnull=False).exists(), "gold fills no place"
    assert gold.count() == GoldMark.objects.count()
    assert not counted.values("panel").annotate(n=Count("pk")).filter(n__gt=F("panel__size")).exists()
    assert not Response.objects.values("image", "tasker").annotate(n=Count("pk")).filter(n__gt=1).exists()
    held = Count("assignments", filter=Q(assignments__state=AssignmentState.LEASED))
    for panel in Panel.objects.filter(image__known__isnull=True).annotate(held=held):
        answers = counted.filter(panel=panel).count()
        assert (panel.answered, panel.leased) == (answers, panel.held)
        assert (panel.state == PanelState.OPEN) == (answers < panel.size)
    assert not (
        Assignment.objects.filter(state=AssignmentState.LEASED)
        .values("tasker").annotate(n=Count("pk")).filter(n__gt=3).exists()
    )  # fmt: skip
