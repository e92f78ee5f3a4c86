"""The organizers' page of the audit trail, its file, and the check of its chain."""

import csv
from collections.abc import Iterator, Sequence
from datetime import datetime
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.urls import reverse

from accounts.access import organizer_of
from common.audit.seals import chain_check, newest_check, seal_entries
from common.domain_clock import domain_now
from common.models import AuditEntry
from common.web.form_fields import SeeOther
from common.web.page import page
from contest.operations import audit_trail
from contest.operations.audit_trail import Asked
from contest.operations.audit_words import DID
from monitoring.days import day_of
from policy.selectors import policy_in_force

ON_A_PAGE = 50
_AT_ONCE = 500
_LONGEST = 200


@page(organizer_of, "GET POST")
def trail(request: HttpRequest, organizer: User) -> HttpResponse:
    """Show the trail, newest first, with what is asked for; a POST checks the whole chain now."""
    now = domain_now()
    if request.method == "POST":
        return _check(request, now)
    asked, zone = _asked(request), _zone(now)
    page = Paginator(audit_trail.entries(asked, zone), ON_A_PAGE).get_page(request.GET.get("page"))
    found = list(page.object_list)
    names = audit_trail.accounts_named(found)
    check = newest_check()
    context = {
        "rows": [audit_trail.row_of(entry, names) for entry in found],
        "page": page,
        "asked": asked,
        "query": _query(asked),
        "actions": sorted({*DID, *audit_trail.actions()}),
        "day_wrong": bool(asked.day) and day_of(asked.day) is None,
        "any": bool(found) or audit_trail.anything_recorded(),
        "check": check,
        "since": audit_trail.recorded_since(check),
        "now": now,
        "zone": zone,
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
    """Answer the rows that are asked for as a CSV file, newest first."""
    now = domain_now()
    answer = StreamingHttpResponse(_lines(_asked(request), _zone(now)), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="audit-{now:%Y-%m-%d}.csv"'
    return answer


class _Echo:
    """A file that gives back what is written into it."""

    def write(self, line: str) -> str:
        """Return the line."""
        return line


def _lines(asked: Asked, zone: str) -> Iterator[str]:
    writer = csv.writer(_Echo())
    yield writer.writerow(audit_trail.COLUMNS)
    rows = audit_trail.entries(asked, zone)
    last = None
    while found := list((rows if last is None else rows.filter(pk__lt=last))[:_AT_ONCE]):
        yield from map(writer.writerow, _columns(found))
        last = found[-1].pk


def _columns(found: Sequence[AuditEntry]) -> Iterator[list[str]]:
    names = audit_trail.accounts_named(list(found))
    return (audit_trail.as_columns(audit_trail.row_of(entry, names)) for entry in found)


def _asked(request: HttpRequest) -> Asked:
    return Asked(**{name: _typed(request, name) for name in ("action", "who", "day", "words")})


def _typed(request: HttpRequest, name: str) -> str:
    return request.GET.get(name, "").replace("\x00", "").strip()[:_LONGEST]


def _query(asked: Asked) -> str:
    given = {"action": asked.action, "who": asked.who, "day": asked.day, "words": asked.words}
    return urlencode({name: value for name, value in given.items() if value})


def _zone(now: datetime) -> str:
    return policy_in_force(now).policy.time_zone
