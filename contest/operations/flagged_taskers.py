"""Taskers who are paused or flagged by a rule (R6)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from common.database.grouping import grouped
from labeling.enums import TaskerState
from labeling.models import MonitoringEvent, StateChange, Tasker

LATELY = timedelta(days=7)
MAX_LISTED = 10
# At most this many of the newest events are read.
_MAX_EVENTS = 500


@dataclass(frozen=True, slots=True)
class FlaggedTasker:
    """A tasker to look at: public ID, whether paused, the rules that fired recently, the last event or pause."""

    public_id: str
    paused: bool
    rules: tuple[str, ...]
    events: int
    last: datetime


def flagged_taskers(*, now: datetime) -> tuple[FlaggedTasker, ...]:
    """Return at most MAX_LISTED taskers to look at: paused ones first, since they wait; then the newest."""
    events = MonitoringEvent.objects.filter(fired_at__gt=now - LATELY, tasker__left_at__isnull=True)
    newest = events.select_related("rule", "tasker").order_by("-fired_at", "-pk")[:_MAX_EVENTS]
    fired = grouped((event.tasker, event) for event in newest)
    since = _paused_since()
    found = [_noticed(tasker, fired.get(tasker, []), since.get(tasker)) for tasker in fired.keys() | since.keys()]
    return tuple(sorted(found, key=_first)[:MAX_LISTED])


def _noticed(tasker: Tasker, events: Sequence[MonitoringEvent], paused: datetime | None) -> FlaggedTasker:
    rules = tuple(sorted({event.rule.name for event in events}))
    moments = [event.fired_at for event in events] + ([paused] if paused else [])
    return FlaggedTasker(tasker.public_id, paused is not None, rules, len(events), max(moments))


def _first(each: FlaggedTasker) -> tuple[bool, float, str]:
    return not each.paused, -each.last.timestamp(), each.public_id


def _paused_since() -> dict[Tasker, datetime]:
    """The paused taskers with an account, and since when each is paused."""
    paused = Tasker.objects.filter(state=TaskerState.PAUSED, user__isnull=False).order_by("pk")
    changes = StateChange.objects.filter(tasker__in=paused, after=TaskerState.PAUSED).order_by("changed_at")
    since = dict(changes.values_list("tasker_id", "changed_at"))
    return {tasker: since.get(tasker.pk, tasker.created_at) for tasker in paused}
