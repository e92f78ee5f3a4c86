"""Form that starts a re-run: which predictions of a defense are repeated, and why."""

from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.contrib.auth.models import User

from common.domain_clock import domain_now
from common.errors import InvalidInput, required
from common.typed import whole_number
from common.web.forms import Form, TextField
from contest.web.time_fields import WeekField, ZonedDateTimeField
from scoring import reruns
from scoring.models import Defense, Rerun
from scoring.rerun_scope import Scope

_WHICH = {
    "all": "All answers",
    "week": "Pictures of one week",
    "device": "Answers given on one device",
    "between": "Answers given between two moments",
    "run": "Everything one run was asked",
}
# The fields that each choice uses; the fields of other choices are ignored.
_READ = {"week": {"week"}, "device": {"device"}, "between": {"since", "until"}, "run": {"run"}}


class StartRerunForm(Form):
    """Which predictions of `defense` are repeated, and why. `scope` is None while the form is invalid."""

    which = forms.ChoiceField(
        label="Which answers", choices=list(_WHICH.items()), widget=forms.RadioSelect, initial="all"
    )
    week = WeekField("The week", required=False)
    device = forms.ChoiceField(
        label="The device", required=False, error_messages={"invalid_choice": "Choose the device."}
    )
    since = ZonedDateTimeField("From", required=False)
    until = ZonedDateTimeField("Up to", required=False)
    run = TextField("Number of the run", max_length=18, required=False, inputmode="numeric")
    reason = TextField("Reason (it stays on record)", max_length=reruns.MAX_REASON_CHARACTERS, rows=3)
    scope: Scope | None = None

    def __init__(self, *arguments: Any, defense: Defense, zone: str, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.defense, self.zone = defense, zone
        devices = [("", ""), *((each, each) for each in reruns.devices_of(defense))]
        self.fields["device"].choices = devices  # type: ignore[attr-defined]
        for name in ("since", "until"):
            self.fields[name].zone = zone  # type: ignore[attr-defined]
            self.fields[name].label = f"{self.fields[name].label} ({zone})"

    def clean(self) -> None:
        """Set `scope` from the fields."""
        for name in set().union(*_READ.values()) - _READ.get(self.cleaned_data.get("which", ""), set()):
            self.errors.pop(name, None)
        if self.errors:
            return
        try:
            self.scope = self._scope(self.cleaned_data)
        except InvalidInput as error:
            self.add_error(error.field, error.message)

    def _scope(self, data: dict[str, Any]) -> Scope:
        match data["which"]:
            case "week":
                if data["week"] is None:
                    raise InvalidInput("Write the week like 2026-W47.", "invalid", field="week")
                return Scope(f"Pictures of week {data['week'].name}.", received=(data["week"].start, data["week"].end))
            case "device":
                if not data["device"]:
                    raise InvalidInput("Choose the device.", "invalid", field="device")
                return Scope(f"Answers given on {data['device']}.", device=data["device"])
            case "between":
                return self._between(data)
            case "run":
                run = required(
                    whole_number(data["run"]),
                    InvalidInput("Write the number of the run, for example 12.", "invalid", field="run"),
                )
                return Scope(f"Everything that run {run} was asked.", run=run)
        return Scope("All answers.")

    def _between(self, data: dict[str, Any]) -> Scope:
        missing = next((name for name in ("since", "until") if data[name] is None), None)
        if missing:
            raise InvalidInput("Write both moments like 2026-11-20T14:30.", "invalid", field=missing)
        since, until = (data[name].astimezone(ZoneInfo(self.zone)) for name in ("since", "until"))
        if since >= until:
            raise InvalidInput("The end has to be after the beginning.", "invalid", field="until")
        words = f"Answers given from {since:%Y-%m-%d %H:%M} up to {until:%Y-%m-%d %H:%M} {since:%Z}."
        return Scope(words, answered=(since, until))

    def save(self, *, by: User) -> Rerun:
        """Start the re-run."""
        assert self.scope is not None, "the form is valid"
        reason = self.cleaned_data["reason"]
        return reruns.rerun_start(defense=self.defense, scope=self.scope, reason=reason, by=by, now=domain_now())
