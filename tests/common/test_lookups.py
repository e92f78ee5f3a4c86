"""Queries that are composed once give what the ORM gives, whatever is asked, on both databases."""

import uuid
from datetime import UTC, datetime

import pytest
from django.db import connection, models, transaction
from django.test.utils import CaptureQueriesContext

from common.lookups import Change, Given, Lookup, Statement
from labeling.models import Assignment, Image, Panel, Tasker
from tests import factories

pytestmark = [pytest.mark.django_db, pytest.mark.both("statements are composed for each database")]

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


def test_the_rows_are_those_of_the_queryset_with_what_it_relates(tara: Tasker, otto: Tasker) -> None:
    panels = [factories.panel() for _ in range(3)]
    held = [factories.assignment(tara, panel, state="leased") for panel in panels[:1]]
    factories.assignment(tara, panels[1], state="expired")
    factories.assignment(otto, panels[2], state="leased")
    others = by_tasker(tasker=otto.pk)
    found = by_tasker(tasker=tara.pk)
    assert (found, [each.tasker for each in others], by_tasker(tasker=-1)) == (held, [otto], [])
    with CaptureQueriesContext(connection) as queries:
        assert (found[0].panel, found[0].tasker.user) == (panels[0], tara.user)
        assert vars(found[0]).keys() >= {field.attname for field in Assignment._meta.concrete_fields}
    assert not queries.captured_queries, "everything came with the row"


def test_values_are_stored_as_their_field_stores_them(tara: Tasker) -> None:
    assignment = factories.assignment(tara, factories.panel())
    assert by_name(public_id=assignment.public_id) == [assignment]
    assert by_name(public_id=uuid.uuid4()) == []
    moment = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
    images = [factories.image(received_at=moment.replace(hour=hour)) for hour in (11, 13, 14, 15)]
    assert received_after(moment=moment) == images[1:3]
    with pytest.raises(KeyError):
        received_after()


def test_a_change_tells_how_many_rows_it_changed_and_is_undone_with_its_transaction(now: datetime) -> None:
    panel, other = factories.panel(), factories.panel()
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        start_waiting(panel=other.pk, now=now)
        raise ZeroDivisionError
    assert [start_waiting(panel=pk, now=now) for pk in (panel.pk, -1)] == [1, 0]
    panel.refresh_from_db()
    other.refresh_from_db()
    assert (panel.leased, panel.waiting_since, other.leased) == (1, now, 0)


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
