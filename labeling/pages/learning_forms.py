"""The organizers' form of a new version of the instructions (R5)."""

from datetime import UTC, datetime
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError

from common.web.forms import Form, TextField
from labeling.learning.services import MAX_INSTRUCTIONS_CHARACTERS, instructions_publish
from labeling.models import InstructionVersion
from policy.numbers import Policy

_MAX_SUMMARY_CHARACTERS = 400


class InstructionsForm(Form):
    """A new version of the instructions; `in_force_from` is a time in UTC, None for at once."""

    summary = TextField("What changed, in a sentence", max_length=_MAX_SUMMARY_CHARACTERS)
    clarification = TextField(
        "Clarification, shown with its date below the instructions (optional)",
        max_length=MAX_INSTRUCTIONS_CHARACTERS,
        rows=4,
        required=False,
    )
    requalify = forms.BooleanField(required=False, widget=forms.CheckboxInput({"value": "yes"}))
    in_force_from = forms.CharField(
        label="In force from, UTC (empty: at once)", required=False, widget=forms.TextInput({"type": "datetime-local"})
    )

    def __init__(self, *arguments: Any, policy: Policy, **named: Any) -> None:
        super().__init__(*arguments, **named)
        pass_mark = f"{policy.short_qualification_needed} of {policy.short_qualification_size}"
        self.fields["requalify"].label = f"Everybody passes a short qualification ({pass_mark}) before the next picture"

    def clean_in_force_from(self) -> datetime | None:
        """Return the time in UTC, None for at once."""
        typed = self.cleaned_data["in_force_from"]
        try:
            return datetime.fromisoformat(typed).replace(tzinfo=UTC) if typed else None
        except ValueError:
            raise ValidationError("Write the time as 2026-11-20T08:00, in UTC.", "bad_time") from None

    def save(self, *, by: User, now: datetime, confirmed: bool) -> InstructionVersion:
        """Publish the version once it is `confirmed`; until then return it as it would be."""
        data = self.cleaned_data
        return instructions_publish(
            summary=data["summary"],
            clarification=data["clarification"],
            requalify=data["requalify"],
            in_force_from=data["in_force_from"] or now,
            by=by,
            now=now,
            only_check=not confirmed,
        )
