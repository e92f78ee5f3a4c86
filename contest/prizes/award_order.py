"""The order of awards from the defenders' half: who is first, who shares, who waits. Pure (R36)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class StakeTime:
    """A stake as the order of awards sees it.

    `batch` is None where a team paid. `clock_from` is the beginning of its time: later than `begun_at` where its time
    began again (R33). `until` is the end of its time, None while no time runs. `can_win` is False for a stake that is
    over, or whose team cannot be paid.
    """

    stake: int
    batch: int | None
    begun_at: datetime
    clock_from: datetime
    until: datetime | None
    can_win: bool = True

    @property
    def shares_with_batch(self) -> bool:
        """Say whether the stake still counts with its batch: not once its time began again."""
        return self.batch is not None and self.clock_from == self.begun_at

    def is_due(self, now: datetime) -> bool:
        """Say whether the stake can win and its time is over: exactly at its end it is."""
        return self.can_win and self.until is not None and self.until <= now


@dataclass(frozen=True, slots=True)
class PrizeGroup:
    """The stakes that share a prize, in the order of their numbers, and the moment by which their turn is decided."""

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
