"""Stores computed leaderboards: made by a sweep, displayed with their age, checked nightly."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import transaction
from django.db.models import Max, Min

from common.audit.trail import audit
from common.errors import NotFound
from common.remembered import remembered
from contest.core.models import Attack, Award, Release, Stake
from contest.core.settled_weeks import weeks_between
from contest.core.weeks import existing_week, week_at, week_called
from contest.defenses.models import StakeChange, WarmupMeasurement
from contest.ledger.models import LedgerEntry
from contest.record.leaderboard.fact_reader import read_facts
from contest.record.leaderboard.facts import LeaderboardFacts, StakeChangeFacts, StakeFacts
from contest.record.leaderboard.rows import DefenseRank, Tables, TeamRow
from contest.record.leaderboard.tables import tables
from contest.record.models import Leaderboard, LeaderboardCheck
from contest.teams.models import TeamMerge
from policy.calendar import Week, calendar_day
from policy.selectors import policy_in_force
from scoring.models import Defense

PRESENT = ""
FRESH = timedelta(minutes=10)
LOOK_EVERY = timedelta(seconds=10)
_LAST_LOOK = "leaderboards-looked"
_UNSTORED_SECONDS = 60
_MAX_LISTED = 50


@dataclass(frozen=True, slots=True)
class LeaderboardTables:
    """The tables of a page: of the week called `week`, or the present ones, made at `made_at`."""

    week: str
    tables: Tables
    made_at: datetime


# What is shown --------------------------------------------------------------------------------------------------------


def leaderboard_tables(week: str, *, now: datetime) -> LeaderboardTables:
    """Return the tables of a week that is over, or the present ones for an empty name.

    NotFound for no week of the contest, or one that is not over. Tables that no sweep has made are made at once.
    """
    week = _over(week, now).name if week else PRESENT
    row = Leaderboard.objects.filter(week=week).first()
    if row is not None:
        return LeaderboardTables(week, Tables.from_json(row.tables), row.made_at)
    return remembered(
        f"leaderboard-{week}",
        _UNSTORED_SECONDS,
        lambda: LeaderboardTables(week, tables(read_facts(), _moment(week, now)), now),
    )


def weeks_over(*, now: datetime) -> list[Week]:
    """Return the weeks from the first public fact on that are over, the newest first."""
    first = _first_fact()
    return [] if first is None else [week for week in weeks_between(first, now) if week.end <= now][::-1]


def _first_fact() -> datetime | None:
    sent = Attack.objects.aggregate(at=Min("received_at"))["at"]
    published = Defense.objects.aggregate(at=Min("published_at"))["at"]
    return min((at for at in (sent, published) if at is not None), default=None)


def _over(name: str, now: datetime) -> Week:
    first = _first_fact()
    week = existing_week(name)
    if first is None or not (week_at(first).start <= week.start and week.end <= now):
        raise NotFound(
            f"There is no leaderboard of week {name}: choose a week of the contest that is over.", "unknown_week"
        )
    return week


def _moment(week: str, now: datetime) -> datetime:
    return week_called(week).end if week else now


# Making ---------------------------------------------------------------------------------------------------------------


def boards_make(*, now: datetime) -> int:
    """Make the tables that are missing or no longer fresh; returns how many. Those of a past week are made once."""
    there = set(Leaderboard.objects.values_list("week", flat=True))
    wanted = [week.name for week in weeks_over(now=now) if week.name not in there]
    if _is_stale(Leaderboard.objects.filter(week=PRESENT).defer("tables").first(), now):
        wanted.append(PRESENT)
    return _make(wanted, now) if wanted else 0


def leaderboards_make_periodically(*, now: datetime) -> int:
    """Make due tables at most once per LOOK_EVERY in this process, for sweeps that run more often."""
    last: datetime | None = cache.get(_LAST_LOOK)
    if last is not None and last <= now < last + LOOK_EVERY:
        return 0
    cache.set(_LAST_LOOK, now, LOOK_EVERY.total_seconds())
    return boards_make(now=now)


def _is_stale(row: Leaderboard | None, now: datetime) -> bool:
    return row is None or now - row.made_at >= FRESH or row.seen != _newest_moments()


def _newest_moments() -> dict[str, str]:
    """Return the newest events that must appear at once; others may wait until the tables are old.

    Numbers and times, to be compared for being the same: a release says when its build began, and may be recorded long
    after tables that were made meanwhile.
    """
    columns = (
        (Release, "released_at"), (Stake, "staked_at"), (StakeChange, "known_at"), (LedgerEntry, "made_at"),
        (Award, "awarded_at"), (Defense, "published_at"), (TeamMerge, "merged_at"), (WarmupMeasurement, "measured_at"),
    )  # fmt: skip
    last = ((model, model._default_manager.aggregate(pk=Max("pk"), at=Max(column))) for model, column in columns)
    return {model._meta.model_name or "": f"{found['pk']} {found['at']}" for model, found in last}


def _make(weeks: list[str], now: datetime) -> int:
    seen = _newest_moments()  # read before the facts, so that the next check finds events in between
    facts = read_facts()
    for week in weeks:
        found = tables(facts, _moment(week, now))
        values = {"at": found.at, "tables": found.to_json(), "made_at": now, "seen": seen}
        Leaderboard.objects.update_or_create(week=week, defaults=values)
    return len(weeks)


def stored_count() -> int:
    """Return how many tables are stored: of the weeks that are over, and the present one."""
    return Leaderboard.objects.count()


@transaction.atomic
def boards_remake(*, by: User, now: datetime) -> int:
    """Rebuild every stored table from the facts, and check them; returns how many there are."""
    weeks = list(Leaderboard.objects.values_list("week", flat=True))
    made = _make(weeks, now) if weeks else 0
    board_check(now=now)
    audit("leaderboard.make", by=by, subject={}, now=now, private={"tables": made})
    return made


# Checking -------------------------------------------------------------------------------------------------------------


def leaderboards_check_nightly(*, now: datetime) -> int:
    """Check the stored tables once a day of the contest's zone; returns whether it did."""
    zone = policy_in_force(now).policy.time_zone
    last = newest_comparison()
    if last is not None and calendar_day(last.checked_at, zone) >= calendar_day(now, zone):
        return 0
    board_check(now=now)
    return 1


def board_check(*, now: datetime) -> LeaderboardCheck:
    """Compare every stored table with one rebuilt from the facts as of the same moment, and record what differs.

    A stake's row must agree with its changes, which are its history: if they differ, one was tampered with.
    """
    facts, found, rows = read_facts(), [], list(Leaderboard.objects.order_by("week"))
    for row in rows:
        kept, anew = Tables.from_json(row.tables), tables(facts, row.at)
        found += [f"{row.week or 'Now'}: {words}" for words in differences(kept, anew)]
    found += _stakes_unlike(facts)
    return LeaderboardCheck.objects.create(checked_at=now, compared=len(rows), differences=found[:_MAX_LISTED])


def _stakes_unlike(facts: LeaderboardFacts) -> Iterator[str]:
    names = {each.defense: each.public_id for each in facts.defenses}
    for stake in facts.stakes:
        last = stake.changes[-1] if stake.changes else stake
        if (stake.end, stake.ended_at) != (last.end, last.ended_at):
            words = f"the stake says {_end_words(stake)}, its changes say {_end_words(last)}"
            yield f"Now: defense {names.get(stake.defense, stake.defense)}, {words}"


def _end_words(of: StakeFacts | StakeChangeFacts) -> str:
    return f"{of.end} at {of.ended_at}" if of.end else "in force"


def newest_comparison() -> LeaderboardCheck | None:
    """Return the last comparison."""
    return LeaderboardCheck.objects.order_by("-pk").first()


def open_differences() -> int:
    """Return how many differences the last comparison found."""
    last = newest_comparison()
    return len(last.differences) if last else 0


def differences(kept: Tables, anew: Tables) -> list[str]:
    """Say in which rows and columns two tables differ. Names do not count: a team may change its name."""
    return [
        *_differences("defense", kept.defenses, anew.defenses),
        *_differences("team", kept.attackers, anew.attackers),
    ]


_Rows = tuple[DefenseRank, ...] | tuple[TeamRow, ...]


def _differences(kind: str, kept: _Rows, anew: _Rows) -> Iterator[str]:
    before, after = {row.id: row for row in kept}, {row.id: row for row in anew}
    for name in sorted(before.keys() | after.keys()):
        if name not in after:
            yield f"{kind} {name} is shown, and by the facts it is not there"
        elif name not in before:
            yield f"{kind} {name} is missing"
        else:
            yield from (f"{kind} {name}, {words}" for words in _unlike(before[name], after[name]))


def _unlike(kept: DefenseRank | TeamRow, anew: DefenseRank | TeamRow) -> Iterator[str]:
    before, after = _without_names(kept), _without_names(anew)
    for column, value in after.items():
        if before[column] != value:
            yield f"{column.replace('_', ' ')}: shown {before[column]}, by the facts {value}"


def _without_names(row: DefenseRank | TeamRow) -> dict[str, object]:
    values: dict[str, object] = asdict(replace(row, name=""))
    for column in ("team", "broken_by"):
        if column in values:
            values[column] = _nameless(values[column])
    return values


def _nameless(teams: object) -> object:
    """Return teams without their names: the ID of one, and of each of several its ID and when it broke a defense."""
    if isinstance(teams, dict):
        return teams["id"]
    return [f"{team['id']} at {team['at']}" for team in teams] if isinstance(teams, (list, tuple)) else teams
