"""Plans of the statements of a label, made while its tables are empty: each looks up single rows (decision 5)."""

import re

import pytest
from django.db import connection

from labeling.models import Tasker
from tests import factories
from tests.factories import NOW
from tests.labeling.cast import label

pytestmark = [pytest.mark.postgres("the planner is PostgreSQL's"), pytest.mark.django_db]


def plan(statement: str) -> str:
    """Return the plan that is kept of a prepared statement, with $1, $2 … for what differs from call to call."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT cardinality(parameter_types) FROM pg_prepared_statements WHERE name = %s", [statement])
        [parameters] = cursor.fetchone()
        cursor.execute(f"EXPLAIN EXECUTE {statement} ({', '.join(['NULL'] * parameters)})")
        return "\n".join(line for (line,) in cursor.fetchall())


@pytest.mark.parametrize(
    ("statement", "condition", "why"),
    [
        ("candidates_1_3", r"\(\(tasker_id = \$\d+\) AND \(image_id = p_\d\.image_id\)\)", "not all of the tasker's"),
        ("not_passed", r"\(\(tasker_id = \$\d+\) AND \(image_id = p_\d\.image_id\)\)", "not all of the tasker's"),
        ("own_assignment", r"\(public_id = \$\d+\)", "not all of the tasker's"),
        ("keep_in_place", r"\(place_id = place\.id\)", "not all responses"),
    ],
)
def test_a_row_is_looked_up_by_its_key(tara: Tasker, statement: str, condition: str, why: str) -> None:
    factories.panel()
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")  # of a table with one page, reading all is a good plan
        label(tara, NOW)
        cursor.execute("DISCARD PLANS")
    found = plan(statement)
    assert re.search(f"Index Cond: {condition}", found), f"{why}: {found}"
    assert "Hash" not in found


def test_the_plan_of_a_prepared_statement_is_kept() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SHOW plan_cache_mode")
        assert cursor.fetchone() == ("force_generic_plan",)
