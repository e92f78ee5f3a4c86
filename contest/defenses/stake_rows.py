"""Builds the rows of submitted defenses and stakes for pages and the API."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from common.times import hours_span
from contest.core.countdown import clock_words
from contest.core.enums import DefenseStanding, StakeEnd, StakeKind
from contest.core.models import Stake
from contest.defenses import selectors
from contest.defenses.eligibility import ConditionFailure, eligibilities_waiting, failures
from contest.defenses.models import DefenseEntry
from policy.selectors import policy_at
from scoring.models import Defense

# The CSS class of a state's colour and shape.
LOOKS = {
    DefenseStanding.RECEIVED: "open",
    DefenseStanding.NOT_ELIGIBLE: "rejected",
    DefenseStanding.ELIGIBLE: "open",
    DefenseStanding.PUBLISHED: "valid",
    DefenseStanding.STAKED: "unbroken",
    DefenseStanding.BROKEN: "broken",
    DefenseStanding.WON: "valid",
    DefenseStanding.WITHDRAWN: "open",
}
ENDS = {
    StakeEnd.BROKEN: "broken",
    StakeEnd.WON: "awarded the prize",
    StakeEnd.OVERTAKEN: "over, another defense was first",
    StakeEnd.WITHDRAWN: "taken back",
    StakeEnd.VOID: "void: it was broken before it was at stake",
}


@dataclass(frozen=True, slots=True)
class StakeClock:
    """The clock of a stake: how many hours it has to stay unbroken, until when, and the time left."""

    hours: int
    until: datetime
    left: str
    over: bool

    @property
    def span(self) -> str:
        """Return the hours as people say them."""
        return hours_span(self.hours)


@dataclass(frozen=True, slots=True)
class StakeShown:
    """A stake with its words for pages. `clock` is None if none runs: it is over, not paid, or the source is closed.
    `forfeited`: the board forfeited its award (R38).
    """

    stake: Stake
    clock: StakeClock | None
    currency: str
    is_open: bool
    forfeited: bool = False

    @property
    def by(self) -> str:
        """Return who put up the money, in words."""
        if self.stake.kind == StakeKind.BOARD:
            return "the board"
        return f"team {self.stake.paid_by.name}" if self.stake.paid_by else "a team"

    @property
    def end_words(self) -> str:
        """Return how it ended; empty while it is in force."""
        if self.forfeited:
            return f"{ENDS[StakeEnd.WON]}, which the board took back"
        return ENDS[StakeEnd(self.stake.end)] if self.stake.end else ""


def stake_row(stake: Stake, now: datetime) -> StakeShown:
    """Return a stake with its words at `now`."""
    currency = policy_at(stake.asked_at).currency
    forfeited = stake.end == StakeEnd.WON and stake.pk in selectors.forfeited_stakes()
    return StakeShown(stake, stake_clock(stake, now), currency, selectors.is_open(stake.defense), forfeited)


def stake_clock(stake: Stake, now: datetime) -> StakeClock | None:
    """Return the clock of a stake in force; None where none runs."""
    until = selectors.unbroken_until(stake)
    if until is None or stake.clock_from is None or stake.ended_at is not None:
        return None
    seconds = -int((now - until).total_seconds() // 1)
    return StakeClock(policy_at(stake.clock_from).stake_hours, until, clock_words(seconds), until <= now)


@dataclass(frozen=True, slots=True)
class DefenseEntryRow:
    """An entry in a list: its state, its newest stake, and the conditions that it failed."""

    entry: DefenseEntry
    state: DefenseStanding
    stake: StakeShown | None
    failed: tuple[ConditionFailure, ...] = ()

    @property
    def due(self) -> datetime:
        """Return the last moment of its due date."""
        return selectors.last_moment(self.entry.due_at)


def entry_rows(entries: Iterable[DefenseEntry], now: datetime) -> list[DefenseEntryRow]:
    """Return entries with their states, in the same order."""
    rows = list(entries)
    defenses = [row.defense for row in rows]
    known = eligibilities_waiting(defenses, now=now)
    found, stakes = selectors.defense_states(defenses, now=now, known=known), newest_stake_rows(defenses, now)
    failed = failures(defenses, now=now, known=known)
    return [
        DefenseEntryRow(row, found[row.defense_id], stakes.get(row.defense_id), failed.get(row.defense_id, ()))
        for row in rows
    ]


def newest_stake_rows(defenses: Iterable[Defense], now: datetime) -> dict[int, StakeShown]:
    """Return defense -> the newest stake that began on it, in its words."""
    return {pk: stake_row(stake, now) for pk, stake in selectors.newest_stakes(defenses).items()}


# For programs --------------------------------------------------------------------------------------------------------


def moment_json(moment: datetime | None) -> str | None:
    """Return a time in UTC as programs read it."""
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")


def defense_json(
    defense: Defense,
    standing: DefenseStanding,
    stake: StakeShown | None,
    *,
    failed: Iterable[ConditionFailure] = (),
    unrestricted: bool,
) -> dict[str, Any]:
    """Return a defense as the API writes it: `unrestricted` for its own team and organizers."""
    entry: DefenseEntry | None = getattr(defense, "entry", None)
    told = {
        "id": defense.public_id,
        "name": defense.name,
        "state": standing.value,
        "team": entry.team.name if entry else None,
        "open_source": selectors.is_open(defense) or bool(defense.reference),
        "licence": entry.licence if entry else "",
        "digest": defense.digest,
        "description": defense.description,
        "published_at": moment_json(defense.published_at),
        "stake": stake_json(stake) if stake else None,
    }
    return told | (
        _own(entry, standing, failed) if unrestricted else {"received_at": None, "due_at": None, "failed": []}
    )


def _own(entry: DefenseEntry | None, standing: DefenseStanding, failed: Iterable[ConditionFailure]) -> dict[str, Any]:
    due = entry is not None and standing in (DefenseStanding.RECEIVED, DefenseStanding.ELIGIBLE)
    return {
        "received_at": moment_json(entry.received_at) if entry else None,
        "due_at": moment_json(entry.due_at) if entry and due else None,
        "failed": [{"condition": each.condition.value, "words": each.words, "advice": each.advice} for each in failed],
    }


def stake_json(shown: StakeShown) -> dict[str, Any]:
    """Return the public facts of a stake as the API writes them."""
    stake = shown.stake
    return {
        "by": stake.kind,
        "batch": stake.batch.public_id if stake.batch else None,
        "cents": stake.cents,
        "currency": shown.currency,
        "staked_at": moment_json(stake.staked_at),
        "clock_from": moment_json(stake.clock_from),
        "unbroken_until": moment_json(shown.clock.until) if shown.clock else None,
        "ended_at": moment_json(stake.ended_at),
        "end": stake.end or None,
    }
