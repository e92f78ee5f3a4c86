"""Filters (from the query string), pages, and CSV files of lists."""

import csv
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import urlencode

import django_filters
from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from common.web.forms import DayField, Form

LONGEST_PAGE_NUMBER = 9


class ListFilter(django_filters.FilterSet):  # type: ignore[misc]  # the library has no types
    """The filters of a list. `forms/filter.html` shows them; invalid input is marked there and matches no row."""

    class Meta:
        form = Form

    def __init__(self, request: HttpRequest, rows: QuerySet[Any]) -> None:
        super().__init__(request.GET, rows, request=request)

    @property
    def rows(self) -> QuerySet[Any]:
        """Return the rows that match."""
        rows: QuerySet[Any] = self.qs if self.is_valid() else self.queryset.none()
        return rows

    @property
    def query(self) -> str:
        """Return the filters in use as the query of an address, without the page; empty where nothing is filtered."""
        given = ((name, value) for name in self.filters for value in self.data.getlist(name) if value)
        return urlencode(list(given))


class DayFilter(django_filters.Filter):  # type: ignore[misc]  # the library has no types
    """A filter by a calendar day."""

    field_class = DayField


def page_of(request: HttpRequest, rows: Sequence[Any] | QuerySet[Any], size: int, *, name: str = "page") -> Page[Any]:
    """Return the page of `rows` that the address asks for by `name`, or the nearest there is."""
    return Paginator(rows, size).get_page(request.GET.get(name, "")[:LONGEST_PAGE_NUMBER])


def csv_file(name: str, columns: Sequence[str], rows: Iterable[Sequence[object]], *, status: int = 200) -> HttpResponse:
    """Answer rows as a CSV file that is saved under this name; `status` is that of the form that filtered them."""
    answer = HttpResponse(content_type="text/csv; charset=utf-8", status=status)
    answer["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    csv.writer(answer).writerows([columns, *rows])
    return answer
