"""Queries for submitted defenses and their stakes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db.models import Count, Exists, F, Min, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from common.database.grouping import grouped
from contest.core.breaks import SupposedRuling, breaks_in_force
from contest.core.enums import DecisionKind, DefenseStanding, StakeEnd
from contest.core.models import Attack, AttackTarget, Award, BoardDecision, Break, Stake, StakeBatch, Team
from contest.core.teams import final_team, team_of, teams_counted_together
from contest.core.weeks import week_at, week_called
from contest.defenses.models import DefenseEntry
from contest.teams.selectors import is_paid_throughout
from policy.numbers import Policy
from policy.selectors import policy_at, policy_in_force
from scoring.enums import ConditionStatus
from scoring.models import Defense
from scoring.trials.selectors import DefenseEligibility, eligibilities

_INSTANT = timedelta(microseconds=1)

# What is at stake ----------------------------------------------------------------------------------------------------


def stakes_in_force() -> QuerySet[Stake]:
    """Return the stakes whose money was received and that are not over, the oldest first."""
    begun = Stake.objects.filter(staked_at__isnull=False, ended_at__isnull=True)
    return begun.select_related("defense__entry__team", "batch", "paid_by").order_by("staked_at", "pk")


def return_request_of(number: int) -> Stake | None:
    """Return the stake in force with this number where its team wants the defense back (R32); None otherwise."""
    return stakes_in_force().filter(return_asked_at__isnull=False).filter(pk=number).first()


def stakes_requested() -> QuerySet[Stake]:
    """Return the stakes that teams requested and whose payment was not received, the oldest first."""
    asked = Stake.objects.filter(staked_at__isnull=True, ended_at__isnull=True)
    return asked.select_related("defense__entry__team", "paid_by").order_by("asked_at", "pk")


def stake_batches() -> QuerySet[StakeBatch]:
    """Return the batches that the board staked, newest first; `defenses` of each is how many it has (R32)."""
    rows = StakeBatch.objects.select_related("decision__decided_by").annotate(defenses=Count("stakes"))
    return rows.order_by("-staked_at")


def stake_without_money(number: int) -> Stake | None:
    """Return the stake with this number if its payment was never received, even if it is over; else None."""
    return Stake.objects.filter(staked_at=None).select_related("defense").filter(pk=number).first()


def stakes_over() -> QuerySet[Stake]:
    """Return the stakes that are over, the most recently ended first."""
    ended = Stake.objects.filter(ended_at__isnull=False).select_related("defense__entry__team", "batch", "paid_by")
    return ended.order_by("-ended_at", "-pk")


def staked(now: datetime) -> QuerySet[Defense]:
    """Return the defenses that an attack may be aimed at: those at stake whose time is not over at `now` (R23, R36)."""
    open_now = [stake.defense_id for stake in stakes_in_force() if not is_due(stake, now)]
    return Defense.objects.filter(pk__in=open_now).order_by("name", "pk")


def stakes_aimed_at(attack: Attack) -> QuerySet[Stake]:
    """Return the stakes at which an attack was aimed: if it names no defense, all in force in its week.

    One that began later in that week counts too: the attack may break it and is paid for that (R35).
    """
    in_force = Q(ended_at=None) | Q(ended_at__gt=attack.received_at)
    named = AttackTarget.objects.filter(attack=attack)
    aimed = ~Exists(named) | Exists(named.filter(defense=OuterRef("defense")))
    return Stake.objects.filter(in_force, aimed, staked_at__lt=week_called(attack.week).end)


def attacks_aimed_at(teams: Iterable[Team]) -> Q:
    """Return the condition for attacks aimed at stakes on these teams' defenses, as `stakes_aimed_at`."""
    stakes = Stake.objects.filter(defense__entry__team__in=list(teams), staked_at__isnull=False)
    found = Q(pk__in=())
    for stake in stakes:
        assert stake.staked_at is not None
        until = Q() if stake.ended_at is None else Q(received_at__lt=stake.ended_at)
        named = AttackTarget.objects.filter(attack=OuterRef("pk"))
        aimed = ~Exists(named) | Exists(named.filter(defense=stake.defense_id))
        found |= Q(until, aimed, received_at__gte=week_at(stake.staked_at).start)
    return found


def newest_stakes(defenses: Iterable[Defense]) -> dict[int, Stake]:
    """Return defense -> its newest stake, in force or over; without defenses that never were at stake."""
    begun = Stake.objects.filter(defense__in=list(defenses), staked_at__isnull=False)
    rows = begun.select_related("defense__entry", "batch", "paid_by").order_by("staked_at", "pk")
    return {stake.defense_id: stake for stake in rows}


def open_stake_of(defense: Defense) -> Stake | None:
    """Return the stake on a defense that is not over, whether its money was received or not."""
    return Stake.objects.filter(defense=defense, ended_at__isnull=True).select_related("batch", "paid_by").first()


# Stakes that began and that breaks ended: without a break that holds they come back into force (R22).
_ENDED_BY_BREAKS = Q(staked_at__isnull=False, end__in=(StakeEnd.BROKEN, StakeEnd.VOID))


def stake_comes_back(defense: Defense) -> bool:
    """Say whether an ended stake on a defense comes back into force with the next sweep.

    The defense is unbroken and not retired; the break that ended the stake was overruled.
    """
    return Stake.objects.filter(_ENDED_BY_BREAKS, defense=defense).exists()


# The clock -----------------------------------------------------------------------------------------------------------


def is_open(defense: Defense) -> bool:
    """Say whether the source of a defense was handed in; a closed one cannot win (R33)."""
    entry: DefenseEntry | None = getattr(defense, "entry", None)
    return entry is not None and entry.opened_at is not None


def unbroken_until(stake: Stake) -> datetime | None:
    """Return until when a stake has to stay unbroken to win (R36): by the policy at the beginning of its clock.

    The hours are elapsed time, whatever daylight saving does. None before its money was received, and for a closed
    defense: submitting the source begins its time (R33).
    """
    if stake.clock_from is None or not is_open(stake.defense):
        return None
    return stake.clock_from + timedelta(hours=policy_at(stake.clock_from).stake_hours)


def is_due(stake: Stake, now: datetime) -> bool:
    """Say whether a stake's time is over; exactly at its end it is over."""
    until = unbroken_until(stake)
    return until is not None and until <= now


def pictures_count_until(stake: Stake) -> datetime | None:
    """Return from when on pictures that are sent do not count for a stake, however it ended: its time is over, it was
    returned or overtaken, or another one began on the defense. None where nothing of that happened."""
    later = Stake.objects.filter(defense=stake.defense_id, staked_at__gt=stake.begun_at)
    ends = [unbroken_until(stake), later.aggregate(at=Min("staked_at"))["at"]]
    if stake.end in (StakeEnd.WITHDRAWN, StakeEnd.OVERTAKEN):
        ends.append(stake.ended_at)
    return min((each for each in ends if each is not None), default=None)


# What breaks a stake -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SentBreak:
    """A break with the moment at which its picture was first sent."""

    fact: Break
    sent_at: datetime


def first_sent_at() -> Coalesce:
    """Return a query expression for rows with an `image`: when its picture was first sent as an attack that was not
    withdrawn; for a picture that never was, when it was received."""
    sent = Attack.objects.filter(image=OuterRef("image"), withdrawn_at__isnull=True).order_by("received_at")
    return Coalesce(Subquery(sent.values("received_at")[:1]), F("image__received_at"))


def breaks_with_sending(defense: int, supposed: SupposedRuling | None = None) -> list[SentBreak]:
    """Return the breaks in force of a defense, or under `supposed`, the earliest sent first."""
    rows = breaks_in_force().filter(defense=defense).annotate(sent_at=first_sent_at()).select_related("image", "ruling")
    found = [SentBreak(row, row.sent_at) for row in rows.order_by("sent_at", "pk")]
    if supposed is None:
        return found
    found = [each for each in found if each.fact.image_id != supposed.image.pk]
    if new := [each for each in supposed.breaks if each.defense_id == defense]:
        sent = Attack.objects.filter(image=supposed.image, withdrawn_at__isnull=True).order_by("received_at")
        at = sent.values_list("received_at", flat=True).first() or supposed.image.received_at
        found += [SentBreak(each, at) for each in new]
    return sorted(found, key=lambda each: (each.sent_at, each.fact.pk))


def breaks_of_stake(stake: Stake, supposed: SupposedRuling | None = None) -> list[SentBreak]:
    """Return the breaks in force that end this stake, or under `supposed`, the earliest sent first.

    A picture sent after the stake's time was over does not count (R36).
    """
    found, until = breaks_with_sending(stake.defense_id, supposed), unbroken_until(stake)
    return [each for each in found if until is None or each.sent_at < until]


@dataclass(frozen=True, slots=True)
class StakeEnding:
    """How and when the breaks in force end a stake; both empty if none does."""

    end: StakeEnd | None = None
    at: datetime | None = None


def outcome_of(stake: Stake, supposed: SupposedRuling | None = None) -> StakeEnding:
    """Return the outcome of a stake that began, by the breaks in force, or under `supposed`.

    The week of sending counts (R35): a picture from a week that was over when the stake began broke the defense before
    it (`void`), any later one breaks the stake.
    """
    assert stake.staked_at is not None, "a stake that never began does not end by a break"
    breaks = breaks_of_stake(stake, supposed)
    if not breaks:
        return StakeEnding()
    begun = week_at(stake.staked_at).start
    earlier = [each for each in breaks if each.sent_at < begun]
    end, decisive = (StakeEnd.VOID, earlier) if earlier else (StakeEnd.BROKEN, breaks)
    return StakeEnding(end, max(stake.staked_at, min(each.fact.found_at for each in decisive)))


# Entries -------------------------------------------------------------------------------------------------------------


def submissions_of(team: Team) -> QuerySet[DefenseEntry]:
    """Return the submissions of a team and of teams merged into it, newest first."""
    rows = DefenseEntry.objects.filter(team__in=teams_counted_together(team)).select_related("defense", "team")
    return rows.order_by("-received_at", "-pk")


def entry_of(team: Team, public_id: str) -> DefenseEntry | None:
    """Return the team's own entry of the defense with this ID; None for everybody else's."""
    return submissions_of(team).filter(defense__public_id=public_id).first()


def owner_of(defense: Defense) -> Team | None:
    """Return the team that owns a defense now, None for one that no team submitted."""
    entry: DefenseEntry | None = getattr(defense, "entry", None)
    return None if entry is None else final_team(entry.team)


def is_owner(user: User, defense: Defense) -> bool:
    """Say whether `user` is in the team that owns the defense."""
    owner = owner_of(defense)
    return owner is not None and team_of(user) == owner


def due_date(received: datetime) -> datetime:
    """Return until when a defense received at `received` is published if it is eligible (R32).

    That is the end of the week after the one it came in.
    """
    return week_at(week_at(received).end).end


def last_moment(end: datetime) -> datetime:
    """Return the last moment before `end`: its date is clearer to people than that of the midnight after it."""
    return end - _INSTANT


def submissions_left(team: Team, policy: Policy, now: datetime) -> int:
    """Return how many defenses the team may still submit this week; withdrawn ones count as used."""
    week = week_at(now)
    used = submissions_of(team).filter(received_at__gte=week.start, received_at__lt=week.end).count()
    return max(policy.defenses_per_week - used, 0)


def entries_unpublished() -> QuerySet[DefenseEntry]:
    """Return the entries that wait for publication, the first due first."""
    rows = DefenseEntry.objects.filter(withdrawn_at=None, defense__published_at=None, defense__retired_at=None)
    return rows.select_related("defense", "team").order_by("due_at", "pk")


@dataclass(frozen=True, slots=True)
class OverdueEntry:
    """An entry that should be published by now, and its eligibility, which says why it is not."""

    entry: DefenseEntry
    eligible: bool
    missing: tuple[str, ...]


def overdue(policy: Policy, now: datetime) -> list[OverdueEntry]:
    """Return the entries past their due date that wait for the contest to act (R32), the longest overdue first.

    Entries that failed a condition are left out: no date publishes them while the failure lasts.
    """
    entries = list(entries_unpublished().filter(due_at__lte=now))
    eligible = eligibilities((entry.defense for entry in entries), policy, now=now)
    found = []
    for entry in entries:
        if not eligible[entry.defense_id].failed:
            findings = eligible[entry.defense_id].findings
            missing = tuple(each.condition.value for each in findings if each.standing is not ConditionStatus.PASSED)
            found.append(OverdueEntry(entry, not missing, missing))
    return found


# The state of a defense ---------------------------------------------------------------------------------------------


def defense_state_of(defense: Defense, *, now: datetime) -> DefenseStanding:
    """Return the state of a defense at `now`."""
    return defense_states([defense], now=now)[defense.pk]


def defense_states(
    defenses: Iterable[Defense],
    *,
    now: datetime,
    breaks: QuerySet[Break] | None = None,
    known: Mapping[int, DefenseEligibility] | None = None,
) -> dict[int, DefenseStanding]:
    """Return defense number -> its state at `now`; `breaks` are those the reader may know of (default: all in force).

    The end of a stake is always public: the prize is gone. `known` is the eligibility of defenses that wait for their
    publication, for callers that have it.
    """
    rows = {defense.pk: defense for defense in defenses}
    shown = breaks_in_force() if breaks is None else breaks
    broken = set(shown.filter(defense__in=rows).values_list("defense", flat=True))
    ends = Stake.objects.filter(defense__in=rows, staked_at__isnull=False).order_by("staked_at", "pk")
    last = {defense: StakeEnd(end) if end else None for defense, end in ends.values_list("defense", "end")}
    won = _won({pk for pk, end in last.items() if end is StakeEnd.WON}, shown)
    found = {pk: _standing(row, pk in broken, pk in won, last.get(pk, StakeEnd.WITHDRAWN)) for pk, row in rows.items()}
    received = [rows[pk] for pk, standing in found.items() if standing is DefenseStanding.RECEIVED]
    if received and known is None:
        known = eligibilities(received, policy_in_force(now).policy, now=now)
    # The state of unpublished ones follows from their trials and the board's check (R31).
    return found | {each.pk: _eligible(known[each.pk]) for each in received if known is not None}


def _eligible(eligibility: DefenseEligibility) -> DefenseStanding:
    if eligibility.failed:
        return DefenseStanding.NOT_ELIGIBLE
    return DefenseStanding.ELIGIBLE if eligibility.eligible else DefenseStanding.RECEIVED


def forfeited_stakes() -> dict[int, datetime]:
    """Return stake -> when the board first forfeited anything of its award: since then it has not won (R38)."""
    decisions = BoardDecision.objects.filter(kind=DecisionKind.FORFEIT).order_by("-pk")
    taken = {award: at for subject, at in decisions.values_list("subject", "decided_at") for award in subject["award"]}
    return {stake: taken[award] for stake, award in Award.objects.filter(pk__in=taken).values_list("stake", "pk")}


def _won(defenses: set[int], breaks: QuerySet[Break]) -> set[int]:
    """Return the defenses whose award is in force by the present facts: without a break in its time (R37), of a paid
    team (R27), and not forfeited (R38)."""
    if not defenses:
        return set()
    sent = grouped(breaks.filter(defense__in=defenses).values_list("defense", first_sent_at()))
    won = Stake.objects.filter(defense__in=defenses, end=StakeEnd.WON).exclude(pk__in=forfeited_stakes())
    won = won.select_related("defense__entry__team")
    return {each.defense_id for each in won if not _in_time(each, sent) and is_paid_for(each, now=each.ended_at)}


def _in_time(stake: Stake, sent: Mapping[int, Iterable[datetime]]) -> bool:
    until = unbroken_until(stake)
    return any(until is None or at < until for at in sent.get(stake.defense_id, ()))


def is_paid_for(stake: Stake, *, now: datetime | None) -> bool:
    """Say whether the team of a defense could be paid all the time from the beginning of its clock to `now` (R27)."""
    entry: DefenseEntry | None = getattr(stake.defense, "entry", None)
    began = stake.clock_from or stake.asked_at
    return entry is None or is_paid_throughout(entry.team, began, now or began)


def _standing(defense: Defense, broken: bool, won: bool, end: StakeEnd | None) -> DefenseStanding:
    """Return the state by the present facts; a stake in force has no `end`; never at stake, `end` is WITHDRAWN."""
    if won:
        return DefenseStanding.WON
    if defense.retired_at is not None:
        return DefenseStanding.WITHDRAWN
    if broken or end in (StakeEnd.BROKEN, StakeEnd.VOID):
        return DefenseStanding.BROKEN
    if end is None:
        return DefenseStanding.STAKED
    return DefenseStanding.PUBLISHED if defense.published_at is not None else DefenseStanding.RECEIVED


# What the board may stake --------------------------------------------------------------------------------------------


def defenses_by_name() -> list[Defense]:
    """Return every defense, published or not, by name, with its entry and team."""
    return list(Defense.objects.select_related("entry__team").order_by("name", "pk"))


def stakeable() -> QuerySet[Defense]:
    """Return the published, unbroken defenses of teams without a stake in force or requested, the oldest first."""
    here = {"defense": OuterRef("pk")}
    free = Q(published_at__isnull=False, retired_at__isnull=True, entry__isnull=False, entry__withdrawn_at__isnull=True)
    open_stakes = Stake.objects.filter(Q(ended_at__isnull=True) | _ENDED_BY_BREAKS, **here)
    won = Stake.objects.filter(end=StakeEnd.WON, **here)
    rows = Defense.objects.filter(free, ~Exists(open_stakes), ~Exists(won), ~Exists(breaks_in_force().filter(**here)))
    return rows.select_related("entry__team").order_by("published_at", "pk")
