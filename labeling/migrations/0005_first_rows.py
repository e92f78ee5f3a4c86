"""The first instructions and rules of monitoring, recorded like every later one; and who assignments were given to."""

from datetime import UTC, datetime
from typing import Any

from django.db import migrations
from django.db.models import F

from common.append_only import append_only, append_only_again

FACTS = [
    "labeling_goldmark",
    "labeling_goldflag",
    "labeling_watchevent",
    "labeling_statechange",
    "labeling_voiding",
    "labeling_voidedresponse",
]
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
# name, collector, window, minimum, comparison, threshold, action, words
RULES: list[tuple[str, str, int, int, str, float, str, str]] = []


def record(apps: Any, editor: Any) -> None:
    """Add the rows in their historical form: code may change, these may not."""
    apps.get_model("labeling", "InstructionVersion").objects.create(
        version=1, summary="The instructions as first written.", in_force_from=BEGIN
    )
    rule = apps.get_model("labeling", "WatchRule")
    columns = ("name", "collector", "window", "minimum", "comparison", "threshold", "action", "words")
    rule.objects.bulk_create(rule(**dict(zip(columns, row, strict=True)), created_at=BEGIN) for row in RULES)
    apps.get_model("labeling", "Assignment").objects.update(person=F("tasker_id"))


class Migration(migrations.Migration):
    """Data, and the protection of facts."""

    dependencies = [("labeling", "0004_taskers")]
    operations = [
        migrations.RunPython(record, migrations.RunPython.noop),
        append_only(FACTS),
        # SQLite makes a table anew to add a column, and leaves its triggers behind.
        append_only_again(["labeling_response"]),
    ]
