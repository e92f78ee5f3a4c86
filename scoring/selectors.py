"""Questions to the tables of scoring."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, F, Max, Min, OuterRef, Q, QuerySet

from adjudication.enums import Verdict
from adjudication.models import Ruling
from scoring.enums import RunState
from scoring.models import Defense, Prediction, Run, RunItem

Runs = QuerySet[Run]


@dataclass(frozen=True, slots=True)
class Waiting:
    """A picture that a defense has not been asked about in some round, and the ruling that asks for it."""

    ruling_id: int
    image_id: int
    width: int


def defenses_in_force() -> list[Defense]:
    """Return the published defenses, the newest version of each name, in the order of publication."""
    published = Defense.objects.filter(published_at__isnull=False, retired_at__isnull=True)
    return list(published.order_by("published_at", "id"))


def pictures_without_run(defense_id: int, number: int, after: int, most: int) -> list[Waiting]:
    """Return at most `most` pictures whose newest ruling is valid, was given after ruling `after`, and whose round
    `number` with this defense is in no run; in the order of their rulings."""
    newer = Ruling.objects.filter(image=OuterRef("image"), number__gt=OuterRef("number"))
    planned = RunItem.objects.filter(defense=defense_id, round=number, image=OuterRef("image"))
    waiting = Ruling.objects.filter(~Exists(newer), ~Exists(planned), verdict=Verdict.VALID, pk__gt=after)
    rows = waiting.order_by("pk").values_list("pk", "image_id", "image__width")[:most]
    return [Waiting(*row) for row in rows]


def runs_waiting(*, now: datetime) -> Runs:
    """Return the queued runs that may start at `now`."""
    return Run.objects.filter(Q(not_before__isnull=True) | Q(not_before__lte=now), state=RunState.QUEUED)


def run_items(run: Run) -> list[RunItem]:
    """Return the run's plan with its pictures, in order."""
    return list(RunItem.objects.filter(run=run).select_related("image").order_by("position"))


def runs_without_assessment() -> Runs:
    """Return the finished runs whose answers nobody has looked at for breaks, oldest first."""
    finished = Run.objects.filter(state=RunState.FINISHED)
    return finished.select_related("defense").order_by("finished_at", "id")


def predictions_of_run(run: Run) -> list[Prediction]:
    """Return what a run's defense answered, in the order of its plan."""
    return list(Prediction.objects.filter(item__run=run).select_related("image").order_by("batch", "row"))


def is_randomised(defense: Defense) -> bool:
    """Say whether this defense gave one picture different answers in different rounds (R29)."""
    answers = Prediction.objects.filter(defense=defense).order_by().values("image")
    return answers.annotate(low=Min("answer"), high=Max("answer")).filter(low__lt=F("high")).exists()
