"""Services for the tutorial, qualification attempts, and new versions of the instructions (R5).

Each function is one transaction. The tasker's row is locked first, so that two tabs of one person wait for each other.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from random import Random
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from common.audit.trail import audit
from common.errors import Conflict, InvalidInput
from labeling.answers import FormAnswers, read_form
from labeling.enums import AttemptKind, TaskerState
from labeling.gold import marks_of_answers
from labeling.learning import selectors
from labeling.learning.drawing import draw_pictures, tie_break_for
from labeling.models import (
    InstructionVersion,
    KnownPicture,
    LessonSeen,
    QualificationAttempt,
    QualificationItem,
    Tasker,
)
from labeling.selectors import forget_versions, instructions_in_force
from labeling.states import tasker_state_change
from policy.numbers import Policy

MAX_INSTRUCTIONS_CHARACTERS = 4_000
QUALIFIED = "qualified"


@dataclass(frozen=True, slots=True)
class MarkedAnswer:
    """A picture of an attempt with its marks. `repeated`: the same answer was sent again."""

    item: QualificationItem
    repeated: bool


@transaction.atomic
def lesson_mark_seen(*, tasker: Tasker, known: KnownPicture, now: datetime) -> None:
    """Record that the tasker has seen a worked example; the last one finishes the tutorial. Idempotent."""
    LessonSeen.objects.get_or_create(tasker=tasker, known=known, defaults={"seen_at": now})
    left = {lesson.pk for lesson in selectors.lessons()} - selectors.lessons_seen(tasker)
    if not left and Tasker.objects.filter(pk=tasker.pk, tutorial_done_at__isnull=True).update(tutorial_done_at=now):
        tasker.tutorial_done_at = now


@transaction.atomic
def attempt_start(*, tasker: Tasker, policy: Policy, now: datetime, rng: Random) -> QualificationAttempt:
    """Begin an attempt with fresh pictures, or return the unfinished one (R5).

    Conflict when nothing is due (`nothing_due`), the tutorial comes first (`tutorial_first`), the next attempt may not
    begin yet (`wait`), or too few fresh pictures are left (`pool_exhausted`).
    """
    tasker = Tasker.objects.select_for_update(of=("self",), no_key=True).get(pk=tasker.pk)
    begun = selectors.open_attempt(tasker)
    if begun is not None:
        return begun
    kind = _kind_due(tasker, now)
    attempts = selectors.attempts_of(tasker)
    earliest = selectors.next_try_from(attempts, policy)
    if earliest is not None and now < earliest:
        raise Conflict(
            _("The next try may not begin yet: the page says when. Until then, read the lessons again."), "wait"
        )
    size, needed = selectors.size_and_needed(kind, policy)
    drawn = _draw_questions(tasker, size, rng)
    attempt = QualificationAttempt.objects.create(
        tasker=tasker,
        number=attempts[0].number + 1 if attempts else 1,
        kind=kind,
        size=size,
        needed=needed,
        instructions=instructions_in_force(now).version,
        started_at=now,
    )
    QualificationItem.objects.bulk_create(
        _item(attempt, known, position, rng) for position, known in enumerate(drawn, start=1)
    )
    return attempt


def _kind_due(tasker: Tasker, now: datetime) -> AttemptKind:
    due = selectors.due_item(tasker, now)
    if due == "tutorial":
        raise Conflict(_("The worked examples come first: go through them, then come back."), "tutorial_first")
    if due is None:
        raise Conflict(_("No qualification is due for you now."), "nothing_due")
    return AttemptKind.SHORT if due == "short_qualification" else AttemptKind.FULL


def _draw_questions(tasker: Tasker, size: int, rng: Random) -> list[KnownPicture]:
    fresh = {known.pk: known for known in selectors.fresh_for(tasker).select_related("image").order_by("pk")}
    # A clear picture of a bird and one of a bicycle are two kinds.
    keys = draw_pictures(((pk, (known.topic, known.accepts_bird[0])) for pk, known in fresh.items()), size, rng)
    if keys is None:
        raise Conflict(
            _("You have seen every picture of the qualification. The organizers know, and add new ones."),
            "pool_exhausted",
        )
    return [fresh[key] for key in keys]


def _item(attempt: QualificationAttempt, known: KnownPicture, position: int, rng: Random) -> QualificationItem:
    tie_break = tie_break_for(known.topic, known.outline, width=known.image.width, rng=rng)
    return QualificationItem(
        attempt=attempt, tasker=attempt.tasker, known=known, position=position, tie_break=tie_break
    )


@transaction.atomic
def item_answer(
    *,
    tasker: Tasker,
    item_id: UUID,
    data: Mapping[str, Any],
    policy_at: Callable[[datetime], Policy],
    now: datetime,
) -> MarkedAnswer:
    """Mark an answer in an attempt at once, and finish the attempt with its last picture (R5).

    The same answer again changes nothing; a different one is a Conflict (`already_answered`). WrongFields names the
    fields to change, exactly as in labeling; NotFound for another tasker's picture.
    """
    tasker = Tasker.objects.select_for_update(of=("self",), no_key=True).get(pk=tasker.pk)
    item = selectors.item_of(tasker, item_id)
    image, gate = item.known.image, policy_at(item.attempt.started_at).outline_gate
    answers = read_form(data, width=image.width, height=image.height, gate=gate)
    if item.answers is not None:
        return _repeated(item, answers)
    _keep(item, answers, now)
    if selectors.next_item(item.attempt) is None:
        _finish(item.attempt, tasker, now)
    return MarkedAnswer(item, repeated=False)


def _repeated(item: QualificationItem, answers: FormAnswers) -> MarkedAnswer:
    if item.answers is None or item.answers["sha256"] != answers.sha256:
        raise Conflict(_("You answered this picture already, and it is marked."), "already_answered")
    return MarkedAnswer(item, repeated=True)


def _keep(item: QualificationItem, answers: FormAnswers, now: datetime) -> None:
    marks = marks_of_answers(answers, item.known)
    item.answers = {
        "contains_bird": answers.bird.value,
        "contains_bicycle": answers.bicycle.value,
        "outline": answers.outline.json if answers.outline else "",
        "complete": answers.complete,
        "unoccluded": answers.unoccluded,
        "real": answers.real,
        "sha256": answers.sha256,
    }
    item.marks = {"questions": marks.questions, "iou_percent": marks.iou_percent}
    item.right, item.milliseconds, item.answered_at = marks.right, answers.milliseconds, now
    item.save(update_fields=["answers", "marks", "right", "milliseconds", "answered_at"])


def _finish(attempt: QualificationAttempt, tasker: Tasker, now: datetime) -> None:
    right = attempt.items.filter(right=True).count()
    attempt.finished_at, attempt.passed = now, right >= attempt.needed
    attempt.save(update_fields=["finished_at", "passed"])
    if attempt.passed:
        _qualify(tasker, attempt, right, now)


def _qualify(tasker: Tasker, attempt: QualificationAttempt, right: int, now: datetime) -> None:
    """Qualify the tasker under the instructions under which the attempt began; a paused tasker stays paused."""
    Tasker.objects.filter(pk=tasker.pk, instructions__lt=attempt.instructions).update(instructions=attempt.instructions)
    if tasker.state == TaskerState.LEARNING:
        words = _("You passed the qualification: %(right)d of %(size)d pictures fully right.")
        reason = words % {"right": right, "size": attempt.size}
        tasker_state_change(tasker=tasker, after=TaskerState.QUALIFIED, code=QUALIFIED, reason=reason, now=now)


def instructions_publish(
    *,
    summary: str,
    clarification: str,
    requalify: bool,
    in_force_from: datetime,
    by: User,
    now: datetime,
    only_check: bool = False,
) -> InstructionVersion:
    """Publish the next version of the instructions; with `requalify` a short qualification comes before labeling.

    InvalidInput without a summary, for words that are too long, or for a version that would begin in the past or
    before a published one. `only_check` returns the version without saving it.
    """
    version = InstructionVersion(
        summary=_checked(summary, "summary"),
        clarification=_checked(clarification, "clarification"),
        requalify=requalify,
        in_force_from=in_force_from,
        published_by=by,
    )
    if not version.summary:
        raise InvalidInput("Say in a sentence what changed.", "no_summary", field="summary")
    _number(version, now)
    if only_check:
        return version
    try:
        _publish(version, now)
    except IntegrityError:
        raise Conflict("Another version was published at the same moment: look at it first.", "ask_again") from None
    transaction.on_commit(forget_versions)
    return version


def _number(version: InstructionVersion, now: datetime) -> None:
    """Number it as the next version; InvalidInput where it would begin in the past or before the newest one."""
    newest = InstructionVersion.objects.order_by("-version").first()
    if version.in_force_from < now:
        raise InvalidInput("A version cannot begin in the past.", "too_early", field="in_force_from")
    if newest is not None and version.in_force_from < newest.in_force_from:
        raise InvalidInput(
            f"Version {newest.version} begins later than that: choose a time after it.",
            "too_early",
            field="in_force_from",
        )
    version.version = newest.version + 1 if newest else 1


@transaction.atomic
def _publish(version: InstructionVersion, now: datetime) -> None:
    version.save()
    audit(
        "instructions.publish",
        by=version.published_by,
        subject={"instructions": [version.version]},
        why=version.summary,
        now=now,
        private={"requalify": version.requalify},
    )


def _checked(words: str, field: str) -> str:
    words = words.replace("\x00", "").strip()
    if len(words) > MAX_INSTRUCTIONS_CHARACTERS:
        raise InvalidInput(f"Write at most {MAX_INSTRUCTIONS_CHARACTERS:,} characters.", "too_long", field=field)
    return words
