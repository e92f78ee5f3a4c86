"""The check of a defense's framework by a person (R31, 4): what was handed in, what was said before, and the form."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import FileResponse, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from common.errors import InvalidInput, NotFound
from contest.defenses.access import defense_of
from labeling.access import organizer_of
from labeling.selectors import policy_in_force
from labeling.views import SeeOther
from scoring.models import Defense
from scoring.trials.handed_in import open_source, source_listing
from scoring.trials.selectors import framework_checks_of
from scoring.trials.services import LONGEST_REASON, framework_check

FILES_SHOWN = 500
OUTCOMES = {"passed": "Passed", "not-passed": "Not passed"}


@dataclass(frozen=True, slots=True)
class Form:
    """The form as it was sent; `outcome` is one of OUTCOMES, empty before anything was chosen."""

    outcome: str = ""
    reason: str = ""


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def framework(request: HttpRequest, public_id: str) -> HttpResponse:
    """Show what was handed in and the earlier checks, and record an organizer's answer."""
    organizer, now = organizer_of(request.user), timezone.now()
    defense = defense_of(public_id)
    if request.method != "POST":
        return _page(request, defense, Form(), now)
    form = _form_of(request)
    try:
        passed = _passed(form)
        framework_check(defense, passed=passed, reason=form.reason, by=organizer, now=now)
    except InvalidInput as error:
        return _page(request, defense, form, now, wrong=error)
    messages.success(request, f"The check is on record: {OUTCOMES[form.outcome].lower()}.")
    return SeeOther(f"{reverse('defense', args=[defense.public_id])}#trials")


@login_required
@never_cache
@require_safe
def framework_source(request: HttpRequest, public_id: str) -> FileResponse:
    """Stream the source zip for saving; nothing in it is ever shown by this site."""
    organizer_of(request.user)
    defense = defense_of(public_id)
    name = f"source-{defense.public_id}.zip"
    return FileResponse(open_source(defense), as_attachment=True, filename=name, content_type="application/zip")


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
        "longest": LONGEST_REASON,
        "checks": framework_checks_of(defense),
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
