"""The facts from which the leaderboard is computed, each with its time. Pure.

Teams, defenses and pictures are row numbers here. Every fact has its time, so that the tables of any past moment can
be computed from all of them (R24, R39).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from contest.record.leaderboard.rows import TeamName
from scoring.trials.totals import AnswerTotals


@dataclass(frozen=True, slots=True)
class ReleaseFacts:
    """The pictures received from `start` up to and not including `end` are public from `at` on (R39)."""

    start: datetime
    end: datetime
    at: datetime


@dataclass(frozen=True, slots=True)
class PictureFacts:
    """A picture, and whether a release may ever hold it; `week` is the one it was received in."""

    picture: int
    received_at: datetime
    week: str
    releasable: bool


@dataclass(frozen=True, slots=True)
class AttackFacts:
    """An attack that was not withdrawn; nobody has the credit if its picture was to be labeled anyhow (`known`)."""

    attack: int
    picture: int
    team: int
    received_at: datetime
    week: str
    week_end: datetime
    known: bool = False


@dataclass(frozen=True, slots=True)
class RulingFacts:
    """The `number`-th verdict on a picture; `label` is empty where it was rejected."""

    picture: int
    number: int
    at: datetime
    label: str


@dataclass(frozen=True, slots=True)
class BreakFacts:
    """A confident mistake under a ruling with this `label`: it holds while the newest verdict is the same (R22).

    It breaks the defense where the picture has an `AttackFacts` that is not `known` (R29); money of the first rule book
    may name others.
    """

    row: int
    defense: int
    picture: int
    label: str
    at: datetime


@dataclass(frozen=True, slots=True)
class AnswerFacts:
    """A defense answered for a picture in every round, or (`Facts.varied`) in different ways."""

    defense: int
    picture: int
    at: datetime


@dataclass(frozen=True, slots=True)
class MergeFacts:
    """A team became part of another."""

    team: int
    into: int
    at: datetime


@dataclass(frozen=True, slots=True)
class AssociationFacts:
    """A time in which a team is not paid (R27), known from `declared_at` on, and to be an error from `mistaken_at`."""

    team: int
    since: datetime
    until: datetime | None
    declared_at: datetime
    mistaken_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class DefenseFacts:
    """A published defense. Without `opened_at` its source is closed (R33); `team` handed it in, if any did."""

    defense: int
    public_id: str
    name: str
    demo: bool
    published_at: datetime
    retired_at: datetime | None
    team: int | None
    opened_at: datetime | None


@dataclass(frozen=True, slots=True)
class StakeChangeFacts:
    """The end of a stake as known from `at` on; empty if it was in force."""

    at: datetime
    ended_at: datetime | None
    end: str


@dataclass(frozen=True, slots=True)
class StakeFacts:
    """A stake that began at `at`; `until` is the end of its clock, told while the source is open (R36).

    `ended_at` and `end` are those of the stake's row. If it has `changes`, in the order in which they came, these say
    what was known when: an overruled ruling can undo an end (R22). At `forfeited_at` the board forfeited something of
    its award: from then on it has not won (R38).
    """

    defense: int
    at: datetime
    cents: int
    clock_from: datetime | None
    until: datetime | None
    ended_at: datetime | None
    end: str
    changes: tuple[StakeChangeFacts, ...] = ()
    forfeited_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class TrialFacts:
    """The totals of a defense on the private set (R31)."""

    defense: int
    at: datetime
    totals: AnswerTotals


@dataclass(frozen=True, slots=True)
class WarmupFacts:
    """The accuracy of a defense with the worst answer of the fixed attacks to each picture, 0 to 1 (R40), the attacks'
    version, the set of pictures, and the codes of the warnings."""

    defense: int
    at: datetime
    accuracy: float
    version: int
    pictures: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PrizeFacts:
    """Cents that a team won by its attacks, or gave back of that (negative), because of these breaks (R35)."""

    team: int
    cents: int
    at: datetime
    breaks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LeaderboardFacts:
    """All of them, in any order; `names` are those of the teams."""

    releases: tuple[ReleaseFacts, ...] = ()
    pictures: tuple[PictureFacts, ...] = ()
    attacks: tuple[AttackFacts, ...] = ()
    rulings: tuple[RulingFacts, ...] = ()
    breaks: tuple[BreakFacts, ...] = ()
    answers: tuple[AnswerFacts, ...] = ()
    varied: tuple[AnswerFacts, ...] = ()
    names: Mapping[int, TeamName] = field(default_factory=dict)
    merges: tuple[MergeFacts, ...] = ()
    associations: tuple[AssociationFacts, ...] = ()
    defenses: tuple[DefenseFacts, ...] = ()
    stakes: tuple[StakeFacts, ...] = ()
    trials: tuple[TrialFacts, ...] = ()
    warmups: tuple[WarmupFacts, ...] = ()
    prizes: tuple[PrizeFacts, ...] = ()
