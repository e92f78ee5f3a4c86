"""Queries for defenses, runs and predictions."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from django.db.models import Count, Exists, Max, Min, OuterRef, Q, QuerySet
from django.db.models.functions import Greatest

from adjudication.enums import Verdict
from adjudication.models import Ruling
from common.database.request_memory import once_per_request
from common.errors import NotFound
from scoring.enums import Fault, RerunState, RunState
from scoring.models import Defense, Prediction, Rerun, Run, RunItem, SupersededPrediction, Trial
from scoring.rules import DEFENSE_FAULTS, PLATFORM_FAULTS

Runs = QuerySet[Run]
RULINGS_AT_ONCE = 500
# Matches answers to the same question: the subquery's defense, picture and round are those of the outer row.
SAME_QUESTION = {name: OuterRef(name) for name in ("defense", "image", "round")}
LATEST_ANSWERS = 2_000
# Answers of a re-run count once it is applied, all at once.
_APPLIED = Q(rerun__isnull=True) | Q(rerun__state=RerunState.APPLIED)


@dataclass(frozen=True, slots=True)
class UnansweredPicture:
    """A picture without a run for a defense and round, and the ruling that requires it."""

    ruling_id: int
    image_id: int
    width: int


class PlannedPicture(NamedTuple):
    """A picture in a run's plan; `pk` is its RunItem's."""

    pk: int
    position: int
    image_id: int
    pixels_sha256: str
    width: int


@dataclass(frozen=True, slots=True)
class AnswerSpread:
    """How much a defense's answers to one picture differ from round to round (R29).

    `pictures` were answered, `labels` and `scores` of them with different labels or scores; `largest` is the largest
    difference between two scores of one picture and class.
    """

    pictures: int
    labels: int
    scores: int
    largest: float

    @property
    def randomised(self) -> bool:
        """Say whether anything differed."""
        return bool(self.labels or self.scores)


def defenses_named(public_ids: Iterable[str]) -> list[Defense]:
    """Return the defenses with these IDs, the oldest first."""
    return list(Defense.objects.filter(public_id__in=public_ids).order_by("pk"))


def defenses_in_force() -> list[Defense]:
    """Return the published defenses, the newest version of each name, in the order of publication."""
    return list(_defenses_in_force())


@once_per_request
def _defenses_in_force() -> tuple[Defense, ...]:
    published = Defense.objects.filter(published_at__isnull=False, retired_at__isnull=True)
    return tuple(published.order_by("published_at", "id"))


def defense_named(public_id: str, *, public: bool = False) -> Defense:
    """Return the defense with this ID, where `public` a published one alone; NotFound when there is none."""
    shown = Defense.objects.filter(published_at__isnull=False) if public else Defense.objects.all()
    defense = shown.filter(public_id=public_id).first()
    if defense is None:
        raise NotFound(f"There is no {'published ' if public else ''}defense with this ID.", "not_found")
    return defense


def defenses_to_run() -> list[Defense]:
    """Return the defenses in force whose program is in this installation; one that was read from a release has none."""
    return [defense for defense in defenses_in_force() if not defense.copied]


def pictures_without_run(defense_id: int, number: int, after: int, limit: int) -> list[UnansweredPicture]:
    """Return at most `limit` pictures whose newest ruling is valid, was given after ruling `after`, and whose round
    `number` with this defense is in no run; in the order of their rulings."""
    found: list[UnansweredPicture] = []
    while len(found) < limit:
        # A chunk by its key, then what is known of just these: one question about all of them at once was measured to
        # be planned as a walk over everything while the database's statistics are behind.
        valid = Ruling.objects.filter(verdict=Verdict.VALID, pk__gt=after).order_by("pk")
        chunk = list(valid.values_list("pk", "image_id", "image__width", "number")[:RULINGS_AT_ONCE])
        if not chunk:
            break
        images = [image_id for _, image_id, _, _ in chunk]
        planned = RunItem.objects.filter(defense=defense_id, round=number, rerun__isnull=True, image__in=images)
        done = {*planned.values_list("image", flat=True), *_ruled_again(chunk)}
        found += [UnansweredPicture(pk, image_id, width) for pk, image_id, width, _ in chunk if image_id not in done]
        after = chunk[-1][0]
    return found[:limit]


def _ruled_again(chunk: Sequence[tuple[int, int, int, int]]) -> set[int]:
    """Return the pictures that have a newer ruling than the one in `chunk`."""
    newest = Ruling.objects.filter(image__in=[image_id for _, image_id, _, _ in chunk])
    numbers = dict(newest.order_by().values_list("image").annotate(newest=Max("number")))
    return {image_id for _, image_id, _, number in chunk if numbers[image_id] > number}


def run_items(run: Run) -> list[PlannedPicture]:
    """Return the run's plan with its pictures, in order."""
    items = RunItem.objects.filter(run=run).order_by("position")
    rows = items.values_list("pk", "position", "image", "image__pixels_sha256", "image__width")
    return [PlannedPicture(*row) for row in rows]


def runs_without_assessment() -> Runs:
    """Return the finished runs whose answers were not searched for breaks yet, oldest first.

    Those of a re-run that is not applied are left out: their answers count for nothing.
    """
    finished = Run.objects.filter(_APPLIED, state=RunState.FINISHED)
    return finished.select_related("defense").order_by("finished_at", "id")


def predictions_of_run(run: Run) -> list[Prediction]:
    """Return the answers in force of a run, in the order of its plan."""
    return list(predictions_in_force().filter(item__run=run).select_related("image").order_by("batch", "row"))


def predictions_in_force() -> QuerySet[Prediction]:
    """Return the answers that count: of first runs and of applied re-runs, unless a later answer replaced them.

    A defense has at most one for each picture and round.
    """
    replaced = SupersededPrediction.objects.filter(prediction=OuterRef("pk"))
    return Prediction.objects.filter(_APPLIED, ~Exists(replaced))


def places_in_force() -> QuerySet[RunItem]:
    """Return the places in plans whose answer counts now or once it comes: one for each defense, picture and round.

    Where an answer in force stands in another place, that one is meant and not this: of an answer that was replaced,
    and of a fault that a re-run got over.
    """
    elsewhere = predictions_in_force().filter(**SAME_QUESTION).exclude(item=OuterRef("pk"))
    return RunItem.objects.filter(_APPLIED, ~Exists(elsewhere))


def runs_of_interest() -> Runs:
    """Return the runs that are waited for or have answers: all but those of cancelled re-runs and stopped ones."""
    stopped = {"rerun__isnull": False, "state": RunState.DEAD, "fault": Fault.CANCELLED}
    return Run.objects.exclude(rerun__state=RerunState.CANCELLED).exclude(**stopped)


def rerun_numbered(number: int) -> Rerun:
    """Return the re-run with this number; NotFound when there is none."""
    rerun = Rerun.objects.select_related("defense", "asked_by", "ended_by").filter(pk=number).first()
    if rerun is None:
        raise NotFound("There is no re-run with this number.", "not_found")
    return rerun


def dead_runs() -> Runs:
    """Return the dead runs that were not stopped by a person."""
    return runs_of_interest().filter(state=RunState.DEAD)


def failures_in_a_row(defense_id: int) -> int:
    """Count the runs that met the defense's own fault since it last finished one: dead ones, parted ones that wait."""
    runs = Run.objects.filter(defense=defense_id)
    finished = runs.filter(state__in=(RunState.FINISHED, RunState.ASSESSED)).aggregate(at=Max("finished_at"))["at"]
    met = runs.filter(fault__in=DEFENSE_FAULTS)
    dead = met.filter(state=RunState.DEAD, finished_at__gt=finished) if finished else met.filter(state=RunState.DEAD)
    return dead.count() + met.filter(state=RunState.QUEUED).count()


def has_answered(defense_id: int) -> bool:
    """Say whether a defense ever answered a picture, in an official run or in a trial."""
    if Prediction.objects.filter(defense=defense_id).exists():
        return True
    # A trial says how many rows or, the smoke test, whole rounds were answered; one that faulted at once has none.
    answered = Q(totals__rows__gt=0) | Q(totals__rounds__gt=0)
    return Trial.objects.filter(answered, defense=defense_id, state=RunState.FINISHED).exists()


def spread_between_rounds(answers: QuerySet[Prediction]) -> AnswerSpread:
    """Return how much `answers`, all of one defense, differ from round to round."""
    ends = {
        "label": Max("answer") - Min("answer"),
        "bird": Max("score_bird") - Min("score_bird"),
        "bicycle": Max("score_bicycle") - Min("score_bicycle"),
    }
    by_picture = answers.order_by().values("image").annotate(**ends).annotate(apart=Greatest("bird", "bicycle"))
    found = by_picture.aggregate(
        pictures=Count("image"),
        labels=Count("image", filter=Q(label__gt=0)),
        scores=Count("image", filter=Q(apart__gt=0)),
        largest=Max("apart"),
    )
    return AnswerSpread(found["pictures"], found["labels"], found["scores"], found["largest"] or 0.0)


def is_randomised(defense: Defense) -> bool:
    """Say whether a defense gave one picture different labels or scores in different rounds (R29)."""
    return spread_between_rounds(predictions_in_force().filter(defense=defense)).randomised


def official_predictions() -> QuerySet[Prediction]:
    """Return the answers in force of published defenses whose run was searched for breaks."""
    return predictions_in_force().filter(item__run__state=RunState.ASSESSED, defense__published_at__isnull=False)


# A defense's own fault is final: there is no answer and none will come (R30).
DEFENSE_FAULT = Q(run__state=RunState.DEAD, run__fault__in=DEFENSE_FAULTS)
ITEM_SETTLED = Q(run__state=RunState.ASSESSED) | DEFENSE_FAULT


def settled_items() -> QuerySet[RunItem]:
    """Return what runs need not be waited for any more: answered and looked at for breaks, or ended by a fault of the
    defense itself. Faults of the platform still wait for another try, and the answers of a re-run for it to be
    applied."""
    return places_in_force().filter(ITEM_SETTLED)


def items_given_up() -> QuerySet[RunItem]:
    """Return what runs gave up by a fault of the platform: it gets no answer until a person has it tried again."""
    return places_in_force().filter(run__state=RunState.DEAD, run__fault__in=PLATFORM_FAULTS)


@dataclass(frozen=True, slots=True)
class Throughput:
    """The time of the latest answers: `batch_ms` is the median of their batches, in milliseconds, on `device`."""

    pictures_per_second: float
    batch_ms: float
    device: str


def throughput(answers: QuerySet[Prediction]) -> Throughput | None:
    """Return how fast the latest LATEST_ANSWERS of `answers` came, on the device of the newest; None without any."""
    rows = answers.order_by("-pk").values_list("item__run", "attempt", "batch", "latency_us", "device")
    latest = list(rows[:LATEST_ANSWERS])
    if not latest:
        return None
    device = latest[0][-1]
    on_device = [row for row in latest if row[-1] == device]
    # Every row of a batch has the batch's time.
    batches = {row[:3]: max(row[3], 1) for row in on_device}
    seconds = sum(batches.values()) / 1e6
    return Throughput(len(on_device) / seconds, median(batches.values()) / 1000, device)
