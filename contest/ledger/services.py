"""Accounts, the only function that moves money, and the check of the sums (R34)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Sum

from common.errors import Conflict, InvalidInput
from contest.core.enums import AccountKind
from contest.core.models import BoardDecision, Stake, Team
from contest.ledger.currency_lock import currency_begin
from contest.ledger.models import Account, LedgerEntry

MOST_CENTS = 10**14
MOST_WORDS = 1_000
_OVERDRAWN = "account_not_overdrawn"
Causes = Mapping[str, Sequence[int]]


def account(kind: AccountKind, *, team: Team | None = None, stake: Stake | None = None) -> Account:
    """Return the account of this kind, made where there was none; of a team or a stake where the kind has many."""
    return Account.objects.get_or_create(kind=kind, team=team, stake=stake)[0]


def lock_accounts(accounts: Iterable[Account]) -> dict[int, Account]:
    """Lock accounts until the end of the transaction, in one order always; return them as they stand, by number."""
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

    Raises Conflict (`not_enough`) where `source` has less, and for the first entry of all before the currency changes
    (`currency_changes`); InvalidInput for nothing or for less than nothing.
    """
    currency_begin(now)
    if not 0 < cents <= MOST_CENTS:
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


# The check ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Check:
    """What the check found: how much was read, and what is wrong, each in a sentence; nothing wrong is no sentence."""

    accounts: int
    entries: int
    wrong: tuple[str, ...]


def check_ledger_sums() -> Check:
    """Add up the whole ledger: balances against entries, the sum against zero, and nobody below it.

    The database keeps all of this by itself; the check is for what got around it.
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
