"""Filters (from the query string), pages, and CSV files of lists."""

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, cast
from urllib.parse import urlencode

import django_filters
from django.core.paginator import EmptyPage, Page, Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse

from common.web.forms import DayField, Form

MAX_PAGE_DIGITS = 9
# At most this many rows of a list are counted: counting all of a long list takes long.
MAX_COUNTED = 1_000
_BATCH = 500


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


def filter_method(select: Callable[[QuerySet[Any], Any], QuerySet[Any]]) -> Callable[..., QuerySet[Any]]:
    """Return a django-filter `method` that calls `select(rows, value)`."""
    return lambda rows, _name, value: select(rows, value)


class DayFilter(django_filters.Filter):  # type: ignore[misc]  # the library has no types
    """A filter by a calendar day."""

    field_class = DayField


class ListPage(Page[Any]):
    """A page of a list; after the last counted page there is another one if more rows exist."""

    paginator: "ListPages"

    def has_next(self) -> bool:
        """Say whether there are rows behind those of this page."""
        return self._is_followed

    @cached_property
    def _is_followed(self) -> bool:
        return super().has_next() or self.paginator.has_row(self.end_index())

    def end_index(self) -> int:
        """Return the number of its last row, the first being 1."""
        return self.start_index() + len(self) - 1 if len(self) else 0

    @property
    def has_more_pages(self) -> bool:
        """Say whether there are more pages than are known."""
        return self.paginator.has_more and (self.number < self.known_pages or self.has_next())

    @property
    def known_pages(self) -> int:
        """Return how many pages are known, from the counted rows and from the present page."""
        counted = MAX_COUNTED // self.paginator.per_page if self.paginator.has_more else self.paginator.num_pages
        return max(self.number, counted)


class ListPages(Paginator):  # type: ignore[type-arg]  # generic for the type checker alone
    """The pages of a list, of which at most `MAX_COUNTED` rows are counted; paging on reaches the others too."""

    @cached_property
    def _known(self) -> int:
        rows = self.object_list
        return rows[: MAX_COUNTED + 1].count() if isinstance(rows, QuerySet) else len(rows)

    @cached_property
    def has_more(self) -> bool:
        """Say whether there are more rows than are counted."""
        return isinstance(self.object_list, QuerySet) and self._known > MAX_COUNTED

    @cached_property
    def count(self) -> int:
        """Return how many rows there are, as far as they are counted."""
        return MAX_COUNTED if self.has_more else self._known

    def has_row(self, number: int) -> bool:
        """Say whether there is a row of this number, the first being 0, beyond those that are counted."""
        return self.has_more and number >= self.count and bool(self.object_list[number : number + 1])

    def validate_number(self, number: Any) -> int:
        """Return the number of a page; raises InvalidPage where there is none."""
        try:
            return super().validate_number(number)
        except EmptyPage:
            if not self.has_row((int(number) - 1) * self.per_page):
                raise
            return int(number)

    def page(self, number: Any) -> ListPage:
        """Return a page; raises InvalidPage where there is none."""
        checked = self.validate_number(number)
        first = (checked - 1) * self.per_page
        return ListPage(self.object_list[first : first + self.per_page], checked, self)


def page_of(request: HttpRequest, rows: Sequence[Any] | QuerySet[Any], size: int, *, name: str = "page") -> ListPage:
    """Return the page of `rows` that the address asks for by `name`; where there is none, the first or the last that is
    counted."""
    return cast(ListPage, ListPages(rows, size).get_page(request.GET.get(name, "")[:MAX_PAGE_DIGITS]))


def csv_file(name: str, columns: Sequence[str], rows: Iterable[Sequence[object]], *, status: int = 200) -> HttpResponse:
    """Answer rows as a CSV file that is saved under this name; `status` is that of the form that filtered them."""
    answer = HttpResponse(content_type="text/csv; charset=utf-8", status=status)
    answer["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    csv.writer(answer).writerows([columns, *rows])
    return answer


def streamed_csv(
    name: str,
    columns: Sequence[str],
    rows: QuerySet[Any],
    lines: Callable[[Sequence[Any]], Iterable[Sequence[object]]],
) -> StreamingHttpResponse:
    """Answer all rows, which are in descending order of their primary keys, as a CSV file in constant memory; `lines`
    makes the lines of a batch of them."""
    answer = StreamingHttpResponse(_csv_lines(columns, rows, lines), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return answer


class _Echo:
    """A file whose `write` returns its argument."""

    def write(self, line: str) -> str:
        """Return the line."""
        return line


def _csv_lines(
    columns: Sequence[str], rows: QuerySet[Any], lines: Callable[[Sequence[Any]], Iterable[Sequence[object]]]
) -> Iterator[str]:
    writer = csv.writer(_Echo())
    yield writer.writerow(columns)
    batch = list(rows[:_BATCH])
    while batch:
        for line in lines(batch):
            yield writer.writerow(line)
        batch = list(rows.filter(pk__lt=batch[-1].pk)[:_BATCH])
