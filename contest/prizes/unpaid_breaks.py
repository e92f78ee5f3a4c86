"""Breaks that are never paid because of an associated team, for organizers to review (R27)."""

from collections.abc import Iterator
from dataclasses import dataclass

from contest.core.models import Stake, Team
from contest.prizes.prize_facts import CreditedBreak, begun_stakes, stakes_with_breaks


@dataclass(frozen=True, slots=True)
class OwnBreak:
    """A team whose attack broke its own staked defense, or the stake it pays for: it takes no share."""

    stake: Stake
    team: Team
    attack: str


def conflicts() -> list[OwnBreak]:
    """Return every break of a deciding week by the team whose own defense or stake it is, the oldest stake first."""
    return [each for row in stakes_with_breaks(begun_stakes()) for each in _own(row.stake, row.conflicts)]


def _own(stake: Stake, rows: list[CreditedBreak]) -> Iterator[OwnBreak]:
    for row in rows:
        if row.attack is not None:
            yield OwnBreak(stake, row.attack.team, row.attack.public_id)
