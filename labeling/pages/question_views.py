"""The pages of questions and reports, for taskers and organizers."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.access import organizer_of
from common.domain_clock import domain_now
from common.errors import Conflict, InvalidInput, NotFound
from common.typed import whole_number
from common.web.form_fields import SeeOther
from common.web.page import page
from labeling.access import tasker_of
from labeling.enums import ReportDecision, ReportKind
from labeling.learning.organizer import asked_again_by
from labeling.models import Report, Tasker
from labeling.pictures.addresses import picture_url
from labeling.questions import selectors
from labeling.questions.report_words import KIND_NAMES
from labeling.questions.services import (
    MOST_OPEN_QUESTIONS,
    MOST_QUESTION_CHARACTERS,
    answer_checked,
    question_answer,
    question_send,
    report_decide,
)
from policy.selectors import policy_in_force

_EVERYBODY, _ASKER = "everybody", "asker"


@page(tasker_of, "GET POST")
def questions(request: HttpRequest, tasker: Tasker) -> HttpResponse:
    """Show a tasker their own questions and all clarifications; take a new question."""
    now = domain_now()
    if request.method != "POST":
        return _questions(request, tasker, now)
    try:
        question_send(tasker=tasker, text=request.POST.get("text", ""), now=now)
    except (InvalidInput, Conflict) as error:
        return _questions(request, tasker, now, typed=request.POST.get("text", ""), refused=error.message)
    messages.success(request, _("Your question is with the organizers. You are told here when it is answered."))
    return SeeOther(reverse("questions"))


def _questions(
    request: HttpRequest, tasker: Tasker, now: datetime, *, typed: str = "", refused: str = ""
) -> HttpResponse:
    context = {
        "questions": selectors.own_questions(tasker),
        "clarifications": selectors.clarifications(now),
        "typed": typed,
        "refused": refused,
        "most_characters": MOST_QUESTION_CHARACTERS,
        "most_open": MOST_OPEN_QUESTIONS,
    }
    return render(request, "questions/questions.html", context, status=400 if refused else 200)


@page(organizer_of, "GET POST")
def reports(request: HttpRequest, organizer: User) -> HttpResponse:
    """Show an organizer what taskers reported; take a decision on a picture."""
    now = domain_now()
    if request.method != "POST":
        return _reports(request, now)
    try:
        decided = _take_decision(request, organizer, now)
    except (InvalidInput, Conflict) as error:
        return _reports(request, now, typed=request.POST.dict(), refused=error.message)
    messages.success(request, _told(decided))
    return SeeOther(reverse("reports"))


def _take_decision(request: HttpRequest, by: User, now: datetime) -> list[Report]:
    image = selectors.reported_image(request.POST.get("image", ""))
    if image is None:
        raise NotFound("There is no such reported picture.", "not_found")
    chosen = request.POST.get("decision")
    if chosen not in list(ReportDecision):
        message = "Choose whether the picture goes back to the taskers or stays away from them."
        raise InvalidInput(message, "invalid", field="decision")
    reply = request.POST.get("reply", "")
    return report_decide(image=image, decision=ReportDecision(chosen), reply=reply, by=by, now=now)


def _told(decided: list[Report]) -> str:
    picture, taskers = decided[0].image.public_id, f"{len(decided)} tasker{'s' if len(decided) > 1 else ''}"
    return f"Picture {picture} is decided; {taskers} who reported it will read your thanks and reply."


def _reports(request: HttpRequest, now: datetime, **more: Any) -> HttpResponse:
    shown = [
        {"picture": each, "url": picture_url(each.image, now=now), "kinds": _kinds(each.reports)}
        for each in selectors.reported_pictures()
    ]
    context = {
        "shown": shown,
        "waiting": selectors.pictures_waiting(),
        "decided": [(report, KIND_NAMES[ReportKind(report.kind)]) for report in selectors.decided_reports()],
        "now": now,
        "zone": policy_in_force(now).policy.time_zone,
        **more,
    }
    return render(request, "questions/reports.html", context, status=400 if more else 200)


def _kinds(found: tuple[Report, ...]) -> list[tuple[Report, str]]:
    return [(report, KIND_NAMES[ReportKind(report.kind)]) for report in found]


@page(organizer_of, "GET POST")
def organizer_questions(request: HttpRequest, organizer: User) -> HttpResponse:
    """Show an organizer what taskers asked; take an answer.

    One after which everybody qualifies again is looked over first: its form comes back to be sent or changed (`step`).
    """
    now = domain_now()
    if request.method != "POST":
        return _organizer_questions(request, now)
    try:
        reply = _reply(request)
        if reply.requalify and request.POST.get("step") != "send":
            return _look_over(request, reply, now)
        _take_answer(request, reply, organizer, now)
    except (InvalidInput, Conflict) as error:
        return _organizer_questions(request, now, typed=request.POST.dict(), refused=error.message)
    return SeeOther(reverse("organizer-questions"))


@dataclass(frozen=True, slots=True)
class QuestionReply:
    """An answer as typed: to which question, for whom, and whether everybody qualifies again."""

    question_id: int
    answer: str
    to_everybody: bool
    requalify: bool


def _reply(request: HttpRequest) -> QuestionReply:
    number = whole_number(request.POST.get("question", ""))
    to, requalify = request.POST.get("to"), "requalify" in request.POST
    if number is None:
        raise NotFound("There is no such question.", "not_found")
    if to not in (_EVERYBODY, _ASKER):
        raise InvalidInput("Choose who reads the answer.", "invalid", field="to")
    answer = answer_checked(request.POST.get("answer", ""), to_everybody=to == _EVERYBODY, requalify=requalify)
    return QuestionReply(number, answer, to == _EVERYBODY, requalify)


def _look_over(request: HttpRequest, reply: QuestionReply, now: datetime) -> HttpResponse:
    if request.POST.get("step") == "change":
        return _organizer_questions(request, now, typed=request.POST.dict())
    question = selectors.question_numbered(reply.question_id)
    if question is None:
        raise NotFound("There is no such question.", "not_found")
    if question.answered_at is not None:
        raise Conflict("This question is answered already: reload the page.", "answered_already")
    context = {"question": question, "reply": reply, "asked_again": asked_again_by(reply.requalify)}
    return render(request, "questions/organizer_confirm.html", context)


def _take_answer(request: HttpRequest, reply: QuestionReply, by: User, now: datetime) -> None:
    question = question_answer(
        question_id=reply.question_id,
        answer=reply.answer,
        to_everybody=reply.to_everybody,
        requalify=reply.requalify,
        by=by,
        now=now,
    )
    version = question.instructions
    everybody = f"is published as version {version.version} of the instructions" if version else "is sent"
    messages.success(request, f"The answer to {question.tasker.public_id} {everybody}.")


def _organizer_questions(request: HttpRequest, now: datetime, **more: Any) -> HttpResponse:
    context = {
        "questions": selectors.open_questions(),
        "waiting": selectors.open_question_count(),
        "answered": selectors.answered_questions(),
        "now": now,
        "zone": policy_in_force(now).policy.time_zone,
        **more,
    }
    return render(request, "questions/organizer_questions.html", context, status=400 if "refused" in more else 200)
