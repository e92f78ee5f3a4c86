"""Reads the data of the money pages (balances, debts, ledger entries) in a fixed number of queries."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db.models import Case, Exists, OuterRef, Q, QuerySet, Sum, When
from django.urls import reverse

from contest.core.breaks import recorded_mistakes
from contest.core.embargo import public_attack_condition
from contest.core.enums import AccountKind
from contest.core.models import Attack, Award, BoardDecision, Stake, Team
from contest.core.publication import released
from contest.ledger.models import Account, LedgerEntry, Payment
from contest.ledger.visibility import EntryVisibility, LedgerView, Pair
from contest.ledger.withholding import WithheldAmount, ever_withheld, withheld_amounts
from contest.prizes.awards import award_change, decisions_on_awards
from contest.prizes.settlement import settlement_differences

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
class EntryCause:
    """A row that an entry follows from, in words, and where it can be looked at; no address where it is nowhere."""

    words: str
    url: str


@dataclass(frozen=True, slots=True)
class LedgerEntryRow:
    """An entry of the ledger as pages list it: where from, where to, and why; `decision` where its words are told."""

    entry: LedgerEntry
    source: str
    target: str
    why: str
    causes: tuple[EntryCause, ...]
    decision: BoardDecision | None

    @property
    def gained(self) -> bool:
        """Say whether the entry gives to a team, for a team's own page."""
        return self.entry.target.kind == AccountKind.TEAM


@dataclass(frozen=True, slots=True)
class TeamDebt:
    """What a team has to give back of a stake and has no more: it was paid out (R22)."""

    team: Team
    stake: Stake
    cents: int


@dataclass(frozen=True, slots=True)
class TeamBalance:
    """What a team has on its account, as far as it may be told of."""

    team: Team
    cents: int


@dataclass(frozen=True, slots=True)
class Staked:
    """What lies on a stake."""

    stake: Stake
    cents: int


@dataclass(frozen=True, slots=True)
class AwardRow:
    """An award, and the words of the board if they are told."""

    award: Award
    reason: str


@dataclass(frozen=True, slots=True)
class MoneyOverview:
    """The public page: balances of the accounts there is one of, what is staked, what teams hold, and what waits.

    `held` is on accounts of teams; what follows from breaks that are not told of yet is not among `teams`. All are sums
    of the entries that are told: `waits` says that there are others, which come with the release of a week.
    """

    balances: Mapping[str, int]
    received: int
    paid: int
    stakes: tuple[Staked, ...]
    teams: tuple[TeamBalance, ...]
    held: int
    withheld: tuple[WithheldAmount, ...]
    debts: tuple[TeamDebt, ...]
    awards: tuple[AwardRow, ...]
    waits: bool

    @property
    def staked(self) -> int:
        """Return the cents that lie on stakes."""
        return sum(each.cents for each in self.stakes)

    @property
    def embargoed(self) -> int:
        """Return the cents of teams that are named with the release of a week."""
        return self.held - sum(each.cents for each in self.teams)

    @property
    def withheld_embargoed(self) -> int:
        """Return the cents that are withheld of whom is told with the release of a week."""
        return self.balances[AccountKind.WITHHELD] - sum(each.cents for each in self.withheld)


def money_overview(*, told_at: datetime | None) -> MoneyOverview:
    """Return the balances and lists of the page by what everybody may know at `told_at`; None tells all."""
    telling = LedgerView.now() if told_at else None
    later = telling.later if telling else {}
    lying = [(of, of.balance_cents - later.get(of.pk, 0)) for of in _accounts(later)]
    single = {AccountKind(of.kind).value: cents for of, cents in lying if of.kind in SINGLE}
    teams = [(of, cents) for of, cents in lying if of.kind == AccountKind.TEAM]
    return MoneyOverview(
        balances={kind.value: single.get(kind.value, 0) for kind in SINGLE},
        received=_net_from_outside("source", "target", telling),
        paid=_net_from_outside("target", "source", telling),
        stakes=tuple(Staked(of.stake, cents) for of, cents in lying if of.stake is not None and cents),
        teams=tuple(_visible_balances(teams, telling.without_team if telling else {})),
        held=sum(cents for _, cents in teams),
        withheld=tuple(_visible_withholdings(telling) if telling else withheld_amounts()),
        debts=tuple(_visible_debts(telling) if telling else debts()),
        awards=tuple(_visible_awards(telling)),
        waits=bool(later),
    )


def _accounts(also: Collection[int]) -> list[Account]:
    rows = Account.objects.filter(Q(balance_cents__gt=0) | Q(kind__in=SINGLE) | Q(pk__in=also))
    rows = rows.exclude(kind=AccountKind.OUTSIDE)
    return list(rows.select_related("team", "stake__defense", "stake__paid_by", "stake__batch").order_by("pk"))


def _net_from_outside(outside: str, back: str, telling: LedgerView | None) -> int:
    """Return what came from `outside` or went there, less what was recorded wrongly and taken back."""
    rows = LedgerEntry.objects.exclude(pk__in=telling.not_listed() if telling else [])
    moved = _sum(rows, **{f"{outside}__kind": AccountKind.OUTSIDE, "corrects": None})
    return moved - _sum(rows, **{f"{back}__kind": AccountKind.OUTSIDE, "corrects__isnull": False})


def _sum(rows: QuerySet[LedgerEntry], **which: Any) -> int:
    return rows.filter(**which).aggregate(sum=Sum("cents"))["sum"] or 0


def _visible_balances(accounts: Iterable[tuple[Account, int]], unnamed: Mapping[int, int]) -> Iterator[TeamBalance]:
    for of, cents in accounts:
        if of.team is not None and (told := cents - unnamed.get(of.pk, 0)) > 0:
            yield TeamBalance(of.team, told)


def _visible_awards(telling: LedgerView | None) -> Iterator[AwardRow]:
    for each in Award.objects.select_related("stake__defense__entry__team", "decision__decided_by").order_by("-pk"):
        yield AwardRow(each, each.decision.reason if telling is None or telling.tells(each.decision) else "")


def _visible_withholdings(telling: LedgerView) -> Iterator[WithheldAmount]:
    """Yield what is withheld by the entries that are told, with the decisions about it."""
    for each in ever_withheld():
        decisions = tuple(row for row in each.decisions if telling.tells_of(each, row))
        cents = each.cents - telling.hidden_of(each)
        if cents > 0 and decisions:
            yield replace(each, cents=cents, decisions=tuple(row for row in decisions if telling.tells(row)))


# Debts --------------------------------------------------------------------------------------------------------------


def debts() -> Iterator[TeamDebt]:
    """Yield what teams owe to the half that advanced it, or that waits for it: of stakes, the oldest first, and of
    awards."""
    return (debt for debt, _ in _debts())


def _debts() -> Iterator[tuple[TeamDebt, set[int]]]:
    """Yield debts with the numbers of the breaks that they follow from."""
    for row in settlement_differences():
        for team, cents in row.flows.owed.items():
            broke = {each.proof.pk for each in row.found.deciding}
            yield TeamDebt(Team.objects.get(pk=team), row.found.stake, cents), broke
    for decision in decisions_on_awards():
        change = award_change(decision)
        for team, cents in change.flows.owed.items():
            if (own := change.stake_of(team)) is not None:
                broke = {each.proof.pk for each in own.deciding}
                if own in change.kept:  # what it was given more followed from a break that was overruled since
                    broke = {number for each in decision.entries.all() for number in each.causes.get("break", ())}
                yield TeamDebt(Team.objects.get(pk=team), own.stake, cents), broke


def _visible_debts(telling: LedgerView) -> Iterator[TeamDebt]:
    """Yield debts as far as they follow from what is told.

    Of a team with money that it may not be named with, as if it had none of that: what was set off is owed still, and
    what it is told to have pays first.
    """
    rows: dict[Pair, tuple[TeamDebt, set[int]]] = {}
    for each, breaks in _debts():  # of one stake a team may owe both its money and an award
        pair = (each.team.pk, each.stake.pk)
        before, known = rows.get(pair, (replace(each, cents=0), set()))
        rows[pair] = replace(each, cents=before.cents + each.cents), known | breaks
    for pair, cents in telling.set_off.items():
        if pair not in rows and cents:
            rows[pair] = (
                TeamDebt(telling.teams[pair[0]], Stake.objects.select_related("defense").get(pk=pair[1]), 0),
                set(),
            )
    has = {team: telling.has(team) for team in telling.marked}
    for pair, (debt, breaks) in rows.items():
        if pair in telling.embargoed.pairs or not telling.embargoed.breaks.isdisjoint(breaks):
            continue
        cents = debt.cents + telling.set_off.get(pair, 0)
        paid = min(cents, has.get(pair[0], 0))
        has[pair[0]] = has.get(pair[0], 0) - paid
        if cents > paid:
            yield replace(debt, cents=cents - paid)


# Entries ------------------------------------------------------------------------------------------------------------


def entries(
    *,
    told_at: datetime | None,
    of: Iterable[Account] | None = None,
    to: Collection[Team] = (),
    before: int | None = None,
    limit: int = ENTRIES_SHOWN,
) -> tuple[list[LedgerEntryRow], int | None]:
    """Return entries, newest first, of all accounts or of some, and where the next page begins.

    They say what everybody may know at `told_at`, or what the teams `to` may know of their accounts; None tells all.
    """
    telling = LedgerView.now() if told_at and not to else None
    rows = LedgerEntry.objects.select_related(
        "source__team", "source__stake__defense", "target__team", "target__stake__defense", "decision__decided_by"
    )
    if of is not None:
        numbers = [each.pk for each in of]
        rows = rows.filter(Q(source__in=numbers) | Q(target__in=numbers))
    rows = rows.filter(pk__lt=before) if before is not None else rows
    rows = rows.exclude(pk__in=telling.not_listed()) if telling else rows
    found = list(rows.order_by("-pk")[: limit + 1])
    shown = found[:limit]
    known = _read_named_rows(shown, told_at, to)
    return [_row(row, known, telling) for row in shown], (shown[-1].pk if len(found) > limit else None)


def with_causes(rows: Sequence[LedgerEntry], *, told_at: datetime | None) -> Iterator[LedgerEntryRow]:
    """Yield entries with the rows they follow from, by what everybody may know at `told_at`; None tells all."""
    known, telling = _read_named_rows(rows, told_at, ()), LedgerView.now() if told_at else None
    return (_row(row, known, telling) for row in rows)


_UNTOLD = "It follows from a break that is told of with the release of its week."


def _row(row: LedgerEntry, known: "_Known", telling: LedgerView | None) -> LedgerEntryRow:
    told = telling.of(row) if telling else EntryVisibility.WHOLE
    # A database may keep the keys of JSON in an order of its own.
    wanted = [(table, number) for table, numbers in sorted(row.causes.items()) for number in numbers]
    if told is not EntryVisibility.WHOLE:
        wanted = [each for each in wanted if each[0] == "stake"]
    decision = row.decision if telling is None or (row.decision and telling.tells(row.decision)) else None
    return LedgerEntryRow(row, *entry_words(row, told), _causes(row, wanted, known, told), decision)


def entry_words(row: LedgerEntry, told: EntryVisibility) -> tuple[str, str, str]:
    """Return from where an entry moves money, where to, and why, as far as that is told."""
    words = _account_words_unnamed if told is EntryVisibility.WITHOUT_TEAM else account_words
    return words(row.source), words(row.target), row.why if told is EntryVisibility.WHOLE else _UNTOLD


def _account_words_unnamed(of: Account) -> str:
    return account_words(of) if of.team is None else "a team"


def account_words(of: Account) -> str:
    """Return the name of an account."""
    if of.team is not None:
        return f"team {of.team.name}"
    if of.stake is not None:
        return f"stake on {of.stake.defense.name}"
    return ACCOUNT_WORDS[AccountKind(of.kind)]


_Known = dict[tuple[str, int], EntryCause]


def _causes(
    row: LedgerEntry, wanted: Iterable[tuple[str, int]], known: _Known, told: EntryVisibility
) -> tuple[EntryCause, ...]:
    found = [known[each] for each in wanted if each in known]
    if row.corrects_id is not None and told is not EntryVisibility.WITHOUT_TEAM:
        found.append(_entry_cause(row.corrects_id))
    return tuple(dict.fromkeys(found))


def _read_named_rows(rows: Iterable[LedgerEntry], told_at: datetime | None, to: Collection[Team]) -> _Known:
    """Return every row that the entries name, by table and number: one query for each table."""
    numbers: dict[str, set[int]] = {}
    for row in rows:
        for table, named in row.causes.items():
            numbers.setdefault(table, set()).update(named)
    if told_at:
        _keep(numbers, "attack", Attack.objects.filter(_attacks_visible_to(to, told_at)))
        _keep(numbers, "break", recorded_mistakes().filter(_breaks_visible_to(to, told_at)))
    known = {("ledger_entry", number): _entry_cause(number) for number in numbers.pop("ledger_entry", ())}
    return known | {
        (table, row.pk): _cause(row)
        for table, rows in _tables().items()
        if table in numbers
        for row in rows.filter(pk__in=numbers[table])
    }


def _keep(numbers: dict[str, set[int]], table: str, told: QuerySet[Any]) -> None:
    if table in numbers:
        numbers[table] = set(told.filter(pk__in=numbers[table]).values_list("pk", flat=True))


def _attacks_visible_to(to: Collection[Team], now: datetime) -> Q:
    """What came of an attack is told with the release of its picture; to who sent it, when its week has ended (R24)."""
    return (public_attack_condition(now=now) & released("image__")) | Q(pk__in=_own_of(to, now).values("pk"))


def _breaks_visible_to(to: Collection[Team], now: datetime) -> Q:
    return released("image__") | Q(image__in=_own_of(to, now).values("image"))


def _own_of(teams: Collection[Team], now: datetime) -> QuerySet[Attack]:
    """Return the attacks whose outcome their teams know: who sent a copy knows it no earlier than everybody else."""
    return Attack.objects.filter(public_attack_condition(now=now), team__in=teams, copy_of=None)


def _tables() -> dict[str, QuerySet[Any]]:
    """Return the rows that entries follow from, by the names of their tables."""
    # One of the organizers' pictures may have broken a defense before its page is there for everybody.
    sent = Attack.objects.filter(withdrawn_at__isnull=True, image=OuterRef("image"))
    has_page = Case(When(released("image__") | Q(Exists(sent)), then=True), default=False)
    return {
        "stake": Stake.objects.select_related("defense"),
        "break": recorded_mistakes().annotate(has_page=has_page).select_related("defense", "image"),
        "attack": Attack.objects.all(),
        "team": Team.objects.all(),
        "award": Award.objects.select_related("stake__defense"),
        "payment": Payment.objects.select_related("team"),
    }


def _cause(row: Any) -> EntryCause:
    match row:
        case Stake():
            return EntryCause(f"stake on {row.defense.name}", reverse("defense", args=[row.defense.public_id]))
        case Attack():
            return EntryCause(f"attack {row.public_id}", reverse("attack", args=[row.public_id]))
        case Team():
            return EntryCause(f"team {row.name}", reverse("team-public", args=[row.public_id]))
        case Award():
            return EntryCause(f"award for {row.stake.defense.name}", f"{reverse('money')}#award-{row.pk}")
        case Payment():
            return EntryCause(f"payment {row.pk} to team {row.team.name}", "")
    page = ("picture-record", row.image.public_id) if row.has_page else ("defense", row.defense.public_id)
    return EntryCause(f"break of {row.defense.name} by picture {row.image.public_id}", reverse(page[0], args=[page[1]]))


def _entry_cause(number: int) -> EntryCause:
    return EntryCause(f"entry {number}", f"{reverse('money')}?before={number + 1}#entry-{number}")
