"""Simulates a month of labeling through the real services on a virtual clock.

People answer in the order in which the hours of a working day bring them; the sweeps run as they do in the contest,
only less often. What happens is the rows' to say: see `contest.simulation.outcome`.
"""

import hashlib
import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from accounts.roles import ORGANIZERS, role_give
from contest.simulation.crowd import Crowd
from contest.simulation.people import SimulatedPerson, draw_people
from contest.simulation.pictures import SIDE, PictureTruth, draw_picture
from labeling.dealing import panels_deal
from labeling.enums import Origin, PanelState
from labeling.models import Image, Panel
from monitoring.links import find_copies
from policy.selectors import PolicyInForce, policy_in_force

BEGIN = datetime(2026, 11, 2, 8, 0, tzinfo=UTC)  # a Monday
WORKING_DAYS = 5
OPENING_HOURS = 3.0  # within which people begin
SESSION_HOURS = 4.0
SWEEP = timedelta(hours=4)
EVENING = timedelta(hours=12)
SPARE = 1.15  # pictures imported for each one that is answered to the end
TURNS_AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class MonthPlan:
    """What is simulated; the same plan gives the same month."""

    seed: int = 1
    honest: int = 44
    careless: int = 3
    random: int = 1
    copying: int = 2
    days: int = 22
    pictures_a_day: int = 20
    first_gold: int = 80
    gold_a_day: int = 5

    @property
    def taskers(self) -> int:
        """Return how many people label."""
        return self.honest + self.careless + self.random + self.copying


class SimulatedMonth:
    """One month: `play` it, then read the rows."""

    def __init__(self, plan: MonthPlan) -> None:
        self.plan, self.rng = plan, Random(f"month {plan.seed}")
        self.policy: PolicyInForce = policy_in_force(BEGIN)
        organizer = User.objects.create_user("organizer")
        role_give(user=organizer, role=ORGANIZERS)
        self.truths: dict[int, PictureTruth] = {}
        self.crowd = Crowd(
            self._people(), rng=self.rng, policy=self.policy, organizer=organizer, truths=self.truths, now=BEGIN
        )
        self.workers = self.crowd.workers

    def _people(self) -> list[SimulatedPerson]:
        plan = self.plan
        return draw_people(
            honest=plan.honest, careless=plan.careless, random=plan.random, copying=plan.copying, seed=str(plan.seed)
        )

    def play(self, say: Callable[[str], Any]) -> None:
        """Play every working day."""
        for number, morning in enumerate(mornings(self.plan.days), start=1):
            answers = WorkingDay(self, morning).play()
            self._evening(morning + EVENING)
            say(f"seed {self.plan.seed}, day {number} of {self.plan.days}: {answers:,} answers")

    def _evening(self, now: datetime) -> None:
        """After work: the sweeps, the look for copies, and what an organizer does."""
        crowd = self.crowd
        crowd.sweep(now)
        find_copies(now=now)
        crowd.void_answers_of_paused(now)
        crowd.choose_gold(self.plan.gold_a_day if crowd.has_gold() else self.plan.first_gold, now)


def mornings(days: int) -> Iterator[datetime]:
    """Yield when each working day begins."""
    for number in range(days):
        weeks, day = divmod(number, WORKING_DAYS)
        yield BEGIN + timedelta(days=7 * weeks + day)


class WorkingDay:
    """One working day of a month."""

    def __init__(self, month: SimulatedMonth, morning: datetime) -> None:
        self.month, self.morning = month, morning
        self.policy = month.policy.policy
        self.answers = 0
        self.next_sweep = morning + SWEEP
        self.queue: list[tuple[datetime, int]] = []

    def play(self) -> int:
        """Play the day; returns how many answers were given."""
        self._import_pictures()
        self._begin()
        while self.queue:
            with transaction.atomic():  # many turns in one, which is what takes long on a disk
                for _ in range(min(TURNS_AT_ONCE, len(self.queue) * 2)):
                    if self.queue:
                        self._turn_of_next()
        return self.answers

    def _import_pictures(self) -> None:
        """Have as many pictures waiting as the day's answers need, and some to spare."""
        month = self.month
        wanted = int(SPARE * month.plan.taskers * month.plan.pictures_a_day / self.policy.panel_size)
        waiting = Panel.objects.filter(state=PanelState.OPEN).count()
        for _ in range(max(0, wanted - waiting)):
            truth = draw_picture(month.rng)
            image = picture_row(f"{month.plan.seed}:{len(month.truths)}", self.morning)
            month.truths[image.pk] = truth
        while panels_deal(policy=self.policy, now=self.morning):
            pass

    def _begin(self) -> None:
        """Say when each begins; those who copy sit together."""
        month = self.month
        together = self.morning + timedelta(hours=month.rng.uniform(0, OPENING_HOURS))
        for place, worker in enumerate(month.workers):
            alone = self.morning + timedelta(hours=month.rng.uniform(0, OPENING_HOURS))
            month.crowd.begin_day(worker, self.morning)
            worker.left = round(month.plan.pictures_a_day * month.rng.uniform(0.85, 1.15))
            heapq.heappush(self.queue, (together if worker.person.notebook else alone, place))

    def _turn_of_next(self) -> None:
        at, place = heapq.heappop(self.queue)
        while at >= self.next_sweep:
            self.month.crowd.sweep(self.next_sweep)
            self.next_sweep += SWEEP
        sent, seconds = self.month.crowd.turn(self.month.workers[place], at)
        self.answers += sent
        if seconds is not None:
            heapq.heappush(self.queue, (at + self._until_next(seconds), place))

    def _until_next(self, seconds: float) -> timedelta:
        """The time an answer takes, and a breath, so that a day's pictures fill a session."""
        breath = 3600 * SESSION_HOURS / self.month.plan.pictures_a_day
        return timedelta(seconds=seconds + self.month.rng.expovariate(1 / breath))


def picture_row(name: str, now: datetime) -> Image:
    """Record a picture that has no pixels."""
    sha = hashlib.sha256(name.encode()).hexdigest()
    return Image.objects.create(
        pixels_sha256=sha,
        original_sha256=sha,
        original_format="PNG",
        width=SIDE,
        height=SIDE,
        origin=Origin.DATASET,
        source="simulation",
        licence="none: it has no pixels",
        received_at=now,
        label_from=now,
    )
