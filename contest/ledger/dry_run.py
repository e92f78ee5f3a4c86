"""The ledger as settlements use it: for real, or as a dry run (R22, R35, R36).

A settlement never asks the ledger directly. With `LEDGER` it posts. With a `DryRun` the same code finds the same
entries, and nothing is written or locked: what it adds is kept here, and counted with what the ledger has.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from typing import Any

from django.db import transaction

from common.errors import Conflict
from contest.core.breaks import ON_PAPER
from contest.core.enums import AccountKind
from contest.core.models import Stake, Team
from contest.ledger import services as ledger
from contest.ledger.letters import notify_posted
from contest.ledger.models import Account, LedgerEntry


class Ledger:
    """The ledger itself."""

    planned: Sequence[LedgerEntry] = ()
    opened: Sequence[Account] = ()

    def account(self, kind: AccountKind, *, team: Team | None = None, stake: Stake | None = None) -> Account:
        """Return the account of this kind, made where there was none."""
        return ledger.account(kind, team=team, stake=stake)

    def cents(self, of: Account) -> int:
        """Return the balance of an account, of which the row was read now."""
        return of.balance_cents

    @property
    def changed(self) -> Mapping[int, int]:
        """Return account -> the cents that it has more on paper than in the ledger."""
        return {}

    def move(self, source: Account, target: Account, cents: int, **more: Any) -> LedgerEntry:
        """Move money as `ledger.move` does, with its errors."""
        return ledger.move(source, target, cents, **more)

    def notify(self, entries: Iterable[LedgerEntry], *, now: datetime) -> None:
        """Write to the teams whose money was moved."""
        notify_posted(entries, now=now)

    def attempt(self) -> AbstractContextManager[Any]:
        """Return a context that takes all back that was added in it, where it ends in an error."""
        return transaction.atomic()


LEDGER = Ledger()


class DryRun(Ledger):
    """Entries that are never posted, on top of the ledger."""

    def __init__(self) -> None:
        self.planned: list[LedgerEntry] = []
        self._opened: dict[tuple[str, int | None, int | None], Account] = {}
        self._changed: dict[int, int] = {}

    @property
    def opened(self) -> Sequence[Account]:  # type: ignore[override]
        """Return the accounts that are on paper only."""
        return tuple(self._opened.values())

    @property
    def changed(self) -> Mapping[int, int]:
        """Return account -> the cents that it has more on paper than in the ledger."""
        return self._changed

    def account(self, kind: AccountKind, *, team: Team | None = None, stake: Stake | None = None) -> Account:
        """Return the account of this kind; where there is none, one on paper."""
        rows = Account.objects.select_related("team", "stake__defense")
        found = rows.filter(kind=kind, team=team, stake=stake).first()
        if found is not None:
            return found
        key = (kind.value, team.pk if team else None, stake.pk if stake else None)
        if key not in self._opened:
            number = ON_PAPER + len(self._opened)
            self._opened[key] = Account(pk=number, kind=kind, team=team, stake=stake, balance_cents=0)
        return self._opened[key]

    def cents(self, of: Account) -> int:
        """Return the balance of an account with what is on paper."""
        return of.balance_cents + self._changed.get(of.pk, 0)

    def move(self, source: Account, target: Account, cents: int, **more: Any) -> LedgerEntry:
        """Move money on paper; Conflict (`not_enough`) where the ledger would refuse it."""
        balance = Account.objects.filter(pk=source.pk).values_list("balance_cents", flat=True).first() or 0
        if source.kind != AccountKind.OUTSIDE and balance + self._changed.get(source.pk, 0) < cents:
            raise Conflict("An account has less than that.", "not_enough")
        causes = {table: sorted(rows) for table, rows in more["causes"].items() if rows}
        entry = LedgerEntry(
            pk=ON_PAPER + len(self.planned),
            source=source,
            target=target,
            cents=cents,
            rule=more["rule"],
            why=more["why"],
            causes=causes,
            corrects=more.get("corrects"),
            decision=more.get("decision"),
            made_by=more.get("by"),
            made_at=more["now"],
        )
        self.planned.append(entry)
        self._add(entry, 1)
        return entry

    def _add(self, entry: LedgerEntry, sign: int) -> None:
        for account, cents in ((entry.source_id, -entry.cents), (entry.target_id, entry.cents)):
            self._changed[account] = self._changed.get(account, 0) + sign * cents

    def notify(self, entries: Iterable[LedgerEntry], *, now: datetime) -> None:
        """Write to nobody."""

    def attempt(self) -> AbstractContextManager[Any]:
        """Return a context that takes all back that was added in it, where it ends in an error."""
        return self._undone_on_error()

    @contextmanager
    def _undone_on_error(self) -> Iterator[None]:
        before = len(self.planned)
        try:
            yield
        except Exception:
            for entry in self.planned[before:]:
                self._add(entry, -1)
            del self.planned[before:]
            raise
