"""The conditions of an award, each from facts: passed or not yet, with its figures (R33, R36-R38)."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.urls import reverse

from accounts.roles import REVIEW_BOARD
from adjudication.enums import Verdict
from adjudication.models import Ruling
from common.times import absolute, distance, hours_span, to_the_second
from contest.core.breaks import sent_as_attack
from contest.core.calendar import Week
from contest.core.enums import AccountKind, StakeKind
from contest.core.scoring_words import FINISHED, rerun_words, reruns_to_apply
from contest.core.settled_weeks import Weeks, weeks_between
from contest.core.week_pictures import WAITING_WORDS
from contest.defenses.selectors import (
    breaks_of_stake,
    first_sent,
    is_due,
    is_open,
    is_paid_for,
    owner_of,
    stakes_in_force,
    unbroken_until,
)
from contest.ledger.amounts import money
from contest.models import Account, Attack, Member, Stake
from contest.prizes.award_order import Group, StakeTime, groups_in_order, waits_for
from contest.prizes.examined_pictures import examined_share
from labeling.enums import Label
from policy.numbers import Policy
from scoring.enums import Outcome, RerunState, RunState
from scoring.models import Prediction, Rerun, RunItem
from scoring.rules import DEFENSE_FAULTS
from scoring.selectors import predictions_in_force, settled_items

MOST_NAMED = 5
_NEVER = datetime.max.replace(tzinfo=UTC)


class Party(StrEnum):
    """Who can meet a condition that is not met (R36). Their order is that in which the page names them."""

    TIME = "time"
    TEAM = "team"
    SCORER = "scorer"
    ORGANIZERS = "organizers"
    BOARD = "board"

    @property
    def words(self) -> str:
        """Return the party as the page names it."""
        return self.value if self is Party.TIME else f"the {self.value}"


_TEAM = (Party.TEAM,)


@dataclass(frozen=True, slots=True)
class Condition:
    """One line of the checklist: a name for programs, words, whether it is met, what is known, and where to look.

    `who` can meet it while it is not met (R36); nobody can once the stake is over.
    """

    name: str
    title: str
    passed: bool
    figures: str
    link: str = ""
    who: tuple[Party, ...] = ()

    def __post_init__(self) -> None:
        if self.passed:  # whoever could have met it, nobody has to any more
            object.__setattr__(self, "who", ())

    @property
    def waits_for(self) -> str:
        """Return in words who can meet it; empty when it is met, and where nobody can."""
        return ", ".join(party.words for party in self.who)

    def record(self) -> dict[str, Any]:
        """Return what an award keeps of a condition that was met."""
        kept = asdict(self)
        del kept["who"]
        return kept


def checklist(
    stake: Stake, *, policy: Policy, now: datetime, known: Weeks | None = None, among: Sequence[Stake] | None = None
) -> list[Condition]:
    """Return every condition of an award for `stake`, in the order in which they are usually met.

    `known` is what is read of the weeks, for whom asks about many stakes at one moment; `among` are the contenders of
    that moment, for whom has them.
    """
    weeks, due = known or Weeks(now), contenders(now=now) if among is None else among
    place = place_of(stake, due)
    return [
        *own_conditions(stake, policy=policy, now=now, known=weeks),
        _first(place, policy, now, weeks),
        _shared(stake, place, policy, now, weeks),
        _half(stake, policy),
    ]


def about_others(name: str) -> bool:
    """Say whether a condition of this name tells of other stakes than the one it is for."""
    return name in ("first", "batch")


def stakes_beside(stake: Stake, due: Sequence[Stake]) -> list[Stake]:
    """Return the stakes that the conditions about others tell of, given the contenders: those that share the prize, and
    those before it."""
    place = place_of(stake, due)
    return [*place.group, *place.before]


def own_conditions(stake: Stake, *, policy: Policy, now: datetime, known: Weeks | None = None) -> list[Condition]:
    """Return the conditions that are about one defense alone; `known` as of `checklist`."""
    return [
        _unbroken(stake, policy, now),
        _source_open(stake, policy),
        _team(stake, now),
        *_weeks(stake, policy, now, known or Weeks(now)),
        _run_again(stake, now),
        _examined(stake, now),
        _no_break(stake),
    ]


def contenders(*, now: datetime) -> list[Stake]:
    """Return the stakes in force whose time is over and that can win, those of the earliest group first."""
    due = {stake.pk: stake for stake in stakes_in_force() if is_due(stake, now) and not why_never(stake, now=now)}
    groups = groups_in_order(map(time_of, due.values()), now=now)
    return [due[number] for group in groups for number in group.stakes]


def time_of(stake: Stake) -> StakeTime:
    """Return a stake that began as the order of awards sees it; whether it can win is for the caller to say."""
    begun = stake.staked_at or stake.asked_at
    clock = stake.clock_from or begun
    # A stake that is shared by its batch began with it, at one instant.
    return StakeTime(stake.pk, stake.batch_id, begun, clock, unbroken_until(stake))


@dataclass(frozen=True, slots=True)
class Place:
    """Where a stake comes in the order of awards: the stakes that share the prize with it, itself included, and the
    groups before it, the earliest first."""

    group: tuple[Stake, ...]
    groups_before: tuple[tuple[Stake, ...], ...]

    @property
    def before(self) -> list[Stake]:
        """Return the stakes of the groups before it."""
        return [stake for group in self.groups_before for stake in group]


def place_of(stake: Stake, due: Iterable[Stake]) -> Place:
    """Return the place of a stake among the contenders; of one that is none, the place that it would have."""
    rows = {each.pk: each for each in due} | {stake.pk: stake}
    times = {pk: time_of(each) for pk, each in rows.items()}
    if times[stake.pk].until is None:
        times[stake.pk] = replace(times[stake.pk], until=_NEVER)
    groups = groups_in_order(times.values(), now=_NEVER)
    own = next(group for group in groups if stake.pk in group.stakes)
    waits = set(waits_for(groups)[stake.pk])
    before = [group for group in groups if not waits.isdisjoint(group.stakes)]
    return Place(_rows(own, rows), tuple(_rows(group, rows) for group in before))


def _rows(group: Group, rows: Mapping[int, Stake]) -> tuple[Stake, ...]:
    return tuple(rows[number] for number in group.stakes)


def sharing(stake: Stake, *, now: datetime) -> list[Stake]:
    """Return the stakes that share the prize, itself included: those of its group whose time is over (R36)."""
    return sharing_of(stake, contenders(now=now))


def sharing_of(stake: Stake, due: Iterable[Stake]) -> list[Stake]:
    """Return the same, given the contenders: for whom asks about them more than once."""
    return list(place_of(stake, due).group)


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
        return Condition("unbroken", title, False, f"The stake is over: {stake.end}.", link)  # nobody can meet it
    until = unbroken_until(stake)
    if until is None:
        return Condition("unbroken", title, False, "The clock does not run while the source is closed.", link, _TEAM)
    over = is_due(stake, now)
    left = f"{distance(until - now)} are left."
    figures = f"Its time was over on {to_the_second(until, policy.time_zone)}." if over else left
    return Condition("unbroken", title, over, figures, link, (Party.TIME,))


def _source_open(stake: Stake, policy: Policy) -> Condition:
    opened = stake.defense.entry.opened_at if is_open(stake.defense) else None
    closed = "Not handed in: a closed defense cannot win (R33)."
    figures = f"Handed in on {absolute(opened, policy.time_zone)}." if opened else closed
    link = reverse("defense", args=[stake.defense.public_id])
    return Condition("source", "Source open", opened is not None, figures, link, _TEAM)


def _team(stake: Stake, now: datetime) -> Condition:
    owner, never = owner_of(stake.defense), why_never(stake, now=now)
    words = never or f"Team {owner.name if owner else ''}."
    # An association or a membership that is recorded in error is for the organizers to correct.
    return Condition("team", "The team can be paid", not never, words, who=(Party.ORGANIZERS,))


# The weeks ------------------------------------------------------------------------------------------------------------


def _weeks(stake: Stake, policy: Policy, now: datetime, known: Weeks) -> list[Condition]:
    """The weeks from that of the stake to the one its time ends in: an attack that came before its end may break it."""
    titles, zone = ("Every week in that time settled", "Their appeals closed"), policy.time_zone
    until = unbroken_until(stake)
    if until is None or stake.staked_at is None:
        words = "Its time does not run."
        return [Condition(name, title, False, words, who=_TEAM) for name, title in zip(_NAMES, titles, strict=True)]
    weeks = list(weeks_between(stake.staked_at, until))
    over = [week for week in weeks if week.end <= now]
    known.look_over(over)
    settled = [week for week in over if known.settled(week, of=stake.defense, before=until)]
    closes = {week.name: known.appeals_close_at(week, of=stake.defense, before=until) for week in settled}
    closing = {name: at for name, at in closes.items() if at is not None}
    closed = [name for name, at in closing.items() if at <= now]
    waits = {week.name: known.waiting(week, of=stake.defense, before=until) for week in over if week not in settled}
    still_open = [(week, _waits_of(waits.get(week.name))) for week in weeks if week not in settled]
    counts = f"{len(settled)} of {len(weeks)}. {_open_weeks(still_open, zone)}"
    last = max((at for at in closing.values() if at > now), default=None)
    unknown = "" if len(settled) == len(weeks) else " When the others close is known once they are settled."
    more = f" Of those that are settled, the last closes on {absolute(last, zone)}." if last else ""
    not_closed = [week for week in settled if week.name not in closing]
    more += _not_closed(not_closed)
    settling = {_WHO_SETTLES[name] for _, open_for in still_open for name in open_for}
    # A week with a case, or with a copy whose sender does not know the verdict: not which of the two (R21).
    deciding = {Party.ORGANIZERS, Party.BOARD} if not_closed else set()
    closing_by = settling | deciding | ({Party.TIME} if last else set())
    closed_words = f"{len(closed)} of {len(weeks)}.{more}{unknown}"
    return [
        Condition(
            _NAMES[0],
            titles[0],
            len(settled) == len(weeks),
            counts.strip(),
            reverse("releases"),
            who=_in_order(settling),
        ),
        Condition(_NAMES[1], titles[1], len(closed) == len(weeks), closed_words, who=_in_order(closing_by)),
    ]


_NAMES = ("weeks", "appeals")


def _not_closed(weeks: list[Week]) -> str:
    """Name the settled weeks with a case that is not closed (R22): not that there is one, which some members of the
    board may not know (R21)."""
    names = ", ".join(week.name for week in weeks[:MOST_NAMED])
    more = " and more" if len(weeks) > MOST_NAMED else ""
    return f" Not closed yet: {names}{more}." if weeks else ""


def _open_weeks(weeks: Sequence[tuple[Week, Mapping[str, int]]], zone: str) -> str:
    words = [f"{week.name} {_why_open(week, waits, zone)}" for week, waits in weeks]
    shown = "; ".join(words[:MOST_NAMED])
    return f"Open: {shown}{' and more' if len(words) > MOST_NAMED else ''}." if words else ""


def _waits_of(waiting: Mapping[str, int] | None) -> Mapping[str, int]:
    """Return what an open week waits for, by the keys of `_WHO_SETTLES`, with how many pictures wait; None is what is
    given of a week that is not over."""
    if waiting is None:
        return {"end": 0}
    return {name: count for name, count in waiting.items() if count} or {"other": 0}


def _why_open(week: Week, waits: Mapping[str, int], zone: str) -> str:
    if "end" in waits:
        return f"ends on {absolute(week.end, zone)}"
    words = [f"{count} {WAITING_WORDS[name]}" for name, count in waits.items() if name in WAITING_WORDS]
    return f"waits: {', '.join(words)}" if words else "waits for rulings"


# Taskers answer when organizers find them and give them work; full panels are ruled upon by the next sweep.
_WHO_SETTLES: Mapping[str, Party] = {
    "end": Party.TIME,
    "panel": Party.ORGANIZERS,
    "answers": Party.ORGANIZERS,
    "report": Party.ORGANIZERS,
    "ruling": Party.TIME,
    "runs": Party.SCORER,
    "other": Party.ORGANIZERS,
}


def _in_order(parties: Collection[Party]) -> tuple[Party, ...]:
    return tuple(party for party in Party if party in parties)


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


def _run_again(stake: Stake, now: datetime) -> Condition:
    title = "All attacks run again, and failed"
    pictures = valid_attacks(stake).values("image").distinct()
    wanted = pictures.count()
    if not wanted:
        return Condition("run_again", title, True, "No valid attack was sent.")
    reruns = list(reruns_after(stake))
    if not reruns:
        begin = (Party.ORGANIZERS, Party.BOARD)
        return Condition("run_again", title, False, f"Not begun: {wanted} pictures are to be run again.", who=begin)
    link = reverse("rerun", args=[reruns[0].pk])
    applied = [each for each in reruns if each.state == RerunState.APPLIED]
    if not applied:
        return Condition("run_again", title, False, *_under_way(reruns[0], link, now))
    done = _settled_again(stake, applied, pictures).count()
    # Only an attack breaks: a mistake on a picture that nobody sent as one hinders no award (R29).
    again = _in_time(stake, applied).filter(image__in=pictures)
    mistakes = _mistakes(again).values("image").distinct().count()
    figures = f"{done} of {wanted} pictures run again, {mistakes} of them now taken for the other class."
    # A mistake breaks the defense with the next sweep; a picture that the re-run left out is for another one.
    who = (Party.TIME,) if mistakes else (Party.SCORER, Party.ORGANIZERS)
    return Condition("run_again", title, done == wanted and not mistakes, figures, link, who)


def _under_way(rerun: Rerun, link: str, now: datetime) -> tuple[str, str, tuple[Party, ...]]:
    """Return what is known of a re-run that is not applied, where it is looked at, and who brings it on."""
    words = rerun_words(rerun, now=now)
    more = ": an organizer applies it" if words == FINISHED else ""
    who = Party.ORGANIZERS if reruns_to_apply().filter(pk=rerun.pk).exists() else Party.SCORER
    return f"Re-run {rerun.pk} is {words}{more}.", link, (who,)


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
    done = share.done == share.all
    return Condition("examined", "Every rejected picture examined", done, figures, link, (Party.BOARD,))


def _no_break(stake: Stake) -> Condition:
    count = len({each.fact.image_id for each in breaks_of_stake(stake)})
    figures = "None." if not count else f"{count} {'picture breaks' if count == 1 else 'pictures break'} it."
    link = reverse("defense", args=[stake.defense.public_id])
    # A break ends the stake, unless the board overrules the ruling behind it.
    return Condition("no_break", "No break that holds", not count, figures, link, (Party.BOARD,))


# The others -----------------------------------------------------------------------------------------------------------


def _first(place: Place, policy: Policy, now: datetime, known: Weeks) -> Condition:
    title = "No other is before it"
    if not place.groups_before:
        return Condition("first", title, True, "No other's time is over before its own.")
    names = ", ".join(each.defense.name for each in place.before[:MOST_NAMED])
    more = " and more" if len(place.before) > MOST_NAMED else ""
    # The earliest group waits for no other: what is not met there, or the award itself, is what all others wait for.
    who = _parties(place.groups_before[0], policy, now, known) or (Party.BOARD,)
    return Condition("first", title, False, f"Their time was over earlier: {names}{more}.", reverse("awards"), who)


def _parties(stakes: Iterable[Stake], policy: Policy, now: datetime, known: Weeks) -> tuple[Party, ...]:
    """Return who can meet what these stakes do not meet of their own conditions."""
    lines = (line for each in stakes for line in own_conditions(each, policy=policy, now=now, known=known))
    return _in_order({party for line in lines for party in line.who})


def _shared(stake: Stake, place: Place, policy: Policy, now: datetime, known: Weeks) -> Condition:
    title = "Those that share the prize ready"
    others = [each for each in place.group if each.pk != stake.pk]
    if not others:
        return Condition("batch", title, True, "No other shares the prize.")
    unready = [each for each in others if not ready(own_conditions(each, policy=policy, now=now, known=known))]
    figures = f"{len(others) - len(unready)} of {len(others)} that share the prize meet their conditions."
    link = reverse("award", args=[unready[0].pk]) if unready else ""
    return Condition("batch", title, not unready, figures, link, _parties(unready, policy, now, known))


def _half(stake: Stake, policy: Policy) -> Condition:
    row = Account.objects.filter(kind=AccountKind.DEFENDERS).first()
    cents = row.balance_cents if row else 0
    figures = f"{money(cents, policy.currency)} in the defenders' half."
    if not cents and stake.kind == StakeKind.TEAM:
        figures += " The captain of its team can ask the board for the stake back, on the page of the team's defense."
    return Condition("half", "A prize to give", cents > 0, figures, reverse("money"), (Party.ORGANIZERS,))


def ready(conditions: Iterable[Condition]) -> bool:
    """Say whether every condition is met."""
    return all(each.passed for each in conditions)
