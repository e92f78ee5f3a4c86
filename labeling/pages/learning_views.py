"""Views of the tutorial and the qualification (R5)."""

from datetime import datetime
from random import SystemRandom
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _

from common.domain_clock import domain_now
from common.errors import Conflict, DomainError, InvalidInput, NotFound, WrongFields
from common.web.form_fields import SeeOther
from common.web.page import page
from labeling.access import tasker_of
from labeling.enums import AttemptKind, TaskerState
from labeling.learning import selectors, wording
from labeling.learning.services import attempt_start, item_answer, lesson_mark_seen
from labeling.models import KnownPicture, QualificationAttempt, QualificationItem, Tasker
from labeling.outlines import drawn_outline
from labeling.pages.label_form import LabelPage, label_context
from labeling.pages.learning_calls import item_json
from labeling.pages.plain_form import assignment_id_of, read_plain_form
from labeling.pictures.addresses import picture_url
from policy.numbers import Policy
from policy.selectors import policy_at, policy_in_force

_random = SystemRandom()


def _known_picture_content(known: KnownPicture, now: datetime) -> dict[str, Any]:
    return {
        "known": known,
        "url": picture_url(known.image, now=now),
        "path": drawn_outline(known.outline),
        "title": wording.lesson_title(known),
        "topic": wording.TOPICS[known.topic],
    }


@page(tasker_of)
def learn(request: HttpRequest, tasker: Tasker) -> HttpResponse:
    """Show a tasker's progress, the next step, and links to all worked examples."""
    now = domain_now()
    lessons, seen = selectors.lessons(), selectors.lessons_seen(tasker)
    listed = [
        {"number": number, "shown": _known_picture_content(known, now), "seen": known.pk in seen}
        for number, known in enumerate(lessons, start=1)
    ]
    unseen = [each["number"] for each in listed if not each["seen"]]
    context = {
        "tasker": tasker,
        "lessons": listed,
        "seen": len(listed) - len(unseen),
        "next": unseen[0] if unseen else None,
        "due": selectors.due_item(tasker, now),
    }
    return render(request, "learning/learn.html", context)


@page(tasker_of, "GET POST")
def lesson(request: HttpRequest, tasker: Tasker, number: int) -> HttpResponse:
    """Show one worked example: its question first, then everything about it. A POST goes on to the next one."""
    now, lessons = domain_now(), selectors.lessons()
    if not 1 <= number <= len(lessons):
        raise Http404("no such worked example")
    known = lessons[number - 1]
    if request.method == "POST":
        lesson_mark_seen(tasker=tasker, known=known, now=now)
        return SeeOther(reverse("lesson", args=[number + 1]) if number < len(lessons) else reverse("learn"))
    policy = policy_in_force(now).policy
    decisive = wording.decisive_question(known, policy.min_box_fraction)
    said = request.GET.get("answer", "")
    context = {
        "number": number,
        "count": len(lessons),
        "before": number - 1,
        "shown": _known_picture_content(known, now),
        "decisive": decisive,
        "said": said if said in dict(decisive.choices) else "",
        "right": said in decisive.right,
        "answered": said in dict(decisive.choices) or request.GET.get("answer") == "show",
        "right_words": [words for value, words in decisive.choices if value in decisive.right],
        "rows": wording.expected_rows(known),
        "pair": _pair(lessons, number, policy, now),
    }
    return render(request, "learning/lesson.html", context)


def _pair(lessons: list[KnownPicture], number: int, policy: Policy, now: datetime) -> dict[str, Any] | None:
    """Return the example before this one that illustrates the opposite case of the same rule."""
    known = lessons[number - 1]
    right = wording.decisive_question(known, policy.min_box_fraction).right
    for other in reversed(lessons[: number - 1]):
        same_rule = other.topic == known.topic
        if same_rule and wording.decisive_question(other, policy.min_box_fraction).right != right:
            return _known_picture_content(other, now)
    return None


@page(tasker_of, "GET POST")
def qualification(request: HttpRequest, tasker: Tasker) -> HttpResponse:
    """Show the attempts and the next step; a POST begins an attempt, or goes on with the open one."""
    now = domain_now()
    policy = policy_in_force(now).policy
    if request.method == "POST":
        try:
            attempt_start(tasker=tasker, policy=policy, now=now, rng=_random)
        except Conflict as error:
            messages.error(request, error.message)
            return SeeOther(reverse("qualification"))
        return SeeOther(reverse("qualification-picture"))
    return render(request, "learning/qualification.html", _standing(tasker, policy, now))


def _standing(tasker: Tasker, policy: Policy, now: datetime) -> dict[str, Any]:
    attempts = selectors.attempts_of(tasker)
    due = selectors.due_item(tasker, now)
    kind = AttemptKind.SHORT if due == "short_qualification" else AttemptKind.FULL
    size, needed = selectors.size_and_needed(kind, policy)
    earliest = selectors.next_try_from(attempts, policy)
    open_one = next((attempt for attempt in attempts if attempt.finished_at is None), None)
    fresh = selectors.fresh_for(tasker).count()
    return {
        "tasker": tasker,
        "due": due,
        "size": size,
        "needed": needed,
        "policy": policy,
        "attempts": [attempt for attempt in attempts if attempt.finished_at],
        "open": open_one,
        "answered": open_one.items.filter(answered_at__isnull=False).count() if open_one else 0,
        "fresh": fresh,
        "exhausted": open_one is None and due in ("qualification", "short_qualification") and fresh < size,
        "wait_until": earliest if earliest and now < earliest else None,
        "free_left": max(policy.free_tries - len(selectors.failed_since_pass(attempts)), 0),
    }


def _desk(attempt: QualificationAttempt, item: QualificationItem) -> LabelPage:
    title = _("Qualification: picture %(number)d of %(size)d") % {"number": item.position, "size": attempt.size}
    api = reverse("qualification-next").removesuffix("next/")
    return LabelPage(api=api, action=reverse("qualification-picture"), title=title, ahead=False)


@page(tasker_of, "GET POST")
def picture(request: HttpRequest, tasker: Tasker) -> HttpResponse:
    """Show the labeling form on the next picture of the attempt, or handle its plain POST."""
    now = domain_now()
    if request.method == "POST":
        return _take(request, tasker, now=now)
    attempt = selectors.open_attempt(tasker)
    item = selectors.next_item(attempt) if attempt else None
    if item is None:
        return redirect("qualification")
    return _form(request, tasker, item, now=now)


def _form(
    request: HttpRequest, tasker: Tasker, item: QualificationItem, *, now: datetime, **shown: Any
) -> HttpResponse:
    policy = policy_at(item.attempt.started_at)
    desk = _desk(item.attempt, item)
    assignment = item_json(item, policy=policy, now=now)
    context = label_context(assignment, desk=desk, tasker=tasker, policy=policy, now=now, **shown)
    return render(request, "labeling/label.html", context, status=400 if context["refused"] else 200)


def _take(request: HttpRequest, tasker: Tasker, *, now: datetime) -> HttpResponse:
    try:
        item = selectors.item_of(tasker, assignment_id_of(request.POST))
        item_answer(
            tasker=tasker,
            item_id=item.public_id,
            data=read_plain_form(request.POST, now=now),
            policy_at=policy_at,
            now=now,
        )
    except InvalidInput as error:
        return _refused(request, tasker, item, error, now=now)
    except (Conflict, NotFound) as error:
        messages.error(request, error.message)
        return SeeOther(reverse("qualification-picture"))
    return SeeOther(reverse("qualification-marks", args=[item.public_id]))


def _refused(
    request: HttpRequest, tasker: Tasker, item: QualificationItem, error: DomainError, *, now: datetime
) -> HttpResponse:
    errors = error.fields if isinstance(error, WrongFields) else {error.field or "outline": error.message}
    refused = _("Not sent yet. Everything you filled in is kept: change what is marked and submit again.")
    return _form(request, tasker, item, now=now, values=request.POST.dict(), errors=errors, refused=refused)


@page(tasker_of)
def marks(request: HttpRequest, tasker: Tasker, item_id: UUID) -> HttpResponse:
    """Show how an answer in a try was marked: every question with its reason, both outlines beside each other."""
    now = domain_now()
    item = selectors.item_of(tasker, item_id)
    if item.answers is None or item.marks is None:
        raise Http404("no marks of this tasker")
    done = item.attempt.finished_at is not None
    to_try = reverse("qualification-try", args=[item.attempt.number])
    context = {
        "item": item,
        "attempt": item.attempt,
        "shown": _known_picture_content(item.known, now),
        "given_path": drawn_outline(item.answers["outline"]),
        "rows": wording.marked_rows(item.known, item.answers, item.marks),
        "overlap": item.marks["iou_percent"],
        "done": done,
        "go": to_try if done else reverse("qualification-picture"),
    }
    return render(request, "learning/marks.html", context)


@page(tasker_of)
def attempt(request: HttpRequest, tasker: Tasker, number: int) -> HttpResponse:
    """Show the outcome of a try, and what to look at again."""
    now = domain_now()
    found = next((each for each in selectors.attempts_of(tasker) if each.number == number), None)
    if found is None or found.finished_at is None:
        raise Http404("no finished try of this tasker")
    items = list(found.items.select_related("known__image").order_by("position"))
    context = {
        **_standing(tasker, policy_in_force(now).policy, now),
        "attempt": found,
        "items": [{"item": item, "shown": _known_picture_content(item.known, now)} for item in items],
        "again": _lessons_again({item.known.topic for item in items if not item.right}, now),
        "qualified": tasker.state == TaskerState.QUALIFIED,
    }
    return render(request, "learning/attempt.html", context)


def _lessons_again(topics: set[str], now: datetime) -> list[dict[str, Any]]:
    """Return the worked examples about these topics, with their numbers."""
    numbered = enumerate(selectors.lessons(), start=1)
    return [
        {"number": number, "shown": _known_picture_content(known, now)}
        for number, known in numbered
        if known.topic in topics
    ]
