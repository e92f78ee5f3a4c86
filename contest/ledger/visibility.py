"""Decides how much of each ledger entry is public before a week's release (R24, R39).

Three kinds of entries wait for a release. An entry that follows from a break under embargo is shown without its team.
An entry that moves other money of a team with such a share is not listed: the sum of a payment would say whose the
share is. An entry by which a public share loses money to a break under embargo names the team, as the share does, but
not the break. All sums of the public page are sums of the entries it lists, so that they add up and reveal nothing
more.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, auto
from typing import Self

from django.db.models import Min, Q

from common.database.request_memory import once_per_request
from contest.core.breaks import recorded_mistakes
from contest.core.enums import AccountKind, StakeEnd
from contest.core.models import Attack, BoardDecision, Stake, Team
from contest.core.publication import released
from contest.core.teams import final_team, teams_by_number
from contest.ledger.models import Account, LedgerEntry
from contest.ledger.withholding import WithheldAmount

# Numbers of a team and a stake; for a merged team, the team that it is part of now.
Pair = tuple[int, int]


class EntryVisibility(Enum):
    """How much of an entry is public."""

    WHOLE = auto()
    WITHOUT_REASON = auto()
    WITHOUT_TEAM = auto()
    LATER = auto()


HIDDEN = (EntryVisibility.WITHOUT_TEAM, EntryVisibility.LATER)


@dataclass(frozen=True, slots=True)
class EmbargoedBreaks:
    """The breaks under embargo, since when a team has one on a stake, and the teams whose breaks are public.

    A share can also be withheld before any break was found: then only the board's decision names the team. It is public
    that a stake's own team, and the one that paid for it, have a share of what is given back.
    """

    breaks: frozenset[int]
    since: datetime | None
    pairs: Mapping[Pair, datetime]
    told: frozenset[Pair]
    names: Mapping[int, tuple[str, ...]]

    @classmethod
    def read(cls, teams: Mapping[int, Team]) -> Self:
        """Read all of this from the database."""
        hidden = list(
            recorded_mistakes().exclude(released("image__")).values_list("pk", "defense", "image", "found_at")
        )
        stakes = _Stakes.read()
        pairs: dict[Pair, datetime] = {}
        senders = _senders({image for _, _, image, _ in hidden}, teams)
        for _, defense, image, found in hidden:
            for stake in stakes.of.get(defense, ()):
                for team in senders.get(image, ()):
                    pairs[team, stake] = min(pairs.get((team, stake), found), found)
        since = min((found for *_, found in hidden), default=None)
        breaks = frozenset(number for number, *_ in hidden)
        told = frozenset(_public_pairs(stakes, teams))
        return cls(breaks, since, pairs, told, _names({team for team, _ in pairs}, teams))

    def hides(self, pair: Pair, at: datetime) -> bool:
        """Say whether entries made at `at` must hide that a team has a share of a stake."""
        since = self.pairs.get(pair)
        return pair not in self.told if since is None else since <= at

    def keeps(self, decision: BoardDecision) -> bool:
        """Say whether the words of a decision are hidden: they name a team that then had a break under embargo."""
        known = {team for (team, _), since in self.pairs.items() if since <= decision.decided_at}
        words = [name for team in known for name in self.names[team]]
        return any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", decision.reason, re.IGNORECASE) for name in words)


@dataclass(frozen=True, slots=True)
class _Stakes:
    """The stakes by defense, and the teams of each stake: owner of the defense, and payer."""

    of: Mapping[int, list[int]]
    teams: Mapping[int, list[int]]

    @classmethod
    def read(cls) -> Self:
        of: dict[int, list[int]] = {}
        teams: dict[int, list[int]] = {}
        for pk, defense, payer, maker in Stake.objects.values_list("pk", "defense", "paid_by", "defense__entry__team"):
            of.setdefault(defense, []).append(pk)
            teams[pk] = [team for team in (payer, maker) if team is not None]
        return cls(of, teams)


def _senders(images: set[int], teams: Mapping[int, Team]) -> dict[int, set[int]]:
    """Return picture -> the teams that sent it and did not withdraw the attack."""
    found: dict[int, set[int]] = {}
    sent = Attack.objects.filter(image__in=images, withdrawn_at__isnull=True)
    for image, team in sent.values_list("image", "team"):
        found.setdefault(image, set()).add(final_team(teams[team]).pk)
    return found


def _public_pairs(stakes: _Stakes, teams: Mapping[int, Team]) -> Iterable[Pair]:
    """Yield the pairs of team and stake that may be public, for the stakes of which the board withheld money."""
    withheld = LedgerEntry.objects.filter(rule="R38", causes__has_key="stake").values_list("causes", flat=True)
    asked = {stake for causes in withheld for stake in causes["stake"]}
    for stake in asked:
        yield from ((final_team(teams[team]).pk, stake) for team in stakes.teams.get(stake, ()))
    by_defense = {defense: asked.intersection(numbers) for defense, numbers in stakes.of.items()}
    told = recorded_mistakes().filter(released("image__"), defense__stakes__in=asked).distinct()
    rows = list(told.values_list("defense", "image"))
    senders = _senders({image for _, image in rows}, teams)
    for defense, image in rows:
        yield from ((team, stake) for stake in by_defense[defense] for team in senders.get(image, ()))


def _names(wanted: Iterable[int], teams: Mapping[int, Team]) -> dict[int, tuple[str, ...]]:
    """Return team -> its name and its ID, and those of the teams that were merged into it."""
    found: dict[int, tuple[str, ...]] = dict.fromkeys(wanted, ())
    for each in teams.values():
        if (team := final_team(each).pk) in found:
            found[team] += (each.name, each.public_id)
    return found


# Entries --------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class LedgerView:
    """The public view of the ledger: how much of each partly public entry to show, and the effect on sums.

    `later`: account -> sum of its entries that are not listed; `without_team`: the same for entries without their
    team's name; `balances`: public balances of accounts that moved since the first embargoed break. `marked`: team ->
    since when it has money that must not be linked to its name; `set_off`: what was taken back of public shares out of
    such money.
    """

    embargoed: EmbargoedBreaks
    teams: Mapping[int, Team]
    levels: dict[int, EntryVisibility] = field(default_factory=dict)
    hidden: list[LedgerEntry] = field(default_factory=list)
    later: dict[int, int] = field(default_factory=dict)
    without_team: dict[int, int] = field(default_factory=dict)
    marked: dict[int, datetime] = field(default_factory=dict)
    balances: dict[int, int] = field(default_factory=dict)
    set_off: dict[Pair, int] = field(default_factory=dict)
    decisions: set[int] = field(default_factory=set)

    @classmethod
    def now(cls) -> "LedgerView":
        """Return the public view of now; callers for whose entries `are_whole` is true do not need it."""
        return _read_view()

    def of(self, entry: LedgerEntry) -> EntryVisibility:
        """Return how much of an entry is public."""
        return self.levels.get(entry.pk, EntryVisibility.WHOLE)

    def not_listed(self) -> list[int]:
        """Return the numbers of the entries that are not listed."""
        return [number for number, told in self.levels.items() if told is EntryVisibility.LATER]

    def tells(self, decision: BoardDecision) -> bool:
        """Say whether the words of a decision are public."""
        return decision.pk not in self.decisions and not self.embargoed.keeps(decision)

    def tells_of(self, withheld: WithheldAmount, decision: BoardDecision) -> bool:
        """Say whether it is public that the board withholds this, as of one of its decisions."""
        if withheld.account.stake_id is not None:
            team = withheld.team
            return team is None or not self.embargoed.hides((team.pk, withheld.account.stake_id), decision.decided_at)
        return decision.pk not in self.decisions

    def hidden_of(self, withheld: WithheldAmount) -> int:
        """Return how much of the withheld money comes from hidden entries."""
        rows = [row for row in self.hidden if row.rule == "R38" and _is_of(row, withheld, self.teams)]
        return sum(row.cents if row.target.kind == AccountKind.WITHHELD else -row.cents for row in rows)

    def has(self, team: int) -> int:
        """Return a team's public balance on its accounts that moved since the first embargoed break."""
        rows = Account.objects.filter(team__isnull=False, pk__in=self.balances).values_list("pk", "team")
        mine = [pk for pk, number in rows if final_team(self.teams[number]).pk == team]
        return sum(max(self.balances[pk], 0) for pk in mine)

    def _rows(self) -> Iterable[LedgerEntry]:
        """Return the entries that may follow from a break under embargo, and those that withhold money of stakes."""
        wanted = Q(rule="R38", causes__has_key="stake")
        if self.embargoed.since is not None:
            wanted |= Q(made_at__gte=self.embargoed.since)
        return LedgerEntry.objects.filter(wanted).select_related("source__stake", "target__stake").order_by("pk")

    def _pass(self, rows: Sequence[LedgerEntry]) -> None:
        """Go through the entries in their order, with the public balances before each."""
        since = self.embargoed.since
        recent = {row.pk for row in rows if since is not None and row.made_at >= since}
        for row in (each for each in rows if each.pk in recent):
            for of in (row.source, row.target):
                self.balances.setdefault(of.pk, of.balance_cents)
            _add(self.balances, row, -1)
        for row in rows:
            told = self._level(row)
            if told is not EntryVisibility.WHOLE:
                self.levels[row.pk] = told
            if told in HIDDEN:
                self._hide(row, told)
            elif row.pk in recent:
                _add(self.balances, row, 1)

    def _level(self, row: LedgerEntry) -> EntryVisibility:
        before = self.levels.get(row.corrects_id or 0, EntryVisibility.WHOLE)
        if before in HIDDEN:
            return before
        if (pair := self._pair(row)) is not None:
            return self._without_name(row) if self.embargoed.hides(pair, row.made_at) else EntryVisibility.WHOLE
        if row.rule == "R38" and self._is_of_hidden_award(row):
            return EntryVisibility.LATER
        follows = self._follows(row)
        if follows and (row.corrects_id is None or self._is_of_winner(row)):
            return self._without_name(row)
        marked = self._team(row) in self.marked
        if row.corrects_id is not None and row.source.kind == AccountKind.TEAM:
            if marked and self.balances[row.source_id] < row.cents:
                return EntryVisibility.WITHOUT_TEAM  # the public balance of the team could not have paid it
            return EntryVisibility.WITHOUT_REASON if follows else EntryVisibility.WHOLE
        return EntryVisibility.LATER if marked and _is_own_affair(row) else EntryVisibility.WHOLE

    def _follows(self, row: LedgerEntry) -> bool:
        return not self.embargoed.breaks.isdisjoint(row.causes.get("break", ()))

    def _pair(self, row: LedgerEntry) -> Pair | None:
        """Return the team and the stake whose share an entry withholds or returns (R38)."""
        if row.rule != "R38" or "stake" not in row.causes or "team" not in row.causes:
            return None
        return final_team(self.teams[row.causes["team"][0]]).pk, row.causes["stake"][0]

    def _without_name(self, row: LedgerEntry) -> EntryVisibility:
        """Return how much of an entry that follows from a break under embargo is public: nothing if its defense
        publicly won (R37)."""
        return EntryVisibility.LATER if self._is_of_winner(row) else EntryVisibility.WITHOUT_TEAM

    @staticmethod
    def _is_of_winner(row: LedgerEntry) -> bool:
        sides = (row.source, row.target)
        won = any(of.kind == AccountKind.DEFENDERS or (of.stake and of.stake.end == StakeEnd.WON) for of in sides)
        return won or "award" in row.causes

    def _is_of_hidden_award(self, row: LedgerEntry) -> bool:
        """Say whether a hidden entry moved anything of the award of a team that an entry withholds, or moves on: its
        sum would tell of that."""
        awards, team = set(row.causes.get("award", ())), self._team(row)
        return any(
            self._team(each) == team and awards.intersection(each.causes.get("award", ())) for each in self.hidden
        )

    def _team(self, row: LedgerEntry) -> int | None:
        """Return the team whose account an entry moves, or whose money it is by its causes."""
        named = row.source.team_id or row.target.team_id or next(iter(row.causes.get("team", ())), None)
        return final_team(self.teams[named]).pk if named is not None else None

    def _hide(self, row: LedgerEntry, told: EntryVisibility) -> None:
        self.hidden.append(row)
        _add(self.later if told is EntryVisibility.LATER else self.without_team, row, 1)
        if row.decision_id is not None:
            self.decisions.add(row.decision_id)
        team = self._team(row)
        if team is None or not (row.source.team_id or row.target.team_id):
            return
        self.marked.setdefault(team, row.made_at)
        told_before = row.corrects_id is not None and row.corrects_id not in self.levels
        if told_before and row.target.stake_id is not None and not self._follows(row):
            pair = (team, row.target.stake_id)
            self.set_off[pair] = self.set_off.get(pair, 0) + row.cents


@once_per_request
def _read_view() -> LedgerView:
    teams = teams_by_number()
    telling = LedgerView(EmbargoedBreaks.read(teams), teams)
    telling._pass(list(telling._rows()))
    return telling


def are_whole(entries: Iterable[LedgerEntry]) -> bool:
    """Say, in one query, whether all these entries are certainly public: they were made before the first break under
    embargo was found, and none withholds or returns money (R38)."""
    since = recorded_mistakes().exclude(released("image__")).aggregate(since=Min("found_at"))["since"]
    return all(each.rule != "R38" and (since is None or each.made_at < since) for each in entries)


def _is_of(row: LedgerEntry, withheld: WithheldAmount, teams: Mapping[int, Team]) -> bool:
    """Say whether an entry moves withheld money of this account, award or share."""
    stake, team, award = (next(iter(row.causes.get(table, ())), None) for table in ("stake", "team", "award"))
    if stake != withheld.account.stake_id or award != (withheld.award.pk if withheld.award else None):
        return False
    if stake is None:
        return team == withheld.account.team_id
    return team is not None and withheld.team is not None and final_team(teams[team]) == withheld.team


def _is_own_affair(row: LedgerEntry) -> bool:
    """Say whether an entry moves money on a team's account: paid out or in (R34), or withheld and returned (R38).

    Money withheld of an award does not count: that is public.
    """
    if row.rule == "R38":
        return "award" not in row.causes
    kinds = {row.source.kind, row.target.kind}
    return kinds == {AccountKind.TEAM.value, AccountKind.OUTSIDE.value}


def _add(balances: dict[int, int], row: LedgerEntry, sign: int) -> None:
    balances[row.target_id] = balances.get(row.target_id, 0) + sign * row.cents
    balances[row.source_id] = balances.get(row.source_id, 0) - sign * row.cents
