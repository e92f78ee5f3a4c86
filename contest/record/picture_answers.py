"""Prepares the taskers' answers and outlines of a picture, and its rulings, for pages (R13-R15, R19)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt
from typing import Any

from django.db.models import Q

from adjudication.enums import DecidedBy
from adjudication.models import Ruling
from adjudication.services import opinions_of, verdict_policy
from adjudication.wording import reason_name, verdict_words
from contest.board.models import Appeal
from contest.record.certificate import QUESTIONS, Certificate, CertificateLine, box_fraction, certificate_of, percent
from labeling.enums import Answer
from labeling.geometry import HUNDREDTHS_PER_PIXEL, Box
from labeling.models import Image, Response
from labeling.outlines import drawn_outline
from labeling.wording import ANSWERS
from policy.numbers import Policy
from policy.selectors import PolicyInForce

# A colour and a pattern for each outline; more begin again, with their numbers beside them.
LOOKS = 9
LATEST_ANSWERS = 400
# CSS pixels that a picture has on a desk and on a phone.
WIDE, NARROW = 600, 358
_SHORT = {answer: str(short) for answer, _, short in ANSWERS}
QUESTION_WORDS = {
    "bird": "1 Bird",
    "bicycle": "2 Bicycle",
    "outline": "3 Outline",
    "complete": "4 Complete",
    "unoccluded": "4 Not occluded",
    "real": "4 Real",
}


@dataclass(frozen=True, slots=True)
class AnswerShown:
    """One response as the page draws it. `number` is its key, `look` its colour and pattern, both from 1 on."""

    number: int
    response: Response
    path: str
    box: Box | None
    share: Fraction | None
    stands: str

    @property
    def look(self) -> int:
        """Return which colour and pattern the outline has."""
        return (self.number - 1) % LOOKS + 1

    @property
    def tasker(self) -> str:
        """Return the public ID of who answered (R4)."""
        return self.response.tasker.public_id

    @property
    def label_at(self) -> tuple[float, float] | None:
        """Return where the number stands above the outline, in pixels; numbers of the same outline side by side."""
        if self.box is None:
            return None
        beside = 2 + 9 * ((self.number - 1) % 3)
        return self.box.xmin / HUNDREDTHS_PER_PIXEL + beside, max(self.box.ymin / HUNDREDTHS_PER_PIXEL - 3, 10)


def panel_answers(image: Image, rulings: Sequence[Ruling]) -> list[AnswerShown]:
    """Return what was answered up to the newest of `rulings`, which are all on the picture, panel by panel; what
    taskers say now waits for the next one.

    Gold answers are no part of it.
    """
    if not rulings:
        return []
    counted = {pk for each in rulings for pk in each.response_ids}
    told = Q(pk__in=counted) | Q(submitted_at__lte=rulings[-1].decided_at, assignment__known__isnull=True)
    rows = Response.objects.filter(told, image=image).select_related("tasker", "panel", "place", "voided")
    ordered = sorted(rows, key=lambda row: (row.panel.number, row.place.number if row.place else 99, row.pk))
    return [_answer_shown(number, row, counted, image) for number, row in enumerate(ordered, start=1)]


def _answer_shown(number: int, row: Response, counted: set[int], image: Image) -> AnswerShown:
    opinion = opinions_of([row])[0]
    share = box_fraction(opinion, width=image.width, height=image.height)
    return AnswerShown(number, row, drawn_outline(row.outline), opinion.box, share, _state_in_words(row, counted))


def _state_in_words(row: Response, counted: set[int]) -> str:
    if getattr(row, "voided", None) is not None:
        return "taken out, does not count (R6)"
    if row.place_id is None:
        return "came late, does not count (R8)"
    return f"panel {row.panel.number}" if row.pk in counted else f"panel {row.panel.number}, no ruling counts it"


def answer_cell(shown: AnswerShown, question: str) -> str:
    """Return what was answered to a question, in words."""
    row = shown.response
    if question in ("bird", "bicycle"):
        return _SHORT[Answer(getattr(row, f"contains_{question}"))]
    if question == "outline":
        return "none" if shown.share is None else f"box {percent(shown.share)}"
    said = getattr(row, question)
    return "not answered" if said is None else ("true" if said else "false")


# One answer to one question, and in words which rules it fails.
_Cell = tuple[str, tuple[str, ...]]
# A rule of a certificate, and whose answers fail it.
_Line = tuple[CertificateLine, tuple[AnswerShown, ...]]


@dataclass(frozen=True, slots=True)
class RulingShown:
    """A ruling, the answers it counted side by side, and its certificate. `as_answered` says that the answers give the
    same; where the board overruled them they do not. `same_as` is an earlier ruling with the same certificate."""

    ruling: Ruling
    columns: tuple[AnswerShown, ...]
    rows: tuple[tuple[str, tuple[_Cell, ...]], ...]
    lines: tuple[_Line, ...]
    decision_words: str
    as_answered: bool
    least: Fraction
    version: int
    same_as: int = 0

    @property
    def words(self) -> str:
        """Return the ruling in words."""
        return self.ruling.words

    @property
    def by_board(self) -> bool:
        """Say whether the board made it (R20)."""
        return self.ruling.decided_by == DecidedBy.BOARD


def rulings_with_answers(image: Image, rulings: Iterable[Ruling], answers: Sequence[AnswerShown]) -> list[RulingShown]:
    """Return the rulings on a picture, each with the panel it counted; both panels stay on record (R19)."""
    by_id = {each.response.pk: each for each in answers}
    found: list[RulingShown] = []
    for row in rulings:
        shown = _ruling(row, [by_id[pk] for pk in row.response_ids], image) if row.response_ids else _bare(row)
        same = (each.ruling.number for each in found if (each.columns, each.lines) == (shown.columns, shown.lines))
        found.append(replace(shown, same_as=next(same, 0)))
    return found


def _ruling(ruling: Ruling, columns: Sequence[AnswerShown], image: Image) -> RulingShown:
    recorded = PolicyInForce(ruling.policy_id, ruling.policy.version, Policy.from_json(ruling.policy.numbers))
    policy, opinions = verdict_policy(recorded), opinions_of(each.response for each in columns)
    found = certificate_of(opinions, policy, width=image.width, height=image.height)
    decision = found.decision
    gives = (decision.verdict, decision.label or "", list(decision.reasons))
    return RulingShown(
        ruling=ruling,
        columns=tuple(columns),
        rows=tuple((QUESTION_WORDS[each], _cells(each, columns, found)) for each in QUESTIONS),
        lines=tuple((line, tuple(columns[place] for place in line.whose)) for line in found.lines),
        decision_words=verdict_words(*gives),
        as_answered=gives == (ruling.verdict, ruling.label, ruling.reasons),
        least=policy.min_box_fraction,
        version=recorded.version,
    )


def _bare(ruling: Ruling) -> RulingShown:
    """Return a ruling without recorded answers: one that was imported."""
    words = ruling.words
    least = Policy.from_json(ruling.policy.numbers).min_box_fraction
    return RulingShown(ruling, (), (), (), words, True, least, ruling.policy.version)


def _cells(question: str, columns: Sequence[AnswerShown], found: Certificate) -> tuple[_Cell, ...]:
    return tuple(
        (answer_cell(each, question), tuple(map(reason_name, found.cells.get((place, question), ()))))
        for place, each in enumerate(columns)
    )


@dataclass(frozen=True, slots=True)
class SmallestBox:
    """The smallest box that a ruling counted, as rectangles in pixels: itself, and one of its shape that covers exactly
    the share that is asked for."""

    x: float
    y: float
    width: float
    height: float
    share: Fraction
    number: int
    least: Fraction
    limit: tuple[float, float, float, float]

    @property
    def percent(self) -> str:
        """Return the share with two decimals, rounded down."""
        return percent(self.share)

    @property
    def min_percent(self) -> str:
        """Return the share that is asked for."""
        return percent(self.least)

    @property
    def is_enough(self) -> bool:
        """Say whether it is large enough (R14)."""
        return self.share >= self.least

    @property
    def bar(self) -> tuple[float, float]:
        """Return both shares on a bar of 100."""
        return float(self.share * 100), float(self.least * 100)


def smallest_box_of(shown: RulingShown, image: Image) -> SmallestBox | None:
    """Return the smallest box of a ruling (R14); None where nobody outlined anything."""
    boxed = [(each.share, each.number, each.box) for each in shown.columns if each.box is not None and each.share]
    if not boxed:
        return None
    share, number, box = min(boxed, key=lambda each: (each[0], each[1]))
    sides = ((box.xmax - box.xmin) / HUNDREDTHS_PER_PIXEL, (box.ymax - box.ymin) / HUNDREDTHS_PER_PIXEL)
    corner = (box.xmin / HUNDREDTHS_PER_PIXEL, box.ymin / HUNDREDTHS_PER_PIXEL)
    limit = _limit(corner, sides, float(shown.least) * image.width * image.height, image)
    return SmallestBox(*corner, *sides, share, number, shown.least, limit)


def _limit(
    corner: tuple[float, float], sides: tuple[float, float], area: float, image: Image
) -> tuple[float, float, float, float]:
    """Return the rectangle of that area around the same middle and of the same shape, as far as the picture has room:
    for the eye alone, the rule is decided in whole numbers."""
    grow = sqrt(area / (sides[0] * sides[1]))
    width = min(max(sides[0] * grow, area / image.height), image.width)
    height = area / width
    x = min(max(corner[0] + (sides[0] - width) / 2, 0), image.width - width)
    y = min(max(corner[1] + (sides[1] - height) / 2, 0), image.height - height)
    return round(x, 2), round(y, 2), round(width, 2), round(height, 2)


def marks_of(appeals: Iterable[Appeal]) -> list[dict[str, Any]]:
    """Return the rectangles that appeals draw on the picture, with their numbers on the page: m1, m2, as their teams
    number them. Bare numbers are those of outlines."""
    marks = [mark for each in appeals for mark in each.marks]
    return [{**mark, "number": f"m{place}"} for place, mark in enumerate(marks, start=1)]


def zoom_of(side: int, room: int) -> int:
    """Return the largest whole number of screen pixels for each of the picture's that fits; CSS knows up to 8."""
    return max(1, min(room // side, 8))
