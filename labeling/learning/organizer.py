"""Statistics of learning for organizers: pictures, learners, versions of the instructions."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q

from labeling.enums import KnownUse, TaskerState
from labeling.learning import selectors, wording
from labeling.models import InstructionVersion, KnownPicture, QualificationAttempt, Tasker
from labeling.outlines import drawn_outline
from labeling.pictures.addresses import picture_url
from policy.numbers import Policy


@dataclass(frozen=True, slots=True)
class QuestionTally:
    """How often something was asked and answered fully right."""

    asked: int
    right: int

    @property
    def percent(self) -> int | None:
        """Return the share fully right in whole percent; None before the first answer."""
        return round(100 * self.right / self.asked) if self.asked else None


@dataclass(frozen=True, slots=True)
class PictureRow:
    """A known picture with what became of the answers to it."""

    known: KnownPicture
    url: str
    path: str
    topic: str
    expected: str
    tally: QuestionTally


@dataclass(frozen=True, slots=True)
class Learner:
    """Somebody who learns: how far they came, and when they may go on."""

    tasker: Tasker
    lessons: int
    attempts: list[QualificationAttempt]
    open: bool
    wait_until: datetime | None


def picture_rows(use: KnownUse, now: datetime) -> list[PictureRow]:
    """Return the known pictures of one use in their order, the retired ones last."""
    answered = Count("items", filter=Q(items__answered_at__isnull=False))
    rows = KnownPicture.objects.filter(use=use).select_related("image")
    rows = rows.annotate(asked=answered, right=Count("items", filter=Q(items__right=True)))
    return [_picture_row(known, now) for known in rows.order_by("retired_at", "position", "id")]


def _picture_row(known: KnownPicture, now: datetime) -> PictureRow:
    said = [f"{row.question} {row.expected}" for row in wording.expected_rows(known) if row.name != "outline"]
    return PictureRow(
        known,
        picture_url(known.image, now=now),
        drawn_outline(known.outline),
        str(wording.TOPICS[known.topic]),
        "; ".join(said),
        QuestionTally(known.asked, known.right),  # type: ignore[attr-defined]  # annotated above
    )


def topic_tallies(rows: list[PictureRow]) -> list[tuple[str, QuestionTally]]:
    """Return how each topic fares, the hardest first."""
    sums: dict[str, list[QuestionTally]] = defaultdict(list)
    for row in rows:
        sums[row.topic].append(row.tally)
    tallies = [
        (topic, QuestionTally(sum(t.asked for t in each), sum(t.right for t in each))) for topic, each in sums.items()
    ]
    return sorted(tallies, key=lambda pair: (pair[1].percent is None, pair[1].percent, pair[0]))


def learners(policy: Policy, now: datetime) -> list[Learner]:
    """Return everybody who learns, newest first."""
    found = Tasker.objects.filter(state=TaskerState.LEARNING, left_at__isnull=True).order_by("-created_at", "public_id")
    return [_learner(tasker, policy, now) for tasker in found]


def _learner(tasker: Tasker, policy: Policy, now: datetime) -> Learner:
    attempts = selectors.attempts_of(tasker)
    earliest = selectors.next_try_from(attempts, policy)
    return Learner(
        tasker,
        len(selectors.lessons_seen(tasker)),
        [attempt for attempt in attempts if attempt.finished_at],
        any(attempt.finished_at is None for attempt in attempts),
        earliest if earliest and now < earliest else None,
    )


def instruction_versions() -> list[InstructionVersion]:
    """Return every version of the instructions, newest first."""
    return list(InstructionVersion.objects.select_related("published_by").order_by("-version"))


def asked_again_by(requalify: bool) -> int:
    """Return how many qualified taskers a new version would ask for a short qualification."""
    return Tasker.objects.filter(state=TaskerState.QUALIFIED, left_at__isnull=True).count() if requalify else 0
