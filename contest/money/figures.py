"""What the pages of money say, as frozen values; the number of queries does not depend on the length of the ledger."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q, Sum
from django.urls import reverse

from contest.awards.services import change_of
from contest.embargo import attacks_public
from contest.enums import AccountKind
from contest.models import Account, Attack, Award, BoardDecision, Break, LedgerEntry, Payment, Stake, Team
from contest.money.settlement import differences
from contest.money.withholding import Withheld, withheld
from contest.publishing import released

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
    why: str
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
class Held:
    """What a team has on its account, as far as it may be told of."""

    team: Team
    cents: int


@dataclass(frozen=True, slots=True)
class Money:
    """The public page: balances of the accounts there is one of, what is staked, what teams hold, and what waits.

    `held` is on accounts of teams; what follows from breaks that are not told of yet is not among `teams`.
    """

    balances: Mapping[str, int]
    received: int
    paid: int
    stakes: tuple[Account, ...]
    teams: tuple[Held, ...]
    held: int
    withheld: tuple[Withheld, ...]
    debts: tuple[Debt, ...]
    awards: tuple[Award, ...]

    @property
    def staked(self) -> int:
        """Return the cents that lie on stakes."""
        return sum(each.balance_cents for each in self.stakes)

    @property
    def untold(self) -> int:
        """Return the cents of teams that are named with the release of a week."""
        return self.held - sum(each.cents for each in self.teams)


def money_figures(*, told_at: datetime | None) -> Money:
    """Return the balances and lists of the page by what everybody may know at `told_at`; None tells all."""
    rows = list(
        Account.objects.exclude(kind=AccountKind.OUTSIDE)
        .filter(Q(balance_cents__gt=0) | Q(kind__in=SINGLE))
        .select_related("team", "stake__defense", "stake__paid_by", "stake__batch")
        .order_by("pk")
    )
    single = {AccountKind(each.kind).value: each.balance_cents for each in rows if each.kind in SINGLE}
    teams, untold = [each for each in rows if each.kind == AccountKind.TEAM], _untold() if told_at else {}
    awards = Award.objects.select_related("stake__defense__entry__team", "decision__decided_by").order_by("-pk")
    return Money(
        balances={kind.value: single.get(kind.value, 0) for kind in SINGLE},
        received=_moved("source", "target"),
        paid=_moved("target", "source"),
        stakes=tuple(each for each in rows if each.kind == AccountKind.STAKE),
        teams=tuple(_held(teams, untold.values())),
        held=sum(each.balance_cents for each in teams),
        withheld=tuple(withheld()),
        debts=tuple(debts()),
        awards=tuple(awards),
    )


def _moved(outside: str, back: str) -> int:
    """Return what came from `outside` or went there, less what was recorded wrongly and taken back."""
    moved = _sum(**{f"{outside}__kind": AccountKind.OUTSIDE, "corrects": None})
    return moved - _sum(**{f"{back}__kind": AccountKind.OUTSIDE, "corrects__isnull": False})


def _sum(**which: Any) -> int:
    return LedgerEntry.objects.filter(**which).aggregate(sum=Sum("cents"))["sum"] or 0


def _held(accounts: Iterable[Account], untold: Iterable[LedgerEntry]) -> Iterator[Held]:
    hidden: dict[int, int] = {}
    for entry in untold:
        hidden[entry.target_id] = hidden.get(entry.target_id, 0) + entry.cents
        hidden[entry.source_id] = hidden.get(entry.source_id, 0) - entry.cents
    for each in accounts:
        if each.team is not None and (cents := each.balance_cents - max(hidden.get(each.pk, 0), 0)) > 0:
            yield Held(each.team, cents)


def debts() -> Iterator[Debt]:
    """Yield what teams owe to the half that advanced it, or that waits for it: of stakes, the oldest first, and of
    awards."""
    for row in differences():
        for team, cents in row.flows.owed.items():
            yield Debt(Team.objects.get(pk=team), row.found.stake, cents)
    for decision in BoardDecision.objects.filter(awards__isnull=False).distinct().order_by("pk"):
        change = change_of(decision)
        for team, cents in change.flows.owed.items():
            if (lost := change.lost_by(team)) is not None:
                yield Debt(Team.objects.get(pk=team), lost.stake, cents)


# What is told -----------------------------------------------------------------------------------------------------

_UNTOLD = "It follows from a break that is told of with the release of its week."


def _untold() -> dict[int, LedgerEntry]:
    """Return the entries that follow from a break on a picture of a week that is not released (R24, R39), by number;
    and those that correct one of them.

    As the leaderboard, the ledger tells who got what for a break when it tells of the break.
    """
    hidden = dict(Break.objects.exclude(released("image__")).values_list("pk", "found_at"))
    found: dict[int, LedgerEntry] = {}
    if hidden:
        # An entry is made after what it follows from.
        for entry in LedgerEntry.objects.filter(made_at__gte=min(hidden.values())).order_by("pk"):
            if entry.corrects_id in found or not hidden.keys().isdisjoint(entry.causes.get("break", ())):
                found[entry.pk] = entry
    return found


# Entries ------------------------------------------------------------------------------------------------------------


def entries(
    *,
    told_at: datetime | None,
    of: Iterable[Account] | None = None,
    before: int | None = None,
    most: int = ENTRIES_SHOWN,
) -> tuple[list[EntryRow], int | None]:
    """Return entries, newest first, of all accounts or of some, and where the next page begins.

    They say what everybody may know at `told_at`; None tells all.
    """
    rows = LedgerEntry.objects.select_related(
        "source__team", "source__stake__defense", "target__team", "target__stake__defense", "decision__decided_by"
    )
    if of is not None:
        numbers = [each.pk for each in of]
        rows = rows.filter(Q(source__in=numbers) | Q(target__in=numbers))
    rows = rows.filter(pk__lt=before) if before is not None else rows
    found = list(rows.order_by("-pk")[: most + 1])
    shown = found[:most]
    return list(with_causes(shown, told_at=told_at)), (shown[-1].pk if len(found) > most else None)


def with_causes(rows: Sequence[LedgerEntry], *, told_at: datetime | None) -> Iterator[EntryRow]:
    """Yield entries with the rows they follow from, by what everybody may know at `told_at`; None tells all."""
    known, untold = _known(rows, told_at), _untold() if told_at else {}
    for row in rows:
        wanted = [(table, number) for table, numbers in row.causes.items() for number in numbers]
        if row.pk in untold:
            told = [each for each in wanted if each[0] == "stake"]
            source, target = (_unnamed(of) for of in (row.source, row.target))
            yield EntryRow(row, source, target, _UNTOLD, _causes(row, told, known))
        else:
            source, target = account_words(row.source), account_words(row.target)
            yield EntryRow(row, source, target, row.why, _causes(row, wanted, known))


def _unnamed(of: Account) -> str:
    return account_words(of) if of.team is None else "a team"


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


def _known(rows: Iterable[LedgerEntry], told_at: datetime | None) -> _Known:
    """Return every row that the entries name, by table and number: one query for each table."""
    numbers: dict[str, set[int]] = {}
    for row in rows:
        for table, named in row.causes.items():
            numbers.setdefault(table, set()).update(named)
    if told_at and "attack" in numbers:
        named = Attack.objects.filter(attacks_public(now=told_at), pk__in=numbers["attack"])
        numbers["attack"] = set(named.values_list("pk", flat=True))
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
