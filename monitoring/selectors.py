"""Queries for monitoring rules, events, links and actions."""

from collections.abc import Iterable

from django.db.models import QuerySet

from common.errors import NotFound
from labeling.enums import TaskerState
from labeling.models import MonitoringEvent, MonitoringRule, Response, StateChange, Tasker, Voiding
from monitoring.actions import REQUALIFY
from monitoring.models import TaskerLink

# Rules and links ------------------------------------------------------------------------------------------------------


def rules_in_force() -> QuerySet[MonitoringRule]:
    """Return the rules in force, the oldest first."""
    return MonitoringRule.objects.filter(retired_at__isnull=True).order_by("pk")


def retired_rules() -> QuerySet[MonitoringRule]:
    """Return the retired rules, most recently retired first."""
    return MonitoringRule.objects.filter(retired_at__isnull=False).order_by("-retired_at")


def newest_events(limit: int) -> QuerySet[MonitoringEvent]:
    """Return the latest events of rules, newest first, with rule and tasker."""
    return MonitoringEvent.objects.select_related("rule", "tasker").order_by("-fired_at", "-pk")[:limit]


def open_links() -> QuerySet[TaskerLink]:
    """Return the links that are not ended, with both taskers."""
    return TaskerLink.objects.filter(ended_at__isnull=True).select_related("first", "second")


def link_by_number(number: int) -> TaskerLink:
    """Return a link with both taskers, whether it is ended or not; NotFound when there is none."""
    link = TaskerLink.objects.select_related("first", "second").filter(pk=number).first()
    if link is None:
        raise NotFound("There is no such link.", "not_found")
    return link


# Taskers --------------------------------------------------------------------------------------------------------------


def public_ids_of(taskers: Iterable[int]) -> dict[int, str]:
    """Return tasker -> its public ID."""
    return dict(Tasker.objects.filter(pk__in=list(taskers)).values_list("pk", "public_id"))


def newest_answers(tasker: Tasker, limit: int) -> QuerySet[Response]:
    """Return a tasker's latest responses, newest first, with picture, assignment, gold mark and voiding."""
    rows = Response.objects.filter(tasker=tasker).select_related("image", "assignment", "gold_mark", "voided")
    return rows.order_by("-submitted_at", "-pk")[:limit]


def voidings_of(tasker: Tasker) -> QuerySet[Voiding]:
    """Return the voidings of a tasker's answers, oldest first."""
    return Voiding.objects.filter(tasker=tasker).order_by("voided_at")


def stop_in_force(tasker: Tasker) -> StateChange | None:
    """Return the change of state that keeps the tasker from labeling; None for one who labels, or learns at first."""
    last = StateChange.objects.filter(tasker=tasker).order_by("-changed_at", "-pk").first()
    if last is None or last.after != tasker.state:
        return None
    stopped = tasker.state == TaskerState.PAUSED or last.code == REQUALIFY
    return last if stopped else None
