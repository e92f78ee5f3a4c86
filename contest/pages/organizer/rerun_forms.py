"""What an organizer chooses for a re-run, from the form's words to a scope and back."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from common.errors import InvalidInput
from common.typed import whole_number
from contest.core.weeks import week_called
from scoring.rerun_scope import Scope

WHICH = {
    "all": "All answers",
    "week": "Pictures of one week",
    "device": "Answers given on one device",
    "between": "Answers given between two moments",
    "run": "Everything one run was asked",
}
FIELDS = ("which", "week", "device", "since", "until", "run")


@dataclass(frozen=True, slots=True)
class RerunChoice:
    """The form as it was sent; `which` is one of WHICH, empty before anything was chosen."""

    which: str = ""
    week: str = ""
    device: str = ""
    since: str = ""
    until: str = ""
    run: str = ""


def choice_of(form: Mapping[str, str]) -> RerunChoice:
    """Return what a form says; anything that is no way to choose counts as nothing chosen."""
    said = {name: str(form.get(name, "")).replace("\x00", "").strip()[:200] for name in FIELDS}
    return RerunChoice(**said) if said["which"] in WHICH else RerunChoice()


def scope_of(choice: RerunChoice, zone: str) -> Scope:
    """Return which answers are meant; times are those of the IANA zone. InvalidInput for what cannot be read."""
    if choice.which == "week":
        return _week(choice.week)
    if choice.which == "device":
        if not choice.device:
            raise InvalidInput("Choose the device.", "invalid", field="device")
        return Scope(f"Answers given on {choice.device}.", device=choice.device)
    if choice.which == "between":
        return _between(choice, zone)
    if choice.which == "run":
        run = whole_number(choice.run)
        if run is None:
            raise InvalidInput("Write the number of the run, for example 12.", "invalid", field="run")
        return Scope(f"Everything that run {run} was asked.", run=run)
    return Scope("All answers.")


def _week(name: str) -> Scope:
    try:
        week = week_called(name)
    except ValueError:
        raise InvalidInput("Write the week like 2026-W47.", "invalid", field="week") from None
    return Scope(f"Pictures of week {week.name}.", received=(week.start, week.end))


def _between(choice: RerunChoice, zone: str) -> Scope:
    since, until = (_moment(text, name, zone) for text, name in ((choice.since, "since"), (choice.until, "until")))
    if since >= until:
        raise InvalidInput("The end has to be after the beginning.", "invalid", field="until")
    words = f"Answers given from {since:%Y-%m-%d %H:%M} up to {until:%Y-%m-%d %H:%M} {since:%Z}."
    return Scope(words, answered=(since, until))


def _moment(text: str, name: str, zone: str) -> datetime:
    try:
        return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone))
    except ValueError:
        raise InvalidInput("Write both moments like 2026-11-20T14:30.", "invalid", field=name) from None
