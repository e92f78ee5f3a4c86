"""Stakes of the board that lost the race, or that can never win it: the board ends them (R36)."""

from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from common.errors import Conflict
from contest.awards.conditions import why_never
from contest.decisions import decide
from contest.enums import DecisionKind, StakeEnd, StakeKind
from contest.models import Award, Stake
from contest.stakes.ends import locked, stake_end


@dataclass(frozen=True, slots=True)
class Ending:
    """How the board may end a stake, and why."""

    end: StakeEnd
    why: str


def ending_of(stake: Stake, *, now: datetime) -> Ending | None:
    """Return how the board may end a stake of its own that is in force; None while it may still be the first to win.

    One that can never win is taken back; one beside which another won is overtaken.
    """
    if stake.kind != StakeKind.BOARD or stake.staked_at is None or stake.ended_at is not None:
        return None
    if never := why_never(stake, now=now):
        return Ending(StakeEnd.WITHDRAWN, never)
    given = Award.objects.filter(awarded_at__gte=stake.staked_at).select_related("stake__defense")
    first = given.order_by("awarded_at", "pk").first()
    if first is None:
        return None
    return Ending(StakeEnd.OVERTAKEN, f"{first.stake.defense.name} was awarded the prize while this was at stake.")


@transaction.atomic
def race_end(*, stake: Stake, reason: str, by: User, now: datetime) -> Stake:
    """End a stake of the board by a decision; its money goes to the attackers' half, unless it was broken (R36).

    Raises NotAllowed for who is not on the board, InvalidInput without a reason, Conflict (`may_win`) for one that is
    over, that a team paid for, or that may still win.
    """
    found = locked(stake.pk)
    ending = ending_of(found, now=now)
    if ending is None:
        words = f"The stake on {found.defense.name} is not the board's to end: it is over, or it may still win."
        raise Conflict(words, "may_win")
    subject = {"stake": [found.pk], "defense": [found.defense_id]}
    decision = decide(DecisionKind.END, subject=subject, reason=reason, by=by, now=now, end=ending.end.value)
    return stake_end(found, ending.end, now=now, by=by, decision=decision)
