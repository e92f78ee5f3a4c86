"""Plans of the statements of a label, made while its tables are empty: each looks up single rows (decision 5)."""

import re
from random import Random

import pytest
from django.db import connection

from labeling.gold import gold_for
from labeling.models import Tasker
from policy.numbers import MAX_PANEL_SIZE
from tests import factories
from tests.factories import NOW
from tests.labeling.cast import label

_OF_PICTURE = r"\(\(tasker_id = \$\d+\) AND \(image_id = p(?:_\d+)?\.image_id\)\)"

pytestmark = [pytest.mark.postgres("the planner is PostgreSQL's"), pytest.mark.django_db]


def plan(statement: str) -> str:
    """Return the plan that is kept of a prepared statement, with $1, $2 … for what differs from call to call."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT cardinality(parameter_types) FROM pg_prepared_statements WHERE name = %s", [statement])
        [parameters] = cursor.fetchone()
        cursor.execute(f"EXPLAIN EXECUTE {statement} ({', '.join(['NULL'] * parameters)})")
        return "\n".join(line for (line,) in cursor.fetchall())


@pytest.mark.parametrize(
    ("statement", "condition", "parts", "why"),
    [
        ("candidates_1_3", _OF_PICTURE, 4, "urgent panels, and three levels"),
        ("candidates_1_3_linked", _OF_PICTURE, 4, "urgent panels, and three levels"),
        ("candidates_1_3_linked", r"\(image_id = p(_\d)?\.image_id\)", 4, "those of linked taskers"),
        ("not_passed", _OF_PICTURE, MAX_PANEL_SIZE, "each level"),
        ("gold_for", r"\(\(tasker_id = \$\d+\) AND \(image_id = g\.image_id\)\)", 1, "not all of the tasker's"),
        ("own_assignment", r"\(public_id = \$\d+\)", 1, "not all of the tasker's"),
        ("keep_in_place", r"\(place_id = place\.id\)", 1, "not all responses"),
    ],
)
def test_a_row_is_looked_up_by_its_key(tara: Tasker, statement: str, condition: str, parts: int, why: str) -> None:
    if statement.endswith("linked"):
        Tasker.objects.filter(pk=tara.pk).update(person=1)
        tara.refresh_from_db()
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")  # of a table with one page, reading all is a good plan
        for _ in range(2):
            factories.panel()
            label(tara, NOW)
        gold_for(tara, factories.image(), 10, Random(1))
        cursor.execute("DISCARD PLANS")
    found = plan(statement)
    assert len(re.findall(f"Index Cond: {condition}", found)) == parts, f"{why}: {found}"
    assert "Anti Join" not in found
    assert "Hash" not in found


def test_the_plan_of_a_prepared_statement_is_kept(tara: Tasker) -> None:
    with connection.cursor() as cursor:
        of = "FROM pg_prepared_statements WHERE name = 'candidates_1_3'"
        factories.panel()
        label(tara, NOW)
        cursor.execute(f"SELECT custom_plans, generic_plans {of}")
        custom, generic = cursor.fetchone()
        for _ in range(3):
            factories.panel()
            label(tara, NOW)
        cursor.execute(f"SELECT custom_plans, generic_plans {of}")
        assert cursor.fetchone() == (custom, generic + 3)
