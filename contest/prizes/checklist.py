"""Builds the checklist of an award: each condition met or pending, with numbers (R33, R36-R38)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from django.urls import reverse

from accounts.roles import REVIEW_BOARD
from common.times import absolute, distance, hours_span, to_the_second
from contest.core.enums import StakeKind
from contest.core.models import Member, Stake
from contest.core.settled_weeks import Weeks
from contest.defenses.selectors import (
    breaks_of_stake,
    is_due,
    is_open,
    is_paid_for,
    owner_of,
    stakes_in_force,
    unbroken_until,
)
from contest.ledger.amounts import money
from contest.ledger.selectors import defenders_cents
from contest.prizes.award_order import PrizeGroup, StakeTime, prize_groups, waits_for
from contest.prizes.conditions import (
    MAX_NAMED,
    TEAM,
    AwardCondition,
    ConditionOwner,
    breaks_in_order,
    rerun_condition,
    week_conditions,
)
from contest.prizes.examined_pictures import examined_share
from policy.numbers import Policy

_NEVER = datetime.max.replace(tzinfo=UTC)


def award_checklist(
    stake: Stake, *, policy: Policy, now: datetime, known: Weeks | None = None, among: Sequence[Stake] | None = None
) -> list[AwardCondition]:
    """Return every condition of an award for `stake`, in the order in which they are usually met.

    `known`: the data of weeks, for callers that check many stakes at one moment; `among`: the contenders of that
    moment, for callers that have them.
    """
    weeks, due = known or Weeks(now), contenders(now=now) if among is None else among
    place = race_place(stake, due)
    return [
        *own_conditions(stake, policy=policy, now=now, known=weeks),
        _first(place, policy, now, weeks),
        _shared(stake, place, policy, now, weeks),
        _half(stake, policy),
    ]


def conditions_of_others(name: str) -> bool:
    """Say whether a condition of this name is about other stakes than its own."""
    return name in ("first", "batch")


def own_conditions(stake: Stake, *, policy: Policy, now: datetime, known: Weeks | None = None) -> list[AwardCondition]:
    """Return the conditions that are about one defense alone; `known` as of `award_checklist`."""
    return [
        _unbroken(stake, policy, now),
        _source_open(stake, policy),
        _team(stake, now),
        *week_conditions(stake, policy, now, known or Weeks(now)),
        rerun_condition(stake, now),
        _examined(stake, now),
        _no_break(stake),
    ]


def contenders(*, now: datetime) -> list[Stake]:
    """Return the stakes in force whose time is over and that can win, those of the earliest group first."""
    due = {stake.pk: stake for stake in stakes_in_force() if is_due(stake, now) and not never_reason(stake, now=now)}
    return [due[number] for group in prize_groups(map(stake_time, due.values()), now=now) for number in group.stakes]


def stake_time(stake: Stake) -> StakeTime:
    """Return a stake that began as input for the order of awards; the caller decides whether it can win."""
    clock = stake.clock_from or stake.begun_at
    # A stake that shares with its batch began with it, at one instant.
    return StakeTime(stake.pk, stake.batch_id, stake.begun_at, clock, unbroken_until(stake))


@dataclass(frozen=True, slots=True)
class RacePlace:
    """The place of a stake in the order of awards: the stakes that share the prize with it, itself included, and the
    groups before it, the earliest first."""

    group: tuple[Stake, ...]
    groups_before: tuple[tuple[Stake, ...], ...]

    @property
    def before(self) -> list[Stake]:
        """Return the stakes of the groups before it."""
        return [stake for group in self.groups_before for stake in group]


def race_place(stake: Stake, due: Iterable[Stake]) -> RacePlace:
    """Return the place of a stake among the contenders, or the place that it would have as one."""
    rows = {each.pk: each for each in due} | {stake.pk: stake}
    times = {pk: stake_time(each) for pk, each in rows.items()}
    if times[stake.pk].until is None:
        times[stake.pk] = replace(times[stake.pk], until=_NEVER)
    groups = prize_groups(times.values(), now=_NEVER)
    own = next(group for group in groups if stake.pk in group.stakes)
    waits = set(waits_for(groups)[stake.pk])
    before = [group for group in groups if not waits.isdisjoint(group.stakes)]
    return RacePlace(_rows(own, rows), tuple(_rows(group, rows) for group in before))


def _rows(group: PrizeGroup, rows: Mapping[int, Stake]) -> tuple[Stake, ...]:
    return tuple(rows[number] for number in group.stakes)


def sharing(stake: Stake, *, now: datetime) -> list[Stake]:
    """Return the stakes that share the prize, itself included: those of its group whose time is over (R36)."""
    return list(race_place(stake, contenders(now=now)).group)


def never_reason(stake: Stake, *, now: datetime) -> str:
    """Return in words why this stake cannot win, whatever happens; empty when it can."""
    owner = owner_of(stake.defense)
    if owner is None:
        return "No team handed the defense in."
    if not is_paid_for(stake, now=now):
        return f"Team {owner.name} was associated with the contest in that time and is not paid for it (R27)."
    if Member.objects.filter(team=owner, user__groups__name=REVIEW_BOARD).exists():
        return f"A member of team {owner.name} is on the review board (R38)."
    return ""


# The clock, the source, the team --------------------------------------------------------------------------------------


def _unbroken(stake: Stake, policy: Policy, now: datetime) -> AwardCondition:
    title = f"Unbroken for {hours_span(policy.stake_hours)} at stake"
    link = reverse("defense", args=[stake.defense.public_id])
    if stake.ended_at is not None:
        return AwardCondition("unbroken", title, False, f"The stake is over: {stake.end}.", link)  # nobody can meet it
    until = unbroken_until(stake)
    if until is None:
        return AwardCondition(
            "unbroken", title, False, "The clock does not run while the source is closed.", link, TEAM
        )
    over = is_due(stake, now)
    left = f"{distance(until - now)} are left."
    figures = f"Its time was over on {to_the_second(until, policy.time_zone)}." if over else left
    return AwardCondition("unbroken", title, over, figures, link, (ConditionOwner.TIME,))


def _source_open(stake: Stake, policy: Policy) -> AwardCondition:
    opened = stake.defense.entry.opened_at if is_open(stake.defense) else None
    closed = "Not handed in: a closed defense cannot win (R33)."
    figures = f"Handed in on {absolute(opened, policy.time_zone)}." if opened else closed
    link = reverse("defense", args=[stake.defense.public_id])
    return AwardCondition("source", "Source open", opened is not None, figures, link, TEAM)


def _team(stake: Stake, now: datetime) -> AwardCondition:
    owner, never = owner_of(stake.defense), never_reason(stake, now=now)
    words = never or f"Team {owner.name if owner else ''}."
    # An association or a membership that is recorded in error is for the organizers to correct.
    return AwardCondition("team", "The team can be paid", not never, words, who=(ConditionOwner.ORGANIZERS,))


# Run again, examined, unbroken ----------------------------------------------------------------------------------------


def _examined(stake: Stake, now: datetime) -> AwardCondition:
    share = examined_share(stake.defense, now=now)
    figures = f"{share.done} of {share.all} rejected pictures examined and confirmed as invalid."
    if not share.all:
        figures = "No picture of its time was rejected."
    link = reverse("board-examination", args=[stake.defense.public_id])
    done = share.done == share.all
    return AwardCondition("examined", "Every rejected picture examined", done, figures, link, (ConditionOwner.BOARD,))


def _no_break(stake: Stake) -> AwardCondition:
    count = len({each.fact.image_id for each in breaks_of_stake(stake)})
    figures = "None." if not count else f"{count} {'picture breaks' if count == 1 else 'pictures break'} it."
    link = reverse("defense", args=[stake.defense.public_id])
    # A break ends the stake, unless the board overrules the ruling behind it.
    return AwardCondition("no_break", "No break that holds", not count, figures, link, (ConditionOwner.BOARD,))


# The others -----------------------------------------------------------------------------------------------------------


def _first(place: RacePlace, policy: Policy, now: datetime, known: Weeks) -> AwardCondition:
    title = "No other is before it"
    if not place.groups_before:
        return AwardCondition("first", title, True, "No other's time is over before its own.")
    names = ", ".join(each.defense.name for each in place.before[:MAX_NAMED])
    more = " and more" if len(place.before) > MAX_NAMED else ""
    # The earliest group waits for no other: all others wait for its unmet conditions, or for its award.
    who = _parties(place.groups_before[0], policy, now, known) or (ConditionOwner.BOARD,)
    return AwardCondition("first", title, False, f"Their time was over earlier: {names}{more}.", reverse("awards"), who)


def _parties(stakes: Iterable[Stake], policy: Policy, now: datetime, known: Weeks) -> tuple[ConditionOwner, ...]:
    """Return who can meet the unmet own conditions of these stakes."""
    lines = (line for each in stakes for line in own_conditions(each, policy=policy, now=now, known=known))
    return breaks_in_order({party for line in lines for party in line.who})


def _shared(stake: Stake, place: RacePlace, policy: Policy, now: datetime, known: Weeks) -> AwardCondition:
    title = "Those that share the prize ready"
    others = [each for each in place.group if each.pk != stake.pk]
    if not others:
        return AwardCondition("batch", title, True, "No other shares the prize.")
    unready = [
        each for each in others if not is_ready_for_award(own_conditions(each, policy=policy, now=now, known=known))
    ]
    figures = f"{len(others) - len(unready)} of {len(others)} that share the prize meet their conditions."
    link = reverse("award", args=[unready[0].pk]) if unready else ""
    return AwardCondition("batch", title, not unready, figures, link, _parties(unready, policy, now, known))


def _half(stake: Stake, policy: Policy) -> AwardCondition:
    cents = defenders_cents()
    figures = f"{money(cents, policy.currency)} in the defenders' half."
    if not cents and stake.kind == StakeKind.TEAM:
        figures += " The captain of its team can ask the board for the stake back, on the page of the team's defense."
    return AwardCondition("half", "A prize to give", cents > 0, figures, reverse("money"), (ConditionOwner.ORGANIZERS,))


def is_ready_for_award(conditions: Iterable[AwardCondition]) -> bool:
    """Say whether every condition is met."""
    return all(each.passed for each in conditions)
