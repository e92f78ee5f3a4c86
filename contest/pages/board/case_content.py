"""Template context of a case's page (R19): outlines, answers, certificates, appeals, similar cases.

The caller first checks with `contest.board.cases.case_opened_by` that the reader may see the case (R21).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from functools import partial
from typing import Any

from django.contrib.auth.models import User

from adjudication.models import Ruling
from adjudication.selectors import newest_rulings, rulings_with_panels
from adjudication.wording import reason_name
from contest.attacks.near_duplicates import near_duplicates_of
from contest.attacks.selectors import public_attacks_with
from contest.board.case_messages import OUTCOME_WORDS
from contest.board.models import Appeal
from contest.board.selectors import (
    appeals_of_case,
    closed_cases_like,
    other_appeals,
    pictures_open_to,
    statements_of_case,
)
from contest.core.enums import CaseOutcome, CaseState
from contest.core.models import Case
from contest.record.certificate import percent
from contest.record.picture_answers import (
    LATEST_ANSWERS,
    NARROW,
    WIDE,
    AnswerShown,
    marks_of,
    panel_answers,
    rulings_with_answers,
    smallest_box_of,
    zoom_of,
)
from contest.record.timeline.case import case_timeline
from labeling.models import Image
from labeling.pictures.addresses import picture_url
from monitoring.tasker_figures import PeriodStatistics, statistics_of_latest

MAX_SIMILAR, MAX_COMPARED = 5, 300


# Reliability of the taskers -------------------------------------------------------------------------------------------


def reliability_of(answers: Iterable[AnswerShown], image: Image) -> list[tuple[AnswerShown, PeriodStatistics]]:
    """Return for each answer how often its tasker was right on gold and agreed with others (R6), without names.

    Counts the tasker's latest answers, except those to this picture."""
    latest = partial(statistics_of_latest, but=image, limit=LATEST_ANSWERS)
    return [(each, latest(each.response.tasker_id)) for each in answers]


# Appeals --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AppealShown:
    """An appeal, and the record of its team's other appeals that the reader may see: how many there are, and how many
    of the decided ones led to another ruling."""

    appeal: Appeal
    others: int
    decided: int
    changed: int


def case_appeals(case: Case, member: User) -> list[AppealShown]:
    """Return the appeals of a case, oldest first."""
    return [_appeal(each, member) for each in appeals_of_case(case)]


def _appeal(appeal: Appeal, member: User) -> AppealShown:
    cases = [each.case for each in other_appeals(appeal, member)]
    closed = [each for each in cases if each.state == CaseState.CLOSED]
    return AppealShown(appeal, len(cases), len(closed), sum(map(_changed, closed)))


def _changed(case: Case) -> bool:
    was, holds = case.ruling, case.result
    return was is not None and holds is not None and (was.label, was.reasons) != (holds.label, holds.reasons)


# Similar cases --------------------------------------------------------------------------------------------------------


def similar_cases(case: Case, member: User) -> list[tuple[Case, str, str]]:
    """Return settled cases that the reader may see, whose rulings have the same outcome and the most similar smallest
    box; each with the similarities and its outcome.

    The newest MAX_COMPARED are compared.
    """
    ruling = case.ruling
    if ruling is None:
        return []
    newest = closed_cases_like(case, ruling, member)[:MAX_COMPARED]
    alike = [(each, each.ruling) for each in newest if each.ruling is not None and _alike(each.ruling, ruling)]
    alike.sort(key=lambda pair: (pair[1].reasons != ruling.reasons, _apart(pair[1], ruling)))
    return [(each, _why(theirs, ruling), _outcome(each)) for each, theirs in alike[:MAX_SIMILAR]]


def _alike(one: Ruling, other: Ruling) -> bool:
    return one.label == other.label and (not other.reasons or bool(set(one.reasons) & set(other.reasons)))


def _apart(one: Ruling, other: Ruling) -> Fraction:
    a, b = ruled_box_share(one), ruled_box_share(other)
    return abs(a - b) if a is not None and b is not None else Fraction(1)


def ruled_box_share(ruling: Ruling) -> Fraction | None:
    """Return the exact share of the picture that the smallest box of a ruling covers."""
    if ruling.smallest_box_numerator is None or not ruling.smallest_box_denominator:
        return None
    return Fraction(ruling.smallest_box_numerator, ruling.smallest_box_denominator)


def _why(one: Ruling, other: Ruling) -> str:
    same = [reason_name(each) for each in other.reasons if each in one.reasons]
    what = f"also valid, a {one.label}" if one.label else f"also {', '.join(same)}"
    share = ruled_box_share(one)
    return f"{what}; smallest box {percent(share)}" if share is not None else what


def _outcome(case: Case) -> str:
    decision = getattr(case, "decision", None)
    if decision is None or case.result is None:
        return "closed"
    words = OUTCOME_WORDS[CaseOutcome(decision.outcome)]
    return f"{words}; now {case.result.words}"


def similar_pictures(image: Image, member: User, *, now: datetime) -> list[dict[str, Any]]:
    """Return the public pictures that look like this one, with the rulings in force, most similar first (R26); without
    pictures of cases that the reader steps aside from."""
    pairs = near_duplicates_of(image)
    known = pictures_open_to(member, (other.pk for other, _ in pairs), now=now)
    rulings = newest_rulings(known)
    return [
        {
            "image": other,
            "url": picture_url(other, now=now),
            "distance": distance,
            "ruling": rulings[other.pk].words if other.pk in rulings else "no ruling yet",
        }
        for other, distance in sorted(pairs, key=lambda pair: (pair[1], pair[0].pk))
        if other.pk in known
    ]


# The page -------------------------------------------------------------------------------------------------------------


def picture_case_content(case: Case, member: User, *, now: datetime) -> dict[str, Any]:
    """Return the context of a picture's case page; the newest ruling comes last."""
    image = case.image
    assert image is not None, "a motion is about no picture"
    on_record = rulings_with_panels(image)
    answers = panel_answers(image, on_record)
    rulings = rulings_with_answers(image, on_record, answers)
    appeals = case_appeals(case, member)
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
        "statements": statements_of_case(case),
        "marks": marks_of(each.appeal for each in appeals),
        "attacks": public_attacks_with(image, now=now),
        "timeline": case_timeline(image, member, now=now),
        "similar": similar_cases(case, member),
        "near": similar_pictures(image, member, now=now),
    }
