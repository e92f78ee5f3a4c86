"""The rows of the leaderboard and their JSON. Pure."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from contest.core.enums import DefenseStanding
from scoring.trials.totals import AnswerTotals


@dataclass(frozen=True, slots=True)
class TeamName:
    """The public ID and name of a team."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class BreakerRow(TeamName):
    """A team that broke a defense: `at` is when its first picture that did so was received."""

    at: datetime


@dataclass(frozen=True, slots=True)
class DefenseRank:
    """A defense. `days_unbroken` and `survived` count from the stake on; `clock_ends` is when it wins if it stays so.
    `eligibility` are its totals on the private set (R31), `warmup` is its accuracy with the worst answer of the fixed
    attacks to each picture, 0 to 1 (R40), and `warmup_warnings` say why it may mean little.

    What broke it is public with the release of the week; before that, only the end of the stake is.
    `broken_at` is the receipt of the first picture that did, and `broken_by` are the teams that did in the same week.
    """

    rank: int | None
    id: str
    name: str
    demo: bool
    team: TeamName | None
    state: DefenseStanding
    staked_since: datetime | None
    days_unbroken: int | None
    survived: int | None
    cents: int
    clock_ends: datetime | None
    eligibility: AnswerTotals | None
    open_source: bool
    randomised: bool
    broken_at: datetime | None
    broken_week: str
    broken_by: tuple[BreakerRow, ...]
    warmup: float | None = None
    warmup_warnings: tuple[str, ...] = ()

    def is_over(self, at: datetime) -> bool:
        """Say whether the time of its stake was over at `at`: it waits for the board, and what is sent then wins
        nothing of it (R36). The same as contest.defenses.selectors.is_due says of the stake."""
        return self.clock_ends is not None and self.clock_ends <= at


@dataclass(frozen=True, slots=True)
class TeamRow:
    """A team that attacks: pictures sent, how many of them are valid and its own, what they broke, and in cents what it
    won by that. What it won as a defender is told with its defense.

    `breaks` counts pairs of picture and defense, without those of its own defenses; `defenses` counts the latter once.
    """

    rank: int
    id: str
    name: str
    unpaid: bool
    sent: int
    valid: int
    breaks: int
    defenses: int
    cents: int


@dataclass(frozen=True, slots=True)
class Tables:
    """Both tables by what was public at `at`."""

    at: datetime
    defenses: tuple[DefenseRank, ...]
    attackers: tuple[TeamRow, ...]

    def to_json(self) -> dict[str, Any]:
        """Return plain values that JSON can hold; times as ISO 8601."""
        plain: dict[str, Any] = _plain(asdict(self))
        return plain

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> "Tables":
        """Read what `to_json` wrote."""
        return cls(
            datetime.fromisoformat(plain["at"]),
            tuple(_defense(row) for row in plain["defenses"]),
            tuple(TeamRow(**row) for row in plain["attackers"]),
        )


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value.isoformat() if isinstance(value, datetime) else value


_TIMES = ("staked_since", "clock_ends", "broken_at")


def _defense(row: Mapping[str, Any]) -> DefenseRank:
    read: dict[str, Any] = {
        **row,
        **{name: row[name] and datetime.fromisoformat(row[name]) for name in _TIMES},
        "state": DefenseStanding(row["state"]),
        "team": row["team"] and TeamName(**row["team"]),
        "eligibility": row["eligibility"] and AnswerTotals(**row["eligibility"]),
        "broken_by": tuple(
            BreakerRow(team["id"], team["name"], datetime.fromisoformat(team["at"])) for team in row["broken_by"]
        ),
        "warmup_warnings": tuple(row.get("warmup_warnings", ())),  # older tables have none
    }
    return DefenseRank(**read)
