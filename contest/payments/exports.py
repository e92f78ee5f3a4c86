"""CSV exports of payables and of payments, for banks and accountants (R34)."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from django.db.models import Q

from contest.core.enums import AccountKind
from contest.core.models import Stake
from contest.ledger.amounts import plain_amount
from contest.ledger.models import LedgerEntry, Payment
from contest.payments.payable import payables

Row = tuple[str, ...]
PAYABLE_COLUMNS = ("team_id", "team", "currency", "due", "waiting", "waits_for", "balance", "asked_by", "asked_at")
RECEIPT_COLUMNS = (
    "entry",
    "at",
    "direction",
    "currency",
    "amount",
    "rule",
    "team_id",
    "team",
    "reference",
    "why",
    "corrects",
)
# What a spreadsheet would read as a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "−")


def formula_guarded(cells: Iterable[str]) -> Row:
    """Return cells that no spreadsheet takes for a formula: an apostrophe is put before those that look like one."""
    return tuple(f"'{each}" if each.startswith(_FORMULA) else each for each in cells)


def payable_rows(*, currency: str, now: datetime) -> Iterator[Row]:
    """Yield the rows of what is due to each team, with its open payment."""
    asked = {row.team_id: row for row in Payment.objects.filter(paid_at=None, cancelled_at=None)}
    for each in payables(now=now):
        team, payment = each.team, asked.get(each.team.pk)
        yield formula_guarded(
            (
                team.public_id,
                team.name,
                currency,
                plain_amount(each.due),
                plain_amount(each.waiting),
                " ".join(each.weeks),
                plain_amount(each.balance),
                payment.asked_by.get_username() if payment and payment.asked_by else "",
                payment.asked_at.isoformat() if payment else "",
            )
        )


def receipt_rows(*, currency: str) -> Iterator[Row]:
    """Yield the rows of all money received and paid, oldest first."""
    outside = Q(source__kind=AccountKind.OUTSIDE) | Q(target__kind=AccountKind.OUTSIDE)
    rows = LedgerEntry.objects.filter(outside).order_by("pk")
    sides = [f"{side}__{of}" for side in ("source", "target") for of in ("team", "stake__paid_by")]
    for row in rows.select_related(*sides, "payment"):
        yield formula_guarded(_receipt(row, currency))


def _receipt(row: LedgerEntry, currency: str) -> Row:
    stake: Stake | None = row.target.stake or row.source.stake
    team = row.source.team or row.target.team or (stake.paid_by if stake else None)
    payment: Payment | None = getattr(row, "payment", None)
    return (
        str(row.pk),
        row.made_at.isoformat(),
        _direction(row),
        currency,
        plain_amount(row.cents),
        row.rule,
        team.public_id if team else "",
        team.name if team else "",
        payment.reference if payment else (stake.receipt if stake else ""),
        row.why,
        str(row.corrects_id or ""),
    )


def _direction(row: LedgerEntry) -> str:
    """Return the direction of the money; a correction reverses the entry it corrects, and moved no new money."""
    came_in = row.source.kind == AccountKind.OUTSIDE
    if row.corrects_id is None:
        return "received" if came_in else "paid"
    return "correction of paid" if came_in else "correction of received"
