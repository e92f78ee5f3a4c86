"""Statistics of learning for organizers: pictures, learners, versions of the instructions."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Q

from labeling.enums import KnownUse, TaskerState
from labeling.learning import selectors, wording
from labeling.models import InstructionVersion, KnownPicture, Tasker
from labeling.outlines import drawn_outline
from labeling.pictures.addresses import picture_url
from policy.numbers import Policy


@dataclass(frozen=True, slots=True)
class QuestionTally:
    """How often something was answered, and how often fully right."""

    asked: int
    right: int

    @property
    def percent(self) -> int | None:
        """Return the share fully right in whole percent; None before the first answer."""
        return round(100 * self.right / self.asked) if self.asked else None


def known_picture_rows(use: KnownUse, now: datetime) -> list[dict[str, Any]]:
    """Return the known pictures of one use in their order, retired ones last, with how they were answered."""
    answered = Count("items", filter=Q(items__answered_at__isnull=False))
    rows = KnownPicture.objects.filter(use=use).select_related("image")
    rows = rows.annotate(asked=answered, right=Count("items", filter=Q(items__right=True)))
    return [
        {
            "known": known,
            "url": picture_url(known.image, now=now),
            "path": drawn_outline(known.outline),
            "topic": str(wording.TOPICS[known.topic]),
            "expected": "; ".join(
                f"{row.question} {row.expected}" for row in wording.expected_rows(known) if row.name != "outline"
            ),
            "tally": QuestionTally(known.asked, known.right),
        }
        for known in rows.order_by("retired_at", "position", "id")
    ]


def topic_tallies(rows: list[dict[str, Any]]) -> list[tuple[str, QuestionTally]]:
    """Return how each topic was answered, the hardest first."""
    tallies: dict[str, QuestionTally] = {}
    for row in rows:
        sofar, more = tallies.get(row["topic"], QuestionTally(0, 0)), row["tally"]
        tallies[row["topic"]] = QuestionTally(sofar.asked + more.asked, sofar.right + more.right)
    return sorted(tallies.items(), key=lambda pair: (pair[1].percent is None, pair[1].percent, pair[0]))


def learners(policy: Policy, now: datetime) -> list[dict[str, Any]]:
    """Return all taskers who are learning, newest first: their progress, and when they may go on."""
    found = Tasker.objects.filter(state=TaskerState.LEARNING, left_at__isnull=True).order_by("-created_at", "public_id")
    return [_learner(tasker, policy, now) for tasker in found]


def _learner(tasker: Tasker, policy: Policy, now: datetime) -> dict[str, Any]:
    attempts = selectors.attempts_of(tasker)
    earliest = selectors.next_try_from(attempts, policy)
    return {
        "tasker": tasker,
        "lessons": len(selectors.lessons_seen(tasker)),
        "attempts": [attempt for attempt in attempts if attempt.finished_at],
        "open": any(attempt.finished_at is None for attempt in attempts),
        "wait_until": earliest if earliest and now < earliest else None,
    }


def instruction_versions() -> list[InstructionVersion]:
    """Return every version of the instructions, newest first."""
    return list(InstructionVersion.objects.select_related("published_by").order_by("-version"))


def asked_again_by(requalify: bool) -> int:
    """Return how many qualified taskers would need a short qualification after a new version."""
    return Tasker.objects.filter(state=TaskerState.QUALIFIED, left_at__isnull=True).count() if requalify else 0
