"""Previews a motion to the board member before it is opened (R21)."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from common.domain_clock import domain_now
from common.web.form_fields import SeeOther
from contest.board.case_messages import describe_case
from contest.board.open_motions import opened_words
from contest.board.recusal import quorum_of, teams_of_case
from contest.pages.board.case_words import motion_content
from contest.pages.board.motion_forms import MotionForm
from contest.web.page_context import money_context

_NOT_KEPT = ("csrfmiddlewaretoken", "do")


def preview_or_open(request: HttpRequest, *forms: MotionForm, by: User, back: str) -> HttpResponse | None:
    """Show the preview of a sent motion; once confirmed, open the motion and redirect to the address `back`.

    None where the form has to be shown: nothing sent, something invalid, or the member goes back to change it.
    """
    form = next((each for each in forms if each.is_bound), None)
    if form is None or request.POST.get("do") == "change":
        return None
    if request.POST.get("do") == "move":
        case = form.submit(by=by)
        if case is None:
            return None
        messages.success(request, opened_words(case), extra_tags=f"{form.draft} {by.get_username()}")
        return SeeOther(back)
    preview = _preview(form, by)
    if preview is None:
        return None
    kept = [(name, value) for name, values in request.POST.lists() if name not in _NOT_KEPT for value in values]
    return render(request, "board/motion_preview.html", {"kept": kept, "back": back} | preview)


def _preview(form: MotionForm, by: User) -> dict[str, Any] | None:
    """Return the preview's context: the motion is opened in a transaction, read, and rolled back."""
    framed = money_context(domain_now())
    with transaction.atomic():
        case = form.submit(by=by)
        if case is not None:
            framed |= motion_content(case, currency=framed["currency"])
            framed |= {
                "what": describe_case(case),
                "reason": case.reason,
                "teams": teams_of_case(case),
                "needed": quorum_of(case),
            }
        transaction.set_rollback(True)
    return framed if case is not None else None
