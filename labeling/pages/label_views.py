"""Views of the labeling page and of the instructions."""

from collections.abc import Mapping
from datetime import datetime
from random import SystemRandom
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.pages.sign_in_views import SIGN_IN_FIELDS, SignInForm
from accounts.roles import is_organizer
from common.domain_clock import domain_now
from common.errors import Conflict, DomainError, InvalidInput, NotAllowed, NotFound, WrongFields
from common.typed import whole_number
from common.web.form_fields import SeeOther, redirect_with_message
from common.web.page import page
from labeling import leases
from labeling.access import assignment_of_tasker, labeling_tasker, tasker_of
from labeling.enums import ReportKind
from labeling.instructions import news_json, news_since
from labeling.models import Assignment, Tasker
from labeling.notices import notice_mark_seen
from labeling.pages.assignment_calls import RETRY_AFTER_SECONDS, assignment_json, claimed_json
from labeling.pages.label_form import instructions_context, label_context, labeling_desk
from labeling.pages.plain_form import assignment_id_of, read_plain_form
from labeling.questions.services import report_create
from labeling.submission import SubmittedResponse, response_submit
from policy.selectors import policy_at, policy_in_force

# How often the page tries again when other taskers hold nothing either.
LOOK_AGAIN_SECONDS = 60
_random = SystemRandom()


@page(methods="GET POST")
def label(request: HttpRequest) -> HttpResponse:
    """Show the form on the tasker's present picture, or take it as a plain POST (R8-R12)."""
    if not request.user.is_authenticated:
        return _sign_in_first(request)
    now = domain_now()
    try:
        if request.method == "POST":
            return _take(request, tasker_of(request.user), now=now)
        return _show_next(request, labeling_tasker(request.user, now=now), now=now)
    except NotAllowed as error:
        return _wrong_role(request, error)


def _sign_in_first(request: HttpRequest) -> HttpResponse:
    """Redirect a signed-out user to sign in. A posted form is kept, with a sign-in form beside it."""
    if request.method != "POST":
        return redirect_to_login(request.get_full_path())
    filled_in = "password" in request.POST or "proof" in request.POST
    form = SignInForm(request, data=request.POST if filled_in else None)
    if not (filled_in and form.is_valid()):
        return _ask_to_sign_in(request, form)
    user = form.get_user()
    login(request, user)
    # A lazy `request.user` would still be the anonymous user.
    request.user = user
    return label(request)


def _ask_to_sign_in(request: HttpRequest, form: SignInForm) -> HttpResponse:
    kept = {name: value for name, value in request.POST.items() if name not in SIGN_IN_FIELDS}
    return render(request, "labeling/sign_in_again.html", {"form": form, "kept": kept}, status=401)


def _wrong_role(request: HttpRequest, error: NotAllowed) -> HttpResponse:
    user = request.user
    organizes = isinstance(user, User) and is_organizer(user)
    context = {"code": error.code, "message": error.message, "organizes": organizes}
    return render(request, "labeling/not_for_you.html", context, status=403)


def _show_next(request: HttpRequest, tasker: Tasker, *, now: datetime) -> HttpResponse:
    policy = policy_in_force(now).policy
    found = leases.assignment_next(tasker=tasker, holding=frozenset(), policy=policy, now=now, rng=_random)
    if isinstance(found, leases.NothingLeft):
        wait = RETRY_AFTER_SECONDS if found.held else LOOK_AGAIN_SECONDS
        return _page(request, tasker, None, now=now, held=found.held, retry_after=wait)
    return _page(request, tasker, claimed_json(found, now=now), now=now)


def _page(
    request: HttpRequest, tasker: Tasker, assignment: Mapping[str, Any] | None, *, now: datetime, **shown: Any
) -> HttpResponse:
    context = label_context(
        assignment,
        desk=labeling_desk(),
        tasker=tasker,
        policy=policy_in_force(now).policy,
        now=now,
        **shown,
    )
    return render(request, "labeling/label.html", context, status=400 if context["refused"] else 200)


def _take(request: HttpRequest, tasker: Tasker, *, now: datetime) -> HttpResponse:
    """Handle a plain POST; errors appear at their fields, and all input is kept."""
    if request.POST.get("action") == "seen":
        return _see_notice(request, tasker, now=now)
    try:
        assignment = assignment_of_tasker(tasker, assignment_id_of(request.POST))
        if request.POST.get("action") == "report":
            return _report(request, tasker, assignment, now=now)
        return _submit(request, tasker, assignment, now=now)
    except NotFound as error:
        messages.error(request, _("Nothing was sent: %(why)s Here is the next picture.") % {"why": error.message})
        return SeeOther(reverse("label"))


def _submit(request: HttpRequest, tasker: Tasker, assignment: Assignment, *, now: datetime) -> HttpResponse:
    try:
        submitted = response_submit(
            tasker=tasker,
            assignment_id=assignment.public_id,
            lease_token=request.POST.get("lease_token", ""),
            data=read_plain_form(request.POST, now=now),
            policy_at=policy_at,
            now=now,
        )
    except DomainError as error:
        return _refused(request, tasker, assignment, error, now=now)
    return redirect_with_message(request, _receipt_words(submitted), "label")


def _refused(
    request: HttpRequest, tasker: Tasker, assignment: Assignment, error: DomainError, *, now: datetime
) -> HttpResponse:
    if isinstance(error, Conflict) and error.code == "already_answered":
        messages.error(request, error.message)
        return SeeOther(reverse("label"))
    return _page(
        request,
        tasker,
        assignment_json(assignment),
        now=now,
        values=request.POST.dict(),
        errors=_errors_of(error),
        refused=_("Not sent yet. Everything you filled in is kept: change what is marked and submit again.")
        if isinstance(error, InvalidInput)
        else error.message,
    )


def _errors_of(error: DomainError) -> dict[str, str]:
    if isinstance(error, WrongFields):
        return error.fields
    return {error.field: error.message} if error.field else {}


def _receipt_words(submitted: SubmittedResponse) -> str:
    response = submitted.response
    time = timezone.localtime(response.submitted_at).strftime("%H:%M:%S %Z")
    words = _("Received %(time)s, receipt %(receipt)s.") % {"time": time, "receipt": response.receipt}
    if submitted.counted:
        return words
    return (
        words
        + " "
        + _(
            "It arrived after the picture was given to somebody else or taken out, or your labeling was paused: "
            "it is kept and published, and does not count."
        )
    )


def _report(request: HttpRequest, tasker: Tasker, assignment: Assignment, *, now: datetime) -> HttpResponse:
    kind = request.POST.get("kind", "")
    try:
        report_create(
            tasker=tasker,
            assignment_id=assignment.public_id,
            lease_token=request.POST.get("lease_token", ""),
            kind=ReportKind(kind) if kind in list(ReportKind) else ReportKind.OTHER,
            words=request.POST.get("problem", ""),
            now=now,
        )
    except Conflict as error:
        messages.error(request, error.message)
    else:
        messages.success(request, _("Thank you. An organizer looks at that picture; you do not get it again."))
    return SeeOther(reverse("label"))


def _see_notice(request: HttpRequest, tasker: Tasker, *, now: datetime) -> HttpResponse:
    """Mark a notice as seen without a script."""
    try:
        notice_id = UUID(request.POST.get("notice", ""))
    except ValueError:
        raise NotFound(_("There is no such notice of yours."), "not_found") from None
    notice_mark_seen(tasker=tasker, notice_id=notice_id, now=now)
    return SeeOther(reverse("label"))


@page(cache=None)
def instructions(request: HttpRequest) -> HttpResponse:
    """Show the instructions to any signed-in user."""
    if not request.user.is_authenticated:
        return redirect_to_login(request.get_full_path())
    now = domain_now()
    tasker: Tasker | None = getattr(request.user, "tasker", None)
    context = instructions_context(tasker=tasker, policy=policy_in_force(now).policy, now=now)
    return render(request, "labeling/instructions.html", context)


@page()
def instructions_news(request: HttpRequest) -> HttpResponse:
    """Tell what changed in the instructions after version `since`, newest first, for the page's script."""
    if not request.user.is_authenticated:
        return redirect_to_login(request.get_full_path())
    tasker_of(request.user)
    version = whole_number(request.GET.get("since", ""), digits=5) or 0
    return JsonResponse(news_json(news_since(version, now=domain_now())), safe=False)
