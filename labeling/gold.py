"""Marks taskers' answers on gold pictures by comparing them with the known answers (R5, R6)."""

from datetime import datetime

from common.database.lookups import PreparedInsert
from labeling.answers import FormAnswers
from labeling.enums import Answer
from labeling.marking import AnswerMarks, RightAnswers, TaskerAnswers, mark
from labeling.models import GoldMark, KnownPicture, Response
from labeling.outlines import iou_percent


def known_answers(known: KnownPicture) -> RightAnswers:
    """Return the right answers of a known picture as input of marking."""
    return RightAnswers(
        accepts_bird=frozenset(map(Answer, known.accepts_bird)),
        accepts_bicycle=frozenset(map(Answer, known.accepts_bicycle)),
        outline=bool(known.outline),
        min_iou_percent=known.min_iou_percent,
        complete=known.complete,
        unoccluded=known.unoccluded,
        real=known.real,
    )


def marks_of_answers(answers: FormAnswers, known: KnownPicture) -> AnswerMarks:
    """Mark the answers of a validated form."""
    outline = answers.outline.json if answers.outline else ""
    overlap = iou_percent(outline, known.outline)
    said = TaskerAnswers(answers.bird, answers.bicycle, overlap, answers.complete, answers.unoccluded, answers.real)
    return mark(said, known_answers(known))


def mark_gold(*, response: Response, known: KnownPicture, answers: FormAnswers, now: datetime) -> GoldMark:
    """Mark a response to a gold picture, in the transaction that stores it."""
    marks = marks_of_answers(answers, known)
    return _add_mark(
        {
            "response": response,
            "known": known,
            "tasker_id": response.tasker_id,
            "right": marks.right,
            "marks": marks.questions,
            "iou_percent": marks.iou_percent,
            "marked_at": now,
        }
    )


# Prepared like the statement for an ordinary response, so that the time it takes does not reveal gold (R8).
_add_mark = PreparedInsert("add_gold_mark", GoldMark)
