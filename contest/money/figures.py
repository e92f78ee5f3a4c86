"""What the pages of money say, as frozen values; the number of queries does not depend on the length of the ledger."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, Sum
from django.urls import reverse

from contest.enums import AccountKind
from contest.models import Account, Attack, Award, Break, LedgerEntry, Payment, Stake, Team
from contest.money.settlement import differences
from contest.money.withholding import Withheld, withheld

ENTRIES_SHOWN = 50
SINGLE = (AccountKind.POOL, AccountKind.ATTACKERS, AccountKind.DEFENDERS, AccountKind.WITHHELD)
ACCOUNT_WORDS = {
    AccountKind.OUTSIDE: "outside",
    AccountKind.POOL: "pool",
    AccountKind.ATTACKERS: "attackers' half",
    AccountKind.DEFENDERS: "defenders' half",
    AccountKind.WITHHELD: "withheld",
}


@dataclass(frozen=True, slots=True)
class Cause:
    """A row that an entry follows from, in words, and where it can be looked at; no address where it is nowhere."""

    words: str
    url: str


@dataclass(frozen=True, slots=True)
class EntryRow:
    """An entry of the ledger as pages list it: where from, where to, and why."""

    entry: LedgerEntry
    source: str
    target: str
    causes: tuple[Cause, ...]

    @property
    def gained(self) -> bool:
        """Say whether the entry gives to a team, for a team's own page."""
        return self.entry.target.kind == AccountKind.TEAM


@dataclass(frozen=True, slots=True)
class Debt:
    """What a team has to give back of a stake and has no more: it was paid out (R22)."""

    team: Team
    stake: Stake
    cents: int


@dataclass(frozen=True, slots=True)
class Money:
    """The public page: balances of the accounts there is one of, what is staked, what teams hold, and what waits."""

    balances: Mapping[str, int]
    received: int
    paid: int
    stakes: tuple[Account, ...]
    teams: tuple[Account, ...]
    withheld: tuple[Withheld, ...]
    debts: tuple[Debt, ...]
    awards: tuple[Award, ...]

    @property
    def staked(self) -> int:
        """Return the cents that lie on stakes."""
        return sum(each.balance_cents for each in self.stakes)

    @property
    def held(self) -> int:
        """Return the cents that lie on accounts of teams."""
        return sum(each.balance_cents for each in self.teams)


def money_figures() -> Money:
    """Return the balances and lists of the public page."""
    rows = list(
        Account.objects.exclude(kind=AccountKind.OUTSIDE)
        .filter(Q(balance_cents__gt=0) | Q(kind__in=SINGLE))
        .select_related("team", "stake__defense", "stake__paid_by", "stake__batch")
        .order_by("pk")
    )
    single = {AccountKind(each.kind).value: each.balance_cents for each in rows if each.kind in SINGLE}
    awards = Award.objects.select_related("stake__defense__entry__team", "decision__decided_by").order_by("-pk")
    return Money(
        balances={kind.value: single.get(kind.value, 0) for kind in SINGLE},
        received=_sum(source__kind=AccountKind.OUTSIDE),
        paid=_sum(target__kind=AccountKind.OUTSIDE),
        stakes=tuple(each for each in rows if each.kind == AccountKind.STAKE),
        teams=tuple(each for each in rows if each.kind == AccountKind.TEAM),
        withheld=tuple(withheld()),
        debts=tuple(debts()),
        awards=tuple(awards),
    )


def _sum(**which: Any) -> int:
    return LedgerEntry.objects.filter(**which).aggregate(sum=Sum("cents"))["sum"] or 0


def debts() -> Iterator[Debt]:
    """Yield what teams owe to the half that advanced it, or that waits for it; the oldest stake first."""
    for row in differences():
        for team, cents in row.flows.owed.items():
            yield Debt(Team.objects.get(pk=team), row.found.stake, cents)


def entries(
    *, of: Iterable[Account] | None = None, before: int | None = None, most: int = ENTRIES_SHOWN
) -> tuple[list[EntryRow], int | None]:
    """Return entries, newest first, of all accounts or of some, and where the next page begins."""
    rows = LedgerEntry.objects.select_related(
        "source__team", "source__stake__defense", "target__team", "target__stake__defense", "decision__decided_by"
    )
    if of is not None:
        numbers = [each.pk for each in of]
        rows = rows.filter(Q(source__in=numbers) | Q(target__in=numbers))
    rows = rows.filter(pk__lt=before) if before is not None else rows
    found = list(rows.order_by("-pk")[: most + 1])
    shown = found[:most]
    return list(with_causes(shown)), (shown[-1].pk if len(found) > most else None)


def with_causes(rows: Sequence[LedgerEntry]) -> Iterator[EntryRow]:
    """Yield entries with the rows they follow from."""
    known = _known(rows)
    for row in rows:
        wanted = [(table, number) for table, numbers in row.causes.items() for number in numbers]
        yield EntryRow(row, account_words(row.source), account_words(row.target), _causes(row, wanted, known))


def account_words(of: Account) -> str:
    """Return the name of an account."""
    if of.team is not None:
        return f"team {of.team.name}"
    if of.stake is not None:
        return f"stake on {of.stake.defense.name}"
    return ACCOUNT_WORDS[AccountKind(of.kind)]


_Known = dict[tuple[str, int], Cause]


def _causes(row: LedgerEntry, wanted: Iterable[tuple[str, int]], known: _Known) -> tuple[Cause, ...]:
    found = [known[each] for each in wanted if each in known]
    if row.corrects_id is not None:
        found.append(Cause(f"entry {row.corrects_id}", _entry_url(row.corrects_id)))
    return tuple(dict.fromkeys(found))


def _entry_url(number: int) -> str:
    return f"{reverse('money')}?before={number + 1}#entry-{number}"


def _known(rows: Iterable[LedgerEntry]) -> _Known:
    """Return every row that the entries name, by table and number: one query for each table."""
    numbers: dict[str, set[int]] = {}
    for row in rows:
        for table, named in row.causes.items():
            numbers.setdefault(table, set()).update(named)
    return {
        (table, number): cause
        for table, read in _READ.items()
        if table in numbers
        for number, cause in read(numbers[table])
    }


def _stakes(numbers: set[int]) -> Iterator[tuple[int, Cause]]:
    for row in Stake.objects.filter(pk__in=numbers).select_related("defense"):
        yield row.pk, Cause(f"stake on {row.defense.name}", reverse("defense", args=[row.defense.public_id]))


def _breaks(numbers: set[int]) -> Iterator[tuple[int, Cause]]:
    for row in Break.objects.filter(pk__in=numbers).select_related("defense", "image"):
        address = reverse("defense", args=[row.defense.public_id])
        yield row.pk, Cause(f"break of {row.defense.name} by picture {row.image.public_id}", address)


def _attacks(numbers: set[int]) -> Iterator[tuple[int, Cause]]:
    for row in Attack.objects.filter(pk__in=numbers):
        yield row.pk, Cause(f"attack {row.public_id}", reverse("attack", args=[row.public_id]))


def _teams(numbers: set[int]) -> Iterator[tuple[int, Cause]]:
    for row in Team.objects.filter(pk__in=numbers):
        yield row.pk, Cause(f"team {row.name}", reverse("team-public", args=[row.public_id]))


def _awards(numbers: set[int]) -> Iterator[tuple[int, Cause]]:
    for row in Award.objects.filter(pk__in=numbers).select_related("stake__defense"):
        yield row.pk, Cause(f"award for {row.stake.defense.name}", f"{reverse('money')}#award-{row.pk}")


def _payments(numbers: set[int]) -> Iterator[tuple[int, Cause]]:
    for row in Payment.objects.filter(pk__in=numbers).select_related("team"):
        yield row.pk, Cause(f"payment {row.pk} to team {row.team.name}", "")


def _entries(numbers: set[int]) -> Iterator[tuple[int, Cause]]:
    for number in numbers:
        yield number, Cause(f"entry {number}", _entry_url(number))


_READ: dict[str, Any] = {
    "stake": _stakes,
    "break": _breaks,
    "attack": _attacks,
    "team": _teams,
    "award": _awards,
    "payment": _payments,
    "ledger_entry": _entries,
}
