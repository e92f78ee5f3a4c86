"""The conditions of an award, each from facts: passed or not yet, with its figures (R33, R36-R38)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.urls import reverse

from adjudication.enums import Verdict
from adjudication.models import Ruling
from common.times import absolute, distance, to_the_second
from contest.awards.examinations import examined_share
from contest.breaks import sent_as_attack
from contest.enums import AccountKind, StakeKind
from contest.exports.tables import settled_items
from contest.models import Account, Attack, Member, Stake
from contest.money.words import money
from contest.releases import WAITING_WORDS, waiting
from contest.rules import Week
from contest.scoring_queue.stuck import reruns_to_apply
from contest.settled import Weeks, weeks_between
from contest.stakes.selectors import (
    breaks_of_stake,
    first_sent,
    is_due,
    is_open,
    is_paid_for,
    owner_of,
    stakes_in_force,
    unbroken_until,
)
from contest.stakes.shown import hours_span
from labeling.enums import Label
from labeling.people import REVIEW_BOARD
from labeling.policy import Policy
from scoring.enums import Outcome, RerunState, RunState
from scoring.models import Prediction, Rerun, RunItem
from scoring.rules import DEFENSE_FAULTS
from scoring.selectors import predictions_in_force

MOST_NAMED = 5
_NEVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Condition:
    """One line of the checklist: a name for programs, words, whether it is met, what is known, and where to look."""

    name: str
    title: str
    passed: bool
    figures: str
    link: str = ""


def checklist(
    stake: Stake, *, policy: Policy, now: datetime, known: Weeks | None = None, among: Sequence[Stake] | None = None
) -> list[Condition]:
    """Return every condition of an award for `stake`, in the order in which they are usually met.

    `known` is what is read of the weeks, for whom asks about many stakes at one moment; `among` are the contenders of
    that moment, for whom has them.
    """
    weeks, due = known or Weeks(now), contenders(now=now) if among is None else among
    return [
        *own_conditions(stake, policy=policy, now=now, known=weeks),
        _first(stake, due),
        _batch(stake, due, policy, now, weeks),
        _half(stake, policy),
    ]


def about_others(name: str) -> bool:
    """Say whether a condition of this name tells of other stakes than the one it is for."""
    return name in ("first", "batch")


def stakes_beside(stake: Stake, due: Sequence[Stake]) -> list[Stake]:
    """Return the stakes that the conditions about others tell of, given the contenders: those that share the prize, and
    those before it."""
    group = sharing_of(stake, due)
    return [*group, *_before(stake, group, due)]


def own_conditions(stake: Stake, *, policy: Policy, now: datetime, known: Weeks | None = None) -> list[Condition]:
    """Return the conditions that are about one defense alone; `known` as of `checklist`."""
    return [
        _unbroken(stake, policy, now),
        _source_open(stake, policy),
        _team(stake, now),
        *_weeks(stake, policy, now, known or Weeks(now)),
        _run_again(stake),
        _examined(stake, now),
        _no_break(stake),
    ]


def contenders(*, now: datetime) -> list[Stake]:
    """Return the stakes in force whose time is over and that can win, the one whose time was over first before all."""
    due = [stake for stake in stakes_in_force() if is_due(stake, now) and not why_never(stake, now=now)]
    return sorted(due, key=_in_turn)


def _in_turn(stake: Stake) -> tuple[datetime, int]:
    """Return what orders stakes by who is first unbroken to the end (R36): the hours it takes may differ by policy."""
    return unbroken_until(stake) or _NEVER, stake.pk


def sharing(stake: Stake, *, now: datetime) -> list[Stake]:
    """Return the stakes that share the prize: `stake` and the unbroken ones of its batch whose time is over (R36)."""
    return sharing_of(stake, contenders(now=now))


def sharing_of(stake: Stake, due: Iterable[Stake]) -> list[Stake]:
    """Return the same, given the contenders: for whom asks about them more than once."""
    beside = [each for each in due if each.batch_id is not None and each.batch_id == stake.batch_id]
    return beside if stake in beside else [stake, *beside]


def why_never(stake: Stake, *, now: datetime) -> str:
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


def _unbroken(stake: Stake, policy: Policy, now: datetime) -> Condition:
    title = f"Unbroken for {hours_span(policy.stake_hours)} at stake"
    link = reverse("defense", args=[stake.defense.public_id])
    if stake.ended_at is not None:
        return Condition("unbroken", title, False, f"The stake is over: {stake.end}.", link)
    until = unbroken_until(stake)
    if until is None:
        return Condition("unbroken", title, False, "The clock does not run while the source is closed.", link)
    over = is_due(stake, now)
    left = f"{distance(until - now)} are left."
    figures = f"Its time was over on {to_the_second(until, policy.time_zone)}." if over else left
    return Condition("unbroken", title, over, figures, link)


def _source_open(stake: Stake, policy: Policy) -> Condition:
    opened = stake.defense.entry.opened_at if is_open(stake.defense) else None
    closed = "Not handed in: a closed defense cannot win (R33)."
    figures = f"Handed in on {absolute(opened, policy.time_zone)}." if opened else closed
    return Condition(
        "source", "Source open", opened is not None, figures, reverse("defense", args=[stake.defense.public_id])
    )


def _team(stake: Stake, now: datetime) -> Condition:
    owner, never = owner_of(stake.defense), why_never(stake, now=now)
    return Condition("team", "The team can be paid", not never, never or f"Team {owner.name if owner else ''}.")


# The weeks ------------------------------------------------------------------------------------------------------------


def _weeks(stake: Stake, policy: Policy, now: datetime, known: Weeks) -> list[Condition]:
    """The weeks from that of the stake to the one its time ends in: what was sent in its part of that may break it."""
    titles, zone = ("Every week in that time settled", "Their appeals closed"), policy.time_zone
    until = unbroken_until(stake)
    if until is None or stake.staked_at is None:
        words = "Its time does not run."
        return [Condition(name, title, False, words) for name, title in zip(_NAMES, titles, strict=True)]
    weeks = list(weeks_between(stake.staked_at, until))
    over = [week for week in weeks if week.end <= now]
    known.look_over(over)
    settled = [week for week in over if known.settled(week, of=stake.defense)]
    closing = {week.name: at for week in settled if (at := known.appeals_close_at(week, of=stake.defense)) is not None}
    closed = [name for name, at in closing.items() if at <= now]
    still_open = _open_weeks([week for week in weeks if week not in settled], zone, now)
    counts = f"{len(settled)} of {len(weeks)}. {still_open}"
    last = max((at for at in closing.values() if at > now), default=None)
    unknown = "" if len(settled) == len(weeks) else " When the others close is known once they are settled."
    more = f" Of those that are settled, the last closes on {absolute(last, zone)}." if last else ""
    more += _not_closed([week for week in settled if week.name not in closing])
    return [
        Condition(_NAMES[0], titles[0], len(settled) == len(weeks), counts.strip(), reverse("releases")),
        Condition(_NAMES[1], titles[1], len(closed) == len(weeks), f"{len(closed)} of {len(weeks)}.{more}{unknown}"),
    ]


_NAMES = ("weeks", "appeals")


def _not_closed(weeks: list[Week]) -> str:
    """Name the settled weeks with a case that is not closed (R22): not that there is one, which some members of the
    board may not know (R21)."""
    names = ", ".join(week.name for week in weeks[:MOST_NAMED])
    more = " and more" if len(weeks) > MOST_NAMED else ""
    return f" Not closed yet: {names}{more}." if weeks else ""


def _open_weeks(weeks: Iterable[Week], zone: str, now: datetime) -> str:
    words = [f"{week.name} {_why_open(week, zone, now)}" for week in weeks]
    shown = "; ".join(words[:MOST_NAMED])
    return f"Open: {shown}{' and more' if len(words) > MOST_NAMED else ''}." if words else ""


def _why_open(week: Week, zone: str, now: datetime) -> str:
    if week.end > now:
        return f"ends on {absolute(week.end, zone)}"
    waits = [f"{count} {WAITING_WORDS[name]}" for name, count in waiting(week).items() if count]
    return f"waits: {', '.join(waits)}" if waits else "waits for rulings"


# Run again, examined, unbroken ----------------------------------------------------------------------------------------


def reruns_after(stake: Stake) -> QuerySet[Rerun]:
    """Return the re-runs of the defense begun when its time was over, newest first, without cancelled ones."""
    until = unbroken_until(stake)
    if until is None:
        return Rerun.objects.none()
    rows = Rerun.objects.filter(defense=stake.defense_id, asked_at__gte=until)
    return rows.exclude(state=RerunState.CANCELLED).order_by("-pk")


def valid_attacks(stake: Stake) -> QuerySet[Attack]:
    """Return the attacks of the stake's time, and those before it, whose pictures are valid now."""
    newest = Ruling.objects.filter(image=OuterRef("image")).order_by("-number").values("verdict")[:1]
    rows = Attack.objects.annotate(verdict=Subquery(newest)).filter(verdict=Verdict.VALID, withdrawn_at__isnull=True)
    until = unbroken_until(stake)
    return rows.filter(received_at__lt=until) if until else rows


def _run_again(stake: Stake) -> Condition:
    title = "All attacks run again, and failed"
    pictures = valid_attacks(stake).values("image").distinct()
    wanted = pictures.count()
    if not wanted:
        return Condition("run_again", title, True, "No valid attack was sent.")
    reruns = list(reruns_after(stake))
    if not reruns:
        return Condition("run_again", title, False, f"Not begun: {wanted} pictures are to be run again.")
    link = reverse("rerun", args=[reruns[0].pk])
    applied = [each for each in reruns if each.state == RerunState.APPLIED]
    if not applied:
        return Condition("run_again", title, False, _under_way(reruns[0]), link)
    done = _settled_again(stake, applied, pictures).count()
    mistakes = _mistakes(_in_time(stake, applied)).values("image").distinct().count()
    figures = f"{done} of {wanted} pictures run again, {mistakes} of them now taken for the other class."
    return Condition("run_again", title, done == wanted and not mistakes, figures, link)


def _under_way(rerun: Rerun) -> str:
    if reruns_to_apply().filter(pk=rerun.pk).exists():
        return f"Re-run {rerun.pk} is answered: an organizer applies it."
    return f"Re-run {rerun.pk} is {rerun.state}."


def _settled_again(stake: Stake, applied: Sequence[Rerun], pictures: QuerySet[Any, Any]) -> QuerySet[Any, Any]:
    """Return those of `pictures` of which nothing is left to run again.

    A fault of the defense itself is no mistake and final (R30): where it gave no answer there is none to be had.
    """
    same = {"image": OuterRef("image"), "round": OuterRef("round"), "rerun__in": applied}
    failed = RunItem.objects.filter(run__state=RunState.DEAD, run__fault__in=DEFENSE_FAULTS, **same)
    answers = predictions_in_force().filter(defense=stake.defense_id)
    left = answers.exclude(rerun__in=applied).filter(~Exists(failed))
    done = settled_items().filter(defense=stake.defense_id)
    return pictures.filter(image__in=done.values("image")).exclude(image__in=left.values("image"))


def _in_time(stake: Stake, applied: Sequence[Rerun]) -> QuerySet[Prediction]:
    """Return the answers of re-runs to what was sent before the stake's time was over: the rest came too late (R36)."""
    answers, until = Prediction.objects.filter(rerun__in=applied).annotate(sent_at=first_sent()), unbroken_until(stake)
    return answers.filter(sent_at__lt=until) if until else answers


def _mistakes(answers: QuerySet[Prediction]) -> QuerySet[Prediction]:
    """Return the answers to attacks that are the other class than what the ruling of now says (R29)."""
    newest = Ruling.objects.filter(image=OuterRef("image")).order_by("-number").values("label")[:1]
    other = Q(answer=Outcome.BIRD, label_now=Label.BICYCLE) | Q(answer=Outcome.BICYCLE, label_now=Label.BIRD)
    return answers.annotate(label_now=Subquery(newest)).filter(sent_as_attack(), other)


def _examined(stake: Stake, now: datetime) -> Condition:
    share = examined_share(stake.defense, now=now)
    figures = f"{share.done} of {share.all} rejected pictures examined and confirmed as invalid."
    if not share.all:
        figures = "No picture of its time was rejected."
    link = reverse("board-examination", args=[stake.defense.public_id])
    return Condition("examined", "Every rejected picture examined", share.done == share.all, figures, link)


def _no_break(stake: Stake) -> Condition:
    count = len({each.fact.image_id for each in breaks_of_stake(stake)})
    figures = "None." if not count else f"{count} {'picture breaks' if count == 1 else 'pictures break'} it."
    link = reverse("defense", args=[stake.defense.public_id])
    return Condition("no_break", "No break that holds", not count, figures, link)


# The others -----------------------------------------------------------------------------------------------------------


def _first(stake: Stake, due: Sequence[Stake]) -> Condition:
    title = "No other is before it"
    earlier = _before(stake, sharing_of(stake, due), due)
    if not earlier:
        return Condition("first", title, True, "No other's time is over before its own.")
    names = ", ".join(each.defense.name for each in earlier[:MOST_NAMED])
    return Condition("first", title, False, f"Their time was over earlier: {names}.", reverse("awards"))


def _before(stake: Stake, group: Iterable[Stake], due: Iterable[Stake]) -> list[Stake]:
    """Return the stakes outside of `group` whose time was over before that of `stake`."""
    together = {each.pk for each in group}
    return [each for each in due if each.pk not in together and _in_turn(each) < _in_turn(stake)]


def _batch(stake: Stake, due: Iterable[Stake], policy: Policy, now: datetime, known: Weeks) -> Condition:
    title = "The others of its batch ready"
    others = [each for each in sharing_of(stake, due) if each.pk != stake.pk]
    if not others:
        return Condition("batch", title, True, "No other of its batch shares the prize.")
    unready = [each for each in others if not ready(own_conditions(each, policy=policy, now=now, known=known))]
    figures = f"{len(others) - len(unready)} of {len(others)} that share the prize meet their conditions."
    link = reverse("award", args=[unready[0].pk]) if unready else ""
    return Condition("batch", title, not unready, figures, link)


def _half(stake: Stake, policy: Policy) -> Condition:
    row = Account.objects.filter(kind=AccountKind.DEFENDERS).first()
    cents = row.balance_cents if row else 0
    figures = f"{money(cents, policy.currency)} in the defenders' half."
    if not cents and stake.kind == StakeKind.TEAM:
        figures += " The captain of its team can ask the board for the stake back, on the page of the team's defense."
    return Condition("half", "A prize to give", cents > 0, figures, reverse("money"))


def ready(conditions: Iterable[Condition]) -> bool:
    """Say whether every condition is met."""
    return all(each.passed for each in conditions)
