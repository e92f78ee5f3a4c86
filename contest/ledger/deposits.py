"""Deposits into the pool and their split (R34)."""

from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from common.audit.trail import audit
from common.errors import InvalidInput
from common.typed import clean_words
from contest.core.enums import AccountKind
from contest.ledger.models import Account, LedgerEntry
from contest.ledger.services import MOST_CENTS, MOST_WORDS, account, lock_accounts, move

_ASK_SOURCE = "Say where the money came from: the reason is public."
HALVES = (AccountKind.ATTACKERS, AccountKind.DEFENDERS)


@transaction.atomic
def pool_deposit(*, cents: int, reason: str, by: User, now: datetime) -> LedgerEntry:
    """Record money that was received for the prizes, and give half of the pool to each side.

    An odd cent stays in the pool until another comes. InvalidInput without a reason or a sum.
    """
    said = clean_words(reason, field="reason", ask=_ASK_SOURCE, most=MOST_WORDS)
    if not 0 < cents <= MOST_CENTS:
        raise InvalidInput("Give the sum in whole cents, more than none.", "invalid", field="cents")
    outside, pool = account(AccountKind.OUTSIDE), account(AccountKind.POOL)
    lock_accounts([outside, pool, *map(account, HALVES)])
    deposit = move(outside, pool, cents, rule="R34", why=said, causes={}, by=by, now=now)
    _split_pool(deposit, by, now)
    subject, told = {"ledger_entry": [deposit.pk]}, {"cents": cents}
    audit("pool.deposit", by=by, subject=subject, why=said, now=now, private=told)
    return deposit


def _split_pool(deposit: LedgerEntry, by: User, now: datetime) -> None:
    pool = account(AccountKind.POOL)
    half = Account.objects.get(pk=pool.pk).balance_cents // 2
    for side in HALVES:
        if half:
            why = f"Half of the pool is for the {side.value}."
            move(pool, account(side), half, rule="R34", why=why, causes={"ledger_entry": [deposit.pk]}, by=by, now=now)
