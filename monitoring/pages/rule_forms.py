"""Forms of the monitoring rules (R6): adding and retiring one."""

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from math import isfinite

from django import forms
from django.contrib.auth.models import User

from common.typed import whole_number
from common.web.forms import DayField, Form, RowNumberField, TextField
from labeling.enums import MonitoringAction
from monitoring.rule_changes import rule_add, rule_retire
from monitoring.rules import COLLECTORS, COMPARISONS

DEFAULT_PERIOD, MAX_PERIOD = timedelta(days=6), timedelta(days=92)


class RuleForm(Form):
    """A new rule; the service says what is wrong with a number."""

    name = TextField("Name", max_length=80)
    collector = forms.ChoiceField(label="Reads", choices=[(name, name) for name in COLLECTORS])
    comparison = forms.ChoiceField(label="Is", choices=[(name, each.words) for name, each in COMPARISONS.items()])
    threshold = TextField("Threshold", max_length=20, inputmode="decimal")
    window = TextField("Over the latest", max_length=9, inputmode="numeric")
    minimum = TextField("Once there are", max_length=9, inputmode="numeric")
    action = forms.ChoiceField(label="Then", choices=[(str(each), str(each)) for each in MonitoringAction])
    words = TextField("The tasker reads", max_length=1000, rows=2)

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


class PeriodForm(Form):
    """The days `from` to `to` over which agreement is shown: the last week where nothing else is asked."""

    def __init__(self, typed: Mapping[str, str], today: date) -> None:
        is_typed = any(map(typed.get, ("from", "to")))
        super().__init__(typed if is_typed else None, initial={"from": today - DEFAULT_PERIOD, "to": today})
        self.fields = {"from": DayField("From"), "to": DayField("To")}
        self._today = today

    def clean(self) -> None:
        """Refuse days that are no period, or one that is too long."""
        first, last = self._chosen()
        if not timedelta() <= last - first < MAX_PERIOD:
            self.add_error("to", f"Choose a day from the first one on, and at most {MAX_PERIOD.days} days in all.")

    def _chosen(self) -> tuple[date, date]:
        last = min(self.cleaned_data.get("to") or self._today, self._today)
        return self.cleaned_data.get("from") or last - DEFAULT_PERIOD, last

    @property
    def days(self) -> tuple[date, date]:
        """Return the first and the last day; those of the last week where the form is wrong."""
        return self._chosen() if self.is_valid() else (self._today - DEFAULT_PERIOD, self._today)


class RetireRuleForm(Form):
    """The rule to retire."""

    retire = RowNumberField()

    def save(self, *, by: User, now: datetime) -> str:
        """Retire the rule."""
        return f"Retired: {rule_retire(rule_id=self.cleaned_data['retire'], by=by, now=now).name}."
