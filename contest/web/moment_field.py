"""A form field for a moment by the clocks of a time zone."""

from datetime import datetime
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from common.errors import InvalidInput
from contest.policy_changes.moments import moment_of


class MomentField(forms.Field):
    """A day and a time, typed by the clocks of `zone`, which the form sets."""

    zone = "UTC"

    def __init__(self, label: str, **named: Any) -> None:
        super().__init__(label=label, widget=forms.TextInput({"type": "datetime-local"}), required=False, **named)

    def to_python(self, value: Any) -> datetime:
        """Return the moment (UTC); ValidationError for none, or for one that the clocks show twice."""
        try:
            return moment_of(str(value or ""), self.zone, field="")
        except InvalidInput as error:
            raise ValidationError(error.message, error.code) from None
