"""How stakes end, and how one comes back into force when the ruling behind its end was overruled (R22, R35, R36).

What their money does then follows from the same facts, in a sweep of its own (contest.money.settlement).
"""

from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from common.errors import Conflict
from contest.breaks import standing_breaks
from contest.enums import StakeEnd
from contest.models import BoardDecision, Stake
from contest.money.stakes import stake_refunded
from contest.stakes.selectors import Outcome, outcome_of
from scoring.models import Defense

# The ends that follow from breaks; the others are decided by people and stay.
BY_BREAKS = ("", StakeEnd.BROKEN.value, StakeEnd.VOID.value)


def stakes_end(*, now: datetime) -> int:
    """Let every stake be what the breaks that hold make of it; return how many changed. Idempotent.

    A first break ends it; an end whose ruling was overruled is taken back; a break of another week changes how it
    ended. A stake that was asked for and not paid is over with any break.
    """
    asked = Stake.objects.filter(staked_at=None, ended_at=None, defense__in=standing_breaks().values("defense"))
    begun = Stake.objects.filter(staked_at__isnull=False, end__in=BY_BREAKS).select_related("defense__entry")
    changed = [stake.pk for stake in begun if not _is_as(stake, outcome_of(stake))]
    return sum(_follow(pk, now) for pk in [*asked.values_list("pk", flat=True), *changed])


def _is_as(stake: Stake, outcome: Outcome) -> bool:
    return stake.end == (outcome.end or "") and stake.ended_at == outcome.at


@transaction.atomic
def _follow(stake_id: int, now: datetime) -> bool:
    return stake_follow(locked(stake_id), now=now)


def locked(stake_id: int) -> Stake:
    """Return a stake with its defense locked first, in the order in which everything here locks."""
    Defense.objects.select_for_update(no_key=True).get(stakes=stake_id)
    rows = Stake.objects.select_for_update(of=("self",), no_key=True)
    return rows.select_related("defense__entry__team", "paid_by").get(pk=stake_id)


def stake_follow(stake: Stake, *, now: datetime) -> bool:
    """Let a locked stake be what the breaks that hold make of it; return whether it changed.

    One never comes back into force beside another on the same defense.
    """
    if stake.staked_at is None:
        broken = stake.ended_at is None and standing_breaks().filter(defense=stake.defense_id).exists()
        return broken and _set(stake, Outcome(StakeEnd.VOID, now))
    outcome = outcome_of(stake)
    if stake.end not in BY_BREAKS or _is_as(stake, outcome) or (outcome.end is None and _has_another(stake)):
        return False
    return _set(stake, outcome)


def _has_another(stake: Stake) -> bool:
    return Stake.objects.filter(defense=stake.defense_id, ended_at__isnull=True).exclude(pk=stake.pk).exists()


def _set(stake: Stake, outcome: Outcome) -> bool:
    stake.end, stake.ended_at = (outcome.end.value if outcome.end else ""), outcome.at
    stake.save(update_fields=["end", "ended_at"])
    return True


def stake_end(
    stake: Stake, end: StakeEnd, *, now: datetime, by: User | None = None, decision: BoardDecision | None = None
) -> Stake:
    """End a stake by a decision: `won` and `overtaken` by an award, `withdrawn` when the board returns it.

    The money of a withdrawn one goes back at once. Raises Conflict for one that is over.
    """
    with transaction.atomic():
        stake = locked(stake.pk)
        if stake.ended_at is not None:
            raise Conflict(f"The stake on {stake.defense.name} is over: {stake.end}.", "stake_over")
        _set(stake, Outcome(end, now))
        if end is StakeEnd.WITHDRAWN and stake.staked_at is not None:
            stake_refunded(stake, why="The defense was taken back.", now=now, by=by, decision=decision)
    return stake
