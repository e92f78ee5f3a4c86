"""Queries that are composed once and give what the ORM gives, marks of what was written, deadlocks, counts per hour."""

import threading
import uuid
from datetime import UTC, datetime, timedelta
from threading import Barrier

import pytest
from django.contrib.auth.models import Group
from django.db import OperationalError, connection, models, transaction
from django.test.utils import CaptureQueriesContext

from common import rates
from common.changes import change_mark
from common.deadlocks import again_after_deadlock
from common.lookups import Change, Given, Lookup, Statement
from common.models import HourCount
from labeling.models import Assignment, Image, Panel, Tasker
from tests import factories
from tests.at_once import at_once

pytestmark = pytest.mark.django_db
by_tasker = Lookup(
    "test_by_tasker",
    lambda: (
        Assignment.objects.filter(tasker_id=Given("tasker", models.BigIntegerField()), state="leased")
        .select_related("panel", "tasker__user")
        .order_by("-id")
    ),
)
by_name = Lookup("test_by_name", lambda: Assignment.objects.filter(public_id=Given("public_id", models.UUIDField())))
received_after = Lookup(
    "test_received_after",
    lambda: Image.objects.filter(received_at__gt=Given("moment", models.DateTimeField())).order_by("id")[:2],
)
start_waiting = Change(
    "test_start_waiting",
    lambda: (
        Panel.objects.filter(pk=Given("panel", models.BigIntegerField()), state="open"),
        {"leased": models.F("leased") + 1, "waiting_since": Given("now", models.DateTimeField())},
    ),
)


@pytest.mark.both("statements are composed for each database")
def test_the_rows_are_those_of_the_queryset_with_what_it_relates(tara: Tasker, otto: Tasker) -> None:
    panels = [factories.panel() for _ in range(3)]
    held = factories.assignment(tara, panels[0], state="leased")
    factories.assignment(tara, panels[1], state="expired")
    others = factories.assignment(otto, panels[2], state="leased")
    found, *rest = (by_tasker(tasker=each) for each in (tara.pk, otto.pk, -1))
    assert (found, rest) == ([held], [[others], []])
    with CaptureQueriesContext(connection) as queries:
        assert (found[0].panel, found[0].tasker.user) == (panels[0], tara.user)
        assert vars(found[0]).keys() >= {field.attname for field in Assignment._meta.concrete_fields}
    assert not queries.captured_queries, "everything came with the row"


@pytest.mark.both("statements are composed for each database")
def test_values_are_stored_as_their_field_stores_them(tara: Tasker) -> None:
    assignment = factories.assignment(tara, factories.panel())
    assert (by_name(public_id=assignment.public_id), by_name(public_id=uuid.uuid4())) == ([assignment], [])
    moment = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
    images = [factories.image(received_at=moment.replace(hour=hour)) for hour in (11, 13, 14, 15)]
    assert received_after(moment=moment) == images[1:3]
    with pytest.raises(KeyError):
        received_after()


@pytest.mark.both("statements are composed for each database")
def test_a_change_tells_how_many_rows_it_changed_and_is_undone_with_its_transaction(now: datetime) -> None:
    panel, other = factories.panel(), factories.panel()
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        start_waiting(panel=other.pk, now=now)
        raise ZeroDivisionError
    assert [start_waiting(panel=pk, now=now) for pk in (panel.pk, -1)] == [1, 0]
    panel.refresh_from_db()
    other.refresh_from_db()
    assert (panel.leased, panel.waiting_since, other.leased) == (1, now, 0)


@pytest.mark.both("statements are composed for each database")
@pytest.mark.postgres("prepared statements are PostgreSQL's")
@pytest.mark.django_db(transaction=True)
def test_each_connection_plans_a_statement_once() -> None:
    statement = Statement("test_planned_once", "SELECT %s + %s", [Given("n", models.IntegerField()), 2])
    assert [statement.rows(n=n) for n in (1, 5)] == [[(3,)], [(7,)]]
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement FROM pg_prepared_statements WHERE name = 'test_planned_once'")
        assert cursor.fetchall() == [("PREPARE test_planned_once AS SELECT $1 + 2",)]
    connection.close()
    assert statement.rows(n=4) == [(6,)], "a new connection plans it again"


@pytest.mark.django_db(transaction=True)
@pytest.mark.both("each database has a mark of its own")
def test_a_commit_of_another_connection_gives_another_mark() -> None:
    before = change_mark()
    at_once(lambda: Group.objects.create(name="new"))
    assert change_mark() != before


@pytest.mark.django_db(transaction=True)
@pytest.mark.both("each database has a mark of its own")
def test_reading_gives_no_other_mark() -> None:
    """Other tests commit to other databases of the cluster meanwhile, but not every time."""

    def unchanged() -> bool:
        before = change_mark()
        at_once(lambda: list(Group.objects.all()))
        list(Group.objects.all())
        return change_mark() == before

    assert any(unchanged() for _ in range(100))


@pytest.mark.django_db(transaction=True)
@pytest.mark.both("each database has a mark of its own")
def test_a_commit_counts_when_it_is_made_not_when_its_transaction_began() -> None:
    """A worker that looked while the transaction was open saw nothing of it, and has to look again."""
    written, seen = threading.Event(), threading.Event()

    @transaction.atomic
    def change() -> None:
        Group.objects.create(name="slow")
        written.set()
        seen.wait(10)

    thread = threading.Thread(target=at_once, args=(change,))
    thread.start()
    written.wait(10)
    while_open = change_mark()
    seen.set()
    thread.join()
    assert change_mark() != while_open


@pytest.mark.postgres("several at once: SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_two_that_lock_the_other_way_round_both_come_through() -> None:
    ids = [factories.tasker(name).pk for name in ("tara", "otto")]
    met, tries = Barrier(2), list[int]()

    @again_after_deadlock
    @transaction.atomic
    def change(first: int, second: int) -> int:
        tries.append(first)
        Tasker.objects.filter(pk=first).update(left_at=None)
        if len(tries) <= 2:
            met.wait(10)
        return Tasker.objects.filter(pk=second).update(left_at=None)

    assert at_once(lambda: change(*ids), lambda: change(*reversed(ids))) == [1, 1]
    # One is ended and tries again, once or, where it is the faster one again, more often.
    assert len(tries) >= 3


@pytest.mark.django_db(transaction=True)
def test_another_error_is_raised_at_once() -> None:
    tries: list[int] = []

    @again_after_deadlock
    def change() -> None:
        tries.append(1)
        raise OperationalError("disk I/O error")

    with pytest.raises(OperationalError, match="disk"):
        change()
    assert len(tries) == 1 and not connection.in_atomic_block


NOON = datetime(2026, 11, 18, 12, tzinfo=UTC)
NEXT = NOON + timedelta(hours=1)


def test_each_key_is_counted_by_itself_and_begins_again_with_the_hour() -> None:
    assert [rates.count("a", now=NOON + timedelta(minutes=each)) for each in (0, 30, 59)] == [1, 2, 3]
    assert (rates.count("b", now=NOON), [rates.count("a", now=NEXT) for _ in range(2)]) == (1, [1, 2])
    assert (rates.counted("a", now=NEXT), rates.counted("a", now=NOON), rates.counted("c", now=NEXT)) == (2, 0, 0)


@pytest.mark.both("rows that somebody holds are skipped")
def test_a_late_clock_never_lowers_a_count_and_rows_of_hours_that_are_over_go() -> None:
    for key in "abc":
        rates.count(key, now=NOON)
    rates.count("a", now=NEXT)
    assert ([row.key for row in HourCount.objects.all()], rates.count("a", now=NOON)) == (["a"], 2)
    assert rates.counted("a", now=NEXT) == 2


@pytest.mark.both("it is a statement of its own")
def test_a_count_is_one_statement_so_that_nobody_removes_the_row_halfway() -> None:
    rates.count("a", now=NOON)
    with CaptureQueriesContext(connection) as queries:
        assert rates.count("a", now=NOON) == 2
    assert len(queries) == 1
