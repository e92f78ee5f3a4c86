"""Computes shares of prizes in integer cents, independent of the order of the facts (R35, R36). Pure.

Teams are numbers. Weeks are their names (`2026-W47`), which sort as the weeks do.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from adjudication.rules import equal_shares


@dataclass(frozen=True, slots=True)
class BreakInput:
    """A break of a defense as input: the team with the credit, when the picture was received, and in which week.

    `team` is None for a picture that no team sent. `paid` is false for teams associated with the contest (R27), `own`
    is true for the owner of the defense and the payer of the stake.
    """

    team: int | None
    received_at: datetime
    week: str
    paid: bool = True
    own: bool = False

    @property
    def shares(self) -> bool:
        """Say whether this break earns a share."""
        return self.team is not None and self.paid and not self.own


@dataclass(frozen=True, slots=True)
class StakeInput:
    """A stake as input: its money, the week it began in, until when attacks count (None: no end), and who gets it back.

    `back_to` is the team that gets it back if unbroken; None: it returns to the attackers' half. `broken` says
    that it ended as broken.
    """

    cents: int
    week: str
    until: datetime | None
    over: bool
    broken: bool
    back_to: int | None

    def is_hit_by(self, fact: BreakInput) -> bool:
        """Say whether a picture was sent before the stake's end; later ones do not count for it."""
        return self.until is None or fact.received_at < self.until


class StakeOutcome(StrEnum):
    """What happens with a stake's money. `held`: it stays on the stake. `before`: broken before it was at stake."""

    HELD = "held"
    BROKEN = "broken"
    BEFORE = "before"
    RETURNED = "returned"


@dataclass(frozen=True, slots=True)
class StakeDue:
    """What is due by the facts: cents by team, what stays on the stake, and the week it was broken in.

    The rest goes to the attackers' half.
    """

    outcome: StakeOutcome
    teams: Mapping[int, int] = field(default_factory=dict)
    held: int = 0
    week: str = ""


def earliest_week(breaks: Iterable[BreakInput]) -> str:
    """Return the earliest week with a break, empty without one."""
    return min((each.week for each in breaks), default="")


def attacker_shares(cents: int, breaks: Iterable[BreakInput]) -> dict[int, int]:
    """Return the shares of those who broke a defense in the earliest week with a break (R35).

    One share per team, however many of its pictures broke it. A team that is not paid gets no share and does not reduce
    the others; if no team is paid, nothing is due.
    """
    known = list(breaks)
    week = earliest_week(known)
    first: dict[int, datetime] = {}
    for each in known:
        if each.week == week and each.shares and each.team is not None:
            first[each.team] = min(first.get(each.team, each.received_at), each.received_at)
    return equal_shares(cents, in_order_of_receipt(first))


def defender_shares(
    cents: int, received: Mapping[int, datetime], had: Mapping[int, int] | None = None
) -> dict[int, int]:
    """Share the defenders' half among the stakes that share it (R36): stake -> when its entry was received.

    `had` are the cents of stakes at the moment they were forfeited, the earliest first: they get no more than that of
    what others lose, and the rest is shared by those that stand (R38).
    """
    order, shares = in_order_of_receipt(received), dict[int, int]()
    for stake, most in (had or {}).items():
        if stake in received:
            left = [each for each in order if each not in shares]
            shares[stake] = min(most, equal_shares(cents - sum(shares.values()), left)[stake])
    standing = [each for each in order if each not in shares]
    shares |= equal_shares(cents - sum(shares.values()), standing)
    return {each: shares[each] for each in order}


def in_order_of_receipt(received: Mapping[int, datetime]) -> list[int]:
    """Return the keys, the earliest first; at the same instant the lower number first."""
    return sorted(received, key=lambda each: (received[each], each))


def stake_due(stake: StakeInput, breaks: Iterable[BreakInput]) -> StakeDue:
    """Return what is due of the money of a stake, given every break in force of its defense (R35, R36).

    A break from a week before that of the stake broke the defense before anything was at stake: the money goes back to
    its giver. One from the stake's own week breaks it and earns its share, also if it came before the stake was
    recorded: under embargo neither side could know of the other. Attacks after the stake's end do not count.
    """
    if not stake.over:
        return StakeDue(StakeOutcome.HELD, held=stake.cents)
    known = [each for each in breaks if stake.is_hit_by(each)]
    before = earliest_week(known) < stake.week
    if before or not known:
        return _unearned(stake, before=before and bool(known))
    return StakeDue(StakeOutcome.BROKEN, attacker_shares(stake.cents, known), week=earliest_week(known))


def _unearned(stake: StakeInput, *, before: bool) -> StakeDue:
    if stake.broken and not before:
        return StakeDue(StakeOutcome.HELD, held=stake.cents)
    back = {} if stake.back_to is None else {stake.back_to: stake.cents}
    return StakeDue(StakeOutcome.BEFORE if before else StakeOutcome.RETURNED, back)
