"""Computes how much a team can be paid now, and which weeks' appeals the rest waits for (R22, R37)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from contest.core.enums import AccountKind, StakeEnd
from contest.core.models import Award, BoardDecision, Stake, Team
from contest.core.settled_weeks import Weeks, weeks_between
from contest.core.teams import final_team, teams_counted_together
from contest.core.weeks import week_called
from contest.defenses.selectors import owner_of, unbroken_until
from contest.ledger.models import Account
from contest.prizes.awards import award_change
from contest.prizes.differences import MoneyFlows, flows
from contest.prizes.prize_facts import StakeWithBreaks, begun_stakes, stakes_with_breaks
from contest.prizes.settlement import deciding_week, positions, received_by_award, received_from_stakes, teams_share
from contest.prizes.shares import StakeOutcome, earliest_week
from policy.calendar import Week
from scoring.models import Defense


@dataclass(frozen=True, slots=True)
class WaitingShare:
    """A team's share for one defense that cannot be paid now, and the weeks that it waits for.

    An attack of those weeks may still outrank or undo the reason for the share (R35-R37). Without a week it waits for
    the next sweep, which takes it back: by the present facts it is no longer due.
    """

    defense: str
    cents: int
    weeks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Payable:
    """The money of a team, how much of it waits, and the weeks it waits for: their appeals are not closed (R22).

    Without a week it waits for the next sweep, which takes it back: by the present facts it is no longer due. `shares`
    are the waiting shares of the team and of all teams merged with it.
    """

    team: Team
    balance: int
    waiting: int
    weeks: tuple[str, ...]
    shares: tuple[WaitingShare, ...] = ()

    @property
    def due(self) -> int:
        """Return the cents that can be paid now."""
        return self.balance - self.waiting


def payables(*, now: datetime) -> list[Payable]:
    """Return the teams that have money, in the order of their names."""
    accounts = Account.objects.filter(kind=AccountKind.TEAM, balance_cents__gt=0).select_related("team")
    return sorted(_payables(accounts, now), key=lambda each: (each.team.name, each.team.pk))


def payables_of(team: Team, *, now: datetime) -> list[Payable]:
    """Return the money of a team and of each team merged with it, also if it is nothing."""
    teams = teams_counted_together(team)
    accounts = Account.objects.filter(team__in=teams, balance_cents__gt=0).select_related("team")
    known = {each.team.pk: each for each in _payables(accounts, now)}
    return [known.get(each.pk) or Payable(each, 0, 0, ()) for each in teams]


def payable(team: Team, *, now: datetime) -> Payable:
    """Return the money of one team, and how much of it can be paid."""
    return next(each for each in payables_of(team, now=now) if each.team == team)


@dataclass(slots=True)
class _Waiting:
    """How much of the money of a team, and of those merged into it, waits."""

    cents: int
    weeks: set[str]
    shares: list[WaitingShare]

    def taken_from(self, balance: int) -> int:
        """Return how much of an account's balance waits: each cent that waits is counted in one account alone."""
        taken = min(self.cents, balance)
        self.cents -= taken
        return taken


def _payables(accounts: QuerySet[Account], now: datetime) -> list[Payable]:
    """Return how much on these accounts waits, by ascending number; of merged teams the first account waits first."""
    rows = [(row.team, row.balance_cents) for row in accounts.order_by("pk") if row.team is not None]
    finals = {team.pk: final_team(team).pk for team, _ in rows}
    waits = _waiting(set(finals.values()), now)
    found = []
    for team, balance in rows:
        waiting = waits.get(finals[team.pk], _Waiting(0, set(), []))
        weeks, shares = tuple(sorted(waiting.weeks)), tuple(waiting.shares)
        cents = waiting.taken_from(balance)
        found.append(Payable(team, balance, cents, weeks if cents else (), shares if cents else ()))
    return found


def _waiting(teams: set[int], now: datetime) -> dict[int, _Waiting]:
    weeks, waits = Weeks(now), dict[int, _Waiting]()
    for got in (*_of_stakes(teams), *_of_awards(teams)) if teams else ():
        still_open = got.open_in(weeks)
        waiting = waits.setdefault(got.team, _Waiting(0, set(), []))
        cents = got.cents if still_open else got.over
        waiting.cents += cents
        waiting.weeks |= still_open
        if cents:
            waiting.shares.append(WaitingShare(got.defense, cents, tuple(sorted(still_open))))
    return waits


# What teams got, and the weeks that decide it -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Time:
    """Weeks whose verdicts may change the outcome of a defense; with a moment, also all weeks before it.

    With `until`, pictures sent from then on change nothing (R36).
    """

    of: Defense
    weeks: Sequence[Week]
    before: datetime | None = None
    until: datetime | None = None

    def open_in(self, known: Weeks) -> set[str]:
        """Return the names of those of these weeks in which something can still be appealed."""
        earlier = known.open_before(self.before, of=self.of) if self.before is not None else []
        known.look_over(self.weeks)
        its_own = [week for week in self.weeks if not known.appeals_closed(week, of=self.of, before=self.until)]
        return {week.name for week in (*earlier, *its_own)}


@dataclass(frozen=True, slots=True)
class _Got:
    """The money that a team got for one defense, how much of it is no longer due by the present facts, and the times of
    the attacks that decide about the rest.

    Money that is no longer due waits for the sweep that takes it back, so that nobody pays it out in between.
    """

    team: int
    defense: str
    cents: int
    over: int
    times: Sequence[_Time]

    def open_in(self, weeks: Weeks) -> set[str]:
        """Return the names of the deciding weeks in which something can still be appealed."""
        return {name for time in self.times for name in time.open_in(weeks)}


def _over(needed: MoneyFlows, team: int) -> int:
    """Return what a team got and has to give back, whether it still has it or not."""
    return needed.taken.get(team, 0) + needed.owed.get(team, 0)


def _of_stakes(teams: set[int]) -> Iterator[_Got]:
    stakes = begun_stakes()
    got = {
        pk: {team: cents for team, cents in by_team.items() if cents > 0 and team in teams}
        for pk, by_team in received_from_stakes(stakes).items()
    }
    rows = stakes_with_breaks([stake for stake in stakes if got.get(stake.pk)])
    at = positions(rows)
    for row in rows:
        needed, times = flows(row.due.teams, row.due.held, at[row.stake.pk]), _times(row)
        for team, cents in got[row.stake.pk].items():
            over = cents if _is_void_without_break(row) else _over(needed, team)
            yield _Got(team, row.stake.defense.name, cents, over, times)


def _is_void_without_break(row: StakeWithBreaks) -> bool:
    """Say whether the break that voided a stake was overruled: the next sweep revives the stake and takes its money
    back."""
    return row.stake.end == StakeEnd.VOID and not row.breaks


def _times(row: StakeWithBreaks) -> list[_Time]:
    """Return the weeks that decide a prize: an attack of an earlier week would outrank it (R35), and one from before
    the stake began would void it.

    For a break from before the stake, only the week of that break decides: nothing is left to outrank. Money that goes
    back to its payer does so whatever was sent before.
    """
    stake = row.stake
    if _is_void_without_break(row):
        return []
    match row.due.outcome:
        case StakeOutcome.HELD:  # nothing of it is due to anybody
            return []
        case StakeOutcome.BEFORE:
            return [_Time(stake.defense, [week_called(earliest_week(each.fact for each in row.breaks))])]
        case StakeOutcome.RETURNED if stake.end == StakeEnd.WON:
            return [_Time(stake.defense, _weeks_of_its_time(stake), until=unbroken_until(stake))]
    weeks = list(weeks_between(stake.begun_at, deciding_week(row).start))
    return [_Time(stake.defense, weeks, stake.begun_at if row.due.week else None)]


def _of_awards(teams: set[int]) -> Iterator[_Got]:
    """Yield the awards of teams. They waited for all weeks of their time (R37); a later ruling, or a missing one on a
    picture from before their time, makes them wait again."""
    decided: dict[BoardDecision, dict[int, list[Stake]]] = {}
    for award in Award.objects.select_related("decision", "stake__defense__entry__team").order_by("pk"):
        owner = owner_of(award.stake.defense)
        if owner is not None and owner.pk in teams:
            decided.setdefault(award.decision, {}).setdefault(owner.pk, []).append(award.stake)
    for decision, winners in decided.items():
        got, _ = teams_share(received_by_award(decision))
        needed = award_change(decision).flows
        for team, stakes in winners.items():
            if got.get(team, 0) > 0:
                times = [
                    _Time(each.defense, _weeks_of_its_time(each), each.begun_at, unbroken_until(each))
                    for each in stakes
                ]
                yield _Got(team, ", ".join(each.defense.name for each in stakes), got[team], _over(needed, team), times)


def _weeks_of_its_time(stake: Stake) -> list[Week]:
    until = unbroken_until(stake)
    return [] if until is None else list(weeks_between(stake.begun_at, until))
