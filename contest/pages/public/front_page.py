"""The data of the front page, public and cached for a minute (R24, R39)."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.core.cache import cache

from adjudication.models import Ruling
from contest.core.breaks import breaks_in_force
from contest.core.countdown import Countdown, clock_words, countdown, script_seconds
from contest.core.credit import first_receipts
from contest.core.enums import DefenseStanding
from contest.core.models import Attack, Break, Release
from contest.core.publication import newest_rulings_released, released
from contest.ledger.selectors import defenders_cents
from contest.record.leaderboard import snapshots
from contest.record.leaderboard.rows import DefenseRank
from contest.releases.selectors import newest_releases
from labeling.models import Image
from labeling.pictures.addresses import picture_url
from policy.numbers import Policy
from policy.selectors import policy_in_force
from scoring.models import Defense

FRESH_SECONDS = 60
MOST_STAKED, MOST_BREAKS, MOST_VERDICTS, MOST_RELEASES = 10, 5, 6, 4
# A picture that was ruled on again may have several breaks of one defense.
_BREAKS_READ = 4 * MOST_BREAKS


@dataclass(frozen=True, slots=True)
class VerdictShown:
    """A picture of a released week with its newest ruling; `attack` is what it was sent as, if it was."""

    image: Image
    url: str
    ruling: Ruling
    attack: Attack | None


@dataclass(frozen=True, slots=True)
class BreakShown:
    """A break of a released week, with the attack that has the credit."""

    defense: Defense
    image: Image
    attack: Attack
    found_at: datetime


@dataclass(frozen=True, slots=True)
class Front:
    """What is read for the page; `staked` are all defenses with a stake, whether their time is over or not."""

    policy: Policy
    staked: tuple[DefenseRank, ...]
    defenders_cents: int
    published: int
    verdicts: tuple[VerdictShown, ...]
    breaks: tuple[BreakShown, ...]
    releases: tuple[Release, ...]


@dataclass(frozen=True, slots=True)
class StakedNow:
    """A staked defense with what is left of its clock: for the page's script, and in words; none where no clock runs.

    Where its time is `over` it waits for the board, and a picture that is sent now wins nothing of it (R36).
    """

    row: DefenseRank
    for_script: str = ""
    left: str = ""
    over: bool = False


@dataclass(frozen=True, slots=True)
class AtStake:
    """What a picture that is sent now can win: of how many defenses, and cents. `waiting` are those whose time is over;
    `rows` are the first of both, those with time left before the others."""

    count: int
    cents: int
    waiting: int
    rows: tuple[StakedNow, ...]


def front(*, now: datetime) -> Front:
    """Return what the page tells, at most FRESH_SECONDS old."""
    found: Front | None = cache.get("front-page")
    if found is None:
        found = read_front(now=now)
        cache.set("front-page", found, FRESH_SECONDS)
    return found


def read_front(*, now: datetime) -> Front:
    """Return what the page tells, read afresh: as many queries for much as for little."""
    rows = snapshots.leaderboard_tables(snapshots.PRESENT, now=now).tables.defenses
    return Front(
        policy=policy_in_force(now).policy,
        staked=tuple(row for row in rows if row.state is DefenseStanding.STAKED),
        defenders_cents=defenders_cents(),
        published=len(rows),
        verdicts=tuple(_verdicts(now)),
        breaks=tuple(_breaks(now)),
        releases=tuple(newest_releases(MOST_RELEASES)),
    )


def clocks(found: Front, *, now: datetime) -> tuple[Countdown, AtStake]:
    """Return what changes with every second: the week's countdown, and what is at stake with its clocks."""
    open_now = [row for row in found.staked if not row.is_over(now)]
    waiting = [row for row in found.staked if row.is_over(now)]
    first = tuple(_staked_now(row, now) for row in (open_now + waiting)[:MOST_STAKED])
    return countdown(now=now), AtStake(len(open_now), sum(row.cents for row in open_now), len(waiting), first)


def _staked_now(row: DefenseRank, now: datetime) -> StakedNow:
    if row.clock_ends is None or row.is_over(now):
        return StakedNow(row, over=row.is_over(now))
    left = row.clock_ends - now
    return StakedNow(row, script_seconds(left), clock_words(-(-left // timedelta(seconds=1))))


def _verdicts(now: datetime) -> Iterator[VerdictShown]:
    latest = newest_rulings_released(MOST_VERDICTS)
    attacks = first_receipts([ruling.image_id for ruling in latest], unrestricted=False, now=now)
    for ruling in latest:
        url = picture_url(ruling.image, now=now)
        yield VerdictShown(ruling.image, url, ruling, attacks.get(ruling.image_id))


def _breaks(now: datetime) -> Iterator[BreakShown]:
    rows = breaks_in_force().filter(released("image__"), defense__published_at__isnull=False)
    latest = rows.select_related("defense", "image").order_by("-found_at", "-pk")[:_BREAKS_READ]
    once: dict[tuple[int, int], Break] = {}
    for each in latest:
        once.setdefault((each.defense_id, each.image_id), each)
    shown = list(once.values())[:MOST_BREAKS]
    attacks = first_receipts([each.image_id for each in shown], unrestricted=False, now=now)
    for each in shown:
        if attack := attacks.get(each.image_id):  # the clock of a copy may be behind the releases it is made of
            yield BreakShown(each.defense, each.image, attack, each.found_at)
