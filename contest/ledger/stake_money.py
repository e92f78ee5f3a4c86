"""Reserves the money of a stake, and refunds it (R32, R36)."""

from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from contest.core.enums import AccountKind, StakeKind
from contest.core.models import BoardDecision, Stake
from contest.core.teams import final_team
from contest.ledger.letters import notify_posted
from contest.ledger.models import Account, LedgerEntry
from contest.ledger.services import account, lock_accounts, move


def stake_account(stake: Stake) -> Account:
    """Return the account of a stake's money."""
    return account(AccountKind.STAKE, stake=stake)


@transaction.atomic
def stake_funded(
    stake: Stake, *, now: datetime, by: User | None = None, decision: BoardDecision | None = None
) -> LedgerEntry:
    """Put the money of a stake aside: the board's out of the attackers' half, a team's as it was received.

    Raises Conflict (`not_enough`) when the attackers' half has less than the board wants to stake.
    """
    board = stake.kind == StakeKind.BOARD
    source = account(AccountKind.ATTACKERS if board else AccountKind.OUTSIDE)
    return move(
        source,
        stake_account(stake),
        stake.cents,
        rule="R32",
        why=f"Staked on {stake.defense.name} by {f'team {stake.paid_by.name}' if stake.paid_by else 'the board'}.",
        causes={"stake": [stake.pk]},
        by=by,
        decision=decision,
        now=now,
    )


def back_account(stake: Stake) -> Account:
    """Return where the money of a stake that came to nothing goes: the team that paid it, or the attackers' half."""
    if stake.paid_by is None:
        return account(AccountKind.ATTACKERS)
    return account(AccountKind.TEAM, team=final_team(stake.paid_by))


@transaction.atomic
def stake_refunded(
    stake: Stake, *, why: str, now: datetime, by: User | None = None, decision: BoardDecision | None = None
) -> LedgerEntry | None:
    """Give what is left on a stake back to who paid it, with the reason; None when nothing is left.

    A team finds it on its own account, from where organizers pay it.
    """
    target = back_account(stake)
    money = lock_accounts([own := stake_account(stake), target])[own.pk]
    if not money.balance_cents:
        return None
    causes = {"stake": [stake.pk]}
    entry = move(
        money, target, money.balance_cents, rule="R36", why=why, causes=causes, by=by, decision=decision, now=now
    )
    notify_posted([entry], now=now)
    return entry
