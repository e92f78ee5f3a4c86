"""The status of an answer as its tasker sees it (R6, R8); gold looks like any other."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from django.db.models import Min

from labeling.models import Response, Tasker, Voiding
from labeling.submission import SubmittedResponse


class AnswerState(StrEnum):
    """COUNTED: on the panel; SURPLUS: kept, not counted, because it came when the place was somebody else's, the
    picture was kept out, or its tasker was paused (R8); VOIDED: by an organizer."""

    COUNTED = "counted"
    SURPLUS = "surplus"
    VOIDED = "voided"


@dataclass(frozen=True, slots=True)
class AnswerStatus:
    """The state of an answer, and the published reason if it was voided."""

    state: AnswerState
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Span:
    """The time from the first answer that a voiding took out until the voiding itself."""

    first: datetime
    last: datetime
    reason: str


def standing_reader(tasker: Tasker) -> Callable[[Response], AnswerStatus]:
    """Return a function from a tasker's response to its status; responses come with `assignment` and `voided__voiding`.

    Gold holds no place, so there is nothing to void. Its status is voided nevertheless where the answers around it
    are voided: a single counted answer among them would be recognized as gold.
    """
    spans = _spans(tasker)

    def standing(response: Response) -> AnswerStatus:
        voided = getattr(response, "voided", None)
        if voided is not None:
            return AnswerStatus(AnswerState.VOIDED, voided.voiding.reason)
        if not SubmittedResponse(response, repeated=True).counted:
            return AnswerStatus(AnswerState.SURPLUS)
        return _like_those_around(response, spans) if response.place_id is None else AnswerStatus(AnswerState.COUNTED)

    return standing


def _spans(tasker: Tasker) -> list[_Span]:
    voidings = Voiding.objects.filter(tasker=tasker, responses__isnull=False)
    first = voidings.annotate(first=Min("responses__response__submitted_at")).order_by("voided_at")
    return [_Span(*row) for row in first.values_list("first", "voided_at", "reason")]


def _like_those_around(gold: Response, spans: list[_Span]) -> AnswerStatus:
    reasons = (span.reason for span in spans if span.first <= gold.submitted_at <= span.last)
    reason = next(reasons, None)
    return AnswerStatus(AnswerState.COUNTED) if reason is None else AnswerStatus(AnswerState.VOIDED, reason)
