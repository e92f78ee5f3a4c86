"""The state of a simulated contest: people, clock, shared knowledge.

Everything happens through the services that people's clicks and the sweeps of the application go through; only the
clock, the randomness, the pictures and the defenses are told.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, time, timedelta
from io import BytesIO
from random import Random
from zipfile import ZipFile, ZipInfo

from django.contrib.auth.models import User
from django.db.models import Max

from accounts.roles import ORGANIZERS, REVIEW_BOARD, role_give
from contest.core.calendar import Week
from contest.core.models import Team
from contest.core.weeks import week_at
from contest.defenses.models import DefenseEntry
from contest.simulation.agenda import EventQueue
from contest.simulation.cast import ContestPlan, SimulatedTeam, draw_cast, kinds_of_taskers
from contest.simulation.crowd import Crowd
from contest.simulation.painting import PaintedPicture, pixels_of
from contest.simulation.people import draw_people
from contest.simulation.pictures import PictureTruth
from contest.simulation.strategies import DEVICE, DrawnPictures, SimulatedRunner
from contest.simulation.timeline import SimulationLog
from labeling.selectors import forget_versions
from policy.models import PolicyVersion
from policy.numbers import Policy
from policy.selectors import PolicyInForce, policy_in_force
from scoring.engine import ScoringEngine

PASSWORD = "demo-only"
BOARD = ("board1", "board2", "board3")
SIGN_INS = ("organizer", "organizer2", *BOARD)
# Who may sign in where the pages of a simulation are served: the offices, and who comes first of each kind.
Say = Callable[[int, int, str], object]


@dataclass(slots=True)
class PublicAttack:
    """A picture that a team sent, as other teams find it once it is public."""

    team: SimulatedTeam
    painted: PaintedPicture
    week: Week


@dataclass(slots=True)
class TeamAtWork:
    """A team with its captain, and the entries it handed in, newest last; `entitled` once it was granted to attack."""

    character: SimulatedTeam
    team: Team
    captain: User
    entries: list[DefenseEntry] = field(default_factory=list)
    entitled: bool = False


class SimulationWorld:
    """One contest before it is played."""

    def __init__(self, plan: ContestPlan) -> None:
        self.plan, self.rng = plan, Random(f"contest {plan.seed}")
        self.begin = datetime.combine(plan.begin, time(), UTC)
        self.now = self.begin
        self.agenda, self.chronicle = EventQueue(), SimulationLog()
        self.policy_in_force: PolicyInForce = _policy_recorded(plan, self.begin)
        self.weeks = list(_weeks(self.begin, plan.weeks))
        self.organizer, self.second_organizer = (person(name, ORGANIZERS) for name in ("organizer", "organizer2"))
        self.board = [person(name, REVIEW_BOARD) for name in BOARD]
        self.truths: dict[int, PictureTruth] = {}
        self.memory = DrawnPictures()
        self.runner = SimulatedRunner(self.memory)
        self.scorer = ScoringEngine(
            name=DEVICE, clock=lambda: self.now, device="cpu", runtime=DEVICE, find_runner=lambda _: self.runner
        )
        self.crowd = self._hired()
        self.cast = draw_cast(plan)
        self.teams: list[TeamAtWork] = []
        self.sent: list[PublicAttack] = []

    def _hired(self) -> Crowd:
        people = draw_people(**kinds_of_taskers(self.plan.taskers), seed=str(self.plan.seed))
        return Crowd(
            people,
            rng=self.rng,
            policy=self.policy_in_force,
            organizer=self.organizer,
            truths=self.truths,
            now=self.begin,
        )

    @property
    def policy(self) -> Policy:
        """Return the numbers of this contest."""
        return self.policy_in_force.policy

    @property
    def end(self) -> datetime:
        """Return when the last week in which anybody attacks is over."""
        return self.weeks[-1].end

    def week(self) -> str:
        """Return the name of the week of now."""
        return week_at(self.now).name

    def at(self, moment: datetime, action: Callable[[], object], *, alone: bool = False) -> None:
        """Let `action` happen at a moment of this world; see Agenda for `alone`."""

        def due(now: datetime) -> None:
            self.now = now
            action()

        self.agenda.add(moment, due, alone=alone)

    def count(self, name: str, more: int = 1) -> None:
        """Count something of this week."""
        self.chronicle.count(self.week(), name, more)

    def note(self, sentence: str) -> None:
        """Write down what happened now."""
        self.chronicle.note(self.week(), self.now, sentence)

    def remember(self, image_id: int | None, painted: PaintedPicture) -> None:
        """Know what is true of a picture; None for one of the private set, which is nobody's to label."""
        if image_id is not None and image_id in self.truths:
            return
        if image_id is not None:
            self.truths[image_id] = painted.truth
        self.memory.add(pixels_of(painted.data), painted.truth, painted.bite)


def person(name: str, *roles: str, email: bool = False) -> User:
    """Make an account without a password."""
    user = User.objects.create_user(name, email=f"{name}@example.org" if email else "")
    for role in roles:
        role_give(user=user, role=role)
    return user


def zip_of(files: dict[str, str]) -> bytes:
    """Return a zip of texts, the same bytes for the same texts."""
    packed = BytesIO()
    with ZipFile(packed, "w") as archive:
        for name, text in files.items():
            archive.writestr(ZipInfo(name), text)
    return packed.getvalue()


def _policy_recorded(plan: ContestPlan, begin: datetime) -> PolicyInForce:
    """Record the numbers of this contest as a version of the policy: those of the rule book but for the stake."""
    numbers = replace(policy_in_force(begin).policy, stake_hours=plan.stake_days * 24)
    newest = PolicyVersion.objects.aggregate(version=Max("version"))["version"] or 0
    PolicyVersion.objects.create(
        version=newest + 1, numbers=numbers.to_json(), in_force_from=begin, reason="The numbers of a simulated contest."
    )
    forget_versions()
    return policy_in_force(begin)


def _weeks(begin: datetime, count: int) -> Iterator[Week]:
    week = week_at(begin)
    for _ in range(count):
        yield week
        week = week_at(week.end + timedelta(seconds=1))
