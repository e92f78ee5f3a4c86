"""Pagination of the API's lists: every paged answer has the same envelope."""

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.urls import reverse
from rest_framework.request import Request

PAGE_SIZE = 50


def list_page(
    request: Request,
    rows: Sequence[Any] | QuerySet[Any],
    address: str,
    write: Callable[[list[Any]], list[dict[str, Any]]],
    **filters: str,
) -> dict[str, Any]:
    """Return the page that `?page=` asks for: how many rows there are, the address of the next page, and these rows.

    `address` is the name of the call's URL, `filters` are what its next page is asked with, and `write` makes JSON of
    the rows of a page. A page number out of range gives the first or the last page.
    """
    page = Paginator(rows, PAGE_SIZE).get_page(request.query_params.get("page"))
    following = urlencode({**filters, "page": page.next_page_number()}) if page.has_next() else ""
    return {
        "count": page.paginator.count,
        "next": f"{reverse(address)}?{following}" if following else None,
        "results": write(list(page.object_list)),
    }
