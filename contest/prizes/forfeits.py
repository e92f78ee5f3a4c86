"""Services that withhold the money of an award and forfeit it for good, by a decision of the board (R38).

Forfeited money goes back to the defenders' half, which can then be awarded to the next defense. Only money of the
award itself does: on a team's account it lies beside other prizes, so a withholding names its award and is never more
than the part of the award that was not paid out.
"""

from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet, Sum

from common.errors import Conflict
from contest.core.decisions import MotionMandate, record_decision
from contest.core.enums import AccountKind, DecisionKind
from contest.core.models import Award
from contest.defenses.selectors import owner_of
from contest.ledger.models import Account, LedgerEntry
from contest.ledger.services import ledger_account, lock_accounts, move
from contest.ledger.withholding import (
    awards_of,
    forfeited_of,
    forfeited_of_award,
    money_withhold,
    set_aside_by_award,
    withheld_of,
)
from contest.prizes.awards import award_change
from contest.prizes.settlement import NetReceived, accounts_of_teams, received_by_award, teams_share
from contest.prizes.shares import defender_shares

_Part = tuple[Account, int]

# Withholding ----------------------------------------------------------------------------------------------------------


def withholdable(award: Award) -> int:
    """Return how much of an award the board can withhold now: the part still on the team's accounts."""
    return sum(cents for _, cents in _left_of(award))


def _left_of(award: Award) -> list[_Part]:
    """Return the team's accounts with the part of the award on each: not paid out, withheld or forfeited."""
    got = [(moved, set_aside_by_award(moved.account)) for moved in _received_by_accounts(award)]
    share = award_change(award.decision).shares.get(award.stake_id, 0) - sum(aside.get(award.pk, 0) for _, aside in got)
    together = awards_of(award.decision)
    found: list[_Part] = []
    for moved, aside in got:
        left = moved.cents - _paid_since(award, moved.account) - sum(aside.get(each, 0) for each in together)
        if (cents := min(left, share, moved.account.balance_cents)) > 0:
            found.append((moved.account, cents))
            share -= cents
    return found


def _received_by_accounts(award: Award) -> list[NetReceived]:
    """Return what each account of the team got by the decision of an award."""
    accounts = set(_accounts(award))
    moved = [each for each in received_by_award(award.decision) if each.account in accounts]
    return sorted(moved, key=lambda each: each.account.pk)


def _accounts(award: Award) -> list[Account]:
    owner = owner_of(award.stake.defense)
    return accounts_of_teams([owner]) if owner is not None else []


def _paid_since(award: Award, of: Account) -> int:
    """Return what was paid out of an account since it got the award: all of that counts as paid of the award.

    A payment is of all that is due, and an award is due with its entry, so such a payment includes the award. Of an
    account that got nothing of it, and gave something back for a team merged with its own, nothing was paid.
    """
    given = LedgerEntry.objects.filter(decision=award.decision, target=of, corrects=None).order_by("pk").first()
    if given is None:
        return 0
    paid = LedgerEntry.objects.filter(source=of, target__kind=AccountKind.OUTSIDE, corrects=None, pk__gt=given.pk)
    return _sum_of(paid) - _sum_of(LedgerEntry.objects.filter(corrects__in=paid))


def _sum_of(rows: QuerySet[LedgerEntry]) -> int:
    return rows.aggregate(sum=Sum("cents"))["sum"] or 0


def amounts_to_withhold(award: Award) -> list[_Part]:
    """Return what can be withheld of an award; Conflict (`nothing_left`) where nothing can."""
    parts = _left_of(award)
    if not parts:
        raise Conflict(
            "Nothing of this award is on the team's account: it was paid out, withheld or taken back.", "nothing_left"
        )
    return parts


@transaction.atomic
def award_withhold(*, award: Award, reason: str, by: MotionMandate, now: datetime) -> list[LedgerEntry]:
    """Withhold what is left of an award on its team's account, by a decision of the board.

    Raises NotAllowed without a mandate of the board, InvalidInput without a reason, Conflict (`nothing_left`) where
    nothing of it is there.
    """
    lock_accounts([ledger_account(AccountKind.WITHHELD), *_accounts(award)])
    parts = amounts_to_withhold(award)
    return [money_withhold(of=of, award=award, cents=cents, reason=reason, by=by, now=now) for of, cents in parts]


# For good -------------------------------------------------------------------------------------------------------------


def forfeitable(award: Award) -> int:
    """Return how much of an award the board can forfeit for good: what it withholds of it."""
    return sum(cents for _, cents in _withheld_of(award))


def _withheld_of(award: Award) -> list[_Part]:
    """Return the accounts of the team, with what is withheld of the award from each."""
    owner = owner_of(award.stake.defense)
    if owner is None:
        return []
    left = teams_share(received_by_award(award.decision))[0].get(owner.pk, 0)
    left -= forfeited_of(award.decision).get(owner.pk, 0)
    found: list[_Part] = []
    for of in _accounts(award):
        aside = withheld_of(of, award=award)
        if aside is not None and (cents := min(aside.cents, left)) > 0:
            found.append((of, cents))
            left -= cents
    return found


def forfeit_check(award: Award) -> list[_Part]:
    """Return what can be forfeited for good; Conflict (`nothing_withheld`) if nothing is withheld."""
    parts = _withheld_of(award)
    if not parts:
        raise Conflict(
            "Nothing of this award is withheld. Withhold the prize first, with the reason.", "nothing_withheld"
        )
    return parts


@transaction.atomic
def award_forfeit(*, award: Award, reason: str, by: MotionMandate, now: datetime) -> list[LedgerEntry]:
    """Move what is withheld of an award to the defenders' half, by a decision of the board.

    Raises NotAllowed without a mandate of the board, InvalidInput without a reason, Conflict (`nothing_withheld`) where
    nothing of this award is withheld.
    """
    lock_accounts([ledger_account(AccountKind.WITHHELD), ledger_account(AccountKind.DEFENDERS)])
    parts, had = forfeit_check(award), _had(award)
    return [_forfeit(award, of, cents, had, reason, by, now) for of, cents in parts]


def _had(award: Award) -> int:
    """Return the cents that an award has of the half when anything of it is forfeited first.

    What its team got, less what the next sweep takes back, belongs in equal parts to those of its awards that stand.
    """
    change, owner = award_change(award.decision), owner_of(award.stake.defense)
    assert owner is not None, "an award is given to a team"
    if award.stake_id in change.forfeited:
        return change.forfeited[award.stake_id]
    together = Award.objects.filter(decision=award.decision).select_related("stake__defense__entry__team")
    others = [each for each in together if each != award and owner_of(each.stake.defense) == owner]
    left = teams_share(received_by_award(award.decision))[0].get(owner.pk, 0) - change.flows.taken.get(owner.pk, 0)
    for each in others:
        if each.stake_id in change.forfeited:
            left -= max(change.shares.get(each.stake_id, 0), forfeited_of_award(each))
    kept = [each for each in others if each.stake_id in change.shares]
    standing = [award, *(each for each in kept if each.stake_id not in change.forfeited)]
    received = {each.stake_id: each.stake.defense.entry.received_at for each in standing}
    part = defender_shares(max(left, 0), received)[award.stake_id]
    # What was paid out of an award of the team that is lost is a debt, and no part of this one.
    return part if kept == others else min(part, change.shares.get(award.stake_id, part))


def _forfeit(
    award: Award, of: Account, cents: int, had: int, reason: str, by: MotionMandate, now: datetime
) -> LedgerEntry:
    assert of.team_id is not None, "an award is given to a team"
    subject = {"team": [of.team_id], "award": [award.pk]}
    decision = record_decision(
        DecisionKind.FORFEIT, subject=subject, reason=reason, by=by, now=now, cents=cents, had=had
    )
    source, half = ledger_account(AccountKind.WITHHELD), ledger_account(AccountKind.DEFENDERS)
    why = f"Withheld for good of the award for {award.stake.defense.name}: it is in the defenders' half again."
    return move(source, half, cents, rule="R38", why=why, causes=subject, by=by.member, decision=decision, now=now)
