"""Board pages to check in which framework a defense is written, by its source (R31, 4).

Organizers see all of it and decide nothing.
"""

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import FileResponse, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from accounts.roles import is_organizer
from common.domain_clock import domain_now
from common.errors import InvalidInput, NotFound
from common.web.form_fields import SeeOther
from common.web.forms import Form, TextField
from common.web.lists import page_of
from common.web.page import page
from contest.core.roles import board_member_of, roles_of
from contest.defenses.eligibility import failed_trials
from policy.selectors import policy_in_force
from scoring.models import Defense, FrameworkCheck
from scoring.selectors import defense_named
from scoring.trials.selectors import copy_flags_of, defenses_before_publication, framework_checks_of
from scoring.trials.services import MAX_REASON_CHARACTERS, framework_check
from scoring.trials.submitted_files import open_source, source_listing

FILES_SHOWN = 500
OUTCOMES = {"passed": "Passed", "not-passed": "Not passed"}
_NO_OUTCOME = "Choose whether it passed."


class FrameworkForm(Form):
    """A board member's check of a defense's framework."""

    outcome = forms.ChoiceField(
        label="Is it readable TensorFlow, PyTorch, Caffe or NumPy?",
        choices=list(OUTCOMES.items()),
        widget=forms.RadioSelect,
        error_messages={"required": _NO_OUTCOME, "invalid_choice": _NO_OUTCOME},
    )
    reason = TextField("Reason (it stays on record)", max_length=MAX_REASON_CHARACTERS, rows=4)

    def save(self, *, defense: Defense, by: User) -> FrameworkCheck:
        """Record the check."""
        passed = self.cleaned_data["outcome"] == "passed"
        reason, now = self.cleaned_data["reason"], domain_now()
        return framework_check(defense, passed=passed, reason=reason, by=by, now=now)


def _reader(user: Any) -> User:
    """Return the reader if they may see a defense's source before publication: board member or organizer."""
    return user if isinstance(user, User) and is_organizer(user) else board_member_of(user)


@page(_reader, "GET POST")
def framework(request: HttpRequest, reader: User, public_id: str) -> HttpResponse:
    """Show the submitted source and the earlier checks, and record a board member's answer."""
    if request.method == "POST":
        reader = board_member_of(request.user)
    defense = defense_named(public_id)
    form = FrameworkForm.of(request)
    if check := form.submit(defense=defense, by=reader):
        words = f"The check is on record: {'passed' if check.passed else 'not passed'}."
        messages.success(request, words, extra_tags=f"framework {reader.get_username()} {public_id}")
        return SeeOther(f"{reverse('framework', args=[public_id])}#checks")
    now = domain_now()
    context = {
        "defense": defense,
        "form": form,
        "decides": roles_of(request.user).board,
        "checks": framework_checks_of(defense),
        "copy_flags": copy_flags_of(defense),
        "failed": failed_trials([defense], now).get(defense.pk, ()),
        "now": now,
        "zone": policy_in_force(now).policy.time_zone,
    }
    return render(request, "defenses/framework.html", context | _source(request, defense), status=form.status)


@page(_reader)
def framework_source(request: HttpRequest, reader: User, public_id: str) -> FileResponse:
    """Stream the source zip for saving; nothing in it is ever shown by this site."""
    defense = defense_named(public_id)
    name = f"source-{defense.public_id}.zip"
    return FileResponse(open_source(defense), as_attachment=True, filename=name, content_type="application/zip")


@page(_reader)
def frameworks(request: HttpRequest, reader: User) -> HttpResponse:
    """List the defenses before their publication, those that nobody has checked yet first.

    A defense that failed a trial is left out: it is not published, whatever the check says.
    """
    now = domain_now()
    unpublished = list(defenses_before_publication())
    failed = failed_trials(unpublished, now)
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


def _source(request: HttpRequest, defense: Defense) -> dict[str, Any]:
    """Return the page's data of the source; a sentence instead where it cannot be listed."""
    if not defense.source:
        return {}
    try:
        listing = source_listing(defense)
    except (NotFound, InvalidInput) as error:
        return {"unreadable": error}
    files = page_of(request, listing.files, FILES_SHOWN)
    return {"listing": listing, "files": files, "bytes": sum(file.bytes for file in listing.files)}
