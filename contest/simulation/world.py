"""The state of a simulated contest: people, clock, shared data.

Everything happens through the services that people's clicks and the sweeps of the application go through; only the
clock, the randomness, the pictures and the defenses are told.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from random import Random

from django.contrib.auth.models import User
from django.db.models import Max

from accounts.roles import ORGANIZERS, REVIEW_BOARD, role_give
from common.errors import DomainError
from contest.core.weeks import week_at
from contest.simulation.cast import SimulatedTeam, draw_cast, kinds_of_taskers
from contest.simulation.clock import VirtualClock
from contest.simulation.crowd import Crowd
from contest.simulation.defenses import DEVICE, DrawnPictures, SimulatedRunner
from contest.simulation.painting import PaintedPicture
from contest.simulation.people import draw_people
from contest.simulation.pictures import PictureTruth
from contest.simulation.plans import ContestPlan
from labeling.selectors import forget_versions
from policy.calendar import Week
from policy.models import PolicyVersion
from policy.numbers import Policy
from policy.selectors import policy_in_force
from scoring.engine import ScoringEngine


class SimulationWorld(VirtualClock):
    """One contest before it is played.

    `truths` maps a picture's number to its true answers. `sent` has the attacks in their order, with sender and the end
    of their week, when others can find them. `refused` counts refusals by week and code. `planned` is the number of
    rulings and of published defenses for which runs were planned.
    """

    def __init__(self, plan: ContestPlan) -> None:
        super().__init__(datetime.combine(plan.begin, time(), UTC))
        self.plan, self.begin, self.rng = plan, self.now, Random(f"contest {plan.seed}")
        self.policy = _policy_recorded(plan, self.begin)
        self.weeks = [week_at(self.begin)]
        while len(self.weeks) < plan.weeks:
            self.weeks.append(week_at(self.weeks[-1].end + timedelta(seconds=1)))
        self.organizer, self.second_organizer = (person(name, ORGANIZERS) for name in ("organizer", "organizer2"))
        self.board = [person(f"board{number}", REVIEW_BOARD) for number in (1, 2, 3)]
        self.truths: dict[int, PictureTruth] = {}
        self.drawn = DrawnPictures()
        self.runner = SimulatedRunner(self.drawn)
        self.scorer = ScoringEngine(
            name=DEVICE, clock=lambda: self.now, device="cpu", runtime=DEVICE, find_runner=lambda _: self.runner
        )
        people = draw_people(**kinds_of_taskers(plan.taskers), seed=str(plan.seed))
        self.crowd = Crowd(
            people, rng=self.rng, policy=self.policy, organizer=self.organizer, truths=self.truths, now=self.begin
        )
        self.cast = draw_cast(plan)
        self.teams: list[SimulatedTeam] = []
        self.sent: list[tuple[SimulatedTeam, datetime, PaintedPicture]] = []
        self.refused: Counter[tuple[str, str]] = Counter()
        self.planned = (0, 0)

    @property
    def end(self) -> datetime:
        """Return when the last week in which anybody attacks is over."""
        return self.weeks[-1].end

    def week(self) -> Week:
        """Return the present week."""
        return week_at(self.now)

    def refuse(self, code: str, times: int = 1) -> None:
        """Count a refusal."""
        self.refused[self.week().name, code] += times

    @contextmanager
    def attempt(self, times: int = 1) -> Iterator[None]:
        """Run an act that may be refused, and count a refusal."""
        try:
            yield
        except DomainError as error:
            self.refuse(error.code, times)

    def remember(self, image_id: int | None, picture: PaintedPicture) -> None:
        """Remember a picture's true answers; None for one of the private set, which nobody labels."""
        if image_id in self.truths:
            return
        if image_id is not None:
            self.truths[image_id] = picture.truth
        self.drawn.add(picture)


def person(name: str, *roles: str, email: bool = False) -> User:
    """Make an account without a password."""
    user = User.objects.create_user(name, email=f"{name}@example.org" if email else "")
    for role in roles:
        role_give(user=user, role=role)
    return user


def _policy_recorded(plan: ContestPlan, begin: datetime) -> Policy:
    """Record the numbers of this contest as a version of the policy: those of the rule book but for the stake."""
    numbers = replace(policy_in_force(begin).policy, stake_hours=plan.stake_days * 24)
    newest = PolicyVersion.objects.aggregate(version=Max("version"))["version"] or 0
    PolicyVersion.objects.create(
        version=newest + 1, numbers=numbers.to_json(), in_force_from=begin, reason="The numbers of a simulated contest."
    )
    forget_versions()
    return policy_in_force(begin).policy
