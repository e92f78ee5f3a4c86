"""Adding and retiring monitoring rules; a rule in force is never changed (R6)."""

from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from common.audit.trail import audit
from common.errors import Conflict, WrongFields
from labeling.enums import MonitoringAction
from labeling.models import MonitoringRule
from monitoring.rules import COLLECTORS, COMPARISONS

WIDEST_WINDOW = 1_000


@transaction.atomic
def rule_add(
    *,
    name: str,
    collector: str,
    window: int | None,
    minimum: int | None,
    comparison: str,
    threshold: float | None,
    action: str,
    words: str,
    by: User,
    now: datetime,
) -> MonitoringRule:
    """Put a rule in force; WrongFields names what cannot be."""
    name, words = (text.replace("\x00", "").strip() for text in (name, words))
    checks = {
        "name": (0 < len(name) <= 80, "Give a name of at most 80 characters."),
        "collector": (collector in COLLECTORS, "Choose what the rule reads."),
        "window": (window is not None and 1 <= window <= WIDEST_WINDOW, f"Give 1 to {WIDEST_WINDOW:,} answers."),
        "minimum": (
            minimum is not None and 1 <= minimum <= (window or 0),
            "Give a whole number, at most that of “Over the latest”.",
        ),
        "comparison": (comparison in COMPARISONS, "Choose how to compare."),
        "threshold": (threshold is not None, "Give a number."),
        "action": (action in list(MonitoringAction), "Choose what happens."),
        "words": (0 < len(words) <= 1_000, "Say in words what the tasker reads, in at most 1,000 characters."),
    }
    wrong = {field: message for field, (right, message) in checks.items() if not right}
    if wrong or window is None or minimum is None or threshold is None:
        raise WrongFields(wrong)
    rule = MonitoringRule.objects.create(
        name=name,
        collector=collector,
        window=window,
        minimum=minimum,
        comparison=comparison,
        threshold=threshold,
        action=action,
        words=words,
        created_at=now,
        created_by=by,
    )
    _record("watch_rule.add", rule, by, now)
    return rule


@transaction.atomic
def rule_retire(*, rule_id: int, by: User, now: datetime) -> MonitoringRule:
    """Take a rule out of force; its events stay. Conflict (`no_rule`) when it is not in force."""
    if MonitoringRule.objects.filter(pk=rule_id, retired_at__isnull=True).update(retired_at=now) != 1:
        raise Conflict("This rule is not in force: reload the page.", "no_rule")
    rule = MonitoringRule.objects.get(pk=rule_id)
    _record("watch_rule.retire", rule, by, now)
    return rule


def _record(action: str, rule: MonitoringRule, by: User, now: datetime) -> None:
    told = {
        "name": rule.name,
        "reads": rule.collector,
        "window": rule.window,
        "minimum": rule.minimum,
        "condition": f"{rule.comparison} {rule.threshold!r}",
        "action": rule.action,
    }
    audit(action, by=by, subject={"watch_rule": [rule.pk]}, why=rule.words, now=now, private=told)
