"""Rules for the order in which stakes win the defenders' half of the prize money, or share it. Pure (R36)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class StakeTime:
    """A stake as the order of awards sees it.

    `batch` is None if a team paid. `clock_from` is the beginning of its 90 days: later than `begun_at` if they began
    again (R33). `until` is their end, None while no clock runs. `can_win` is False for a stake that is over, or whose
    team cannot be paid.
    """

    stake: int
    batch: int | None
    begun_at: datetime
    clock_from: datetime
    until: datetime | None
    can_win: bool = True

    @property
    def shares_with_batch(self) -> bool:
        """Say whether the stake still shares with its batch: not if its time began again."""
        return self.batch is not None and self.clock_from == self.begun_at

    def is_due(self, now: datetime) -> bool:
        """Say whether the stake can win and its time is over; exactly at the end it is over."""
        return self.can_win and self.until is not None and self.until <= now


@dataclass(frozen=True, slots=True)
class PrizeGroup:
    """The stakes that share a prize, by number, and the moment that decides their place in the order."""

    at: datetime
    stakes: tuple[int, ...]


def prize_groups(times: Iterable[StakeTime], *, now: datetime) -> list[PrizeGroup]:
    """Return the stakes that are due in the order in which they win: each stake is in exactly one group.

    The unbroken ones of a batch are one group. A stake whose time began again counts alone. Equal instants are one
    group. No two groups have the same instant, so that a group waits for earlier groups only and no cycle can form.
    """
    due = [each for each in times if each.is_due(now)]
    batches: dict[int, datetime] = {}
    for each in due:
        if each.shares_with_batch and each.batch is not None and each.until is not None:
            batches[each.batch] = min(batches.get(each.batch, each.until), each.until)
    groups: dict[datetime, list[int]] = {}
    for each in due:
        at = batches[each.batch] if each.shares_with_batch and each.batch is not None else each.until
        if at is not None:
            groups.setdefault(at, []).append(each.stake)
    return [PrizeGroup(at, tuple(sorted(groups[at]))) for at in sorted(groups)]


def waits_for(groups: Iterable[PrizeGroup]) -> Mapping[int, tuple[int, ...]]:
    """Return stake -> the stakes that win before it, those of the earliest group first; none for the earliest."""
    before: tuple[int, ...] = ()
    waiting: dict[int, tuple[int, ...]] = {}
    for group in groups:
        waiting |= dict.fromkeys(group.stakes, before)
        before += group.stakes
    return waiting
