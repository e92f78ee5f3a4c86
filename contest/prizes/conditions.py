"""The data class for a condition of an award, and the conditions about weeks and re-runs (R36)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.urls import reverse

from adjudication.enums import Verdict
from adjudication.selectors import rulings_in_force
from common.times import absolute
from contest.core.breaks import sent_as_attack
from contest.core.models import Attack, Stake
from contest.core.scoring_words import FINISHED, rerun_words, reruns_to_apply
from contest.core.settled_weeks import Weeks, weeks_between
from contest.core.week_pictures import WAITING_WORDS
from contest.defenses.selectors import first_sent_at, unbroken_until
from labeling.enums import Label
from policy.calendar import Week
from policy.numbers import Policy
from scoring.enums import DefenseAnswer, RerunState, RunState
from scoring.models import Prediction, Rerun, RunItem
from scoring.rules import DEFENSE_FAULTS
from scoring.selectors import predictions_in_force, settled_items

MAX_NAMED = 5
_NAMES = ("weeks", "appeals")


class ConditionOwner(StrEnum):
    """Who can meet a condition that is not met (R36), in the order in which the page names them."""

    TIME = "time"
    TEAM = "team"
    SCORER = "scorer"
    ORGANIZERS = "organizers"
    BOARD = "board"

    @property
    def words(self) -> str:
        """Return the party as the page names it."""
        return self.value if self is ConditionOwner.TIME else f"the {self.value}"


TEAM = (ConditionOwner.TEAM,)


@dataclass(frozen=True, slots=True)
class AwardCondition:
    """One line of the checklist: a name for programs, a title, whether it is met, its state in words, and a link.

    `who` are those who can meet it while it is not met (R36); nobody can once the stake is over.
    """

    name: str
    title: str
    passed: bool
    figures: str
    link: str = ""
    who: tuple[ConditionOwner, ...] = ()

    def __post_init__(self) -> None:
        if self.passed:  # nobody has to meet it now
            object.__setattr__(self, "who", ())

    @property
    def waits_for(self) -> str:
        """Return in words who can meet it; empty if it is met or nobody can."""
        return ", ".join(party.words for party in self.who)

    def record(self) -> dict[str, Any]:
        """Return what an award keeps of a condition that was met."""
        kept = asdict(self)
        del kept["who"]
        return kept


def breaks_in_order(parties: Collection[ConditionOwner]) -> tuple[ConditionOwner, ...]:
    return tuple(party for party in ConditionOwner if party in parties)


# The weeks of the stake are final -------------------------------------------------------------------------------------


def week_conditions(stake: Stake, policy: Policy, now: datetime, known: Weeks) -> list[AwardCondition]:
    """Return the conditions about the weeks from the stake's beginning to its end: attacks of these may break it."""
    titles, zone = ("Every week in that time settled", "Their appeals closed"), policy.time_zone
    until = unbroken_until(stake)
    if until is None or stake.staked_at is None:
        words = "Its time does not run."
        return [AwardCondition(name, title, False, words, who=TEAM) for name, title in zip(_NAMES, titles, strict=True)]
    weeks = list(weeks_between(stake.staked_at, until))
    over = [week for week in weeks if week.end <= now]
    known.look_over(over)
    settled = [week for week in over if known.settled(week, of=stake.defense, before=until)]
    closes = {week.name: known.appeals_close_at(week, of=stake.defense, before=until) for week in settled}
    closing = {name: at for name, at in closes.items() if at is not None}
    closed = [name for name, at in closing.items() if at <= now]
    waits = {week.name: known.waiting(week, of=stake.defense, before=until) for week in over if week not in settled}
    still_open = [(week, _pending_of(waits.get(week.name))) for week in weeks if week not in settled]
    counts = f"{len(settled)} of {len(weeks)}. {_open_weeks(still_open, zone)}"
    last = max((at for at in closing.values() if at > now), default=None)
    unknown = "" if len(settled) == len(weeks) else " When the others close is known once they are settled."
    more = f" Of those that are settled, the last closes on {absolute(last, zone)}." if last else ""
    not_closed = [week for week in settled if week.name not in closing]
    more += _not_closed(not_closed)
    settling = {_WHO_SETTLES[name] for _, open_for in still_open for name in open_for}
    # A week with a case, or with a copy whose sender does not know the verdict: not which of the two (R21).
    deciding = {ConditionOwner.ORGANIZERS, ConditionOwner.BOARD} if not_closed else set()
    closing_by = settling | deciding | ({ConditionOwner.TIME} if last else set())
    closed_words = f"{len(closed)} of {len(weeks)}.{more}{unknown}"
    return [
        AwardCondition(
            _NAMES[0],
            titles[0],
            len(settled) == len(weeks),
            counts.strip(),
            reverse("releases"),
            who=breaks_in_order(settling),
        ),
        AwardCondition(_NAMES[1], titles[1], len(closed) == len(weeks), closed_words, who=breaks_in_order(closing_by)),
    ]


def _not_closed(weeks: list[Week]) -> str:
    """Name the settled weeks that are not closed (R22), without saying that a case is the reason, which some board
    members may not know (R21)."""
    names = ", ".join(week.name for week in weeks[:MAX_NAMED])
    more = " and more" if len(weeks) > MAX_NAMED else ""
    return f" Not closed yet: {names}{more}." if weeks else ""


def _open_weeks(weeks: Sequence[tuple[Week, Mapping[str, int]]], zone: str) -> str:
    words = [f"{week.name} {_why_open(week, waits, zone)}" for week, waits in weeks]
    shown = "; ".join(words[:MAX_NAMED])
    return f"Open: {shown}{' and more' if len(words) > MAX_NAMED else ''}." if words else ""


def _pending_of(waiting: Mapping[str, int] | None) -> Mapping[str, int]:
    """Return how many pictures of an open week wait for what, by the keys of `_WHO_SETTLES`; `waiting` is None for a
    week that is not over."""
    if waiting is None:
        return {"end": 0}
    return {name: count for name, count in waiting.items() if count} or {"other": 0}


def _why_open(week: Week, waits: Mapping[str, int], zone: str) -> str:
    if "end" in waits:
        return f"ends on {absolute(week.end, zone)}"
    words = [f"{count} {WAITING_WORDS[name]}" for name, count in waits.items() if name in WAITING_WORDS]
    return f"waits: {', '.join(words)}" if words else "waits for rulings"


# Taskers answer if organizers find them and give them work; the next sweep rules on full panels.
_WHO_SETTLES: Mapping[str, ConditionOwner] = {
    "end": ConditionOwner.TIME,
    "panel": ConditionOwner.ORGANIZERS,
    "answers": ConditionOwner.ORGANIZERS,
    "report": ConditionOwner.ORGANIZERS,
    "ruling": ConditionOwner.TIME,
    "runs": ConditionOwner.SCORER,
    "other": ConditionOwner.ORGANIZERS,
}


# The defense gives the same answers in a re-run -----------------------------------------------------------------------


def reruns_after(stake: Stake) -> QuerySet[Rerun]:
    """Return the re-runs of the defense begun when its time was over, newest first, without cancelled ones."""
    until = unbroken_until(stake)
    if until is None:
        return Rerun.objects.none()
    rows = Rerun.objects.filter(defense=stake.defense_id, asked_at__gte=until)
    return rows.exclude(state=RerunState.CANCELLED).order_by("-pk")


def valid_attacks(stake: Stake) -> QuerySet[Attack]:
    """Return the attacks of the stake's time, and those before it, whose pictures are valid now."""
    valid = rulings_in_force().filter(verdict=Verdict.VALID).values("image")
    rows = Attack.objects.filter(image__in=valid, withdrawn_at__isnull=True)
    until = unbroken_until(stake)
    return rows.filter(received_at__lt=until) if until else rows


def rerun_condition(stake: Stake, now: datetime) -> AwardCondition:
    title = "All attacks run again, and failed"
    pictures = valid_attacks(stake).values("image").distinct()
    wanted = pictures.count()
    if not wanted:
        return AwardCondition("run_again", title, True, "No valid attack was sent.")
    reruns = list(reruns_after(stake))
    if not reruns:
        begin = (ConditionOwner.ORGANIZERS, ConditionOwner.BOARD)
        return AwardCondition(
            "run_again", title, False, f"Not begun: {wanted} pictures are to be run again.", who=begin
        )
    link = reverse("rerun", args=[reruns[0].pk])
    applied = [each for each in reruns if each.state == RerunState.APPLIED]
    if not applied:
        return AwardCondition("run_again", title, False, *_under_way(reruns[0], link, now))
    done = _settled_again(stake, applied, pictures).count()
    # Only an attack breaks a defense: a mistake on a picture that was no attack hinders no award (R29).
    again = _in_time(stake, applied).filter(image__in=pictures)
    mistakes = _mistakes(again).values("image").distinct().count()
    figures = f"{done} of {wanted} pictures run again, {mistakes} of them now taken for the other class."
    # The next sweep records a break for a mistake; pictures that the re-run left out need another re-run.
    who = (ConditionOwner.TIME,) if mistakes else (ConditionOwner.SCORER, ConditionOwner.ORGANIZERS)
    return AwardCondition("run_again", title, done == wanted and not mistakes, figures, link, who)


def _under_way(rerun: Rerun, link: str, now: datetime) -> tuple[str, str, tuple[ConditionOwner, ...]]:
    """Return the state of a re-run that is not applied, its page, and who can bring it forward."""
    words = rerun_words(rerun, now=now)
    more = ": an organizer applies it" if words == FINISHED else ""
    who = ConditionOwner.ORGANIZERS if reruns_to_apply().filter(pk=rerun.pk).exists() else ConditionOwner.SCORER
    return f"Re-run {rerun.pk} is {words}{more}.", link, (who,)


def _settled_again(stake: Stake, applied: Sequence[Rerun], pictures: QuerySet[Any, Any]) -> QuerySet[Any, Any]:
    """Return those of `pictures` that need no further run.

    A fault of the defense itself is final and no mistake (R30): it gives no prediction in a re-run either.
    """
    same = {"image": OuterRef("image"), "round": OuterRef("round"), "rerun__in": applied}
    failed = RunItem.objects.filter(run__state=RunState.DEAD, run__fault__in=DEFENSE_FAULTS, **same)
    answers = predictions_in_force().filter(defense=stake.defense_id)
    left = answers.exclude(rerun__in=applied).filter(~Exists(failed))
    done = settled_items().filter(defense=stake.defense_id)
    return pictures.filter(image__in=done.values("image")).exclude(image__in=left.values("image"))


def _in_time(stake: Stake, applied: Sequence[Rerun]) -> QuerySet[Prediction]:
    """Return the predictions of re-runs on pictures sent before the stake's time was over; later ones are out (R36)."""
    answers, until = (
        Prediction.objects.filter(rerun__in=applied).annotate(sent_at=first_sent_at()),
        unbroken_until(stake),
    )
    return answers.filter(sent_at__lt=until) if until else answers


def _mistakes(answers: QuerySet[Prediction]) -> QuerySet[Prediction]:
    """Return the predictions on attacks that name the other class than the ruling in force (R29)."""
    bird, bicycle = (rulings_in_force().filter(label=label).values("image") for label in (Label.BIRD, Label.BICYCLE))
    other = Q(answer=DefenseAnswer.BIRD, image__in=bicycle) | Q(answer=DefenseAnswer.BICYCLE, image__in=bird)
    return answers.filter(other, sent_as_attack())
