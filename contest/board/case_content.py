"""What the page of a picture's case shows (R19): outlines, answers, certificates, appeals, and what came before.

Whoever calls this has let `contest.board.cases.case_opened_by` decide that the reader may see the case (R21).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from math import sqrt
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Q
from django.urls import reverse

from adjudication.enums import DecidedBy
from adjudication.models import Ruling
from adjudication.selectors import newest_rulings
from adjudication.services import opinions_of, rules_policy
from adjudication.wording import reason_name, verdict_words
from contest.board.certificate import QUESTIONS, Certificate, Line, certify, percent, share_of
from contest.board.recusal import cases_seen_by
from contest.board.telling import OUTCOME_WORDS
from contest.core.embargo import attacks_public, public_pictures
from contest.core.enums import CaseKind, CaseOutcome, CaseState
from contest.core.teams import teams_counted_together
from contest.models import Appeal, Attack, Case, NearDuplicate
from contest.models import Statement as StatementOfTeam
from labeling.enums import Answer
from labeling.geometry import HUNDREDTHS_PER_PIXEL, Box
from labeling.models import Image, Panel, Response
from labeling.pictures import picture_url
from labeling.policy import Policy
from labeling.selectors import PolicyInForce
from labeling.watching.drawing import drawn_outline
from labeling.watching.figures import Figures
from labeling.watching.reading import AnswerRow, Company, answer_rows, counted_on_complete_panels
from labeling.wording import ANSWERS

# A colour and a pattern for each outline; more begin again, with their numbers beside them.
LOOKS = 9
LATEST_ANSWERS = 400
# CSS pixels that a picture has on a desk and on a phone.
WIDE, NARROW = 600, 358
MOST_SIMILAR, MOST_COMPARED = 5, 300
_SHORT = {answer: str(short) for answer, _, short in ANSWERS}
QUESTION_WORDS = {
    "bird": "1 Bird",
    "bicycle": "2 Bicycle",
    "outline": "3 Outline",
    "complete": "4 Complete",
    "unoccluded": "4 Not hidden",
    "real": "4 Real",
}


# The answers ----------------------------------------------------------------------------------------------------------


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


def answers_of(image: Image) -> list[AnswerShown]:
    """Return what was answered up to the newest ruling, panel by panel; what taskers say now waits for the next one.

    Gold answers are no part of it.
    """
    newest = Ruling.objects.filter(image=image).order_by("-number").first()
    if newest is None:
        return []
    counted = {pk for ids in Ruling.objects.filter(image=image).values_list("response_ids", flat=True) for pk in ids}
    told = Q(pk__in=counted) | Q(submitted_at__lte=newest.decided_at, assignment__known__isnull=True)
    rows = Response.objects.filter(told, image=image).select_related("tasker", "panel", "place", "voided")
    ordered = sorted(rows, key=lambda row: (row.panel.number, row.place.number if row.place else 99, row.pk))
    return [_shown(number, row, counted, image) for number, row in enumerate(ordered, start=1)]


def _shown(number: int, row: Response, counted: set[int], image: Image) -> AnswerShown:
    opinion = opinions_of([row])[0]
    share = share_of(opinion, width=image.width, height=image.height)
    return AnswerShown(number, row, drawn_outline(row.outline), opinion.box, share, _stands(row, counted))


def _stands(row: Response, counted: set[int]) -> str:
    if getattr(row, "voided", None) is not None:
        return "taken out, does not count (R6)"
    if row.place_id is None:
        return "came late, does not count (R8)"
    return f"panel {row.panel.number}" if row.pk in counted else f"panel {row.panel.number}, no ruling counts it"


@dataclass(frozen=True, slots=True)
class Cell:
    """One answer to one question, and in words which rules it fails."""

    words: str
    fails: tuple[str, ...] = ()


def answer_cell(shown: AnswerShown, question: str) -> str:
    """Return what was answered to a question, in words."""
    row = shown.response
    if question in ("bird", "bicycle"):
        return _SHORT[Answer(getattr(row, f"contains_{question}"))]
    if question == "outline":
        return "none" if shown.share is None else f"box {percent(shown.share)}"
    said = getattr(row, question)
    return "not answered" if said is None else ("true" if said else "false")


# The rulings and their certificates -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CertifiedLine:
    """A rule of a certificate with whose answers fail it: (number on the page, public tasker ID)."""

    line: Line
    whose: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class RulingShown:
    """A ruling, the answers it counted side by side, and its certificate. `as_answered` says that the answers give the
    same; where the board overruled them they do not. `same_as` is an earlier ruling with the same certificate."""

    ruling: Ruling
    columns: tuple[AnswerShown, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    lines: tuple[CertifiedLine, ...]
    decision_words: str
    as_answered: bool
    least: Fraction
    version: int
    same_as: int = 0

    @property
    def words(self) -> str:
        """Return the ruling in words."""
        return verdict_words(self.ruling.verdict, self.ruling.label, self.ruling.reasons)

    @property
    def by_board(self) -> bool:
        """Say whether the board made it (R20)."""
        return self.ruling.decided_by == DecidedBy.BOARD


def rulings_of(image: Image, answers: Sequence[AnswerShown]) -> list[RulingShown]:
    """Return every ruling on a picture, each with the panel it counted; both panels stay on record (R19)."""
    by_id = {each.response.pk: each for each in answers}
    rows = Ruling.objects.filter(image=image).select_related("policy", "panel").order_by("number")
    found: list[RulingShown] = []
    for row in rows:
        shown = _ruling(row, [by_id[pk] for pk in row.response_ids], image) if row.response_ids else _bare(row)
        same = (each.ruling.number for each in found if (each.columns, each.lines) == (shown.columns, shown.lines))
        found.append(replace(shown, same_as=next(same, 0)))
    return found


def _ruling(ruling: Ruling, columns: Sequence[AnswerShown], image: Image) -> RulingShown:
    recorded = PolicyInForce(ruling.policy_id, ruling.policy.version, Policy.from_json(ruling.policy.numbers))
    policy, opinions = rules_policy(recorded), opinions_of(each.response for each in columns)
    found = certify(opinions, policy, width=image.width, height=image.height)
    decision = found.decision
    gives = (decision.verdict, decision.label or "", list(decision.reasons))
    return RulingShown(
        ruling=ruling,
        columns=tuple(columns),
        rows=tuple((QUESTION_WORDS[each], _cells(each, columns, found)) for each in QUESTIONS),
        lines=tuple(_certified(line, columns) for line in found.lines),
        decision_words=verdict_words(*gives),
        as_answered=gives == (ruling.verdict, ruling.label, ruling.reasons),
        least=policy.min_box_fraction,
        version=recorded.version,
    )


def _bare(ruling: Ruling) -> RulingShown:
    """A ruling that names no answers: one that was taken over from elsewhere."""
    words = verdict_words(ruling.verdict, ruling.label, ruling.reasons)
    least = Policy.from_json(ruling.policy.numbers).min_box_fraction
    return RulingShown(ruling, (), (), (), words, True, least, ruling.policy.version)


def _cells(question: str, columns: Sequence[AnswerShown], found: Certificate) -> tuple[Cell, ...]:
    return tuple(
        Cell(answer_cell(each, question), tuple(map(reason_name, found.cells.get((place, question), ()))))
        for place, each in enumerate(columns)
    )


def _certified(line: Line, columns: Sequence[AnswerShown]) -> CertifiedLine:
    return CertifiedLine(line, tuple((columns[place].number, columns[place].tasker) for place in line.whose))


# The smallest box -----------------------------------------------------------------------------------------------------


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
    def least_percent(self) -> str:
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


# How reliable who answered is -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Reliability:
    """Figures of who gave an answer, over their latest answers but those to this picture; no name is with them."""

    shown: AnswerShown
    figures: Figures


def reliability_of(answers: Iterable[AnswerShown], image: Image) -> list[Reliability]:
    """Return how often each tasker of these answers was right on gold and agreed with others (R6)."""
    return [Reliability(each, _figures(each.response.tasker_id, image)) for each in answers]


def _figures(tasker: int, image: Image) -> Figures:
    mine = Response.objects.filter(tasker=tasker).exclude(image=image)
    latest = mine.order_by("-submitted_at", "-pk").values_list("pk", flat=True)[:LATEST_ANSWERS]
    rows = list(answer_rows(Response.objects.filter(pk__in=list(latest))))
    beside: dict[int, list[AnswerRow]] = defaultdict(list)
    for row in answer_rows(counted_on_complete_panels().filter(panel__in={each.panel_id for each in rows})):
        beside[row.panel_id].append(row)
    found, others = Figures(), Company(beside, {})  # how outlines overlap is not shown, and takes the time
    for row in rows:
        found.add(row, others)
    return found


# What the sides say ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AppealShown:
    """An appeal with what became of the other appeals of its team that the reader may know of: how many there are, and
    how many of those that were decided led to another ruling."""

    appeal: Appeal
    others: int
    decided: int
    changed: int


def appeals_of(case: Case, member: User) -> list[AppealShown]:
    """Return the appeals of a case in the order in which they came."""
    rows = Appeal.objects.filter(case=case).select_related("team", "defense", "ruling").order_by("sent_at", "pk")
    return [_appeal(each, member) for each in rows]


def _appeal(appeal: Appeal, member: User) -> AppealShown:
    others = Appeal.objects.filter(team__in=teams_counted_together(appeal.team), case__in=cases_seen_by(member))
    cases = [each.case for each in others.exclude(pk=appeal.pk).select_related("case__ruling", "case__result")]
    closed = [each for each in cases if each.state == CaseState.CLOSED]
    return AppealShown(appeal, len(cases), len(closed), sum(map(_changed, closed)))


def _changed(case: Case) -> bool:
    was, holds = case.ruling, case.result
    return was is not None and holds is not None and (was.label, was.reasons) != (holds.label, holds.reasons)


def statements_of(case: Case) -> list[StatementOfTeam]:
    """Return what teams of the other side answered."""
    rows = StatementOfTeam.objects.filter(case=case).select_related("team")
    return list(rows.order_by("sent_at", "pk"))


@dataclass(frozen=True, slots=True)
class MarkShown:
    """A rectangle that an appeal draws on the picture, with its number on the page."""

    number: str
    x: float
    y: float
    width: float
    height: float
    words: str


def marks_of(appeals: Iterable[AppealShown]) -> list[MarkShown]:
    """Return the marks of appeals in order: m1, m2, as their teams number them."""
    marks = [mark for each in appeals for mark in each.appeal.marks]
    return [
        MarkShown(_mark_name(place), mark["x"], mark["y"], mark["width"], mark["height"], mark.get("words", ""))
        for place, mark in enumerate(marks)
    ]


def _mark_name(place: int) -> str:
    # Not the bare number: outlines have those.
    return f"m{place + 1}"


# Where it came from, and what happened --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Entry:
    """One sentence of the history, with where its evidence is."""

    at: datetime
    words: str
    link: str = ""


def attacks_with(image: Image, *, now: datetime) -> list[Attack]:
    """Return who sent a picture, as far as it is public: the board may see that (R3), but nothing under embargo."""
    rows = Attack.objects.filter(attacks_public(now=now), image=image).select_related("team")
    return list(rows.prefetch_related("targets").order_by("received_at", "pk"))


def history_of(image: Image, member: User, *, now: datetime) -> list[Entry]:
    """Return what happened with a picture, the newest last."""
    parts = (_origin(image, now), _panels(image), _rulings(image), _said(image, member), _cases(image, member))
    return sorted((each for part in parts for each in part), key=lambda entry: entry.at)


def _origin(image: Image, now: datetime) -> Iterator[Entry]:
    sent = attacks_with(image, now=now)
    for attack in sent:
        aimed = ", ".join(each.name for each in attack.targets.all()) or "all at stake"
        words = f"Team {attack.team.name} sent it in week {attack.week}, aimed at: {aimed}."
        yield Entry(attack.received_at, words, reverse("attack", args=[attack.public_id]))
    if not sent:
        by = f", by {image.author}" if image.author else ""
        yield Entry(image.received_at, f"Taken in from {image.source}{by}, licence {image.licence}.")


def _panels(image: Image) -> Iterator[Entry]:
    for panel in Panel.objects.filter(image=image).order_by("number"):
        size = panel.size - panel.joined
        first = f"Panel {panel.number}: {size} taskers were asked."
        yield Entry(panel.dealt_at, first if panel.number == 1 else f"{first} It replaces the one before (R19).")
        if panel.joined_at is not None:
            yield Entry(panel.joined_at, f"{panel.joined} more taskers were asked to join panel {panel.number} (R19).")


def _rulings(image: Image) -> Iterator[Entry]:
    for ruling in Ruling.objects.filter(image=image).order_by("number"):
        by = "The board" if ruling.decided_by == DecidedBy.BOARD else "The rules"
        words = verdict_words(ruling.verdict, ruling.label, ruling.reasons)
        yield Entry(ruling.decided_at, f"Ruling {ruling.number}. {by}: {words}.", f"#ruling-{ruling.number}")


def _said(image: Image, member: User) -> Iterator[Entry]:
    seen = cases_seen_by(member)
    for appeal in Appeal.objects.filter(image=image, case__in=seen).select_related("team", "case"):
        words = f"Team {appeal.team.name} appealed against it ({appeal.public_id}, {appeal.case.public_id})."
        yield Entry(appeal.sent_at, words, f"#appeal-{appeal.public_id}")
    for said in StatementOfTeam.objects.filter(case__image=image, case__in=seen).select_related("team", "case"):
        yield Entry(said.sent_at, f"Team {said.team.name} answered in case {said.case.public_id}.")


def _cases(image: Image, member: User) -> Iterator[Entry]:
    for case in cases_seen_by(member).filter(image=image).select_related("decision"):
        link = reverse("board-case", args=[case.public_id])
        yield Entry(case.opened_at, f"Case {case.public_id} was opened.", link)
        decision = getattr(case, "decision", None)
        if decision is not None:
            words = OUTCOME_WORDS[CaseOutcome(decision.outcome)]
            yield Entry(decision.decided_at, f"Case {case.public_id}: {words}.", link)


# What resembles it ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Similar:
    """A settled case like this one, with what came of it."""

    case: Case
    why: str
    outcome: str


def similar_to(case: Case, member: User) -> list[Similar]:
    """Return settled cases on rulings with the same outcome and the nearest smallest box, of those the reader may see.

    The newest MOST_COMPARED are compared.
    """
    ruling = case.ruling
    if ruling is None:
        return []
    rows = cases_seen_by(member).filter(kind=CaseKind.PICTURE, state=CaseState.CLOSED, ruling__verdict=ruling.verdict)
    rows = rows.exclude(pk=case.pk).select_related("ruling", "image", "decision", "result")
    newest = list(rows.order_by("-closed_at")[:MOST_COMPARED])
    alike = [(each, each.ruling) for each in newest if each.ruling is not None and _alike(each.ruling, ruling)]
    alike.sort(key=lambda pair: (pair[1].reasons != ruling.reasons, _apart(pair[1], ruling)))
    return [Similar(each, _why(theirs, ruling), _outcome(each)) for each, theirs in alike[:MOST_SIMILAR]]


def _alike(one: Ruling, other: Ruling) -> bool:
    return one.label == other.label and (not other.reasons or bool(set(one.reasons) & set(other.reasons)))


def _apart(one: Ruling, other: Ruling) -> Fraction:
    a, b = box_share(one), box_share(other)
    return abs(a - b) if a is not None and b is not None else Fraction(1)


def box_share(ruling: Ruling) -> Fraction | None:
    """Return the share of the smallest box that a ruling names, exactly."""
    if ruling.smallest_box_numerator is None or not ruling.smallest_box_denominator:
        return None
    return Fraction(ruling.smallest_box_numerator, ruling.smallest_box_denominator)


def _why(one: Ruling, other: Ruling) -> str:
    same = [reason_name(each) for each in other.reasons if each in one.reasons]
    what = f"also valid, a {one.label}" if one.label else f"also {', '.join(same)}"
    share = box_share(one)
    return f"{what}; smallest box {percent(share)}" if share is not None else what


def _outcome(case: Case) -> str:
    decision = getattr(case, "decision", None)
    if decision is None or case.result is None:
        return "closed"
    words = OUTCOME_WORDS[CaseOutcome(decision.outcome)]
    return f"{words}; now {verdict_words(case.result.verdict, case.result.label, case.result.reasons)}"


@dataclass(frozen=True, slots=True)
class Near:
    """A picture that looks like this one, with what holds of it."""

    image: Image
    url: str
    distance: int
    ruling: str


def near_to(image: Image, member: User, *, now: datetime) -> list[Near]:
    """Return the public pictures that look like this one, the nearest first (R26); none of a case that the reader
    steps aside from."""
    rows = NearDuplicate.objects.filter(Q(image=image) | Q(like=image)).select_related("image", "like")
    pairs = [(row.like if row.image_id == image.pk else row.image, row.distance) for row in rows]
    aside = Case.objects.exclude(pk__in=cases_seen_by(member).values("pk")).filter(image__isnull=False)
    shown = public_pictures(now=now).filter(pk__in=[other.pk for other, _ in pairs])
    known = set(shown.exclude(pk__in=aside.values("image")).values_list("pk", flat=True))
    rulings = newest_rulings(known)
    return [
        Near(other, picture_url(other, now=now), distance, _holds(rulings.get(other.pk)))
        for other, distance in sorted(pairs, key=lambda pair: (pair[1], pair[0].pk))
        if other.pk in known
    ]


def _holds(ruling: Ruling | None) -> str:
    return "no ruling yet" if ruling is None else verdict_words(ruling.verdict, ruling.label, ruling.reasons)


# All of it ------------------------------------------------------------------------------------------------------------


def picture_content(case: Case, member: User, *, now: datetime) -> dict[str, Any]:
    """Return what the page of a picture's case shows; the newest ruling last."""
    image = case.image
    assert image is not None, "a motion is about no picture"
    answers = answers_of(image)
    rulings = rulings_of(image, answers)
    appeals = appeals_of(case, member)
    holds = rulings[-1] if rulings else None
    smallest = smallest_box_of(holds, image) if holds else None
    return {
        "image": image,
        "url": picture_url(image, now=now),
        "answers": answers,
        "rulings": rulings,
        "holds": holds,
        "smallest": smallest,
        "zoom": zoom_of(image.width, WIDE),
        "zoom_phone": zoom_of(image.width, NARROW),
        "reliability": reliability_of((each for each in answers if each.response.place_id), image),
        "latest_answers": LATEST_ANSWERS,
        "appeals": appeals,
        "statements": statements_of(case),
        "marks": marks_of(appeals),
        "attacks": attacks_with(image, now=now),
        "history": history_of(image, member, now=now),
        "similar": similar_to(case, member),
        "near": near_to(image, member, now=now),
    }


def zoom_of(side: int, room: int) -> int:
    """Return the largest whole number of screen pixels for each of the picture's that fits; CSS knows up to 8."""
    return max(1, min(room // side, 8))
