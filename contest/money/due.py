"""What of a team's money can be paid now, and what of it waits for the appeals of which weeks (R22, R37)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from contest.enums import AccountKind, StakeEnd
from contest.models import Account, Award, BoardDecision, Stake, Team
from contest.money.facts import Found, begun_stakes, found
from contest.money.prizes import Outcome, earliest_week
from contest.money.settlement import deciding_week, got_of, moved_by_award, teams_share
from contest.rules import Week
from contest.settled import Weeks, weeks_between
from contest.stakes.selectors import owner_of, unbroken_until
from contest.teams.selectors import final_team, teams_counted_together
from contest.weeks import week_called
from scoring.models import Defense


@dataclass(frozen=True, slots=True)
class Payable:
    """What a team has, what of it waits, and the weeks it waits for: their appeals are not closed (R22)."""

    team: Team
    balance: int
    waiting: int
    weeks: tuple[str, ...]

    @property
    def due(self) -> int:
        """Return the cents that can be paid now."""
        return self.balance - self.waiting


def payables(*, now: datetime) -> list[Payable]:
    """Return the teams that have money, in the order of their names."""
    accounts = Account.objects.filter(kind=AccountKind.TEAM, balance_cents__gt=0).select_related("team")
    return _payables(accounts.order_by("team__name"), now)


def payables_of(team: Team, *, now: datetime) -> list[Payable]:
    """Return what a team has and what each team that is counted with it has, also where that is nothing."""
    teams = teams_counted_together(team)
    accounts = Account.objects.filter(team__in=teams, balance_cents__gt=0).select_related("team").order_by("pk")
    known = {each.team.pk: each for each in _payables(accounts, now)}
    return [known.get(each.pk) or Payable(each, 0, 0, ()) for each in teams]


def payable(team: Team, *, now: datetime) -> Payable:
    """Return what one team has and what of it can be paid."""
    return next(each for each in payables_of(team, now=now) if each.team == team)


@dataclass(slots=True)
class _Waiting:
    """What of the money of a team, and of those merged into it, waits."""

    cents: int
    weeks: set[str]

    def taken_from(self, balance: int) -> int:
        """Return how much of an account's balance waits: each cent that waits is counted in one account alone."""
        taken = min(self.cents, balance)
        self.cents -= taken
        return taken


def _payables(accounts: Iterable[Account], now: datetime) -> list[Payable]:
    rows = [(row.team, row.balance_cents) for row in accounts if row.team is not None]
    finals = {team.pk: final_team(team).pk for team, _ in rows}
    waits = _waiting(set(finals.values()), now)
    found_rows = []
    for team, balance in rows:
        waiting = waits.get(finals[team.pk], _Waiting(0, set()))
        weeks = tuple(sorted(waiting.weeks))
        cents = waiting.taken_from(balance)
        found_rows.append(Payable(team, balance, cents, weeks if cents else ()))
    return found_rows


def _waiting(teams: set[int], now: datetime) -> dict[int, _Waiting]:
    weeks, waits = Weeks(now), dict[int, _Waiting]()
    for got in (*_of_stakes(teams), *_of_awards(teams)):
        if still_open := got.open_in(weeks):
            waiting = waits.setdefault(got.team, _Waiting(0, set()))
            waiting.cents += got.cents
            waiting.weeks |= still_open
    return waits


# What teams got, and which weeks it hangs on --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Got:
    """What a team got for one defense, and the weeks whose verdicts may still change that."""

    team: int
    cents: int
    times: Sequence[tuple[Defense, Sequence[Week]]]

    def open_in(self, weeks: Weeks) -> set[str]:
        """Return the names of the weeks that can still be appealed."""
        return {week.name for of, time in self.times for week in time if not weeks.appeals_closed(week, of=of)}


def _of_stakes(teams: set[int]) -> Iterator[_Got]:
    stakes = begun_stakes()
    got = {pk: _positive(cents, teams) for pk, cents in got_of(stakes).items()}
    for row in found([stake for stake in stakes if got.get(stake.pk)]):
        times = [(row.stake.defense, _weeks(row))]
        for team, cents in got[row.stake.pk].items():
            yield _Got(team, cents, times)


def _positive(got: dict[int, int], teams: set[int]) -> dict[int, int]:
    return {team: cents for team, cents in got.items() if cents > 0 and team in teams}


def _weeks(row: Found) -> list[Week]:
    """Return the weeks that a prize hangs on: an attack of an earlier one would outrank it (R35).

    Of a break from before the stake it is the week of that break alone: nothing is left to outrank.
    """
    if row.due.outcome is Outcome.BEFORE:
        return [week_called(earliest_week(each.fact for each in row.breaks))]
    if row.stake.end == StakeEnd.WON and not row.due.week:
        return _weeks_of_its_time(row.stake)
    return list(weeks_between(_begun(row.stake), deciding_week(row).start))


def _of_awards(teams: set[int]) -> Iterator[_Got]:
    """What was won waited for all weeks of its time (R37); a ruling since then lets it wait again."""
    decided: dict[BoardDecision, dict[int, list[Stake]]] = {}
    for award in Award.objects.select_related("decision", "stake__defense__entry__team").order_by("pk"):
        owner = owner_of(award.stake.defense)
        if owner is not None and owner.pk in teams:
            decided.setdefault(award.decision, {}).setdefault(owner.pk, []).append(award.stake)
    for decision, winners in decided.items():
        got, _ = teams_share(moved_by_award(decision))
        for team, stakes in winners.items():
            if got.get(team, 0) > 0:
                yield _Got(team, got[team], [(each.defense, _weeks_of_its_time(each)) for each in stakes])


def _weeks_of_its_time(stake: Stake) -> list[Week]:
    until = unbroken_until(stake)
    return [] if until is None else list(weeks_between(_begun(stake), until))


def _begun(stake: Stake) -> datetime:
    return stake.staked_at or stake.asked_at
