"""The first policy version, created by the first migration."""

from datetime import UTC, datetime
from typing import Any

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
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def record_first_policy(apps: Any, _: Any) -> None:
    """Add the row in its historical form: it must stay as it is when code changes."""
    apps.get_model("policy", "PolicyVersion").objects.create(
        version=1, numbers=FIRST, in_force_from=BEGIN, reason="The rule book as first written."
    )
