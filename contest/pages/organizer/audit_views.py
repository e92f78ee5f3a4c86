"""Organizers' pages of the audit trail: the list, its CSV file, and the check of its hash chain."""

from collections.abc import Iterator, Sequence
from datetime import date, datetime

from django.contrib import messages
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.forms import DateInput, TextInput
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.urls import reverse
from django_filters import CharFilter, ChoiceFilter, DateFilter

from accounts.access import organizer_of
from common.audit.seals import chain_check, newest_chain_check, seal_entries
from common.domain_clock import domain_now
from common.models import AuditEntry
from common.web.form_fields import SeeOther
from common.web.lists import ListFilter, filter_method, page_of, streamed_csv
from common.web.page import page
from contest.operations import audit_trail
from contest.operations.audit_words import DID
from policy.selectors import policy_in_force

ROWS_PER_PAGE = 50
_NAME = {"placeholder": "user name, or platform", "autocapitalize": "none", "spellcheck": "false"}
_DAY = DateInput({"placeholder": "2026-11-20", "inputmode": "numeric"}, format="%Y-%m-%d")
_WRONG_DAY = {"invalid": "Write the day as 2026-11-20."}
_WORDS = {"type": "search", "placeholder": "an ID, or a reason"}
Rows = QuerySet[AuditEntry]


class TrailFilter(ListFilter):
    """Filters rows by action, user name, day in the contest's time zone, and text."""

    action = ChoiceFilter(
        label="What",
        empty_label="Everything",
        choices=lambda: ((each, each) for each in sorted({*DID, *audit_trail.actions()})),
    )
    who = CharFilter(
        label="Who",
        method=filter_method(audit_trail.rows_by),
        widget=TextInput(_NAME),
    )
    day = DateFilter(label="Day", method="on_day", input_formats=["%Y-%m-%d"], widget=_DAY, error_messages=_WRONG_DAY)
    words = CharFilter(label="Words", method=filter_method(audit_trail.rows_containing), widget=TextInput(_WORDS))

    def on_day(self, rows: Rows, name: str, day: date) -> Rows:
        """Filter by day."""
        return audit_trail.rows_on(rows, day, policy_in_force(domain_now()).policy.time_zone)


@page(organizer_of, "GET POST")
def trail(request: HttpRequest, organizer: User) -> HttpResponse:
    """Show the trail, newest first; a POST checks the whole chain now."""
    now = domain_now()
    if request.method == "POST":
        return _check(request, now)
    filtered = TrailFilter(request, audit_trail.audit_rows())
    page = page_of(request, filtered.rows, ROWS_PER_PAGE)
    entries = list(page.object_list)
    names = audit_trail.accounts_named(entries)
    check = newest_chain_check()
    context = {
        "rows": [audit_trail.row_of(entry, names) for entry in entries],
        "page": page,
        "filter": filtered,
        "any": bool(entries) or audit_trail.anything_recorded(),
        "check": check,
        "since": audit_trail.recorded_since(check),
        "now": now,
        "zone": policy_in_force(now).policy.time_zone,
    }
    return render(request, "audit/trail.html", context)


def _check(request: HttpRequest, now: datetime) -> HttpResponse:
    while seal_entries():
        pass
    found = chain_check(now=now)
    if found.wrong:
        messages.error(request, f"The chain differs. {found.wrong}")
    else:
        messages.success(request, f"The chain holds through row {found.through:,}.")
    return SeeOther(reverse("audit"))


@page(organizer_of)
def trail_csv(request: HttpRequest, organizer: User) -> StreamingHttpResponse:
    """Answer the filtered rows as a CSV file, newest first."""
    rows = TrailFilter(request, audit_trail.audit_rows()).rows
    return streamed_csv(f"audit-{domain_now():%Y-%m-%d}", audit_trail.COLUMNS, rows, _csv_lines)


def _csv_lines(entries: Sequence[AuditEntry]) -> Iterator[Sequence[object]]:
    names = audit_trail.accounts_named(entries)
    for entry in entries:
        yield audit_trail.audit_columns(audit_trail.row_of(entry, names))
