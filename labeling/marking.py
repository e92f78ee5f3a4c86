"""Compares an answer with the right one, question by question (R5, R6). Pure."""

from collections.abc import Collection
from dataclasses import dataclass

from labeling.enums import Answer

STATEMENTS = ("complete", "unoccluded", "real")


@dataclass(frozen=True, slots=True)
class RightAnswers:
    """The right answers of a picture: what counts as right in questions 1 and 2, and a fact for each statement.

    `outline` says whether something is to be outlined; None for a statement that is not asked, and so not marked.
    """

    accepts_bird: Collection[Answer]
    accepts_bicycle: Collection[Answer]
    outline: bool
    min_iou_percent: int
    complete: bool | None
    unoccluded: bool | None
    real: bool | None


@dataclass(frozen=True, slots=True)
class TaskerAnswers:
    """A tasker's answers. `iou_percent` is the outlines' overlap (intersection over union), None without both."""

    bird: Answer
    bicycle: Answer
    iou_percent: float | None
    complete: bool | None
    unoccluded: bool | None
    real: bool | None


@dataclass(frozen=True, slots=True)
class AnswerMarks:
    """Right or wrong for each question that has a right answer, in the order of the form."""

    questions: dict[str, bool]
    iou_percent: float | None

    @property
    def right(self) -> bool:
        """Say whether the answer is fully right."""
        return all(self.questions.values())


def mark(said: TaskerAnswers, known: RightAnswers) -> AnswerMarks:
    """Mark one answer. Where nothing is to be outlined, an outline is neither right nor wrong: the mistake is in
    questions 1 and 2. Where right answers to these did not lead to questions 3 and 4 (R10), nothing is missing."""
    questions = {
        "contains_bird": said.bird in known.accepts_bird,
        "contains_bicycle": said.bicycle in known.accepts_bicycle,
    }
    if all(questions.values()) and said.complete is said.unoccluded is said.real is None:
        return AnswerMarks(questions, said.iou_percent)
    if known.outline:
        questions["outline"] = said.iou_percent is not None and said.iou_percent >= known.min_iou_percent
    for name in STATEMENTS:
        right = getattr(known, name)
        if right is not None:
            questions[name] = getattr(said, name) is right
    return AnswerMarks(questions, said.iou_percent)
