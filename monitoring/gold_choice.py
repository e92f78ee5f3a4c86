"""Queries and services for gold (R6): settled pictures become gold, are held, released or retired."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from common.audit.trail import audit
from common.database.deadlocks import retry_on_deadlock
from common.errors import Conflict, InvalidInput, NotFound, WrongFields
from common.typed import clean_words
from labeling.enums import Answer, KnownUse, PanelState, Topic
from labeling.marking import STATEMENTS
from labeling.models import GoldMark, KnownPicture, Panel
from labeling.more_taskers import newest_panel_locked
from labeling.outline_gate import class_to_outline
from labeling.outlines import read_outline
from monitoring.actions import MAX_REASON_CHARACTERS
from monitoring.answer_rows import AnswerRow, answer_rows, by_panel, company_of, counted_on_complete_panels
from monitoring.rules import majority_of
from monitoring.tasker_figures import Proportion
from policy.enums import OutlineGate

USUAL_IOU_PERCENT = 70
# Of several equally large objects the form names one at random (R11), so there is no one outline to expect.
GOLD_TOPICS = tuple(topic for topic in Topic if topic != Topic.SEVERAL)
# Candidates are looked for among this many of the latest settled panels.
MAX_CANDIDATES = 300


@dataclass(frozen=True, slots=True)
class GoldAnswers:
    """The right answers of a gold picture, as an organizer gives them. Statements are None where not marked."""

    accepts_bird: tuple[str, ...]
    accepts_bicycle: tuple[str, ...]
    outline: str
    min_iou_percent: int
    complete: bool | None
    unoccluded: bool | None
    real: bool | None
    topic: str


@dataclass(frozen=True, slots=True)
class GoldCandidate:
    """A settled panel whose picture could become gold; `unanimous` when every answer but the outline is the same."""

    panel: Panel
    unanimous: bool
    answers: int


def panels_for_gold(panels: QuerySet[Panel]) -> list[GoldCandidate]:
    """Return the newest of these `free_panels` that have counted answers, unanimous ones first."""
    latest = list(panels.select_related("image").order_by("-full_at", "-pk")[:MAX_CANDIDATES])
    said = counted_answers([panel.pk for panel in latest])
    found = [
        GoldCandidate(panel, len({row.form for row in rows}) == 1, len(rows))
        for panel in latest
        if (rows := said.get(panel.pk, []))
    ]
    return sorted(found, key=lambda candidate: not candidate.unanimous)


def free_panels() -> QuerySet[Panel]:
    """Return the settled panels whose picture could become gold: no fresh panel of the picture follows."""
    later = Panel.objects.filter(image=OuterRef("image"), number__gt=OuterRef("number"))
    known = KnownPicture.objects.filter(image=OuterRef("image"))
    # Two anti-joins, because PostgreSQL underestimates a left join to nothing and then reads every picture.
    return Panel.objects.filter(~Exists(later), ~Exists(known), state=PanelState.SETTLED)


def counted_answers(panel_ids: Collection[int]) -> Mapping[int, list[AnswerRow]]:
    """Return the responses that rulings counted on these panels, by panel."""
    return by_panel(answer_rows(counted_on_complete_panels().filter(panel__in=panel_ids)))


def candidate_panel(image_public_id: str) -> Panel:
    """Return the newest settled panel of a picture without a known answer; NotFound otherwise."""
    panel = free_panels().filter(image__public_id=image_public_id).select_related("image").first()
    if panel is None:
        raise NotFound("There is no settled picture of this name that could become gold.", "not_found")
    return panel


def proposal(rows: Sequence[AnswerRow]) -> GoldAnswers:
    """Return right answers suggested by the counted ones: the majority's, and the outline closest to the others."""
    most = majority_of([row.form for row in rows])
    bird, bicycle, complete, unoccluded, real = most
    return GoldAnswers(
        accepts_bird=(str(bird),) if bird else (),
        accepts_bicycle=(str(bicycle),) if bicycle else (),
        outline=_medoid(rows),
        min_iou_percent=USUAL_IOU_PERCENT,
        complete=_as_fact(complete),
        unoccluded=_as_fact(unoccluded),
        real=_as_fact(real),
        topic=_topic(most).value,
    )


def _as_fact(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _medoid(rows: Sequence[AnswerRow]) -> str:
    drawn = [row for row in rows if row.outline]
    overlaps = company_of(drawn).overlaps
    return max(drawn, key=lambda row: (overlaps.get(row.pk, 0.0), -row.pk)).outline if drawn else ""


def _topic(majority: Sequence[object]) -> Topic:
    bird, bicycle, complete, unoccluded, real = majority
    sure = (Answer.DEFINITELY_YES, Answer.DEFINITELY_NO)
    if bird not in sure or bicycle not in sure:
        return Topic.UNCERTAIN
    if bird == bicycle:
        return Topic.BOTH_CLASSES if bird == Answer.DEFINITELY_YES else Topic.NEITHER_CLASS
    for fact, topic in ((real, Topic.PAINTING), (unoccluded, Topic.OCCLUDED), (complete, Topic.TRUNCATED)):
        if fact is False:
            return topic
    return Topic.CLEAR


@retry_on_deadlock
@transaction.atomic
def gold_add(*, panel: Panel, expected: GoldAnswers, gate: OutlineGate, by: User, now: datetime) -> KnownPicture:
    """Make the picture of a settled panel gold with these right answers (R6).

    WrongFields names what cannot be right; Conflict (`not_settled`, `known_already`) when the picture is not free.
    """
    outline = _checked(expected, panel, gate)
    newest = newest_panel_locked(panel.image_id)
    if newest.pk != panel.pk or newest.state != PanelState.SETTLED:
        raise Conflict("The panel of this picture is not settled: wait for its ruling.", "not_settled")
    if KnownPicture.objects.filter(image=panel.image_id).exists():
        raise Conflict("This picture has a known answer already.", "known_already")
    known = KnownPicture.objects.create(
        image=panel.image,
        panel=panel,
        use=KnownUse.GOLD,
        topic=expected.topic,
        accepts_bird=sorted(expected.accepts_bird),
        accepts_bicycle=sorted(expected.accepts_bicycle),
        outline=outline,
        min_iou_percent=expected.min_iou_percent,
        **{name: getattr(expected, name) for name in STATEMENTS},
        created_at=now,
        created_by=by,
    )
    _record("gold.add", known, by, now)
    return known


def _checked(expected: GoldAnswers, panel: Panel, gate: OutlineGate) -> str:
    """Return the outline in canonical JSON; WrongFields where the answers do not fit each other or the form."""
    wrong = {}
    for name in ("accepts_bird", "accepts_bicycle"):
        given = getattr(expected, name)
        if not given or not set(given) <= set(Answer):
            wrong[name] = "Choose at least one of the four answers."
    if expected.topic not in GOLD_TOPICS:
        wrong["topic"] = "Choose what the picture tests."
    if not 1 <= expected.min_iou_percent <= 100:
        wrong["min_iou_percent"] = "Give a whole number from 1 to 100."
    if not wrong and not _leads_to_outline(expected, gate):
        wrong |= _not_asked(expected)
    try:
        outline = canonical_outline(expected.outline, panel)
    except InvalidInput as error:
        wrong.setdefault("outline", error.message)
    if wrong:
        raise WrongFields(wrong)
    return outline


def _leads_to_outline(expected: GoldAnswers, gate: OutlineGate) -> bool:
    """Whether some accepted pair of answers leads to questions 3 and 4 (R10)."""
    pairs = ((Answer(bird), Answer(other)) for bird in expected.accepts_bird for other in expected.accepts_bicycle)
    return any(class_to_outline(bird, other, gate) for bird, other in pairs)


def _not_asked(expected: GoldAnswers) -> dict[str, str]:
    message = "Questions 3 and 4 are not asked with these answers: leave this empty."
    given = {name: getattr(expected, name) is not None for name in STATEMENTS} | {"outline": bool(expected.outline)}
    return {name: message for name, is_given in given.items() if is_given}


def canonical_outline(outline: str, panel: Panel) -> str:
    """Return an outline as it is kept, empty for none; InvalidInput says what to change."""
    if not outline.strip():
        return ""
    try:
        raw = json.loads(outline)
    except (ValueError, RecursionError):
        raise InvalidInput(
            "This is no JSON. Write rings of [x, y] corners in pixels.", "outline_shape", field="outline"
        ) from None
    return read_outline(raw, width=panel.image.width, height=panel.image.height).json


def gold_of(public_id: UUID) -> KnownPicture:
    """Return a gold picture; NotFound for anything else."""
    known = gold_pictures().filter(public_id=public_id).first()
    if known is None:
        raise NotFound("There is no such gold picture.", "not_found")
    return known


def gold_pictures() -> QuerySet[KnownPicture]:
    """Return every gold picture with its image."""
    return KnownPicture.objects.filter(use=KnownUse.GOLD).select_related("image")


@transaction.atomic
def gold_retire(*, known: KnownPicture, reason: str, by: User, now: datetime) -> None:
    """Retire a gold picture: it is never dealt again; its marks stay. InvalidInput without a reason."""
    ask = "Give the reason: it stays on record."
    reason = clean_words(reason, field="reason", ask=ask, max_length=MAX_REASON_CHARACTERS)
    _change(known, "This gold picture is retired already.", retired_at=now, retired_because=reason)
    _record("gold.retire", known, by, now, reason)


@transaction.atomic
def gold_hold(*, known: KnownPicture, by: User, now: datetime) -> None:
    """Hold a gold picture: it is not dealt until it is released."""
    _change(known, "This gold picture is retired.", held_at=now)
    _record("gold.hold", known, by, now)


@transaction.atomic
def gold_release(*, known: KnownPicture, by: User, now: datetime) -> None:
    """Deal a held picture again."""
    _change(known, "This gold picture is retired.", held_at=None)
    _record("gold.let_go", known, by, now)


def _change(known: KnownPicture, conflict: str, **values: Any) -> None:
    if KnownPicture.objects.filter(pk=known.pk, retired_at__isnull=True).update(**values) != 1:
        raise Conflict(conflict, "retired")


def _record(action: str, known: KnownPicture, by: User, now: datetime, why: str = "") -> None:
    audit(action, by=by, subject={"picture": [known.image.public_id]}, why=why, now=now)


@dataclass(slots=True)
class PassRate:
    """How a gold picture was answered: fully right, and right per question."""

    right: Proportion
    questions: dict[str, Proportion]


def pass_rates(known_ids: Collection[int]) -> dict[int, PassRate]:
    """Return the pass rates of gold pictures by row number; those nobody answered are left out."""
    found: dict[int, PassRate] = {}
    marks = GoldMark.objects.filter(known__in=known_ids).values_list("known_id", "right", "marks")
    for known, right, questions in marks.iterator(chunk_size=2_000):
        rate = found.setdefault(known, PassRate(Proportion(), {}))
        rate.right.add(right)
        for question, hit in questions.items():
            rate.questions.setdefault(question, Proportion()).add(hit)
    return found
