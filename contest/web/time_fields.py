"""Form fields for a moment by the clocks of a time zone, and for a contest week."""

from datetime import datetime
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from common.errors import InvalidInput
from contest.core.weeks import week_called
from contest.policy_changes.moments import moment_of
from policy.calendar import Week


class ZonedDateTimeField(forms.Field):
    """A day and a time, typed by the clocks of `zone`, which the form sets."""

    zone = "UTC"
    default_error_messages = {"required": "Give a day and a time, as 2026-11-28 00:00."}

    def __init__(self, label: str, **named: Any) -> None:
        super().__init__(label=label, widget=forms.TextInput({"type": "datetime-local"}), **named)

    def to_python(self, value: Any) -> datetime | None:
        """Return the moment (UTC), None for an empty field; ValidationError for a time that occurs twice."""
        try:
            return moment_of(value, self.zone, field="") if value else None
        except InvalidInput as error:
            raise ValidationError(error.message, error.code) from None


class WeekField(forms.Field):
    """The name of a contest week, such as 2026-W47."""

    def __init__(self, label: str = "Week", **named: Any) -> None:
        widget = forms.TextInput({"placeholder": "2026-W47", "maxlength": 9, "autocomplete": "off"})
        super().__init__(**{"label": label, "widget": widget, **named})

    def to_python(self, value: Any) -> Week | None:
        """Return the week, None for an empty field; ValidationError for an invalid name."""
        name = str(value or "").strip()
        try:
            return week_called(name) if name else None
        except ValueError:
            raise ValidationError("There is no week of this name. Write the week like 2026-W47.", "invalid") from None
