"""On SQLite, rows that no order is asked for come the newest first, so that nothing relies on their order.

There they would come in the order of their numbers nearly always, and on PostgreSQL once in a hundred runs in another:
a row that is written to goes to another place.
"""

from typing import Any

from django.db import connections
from django.db.models import QuerySet

_fetch_all = QuerySet._fetch_all


def pytest_configure() -> None:
    """Have whoever reads rows as a list read them so; what is streamed stays as it is."""
    QuerySet._fetch_all = _fetch_reversed


def _fetch_reversed(rows: "QuerySet[Any]") -> None:
    if rows._result_cache is None and _any_order_will_do(rows):
        rows._result_cache = list(rows._iterable_class(rows))[::-1]
    _fetch_all(rows)


def _any_order_will_do(rows: "QuerySet[Any]") -> bool:
    in_no_order = not (rows.ordered or rows.query.is_sliced or rows.query.combinator)
    return in_no_order and connections[rows.db].vendor == "sqlite"
