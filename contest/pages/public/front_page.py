"""The data of the front page, public and cached for a minute (R24, R39)."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from adjudication.models import Ruling
from common.remembered import remembered
from contest.core.breaks import breaks_in_force
from contest.core.countdown import Countdown, clock_words, countdown, script_seconds
from contest.core.credit import first_receipts
from contest.core.enums import DefenseStanding
from contest.core.models import Attack, Break, Release
from contest.core.publication import newest_rulings_released, released
from contest.ledger.selectors import defenders_cents
from contest.record.leaderboard import snapshots
from contest.record.leaderboard.rows import DefenseRank, TeamRow
from contest.releases.selectors import newest_releases
from labeling.pictures.addresses import picture_url
from policy.numbers import Policy
from policy.selectors import policy_in_force

FRESH_SECONDS = 60
MAX_STAKED, MAX_BREAKS, MAX_VERDICTS, MAX_RELEASES = 10, 5, 6, 4
# A picture with several rulings may have several breaks of one defense.
_BREAKS_READ = 4 * MAX_BREAKS


@dataclass(frozen=True, slots=True)
class Front:
    """The cached data of the page.

    `staked` are all defenses with a stake, whether their time is over or not; `leader` is the first defense, and
    `attackers` are the first teams, of which none broke more than another. `verdicts` are the newest rulings of
    released weeks, each with the address of its picture and the attack that it was sent as, if it was; `breaks` are
    with the attack that has the credit.
    """

    policy: Policy
    staked: tuple[DefenseRank, ...]
    leader: DefenseRank | None
    attackers: tuple[TeamRow, ...]
    defenders_cents: int
    published: int
    verdicts: list[tuple[Ruling, str, Attack | None]]
    breaks: list[tuple[Break, Attack]]
    releases: tuple[Release, ...]


@dataclass(frozen=True, slots=True)
class AtStake:
    """What an attack that is sent now can win: how many defenses, and cents. `waiting` counts defenses whose time is
    over: they wait for the board, and such an attack wins nothing from them (R36).

    `rows` are the first of both kinds, those with time left before the others, each with the time left on its clock,
    for the page's script and in words; a row without a running clock has neither.
    """

    count: int
    cents: int
    waiting: int
    rows: list[dict[str, Any]]


def front(*, now: datetime) -> Front:
    """Return the page's data, at most FRESH_SECONDS old."""
    return remembered("front-page", FRESH_SECONDS, lambda: read_front(now=now))


def read_front(*, now: datetime) -> Front:
    """Return the page's data from the database, in a fixed number of queries."""
    tables = snapshots.leaderboard_tables(snapshots.PRESENT, now=now).tables
    rows = tables.defenses
    return Front(
        policy=policy_in_force(now).policy,
        staked=tuple(row for row in rows if row.state is DefenseStanding.STAKED),
        leader=next((row for row in rows if row.rank == 1), None),
        attackers=tuple(row for row in tables.attackers if row.rank == 1 and row.breaks),
        defenders_cents=defenders_cents(),
        published=len(rows),
        verdicts=_verdicts(now),
        breaks=_breaks(now),
        releases=tuple(newest_releases(MAX_RELEASES)),
    )


def clocks(found: Front, *, now: datetime) -> tuple[Countdown, AtStake]:
    """Return the data that changes every second: the week's countdown, and the stakes with their clocks."""
    open_now = [row for row in found.staked if not row.is_over(now)]
    waiting = [row for row in found.staked if row.is_over(now)]
    first = [_staked_now(row, now) for row in (open_now + waiting)[:MAX_STAKED]]
    return countdown(now=now), AtStake(len(open_now), sum(row.cents for row in open_now), len(waiting), first)


def _staked_now(row: DefenseRank, now: datetime) -> dict[str, Any]:
    if row.clock_ends is None or row.is_over(now):
        return {"row": row, "over": row.is_over(now)}
    left = row.clock_ends - now
    return {"row": row, "for_script": script_seconds(left), "left": clock_words(-(-left // timedelta(seconds=1)))}


def _verdicts(now: datetime) -> list[tuple[Ruling, str, Attack | None]]:
    latest = newest_rulings_released(MAX_VERDICTS)
    attacks = first_receipts([ruling.image_id for ruling in latest], unrestricted=False, now=now)
    return [(each, picture_url(each.image, now=now), attacks.get(each.image_id)) for each in latest]


def _breaks(now: datetime) -> list[tuple[Break, Attack]]:
    rows = breaks_in_force().filter(released("image__"), defense__published_at__isnull=False)
    latest = rows.select_related("defense", "image").order_by("-found_at", "-pk")[:_BREAKS_READ]
    once: dict[tuple[int, int], Break] = {}
    for each in latest:
        once.setdefault((each.defense_id, each.image_id), each)
    shown = list(once.values())[:MAX_BREAKS]
    attacks = first_receipts([each.image_id for each in shown], unrestricted=False, now=now)
    # The clock of a copy may be behind the releases it is made of.
    return [(each, attacks[each.image_id]) for each in shown if each.image_id in attacks]
