"""The teams of a simulated contest: what each kind does, and how its defenses answer."""

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random

from django.contrib.auth.models import User

from contest.core.models import Team
from contest.defenses.models import DefenseEntry
from contest.simulation.plans import ContestPlan

Bounds = tuple[float, float]


class TeamRole(StrEnum):
    """What a team is like."""

    STRONG = "strong"
    WEAK = "weak"
    FLOODER = "flooder"
    COPIER = "copier"
    CHEAT = "cheat"
    UNPAID = "unpaid"
    ROBUST = "robust"
    FRAGILE = "fragile"
    CLOSED = "closed"
    SELF_STAKER = "self-staker"
    SLOW = "slow"


@dataclass(frozen=True, slots=True)
class Strategy:
    """The behaviour of one kind of team.

    `attacks` is a team's share of the attacks, relative to the others, and `bite` the bounds of its pictures' bite. A
    team with a `skill` submits defenses: the bounds of the first one's `weakness` and `abstains`.
    """

    attacks: int = 0
    bite: Bounds = (0.0, 0.3)
    skill: tuple[Bounds, ...] = ()


STRATEGIES = {
    TeamRole.STRONG: Strategy(attacks=8, bite=(0.3, 1.0)),
    TeamRole.WEAK: Strategy(attacks=4),
    TeamRole.FLOODER: Strategy(attacks=22),
    TeamRole.COPIER: Strategy(attacks=3),
    TeamRole.CHEAT: Strategy(attacks=4, bite=(0.2, 0.7)),
    TeamRole.UNPAID: Strategy(attacks=6, bite=(0.3, 1.0)),
    TeamRole.ROBUST: Strategy(skill=((0.0, 0.012), (0.04, 0.10))),
    TeamRole.FRAGILE: Strategy(skill=((0.05, 0.20), (0.0, 0.08))),
    TeamRole.CLOSED: Strategy(skill=((0.002, 0.02), (0.05, 0.10))),
    TeamRole.SELF_STAKER: Strategy(attacks=1, skill=((0.001, 0.02), (0.04, 0.10))),
    TeamRole.SLOW: Strategy(skill=((0.0, 0.0), (0.1, 0.1))),
}
# Roles of the teams, repeated in this order: a small contest has one team of each usual kind.
_USUAL = ("strong", "robust", "fragile", "weak", "flooder", "self-staker", "unpaid", "copier", "cheat", "closed")
_MORE = ("weak", "slow", "strong", "robust", "weak", "fragile", "strong", "weak", "self-staker", "weak")
_ORDER = [TeamRole(role) for role in (*_USUAL, *_MORE)]


@dataclass(frozen=True, slots=True)
class DefenseSkill:
    """How a simulated defense answers.

    `weakness` times the bite of an attack is the chance of taking it for the other class; `abstains` that of not
    committing itself. A `randomised` one draws again in each round. One that is `slow` answers nothing in time.
    """

    weakness: float
    abstains: float
    randomised: bool = False
    slow: bool = False


@dataclass(slots=True, eq=False)
class SimulatedTeam:
    """A team: `versions` counts its submissions so far; once registered, it has a row, a captain and entries."""

    number: int
    name: str
    role: TeamRole
    rng: Random
    versions: int = 0
    entitled: bool = False
    team: Team = field(init=False)
    captain: User = field(init=False)
    entries: list[DefenseEntry] = field(default_factory=list)

    @property
    def strategy(self) -> Strategy:
        """Return its strategy."""
        return STRATEGIES[self.role]

    @property
    def defends(self) -> bool:
        """Say whether it submits defenses."""
        return bool(self.strategy.skill)

    @property
    def by_paper(self) -> bool:
        """Say whether it asks to be entitled by a paper; the others are granted it by the board."""
        return self.number % 2 == 0

    def next_skill(self) -> DefenseSkill:
        """Make up the next defense of this team; later versions are a little better on average."""
        weakness, abstains = (self.rng.uniform(*bounds) for bounds in self.strategy.skill)
        first = self.versions == 0
        return DefenseSkill(
            weakness * 0.8**self.versions,
            abstains,
            randomised=first and self.role is TeamRole.FRAGILE,
            slow=first and self.role is TeamRole.SLOW,
        )


def draw_cast(plan: ContestPlan) -> list[SimulatedTeam]:
    """Make up the teams, each with a generator of its own."""
    counts: Counter[TeamRole] = Counter()
    cast = []
    for number in range(plan.teams):
        role = _ORDER[number % len(_ORDER)]
        counts[role] += 1
        name = f"{role}-{counts[role]}"
        cast.append(SimulatedTeam(number, name, role, Random(f"{plan.seed}:team:{name}")))
    return cast


def kinds_of_taskers(count: int) -> dict[str, int]:
    """Return how many taskers of each kind there are: mostly honest ones."""
    few = {"careless": count // 12, "random": int(count >= 8), "copying": 2 if count >= 10 else 0}
    return {"honest": count - sum(few.values()), **few}
