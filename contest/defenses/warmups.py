"""Records and returns warm-up measurements: what the fixed attacks found about a defense (R40)."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from common.audit.trail import audit
from common.errors import InvalidInput
from contest.defenses.models import WarmupMeasurement
from defense_kit.warmup import ATTACKS, DEFAULT
from scoring.models import Defense


@transaction.atomic
def warmup_record(defense: Defense, report: Mapping[str, Any], *, now: datetime) -> WarmupMeasurement:
    """Record a report of all attacks. InvalidInput for one that cannot be compared with others, or of another defense.

    It is public when the defense is.
    """
    if report["digest"] != defense.digest:
        raise InvalidInput(f"The report is of {report['digest']}, and the defense is {defense.digest}.", "wrong_digest")
    if reason := why_not_recorded(report["attacks"], report["mode"]):
        raise InvalidInput(f"Not recorded: {reason}", "incomparable")
    worst = report["worst"]["accuracy_at_80"]
    row = WarmupMeasurement.objects.create(defense=defense, measured_at=now, worst_accuracy=worst, report=report)
    audit("defense.warmup", by=None, subject={"defense": [defense.public_id]}, now=now)
    return row


def why_not_recorded(attacks: Collection[str], mode: str) -> str:
    """Return why a run of these attacks cannot be compared with others; empty if it can."""
    if missing := [name for name in ATTACKS if name not in attacks]:
        return f"only a run of all attacks is, and {missing[0]} is missing."
    return "" if mode == DEFAULT else f"a run in the mode {mode} cannot be compared with others."


def newest_warmup(defense: Defense) -> WarmupMeasurement | None:
    """Return the measurement in force."""
    return defense.warmups.order_by("-measured_at", "-pk").first()
