"""The first policy, recorded like every later one."""

from datetime import UTC, datetime
from typing import Any

from django.db import migrations

FIRST = {
    "name": "unambiguous-1",
    "image_size": 299,
    "panel_size": 3,
    "outline_gate": "best_guess_yes",
    "lease_seconds": 1200,
    "pictures_held": 3,
    "min_box_fraction": "1/4",
    "evaluation_runs": 3,
    "batch_size": 16,
    "time_zone": "UTC",
}


def record(apps: Any, editor: Any) -> None:
    """Add version 1 in its historical form: code may change, this row may not."""
    apps.get_model("labeling", "PolicyVersion").objects.create(
        version=1,
        numbers=FIRST,
        in_force_from=datetime(2026, 1, 1, tzinfo=UTC),
        reason="The rule book as first written.",
    )


class Migration(migrations.Migration):
    """Data only."""

    dependencies = [("labeling", "0002_append_only")]
    operations = [migrations.RunPython(record, migrations.RunPython.noop)]
