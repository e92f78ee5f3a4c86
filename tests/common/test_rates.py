"""Counts per clock hour: what is counted together, when it begins again, and that removing old rows harms nobody."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from common import rates
from common.models import HourCount

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 18, 12, tzinfo=UTC)
NEXT = NOON + timedelta(hours=1)


def test_each_key_is_counted_by_itself_and_begins_again_with_the_hour() -> None:
    assert [rates.count("a", now=NOON + timedelta(minutes=each)) for each in (0, 30, 59)] == [1, 2, 3]
    assert rates.count("b", now=NOON) == 1
    assert [rates.count("a", now=NEXT) for _ in range(2)] == [1, 2]
    assert (rates.counted("a", now=NEXT), rates.counted("a", now=NOON), rates.counted("c", now=NEXT)) == (2, 0, 0)


@pytest.mark.both("rows that somebody holds are skipped")
def test_a_late_clock_never_lowers_a_count_and_rows_of_hours_that_are_over_go() -> None:
    for key in "abc":
        rates.count(key, now=NOON)
    rates.count("a", now=NEXT)
    assert [row.key for row in HourCount.objects.all()] == ["a"]
    assert rates.count("a", now=NOON) == 2
    assert rates.counted("a", now=NEXT) == 2


@pytest.mark.both("it is a statement of its own")
def test_a_count_is_one_statement_so_that_nobody_removes_the_row_halfway() -> None:
    rates.count("a", now=NOON)
    with CaptureQueriesContext(connection) as queries:
        assert rates.count("a", now=NOON) == 2
    assert len(queries) == 1
