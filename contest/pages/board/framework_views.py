"""The board's check of a defense's framework (R31, 4): what waits, what was handed in and said before, and the form.

Organizers see all of it and decide nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.http import FileResponse, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from accounts.roles import is_organizer
from common.domain_clock import domain_now
from common.errors import InvalidInput, NotFound
from common.web.form_fields import SeeOther
from common.web.page import page
from contest.core.roles import board_member_of, roles_of
from contest.defenses.eligibility import Failure, failures
from policy.selectors import policy_in_force
from scoring.models import Defense
from scoring.selectors import defense_named
from scoring.trials.enums import Condition
from scoring.trials.selectors import copy_flags_of, defenses_before_publication, framework_checks_of
from scoring.trials.services import LONGEST_REASON, framework_check
from scoring.trials.submitted_files import open_source, source_listing

FILES_SHOWN = 500
OUTCOMES = {"passed": "Passed", "not-passed": "Not passed"}


@dataclass(frozen=True, slots=True)
class Form:
    """The form as it was sent; `outcome` is one of OUTCOMES, empty before anything was chosen."""

    outcome: str = ""
    reason: str = ""


def _reader(user: Any) -> User:
    """Return who may see a defense's source before the public: the board, and the organizers."""
    return user if isinstance(user, User) and is_organizer(user) else board_member_of(user)


@page(_reader, "GET POST")
def framework(request: HttpRequest, reader: User, public_id: str) -> HttpResponse:
    """Show what was handed in and the earlier checks, and record a board member's answer."""
    now = domain_now()
    if request.method == "POST":
        reader = board_member_of(request.user)
    defense = defense_named(public_id)
    if request.method != "POST":
        return _page(request, defense, Form(), now)
    form = _form_of(request)
    try:
        passed = _passed(form)
        framework_check(defense, passed=passed, reason=form.reason, by=reader, now=now)
    except InvalidInput as error:
        return _page(request, defense, form, now, wrong=error)
    messages.success(request, f"The check is on record: {OUTCOMES[form.outcome].lower()}.")
    return SeeOther(f"{reverse('framework', args=[defense.public_id])}#checks")


@page(_reader)
def framework_source(request: HttpRequest, reader: User, public_id: str) -> FileResponse:
    """Stream the source zip for saving; nothing in it is ever shown by this site."""
    defense = defense_named(public_id)
    name = f"source-{defense.public_id}.zip"
    return FileResponse(open_source(defense), as_attachment=True, filename=name, content_type="application/zip")


@page(_reader)
def frameworks(request: HttpRequest, reader: User) -> HttpResponse:
    """List the defenses before their publication, those that nobody has checked yet first.

    One that failed a trial is left out: whatever the check says, it is not published.
    """
    now = domain_now()
    unpublished = list(defenses_before_publication())
    failed = _failed_trials(unpublished, now)
    waiting = [
        (each, framework_checks_of(each)[:1], copy_flags_of(each)) for each in unpublished if each.pk not in failed
    ]
    context = {
        "rows": sorted(waiting, key=lambda row: bool(row[1])),
        "left_out": len(failed),
        "now": now,
        "zone": policy_in_force(now).policy.time_zone,
    }
    return render(request, "defenses/frameworks.html", context)


def _failed_trials(defenses: Iterable[Defense], now: datetime) -> dict[int, tuple[Failure, ...]]:
    """Return defense -> the conditions that its trials failed. The check itself is asked of the board again."""
    found = failures(defenses, now=now)
    trials = {pk: tuple(row for row in rows if row.condition != Condition.FRAMEWORK) for pk, rows in found.items()}
    return {pk: rows for pk, rows in trials.items() if rows}


def _form_of(request: HttpRequest) -> Form:
    # A form's line ends count as one character, as the page counts them; PostgreSQL keeps no NUL.
    said = {
        name: request.POST.get(name, "").replace("\x00", "").replace("\r\n", "\n") for name in ("outcome", "reason")
    }
    return Form(**said) if said["outcome"] in OUTCOMES else Form(reason=said["reason"])


def _passed(form: Form) -> bool:
    if not form.outcome:
        raise InvalidInput("Choose whether it passed.", "no_outcome", field="outcome")
    return form.outcome == "passed"


def _page(
    request: HttpRequest, defense: Defense, form: Form, now: datetime, wrong: InvalidInput | None = None
) -> HttpResponse:
    context = {
        "defense": defense,
        "form": form,
        "wrong": wrong,
        "outcomes": OUTCOMES,
        "decides": roles_of(request.user).board,
        "longest": LONGEST_REASON,
        "checks": framework_checks_of(defense),
        "copy_flags": copy_flags_of(defense),
        "failed": _failed_trials([defense], now).get(defense.pk, ()),
        "now": now,
        "zone": policy_in_force(now).policy.time_zone,
    }
    source = _source(defense, request.GET.get("page", ""))
    return render(request, "defenses/framework.html", context | source, status=400 if wrong else 200)


def _source(defense: Defense, page: str) -> dict[str, Any]:
    """Return what the page says of the source; a sentence in its place where it cannot be listed."""
    if not defense.source:
        return {}
    try:
        listing = source_listing(defense)
    except (NotFound, InvalidInput) as error:
        return {"unreadable": error}
    files = Paginator(listing.files, FILES_SHOWN).get_page(page)
    return {"listing": listing, "files": files, "bytes": sum(file.bytes for file in listing.files)}
