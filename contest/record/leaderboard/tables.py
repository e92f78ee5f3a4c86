"""Computes the leaderboard at a moment from its facts, whatever their order. Pure.

At a moment these are public (R24, R39): attacks whose week is over; predictions, breaks and the newest verdicts made by
then, of the pictures of weeks that were released by then; stakes, ends, merges and prizes made by then.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import TypeVar

from common.database.grouping import grouped
from contest.core.enums import DefenseStanding, StakeEnd
from contest.record.leaderboard.facts import (
    AssociationFacts,
    AttackFacts,
    DefenseFacts,
    LeaderboardFacts,
    PictureFacts,
    StakeFacts,
    WarmupFacts,
)
from contest.record.leaderboard.rows import BreakerRow, DefenseRank, Tables, TeamRow
from scoring.trials.totals import AnswerTotals

_DAY = timedelta(days=1)
_BROKEN_ENDS = (StakeEnd.BROKEN, StakeEnd.VOID)
_GROUPS = {DefenseStanding.WON: 0, DefenseStanding.STAKED: 1}
_Row = TypeVar("_Row")
OTHER_PICTURES = "other pictures"  # beside the codes of a report's warnings


def tables(facts: LeaderboardFacts, at: datetime) -> Tables:
    """Return the leaderboard by what was public at `at`."""
    known = _Known(facts, at)
    return Tables(at, tuple(_defenses(known)), tuple(_attackers(known)))


def ranks(keys: Sequence[tuple[int, ...]]) -> list[int]:
    """Return the rank of each key, the largest first; equal keys share a rank and the next ranks are skipped."""
    first: dict[tuple[int, ...], int] = {}
    for place, key in enumerate(sorted(keys, reverse=True), start=1):
        first.setdefault(key, place)
    return [first[key] for key in keys]


class _Known:
    """The facts that were public at a moment, in lookup tables computed on demand."""

    def __init__(self, facts: LeaderboardFacts, at: datetime) -> None:
        self.facts, self.at = facts, at

    # Teams

    @cached_property
    def _into(self) -> dict[int, int]:
        return {merge.team: merge.into for merge in self.facts.merges if merge.at <= self.at}

    def final(self, team: int) -> int:
        """Return the team that `team` was part of."""
        return _end_of(team, self._into)

    @cached_property
    def _associations(self) -> list[AssociationFacts]:
        """Return those that were known, and not to be in error."""
        known = (each for each in self.facts.associations if each.declared_at <= self.at)
        return [each for each in known if each.mistaken_at is None or each.mistaken_at > self.at]

    def is_unpaid(self, team: int, moments: Iterable[datetime]) -> bool:
        """Say whether an association covered one of the moments, of the team or one that became part of it (R27)."""
        own = [each for each in self._associations if self.final(each.team) == team]
        return any(
            each.since <= moment and (each.until is None or moment < each.until) for each in own for moment in moments
        )

    def is_unpaid_between(self, team: int, first: datetime, last: datetime) -> bool:
        """Say whether an association covered any moment from `first` to `last`, of the team or one that was part of it
        by then (R27)."""
        told = self._associations
        begins = [*(each.since for each in told), *(merge.at for merge in self.facts.merges if merge.at <= self.at)]
        moments = [first, last, *(at for at in begins if first <= at <= last)]
        return any(
            each.since <= at and (each.until is None or at < each.until) and self._part_of(each.team, team, at)
            for each in told
            for at in moments
        )

    def _part_of(self, one: int, other: int, at: datetime) -> bool:
        into = {merge.team: merge.into for merge in self.facts.merges if merge.at <= at}
        return _end_of(one, into) == _end_of(other, into)

    # Pictures

    @cached_property
    def _spans(self) -> list[tuple[datetime, datetime]]:
        return sorted((each.start, each.end) for each in self.facts.releases if each.at <= self.at)

    def _is_released(self, picture: PictureFacts) -> bool:
        place = bisect_right(self._spans, picture.received_at, key=lambda span: span[0])
        return picture.releasable and place > 0 and picture.received_at < self._spans[place - 1][1]

    @cached_property
    def released(self) -> dict[int, PictureFacts]:
        """Return the pictures of the released weeks."""
        return {each.picture: each for each in self.facts.pictures if self._is_released(each)}

    @cached_property
    def labels(self) -> dict[int, str]:
        """Return the verdicts that held on released pictures: the class, or nothing for a rejected one."""
        newest: dict[int, tuple[int, str]] = {}
        for each in self.facts.rulings:
            if each.picture in self.released and each.at <= self.at:
                newest[each.picture] = max(newest.get(each.picture, (0, "")), (each.number, each.label))
        return {picture: label for picture, (_, label) in newest.items()}

    @cached_property
    def attacks(self) -> list[AttackFacts]:
        """Return the attacks that everybody knows of, in the order of receipt."""
        public = (each for each in self.facts.attacks if each.week_end <= self.at)
        return sorted(public, key=lambda each: (each.received_at, each.attack))

    @cached_property
    def first(self) -> dict[int, AttackFacts]:
        """Return the first receipt of each picture, which has the credit (R26)."""
        found: dict[int, AttackFacts] = {}
        for each in self.attacks:
            if not each.known:
                found.setdefault(each.picture, each)
        return found

    @cached_property
    def valid(self) -> dict[int, AttackFacts]:
        """Return the first receipts of the pictures that were ruled valid."""
        return {picture: attack for picture, attack in self.first.items() if self.labels.get(picture)}

    # Breaks

    @cached_property
    def breaks(self) -> dict[int, set[int]]:
        """Return defense -> the released pictures that broke it, by the verdicts that held.

        A picture breaks by an attack (R29), which is public before the release of the picture.
        """
        found: dict[int, set[int]] = {}
        for each in self.facts.breaks:
            holds = each.at <= self.at and self.labels.get(each.picture) == each.label
            if holds and each.picture in self.first:
                found.setdefault(each.defense, set()).add(each.picture)
        return found

    @cached_property
    def told_breaks(self) -> set[int]:
        """Return the rows of all mistakes on released pictures, whether they held or broke anything or not."""
        return {each.row for each in self.facts.breaks if each.picture in self.released}

    @cached_property
    def answered(self) -> dict[int, set[int]]:
        """Return defense -> the pictures it answered."""
        found: dict[int, set[int]] = {}
        for each in self.facts.answers:
            if each.at <= self.at:
                found.setdefault(each.defense, set()).add(each.picture)
        return found

    @cached_property
    def randomised(self) -> set[int]:
        """Return the defenses that answered a released picture in different ways (R29)."""
        return {each.defense for each in self.facts.varied if each.at <= self.at and each.picture in self.released}

    # Defenses

    @cached_property
    def published(self) -> list[DefenseFacts]:
        """Return the defenses that were published."""
        return [each for each in self.facts.defenses if each.published_at <= self.at]

    @cached_property
    def stakes(self) -> dict[int, StakeFacts]:
        """Return the last stake of each defense that had begun, with its end as it was known."""
        begun = sorted((each for each in self.facts.stakes if each.at <= self.at), key=lambda each: each.at)
        return {each.defense: self._as_known(each) for each in begun}

    def _as_known(self, stake: StakeFacts) -> StakeFacts:
        if not stake.changes:
            return stake
        known = [(each.ended_at, each.end) for each in stake.changes if each.at <= self.at]
        ended_at, end = known[-1] if known else (None, "")
        return replace(stake, ended_at=ended_at, end=end)

    @cached_property
    def totals(self) -> dict[int, AnswerTotals]:
        """Return the newest totals of each defense on the private set (R31)."""
        done = sorted((each for each in self.facts.trials if each.at <= self.at), key=lambda each: each.at)
        return {each.defense: each.totals for each in done}

    @cached_property
    def warmups(self) -> dict[int, WarmupFacts]:
        """Return the newest warm-up of each published defense (R40), by the attacks of the newest version: others
        cannot be compared. Those with other pictures than the newest one have a warning that says so."""
        published = {each.defense for each in self.published}
        known = [each for each in self.facts.warmups if each.at <= self.at and each.defense in published]
        newest = max((each.version for each in known), default=0)
        done = sorted((each for each in known if each.version == newest), key=lambda each: each.at)
        found = {each.defense: each for each in done}
        others = [each for each in found.values() if each.pictures != done[-1].pictures]
        return found | {each.defense: replace(each, warnings=(*each.warnings, OTHER_PICTURES)) for each in others}

    def owner(self, defense: DefenseFacts) -> int | None:
        """Return the team whose defense it was."""
        return None if defense.team is None else self.final(defense.team)


def _end_of(team: int, into: Mapping[int, int]) -> int:
    while team in into:
        team = into[team]
    return team


# Defenses -------------------------------------------------------------------------------------------------------------


def _defenses(known: _Known) -> Iterator[DefenseRank]:
    rows = [_defense(known, each) for each in known.published]
    staked = [row for row in rows if row.days_unbroken is not None]
    places = dict(zip([row.id for row in staked], ranks([_defense_key(row) for row in staked]), strict=True))
    ranked = [replace(row, rank=places.get(row.id)) for row in rows]
    yield from sorted(ranked, key=lambda row: (row.rank is None, row.rank or 0, row.name, row.id))


def _defense_key(row: DefenseRank) -> tuple[int, ...]:
    """Those that won before those at stake before all others; then by days, then by attacks survived."""
    return (-_GROUPS.get(row.state, 2), row.days_unbroken or 0, row.survived or 0)


def _defense(known: _Known, defense: DefenseFacts) -> DefenseRank:
    stake, broke = known.stakes.get(defense.defense), _what_broke(known, defense)
    state = _state(known, defense, stake)
    until = _unbroken_to(known, stake, broke)
    warmup = known.warmups.get(defense.defense)
    owner, opened = known.owner(defense), _is_open(defense, known.at)
    return DefenseRank(
        rank=None,
        id=defense.public_id,
        name=defense.name,
        demo=defense.demo,
        team=None if owner is None else known.facts.names[owner],
        state=state,
        staked_since=stake.at if stake else None,
        days_unbroken=max((until - stake.at) // _DAY, 0) if stake else None,
        survived=_survived(known, defense, stake, until) if stake else None,
        cents=stake.cents if stake and state is DefenseStanding.STAKED else 0,
        clock_ends=_clock(stake, known.at) if opened and state is DefenseStanding.STAKED else None,
        eligibility=known.totals.get(defense.defense),
        open_source=opened,
        randomised=defense.defense in known.randomised,
        broken_at=broke[0].received_at if broke else None,
        broken_week=broke[0].week if broke else "",
        broken_by=tuple(_breakers(known, broke)),
        warmup=warmup.accuracy if warmup else None,
        warmup_warnings=warmup.warnings if warmup else (),
    )


def _is_open(defense: DefenseFacts, at: datetime) -> bool:
    return defense.opened_at is not None and defense.opened_at <= at


def _clock(stake: StakeFacts | None, at: datetime) -> datetime | None:
    return stake.until if stake and stake.clock_from and stake.clock_from <= at else None


def _over(stake: StakeFacts | None, at: datetime) -> str:
    """Return how a stake had ended; nothing while it had not."""
    return stake.end if stake and stake.ended_at and stake.ended_at <= at else ""


def _state(known: _Known, defense: DefenseFacts, stake: StakeFacts | None) -> DefenseStanding:
    end = _over(stake, known.at)
    if stake and end == StakeEnd.WON and not _award_lost(known, defense, stake):
        return DefenseStanding.WON
    if defense.retired_at is not None and defense.retired_at <= known.at:
        return DefenseStanding.WITHDRAWN
    # What ended a stake is known to everybody at once: the prize is gone.
    if known.breaks.get(defense.defense) or end in _BROKEN_ENDS:
        return DefenseStanding.BROKEN
    return DefenseStanding.STAKED if stake and not end else DefenseStanding.PUBLISHED


def _award_lost(known: _Known, defense: DefenseFacts, stake: StakeFacts) -> bool:
    """Say whether the facts of now take an award back: a break of its time (R37), or a team that is not paid (R27); or
    the board took it for good (R38)."""
    if stake.forfeited_at is not None and stake.forfeited_at <= known.at:
        return True
    broke = (known.first[each] for each in known.breaks.get(defense.defense, ()))
    if any(stake.until is None or each.received_at < stake.until for each in broke):
        return True
    span = (stake.clock_from or stake.at, stake.ended_at or known.at)
    return defense.team is not None and known.is_unpaid_between(defense.team, *span)


def _what_broke(known: _Known, defense: DefenseFacts) -> list[AttackFacts]:
    """Return what broke a defense in the earliest week with a break (R35), in the order of receipt."""
    broke = [known.first[each] for each in known.breaks.get(defense.defense, ())]
    ordered = sorted(broke, key=lambda each: (each.received_at, each.picture))
    return [each for each in ordered if each.week == ordered[0].week]


def _breakers(known: _Known, broke: Iterable[AttackFacts]) -> Iterator[BreakerRow]:
    """Yield the teams that sent them, each with its first receipt: it did not send what another one did before."""
    first: dict[int, datetime] = {}
    for each in broke:
        first.setdefault(known.final(each.team), each.received_at)
    return (BreakerRow(known.facts.names[team].id, known.facts.names[team].name, at) for team, at in first.items())


def _unbroken_to(known: _Known, stake: StakeFacts | None, broke: Sequence[AttackFacts]) -> datetime:
    ends = [known.at, *(each.received_at for each in broke[:1])]
    if stake and stake.ended_at:
        ends.append(stake.ended_at)
    return min(ends)


def _survived(known: _Known, defense: DefenseFacts, stake: StakeFacts, until: datetime) -> int:
    """Count the valid attacks of others from the stake on that it answered without a confident mistake."""
    owner, broke = known.owner(defense), known.breaks.get(defense.defense, set())
    answered = known.answered.get(defense.defense, set())
    return sum(
        stake.at <= attack.received_at < until and picture not in broke and known.final(attack.team) != owner
        for picture, attack in known.valid.items()
        if picture in answered
    )


# Attackers ------------------------------------------------------------------------------------------------------------


def _attackers(known: _Known) -> Iterator[TeamRow]:
    sent = grouped((known.final(attack.team), attack) for attack in known.attacks)
    valid = Counter(known.final(attack.team) for attack in known.valid.values())
    broke, prizes = _broken_by(known), _prizes(known)
    teams = sorted({*sent, *(team for team, cents in prizes.items() if cents > 0)})
    rows = [
        _attacker(known, team, sent.get(team, []), valid[team], broke.get(team, []), prizes[team]) for team in teams
    ]
    places = ranks([(row.breaks, row.valid) for row in rows])
    ranked = (replace(row, rank=place) for row, place in zip(rows, places, strict=True))
    yield from sorted(ranked, key=lambda row: (row.rank, row.name, row.id))


def _attacker(
    known: _Known, team: int, sent: Sequence[AttackFacts], valid: int, broke: Sequence[int], cents: int
) -> TeamRow:
    return TeamRow(
        rank=0,
        id=known.facts.names[team].id,
        name=known.facts.names[team].name,
        unpaid=known.is_unpaid(team, [known.at, *(attack.received_at for attack in sent)]),
        sent=len(sent),
        valid=valid,
        breaks=len(broke),
        defenses=len(set(broke)),
        # What the board withholds of an account may be more than these: an award and a stake paid back lie there too.
        cents=max(cents, 0),
    )


def _broken_by(known: _Known) -> dict[int, list[int]]:
    """Return team -> the defenses of others that its pictures broke, each as often as pictures did."""
    return grouped(
        (team, defense.defense)
        for defense in known.published
        for picture in known.breaks.get(defense.defense, ())
        if (team := known.final(known.first[picture].team)) != known.owner(defense)
    )


def _prizes(known: _Known) -> Counter[int]:
    """Return team -> cents; what follows from a break is told with the release that tells of the break."""
    found = Counter[int]()
    for prize in known.facts.prizes:
        if prize.at <= known.at and known.told_breaks.issuperset(prize.breaks):
            found[known.final(prize.team)] += prize.cents
    return found


# Sorting --------------------------------------------------------------------------------------------------------------


def ordered(rows: Iterable[_Row], key: Callable[[_Row], object], *, descending: bool) -> list[_Row]:
    """Sort rows by `key`, keeping the order of equal ones; rows without a value come last either way."""
    known = list(rows)
    valued = [row for row in known if key(row) is not None]
    valued.sort(key=key, reverse=descending)  # type: ignore[arg-type]
    return valued + [row for row in known if key(row) is None]
