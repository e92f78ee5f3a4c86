"""Public page of the leaderboard, and its CSV file."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from common.domain_clock import domain_now
from common.web.forms import Form
from common.web.lists import csv_file
from common.web.page import page
from contest.record.leaderboard import snapshots
from contest.record.leaderboard.columns import ATTACKERS, DEFENSES, SortColumn, Sorting, file_rows, headings, sorting
from policy.calendar import Week
from policy.selectors import policy_in_force

TABLES = {"defenses": DEFENSES, "attackers": ATTACKERS}


class WeekForm(Form):
    """Chooses the week."""

    week = forms.ChoiceField(label="Week", required=False)

    def __init__(self, data: Mapping[str, str], *, weeks: Sequence[Week]) -> None:
        super().__init__(data)
        self.fields["week"].choices = [("", "Now"), *((each.name, each.name) for each in weeks)]  # type: ignore[attr-defined]


@page()
def leaderboard(request: HttpRequest) -> HttpResponse:
    """Show both tables, as of now or of a past week, sorted by the parameters of the address."""
    now = domain_now()
    found = snapshots.leaderboard_tables(request.GET.get("week", ""), now=now)
    policy = policy_in_force(now).policy
    context = {
        "shown": found,
        "parts": [_part(name, request, found) for name in TABLES],
        "form": WeekForm({"week": found.week}, weeks=snapshots.weeks_over(now=now)),
        "now": now,
        "zone": policy.time_zone,
        "currency": policy.currency,
        "days": policy.stake_hours // 24,
    }
    return render(request, "leaderboard/leaderboard.html", context)


def _part(name: str, request: HttpRequest, found: snapshots.LeaderboardTables) -> dict[str, Any]:
    columns, by = TABLES[name], _sorting(name, request)
    address = _addresses(name, {each: _sorting(each, request).name for each in TABLES}, found.week)
    return {
        "name": name,
        "rows": by.of(getattr(found.tables, name)),
        "headings": headings(columns, by, address),
        "csv": f"{reverse('leaderboard-csv')}?{urlencode({'table': name, 'week': found.week, 'sort': by.name})}",
    }


def _sorting(name: str, request: HttpRequest) -> Sorting:
    return sorting(TABLES[name], request.GET.get(name, ""))


def _addresses(name: str, sortings: dict[str, str], week: str) -> Callable[[str], str]:
    """Return a function from a sorting to its address, which keeps the other table's sorting and the week."""
    kept = {each: value for each, value in sortings.items() if value != TABLES[each][0].name}
    kept |= {"week": week} if week else {}
    return lambda value: f"?{urlencode(kept | {name: value})}#{name}"


@page()
def leaderboard_csv(request: HttpRequest) -> HttpResponse:
    """Return one of the tables as a CSV file: `defenses` (default) or `attackers`."""
    name = "attackers" if request.GET.get("table") == "attackers" else "defenses"
    found = snapshots.leaderboard_tables(request.GET.get("week", ""), now=domain_now())
    columns: Sequence[SortColumn] = TABLES[name]
    rows = sorting(columns, request.GET.get("sort", "")).of(getattr(found.tables, name))
    moment = found.week or f"{found.tables.at:%Y-%m-%d-%H%M%S}"
    header, *lines = file_rows(name, rows)
    return csv_file(f"leaderboard-{name}-{moment}", header, lines)
