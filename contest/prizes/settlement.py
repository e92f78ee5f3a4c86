"""Settles the money of stakes: derives what is due from the facts and posts only the difference.

A late appeal, an earlier week, a break that is overruled or a team that turns out to be unpaid change what is due; the
next sweep posts correcting entries, and no entry is ever changed or deleted (R22, R35, R36).
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import Q, Sum

from common.database.grouping import grouped
from common.database.request_memory import once_per_request
from contest.core.enums import AccountKind, StakeEnd
from contest.core.models import BoardDecision, Stake, Team
from contest.core.settled_weeks import Weeks
from contest.core.teams import final_team, teams_counted_together
from contest.core.weeks import week_at, week_called
from contest.ledger.dry_run import LEDGER, Attempts, Ledger
from contest.ledger.models import Account, LedgerEntry
from contest.ledger.services import Causes, ledger_account, lock_accounts
from contest.ledger.withholding import WithheldAmount, withheld_of_stakes
from contest.prizes.differences import MoneyFlows, MoneyPosition, flows
from contest.prizes.prize_facts import StakeWithBreaks, begun_stakes, stakes_with_breaks
from contest.prizes.shares import StakeOutcome
from policy.calendar import Week

MAX_ROUNDS = 100  # more than the length of any chain of teams that owe for one stake and win by another


@dataclass(frozen=True, slots=True)
class SettlementDifference:
    """A stake whose ledger entries differ from what is due by the facts, and the movements to post."""

    found: StakeWithBreaks
    flows: MoneyFlows


def settlement_differences() -> list[SettlementDifference]:
    """Return every stake whose posted money differs from what is due, or for which a team owes something."""
    return list(_differences_now())


@once_per_request
def _differences_now() -> tuple[SettlementDifference, ...]:
    return tuple(_differences(stakes_with_breaks(begun_stakes()), LEDGER))


def _differences(rows: Sequence[StakeWithBreaks], book: Ledger) -> list[SettlementDifference]:
    at = positions(rows, book)
    compared = [SettlementDifference(row, flows(row.due.teams, row.due.held, at[row.stake.pk])) for row in rows]
    return [each for each in compared if each.flows or each.flows.owed]


def stakes_to_settle(weeks: Weeks) -> bool:
    """Say whether money of a stake is to be moved now."""
    return any(each.flows and _may_post(each.found, weeks) for each in settlement_differences())


class StakeSettlement(Attempts):
    """Settles the money of stakes by the facts. The facts are read once: nothing changes them in one transaction while
    the stakes and their accounts are locked, or in a dry run."""

    def __init__(self, book: Ledger, rows: Sequence[StakeWithBreaks], *, weeks: Weeks, now: datetime) -> None:
        super().__init__(book, "stake_not_settled", "stake")
        self._rows, self._now = [row for row in rows if _may_post(row, weeks)], now

    def settle(self) -> None:
        """Post what is missing, repeatedly until nothing is: what one stake gives a team pays what the team owes for
        another.

        A stake that cannot be settled does not stop the others.
        """
        for _ in range(MAX_ROUNDS):
            rows = [row for row in self._rows if row.stake.pk not in self.failed]
            due = [each.found for each in _differences(rows, self.book) if each.flows]
            if not due:
                return
            for row in due:
                self.settle_one(row.stake.pk, partial(_post_difference, row, self.book, self._now))
        # Everything is rolled back: endless movements would fill the ledger, which never deletes entries.
        raise RuntimeError(f"The money of stakes still moves after {MAX_ROUNDS} rounds.")


def _post_difference(row: StakeWithBreaks, book: Ledger, now: datetime) -> bool:
    """Post the difference of one stake; say whether there was any."""
    needed = flows(row.due.teams, row.due.held, positions([row], book)[row.stake.pk])
    if needed:
        _Posting(row, now, book).post(needed)
    return bool(needed)


def _may_post(row: StakeWithBreaks, weeks: Weeks) -> bool:
    """Say whether the deciding week is settled: all its verdicts are made, so that no other team can get a share. A
    stake that won met a checklist that requires more than that."""
    won = not row.due.week and row.stake.end == StakeEnd.WON
    if won or row.due.outcome in (StakeOutcome.HELD, StakeOutcome.BEFORE):
        return True
    return weeks.settled(deciding_week(row), of=row.stake.defense)


def deciding_week(row: StakeWithBreaks) -> Week:
    """Return the week that a stake's money waits for: the week it was broken in, or the week of its end."""
    if row.due.week:
        return week_called(row.due.week)
    return week_at(row.stake.ended_at or row.stake.asked_at)


@transaction.atomic
def stake_settle(stake_id: int, *, now: datetime) -> bool:
    """Post the difference of one stake under its locks; say whether there was any."""
    locked = Stake.objects.select_for_update(of=("self",), no_key=True).get(pk=stake_id)
    (row,) = stakes_with_breaks([Stake.objects.select_related("defense__entry__team", "paid_by").get(pk=locked.pk)])
    lock_accounts(accounts_of(row.stake, row.due.teams))
    return _post_difference(row, LEDGER, now)


def accounts_of(stake: Stake, teams: Iterable[int]) -> list[Account]:
    """Return every account that the money of a stake may move to or from, where these teams are due.

    They are to be locked all at once, before any balance is read for a decision.
    """
    touched = Account.objects.filter(Q(entries_in__source__stake=stake) | Q(entries_out__target__stake=stake))
    known = list(touched.exclude(kind=AccountKind.OUTSIDE))
    due = list(Team.objects.filter(pk__in=[*teams]))
    named = [ledger_account(AccountKind.TEAM, team=team) for team in due]
    had = Team.objects.filter(pk__in={each.team_id for each in known if each.team_id is not None})
    hubs = [ledger_account(AccountKind.STAKE, stake=stake), ledger_account(AccountKind.ATTACKERS)]
    return [*hubs, *known, *named, *accounts_of_teams([*due, *had])]


def accounts_of_teams(teams: Iterable[Team]) -> list[Account]:
    """Return the accounts of these teams and of teams merged with them, which owe together."""
    together = {each.pk for team in teams for each in teams_counted_together(team)}
    return list(Account.objects.filter(team__in=together).order_by("pk"))


# Where the money is ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NetReceived:
    """What one account got of a stake or an award, less what went back."""

    account: Account
    cents: int


def positions(rows: Iterable[StakeWithBreaks], book: Ledger = LEDGER) -> dict[int, MoneyPosition]:
    """Return stake -> where its money is, by one query for the entries of all stakes."""
    stakes = {row.stake.pk: row.stake for row in rows}
    moved = _net_received(stakes, book)
    lendable = sum(map(book.cents, Account.objects.filter(kind=AccountKind.ATTACKERS)))
    hubs = {each.stake_id: book.cents(each) for each in Account.objects.filter(stake__in=stakes)}
    hubs |= {each.stake_id: book.cents(each) for each in book.opened if each.stake_id in stakes}
    withheld, has = withheld_of_stakes(book.planned), _balances_of_teams(book)
    return {
        pk: _position(stake, moved.get(pk, []), hubs.get(pk, 0), lendable, withheld.get(pk, []), has)
        for pk, stake in stakes.items()
        if pk in hubs
    } | {pk: MoneyPosition(0, {}, {}, 0, 0, 0) for pk in stakes if pk not in hubs}


def _net_received(stakes: Collection[int], book: Ledger = LEDGER) -> dict[int, list[NetReceived]]:
    of_stakes = LedgerEntry.objects.filter(Q(source__stake__in=stakes) | Q(target__stake__in=stakes)).order_by()
    rows = list(of_stakes.values_list("source", "source__stake", "target", "target__stake").annotate(sum=Sum("cents")))
    for each in book.planned:
        if not {each.source.stake_id, each.target.stake_id}.isdisjoint(stakes):
            rows.append((each.source_id, each.source.stake_id, each.target_id, each.target.stake_id, each.cents))
    nets = Counter[tuple[int, int]]()
    for source, from_stake, target, to_stake, cents in rows:
        key, signed = ((from_stake, target), cents) if from_stake else ((to_stake, source), -cents)
        nets[key] += signed
    accounts = _accounts({number for _, number in nets}, book)
    return grouped((stake, NetReceived(accounts[number], cents)) for (stake, number), cents in nets.items())


def _accounts(numbers: Collection[int], book: Ledger) -> dict[int, Account]:
    known = Account.objects.select_related("team__merged_into").in_bulk(numbers)
    return known | {each.pk: each for each in book.opened if each.pk in numbers}


def _position(
    stake: Stake,
    moved: Sequence[NetReceived],
    hub: int,
    lendable: int,
    withheld: Sequence[WithheldAmount],
    has: Mapping[int, int],
) -> MoneyPosition:
    got = _received_by_team(moved)
    aside = {each.team.pk: each.cents for each in withheld if each.team is not None}
    decided = {each.team.pk: each.decided for each in withheld if each.team is not None}
    outside = [-each.cents for each in moved if each.account.kind == AccountKind.OUTSIDE]
    # A payment recorded for the wrong stake was taken back: then nothing was ever at stake.
    cents = sum(outside) if outside else stake.cents
    in_all = sum(each.cents for each in moved if each.account.kind == AccountKind.WITHHELD)
    return MoneyPosition(cents, got, _still_on_account(got, has), hub, in_all, lendable, aside, decided)


def received_from_stakes(stakes: Iterable[Stake]) -> dict[int, dict[int, int]]:
    """Return stake -> team -> what it got, less what went back; teams that were merged count as one."""
    return {pk: _received_by_team(moved) for pk, moved in _net_received([each.pk for each in stakes]).items()}


def received_by_award(
    decision: BoardDecision, book: Ledger = LEDGER, *, forfeit: LedgerEntry | None = None
) -> list[NetReceived]:
    """Return what accounts got of the defenders' half by a decision; no entry of a stake changes that.

    With the entry of a `forfeit`, what they had then, less what went back since because others share it again (R36).
    """
    half = book.account(AccountKind.DEFENDERS).pk
    nets = Counter[int]()
    entries = LedgerEntry.objects.filter(Q(source=half) | Q(target=half), decision=decision).order_by("pk")
    if forfeit is not None:
        entries = entries.filter(Q(pk__lt=forfeit.pk) | Q(rule="R36", corrects__isnull=False))
    rows = list(entries.values_list("source", "target", "cents"))
    planned = (each for each in book.planned if forfeit is None and each.decision_id == decision.pk)
    rows += [(each.source_id, each.target_id, each.cents) for each in planned]
    for source, target, cents in rows:
        other, signed = (target, cents) if source == half else (source, -cents)
        nets[other] += signed
    accounts = _accounts(nets, book)
    return [NetReceived(accounts[number], cents) for number, cents in nets.items()]


def teams_share(moved: Iterable[NetReceived], book: Ledger = LEDGER) -> tuple[dict[int, int], dict[int, int]]:
    """Return what each team got and how much of that is still there; teams that were merged count as one."""
    got = _received_by_team(moved)
    return got, _still_on_account(got, _balances_of_teams(book))


def _received_by_team(moved: Iterable[NetReceived]) -> dict[int, int]:
    got = Counter[int]()
    for each in moved:
        if each.account.team is not None:
            got[final_team(each.account.team).pk] += each.cents
    return got


def _still_on_account(got: Mapping[int, int], has: Mapping[int, int]) -> dict[int, int]:
    """Return how much of what teams got is still on an account of theirs, or of a team merged with them."""
    return {team: max(min(cents, has.get(team, 0)), 0) for team, cents in got.items()}


def _balances_of_teams(book: Ledger) -> dict[int, int]:
    """Return team -> the balance of its accounts; merged teams count as one."""
    has = Counter[int]()
    rows = Account.objects.filter(Q(balance_cents__gt=0) | Q(pk__in=book.changed), team__isnull=False)
    on_paper = (each for each in book.opened if each.team_id is not None)
    for each in (*rows.select_related("team__merged_into"), *on_paper):
        if each.team is not None and (cents := book.cents(each)) > 0:
            has[final_team(each.team).pk] += cents
    return has


# Posting --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Posting:
    """The entries of one stake, in their order."""

    row: StakeWithBreaks
    now: datetime
    book: Ledger

    def post(self, needed: MoneyFlows) -> None:
        account = self.book.account
        hub, half = account(AccountKind.STAKE, stake=self.row.stake), account(AccountKind.ATTACKERS)
        aside = account(AccountKind.WITHHELD)
        told: list[LedgerEntry] = []
        for team, cents in needed.taken.items():
            told += take_back_money(
                hub, team, cents, rule=self.rule, why=self._taken(), causes=self._causes(), now=self.now, book=self.book
            )
        for team, cents in needed.released.items():
            self._withhold(aside, hub, cents, team)
        if needed.advanced:
            self._move(half, hub, needed.advanced, self._advanced(needed.owed), None)
        for team, cents in needed.given.items():
            target = account(AccountKind.TEAM, team=Team.objects.get(pk=team))
            told.append(self._move(hub, target, cents, self._given(), team))
        for team, cents in needed.withheld.items():
            self._withhold(hub, aside, cents, team)
        if needed.returned:
            self._move(hub, half, needed.returned, self._returned(), None)
        self.book.notify(told, now=self.now)

    def _move(self, source: Account, target: Account, cents: int, why: str, team: int | None) -> LedgerEntry:
        return self.book.move(source, target, cents, rule=self.rule, why=why, causes=self._causes(team), now=self.now)

    def _withhold(self, source: Account, target: Account, cents: int, team: int) -> None:
        """Withhold more or less of a team's share, because the share has changed (R38)."""
        why = f"Correction: what is withheld of a share of {self._name} follows that share."
        causes = {"stake": [self.row.stake.pk], "team": [team]}
        self.book.move(source, target, cents, rule="R38", why=why, causes=causes, now=self.now)

    @property
    def rule(self) -> str:
        return "R35" if self.row.due.outcome is StakeOutcome.BROKEN else "R36"

    @property
    def _name(self) -> str:
        return self.row.stake.defense.name

    def _causes(self, team: int | None = None) -> Causes:
        """Return the causing rows: the stake, and the breaks of the deciding week, only those of `team` if given."""
        rows = [each for each in self.row.deciding if team is None or each.fact.team == team]
        attacks = [each.attack.pk for each in rows if each.attack]
        return {"stake": [self.row.stake.pk], "break": [each.proof.pk for each in rows], "attack": attacks}

    def _given(self) -> str:
        if self.row.due.outcome is StakeOutcome.BROKEN:
            return f"Share of the attacker prize: {self._name} was broken in week {self.row.due.week}."
        if self.row.due.outcome is StakeOutcome.BEFORE:
            return f"{self._name} was broken before it was at stake: the stake goes back to the team that paid it."
        return f"The stake on {self._name} goes back to the team that paid it."

    def _taken(self) -> str:
        if self.row.due.outcome is StakeOutcome.HELD:
            return f"Correction: no break of {self._name} stands any more."
        by_week = f", as it was broken in week {self.row.due.week}" if self.row.due.week else ""
        return f"Correction: what is due for {self._name} changed{by_week}."

    def _advanced(self, owed: Mapping[int, int]) -> str:
        words = f"Correction: the attackers' half gives what {self._name} asks for"
        return f"{words}; teams owe it what was paid out to them." if owed else f"{words}."

    def _returned(self) -> str:
        if self.row.due.outcome is StakeOutcome.BROKEN and not self.row.due.teams:
            return f"{self._name} was broken in week {self.row.due.week} by nobody who is paid."
        return f"What is left of the stake on {self._name} returns to the attackers' half."


def take_back_money(
    target: Account,
    team: int,
    cents: int,
    *,
    rule: str,
    why: str,
    causes: Causes,
    now: datetime,
    decision: BoardDecision | None = None,
    book: Ledger = LEDGER,
) -> list[LedgerEntry]:
    """Take `cents` of a stake or an award back from a team: entry by entry, the newest first, each named by its
    correction; returns the corrections.

    Each entry is taken back first from the account that got it, then from those of teams merged with its owner.
    """
    made: list[LedgerEntry] = []
    accounts = accounts_of_teams(Team.objects.filter(pk=team))
    known = {each.pk for each in accounts}
    accounts += [each for each in book.opened if each.pk not in known and _is_of(each, team)]
    has = {each.pk: book.cents(each) for each in accounts}
    for entry, left in _paid_to(team, target, decision, book):
        for source in sorted(accounts, key=lambda each: (each.pk != entry.target_id, each.pk)):
            if part := min(cents, left, has[source.pk]):
                told: dict[str, Any] = {"rule": rule, "why": why, "causes": causes, "decision": decision, "now": now}
                made.append(book.move(source, target, part, corrects=entry, **told))
                has[source.pk], cents, left = has[source.pk] - part, cents - part, left - part
    return made


def _paid_to(team: int, source: Account, decision: BoardDecision | None, book: Ledger) -> list[tuple[LedgerEntry, int]]:
    """Return the entries from `source` to a team that are not wholly taken back, with what is left; newest first."""
    rows = LedgerEntry.objects.filter(source=source, target__team__isnull=False, corrects__isnull=True)
    if decision is not None:
        rows = rows.filter(decision=decision)
    rows = rows.annotate(corrected=Sum("corrections__cents")).select_related("target__team").order_by("-pk")
    left: dict[int, tuple[LedgerEntry, int]] = {row.pk: (row, row.cents - (row.corrected or 0)) for row in rows}
    for each in book.planned:
        of_decision = decision is None or each.decision_id == decision.pk
        if each.source_id == source.pk and each.target.team_id is not None and each.corrects is None and of_decision:
            left[each.pk] = (each, each.cents)
    for each in book.planned:
        if each.corrects is not None and each.corrects.pk in left:
            row, cents = left[each.corrects.pk]
            left[row.pk] = (row, cents - each.cents)
    newest_first = (left[number] for number in sorted(left, reverse=True))
    return [(row, cents) for row, cents in newest_first if cents and _is_of(row.target, team)]


def _is_of(target: Account, team: int) -> bool:
    return target.team is not None and final_team(target.team).pk == team
