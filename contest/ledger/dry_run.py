"""Two ledgers of one interface for settlements: the real one, and a dry run that writes nothing (R22, R35, R36).

A settlement never uses the ledger directly. With `LEDGER` it posts entries. With a `DryRun` the same code finds the
same entries, and nothing is written or locked: the new entries stay in memory and count together with the stored ones.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from typing import Any

import structlog
from django.db import OperationalError, transaction

from common.errors import Conflict
from contest.core.breaks import ON_PAPER
from contest.core.enums import AccountKind
from contest.core.models import Stake, Team
from contest.ledger import services as ledger
from contest.ledger.letters import notify_posted
from contest.ledger.models import Account, LedgerEntry

log = structlog.get_logger(__name__)


class Ledger:
    """The real ledger. The state of a dry run is empty here: no new entries (`planned`), no new accounts (`opened`),
    and no changed balances (`changed`)."""

    planned: Sequence[LedgerEntry] = ()
    opened: Sequence[Account] = ()
    changed: Mapping[int, int] = {}

    def account(self, kind: AccountKind, *, team: Team | None = None, stake: Stake | None = None) -> Account:
        """Return the account of this kind; create it if there is none."""
        return ledger.ledger_account(kind, team=team, stake=stake)

    def cents(self, of: Account) -> int:
        """Return the balance of an account whose row was read just now."""
        return of.balance_cents

    def move(self, source: Account, target: Account, cents: int, **more: Any) -> LedgerEntry:
        """Move money as `ledger.move` does, with its errors."""
        return ledger.move(source, target, cents, **more)

    def notify(self, entries: Iterable[LedgerEntry], *, now: datetime) -> None:
        """Write to the teams whose money was moved."""
        notify_posted(entries, now=now)

    def attempt(self) -> AbstractContextManager[Any]:
        """Return a context manager that undoes all that was added inside if it ends in an error."""
        return transaction.atomic()


LEDGER = Ledger()


class DryRun(Ledger):
    """Entries that are never posted, on top of the ledger."""

    def __init__(self) -> None:
        self.planned: list[LedgerEntry] = []
        self.opened: list[Account] = []
        self.changed: Counter[int] = Counter()

    def account(self, kind: AccountKind, *, team: Team | None = None, stake: Stake | None = None) -> Account:
        """Return the account of this kind; if there is none, an unsaved one."""
        rows = Account.objects.select_related("team", "stake__defense")
        found = rows.filter(kind=kind, team=team, stake=stake).first()
        if found is not None:
            return found
        for each in self.opened:
            if (each.kind, each.team, each.stake) == (kind, team, stake):
                return each
        self.opened.append(Account(pk=ON_PAPER + len(self.opened), kind=kind, team=team, stake=stake))
        return self.opened[-1]

    def cents(self, of: Account) -> int:
        """Return the balance of an account including the entries of the dry run."""
        return of.balance_cents + self.changed[of.pk]

    def move(self, source: Account, target: Account, cents: int, **more: Any) -> LedgerEntry:
        """Move money in the dry run; Conflict (`not_enough`) if the ledger would refuse it."""
        balance = Account.objects.filter(pk=source.pk).values_list("balance_cents", flat=True).first() or 0
        if source.kind != AccountKind.OUTSIDE and balance + self.changed[source.pk] < cents:
            raise Conflict("An account has less than that.", "not_enough")
        entry = LedgerEntry(
            pk=ON_PAPER + len(self.planned),
            source=source,
            target=target,
            cents=cents,
            rule=more["rule"],
            why=more["why"],
            causes={table: sorted(rows) for table, rows in more["causes"].items() if rows},
            corrects=more.get("corrects"),
            decision=more.get("decision"),
            made_by=more.get("by"),
            made_at=more["now"],
        )
        self.planned.append(entry)
        self._add(entry, 1)
        return entry

    def _add(self, entry: LedgerEntry, sign: int) -> None:
        self.changed[entry.source_id] -= sign * entry.cents
        self.changed[entry.target_id] += sign * entry.cents

    def notify(self, entries: Iterable[LedgerEntry], *, now: datetime) -> None:
        """Write to nobody."""

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Undo all that is added inside this context if it ends in an error."""
        before = len(self.planned)
        try:
            yield
        except Exception:
            for entry in self.planned[before:]:
                self._add(entry, -1)
            del self.planned[before:]
            raise


class Attempts:
    """The results of settling, by row number: `changed` those with new entries, `failed` the errors.

    A failed one is rolled back alone and does not stop the others; it is logged as `event`, its number as `named`.
    """

    def __init__(self, book: Ledger, event: str, named: str) -> None:
        self.book, self._event, self._named = book, event, named
        self.changed: set[int] = set()
        self.failed: dict[int, Exception] = {}

    def settle_one(self, number: int, post: Callable[[], bool]) -> bool:
        """Let `post` add the entries of one, all or none; say whether there were any, as `post` does."""
        try:
            with self.book.attempt():
                if not post():
                    return False
        except OperationalError:  # of the database, for example a deadlock: the whole transaction is to be repeated
            raise
        except Exception as error:  # whatever it is, only this one fails and is rolled back
            log.exception(self._event, **{self._named: number})
            self.failed[number] = error
            return False
        self.changed.add(number)
        return True
