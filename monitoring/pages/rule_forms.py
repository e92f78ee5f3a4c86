"""Forms of the monitoring rules (R6): adding and retiring one."""

from datetime import datetime
from math import isfinite

from django import forms
from django.contrib.auth.models import User

from common.typed import whole_number
from common.web.forms import Form, RowNumberField, TextField
from labeling.enums import MonitoringAction
from monitoring.rule_changes import rule_add, rule_retire
from monitoring.rules import COLLECTORS, COMPARISONS


class RuleForm(Form):
    """A new rule; the service says what is wrong with a number."""

    name = TextField("Name", most=80)
    collector = forms.ChoiceField(label="Reads", choices=[(name, name) for name in COLLECTORS])
    window = TextField("Window", most=9, inputmode="numeric")
    minimum = TextField("At least", most=9, inputmode="numeric")
    comparison = forms.ChoiceField(label="Is", choices=[(each, each) for each in COMPARISONS])
    threshold = TextField("Threshold", most=20, inputmode="decimal")
    action = forms.ChoiceField(label="Then", choices=[(str(each), str(each)) for each in MonitoringAction])
    words = TextField("The tasker reads", most=1000, rows=2)

    def clean_window(self) -> int | None:
        """Return the number; None for anything else."""
        return whole_number(self.cleaned_data["window"], digits=9)

    def clean_minimum(self) -> int | None:
        """Return the number; None for anything else."""
        return whole_number(self.cleaned_data["minimum"], digits=9)

    def clean_threshold(self) -> float | None:
        """Return the number; None for anything else."""
        try:
            number = float(self.cleaned_data["threshold"])
        except ValueError:
            return None
        return number if isfinite(number) else None

    def save(self, *, by: User, now: datetime) -> str:
        """Add the rule."""
        rule = rule_add(**self.cleaned_data, by=by, now=now)
        return f"Added: {rule.name}. It looks at every tasker from the next sweep on."


class RetireRuleForm(Form):
    """The rule to retire."""

    retire = RowNumberField()

    def save(self, *, by: User, now: datetime) -> str:
        """Retire the rule."""
        return f"Retired: {rule_retire(rule_id=self.cleaned_data['retire'], by=by, now=now).name}."
