"""The page of a tasker who may not go on: why, since when, and what to do (R6)."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from common.domain_clock import domain_now
from labeling.access import tasker_of
from monitoring.actions import REQUALIFY
from monitoring.selectors import last_stop, voidings_of


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
        "voidings": voidings_of(tasker),
        "now": now,
    }
    return render(request, "watching/paused.html", context)
