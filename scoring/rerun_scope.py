"""The scope of a re-run: which predictions of a defense are repeated."""

from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple, Self

from django.db.models import Count, Max, QuerySet

from common.errors import Conflict, InvalidInput
from scoring import rules
from scoring.enums import RerunState, RunState
from scoring.models import Defense, Prediction, Run, RunItem
from scoring.selectors import predictions_in_force

_SPANS = ("received", "answered")


@dataclass(frozen=True, slots=True)
class Scope:
    """Which answers are repeated, also in `words`: those in force, narrowed by every field that is set.

    `received` and `answered` are half-open spans of time: when the picture was received, when the answer came. `run`
    means everything that one run was asked, answered or not. `newest` and `unfinished` freeze a scope: answers
    with a higher number, and those of runs that a scorer had then, came later and are excluded.
    """

    words: str
    received: tuple[datetime, datetime] | None = None
    answered: tuple[datetime, datetime] | None = None
    device: str = ""
    run: int | None = None
    newest: int | None = None
    unfinished: tuple[int, ...] = ()

    def to_record(self) -> dict[str, Any]:
        """Return the scope as JSON can hold it; the ends of spans are ISO 8601 strings."""
        spans = {name: getattr(self, name) for name in _SPANS}
        return asdict(self) | {name: [end.isoformat() for end in span] for name, span in spans.items() if span}

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Self:
        """Return the scope that `to_record` wrote down."""
        spans = {name: tuple(map(datetime.fromisoformat, record[name])) for name in _SPANS if record[name]}
        return cls(**record | spans | {"unfinished": tuple(record["unfinished"])})


class RunKind(NamedTuple):
    """Answers that may stand in one run: of one round, with one batch size, and of one size of pictures."""

    round: int
    batch_size: int
    fresh: bool
    width: int


_COLUMNS = ("round", "run__batch_size", "run__fresh", "image__width")


def frozen_scope(defense: Defense, scope: Scope) -> Scope:
    """Return a scope that always means the same answers, whatever is answered from now on.

    This is true only as long as no re-run of the defense is applied.
    """
    # In this order. A run keeps all its answers at once, so that some with lower numbers may still be on their way
    # when the newest number is read; their run is then with a scorer, or its answers can be seen by now.
    newest = Prediction.objects.aggregate(newest=Max("pk"))["newest"] or 0
    running = Run.objects.filter(defense=defense, state=RunState.RUNNING).order_by("pk")
    return replace(scope, newest=newest, unfinished=tuple(running.values_list("pk", flat=True)))


def items_in_scope(defense: Defense, scope: Scope) -> QuerySet[RunItem]:
    """Return the places in plans whose answers `scope` means; Conflict for a run that cannot be repeated yet."""
    if scope.run is not None:
        return RunItem.objects.filter(run=_run_to_repeat(defense, scope.run))
    answers = predictions_in_force().filter(defense=defense)
    if scope.received:
        answers = answers.filter(image__received_at__gte=scope.received[0], image__received_at__lt=scope.received[1])
    if scope.answered:
        answers = answers.filter(predicted_at__gte=scope.answered[0], predicted_at__lt=scope.answered[1])
    if scope.device:
        answers = answers.filter(device=scope.device)
    if scope.newest is not None:
        answers = answers.filter(pk__lte=scope.newest).exclude(item__run__in=scope.unfinished)
    return RunItem.objects.filter(prediction__in=answers)


def _run_to_repeat(defense: Defense, number: int) -> Run:
    run = Run.objects.select_related("rerun").filter(pk=number, defense=defense).first()
    if run is None:
        raise InvalidInput("This defense has no run with this number.", "invalid", field="run")
    if run.rerun is not None and run.rerun.state != RerunState.APPLIED:
        raise Conflict("This run belongs to a re-run that was not applied: its answers do not count.", "not_in_force")
    answered = run.state in (RunState.FINISHED, RunState.ASSESSED)
    final = run.state == RunState.DEAD and run.fault in rules.DEFENSE_FAULTS
    if not answered and not final:
        raise Conflict(
            "This run has no answers yet. Wait for it, or try it again from the page of the scoring queue.", "run_open"
        )
    return run


def kinds(items: QuerySet[RunItem]) -> dict[RunKind, int]:
    """Return how many of `items` there are of each kind, in the order in which they are planned."""
    rows = items.order_by(*_COLUMNS).values_list(*_COLUMNS).annotate(count=Count("pk"))
    return {RunKind(*kind): count for *kind, count in rows}


def images_of(items: QuerySet[RunItem], kind: RunKind, *, after: int) -> list[int]:
    """Return the numbers of the pictures of one kind above `after`, ascending."""
    alike = items.filter(**dict(zip(_COLUMNS, kind, strict=True)), image__gt=after)
    return list(alike.order_by("image").values_list("image", flat=True))
