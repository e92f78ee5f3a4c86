"""Ends stakes, and revives one when the ruling behind its end is overruled (R22, R35, R36).

Another sweep settles their money by the same facts (contest.prizes.settlement).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from common.errors import Conflict
from contest.core.breaks import SupposedRuling, breaks_in_force
from contest.core.enums import StakeEnd
from contest.core.models import BoardDecision, Stake
from contest.core.settled_weeks import Weeks, weeks_between
from contest.defenses.letters import notify_stake_changed
from contest.defenses.models import StakeChange
from contest.defenses.selectors import StakeEnding, breaks_of_stake, outcome_of, unbroken_until
from contest.ledger.services import stake_refunded
from policy.calendar import Week
from scoring.models import Defense

# The ends that follow from breaks; people decide the others, which stay.
BY_BREAKS = ("", StakeEnd.BROKEN.value, StakeEnd.VOID.value)


def stakes_end(*, now: datetime) -> int:
    """Update every stake by the breaks in force; return how many changed. Idempotent.

    A first break ends a stake; overruling its ruling revives it; a break from another week changes how it ended. Any
    break ends a requested, unpaid stake.
    """
    asked = Stake.objects.filter(staked_at=None, ended_at=None, defense__in=breaks_in_force().values("defense"))
    begun = Stake.objects.filter(staked_at__isnull=False, end__in=BY_BREAKS).select_related("defense__entry")
    changed = [stake.pk for stake in begun if not _is_as(stake, _outcome(stake))]
    # In the order of their numbers, so that the order of the messages reveals nothing about changes of the rows.
    return sum(_follow(pk, now) for pk in sorted([*asked.values_list("pk", flat=True), *changed]))


def stakes_under_supposition(supposed: SupposedRuling, *, now: datetime) -> list[Stake]:
    """Return every stake as `stakes_end` would leave it under a hypothetical ruling; none of them is saved."""
    rows = list(Stake.objects.select_related("defense__entry__team", "paid_by").order_by("staked_at", "pk"))
    broken = set(breaks_in_force().exclude(image=supposed.image).values_list("defense", flat=True))
    broken |= {each.defense_id for each in supposed.breaks}
    for stake in rows:
        if stake.staked_at is None and stake.ended_at is None and stake.defense_id in broken:
            stake.end, stake.ended_at = StakeEnd.VOID, now
    for stake in rows:
        if stake.staked_at is None or stake.end not in BY_BREAKS:
            continue
        outcome = _outcome(stake, supposed)
        others = (each for each in rows if each.defense_id == stake.defense_id and each is not stake)
        if outcome.end is None and any(each.ended_at is None for each in others):
            continue
        stake.end, stake.ended_at = outcome.end or "", outcome.at
    return rows


def _outcome(stake: Stake, supposed: SupposedRuling | None = None) -> StakeEnding:
    """Return the outcome of a stake that began, by the breaks in force.

    A stake on a retired defense does not come back into force: no picture would be run against it.
    """
    outcome, retired = outcome_of(stake, supposed), stake.defense.retired_at
    return StakeEnding(StakeEnd.WITHDRAWN, retired) if outcome.end is None and retired is not None else outcome


def _is_as(stake: Stake, outcome: StakeEnding) -> bool:
    return stake.end == (outcome.end or "") and stake.ended_at == outcome.at


@transaction.atomic
def _follow(stake_id: int, now: datetime) -> bool:
    return stake_refresh(lock_stake(stake_id), now=now)


# The one order in which the contest locks rows, so that no two requests wait for each other:
#
#   1. a motion, a payment or a correction that is decided on (one of these, never two)
#   2. teams, by their numbers
#   3. a picture, then the case of it (who sends a picture holds the team for its quota before the picture is stored)
#   4. defenses, by their numbers (a break that is recorded holds its defense)
#   5. stakes, by their numbers; awards have no lock of their own, the locks of their stakes cover them
#   6. accounts of the ledger, by their numbers, all at once (`contest.ledger.services.lock_accounts`)
#
# A request may skip kinds, and never locks an earlier kind after a later one. These three functions alone lock several
# defenses or stakes; some code locks a single one. tests/contest/ledger/test_locks.py tests the order with eight
# threads.
#
# Members of the board are outside of this order. They are locked where a case is opened (after teams, pictures and
# defenses) and where a conflict is recorded (before the open cases about its team). So a motion that is opened, a
# motion that is decided and a conflict that is recorded at one moment can wait for each other in a circle; one of
# them gives way, and `retry_on_deadlock` does it again.


def lock_defenses(ids: Iterable[int]) -> list[Defense]:
    """Lock defenses and return them. Recording a break locks its defense too, so the caller sees such a break."""
    return list(Defense.objects.select_for_update(no_key=True).filter(pk__in=set(ids)).order_by("pk"))


def lock_stakes(ids: Iterable[int]) -> list[Stake]:
    """Lock stakes, after the defenses of all of them, and return them by their numbers."""
    wanted = Stake.objects.filter(pk__in=set(ids))
    lock_defenses(wanted.values_list("defense", flat=True))
    rows = wanted.select_for_update(of=("self",), no_key=True).order_by("pk")
    return list(rows.select_related("defense__entry__team", "paid_by"))


def lock_stake(stake_id: int) -> Stake:
    """Lock one stake, after its defense, and return it."""
    (stake,) = lock_stakes([stake_id])
    return stake


def stake_refresh(stake: Stake, *, now: datetime) -> bool:
    """Update a locked stake by the breaks in force; return whether it changed.

    One never comes back into force beside another on the same defense.
    """
    if stake.staked_at is None:
        broken = stake.ended_at is None and breaks_in_force().filter(defense=stake.defense_id).exists()
        return broken and _set(stake, StakeEnding(StakeEnd.VOID, now), now=now)
    outcome = _outcome(stake)
    if stake.end not in BY_BREAKS or _is_as(stake, outcome) or (outcome.end is None and _has_another(stake)):
        return False
    return _set(stake, outcome, now=now)


def stakes_revive(defense: Defense, *, now: datetime) -> None:
    """Update the stakes on a locked defense by its breaks before it is changed otherwise: a stake that ended by a
    ruling overruled since comes back into force."""
    begun = Stake.objects.filter(defense=defense, end__in=BY_BREAKS, staked_at__isnull=False)
    for stake in begun.select_related("defense__entry", "paid_by").order_by("-ended_at", "pk"):
        stake_refresh(stake, now=now)


def _has_another(stake: Stake) -> bool:
    return Stake.objects.filter(defense=stake.defense_id, ended_at__isnull=True).exclude(pk=stake.pk).exists()


def _set(stake: Stake, outcome: StakeEnding, *, now: datetime, reason: str = "") -> bool:
    """Store how a stake ended, and tell its team, unless only the moment changed."""
    was = stake.end
    stake.end, stake.ended_at = (outcome.end.value if outcome.end else ""), outcome.at
    stake.save(update_fields=["end", "ended_at"])
    if stake.staked_at is not None:
        StakeChange.objects.create(stake=stake, end=stake.end, ended_at=stake.ended_at, known_at=now)
    if stake.end != was:
        notify_stake_changed(stake, now=now, reason=reason)
    return True


def stake_end(
    stake: Stake, end: StakeEnd, *, now: datetime, by: User | None = None, decision: BoardDecision | None = None
) -> Stake:
    """End a stake by a decision: `won` by an award, `overtaken` by another's award, or `withdrawn`.

    The money of a withdrawn stake goes back at once. Raises Conflict for a stake that is over.
    """
    with transaction.atomic():
        stake = lock_stake(stake.pk)
        if stake.ended_at is not None:
            raise Conflict(f"The stake on {stake.defense.name} is over: {stake.end}.", "stake_over")
        _set(stake, StakeEnding(end, now), now=now, reason=decision.reason if decision else "")
        if end is StakeEnd.WITHDRAWN and stake.staked_at is not None:
            stake_refunded(stake, why="The stake was taken back.", now=now, by=by, decision=decision)
    return stake


# When it is final -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NotFinal:
    """The weeks whose verdicts may still change the outcome of a stake, and from when on none can.

    `until` is None while a verdict or a prediction of the defense is missing.
    """

    weeks: tuple[Week, ...]
    until: datetime | None


def not_final(defense: Defense, *, now: datetime) -> NotFinal | None:
    """Return what the ended stakes on a defense still wait for; None if all of them are final.

    Every picture sent in their time has to be run, even after one that broke the defense (R29, R35).
    """
    over = Stake.objects.filter(defense=defense, staked_at__isnull=False, ended_at__isnull=False)
    known = Weeks(now)
    stakes = over.select_related("defense__entry")
    weeks = {week.name: week for stake in stakes for week in (*_weeks_before(stake, known), *_weeks_of(stake))}
    known.look_over(weeks.values())
    still_open = [week for _, week in sorted(weeks.items()) if not known.appeals_closed(week, of=defense)]
    if not still_open:
        return None
    closing = [known.appeals_close_at(week, of=defense) for week in still_open]
    certain = [at for at in closing if at is not None]
    return NotFinal(tuple(still_open), max(certain) if len(certain) == len(closing) else None)


def _weeks_before(stake: Stake, known: Weeks) -> list[Week]:
    """Return the weeks before the stake that may still void it; none if it is void or was withdrawn unbroken: then
    earlier weeks no longer change its outcome."""
    undone = stake.end == StakeEnd.WITHDRAWN and not breaks_of_stake(stake)
    if stake.end == StakeEnd.VOID or undone or stake.staked_at is None:
        return []
    return known.open_before(stake.staked_at, of=stake.defense)


def _weeks_of(stake: Stake) -> Iterator[Week]:
    """Yield the weeks that decide a stake: up to the one it was broken in; for a void one, the week of that break."""
    if stake.end in BY_BREAKS and (breaks := breaks_of_stake(stake)):
        sent = breaks[0].sent_at
        return weeks_between(sent if stake.end == StakeEnd.VOID else min(stake.begun_at, sent), sent)
    ends = (unbroken_until(stake), stake.ended_at)
    return weeks_between(stake.begun_at, min(end for end in ends if end is not None))
