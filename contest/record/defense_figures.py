"""Reads the data of the pages about defenses; `public` restricts it to released weeks (R24)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Case, Count, Exists, F, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.functions import Greatest

from adjudication.models import Ruling
from adjudication.selectors import newest_rulings
from common.database.grouping import grouped
from common.remembered import remembered
from contest.core.breaks import breaks_in_force, mistakes_outside
from contest.core.credit import first_receipts
from contest.core.enums import DefenseStanding
from contest.core.models import Attack, Break
from contest.core.publication import released
from contest.core.scoring_words import rerun_words
from contest.defenses.risk_coverage import ConfidenceTie, CurvePoint, risk_coverage
from contest.defenses.selectors import defense_states, first_sent_at
from defense_kit.faults import WORDS, FaultWords
from labeling.enums import Label
from labeling.models import Image
from labeling.pictures.addresses import picture_url
from scoring.enums import DefenseAnswer, Fault, RunState
from scoring.models import Defense, Prediction, Rerun, Run, RunItem
from scoring.selectors import (
    AnswerSpread,
    Throughput,
    dead_runs,
    places_in_force,
    predictions_in_force,
    runs_of_interest,
    spread_between_rounds,
    throughput,
)

FRESH_SECONDS = 60
# Public figures change mostly with the weeks, and anybody may request them; counting 100,000 pictures takes seconds.
PUBLIC_FRESH_SECONDS = 600
PICTURES_SHOWN = 24
MAX_BREAKS = 12
MAX_RUNS = 20
# Which pictures a page lists: the word in the address, and the words on the page.
KINDS = {
    "": "All",
    "mistakes": "Broke it",
    "outside": "Mistakes outside the contest",
    "abstained": "With an abstention",
    "faults": "Without an answer in some round",
}
_STANDINGS = {
    RunState.QUEUED: "waiting",
    RunState.RUNNING: "running",
    RunState.FINISHED: "answered",
    RunState.ASSESSED: "answered",
    RunState.DEAD: "ended in a fault",
}


@dataclass(frozen=True, slots=True)
class DefenseListRow:
    """A defense in the list: how many pictures it answered, how many of them break it, and its state."""

    defense: Defense
    pictures: int
    breaks: int
    standing: DefenseStanding


@dataclass(frozen=True, slots=True)
class DefenseStatistics:
    """What is counted of one defense: answers (picture times round) by how they stand, speed, spread; and faults, each
    in words with how many answers it cost."""

    standings: tuple[tuple[str, int], ...]
    faults: tuple[tuple[Fault, FaultWords, int], ...]
    breaks: int
    speed: Throughput | None
    spread: AnswerSpread
    risk: tuple[CurvePoint, ...]


@dataclass(frozen=True, slots=True)
class DefensePicture:
    """A picture with its first receipt if it was sent as an attack, its ruling, the answers to it by round, and whether
    it breaks the defense."""

    image: Image
    url: str
    attack: Attack | None
    ruling: Ruling | None
    answers: tuple[Prediction, ...]
    broke: bool

    @property
    def same(self) -> Prediction | None:
        """Return the answer of every round where all of them are the same, scores too; None where they differ."""
        told = {(each.answer, each.score_bird, each.score_bicycle) for each in self.answers}
        return self.answers[0] if len(self.answers) > 1 and len(told) == 1 else None


def visible_pictures(public: bool, image: str = "") -> Q:
    """Condition for pictures on a page: all for organizers, those of released weeks for everybody else."""
    return released(image) if public else Q()


# The list ------------------------------------------------------------------------------------------------------------


def defense_rows(*, public: bool, now: datetime) -> list[DefenseListRow]:
    """Return the published defenses, those in force first; to organizers also those that are not published yet."""
    shown = Defense.objects.filter(published_at__isnull=False) if public else Defense.objects.all()
    fresh, readers = (PUBLIC_FRESH_SECONDS, "public") if public else (FRESH_SECONDS, "all")
    pictures, breaks = remembered(f"answered-and-broken-{readers}", fresh, lambda: _answered_and_broken(public))
    ordered = list(shown.order_by(F("retired_at").desc(nulls_first=True), "name", "pk").select_related("entry__team"))
    found = defense_states(ordered, now=now, breaks=defense_breaks(public))
    return [DefenseListRow(each, pictures.get(each.pk, 0), breaks.get(each.pk, 0), found[each.pk]) for each in ordered]


def _answered_and_broken(public: bool) -> tuple[dict[int, int], dict[int, int]]:
    """Return defense -> how many pictures it answered, and of how many a mistake broke it."""
    pictures, broken = (
        dict(rows.order_by().values_list("defense").annotate(Count("image", distinct=True)))
        for rows in (predictions_in_force().filter(visible_pictures(public, "image__")), defense_breaks(public))
    )
    return pictures, broken


def defense_breaks(public: bool) -> QuerySet[Break]:
    """Return the breaks in force on the pictures that the page may contain."""
    return breaks_in_force().filter(visible_pictures(public, "image__"))


# One defense ---------------------------------------------------------------------------------------------------------


def defense_statistics(defense: Defense, *, public: bool) -> DefenseStatistics:
    """Return the statistics of a defense, cached for FRESH_SECONDS or PUBLIC_FRESH_SECONDS."""
    fresh = PUBLIC_FRESH_SECONDS if public else FRESH_SECONDS
    return remembered(f"defense-{defense.pk}-{'public' if public else 'all'}", fresh, lambda: _figures(defense, public))


def _figures(defense: Defense, public: bool) -> DefenseStatistics:
    asked = visible_pictures(public, "image__")
    items = places_in_force().filter(asked, defense=defense).order_by()
    counted = list(items.values_list("run__state", "run__fault").annotate(answers=Count("pk")))
    answers = predictions_in_force().filter(asked, defense=defense)
    return DefenseStatistics(
        standings=tuple(_standings(counted)),
        faults=tuple(_faults(counted)),
        breaks=defense_breaks(public).filter(defense=defense).values("image").distinct().count(),
        speed=throughput(answers),
        spread=spread_between_rounds(answers),
        risk=tuple(risk_of(answers)),
    )


_Counted = Sequence[tuple[str, str, int]]


def _standings(counted: _Counted) -> Iterator[tuple[str, int]]:
    sums: dict[str, int] = dict.fromkeys(_STANDINGS.values(), 0)
    for state, _, answers in counted:
        sums[_STANDINGS[RunState(state)]] += answers
    return ((words, answers) for words, answers in sums.items() if answers)


def _faults(counted: _Counted) -> Iterator[tuple[Fault, FaultWords, int]]:
    """Yield the final faults of runs; a fault that a later try resolved does not count."""
    sums = {Fault(fault): answers for state, fault, answers in counted if state == RunState.DEAD and fault}
    for fault, answers in sorted(sums.items(), key=lambda each: (-each[1], each[0])):
        yield fault, WORDS[fault], answers


def risk_of(answers: QuerySet[Prediction]) -> list[CurvePoint]:
    """Return the risk-coverage curve over the answers to pictures whose newest ruling is valid."""
    newest = Ruling.objects.filter(image=OuterRef("image")).order_by("-number").values("label")[:1]
    mistake = Q(label=Label.BIRD, answer=DefenseAnswer.BICYCLE) | Q(label=Label.BICYCLE, answer=DefenseAnswer.BIRD)
    # A picture that is not ruled valid has no label.
    valid = answers.annotate(label=Subquery(newest), confidence=Greatest("score_bicycle", "score_bird"))
    valid = valid.filter(label__in=list(Label)).order_by()
    grouped = valid.values_list("confidence").annotate(
        answered=Count("pk"),
        named=Count("pk", filter=~Q(answer=DefenseAnswer.ABSTAIN)),
        wrong=Count("pk", filter=mistake),
    )
    groups = list(grouped)
    ties = (ConfidenceTie(confidence, named, wrong) for confidence, _, named, wrong in groups)
    return risk_coverage(ties, sum(answered for _, answered, _, _ in groups))


# What broke it -------------------------------------------------------------------------------------------------------


def breaks_of_defense(defense: Defense, *, public: bool, now: datetime) -> list[tuple[Break, Attack]]:
    """Return what broke a defense with the first receipt of the picture, whose week decides (R35): each picture once,
    in the order in which it was sent, the first MAX_BREAKS."""
    rows = defense_breaks(public).filter(defense=defense).annotate(sent_at=first_sent_at()).order_by("sent_at", "pk")
    once: dict[int, Break] = {}
    for each in rows.select_related("image", "ruling")[: 4 * MAX_BREAKS]:  # one picture may have several
        once.setdefault(each.image_id, each)
    shown = list(once.values())[:MAX_BREAKS]
    attacks = first_receipts(list(once), unrestricted=not public, now=now)
    # The clock of a copy may be behind the releases it was made from: then their attacks are not public for it.
    return [(each, attacks[each.image_id]) for each in shown if each.image_id in attacks]


def mistakes_outside_of(defense: Defense, *, public: bool) -> list[Break]:
    """Return the mistakes of a defense outside the contest (R29), each picture once, in the order in which the pictures
    came: the first MAX_BREAKS, and one more where there are more."""
    rows = mistakes_outside().filter(visible_pictures(public, "image__"), defense=defense)
    rows = rows.select_related("image", "ruling").order_by("image__received_at", "image", "pk")
    once: dict[int, Break] = {}
    for each in rows[: 4 * (MAX_BREAKS + 1)]:  # one picture may have several
        once.setdefault(each.image_id, each)
    return list(once.values())[: MAX_BREAKS + 1]


# The pictures --------------------------------------------------------------------------------------------------------


def pictures(
    defense: Defense, *, public: bool, kind: str, before: int | None, now: datetime
) -> tuple[list[DefensePicture], int | None]:
    """Return the newest pictures of `kind` with the defense's answers, from the one before row number `before` on, and
    where the next page begins."""
    asked = Image.objects.filter(visible_pictures(public)).filter(_of_kind(defense, kind))
    page = list((asked.filter(pk__lt=before) if before else asked).order_by("-pk")[: PICTURES_SHOWN + 1])
    shown, more = page[:PICTURES_SHOWN], page[PICTURES_SHOWN:]
    return list(_defense_pictures(defense, shown, public, now)), shown[-1].pk if more else None


def _of_kind(defense: Defense, kind: str) -> Q:
    here = {"defense": defense, "image": OuterRef("pk")}
    answers = predictions_in_force().filter(**here)
    if kind == "mistakes":
        return Q(Exists(breaks_in_force().filter(**here)))
    if kind == "outside":
        return Q(Exists(mistakes_outside().filter(**here)))
    if kind == "abstained":
        return Q(Exists(answers.filter(answer=DefenseAnswer.ABSTAIN)))
    if kind == "faults":
        return Q(Exists(places_in_force().filter(run__state=RunState.DEAD, **here)))
    return Q(Exists(answers))


def _defense_pictures(
    defense: Defense, images: Sequence[Image], public: bool, now: datetime
) -> Iterator[DefensePicture]:
    ids = [image.pk for image in images]
    rulings, attacks = newest_rulings(ids), first_receipts(ids, unrestricted=not public, now=now)
    rounds = predictions_in_force().filter(defense=defense, image__in=ids).order_by("round")
    answers = grouped((each.image_id, each) for each in rounds)
    broke = set(breaks_in_force().filter(defense=defense, image__in=ids).values_list("image", flat=True))
    for image in images:
        url, given = picture_url(image, now=now), tuple(answers.get(image.pk, ()))
        yield DefensePicture(image, url, attacks.get(image.pk), rulings.get(image.pk), given, image.pk in broke)


# For organizers ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run with how many pictures it has, and the first of them."""

    run: Run
    pictures: int
    first: str

    @property
    def words(self) -> FaultWords | None:
        """Return what its fault means; None without one."""
        return WORDS[Fault(self.run.fault)] if self.run.fault else None


def parted_runs(defense: Defense) -> list[RunRow]:
    """Return the runs that were split after a fault, newest first."""
    return _run_rows(runs_of_interest().filter(defense=defense, splits__gt=0))


def dead_runs_of(defense: Defense) -> list[RunRow]:
    """Return the runs that failed for good and were never split, newest first."""
    return _run_rows(dead_runs().filter(defense=defense, splits=0))


def _run_rows(runs: QuerySet[Run]) -> list[RunRow]:
    items = RunItem.objects.filter(run=OuterRef("pk"))
    last, first = items.order_by("-position").values("position")[:1], items.order_by("position")
    found = runs.annotate(
        planned=Case(When(Exists(items), then=Subquery(last) + 1), default=0),
        first=Subquery(first.values("image__public_id")[:1]),
    )
    return [RunRow(run, run.planned, run.first or "") for run in found.order_by("-pk")[:MAX_RUNS]]


def reruns_of(defense: Defense, *, now: datetime) -> list[tuple[Rerun, str]]:
    """Return the defense's re-runs, newest first, each with its progress in words."""
    rows = Rerun.objects.filter(defense=defense).select_related("asked_by").order_by("-pk")[:MAX_RUNS]
    return [(each, rerun_words(each, now=now)) for each in rows]
