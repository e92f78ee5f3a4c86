"""Views of questions and reports, for taskers and organizers."""

from collections.abc import Iterable

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from accounts.access import organizer_of
from common.domain_clock import domain_now
from common.web.form_fields import redirect_with_message
from common.web.page import page
from labeling.access import tasker_of
from labeling.enums import ReportKind
from labeling.learning.organizer import asked_again_by
from labeling.models import Question, Report, Tasker
from labeling.pages.question_forms import AnswerForm, QuestionDecisionForm, QuestionForm
from labeling.pictures.addresses import picture_url
from labeling.questions import selectors
from labeling.questions.report_words import KIND_NAMES
from policy.selectors import policy_in_force


@page(tasker_of, "GET POST")
def questions(request: HttpRequest, tasker: Tasker) -> HttpResponse:
    """Show a tasker their own questions and all clarifications; take a new question."""
    now, form = domain_now(), QuestionForm.of(request)
    if form.submit(tasker=tasker, now=now):
        told = _("Your question is with the organizers. You are told here when it is answered.")
        return redirect_with_message(request, told, "questions", extra_tags=f"question {request.user.get_username()}")
    context = {
        "form": form,
        "questions": selectors.own_questions(tasker),
        "clarifications": selectors.clarifications(now),
    }
    return render(request, "questions/questions.html", context, status=form.status)


@page(organizer_of, "GET POST")
def reports(request: HttpRequest, organizer: User) -> HttpResponse:
    """Show an organizer what taskers reported; take a decision on a picture."""
    now, form = domain_now(), QuestionDecisionForm.of(request)
    if decided := form.submit(by=organizer, now=now):
        picture, taskers = decided[0].image.public_id, f"{len(decided)} tasker{'s' if len(decided) > 1 else ''}"
        told = f"Picture {picture} is decided; {taskers} who reported it will read your thanks and reply."
        return redirect_with_message(
            request, told, "reports", extra_tags=f"report {organizer.get_username()} {picture}"
        )
    shown = [
        {
            "picture": each,
            "url": picture_url(each.image, now=now),
            "kinds": _kinds(each.reports),
            "form": form.for_row(each.image.public_id),
        }
        for each in selectors.reported_pictures()
    ]
    context = {
        "form": form,
        "shown": shown,
        "waiting": selectors.pictures_waiting(),
        "decided": _kinds(selectors.decided_reports()),
        "now": now,
        "zone": policy_in_force(now).policy.time_zone,
    }
    return render(request, "questions/reports.html", context, status=form.status)


def _kinds(found: Iterable[Report]) -> list[tuple[Report, str]]:
    return [(report, KIND_NAMES[ReportKind(report.kind)]) for report in found]


@page(organizer_of, "GET POST")
def organizer_questions(request: HttpRequest, organizer: User) -> HttpResponse:
    """Show an organizer what taskers asked; take an answer.

    One after which everybody qualifies again is looked over first: its form comes back to be sent or changed (`step`).
    """
    now, form, step = domain_now(), AnswerForm.of(request), request.POST.get("step")
    question = None if step == "change" else form.submit(by=organizer, now=now, confirmed=step == "send")
    if question and question.answered_at:
        return redirect_with_message(
            request,
            _sent_words(question),
            "organizer-questions",
            extra_tags=f"answer {organizer.get_username()} {question.pk}",
        )
    if question:
        context = {"question": question, "form": form, "asked_again": asked_again_by(True)}
        return render(request, "questions/organizer_confirm.html", context)
    context = {
        "form": form,
        "questions": [(each, form.for_row(each.pk)) for each in selectors.open_questions()],
        "waiting": selectors.open_question_count(),
        "answered": selectors.answered_questions(),
        "now": now,
        "zone": policy_in_force(now).policy.time_zone,
    }
    return render(request, "questions/organizer_questions.html", context, status=form.status)


def _sent_words(question: Question) -> str:
    version = question.instructions
    sent = f"is published as version {version.version} of the instructions" if version else "is sent"
    return f"The answer to {question.tasker.public_id} {sent}."
