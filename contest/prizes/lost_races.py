"""Ends stakes of the board that lost the race or can no longer win it (R36)."""

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from common.errors import Conflict
from contest.core.decisions import MotionMandate, record_decision
from contest.core.enums import DecisionKind, StakeEnd, StakeKind
from contest.core.models import Award, Stake
from contest.defenses.selectors import forfeited_stakes
from contest.defenses.stake_ends import lock_stake, stake_end
from contest.prizes.awards import award_change
from contest.prizes.checklist import never_reason


@dataclass(frozen=True, slots=True)
class RaceEnding:
    """How the board may end a stake, and why."""

    end: StakeEnd
    why: str


def race_ending(stake: Stake, *, now: datetime) -> RaceEnding | None:
    """Return how the board may end a stake of its own that is in force; None while it may still be the first to win.

    One that can never win is taken back; one beside which another won is overtaken, while that one has it: an award
    that was lost, or of which anything was taken for good, is to be won again.
    """
    if stake.kind != StakeKind.BOARD or stake.staked_at is None or stake.ended_at is not None:
        return None
    if never := never_reason(stake, now=now):
        return RaceEnding(StakeEnd.WITHDRAWN, never)
    won = awards_in_force(Award.objects.filter(awarded_at__gte=stake.staked_at))
    if not won:
        return None
    return RaceEnding(StakeEnd.OVERTAKEN, f"{won[0].stake.defense.name} was awarded the prize while this was at stake.")


def awards_in_force(among: QuerySet[Award] | None = None) -> list[Award]:
    """Return the awards, of all or among these, whose defense has the prize by the facts of now, oldest first: neither
    lost (R27, R37) nor taken for good (R38)."""
    asked = Award.objects.all() if among is None else among
    given = asked.exclude(stake__in=forfeited_stakes()).select_related("decision", "stake__defense")
    rows = list(given.order_by("awarded_at", "pk"))
    kept = {row.stake for decision in {each.decision for each in rows} for row in award_change(decision).kept}
    return [each for each in rows if each.stake in kept]


def ending_check(stake: Stake, *, now: datetime) -> RaceEnding:
    """Return how the board may end a stake; Conflict (`may_win`) where it may not."""
    ending = race_ending(stake, now=now)
    if ending is None:
        words = f"The stake on {stake.defense.name} is not the board's to end: it is over, or it may still win."
        raise Conflict(words, "may_win")
    return ending


@transaction.atomic
def race_close(*, stake: Stake, reason: str, by: MotionMandate, now: datetime) -> Stake:
    """End a stake of the board by a decision; its money goes to the attackers' half, unless it was broken (R36).

    Raises NotAllowed without a mandate of the board, InvalidInput without a reason, Conflict (`may_win`) for one that
    is over, that a team paid for, or that may still win.
    """
    found = lock_stake(stake.pk)
    ending = ending_check(found, now=now)
    subject = {"stake": [found.pk], "defense": [found.defense_id]}
    decision = record_decision(DecisionKind.END, subject=subject, reason=reason, by=by, now=now, end=ending.end.value)
    return stake_end(found, ending.end, now=now, by=by.member, decision=decision)
