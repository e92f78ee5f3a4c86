"""Reads the facts that prizes are computed from: breaks in force, credited teams, states of stakes."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Self

from contest.core.breaks import SupposedRuling, breaks_in_force
from contest.core.credit import was_to_be_labeled_before
from contest.core.enums import StakeEnd
from contest.core.models import Attack, Break, Stake, Team
from contest.core.teams import final_team, teams_by_number
from contest.core.weeks import week_at
from contest.defenses.selectors import owner_of, pictures_count_until
from contest.prizes.shares import BreakInput, StakeDue, StakeInput, earliest_week, stake_due
from contest.teams.models import Association
from contest.teams.selectors import is_paid


@dataclass(frozen=True, slots=True)
class CreditedBreak:
    """A break in force as a fact for prizes, with its rows; `attack` is None if no team sent the picture."""

    fact: BreakInput
    proof: Break
    attack: Attack | None


@dataclass(frozen=True, slots=True)
class StakeWithBreaks:
    """A stake with the breaks in force that were sent before its end, and what follows from them."""

    stake: Stake
    breaks: tuple[CreditedBreak, ...]
    due: StakeDue

    @property
    def deciding(self) -> list[CreditedBreak]:
        """Return the breaks of the deciding week, the earliest with a break."""
        return [each for each in self.breaks if each.fact.week == self.due.week]

    @property
    def conflicts(self) -> list[CreditedBreak]:
        """Return the breaks of the deciding week by the owner of the defense or payer of the stake: never paid."""
        return [each for each in self.deciding if each.fact.own]


def begun_stakes() -> list[Stake]:
    """Return the stakes that ever began (their money came in), oldest first, whether in force or over."""
    begun = Stake.objects.filter(staked_at__isnull=False)
    return list(begun.select_related("defense__entry__team", "paid_by").order_by("staked_at", "pk"))


def stakes_with_breaks(stakes: Sequence[Stake], supposed: SupposedRuling | None = None) -> list[StakeWithBreaks]:
    """Return each stake with its breaks, in the same order; the number of queries does not depend on breaks."""
    breaks = _breaks_of({stake.defense_id for stake in stakes}, supposed)
    credit = _credits({each.image_id for rows in breaks.values() for each in rows})
    known = _Teams.read()
    return [_stake_with_breaks(stake, breaks.get(stake.defense_id, []), credit, known) for stake in stakes]


def _breaks_of(defenses: Collection[int], supposed: SupposedRuling | None) -> dict[int, list[Break]]:
    """Return defense -> its breaks in force, one for each picture, the first found first."""
    rows = list(breaks_in_force().filter(defense__in=defenses).select_related("image").order_by("pk"))
    if supposed is not None:
        rows = [each for each in rows if each.image_id != supposed.image.pk]
        rows += [each for each in supposed.breaks if each.defense_id in defenses]
        rows.sort(key=lambda each: each.pk)
    known: dict[int, dict[int, Break]] = {}
    for each in rows:
        known.setdefault(each.defense_id, {}).setdefault(each.image_id, each)
    return {defense: list(by_picture.values()) for defense, by_picture in known.items()}


def _credits(images: Iterable[int]) -> dict[int, Attack]:
    """Return image -> the first attack with its pixels that was not withdrawn (R26)."""
    sent = Attack.objects.filter(image__in=list(images), withdrawn_at__isnull=True).select_related("team", "image")
    return {attack.image_id: attack for attack in sent.order_by("-received_at", "-pk")}


@dataclass(frozen=True, slots=True)
class _Teams:
    """All teams, read once: the team that each is part of now, and which were ever associated with the contest, except
    in error."""

    rows: Mapping[int, Team]
    associated: frozenset[int]

    @classmethod
    def read(cls) -> Self:
        rows = teams_by_number()
        ever = Association.objects.filter(mistake=None).values_list("team", flat=True).distinct()
        return cls(rows, frozenset(final_team(rows[team]).pk for team in ever))

    def final(self, team: int) -> int:
        """Return the number of the team that `team` is part of now."""
        return final_team(self.rows[team]).pk

    def paid(self, team: int, at: datetime) -> bool:
        """Say whether `team` could be paid at `at`; no query for a team that never was associated."""
        return self.final(team) not in self.associated or is_paid(self.rows[team], at)


def _stake_with_breaks(
    stake: Stake, breaks: Iterable[Break], credit: dict[int, Attack], known: _Teams
) -> StakeWithBreaks:
    own = {known.final(team.pk) for team in (owner_of(stake.defense), stake.paid_by) if team is not None}
    stake_fact = _fact(stake, known)
    rows = [_credited(each, credit.get(each.image_id), stake, own, known) for each in breaks]
    rows = [row for row in rows if stake_fact.is_hit_by(row.fact)]
    first = earliest_week(row.fact for row in rows)
    # Who is paid matters only in the deciding week, so there are no queries about the teams of other weeks.
    rows = [_with_pay(row, known) if row.fact.week == first else row for row in rows]
    return StakeWithBreaks(stake, tuple(rows), stake_due(stake_fact, [row.fact for row in rows]))


def _credited(each: Break, attack: Attack | None, stake: Stake, own: set[int], known: _Teams) -> CreditedBreak:
    received = each.image.received_at if attack is None else attack.received_at
    if attack is None:
        return CreditedBreak(BreakInput(None, received, week_at(received).name), each, None)
    team = None if was_to_be_labeled_before(attack) else known.final(attack.team_id)
    return CreditedBreak(BreakInput(team, received, attack.week, own=team in own), each, attack)


def _with_pay(row: CreditedBreak, known: _Teams) -> CreditedBreak:
    if row.attack is None:
        return row
    return replace(row, fact=replace(row.fact, paid=known.paid(row.attack.team_id, row.fact.received_at)))


def _fact(stake: Stake, known: _Teams) -> StakeInput:
    paid_for_another = (  # a team that stakes its own defense gets its money back (R36)
        stake.end in (StakeEnd.WON, StakeEnd.OVERTAKEN)
        and stake.paid_by is not None
        and final_team(stake.paid_by) != owner_of(stake.defense)
    )
    payer = None if paid_for_another else stake.paid_by_id
    return StakeInput(
        cents=stake.cents,
        week=week_at(stake.begun_at).name,
        until=pictures_count_until(stake),
        over=stake.ended_at is not None,
        broken=stake.end == StakeEnd.BROKEN,
        back_to=known.final(payer) if payer is not None else None,
    )


# Breaks that are never paid -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OwnBreak:
    """A team whose attack broke its own staked defense, or the stake it pays for: it takes no share."""

    stake: Stake
    team: Team
    attack: str


def unpaid_own_breaks() -> list[OwnBreak]:
    """Return every break of a deciding week by the team whose own defense or stake it is, the oldest stake first, for
    organizers to review (R27)."""
    found = ((row.stake, each.attack) for row in stakes_with_breaks(begun_stakes()) for each in row.conflicts)
    return [OwnBreak(stake, attack.team, attack.public_id) for stake, attack in found if attack is not None]
