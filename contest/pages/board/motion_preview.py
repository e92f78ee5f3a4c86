"""A motion is looked at before it is made: as the board reads it, and everybody once it is carried (R21)."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from common.domain_clock import domain_now
from common.web.form_fields import SeeOther
from contest.board.case_messages import what_of
from contest.board.open_motions import moved_words
from contest.board.recusal import quorum_of, teams_of
from contest.core.models import Case
from contest.pages.board.case_words import motion_content
from contest.web.page_context import frame

_NOT_KEPT = ("csrfmiddlewaretoken", "do")


def is_changed(request: HttpRequest) -> bool:
    """Say whether somebody looked at a motion and goes back to change it: the form is shown as it was typed."""
    return request.POST.get("do") == "change"


def move_or_show(request: HttpRequest, move: Callable[[], Case], *, back: str) -> HttpResponse:
    """Make the motion that a form asks for and go to `back`, an address; before that, show it as it will be read.

    Raises what `move` raises, also where it would be shown alone.
    """
    if request.POST.get("do") == "move":
        messages.success(request, moved_words(move()))
        return SeeOther(back)
    kept = [(name, value) for name, values in request.POST.lists() if name not in _NOT_KEPT for value in values]
    return render(request, "board/motion_preview.html", {"kept": kept, "back": back} | _tried(move))


def _tried(move: Callable[[], Case]) -> dict[str, Any]:
    """Return what the page shows of a motion: it is made, read, and taken back."""
    shown = frame(domain_now())
    with transaction.atomic():
        case = move()
        shown |= motion_content(case, currency=shown["currency"])
        shown |= {"what": what_of(case), "reason": case.reason, "teams": teams_of(case), "needed": quorum_of(case)}
        transaction.set_rollback(True)
    return shown
