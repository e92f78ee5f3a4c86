"""The list of what the board decided about pictures, for everybody, and the same as a file (R20)."""

import csv

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from adjudication.enums import Reason, Verdict
from adjudication.wording import REASON_WORDS
from common.domain_clock import domain_now
from common.web.page import page
from contest.record.overrules import (
    CSV_COLUMNS,
    OUTCOMES,
    OverruleFilter,
    csv_rows,
    decision_entries,
    filtered_decisions,
)
from labeling.enums import Label
from policy.selectors import policy_in_force

ON_A_PAGE = 20


@page()
def overrules(request: HttpRequest) -> HttpResponse:
    """List the decisions that everybody may know of, the newest first: overrules, unless others are asked for."""
    now, asked = domain_now(), OverruleFilter.of(request.GET)
    page = Paginator(filtered_decisions(asked), ON_A_PAGE).get_page(request.GET.get("page", "")[:9])
    context = {
        "asked": asked,
        "wrong_week": "" if asked.week else request.GET.get("week", "").strip(),
        "outcomes": OUTCOMES,
        "verdicts": list(Verdict),
        "labels": list(Label),
        "reasons": [(each.value, REASON_WORDS[each].words) for each in Reason],
        "page": page,
        "rows": decision_entries(list(page.object_list), now=now),
        "now": now,
        "zone": policy_in_force(now).policy.time_zone,
    }
    return render(request, "record/overrules.html", context)


@page()
def overrules_csv(request: HttpRequest) -> HttpResponse:
    """Answer the same decisions as a CSV file, all pages of them."""
    answer = HttpResponse(content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = 'attachment; filename="overrules.csv"'
    rows = csv_rows(list(filtered_decisions(OverruleFilter.of(request.GET))))
    csv.writer(answer).writerows([CSV_COLUMNS, *rows])
    return answer
