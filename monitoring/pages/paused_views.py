"""The page of a tasker who may not go on: why, since when, and what to do (R6)."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from common.domain_clock import domain_now
from labeling.access import tasker_of
from labeling.enums import TaskerState
from labeling.models import StateChange, Tasker, Voiding
from monitoring.actions import REQUALIFY


@login_required
@never_cache
@require_safe
def paused(request: HttpRequest) -> HttpResponse:
    """Show a tasker why their labeling is paused, or that it is not. Nothing here tells which pictures were gold."""
    tasker, now = tasker_of(request.user), domain_now()
    change = last_stop(tasker)
    context = {
        "change": change,
        "requalify": change is not None and change.code == REQUALIFY,
        "voidings": Voiding.objects.filter(tasker=tasker).order_by("voided_at"),
        "now": now,
    }
    return render(request, "watching/paused.html", context)


def last_stop(tasker: Tasker) -> StateChange | None:
    """Return the change that keeps the tasker from labeling; None for somebody who labels, or learns at first."""
    last = StateChange.objects.filter(tasker=tasker).order_by("-changed_at", "-pk").first()
    if last is None or last.after != tasker.state:
        return None
    stopped = tasker.state == TaskerState.PAUSED or last.code == REQUALIFY
    return last if stopped else None
