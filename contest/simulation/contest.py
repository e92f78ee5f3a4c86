"""Plays a whole contest on a virtual clock, until all prizes are decided."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

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
from contest.simulation import offices, teams
from contest.simulation.crowd import OPENING_HOURS, SESSION_SECONDS
from contest.simulation.plans import ContestPlan
from contest.simulation.world import SimulationWorld
from contest.teams.same_person import same_persons_find
from labeling.dealing import panels_deal
from labeling.enums import PanelState
from labeling.models import Panel
from scoring import services as scoring
from scoring.models import Defense
from scoring.rerun_preparation import reruns_prepare
from scoring.trials import services as trials
from scoring.trials.copies import copies_flag

Say = Callable[[int, int, str], object]
SWEEP_HOURS = (0, 4, 8, 12, 16, 20)
WORK_BEGINS, OFFICE, NIGHT = timedelta(hours=8), timedelta(hours=10, minutes=30), timedelta(hours=21)
AT_WORK = {True: 0.55, False: 0.2}  # the chance that somebody labels on a weekday, and at the weekend
# Where an award can still come, the contest is followed this long beyond the last stake's time.
AFTERWARDS = timedelta(days=35)
MIN_QUIET = timedelta(days=24)
FIRST_GOLD, GOLD_PER_WEEK = 16, 5
MONDAY, SATURDAY = 0, 5
# A run has a price of its own however few its pictures are, so that they are planned on some nights only.
RUN_NIGHTS = (2, 6)


def play_contest(plan: ContestPlan, say: Say) -> SimulationWorld:
    """Play week after week, and the quiet ones after the last attack until nothing is open any more."""
    with transaction.atomic():
        world = SimulationWorld(plan)
        offices.prepare(world)
    with without_letters():
        for number, week in enumerate(world.weeks):
            # Teams register on the first days of the first week, so it is planned a day later.
            at = week.start if number else week.start + timedelta(days=1, hours=12)
            attacks = plan.attacks // plan.weeks + (number < plan.attacks % plan.weeks)
            world.at(at, teams.week_planned, world, week, attacks)
            for day in range(7):
                say(number * 7 + day, plan.weeks * 7, f"week {number + 1} of {plan.weeks}")
                _play_day(world, week.start + timedelta(days=day))
        day_after = world.end
        while not _is_over(world, day_after):
            say(plan.weeks * 7, plan.weeks * 7, f"after the last week, {day_after:%d %b %Y}")
            _play_day(world, day_after)
            day_after += timedelta(days=1)
    world.scorer.close()
    return world


def _is_over(world: SimulationWorld, at: datetime) -> bool:
    """Say whether the contest is over: all released, all paid, and no stake that can still win."""
    if at < world.end + MIN_QUIET:
        return False
    last = max((until for stake in stakes_in_force() if (until := unbroken_until(stake))), default=world.end)
    if at >= max(last, world.end) + AFTERWARDS:
        return True
    waits = any(unreleased_weeks(at)) or any(row.balance for row in payables(now=at)) or payments_open().exists()
    return not waits and not offices.can_award()


# A day ------------------------------------------------------------------------------------------------------------


def _play_day(world: SimulationWorld, morning: datetime) -> None:
    for hour in SWEEP_HOURS:
        world.at(morning + timedelta(hours=hour), _sweep, world)
    world.at(morning + WORK_BEGINS, _taskers_come, world)
    world.at(morning + OFFICE, _office, world)
    world.at(morning + NIGHT, _night, world)
    world.play(morning + timedelta(days=1))


def _sweep(world: SimulationWorld) -> None:
    while panels_deal(policy=world.policy, now=world.now):
        pass
    if Panel.objects.filter(state__in=(PanelState.OPEN, PanelState.FULL)).exists():
        world.crowd.rule(world.now)


def _taskers_come(world: SimulationWorld) -> None:
    """Say who labels today, and from when on; those who copy sit together."""
    if not Panel.objects.filter(state=PanelState.OPEN).exists():
        return
    together, pictures = world.rng.uniform(0, OPENING_HOURS), _pictures_a_day(world)
    for worker in world.crowd.workers:
        begins = world.rng.uniform(0, OPENING_HOURS) if worker.person.notebook is None else together
        if worker.person.rng.random() < AT_WORK[world.now.weekday() < SATURDAY]:
            world.crowd.begin_day(worker, world.now)
            worker.left = pictures
            world.at(world.now + timedelta(hours=begins), world.crowd.work, world, worker, pictures / SESSION_SECONDS)


def _pictures_a_day(world: SimulationWorld) -> int:
    """As many as it takes to be through with a usual week in about four days."""
    plan = world.plan
    answers = plan.attacks / plan.weeks * world.policy.panel_size
    return max(6, round(answers / (plan.taskers * AT_WORK[True] * 3)))


def _office(world: SimulationWorld) -> None:
    offices.organizers_day(world)
    offices.board_day(world)
    for team in world.teams:
        if team.defends:
            teams.look_after_defense(world, team)


def _night(world: SimulationWorld) -> None:
    """Run the work that the application's sweeps do all day long."""
    weekday = world.now.weekday()
    world.crowd.look_back(world.now)
    if not world.crowd.has_gold():
        world.crowd.choose_gold(FIRST_GOLD, world.now, days=3)
    elif weekday == MONDAY:
        world.crowd.choose_gold(GOLD_PER_WEEK, world.now, days=7)
    _score(world)
    near_duplicates_find(within=world.policy.near_duplicate_bits, now=world.now)
    if weekday == SATURDAY:
        copies_flag(now=world.now)
        same_persons_find(now=world.now)
    if weekday in RUN_NIGHTS:
        stakes_end(now=world.now)
        prizes_settle(now=world.now)
    due_weeks_release(clock=lambda: world.now)


def _score(world: SimulationWorld) -> None:
    """Plan and work off runs and trials until none is left: what was found may ask for more."""
    done = 1
    while done:
        done = trials.trials_plan(policy=world.policy, now=world.now, rng=world.rng)
        done += reruns_prepare(now=world.now, rng=world.rng)
        if world.now.weekday() in RUN_NIGHTS:
            done += _runs_planned(world)
        while world.scorer.work():
            done += 1
        while breaks_record(now=world.now):
            done += 1
        done = done or defenses_publish(policy=world.policy, now=world.now)


def _runs_planned(world: SimulationWorld) -> int:
    """Plan runs where a ruling or a defense is new: what a sweep would find out by asking for each defense."""
    known = (Ruling.objects.count(), Defense.objects.filter(published_at__isnull=False).count())
    if known == world.planned:
        return 0
    world.planned = known
    return scoring.runs_plan(policy=world.policy, now=world.now, rng=world.rng)


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
