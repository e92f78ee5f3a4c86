"""Plays a whole contest on a virtual clock, until all prizes are decided."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial

from django.conf import settings
from django.db import transaction

from adjudication.models import Ruling
from common.mail import wait_until_sent
from contest.attacks.near_duplicates import near_duplicates_find
from contest.core.breaks import breaks_record
from contest.defenses.entries import defenses_publish
from contest.defenses.selectors import stakes_in_force, unbroken_until
from contest.defenses.stake_ends import stakes_end
from contest.outbox.writing import unsent_drop
from contest.payments.payable import payables
from contest.payments.services import payments_open
from contest.prizes.sweeps import prizes_settle
from contest.releases.builds import due_weeks_release
from contest.releases.selectors import unreleased_weeks
from contest.simulation import attackers, board, defenders, organizers
from contest.simulation.cast import ContestPlan
from contest.simulation.crowd import SimulatedTasker
from contest.simulation.report_text import ProgressReport
from contest.simulation.world import SimulationWorld
from contest.teams.same_person import same_persons_find
from labeling.dealing import panels_deal
from labeling.enums import PanelState
from labeling.models import Panel
from monitoring.links import find_copies
from scoring import services as scoring
from scoring.models import Defense
from scoring.rerun_preparation import reruns_prepare
from scoring.trials import services as trials
from scoring.trials.copies import copies_flag

Say = Callable[[int, int, str], object]
SWEEP_HOURS = (0, 4, 8, 12, 16, 20)
WORK_BEGINS, OFFICE, NIGHT = timedelta(hours=8), timedelta(hours=10, minutes=30), timedelta(hours=21)
OPENING_HOURS, SESSION_HOURS = 3.0, 4.0
AT_WORK = {True: 0.55, False: 0.2}  # the chance that somebody labels on a weekday, and at the weekend
# Where an award can still come, the contest is followed this long beyond the last stake's time.
AFTERWARDS = timedelta(days=35)
QUIET_AT_LEAST = timedelta(days=24)
FIRST_GOLD, GOLD_A_WEEK = 16, 5
SATURDAY = 5
# A run has a price of its own however few its pictures are, so that they are planned on some nights only.
RUN_NIGHTS = (2, 6)


class SimulatedContest:
    """One contest: `play` it, then read the rows and the chronicle."""

    def __init__(self, plan: ContestPlan) -> None:
        with transaction.atomic():
            self.world = SimulationWorld(plan)
            organizers.prepare(self.world)
        self.teller = ProgressReport(self.world)
        self._planned = (0, 0)

    def play(self, say: Say) -> None:
        """Play week after week, and the quiet ones after the last attack until nothing is open any more."""
        world = self.world
        with without_letters():
            for number, week in enumerate(world.weeks):
                attackers_count = _share(world.plan.attacks, world.plan.weeks, number)
                self._week(week.start, partial(attackers.week_planned, world, week, attackers_count))
                for day in range(7):
                    say(number * 7 + day, world.plan.weeks * 7, f"week {number + 1} of {world.plan.weeks}")
                    self._play_day(week.start + timedelta(days=day))
            self._quiet(say)
        world.scorer.close()

    def _week(self, start: datetime, plan: Callable[[], object]) -> None:
        """Plan a week when it begins: teams register on the first days of the first, so it is planned a day later."""
        at = start + timedelta(days=1, hours=12) if start == self.world.weeks[0].start else start
        self.world.at(at, plan)

    def _quiet(self, say: Say) -> None:
        world, day = self.world, self.world.end
        while not self._is_over(day):
            days = world.plan.weeks * 7
            say(days, days, f"after the last week, {day:%d %b %Y}")
            self._play_day(day)
            day += timedelta(days=1)

    def _is_over(self, at: datetime) -> bool:
        """Say whether nothing is to come: all released, all paid, and no stake whose time may still make a winner."""
        world = self.world
        if at < world.end + QUIET_AT_LEAST:
            return False
        last = max((until for stake in stakes_in_force() if (until := unbroken_until(stake))), default=world.end)
        if at >= max(last, world.end) + AFTERWARDS:
            return True
        waits = any(unreleased_weeks(at)) or any(row.balance for row in payables(now=at)) or payments_open().exists()
        return not waits and not board.can_award()

    # A day ------------------------------------------------------------------------------------------------------------

    def _play_day(self, morning: datetime) -> None:
        world = self.world
        for hour in SWEEP_HOURS:
            world.at(morning + timedelta(hours=hour), self._sweep, alone=True)
        world.at(morning + WORK_BEGINS, self._taskers_come, alone=True)
        world.at(morning + OFFICE, self._office, alone=True)
        world.at(morning + NIGHT, self._night, alone=True)
        world.agenda.play(morning + timedelta(days=1), transaction.atomic)

    def _sweep(self) -> None:
        world = self.world
        while panels_deal(policy=world.policy, now=world.now):
            pass
        if Panel.objects.filter(state__in=(PanelState.OPEN, PanelState.FULL)).exists():
            with transaction.atomic():
                world.crowd.rule(world.now)

    def _office(self) -> None:
        with transaction.atomic():
            organizers.day(self.world)
            board.day(self.world)
            for team in self.world.teams:
                if team.character.defends:
                    defenders.look_after(self.world, team)

    def _night(self) -> None:
        """What the sweeps of the application do all day long; and the look back on the day."""
        world = self.world
        with transaction.atomic():
            self._taskers_watched()
        self._scored()
        with transaction.atomic():
            self._flagged()
            if world.now.weekday() in RUN_NIGHTS:
                self._settled()
        due_weeks_release(clock=lambda: world.now)
        with transaction.atomic():
            self.teller.look()

    def _flagged(self) -> None:
        world = self.world
        near_duplicates_find(within=world.policy.near_duplicate_bits, now=world.now)
        if world.now.weekday() == SATURDAY:
            copies_flag(now=world.now)
            same_persons_find(now=world.now)

    def _taskers_watched(self) -> None:
        world = self.world
        world.crowd.watch(world.now)
        find_copies(now=world.now)
        world.crowd.void_answers_of_paused(world.now)
        if not world.crowd.has_gold():
            world.crowd.choose_gold(FIRST_GOLD, world.now, days=3)
        elif world.now.weekday() == 0:
            world.crowd.choose_gold(GOLD_A_WEEK, world.now, days=7)

    def _scored(self) -> None:
        """Plan and work off runs and trials until none is left: what was found may ask for more."""
        world = self.world
        while True:
            done = trials.trials_plan(policy=world.policy, now=world.now, rng=world.rng)
            done += reruns_prepare(now=world.now, rng=world.rng)
            if world.now.weekday() in RUN_NIGHTS:
                done += self._runs_planned()
            while world.scorer.work_one():
                done += 1
            with transaction.atomic():
                while breaks_record(now=world.now):
                    done += 1
            if not done and not self._published():
                return

    def _published(self) -> int:
        with transaction.atomic():
            return defenses_publish(policy=self.world.policy, now=self.world.now)

    def _runs_planned(self) -> int:
        """Plan runs where a ruling or a defense is new: what a sweep would find out by asking for each defense."""
        world = self.world
        known = (Ruling.objects.count(), Defense.objects.filter(published_at__isnull=False).count())
        if known == self._planned:
            return 0
        self._planned = known
        return scoring.runs_plan(policy=world.policy, now=world.now, rng=world.rng)

    def _settled(self) -> None:
        world = self.world
        stakes_end(now=world.now)
        prizes_settle(now=world.now)

    # Taskers ----------------------------------------------------------------------------------------------------------

    def _taskers_come(self) -> None:
        """Say who labels today, and from when on; those who copy sit together."""
        world = self.world
        if not Panel.objects.filter(state=PanelState.OPEN).exists():
            return
        chance = AT_WORK[world.now.weekday() < 5]
        together, pictures = world.rng.uniform(0, OPENING_HOURS), self._pictures_a_day()
        for worker in world.crowd.workers:
            begins = together if worker.person.notebook else world.rng.uniform(0, OPENING_HOURS)
            if worker.person.rng.random() >= chance:
                continue
            world.crowd.begin_day(worker, world.now)
            worker.left = pictures
            world.at(world.now + timedelta(hours=begins), partial(self._turn, worker, pictures))

    def _pictures_a_day(self) -> int:
        """As many as it takes to be through with a usual week in about four days."""
        plan = self.world.plan
        answers = plan.attacks / plan.weeks * self.world.policy.panel_size
        return max(6, round(answers / (plan.taskers * AT_WORK[True] * 3)))

    def _turn(self, worker: SimulatedTasker, pictures: int) -> None:
        world = self.world
        sent, seconds = world.crowd.turn(worker, world.now)
        if sent:
            world.count("answers")
        if seconds is not None:
            breath = world.rng.expovariate(pictures / (3600 * SESSION_HOURS))
            world.at(world.now + timedelta(seconds=seconds + breath), partial(self._turn, worker, pictures))


def _share(whole: int, parts: int, number: int) -> int:
    return whole // parts + (number < whole % parts)


@contextmanager
def without_letters() -> Iterator[None]:
    """Send no letters: the people of a simulation have addresses that are nobody's."""
    before = settings.EMAIL_BACKEND
    settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
    try:
        yield
    finally:
        wait_until_sent()
        unsent_drop()
        settings.EMAIL_BACKEND = before
