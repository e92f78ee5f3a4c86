"""Services of the ledger: moving money (one function), deposits, stakes, and the check of the sums (R32, R34, R36)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import IntegrityError, transaction
from django.db.models import Sum

from common.audit.trail import audit
from common.errors import Conflict, InvalidInput
from common.typed import clean_words
from contest.core.enums import AccountKind, StakeKind
from contest.core.models import BoardDecision, Stake, Team
from contest.core.teams import final_team
from contest.ledger.currency_lock import currency_begin
from contest.ledger.letters import notify_posted
from contest.ledger.models import Account, LedgerEntry

MAX_CENTS = 10**14
MAX_ENTRY_CHARACTERS = 1_000
HALVES = (AccountKind.ATTACKERS, AccountKind.DEFENDERS)
CHECK_EVERY = timedelta(days=1)
_ASK_SOURCE = "Say where the money came from: the reason is public."
_LAST_CHECK = "ledger-last-check"
_OVERDRAWN = "account_not_overdrawn"
Causes = Mapping[str, Sequence[int]]
log = structlog.get_logger(__name__)


def ledger_account(kind: AccountKind, *, team: Team | None = None, stake: Stake | None = None) -> Account:
    """Return the account of this kind, for kinds with many that of a team or a stake; create it if there is none."""
    return Account.objects.get_or_create(kind=kind, team=team, stake=stake)[0]


def lock_accounts(accounts: Iterable[Account]) -> dict[int, Account]:
    """Lock accounts until the end of the transaction, always in the same order; return number -> locked account."""
    wanted = sorted({each.pk for each in accounts})
    rows = Account.objects.select_for_update(of=("self",), no_key=True).filter(pk__in=wanted).order_by("pk")
    return {row.pk: row for row in rows}


def move(
    source: Account,
    target: Account,
    cents: int,
    *,
    rule: str,
    why: str,
    causes: Causes,
    now: datetime,
    by: User | None = None,
    decision: BoardDecision | None = None,
    corrects: LedgerEntry | None = None,
) -> LedgerEntry:
    """Move `cents` from one account to another by `rule`, because of the rows that `causes` names.

    Raises Conflict (`not_enough`) if `source` has less, and for the very first entry while a future policy changes the
    currency (`currency_changes`); InvalidInput for zero or negative cents.
    """
    currency_begin(now)
    if not 0 < cents <= MAX_CENTS:
        raise InvalidInput("An entry moves at least one cent.", "invalid", field="cents")
    try:
        with transaction.atomic():
            return LedgerEntry.objects.create(
                source=source,
                target=target,
                cents=cents,
                rule=rule,
                why=why,
                causes={table: sorted(rows) for table, rows in causes.items() if rows},
                corrects=corrects,
                decision=decision,
                made_by=by,
                made_at=now,
            )
    except IntegrityError as error:
        if _OVERDRAWN not in str(error):
            raise
        raise Conflict(
            f"Nothing was moved: the account {_name(source)} has less than that. Reload the page for its balance.",
            "not_enough",
        ) from None


def _name(of: Account) -> str:
    if of.team is not None:
        return f"of team {of.team.name}"
    if of.stake is not None:
        return f"of the stake on {of.stake.defense.name}"
    return f"“{of.kind}”"


# Deposits, and the money of stakes ------------------------------------------------------------------------------------


@transaction.atomic
def pool_deposit(*, cents: int, reason: str, by: User, now: datetime) -> LedgerEntry:
    """Record a deposit for the prizes, and move half of the pool to each side.

    An odd cent stays in the pool until the next odd deposit. InvalidInput without a reason or a sum.
    """
    said = clean_words(reason, field="reason", ask=_ASK_SOURCE, max_length=MAX_ENTRY_CHARACTERS)
    if not 0 < cents <= MAX_CENTS:
        raise InvalidInput("Give the sum in whole cents, more than none.", "invalid", field="cents")
    outside, pool = ledger_account(AccountKind.OUTSIDE), ledger_account(AccountKind.POOL)
    lock_accounts([outside, pool, *map(ledger_account, HALVES)])
    deposit = move(outside, pool, cents, rule="R34", why=said, causes={}, by=by, now=now)
    causes = {"ledger_entry": [deposit.pk]}
    half = Account.objects.get(pk=pool.pk).balance_cents // 2
    for side in HALVES if half else ():
        why = f"Half of the pool is for the {side.value}."
        move(pool, ledger_account(side), half, rule="R34", why=why, causes=causes, by=by, now=now)
    audit("pool.deposit", by=by, subject=causes, why=said, now=now, private={"cents": cents})
    return deposit


@transaction.atomic
def stake_funded(
    stake: Stake, *, now: datetime, by: User | None = None, decision: BoardDecision | None = None
) -> LedgerEntry:
    """Fund the account of a stake: for the board from the attackers' half, for a team from its payment.

    Raises Conflict (`not_enough`) when the attackers' half has less than the board wants to stake.
    """
    return move(
        ledger_account(AccountKind.ATTACKERS if stake.kind == StakeKind.BOARD else AccountKind.OUTSIDE),
        ledger_account(AccountKind.STAKE, stake=stake),
        stake.cents,
        rule="R32",
        why=f"Staked on {stake.defense.name} by {f'team {stake.paid_by.name}' if stake.paid_by else 'the board'}.",
        causes={"stake": [stake.pk]},
        by=by,
        decision=decision,
        now=now,
    )


@transaction.atomic
def stake_refunded(
    stake: Stake, *, why: str, now: datetime, by: User | None = None, decision: BoardDecision | None = None
) -> LedgerEntry | None:
    """Return what is left on a stake, with the reason, to the team that paid it or to the attackers' half; None when
    nothing is left.

    A team gets it on its account in the ledger, from which organizers pay it.
    """
    payer = final_team(stake.paid_by) if stake.paid_by else None
    target = ledger_account(AccountKind.TEAM if payer else AccountKind.ATTACKERS, team=payer)
    own = ledger_account(AccountKind.STAKE, stake=stake)
    money = lock_accounts([own, target])[own.pk]
    if not money.balance_cents:
        return None
    causes = {"stake": [stake.pk]}
    entry = move(
        money, target, money.balance_cents, rule="R36", why=why, causes=causes, by=by, decision=decision, now=now
    )
    notify_posted([entry], now=now)
    return entry


# The check ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Check:
    """The result of the check: how much was read, and one sentence for each thing that is wrong."""

    accounts: int
    entries: int
    wrong: tuple[str, ...]


def check_ledger_sums() -> Check:
    """Check the whole ledger: balances equal their entries, all balances add up to zero, none is below zero.

    The database ensures all of this; the check finds changes that bypassed it.
    """
    gained, lost = _sums("target"), _sums("source")
    accounts = list(Account.objects.select_related("team", "stake__defense").order_by("pk"))
    wrong = [
        f"The account {_name(each)} shows {each.balance_cents} cents, its entries add up to {added} cents."
        for each in accounts
        if each.balance_cents != (added := gained.get(each.pk, 0) - lost.get(each.pk, 0))
    ]
    total = sum(each.balance_cents for each in accounts)
    if total:
        wrong.append(f"All accounts together hold {total} cents instead of none.")
    wrong += [
        f"The account {_name(each)} is overdrawn: {each.balance_cents} cents."
        for each in accounts
        if each.balance_cents < 0 and each.kind != AccountKind.OUTSIDE
    ]
    return Check(len(accounts), LedgerEntry.objects.count(), tuple(wrong))


def _sums(side: str) -> dict[int, int]:
    return dict(LedgerEntry.objects.order_by().values_list(side).annotate(sum=Sum("cents")))


def ledger_check_periodically(*, now: datetime) -> int:
    """Check the ledger at most once per CHECK_EVERY; return how many things are wrong, 0 when it is not time yet.

    If the cache loses the time of the last check, there is one more check.
    """
    last: datetime | None = cache.get(_LAST_CHECK)
    if last is not None and last <= now < last + CHECK_EVERY:
        return 0
    found = check_ledger_sums()
    cache.set(_LAST_CHECK, now, CHECK_EVERY.total_seconds())
    for line in found.wrong:
        log.error("ledger_does_not_add_up", what=line)
    return len(found.wrong)
