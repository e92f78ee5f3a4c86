"""Forms of the policy, the contest's numbers: record or call back a version, try numbers on existing answers."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self
from urllib.parse import urlencode

from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.forms.boundfield import BoundField

from accounts.locale import zone_names
from adjudication.rules import VerdictPolicy
from adjudication.what_if import TriedNumbers
from common.domain_clock import domain_now
from common.web.forms import Form, RowNumberField, TextField
from contest.policy_changes.numbers import GROUPS, NEEDED_OF, NUMBERS, PolicyNumber, Value
from contest.policy_changes.selectors import PolicyVersionRow
from contest.policy_changes.services import (
    MAX_REASON_CHARACTERS,
    PolicyDraft,
    policy_call_back,
    policy_draft,
    policy_record,
)
from contest.web.time_fields import ZonedDateTimeField
from policy.models import PolicyVersion
from policy.numbers import Policy
from policy.selectors import PolicyInForce

# The numbers that verdicts depend on (R7, R10, R14, R15): the what-if page can try these.
TRIED = ("min_box_fraction", "panel_size", "outline_gate", "occlusion_allowed")
_NO_REASON = "Give the reason: it is public."


class ZoneInput(forms.TextInput):
    """A text field that offers the names of the time zones."""

    template_name = "policy/zone.html"

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        """Return the context of its template."""
        return super().get_context(name, value, attrs) | {"zones": zone_names()}


class NumberField(forms.Field):
    """A number of the policy, by its row of the table. Its initial value is from `policy`; `held_by` names the source.

    The value of `policy` is always allowed, even outside today's range. A field that was not sent keeps it.
    """

    def __init__(self, number: PolicyNumber, policy: Policy, held_by: str) -> None:
        self.number, self.held = number, number.of(policy)
        held = f"{held_by}: {number.words(self.held, policy.currency)}."
        super().__init__(
            label=number.title,
            required=False,
            initial=self.held,
            help_text=" ".join(filter(None, (number.meaning, number.range, held))),
            widget=self._widget(),
        )

    def _widget(self) -> forms.Widget:
        if self.number.choices:
            return forms.Select(choices=[(key, words.capitalize()) for key, words in self.number.choices.items()])
        attributes = {"maxlength": 40, "autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}
        if self.number.unit:
            attributes["inputmode"] = "numeric"
        return ZoneInput(attributes) if self.number.name == "time_zone" else forms.TextInput(attributes)

    def prepare_value(self, value: Any) -> str:
        """Return a value as a person types it."""
        return value if isinstance(value, str) else self.number.text(value)

    def bound_data(self, data: Any, initial: Any) -> Any:
        """Return the value to show: what was sent, or else the initial value."""
        return initial if data is None else data

    def to_python(self, value: Any) -> Value:
        """Return the value; ValidationError for an invalid number or one out of range."""
        if value is None or value.strip() == self.number.text(self.held):
            return self.held
        read = self.number.read(value)
        if read is None:
            raise ValidationError(f"Not possible. {self.number.range}", "invalid")
        return read


class NumbersForm(Form):
    """A form with numbers of the policy; the initial values are those of `version`."""

    held_by: ClassVar[str] = "In force"
    numbers: ClassVar[Iterable[str]] = NUMBERS

    def __init__(self, *arguments: Any, version: PolicyVersionRow | PolicyInForce, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.version = version
        held_by = self.held_by.format(version.version)
        fields = {name: NumberField(NUMBERS[name], version.policy, held_by) for name in self.numbers}
        self.fields = fields | self.fields

    @property
    def policy(self) -> Policy:
        """Return the version's policy with the typed numbers; the form must be valid."""
        return replace(self.version.policy, **{name: self.cleaned_data[name] for name in self.numbers})


def tried_query(policy: Policy) -> str:
    """Return the numbers of `policy` that can be tried, as the query of the what-if page's address."""
    return urlencode({name: NUMBERS[name].text(NUMBERS[name].of(policy)) for name in TRIED})


class WhatIfForm(NumbersForm):
    """The numbers to try."""

    numbers = TRIED

    @property
    def tried(self) -> TriedNumbers:
        """Return the numbers to try; the form must be valid."""
        policy = self.policy
        rules = VerdictPolicy(policy.name, policy.min_box_fraction, policy.outline_gate, policy.occlusion_allowed)
        return TriedNumbers(rules, policy.panel_size)


@dataclass(frozen=True, slots=True)
class NumberGroup:
    """Fields of numbers under one title, each with whether it differs from the version before."""

    title: str
    fields: list[tuple[BoundField, bool]]

    @property
    def changed(self) -> int:
        """Return how many numbers differ."""
        return sum(is_changed for _, is_changed in self.fields)

    @property
    def open(self) -> bool:
        """Return whether the group is expanded: a field of it is changed, or invalid."""
        return any(is_changed or field.errors for field, is_changed in self.fields)


class PolicyForm(NumbersForm):
    """Another version of the policy, on top of `version`."""

    held_by = "Version {}"
    base = RowNumberField()
    since = ZonedDateTimeField("From when on")
    reason = TextField(
        "Reason", max_length=MAX_REASON_CHARACTERS, rows=3, help_text="It is public, beside what changes."
    )

    def __init__(self, *arguments: Any, version: PolicyVersionRow, zone: str, **named: Any) -> None:
        super().__init__(*arguments, version=version, **named)
        for number in NUMBERS.values():
            self.fields[number.name].help_text += f" {number.kept}"
        self.zone, since = zone, self.fields["since"]
        since.zone = zone  # type: ignore[attr-defined]
        since.help_text = f"By the clocks in {zone}, at least one minute from now. It is filled with the end of a week."
        self.fields["base"].initial = version.version

    @property
    def groups(self) -> list[NumberGroup]:
        """Return the fields of the numbers in their groups."""
        return [
            NumberGroup(title, [(self[each.name], self._is_changed(each)) for each in numbers])
            for title, numbers in GROUPS.items()
        ]

    def _is_changed(self, number: PolicyNumber) -> bool:
        return bool(self[number.name].value().strip() != number.text(number.of(self.version.policy)))

    def clean(self) -> None:
        """Refuse a form without a reason, or where a try needs more right answers than it has pictures."""
        data = self.cleaned_data
        for name, of in NEEDED_OF.items():
            if name in data and of in data and data[name] > data[of]:
                self.add_error(name, f"At most {data[of]:,}: a try has no more pictures.")
        if not data["reason"]:
            self.add_error("reason", _NO_REASON)

    def on_top_of(self, newest: PolicyVersionRow) -> Self:
        """Return the same form on top of another version: unchanged numbers are those of that version."""
        typed = {name: self.data[name] for name in self.changed_data if name in self.data and name != "base"}
        return type(self)(initial=typed, version=newest, zone=self.zone)

    def save(self, *, by: User, record: bool) -> PolicyVersion:
        """Record the version, or only return the row that would be recorded."""
        data = self.cleaned_data
        draft = PolicyDraft(self.policy, self.version.version, data["since"], data["reason"])
        return (policy_record if record else policy_draft)(draft, by=by, zone=self.zone, now=domain_now())


class CallBackForm(Form):
    """Calls back the newest version before it is in force."""

    version = RowNumberField()
    reason = TextField("Why (it is public)", max_length=MAX_REASON_CHARACTERS, rows=2)

    def save(self, *, by: User) -> PolicyVersion:
        """Record another version, which keeps the numbers of the version before."""
        data = self.cleaned_data
        return policy_call_back(data["version"], reason=data["reason"], by=by, now=domain_now())
