"""Prizes that the board withholds for cheating, with a public reason, and gives back (R38)."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from common.errors import Conflict, InvalidInput
from contest.decisions import decide
from contest.enums import AccountKind, DecisionKind
from contest.models import Account, LedgerEntry
from contest.money.ledger import account, hold, move


@dataclass(frozen=True, slots=True)
class Withheld:
    """What is withheld of one account, and the entries of the decisions about it, oldest first."""

    account: Account
    cents: int
    entries: tuple[LedgerEntry, ...]


def withheld() -> list[Withheld]:
    """Return what is withheld now, by the account it came from, the oldest first."""
    return [each for each in _all() if each.cents]


def withheld_of(of: Account) -> int:
    """Return the cents that are withheld of one account now."""
    return next((each.cents for each in _all() if each.account.pk == of.pk), 0)


def _all() -> Iterator[Withheld]:
    related = ("source__team", "source__stake__defense", "target__team", "target__stake__defense", "decision")
    rows = LedgerEntry.objects.filter(rule="R38").select_related(*related).order_by("pk")
    by_account: dict[int, list[LedgerEntry]] = {}
    for row in rows:
        by_account.setdefault(_of_whom(row).pk, []).append(row)
    for entries in by_account.values():
        cents = sum(row.cents if row.target.kind == AccountKind.WITHHELD else -row.cents for row in entries)
        yield Withheld(_of_whom(entries[0]), cents, tuple(entries))


def _of_whom(entry: LedgerEntry) -> Account:
    return entry.source if entry.target.kind == AccountKind.WITHHELD else entry.target


@transaction.atomic
def money_withhold(*, of: Account, cents: int, reason: str, by: User, now: datetime) -> LedgerEntry:
    """Take money of a team or a stake aside by a decision of the board.

    Raises NotAllowed for who is not on the board, InvalidInput without a reason or for another account, Conflict
    (`not_enough`) where less is there.
    """
    subject = _subject(of)
    hold([of, account(AccountKind.WITHHELD)])
    decision = decide(DecisionKind.WITHHOLD, subject=subject, reason=reason, by=by, now=now, cents=cents)
    target = account(AccountKind.WITHHELD)
    why = "Withheld by the board."
    return move(of, target, cents, rule="R38", why=why, causes=subject, by=by, decision=decision, now=now)


@transaction.atomic
def money_return(*, of: Account, reason: str, by: User, now: datetime) -> LedgerEntry:
    """Give back all that is withheld of a team or a stake by a decision of the board; errors as of `money_withhold`."""
    source = account(AccountKind.WITHHELD)
    hold([of, source])
    cents, subject = withheld_of(of), _subject(of)
    if not cents:
        raise Conflict("Nothing of this account is withheld any more. Reload the page.", "nothing_withheld")
    decision = decide(DecisionKind.RETURN, subject=subject, reason=reason, by=by, now=now, cents=cents)
    why = "Given back by the board."
    return move(source, of, cents, rule="R38", why=why, causes=subject, by=by, decision=decision, now=now)


def _subject(of: Account) -> dict[str, list[int]]:
    if of.team_id is not None:
        return {"team": [of.team_id]}
    if of.stake_id is not None:
        return {"stake": [of.stake_id]}
    raise InvalidInput("Only the money of a team or of a stake can be withheld.", "invalid", field="account")
