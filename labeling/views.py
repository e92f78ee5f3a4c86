"""The tasker's pages: the form on a picture, and the instructions."""

from collections.abc import Mapping
from datetime import datetime
from random import SystemRandom
from typing import Any

from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from common.errors import Conflict, DomainError, InvalidInput, NotAllowed, NotFound, WrongFields
from labeling import services
from labeling.access import assignment_of, labeling_tasker, tasker_of
from labeling.api import MOST_PROBLEM_CHARACTERS, RETRY_AFTER_SECONDS
from labeling.enums import TieBreak
from labeling.label_form import ShownForm, hidden_fields, page_data
from labeling.models import Assignment, Tasker
from labeling.people import is_organizer
from labeling.plain_form import assignment_id_of, read_plain_form
from labeling.selectors import PolicyInForce, policy_at, policy_in_force
from labeling.wording import ANSWERS, CANNOT_OUTLINE, FOLLOW_UP_OF_EITHER, QUESTIONS, TIE_BREAKS, WHEN_ASKED

# How often the page looks again when nothing is held by others either.
LOOK_AGAIN_SECONDS = 60
_SIGN_IN_FIELDS = frozenset({"csrfmiddlewaretoken", "username", "password"})
_random = SystemRandom()


class SeeOther(HttpResponseRedirect):
    """After a POST: go and GET that, so that a reload never posts again."""

    status_code = 303


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def label(request: HttpRequest) -> HttpResponse:
    """Show the form on the tasker's present picture, or take it as a plain POST (R8-R12)."""
    if not request.user.is_authenticated:
        return _sign_in_first(request)
    try:
        if request.method == "POST":
            return _take(request, tasker_of(request.user), now=timezone.now())
        return _show_next(request, labeling_tasker(request.user), now=timezone.now())
    except NotAllowed as error:
        return _wrong_role(request, error)


def _sign_in_first(request: HttpRequest) -> HttpResponse:
    """Send a stranger to sign in. With a filled-in form in hand, ask on the spot and keep all of it."""
    if request.method != "POST":
        return redirect_to_login(request.get_full_path())
    filled_in = "password" in request.POST
    form = AuthenticationForm(request, data=request.POST if filled_in else None)
    if not (filled_in and form.is_valid()):
        return _ask_to_sign_in(request, form)
    user = form.get_user()
    login(request, user)
    # A lazy user would be the stranger who came.
    request.user = user
    return label(request)


def _ask_to_sign_in(request: HttpRequest, form: AuthenticationForm) -> HttpResponse:
    kept = {name: value for name, value in request.POST.items() if name not in _SIGN_IN_FIELDS}
    return render(request, "labeling/sign_in_again.html", {"form": form, "kept": kept}, status=401)


def _wrong_role(request: HttpRequest, error: NotAllowed) -> HttpResponse:
    user = request.user
    organizes = isinstance(user, User) and is_organizer(user)
    context = {"code": error.code, "message": error.message, "organizes": organizes}
    return render(request, "labeling/not_for_you.html", context, status=403)


def _show_next(request: HttpRequest, tasker: Tasker, *, now: datetime) -> HttpResponse:
    in_force = policy_in_force(now)
    found = services.assignment_next(tasker=tasker, holding=frozenset(), policy=in_force.policy, now=now, rng=_random)
    if isinstance(found, services.NothingLeft):
        wait = RETRY_AFTER_SECONDS if found.others_hold_some else LOOK_AGAIN_SECONDS
        return _page(request, None, in_force, now=now, nothing_left=found, retry_after=wait)
    return _page(request, found, in_force, now=now)


def _page(
    request: HttpRequest,
    assignment: Assignment | None,
    in_force: PolicyInForce,
    *,
    now: datetime,
    values: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
    refused: str = "",
    nothing_left: services.NothingLeft | None = None,
    retry_after: int = 0,
) -> HttpResponse:
    gate = in_force.policy.outline_gate
    context: dict[str, Any] = {
        "assignment": assignment,
        "tie_break": TIE_BREAKS[TieBreak(assignment.tie_break)] if assignment else "",
        "form": ShownForm(values or {}, errors or {}, gate),
        "hidden": hidden_fields(assignment, now=now),
        "refused": refused,
        "nothing_left": nothing_left,
        "lease_minutes": in_force.policy.lease_seconds // 60,
        "page_data": page_data(assignment, username=request.user.get_username(), gate=gate, retry_after=retry_after),
        **_instructions(in_force),
    }
    return render(request, "labeling/label.html", context, status=400 if refused else 200)


def _take(request: HttpRequest, tasker: Tasker, *, now: datetime) -> HttpResponse:
    """Take a plain POST; what is wrong is shown at its field with everything kept."""
    in_force = policy_in_force(now)
    try:
        assignment = assignment_of(tasker, assignment_id_of(request.POST))
        if request.POST.get("action") == "report":
            return _report(request, tasker, assignment, now=now)
        return _submit(request, tasker, assignment, in_force, now=now)
    except NotFound as error:
        messages.error(request, f"Nothing was sent: {error.message} Here is the next picture.")
        return SeeOther(reverse("label"))


def _submit(
    request: HttpRequest, tasker: Tasker, assignment: Assignment, in_force: PolicyInForce, *, now: datetime
) -> HttpResponse:
    try:
        submitted = services.response_submit(
            tasker=tasker,
            assignment_id=assignment.public_id,
            lease_token=request.POST.get("lease_token", ""),
            data=read_plain_form(request.POST, now=now),
            policy_at=policy_at,
            now=now,
        )
    except DomainError as error:
        return _refused(request, assignment, in_force, error, now=now)
    messages.success(request, _receipt_words(submitted))
    return SeeOther(reverse("label"))


def _refused(
    request: HttpRequest,
    assignment: Assignment,
    in_force: PolicyInForce,
    error: DomainError,
    *,
    now: datetime,
) -> HttpResponse:
    if isinstance(error, Conflict) and error.code == "already_answered":
        messages.error(request, error.message)
        return SeeOther(reverse("label"))
    return _page(
        request,
        assignment,
        in_force,
        now=now,
        values=request.POST.dict(),
        errors=_errors_of(error),
        refused="Not sent yet. Everything you filled in is kept: change what is marked and submit again."
        if isinstance(error, InvalidInput)
        else error.message,
    )


def _errors_of(error: DomainError) -> dict[str, str]:
    if isinstance(error, WrongFields):
        return error.fields
    return {error.field: error.message} if error.field else {}


def _receipt_words(submitted: services.Submitted) -> str:
    response = submitted.response
    words = f"Received {response.submitted_at:%H:%M:%S} UTC, receipt {response.receipt}."
    if submitted.counted:
        return words
    return f"{words} It came after its place was taken: it is kept and published, and does not count."


def _report(request: HttpRequest, tasker: Tasker, assignment: Assignment, *, now: datetime) -> HttpResponse:
    problem = request.POST.get("problem", "").replace("\x00", "").strip()[:MOST_PROBLEM_CHARACTERS]
    try:
        services.assignment_release(
            tasker=tasker,
            assignment_id=assignment.public_id,
            lease_token=request.POST.get("lease_token", ""),
            problem=problem or "Reported without words.",
            now=now,
        )
    except Conflict as error:
        messages.error(request, error.message)
    else:
        messages.success(request, "Reported. An organizer looks at the picture; you do not get it again.")
    return SeeOther(reverse("label"))


@require_safe
def instructions(request: HttpRequest) -> HttpResponse:
    """Show the task in plain words, for whoever is signed in."""
    if not request.user.is_authenticated:
        return redirect_to_login(request.get_full_path())
    return render(request, "labeling/instructions.html", _instructions(policy_in_force(timezone.now())))


def _instructions(in_force: PolicyInForce) -> dict[str, Any]:
    return {
        "questions": QUESTIONS,
        "answers": ANSWERS,
        "when_asked": WHEN_ASKED,
        "either": FOLLOW_UP_OF_EITHER,
        "cannot_outline": CANNOT_OUTLINE,
        "lease_minutes": in_force.policy.lease_seconds // 60,
    }
