"""Public list of the board's decisions about pictures, and its CSV file (R20)."""

from typing import Any

from django.db.models import Q, QuerySet
from django.forms import TextInput
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django_filters import CharFilter, ChoiceFilter

from adjudication.enums import Reason, Verdict
from adjudication.wording import REASON_WORDS
from common.domain_clock import domain_now
from common.web.lists import ListFilter, csv_file, page_of
from common.web.page import page
from contest.board.models import CaseDecision
from contest.core.enums import CaseOutcome
from contest.record.closed_cases import public_decisions
from contest.record.overrules import CSV_COLUMNS, OUTCOMES, csv_rows, decision_entries, decisions_containing
from contest.web.time_fields import WeekField
from labeling.enums import Label
from policy.calendar import Week
from policy.selectors import policy_in_force

PAGE_SIZE = 20
MAX_FIND_CHARACTERS = 80
Decisions = QuerySet[CaseDecision]
_VERDICTS = [(each.value, each.value) for each in Verdict]
_FIND = TextInput({"type": "search", "maxlength": MAX_FIND_CHARACTERS, "autocomplete": "off"})


class _WeekFilter(CharFilter):  # type: ignore[misc]  # the library has no types
    field_class = WeekField


class OverruleFilter(ListFilter):
    """Filters decisions by outcome (default: overrules), verdicts, class, reason, week, and text."""

    outcome = ChoiceFilter(label="Outcome", empty_label=None, choices=list(OUTCOMES.items()), method="with_outcome")
    before = ChoiceFilter("case__ruling__verdict", label="Before", empty_label="any", choices=_VERDICTS)
    after = ChoiceFilter("case__result__verdict", label="After", empty_label="any", choices=_VERDICTS)
    label = ChoiceFilter(
        label="Class", empty_label="any", choices=[(each.value, each.value) for each in Label], method="with_label"
    )
    reason = ChoiceFilter(
        label="Reason",
        empty_label="any",
        choices=[(each.value, REASON_WORDS[each].words) for each in Reason],
        method="with_reason",
    )
    week = _WeekFilter(label="Week", method="in_week")
    find = CharFilter(label="Words, team or ID", method="with_words", widget=_FIND)

    data: Any

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request, public_decisions())
        if not self.data.get("outcome"):
            self.data = self.data.copy()
            self.data["outcome"] = CaseOutcome.OVERRULE.value

    @property
    def is_narrow(self) -> bool:
        """Say whether any filter but the outcome is set."""
        return any(self.data.get(name) for name in self.filters if name != "outcome")

    def with_outcome(self, rows: Decisions, name: str, outcome: str) -> Decisions:
        """Filter by outcome."""
        return rows if outcome == "all" else rows.filter(outcome=outcome)

    def with_label(self, rows: Decisions, name: str, label: str) -> Decisions:
        """Filter by the class before or after."""
        return rows.filter(Q(case__ruling__label=label) | Q(case__result__label=label))

    def with_reason(self, rows: Decisions, name: str, reason: str) -> Decisions:
        """Filter by a reason before or after: as text the stored reasons are between quotation marks."""
        named = f'"{reason}"'
        return rows.filter(Q(case__ruling__reasons__icontains=named) | Q(case__result__reasons__icontains=named))

    def in_week(self, rows: Decisions, name: str, week: Week) -> Decisions:
        """Filter by the week of the picture."""
        return rows.filter(case__image__received_at__gte=week.start, case__image__received_at__lt=week.end)

    def with_words(self, rows: Decisions, name: str, find: str) -> Decisions:
        """Filter by text."""
        return decisions_containing(rows, find[:MAX_FIND_CHARACTERS])


@page()
def overrules(request: HttpRequest) -> HttpResponse:
    """List the public decisions, newest first; only overrules unless another outcome is chosen."""
    now, filtered = domain_now(), OverruleFilter(request)
    page = page_of(request, filtered.rows, PAGE_SIZE)
    context = {
        "filter": filtered,
        "outcome": filtered.data["outcome"],
        "page": page,
        "rows": decision_entries(list(page.object_list), now=now),
        "now": now,
        "zone": policy_in_force(now).policy.time_zone,
    }
    return render(request, "record/overrules.html", context)


@page()
def overrules_csv(request: HttpRequest) -> HttpResponse:
    """Return the same decisions, of all pages, as a CSV file."""
    filtered = OverruleFilter(request)
    return csv_file("overrules", CSV_COLUMNS, csv_rows(list(filtered.rows)), status=filtered.form.status)
