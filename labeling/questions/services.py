"""Services: taskers report pictures and ask questions; organizers decide and answer.

The order of locks is at the head of `labeling/models/panels.py`; a question comes after its tasker.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone, translation
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.locale import parse_zone
from common.audit.trail import Subject, audit
from common.database.deadlocks import retry_on_deadlock
from common.errors import Conflict, InvalidInput, NotFound
from labeling import leases
from labeling.enums import PanelState, ReportDecision, ReportKind
from labeling.learning.services import instructions_publish
from labeling.models import Image, InstructionVersion, KnownPicture, Notice, Panel, Question, Report, Tasker
from labeling.more_taskers import is_kept_out
from labeling.questions.report_words import DECISION_TOLD, KIND_WORDS
from labeling.questions.selectors import open_reports

MAX_REPORT_CHARACTERS = 2_000
MAX_QUESTION_CHARACTERS = 1_000
MAX_OPEN_QUESTIONS = 20
MAX_ANSWER_CHARACTERS = 4_000
_ANSWER_SUMMARY = "A question of a tasker, answered for everybody."


@retry_on_deadlock
@transaction.atomic
def report_create(
    *, tasker: Tasker, assignment_id: UUID, lease_token: str | None, kind: ReportKind, words: str, now: datetime
) -> Report:
    """Release a picture with a report that something is wrong with it, and hold it until an organizer decides (R8).

    Taskers with a lease on it may finish; no new tasker gets it, and this tasker never again. The same report again
    returns the first one. Conflict (`already_answered`, `wrong_token`), NotFound for anybody else's assignment.
    """
    words = words.replace("\x00", "").strip()[:MAX_REPORT_CHARACTERS]
    leases.assignment_release(
        tasker=tasker,
        assignment_id=assignment_id,
        lease_token=lease_token,
        problem=words or str(KIND_WORDS[kind]),
        now=now,
    )
    # Locked by the release until we commit, so that no other report or decision runs at the same time.
    assignment = tasker.assignments.select_related("image").get(public_id=assignment_id)
    report, made = Report.objects.get_or_create(
        assignment=assignment,
        defaults={"image": assignment.image, "tasker": tasker, "kind": kind, "words": words, "reported_at": now},
    )
    if made:
        _hold(assignment.image, now)
    return report


def _hold(image: Image, now: datetime) -> None:
    """Hold the picture. The statements are the same for gold as for any other, so that their time reveals nothing."""
    Panel.objects.filter(image=image, state=PanelState.OPEN).update(state=PanelState.HELD)
    KnownPicture.objects.filter(image=image, held_at__isnull=True).update(held_at=now)


def report_decide(*, image: Image, decision: ReportDecision, reply: str, by: User, now: datetime) -> list[Report]:
    """Decide all open reports of a picture together, notify the reporters, and return the reports.

    REOPENED: it goes back to the taskers, with the waiting time it had. KEPT_OUT: no new tasker ever gets it; the
    reply is the reason and is required. Conflict (`decided_already`) when another organizer was faster, and
    (`kept_out`) to reopen a picture that was kept out before.
    """
    reply = reply.replace("\x00", "").strip()
    if decision is ReportDecision.KEPT_OUT and not reply:
        message = "Say why nobody is asked about this picture any more: it goes to those who reported it."
        raise InvalidInput(message, "reason_missing", field="reply")
    reports = _decide(image, decision, reply, by, now)
    if decision is ReportDecision.REOPENED:
        _forget_marks()
    return reports


@retry_on_deadlock
@transaction.atomic
def _decide(image: Image, decision: ReportDecision, reply: str, by: User, now: datetime) -> list[Report]:
    # A report locks the panels too: it is decided here, or it holds the picture again after this decision.
    list(Panel.objects.select_for_update(no_key=True).filter(image=image).order_by("pk"))
    reports = list(open_reports().filter(image=image))
    if not reports:
        raise Conflict("The reports of this picture are decided already: reload the page.", "decided_already")
    if decision is ReportDecision.REOPENED and is_kept_out(image.pk):
        # The board's case may have closed with the ruling before (R19), or the week be settled (R22).
        words = "An organizer kept this picture out before, and what was decided since rests on that: keep it out."
        raise Conflict(words, "kept_out")
    values = {"decision": decision, "reply": reply, "decided_at": now, "decided_by": by}
    Report.objects.filter(pk__in=[report.pk for report in reports]).update(**values)
    _apply(image, decision, reply, reports, now)
    _tell_reporters(reports, decision, reply, now)
    subject: Subject = {"picture": [image.public_id], "report": [report.pk for report in reports]}
    audit("report.decide", by=by, subject=subject, why=reply, now=now, private={"decision": str(decision)})
    return reports


def _apply(image: Image, decision: ReportDecision, reply: str, reports: Iterable[Report], now: datetime) -> None:
    known = KnownPicture.objects.filter(image=image)
    if decision is ReportDecision.REOPENED:
        Panel.objects.filter(image=image, state=PanelState.HELD).update(state=PanelState.OPEN)
        # What is held for another reason (it may have leaked, an organizer held it) is decided on the page of gold.
        known.filter(held_at__in=[report.reported_at for report in reports]).update(held_at=None)
    else:
        known.filter(retired_at__isnull=True).update(retired_at=now, retired_because=reply)


def _forget_marks() -> None:
    """Reset all taskers' positions in the queue: a panel with its old waiting time is before many of them.

    In a separate statement, because a transaction that pauses a tasker locks the tasker first and panels after it. A
    tasker whose position changes at this moment gets the picture last, but gets it. Several taskers are locked in the
    order of their numbers, as everywhere (monitoring.links).
    """
    marked = Tasker.objects.select_for_update(no_key=True).exclude(passed={}).order_by("pk")
    with transaction.atomic():
        Tasker.objects.filter(pk__in=list(marked.values_list("pk", flat=True))).update(passed={}, passed_at=None)


def _tell_reporters(reports: Iterable[Report], decision: ReportDecision, reply: str, now: datetime) -> None:
    thanks = gettext_lazy("Thank you for your report of %(day)s: an organizer has looked at the picture. %(decision)s")
    for report in reports:
        with _in_the_words_of(report.tasker):
            day = date_format(timezone.localtime(report.reported_at), "DATE_FORMAT")
            text = str(thanks) % {"day": day, "decision": DECISION_TOLD[decision]}
            _notice(report.tasker, "report_decided", _with_reply(text, reply), now)


def _with_reply(text: str, reply: str) -> str:
    return text + " " + _("The organizer writes: %(reply)s") % {"reply": reply} if reply else text


@contextmanager
def _in_the_words_of(tasker: Tasker) -> Iterator[None]:
    """Context manager: inside, texts are in the tasker's language and times in their time zone."""
    with (
        translation.override(tasker.language or settings.LANGUAGE_CODE),
        timezone.override(parse_zone(tasker.time_zone)),
    ):
        yield


def _notice(tasker: Tasker, code: str, text: str, now: datetime) -> None:
    Notice.objects.create(tasker=tasker, code=code, text=text, told_at=now)


@transaction.atomic
def question_send(*, tasker: Tasker, text: str, now: datetime) -> Question:
    """Store a tasker's question for the organizers. If the same question is open, return that one.

    InvalidInput for no text or too much; Conflict (`too_many_questions`) at MAX_OPEN_QUESTIONS open ones.
    """
    text = text.replace("\x00", "").strip()
    if not 0 < len(text) <= MAX_QUESTION_CHARACTERS:
        message = _("Ask in 1 to %(most)s characters.") % {"most": MAX_QUESTION_CHARACTERS}
        raise InvalidInput(message, "invalid", field="text")
    Tasker.objects.select_for_update(no_key=True).get(pk=tasker.pk)
    waiting = {question.text: question for question in tasker.questions.filter(answered_at__isnull=True)}
    if text in waiting:
        return waiting[text]
    if len(waiting) >= MAX_OPEN_QUESTIONS:
        message = _("%(many)s questions of yours wait for an answer: ask the next one when one of them is answered.")
        raise Conflict(message % {"many": len(waiting)}, "too_many_questions")
    return Question.objects.create(tasker=tasker, text=text, asked_at=now)


@transaction.atomic
def question_answer(
    *,
    question_id: int,
    answer: str,
    to_everybody: bool,
    requalify: bool,
    by: User,
    now: datetime,
    only_check: bool = False,
) -> Question:
    """Answer a question: to its tasker alone, or as a dated clarification to everybody (a new instructions version).

    With `requalify` everybody passes a short qualification first (R5). InvalidInput without an answer, for a long one,
    or with `requalify` for one alone; Conflict (`answered_already`) when another organizer was faster; NotFound.
    `only_check` returns the question before anything is changed.
    """
    answer = _answer_checked(answer, to_everybody=to_everybody, requalify=requalify)
    question = _lock_open(question_id)
    if only_check:
        return question
    question.answer, question.answered_at, question.answered_by = answer, now, by
    question.instructions = _clarify(answer, requalify, by, now) if to_everybody else None
    question.save(update_fields=["answer", "answered_at", "answered_by", "instructions"])
    with _in_the_words_of(question.tasker):
        text = _("Your question “%(question)s” is answered: %(answer)s")
        _notice(question.tasker, "question_answered", text % {"question": question.text, "answer": answer}, now)
    told = {"answer": answer, "to_everybody": to_everybody, "requalify": requalify}
    audit("question.answer", by=by, subject={"question": [question.pk]}, now=now, private=told)
    return question


def _answer_checked(answer: str, *, to_everybody: bool, requalify: bool) -> str:
    answer = answer.replace("\x00", "").strip()
    if not answer:
        raise InvalidInput("Write the answer: it is sent as it stands.", "invalid", field="answer")
    if len(answer) > MAX_ANSWER_CHARACTERS:
        message = f"Write at most {MAX_ANSWER_CHARACTERS:,} characters; yours are {len(answer):,}."
        raise InvalidInput(message, "too_long", field="answer")
    if requalify and not to_everybody:
        message = "A short qualification goes with a clarification for everybody: choose that, or untick it."
        raise InvalidInput(message, "invalid", field="requalify")
    return answer


def _lock_open(question_id: int) -> Question:
    rows = Question.objects.select_for_update(of=("self",), no_key=True).select_related("tasker")
    question = rows.filter(pk=question_id).first()
    if question is None:
        raise NotFound("There is no such question.", "not_found")
    if question.answered_at is not None:
        raise Conflict("This question is answered already: reload the page.", "answered_already")
    return question


def _clarify(answer: str, requalify: bool, by: User, now: datetime) -> InstructionVersion:
    """Publish the answer as of now, or together with a version that is announced for later."""
    newest = InstructionVersion.objects.order_by("-version").first()
    in_force_from = max(now, newest.in_force_from) if newest else now
    return instructions_publish(
        summary=_ANSWER_SUMMARY, clarification=answer, requalify=requalify, in_force_from=in_force_from, by=by, now=now
    )
