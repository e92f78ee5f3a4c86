"""Forms of the actions on a tasker, each with the words of its page (R6)."""

from datetime import date, datetime, time
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

from django import forms
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django_filters import CharFilter, ChoiceFilter

from common.errors import InvalidInput, NotFound
from common.web.forms import DayField, Form, TextField
from common.web.lists import ListFilter
from labeling import voiding
from labeling.enums import MonitoringAction, TaskerState
from labeling.models import Tasker
from monitoring import actions, links
from monitoring.access import tasker_named
from monitoring.models import TaskerLink
from monitoring.tasker_rows import DEFAULT_SORTING, SORTINGS
from policy.selectors import policy_in_force


class TaskerFilter(ListFilter):
    """Taskers by their state; `sort` is the order of the list, by a name of SORTINGS with a minus for the other way."""

    state = ChoiceFilter(
        label="State", empty_label="All", choices=[(each.value, each.capitalize()) for each in TaskerState]
    )
    sort = CharFilter(widget=forms.HiddenInput, method="kept")

    def kept(self, rows: QuerySet[Tasker], name: str, value: str) -> QuerySet[Tasker]:
        """Filter nothing: the figures that the list is sorted by are not in the database."""
        return rows

    @property
    def sorting(self) -> str:
        """Return the order that was chosen, the usual one for none."""
        sort: str = self.data.get("sort", "")
        return sort if sort.removeprefix("-") in SORTINGS else DEFAULT_SORTING


def reason_field(label: str) -> TextField:
    """Return the field of a reason; the service says when it is missing."""
    return TextField(label, max_length=actions.MAX_REASON_CHARACTERS, rows=3)


class ActionForm(Form):
    """An action on a tasker. `states` are those in which it makes sense."""

    name: ClassVar[str]
    title: ClassVar[str]
    happens: ClassVar[str]
    button: ClassVar[str]
    states: ClassVar[tuple[TaskerState, ...]] = tuple(TaskerState)
    reason = reason_field("Reason (the tasker reads it)")

    @classmethod
    def is_offered(cls, tasker: Tasker) -> bool:
        """Say whether the tasker's page leads to it."""
        return tasker.left_at is None and tasker.state in cls.states

    def save(self, *, tasker: Tasker, by: User, now: datetime) -> str:
        """Take the action; return what was done."""
        self.take(tasker, reason=self.cleaned_data["reason"], by=by, now=now)
        return f"Done: {self.title.lower()}."

    def take(self, tasker: Tasker, *, reason: str, by: User, now: datetime) -> None:
        """Call the service of the action."""
        raise NotImplementedError


class _TakeForm(ActionForm):
    action: ClassVar[MonitoringAction]

    def take(self, tasker: Tasker, *, reason: str, by: User, now: datetime) -> None:
        """Take the action."""
        actions.action_take(tasker=tasker, action=self.action, reason=reason, by=by, now=now)


class WarnForm(_TakeForm):
    """A warning."""

    name, title, button, action = "warn", "Warn", "Warn", MonitoringAction.WARN
    happens = "The tasker reads your words on the next page. Nothing else changes."


class PauseForm(_TakeForm):
    """A pause."""

    name, title, button, action = "pause", "Pause", "Pause", MonitoringAction.PAUSE
    states = (TaskerState.QUALIFIED, TaskerState.LEARNING)
    happens = (
        "No more pictures from now on; the pictures held at the moment are given back. Answers given so far go on "
        "to count. The tasker reads your words."
    )


class ReturnForm(ActionForm):
    """The end of a pause."""

    name, title, button = "return", "Return to work", "Return to work"
    states = (TaskerState.PAUSED,)
    happens = "The tasker goes on where the pause began. Rules look only at what is answered from now on."

    def take(self, tasker: Tasker, *, reason: str, by: User, now: datetime) -> None:
        """End the pause."""
        actions.tasker_return(tasker=tasker, reason=reason, by=by, now=now)


class RequalifyForm(_TakeForm):
    """A new qualification."""

    name, title, button = "requalify", "Require a new qualification", "Require it"
    action, states = MonitoringAction.REQUALIFY, (TaskerState.QUALIFIED, TaskerState.PAUSED)
    happens = (
        "No more pictures before a short qualification is passed; the pictures held at the moment are given back. "
        "The tasker reads your words."
    )


class VoidForm(ActionForm):
    """Voiding of the answers that no ruling has counted."""

    name, title, button = "void", "Void unsettled answers", "Void them"
    happens = (
        "The answers stay on record, are published as void, and do not count; their places open again for others. "
        "Settled pictures stay as they are and are listed for the board."
    )
    reason = reason_field("Reason (published beside each answer)")
    since = DayField("Only answers since (empty for all)")

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.fields["since"].widget = forms.HiddenInput()

    @classmethod
    def is_offered(cls, tasker: Tasker) -> bool:
        """Say whether there may be answers to void, also of a tasker who has left."""
        return tasker.left_at is None or voiding.unsettled_responses(tasker, None).exists()

    def take(self, tasker: Tasker, *, reason: str, by: User, now: datetime) -> None:
        """Void the answers."""
        since = begin_of(self.cleaned_data["since"], now)
        actions.answers_void(tasker=tasker, since=since, reason=reason, by=by, now=now)


class SinceForm(Form):
    """From which day on answers are voided, for the count before it is done."""

    since = DayField("Only answers since (empty for all)")


class LinkForm(ActionForm):
    """A link with another tasker."""

    name, title, button = "link", "Link with another tasker", "Link them"
    happens = "While the link lasts, the two are never on one panel. Neither is notified."
    other = TextField("The other tasker's ID", max_length=20, placeholder="T-00000")
    reason = reason_field("Reason")
    field_order = ["other", "reason"]
    names = {"second": "other"}

    def take(self, tasker: Tasker, *, reason: str, by: User, now: datetime) -> None:
        """Link the two."""
        try:
            other = tasker_named(self.cleaned_data["other"].upper())
        except NotFound as error:
            raise InvalidInput(error.message, error.code, field="other") from None
        links.link_declare(first=tasker, second=other, reason=reason, by=by, now=now)


class EndLinkForm(Form):
    """The end of a link."""

    reason = reason_field("Reason")

    def save(self, *, link: TaskerLink, by: User, now: datetime) -> str:
        """End the link."""
        links.end_tasker_link(link=link, reason=self.cleaned_data["reason"], by=by, now=now)
        return "The link is ended."


ACTIONS: dict[str, type[ActionForm]] = {
    each.name: each for each in (WarnForm, PauseForm, ReturnForm, RequalifyForm, VoidForm, LinkForm)
}


def begin_of(day: date | None, now: datetime) -> datetime | None:
    """Return the beginning of a day in the contest's time zone; None for none."""
    zone = ZoneInfo(policy_in_force(now).policy.time_zone)
    return None if day is None else datetime.combine(day, time.min, zone)
