"""The participants of a simulated contest and their traits. Pure."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from random import Random


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


DEFENDERS = (TeamRole.ROBUST, TeamRole.FRAGILE, TeamRole.CLOSED, TeamRole.SELF_STAKER, TeamRole.SLOW)
# What the teams are, in this order and again from the beginning: a small contest has one of the usual kinds each.
_ORDER = (
    *(
        TeamRole.STRONG,
        TeamRole.ROBUST,
        TeamRole.FRAGILE,
        TeamRole.WEAK,
        TeamRole.FLOODER,
        TeamRole.SELF_STAKER,
        TeamRole.UNPAID,
        TeamRole.COPIER,
    ),
    *(
        TeamRole.CHEAT,
        TeamRole.CLOSED,
        TeamRole.WEAK,
        TeamRole.SLOW,
        TeamRole.STRONG,
        TeamRole.ROBUST,
        TeamRole.WEAK,
        TeamRole.FRAGILE,
    ),
    *(TeamRole.STRONG, TeamRole.WEAK, TeamRole.SELF_STAKER, TeamRole.WEAK),
)
# How much of the attacks a team of each kind sends, beside the others; who is not named sends none.
_SHARES = {
    TeamRole.STRONG: 8,
    TeamRole.WEAK: 4,
    TeamRole.FLOODER: 22,
    TeamRole.COPIER: 3,
    TeamRole.CHEAT: 4,
    TeamRole.UNPAID: 6,
    TeamRole.SELF_STAKER: 1,
}


@dataclass(frozen=True, slots=True)
class ContestPlan:
    """What is simulated; the same plan gives the same contest.

    `taken_in` pictures are taken in by organizers at the beginning, and `private` ones for eligibility. `stake_days` is
    how long a defense has to stay unbroken.
    """

    seed: int = 1
    weeks: int = 12
    teams: int = 40
    attacks: int = 2_000
    taskers: int = 30
    begin: date = date(2026, 1, 3)
    stake_days: int = 90
    cents_per_label: int = 12
    taken_in: int = 60
    private: int = 30

    def __post_init__(self) -> None:
        """Refuse what cannot be played, naming the number."""
        wrong = {
            "weeks": not 1 <= self.weeks <= 104,
            "teams": not 2 <= self.teams <= 400,
            "attacks": not 1 <= self.attacks <= 100_000,
            "taskers": not 4 <= self.taskers <= 1_000,
            "stake_days": not 1 <= self.stake_days <= 366,
            "cents_per_label": self.cents_per_label < 0,
            "taken_in": not 0 <= self.taken_in <= 1_000,
            "private": not 2 <= self.private <= 1_000,
        }
        if named := [name for name, is_wrong in wrong.items() if is_wrong]:
            raise ValueError(f"out of range: {', '.join(named)}")


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


@dataclass(slots=True)
class SimulatedTeam:
    """A team: `versions` counts what it handed in so far."""

    number: int
    name: str
    role: TeamRole
    rng: Random
    versions: int = 0
    share: int = field(init=False)

    def __post_init__(self) -> None:
        """Say how much it attacks."""
        self.share = _SHARES.get(self.role, 0)

    @property
    def defends(self) -> bool:
        """Say whether it hands in defenses."""
        return self.role in DEFENDERS

    @property
    def by_paper(self) -> bool:
        """Say whether it asks to be entitled by a paper; the others are granted it by the board."""
        return self.number % 2 == 0

    def next_mind(self) -> DefenseSkill:
        """Make up the next defense of this team; later versions are a little better."""
        rng, better = self.rng, 0.8**self.versions
        if self.role is TeamRole.ROBUST:
            return DefenseSkill(weakness=rng.uniform(0, 0.012) * better, abstains=rng.uniform(0.04, 0.10))
        if self.role is TeamRole.SELF_STAKER:
            return DefenseSkill(weakness=rng.uniform(0.001, 0.02) * better, abstains=rng.uniform(0.04, 0.10))
        if self.role is TeamRole.CLOSED:
            return DefenseSkill(weakness=rng.uniform(0.002, 0.02) * better, abstains=rng.uniform(0.05, 0.10))
        if self.role is TeamRole.SLOW:
            return DefenseSkill(weakness=0.0, abstains=0.1, slow=self.versions < 1)
        return DefenseSkill(rng.uniform(0.05, 0.20) * better, rng.uniform(0.0, 0.08), randomised=self.versions == 0)


def draw_cast(plan: ContestPlan) -> list[SimulatedTeam]:
    """Make up the teams, each with a generator of its own."""
    counts: Counter[TeamRole] = Counter()
    cast = []
    for number in range(plan.teams):
        role = _ORDER[number % len(_ORDER)]
        counts[role] += 1
        name = f"{role.value}-{counts[role]}"
        cast.append(SimulatedTeam(number, name, role, Random(f"{plan.seed}:team:{name}")))
    return cast


def kinds_of_taskers(count: int) -> dict[str, int]:
    """Return how many taskers of each kind there are: mostly honest ones."""
    careless, clicking = count // 12, int(count >= 8)
    copying = 2 if count >= 10 else 0
    return {
        "honest": count - careless - clicking - copying,
        "careless": careless,
        "random": clicking,
        "copying": copying,
    }
