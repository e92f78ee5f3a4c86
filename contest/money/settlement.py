"""Prizes as a sweep: again and again what is due is derived from the facts, and only the difference is posted.

A late appeal, an earlier week, a break that is overruled or a team that turns out to be unpaid change what is due; the
next sweep posts entries that correct, and nothing is ever changed or deleted (R22, R35, R36).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog
from django.db import transaction
from django.db.models import Q, Sum

from contest.enums import AccountKind, StakeEnd
from contest.models import Account, BoardDecision, LedgerEntry, Stake, Team
from contest.money.corrections import Flows, Position, flows
from contest.money.facts import Found, begun_stakes, found
from contest.money.ledger import Causes, account, hold, move
from contest.money.letters import posted_tell
from contest.money.prizes import Outcome
from contest.money.stakes import stake_account
from contest.money.withholding import Withheld, withheld_of_stakes
from contest.rules import Week
from contest.settled import Weeks
from contest.teams.selectors import final_team, teams_counted_together
from contest.weeks import week_at, week_called

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Difference:
    """A stake whose entries are not what the facts ask for, and what to post."""

    found: Found
    flows: Flows


def prizes_settle(*, now: datetime) -> int:
    """Post what is due and not posted, stake by stake; returns how many stakes changed. Twice changes nothing.

    Shares of a week are posted when it is settled: all its verdicts are there, so that no other team can join. A stake
    that cannot be settled holds up no other: all errors are raised together at the end, as one ExceptionGroup.
    """
    weeks, changed, failed = Weeks(now), 0, list[Exception]()
    waiting = [each.found.stake.pk for each in differences() if each.flows and _may_post(each.found, weeks)]
    for pk in waiting:
        try:
            changed += stake_settle(pk, now=now)
        except Exception as error:  # whatever it is, it is about this stake alone, which is undone
            log.exception("stake_not_settled", stake=pk)
            failed.append(error)
    if failed:
        raise ExceptionGroup(f"{len(failed)} of {len(waiting)} stakes were not settled", failed)
    return changed


def differences() -> list[Difference]:
    """Return every stake whose money does not lie as the facts ask, or of which a team owes something."""
    rows = found(begun_stakes())
    at = positions(rows)
    compared = [Difference(row, flows(row.due.teams, row.due.held, at[row.stake.pk])) for row in rows]
    return [each for each in compared if each.flows or each.flows.owed]


def _may_post(row: Found, weeks: Weeks) -> bool:
    """Say whether the week that decides is settled. Who won did so by a checklist that asks for more than that."""
    if row.due.outcome in (Outcome.HELD, Outcome.BEFORE) or (not row.due.week and row.stake.end == StakeEnd.WON):
        return True
    return weeks.settled(deciding_week(row), of=row.stake.defense)


def deciding_week(row: Found) -> Week:
    """Return the week that a stake's money waits for: the one it was broken in, or that of its end."""
    if row.due.week:
        return week_called(row.due.week)
    return week_at(row.stake.ended_at or row.stake.asked_at)


@transaction.atomic
def stake_settle(stake_id: int, *, now: datetime) -> bool:
    """Post the difference of one stake, while nobody else does; says whether there was any."""
    locked = Stake.objects.select_for_update(of=("self",), no_key=True).get(pk=stake_id)
    (row,) = found([Stake.objects.select_related("defense__entry__team", "paid_by").get(pk=locked.pk)])
    hold(accounts_of(row.stake, row.due.teams))
    needed = flows(row.due.teams, row.due.held, positions([row])[row.stake.pk])
    if needed:
        _Posting(row, now).post(needed)
    return bool(needed)


def accounts_of(stake: Stake, teams: Iterable[int]) -> list[Account]:
    """Return every account that the money of a stake may move to or from, where these teams are due.

    To be held all at once, before any balance is read that something follows from.
    """
    touched = Account.objects.filter(Q(entries_in__source__stake=stake) | Q(entries_out__target__stake=stake))
    known = list(touched.exclude(kind=AccountKind.OUTSIDE))
    due = list(Team.objects.filter(pk__in=[*teams]))
    named = [account(AccountKind.TEAM, team=team) for team in due]
    had = Team.objects.filter(pk__in={each.team_id for each in known if each.team_id is not None})
    return [stake_account(stake), account(AccountKind.ATTACKERS), *known, *named, *accounts_of_teams([*due, *had])]


def accounts_of_teams(teams: Iterable[Team]) -> list[Account]:
    """Return the accounts of these teams and of all that are counted with them: what one of them owes, all owe."""
    together = {each.pk for team in teams for each in teams_counted_together(team)}
    return list(Account.objects.filter(team__in=together).order_by("pk"))


# How the money lies ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Moved:
    """What one account got of a stake, less what went back."""

    account: Account
    cents: int


def positions(rows: Iterable[Found]) -> dict[int, Position]:
    """Return stake -> how its money lies, by one reading of the entries of all of them."""
    stakes = {row.stake.pk: row.stake for row in rows}
    moved = _moved(stakes)
    lendable = Account.objects.filter(kind=AccountKind.ATTACKERS).values_list("balance_cents", flat=True).first() or 0
    hubs = dict(Account.objects.filter(stake__in=stakes).values_list("stake", "balance_cents"))
    withheld, has = withheld_of_stakes(), _balances_of_teams()
    return {
        pk: _position(stake, moved.get(pk, []), hubs.get(pk, 0), lendable, withheld.get(pk, []), has)
        for pk, stake in stakes.items()
        if pk in hubs
    } | {pk: Position(0, {}, {}, 0, 0, 0) for pk in stakes if pk not in hubs}


def _moved(stakes: Iterable[int]) -> dict[int, list[Moved]]:
    of_stakes = LedgerEntry.objects.filter(Q(source__stake__in=stakes) | Q(target__stake__in=stakes)).order_by()
    rows = of_stakes.values_list("source", "source__stake", "target", "target__stake").annotate(sum=Sum("cents"))
    nets: dict[tuple[int, int], int] = {}
    for source, from_stake, target, to_stake, cents in rows:
        key, signed = ((from_stake, target), cents) if from_stake else ((to_stake, source), -cents)
        nets[key] = nets.get(key, 0) + signed
    accounts = Account.objects.select_related("team__merged_into").in_bulk({number for _, number in nets})
    moved: dict[int, list[Moved]] = {}
    for (stake, number), cents in nets.items():
        moved.setdefault(stake, []).append(Moved(accounts[number], cents))
    return moved


def _position(
    stake: Stake,
    moved: Sequence[Moved],
    hub: int,
    lendable: int,
    withheld: Sequence[Withheld],
    has: Mapping[int, int],
) -> Position:
    got = _got(moved)
    aside = {each.team.pk: each.cents for each in withheld if each.team is not None}
    decided = {each.team.pk: each.decided for each in withheld if each.team is not None}
    outside = [-each.cents for each in moved if each.account.kind == AccountKind.OUTSIDE]
    # A payment that was recorded for the wrong stake went out again: then nothing was ever at stake.
    cents = sum(outside) if outside else stake.cents
    in_all = sum(each.cents for each in moved if each.account.kind == AccountKind.WITHHELD)
    return Position(cents, got, _there(got, has), hub, in_all, lendable, aside, decided)


def got_of(stakes: Iterable[Stake]) -> dict[int, dict[int, int]]:
    """Return stake -> team -> what it got, less what went back; teams that were merged count as one."""
    return {pk: _got(moved) for pk, moved in _moved([each.pk for each in stakes]).items()}


def moved_by_award(decision: BoardDecision) -> list[Moved]:
    """Return what accounts got of the defenders' half by a decision; entries of the stakes do not touch it."""
    half = account(AccountKind.DEFENDERS).pk
    nets: dict[int, int] = {}
    entries = LedgerEntry.objects.filter(Q(source=half) | Q(target=half), decision=decision).order_by("pk")
    for source, target, cents in entries.values_list("source", "target", "cents"):
        other, signed = (target, cents) if source == half else (source, -cents)
        nets[other] = nets.get(other, 0) + signed
    accounts = Account.objects.select_related("team__merged_into").in_bulk(nets)
    return [Moved(accounts[number], cents) for number, cents in nets.items()]


def teams_share(moved: Iterable[Moved]) -> tuple[dict[int, int], dict[int, int]]:
    """Return what each team got and how much of that is still there; teams that were merged count as one."""
    got = _got(moved)
    return got, _there(got, _balances_of_teams())


def _got(moved: Iterable[Moved]) -> dict[int, int]:
    got: dict[int, int] = {}
    for each in moved:
        if each.account.team is not None:
            team = final_team(each.account.team).pk
            got[team] = got.get(team, 0) + each.cents
    return got


def _there(got: Mapping[int, int], has: Mapping[int, int]) -> dict[int, int]:
    """Return how much of what teams got is on an account of theirs still, on whichever of those that are merged."""
    return {team: max(min(cents, has.get(team, 0)), 0) for team, cents in got.items()}


def _balances_of_teams() -> dict[int, int]:
    """Return team -> what lies on its accounts; teams that were merged count as one."""
    has: dict[int, int] = {}
    for each in Account.objects.filter(team__isnull=False, balance_cents__gt=0).select_related("team__merged_into"):
        if each.team is not None:
            team = final_team(each.team).pk
            has[team] = has.get(team, 0) + each.balance_cents
    return has


# Posting --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Posting:
    """The entries of one stake, in their order."""

    row: Found
    now: datetime

    def post(self, needed: Flows) -> None:
        hub, half = stake_account(self.row.stake), account(AccountKind.ATTACKERS)
        aside = account(AccountKind.WITHHELD)
        told: list[LedgerEntry] = []
        for team, cents in needed.taken.items():
            told += take_back(hub, team, cents, rule=self.rule, why=self._taken(), causes=self._causes(), now=self.now)
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
        posted_tell(told, now=self.now)

    def _move(self, source: Account, target: Account, cents: int, why: str, team: int | None) -> LedgerEntry:
        return move(source, target, cents, rule=self.rule, why=why, causes=self._causes(team), now=self.now)

    def _withhold(self, source: Account, target: Account, cents: int, team: int) -> None:
        """Let what is aside of a team's share follow that share, which is more or less than it was (R38)."""
        why = f"Correction: what is withheld of a share of {self._name} follows that share."
        causes = {"stake": [self.row.stake.pk], "team": [team]}
        move(source, target, cents, rule="R38", why=why, causes=causes, now=self.now)

    @property
    def rule(self) -> str:
        return "R35" if self.row.due.outcome is Outcome.BROKEN else "R36"

    @property
    def _name(self) -> str:
        return self.row.stake.defense.name

    def _causes(self, team: int | None = None) -> Causes:
        """Name the rows: the stake, and the breaks of the week that decides, of one team where it is about one."""
        rows = [each for each in self.row.deciding if team is None or each.fact.team == team]
        attacks = [each.attack.pk for each in rows if each.attack]
        return {"stake": [self.row.stake.pk], "break": [each.proof.pk for each in rows], "attack": attacks}

    def _given(self) -> str:
        if self.row.due.outcome is Outcome.BROKEN:
            return f"Share of the attacker prize: {self._name} was broken in week {self.row.due.week}."
        if self.row.due.outcome is Outcome.BEFORE:
            return f"{self._name} was broken before it was at stake: the stake goes back to the team that paid it."
        return f"The stake on {self._name} goes back to the team that paid it."

    def _taken(self) -> str:
        if self.row.due.outcome is Outcome.HELD:
            return f"Correction: no break of {self._name} stands any more."
        return f"Correction: what is due for {self._name} changed{self._by_week()}."

    def _by_week(self) -> str:
        return f", as it was broken in week {self.row.due.week}" if self.row.due.week else ""

    def _advanced(self, owed: Mapping[int, int]) -> str:
        words = f"Correction: the attackers' half gives what {self._name} asks for"
        return f"{words}; teams owe it what was paid out to them." if owed else f"{words}."

    def _returned(self) -> str:
        if self.row.due.outcome is Outcome.BROKEN and not self.row.due.teams:
            return f"{self._name} was broken in week {self.row.due.week} by nobody who is paid."
        return f"What is left of the stake on {self._name} returns to the attackers' half."


def take_back(
    target: Account,
    team: int,
    cents: int,
    *,
    rule: str,
    why: str,
    causes: Causes,
    now: datetime,
    decision: BoardDecision | None = None,
) -> list[LedgerEntry]:
    """Take `cents` of a stake or an award back from a team: entry by entry, the newest first, each named by its
    correction; returns the corrections.

    Of each entry first from the account that it came to, then from the others of teams that were merged with it.
    """
    made: list[LedgerEntry] = []
    accounts = accounts_of_teams(Team.objects.filter(pk=team))
    has = {each.pk: each.balance_cents for each in accounts}
    for entry, left in _given_to(team, target, decision):
        for source in sorted(accounts, key=lambda each: (each.pk != entry.target_id, each.pk)):
            if part := min(cents, left, has[source.pk]):
                told: dict[str, Any] = {"rule": rule, "why": why, "causes": causes, "decision": decision, "now": now}
                made.append(move(source, target, part, corrects=entry, **told))
                has[source.pk], cents, left = has[source.pk] - part, cents - part, left - part
    return made


def _given_to(team: int, source: Account, decision: BoardDecision | None) -> list[tuple[LedgerEntry, int]]:
    """Return the entries from `source` to a team that are not wholly taken back, with what is left; newest first."""
    rows = LedgerEntry.objects.filter(source=source, target__team__isnull=False, corrects__isnull=True)
    if decision is not None:
        rows = rows.filter(decision=decision)
    rows = rows.annotate(corrected=Sum("corrections__cents")).select_related("target__team").order_by("-pk")
    left = [(row, row.cents - (row.corrected or 0)) for row in rows]
    return [(row, cents) for row, cents in left if cents and _is_of(row.target, team)]


def _is_of(target: Account, team: int) -> bool:
    return target.team is not None and final_team(target.team).pk == team
