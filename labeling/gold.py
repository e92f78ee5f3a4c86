"""Draws gold pictures for taskers, and marks their answers by comparing them with the known ones (R5, R6)."""

from dataclasses import dataclass
from datetime import datetime
from random import Random

from django.db import connection, models

from common.database.lookups import Parameter, PreparedInsert, PreparedStatement
from labeling.answers import FormAnswers
from labeling.enums import Answer, KnownUse
from labeling.marking import AnswerMarks, RightAnswers, TaskerAnswers, mark
from labeling.models import GoldMark, Image, KnownPicture, Response, Tasker
from labeling.outlines import iou_percent
from labeling.selectors import PICTURE, new_to_tasker

# One of so many least used gold pictures is drawn: enough to be unpredictable.
GOLD_DRAWN_FROM = 64


# Read in the order of an index and looked up one by one until enough are found: a slower claim would reveal gold (R8).
_gold_for = PreparedStatement(
    "gold_for",
    f"""
    SELECT k.id, k.panel_id, k.image_id, i.pixels_sha256, i.width, i.height
    FROM (SELECT g.id, g.panel_id, g.image_id FROM labeling_knownpicture g
          WHERE g.use = '{KnownUse.GOLD}' AND g.retired_at IS NULL AND g.held_at IS NULL AND g.uses < %s
            AND {new_to_tasker("g.image_id")}
            AND (SELECT s.id FROM labeling_image s
                 WHERE s.id = g.image_id AND s.width = %s AND s.height = %s) IS NOT NULL
          ORDER BY g.uses, g.id LIMIT {GOLD_DRAWN_FROM}) AS k
    JOIN labeling_image i ON i.id = k.image_id""",
    [
        Parameter("most_uses", models.IntegerField()),
        Parameter("tasker", models.BigIntegerField()),
        Parameter("width", models.IntegerField()),
        Parameter("height", models.IntegerField()),
    ],
)


@dataclass(frozen=True, slots=True)
class GoldPicture:
    """A gold picture that can be dealt: the known picture, its settled panel, and its image."""

    known_id: int
    panel_id: int
    image: Image


def gold_for(tasker: Tasker, instead_of: Image, most_uses: int, rng: Random) -> GoldPicture | None:
    """Draw one of the least used gold pictures that this tasker has never had, below the cap (R6).

    It has the size of the picture that it is dealt instead of: another policy may ask for other sizes (R2).
    """
    rows = _gold_for.rows(tasker=tasker.pk, most_uses=most_uses, width=instead_of.width, height=instead_of.height)
    if not rows:
        return None
    known, panel, *picture = rng.choice(sorted(rows))  # a fixed order, so that a seed repeats
    return GoldPicture(known, panel, Image.from_db(connection.alias, PICTURE, picture))


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
