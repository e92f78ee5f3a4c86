"""Services that stake defenses, for the board in batches or for a paying team, and return them (R32, R33)."""

from collections.abc import Sequence
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from accounts.roles import is_organizer
from common.audit.trail import Facts, Subject, audit
from common.errors import Conflict, InvalidInput, NotAllowed
from common.typed import clean_words
from contest.core.breaks import breaks_in_force
from contest.core.decisions import MotionMandate, record_decision
from contest.core.enums import AccountKind, DecisionKind, StakeEnd, StakeKind
from contest.core.models import Stake, StakeBatch, Team
from contest.defenses import selectors
from contest.defenses.letters import notify_staked
from contest.defenses.models import DefenseEntry
from contest.defenses.stake_ends import lock_defenses, lock_stake, stake_end, stakes_revive
from contest.ledger.models import Account
from contest.ledger.services import stake_funded
from contest.teams.services import lock_captain
from policy.selectors import policy_in_force
from scoring.models import Defense

MAX_DEFENSES_AT_ONCE = 50
MAX_STATEMENT_CHARACTERS = 4_000
ASK_CRITERIA = "Give the criteria by which these were chosen: they are published."
_ASK_WHY = "Say why the board should return it."
MAX_RECEIPT_CHARACTERS = 200

# By the board --------------------------------------------------------------------------------------------------------


@transaction.atomic
def stake_batch(
    defenses: Sequence[Defense], criteria: str, reason: str, *, by: MotionMandate, now: datetime
) -> StakeBatch:
    """Stake defenses together, each for the present attacker prize; the unbroken ones of a batch share a prize (R36).

    All of them or none. Raises NotAllowed without a mandate of the board, InvalidInput without defenses, criteria or
    reason, Conflict for a defense that cannot be staked (`not_published`, `broken`, `staked` ...) and if the
    attackers' half has too little (`not_enough`).
    """
    criteria = clean_words(criteria, field="criteria", ask=ASK_CRITERIA, max_length=MAX_STATEMENT_CHARACTERS)
    if not 0 < len(defenses) <= MAX_DEFENSES_AT_ONCE:
        raise InvalidInput(f"Choose between 1 and {MAX_DEFENSES_AT_ONCE} defenses.", "invalid", field="defenses")
    chosen = lock_defenses(defense.pk for defense in defenses)
    for defense in chosen:
        stakes_revive(defense, now=now)
        unstakeable_refuse(defense)
    subject = {"defense": [defense.pk for defense in chosen]}
    decision = record_decision(DecisionKind.STAKE, subject=subject, reason=reason, by=by, now=now, criteria=criteria)
    batch = StakeBatch.objects.create(criteria=criteria, decision=decision, staked_at=now)
    cents = policy_in_force(now).policy.attacker_prize_cents
    for defense in chosen:
        told = {"kind": StakeKind.BOARD, "batch": batch, "cents": cents, "asked_at": now}
        stake = Stake.objects.create(defense=defense, staked_at=now, clock_from=now, **told)
        stake_funded(stake, now=now, by=by.member, decision=decision)
        notify_staked(stake, now=now)
    return batch


def batch_check(defenses: Sequence[Defense], *, now: datetime) -> None:
    """Raise what `stake_batch` would raise now of these defenses and of the money; nothing is locked or written."""
    for defense in defenses:
        unstakeable_refuse(defense)
    half = Account.objects.filter(kind=AccountKind.ATTACKERS).first()
    if (half.balance_cents if half else 0) < len(defenses) * policy_in_force(now).policy.attacker_prize_cents:
        raise Conflict("The attackers' half has less than these stakes cost. Look at its balance.", "not_enough")


def unstakeable_refuse(defense: Defense) -> None:
    """Raise Conflict for a defense that cannot be staked now."""
    name = defense.name
    if defense.published_at is None:
        raise Conflict(f"{name} is not published yet.", "not_published")
    if defense.retired_at is not None:
        raise Conflict(f"{name} was taken back.", "withdrawn")
    if not DefenseEntry.objects.filter(defense=defense).exists():
        raise Conflict(f"{name} was handed in by no team, so nobody could win with it.", "no_team")
    if Stake.objects.filter(defense=defense, end=StakeEnd.WON).exists():
        raise Conflict(f"{name} has won.", "won")
    if breaks_in_force().filter(defense=defense).exists():
        raise Conflict(f"{name} is broken: it cannot be staked.", "broken")
    if (stake := selectors.open_stake_of(defense)) is not None or selectors.stake_comes_back(defense):
        awaited = stake is not None and stake.staked_at is None
        words = "to be staked by its team, whose payment is awaited" if awaited else "at stake already"
        raise Conflict(f"{name} is {words}.", "staked")


# By a team that pays -------------------------------------------------------------------------------------------------


@transaction.atomic
def stake_request(defense: Defense, *, by: User, now: datetime) -> Stake:
    """Request to stake a defense of the captain's team for the present attacker prize.

    It begins when the payment is received. Raises NotAllowed for others and for another team's defense, Conflict as
    `stake_batch` does.
    """
    team = lock_captain(by)
    (defense,) = lock_defenses([defense.pk])
    _refuse_others(defense, team)
    stakes_revive(defense, now=now)
    unstakeable_refuse(defense)
    told = {"paid_by": team, "cents": policy_in_force(now).policy.attacker_prize_cents, "asked_at": now}
    return Stake.objects.create(defense=defense, kind=StakeKind.TEAM, **told)


def _refuse_others(defense: Defense, team: Team) -> None:
    if selectors.owner_of(defense) != team:
        raise NotAllowed("This is another team's defense.", "not_yours")


@transaction.atomic
def stake_receive(stake: Stake, receipt: str, *, by: User, now: datetime) -> Stake:
    """Record that a team's payment arrived: from this moment its defense is at stake.

    Raises NotAllowed for anybody but organizers, InvalidInput without a note about the payment, Conflict for a stake
    that began or is over, and for a defense that was broken or withdrawn meanwhile: then the payment goes back.
    """
    if not is_organizer(by):
        raise NotAllowed("Only organizers record payments.", "not_an_organizer")
    receipt = receipt.replace("\x00", "").strip()
    if not receipt or len(receipt) > MAX_RECEIPT_CHARACTERS or not receipt.isprintable():
        words = f"Say which payment it was, in one line of at most {MAX_RECEIPT_CHARACTERS} characters."
        raise InvalidInput(words, "invalid", field="receipt")
    stake = lock_stake(stake.pk)
    _refuse_receipt(stake)
    stake.receipt, stake.received_by, stake.staked_at, stake.clock_from = receipt, by, now, now
    stake.save(update_fields=["receipt", "received_by", "staked_at", "clock_from"])
    stake_funded(stake, now=now, by=by)
    notify_staked(stake, now=now)
    _record("stake.receive", stake, by, now, private={"receipt": receipt, "cents": stake.cents})
    return stake


def _refuse_receipt(stake: Stake) -> None:
    name = stake.defense.name
    if stake.staked_at is not None:
        raise Conflict(f"The payment for {name} was recorded before.", "received_before")
    if breaks_in_force().filter(defense=stake.defense_id).exists():
        words = f"{name} was broken before its payment arrived: it cannot be staked. Give the payment back."
        raise Conflict(words, "broken")
    if stake.ended_at is not None or stake.defense.retired_at is not None:
        raise Conflict(f"This stake on {name} is over: {stake.end}. Give the payment back.", "stake_over")


def stake_cancel(stake: Stake, *, by: User, now: datetime) -> Stake:
    """Cancel a requested, unpaid stake; for its team and for organizers.

    Raises NotAllowed for others, Conflict for one that began or is over.
    """
    if not (is_organizer(by) or selectors.is_owner(by, stake.defense)):
        raise NotAllowed("Only the team that asked, or an organizer, cancels this.", "not_yours")
    with transaction.atomic():
        found = lock_stake(stake.pk)
        if found.staked_at is not None:
            raise Conflict(f"{found.defense.name} is at stake. Only the board returns it.", "staked")
        _record("stake.cancel", found, by, now)
        return stake_end(found, StakeEnd.WITHDRAWN, now=now, by=by)


def _record(action: str, stake: Stake, by: User, now: datetime, private: Facts | None = None) -> None:
    subject: Subject = {"defense": [stake.defense.public_id], "stake": [stake.pk]}
    audit(action, by=by, subject=subject, now=now, private=private)


# Taking a staked one back --------------------------------------------------------------------------------------------


def return_request(stake: Stake, reason: str, *, by: User, now: datetime) -> Stake:
    """Request, for a captain, that the board returns a defense that is at stake.

    Raises NotAllowed for others, InvalidInput without a reason, Conflict for one that is not at stake or was requested
    before.
    """
    reason = clean_words(reason, field="reason", ask=_ASK_WHY, max_length=MAX_STATEMENT_CHARACTERS)
    with transaction.atomic():
        team = lock_captain(by)
        found = lock_stake(stake.pk)
        _refuse_others(found.defense, team)
        if found.staked_at is None or found.ended_at is not None:
            raise Conflict(f"{found.defense.name} is not at stake.", "not_staked")
        if found.return_asked_at is not None:
            raise Conflict("The board was asked before.", "asked_before")
        found.return_asked_at, found.return_reason = now, reason
        found.save(update_fields=["return_asked_at", "return_reason"])
    return found


def require_return_request(stake: Stake) -> None:
    """Raise Conflict (`not_requested`) where no team requests its defense back."""
    if stake.return_asked_at is None or stake.ended_at is not None:
        raise Conflict(f"The request for {stake.defense.name} is no longer open. Reload the page.", "not_requested")


def return_decide(stake: Stake, *, granted: bool, reason: str, by: MotionMandate, now: datetime) -> Stake:
    """Give the board's answer to a team that asked: granted, the stake ends.

    The defense stays in force: pictures sent against it in time are still run, and may break it (R29). Its team
    withdraws it when that is final (`entry_withdraw`).

    Raises NotAllowed without a mandate of the board, InvalidInput without a reason, Conflict without a request.
    """
    with transaction.atomic():
        found = lock_stake(stake.pk)
        require_return_request(found)
        subject = {"stake": [found.pk], "defense": [found.defense_id]}
        decision = record_decision(DecisionKind.RETURN, subject=subject, reason=reason, by=by, now=now, granted=granted)
        if not granted:
            found.return_asked_at, found.return_reason = None, ""
            found.save(update_fields=["return_asked_at", "return_reason"])
            return found
        return stake_end(found, StakeEnd.WITHDRAWN, now=now, by=by.member, decision=decision)
