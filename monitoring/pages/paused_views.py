"""View of the page for a paused tasker: why, since when, what to do (R6)."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from common.domain_clock import domain_now
from common.web.page import page
from labeling.access import tasker_of
from labeling.models import Tasker
from monitoring.actions import REQUALIFY
from monitoring.selectors import stop_in_force, voidings_of


@page(tasker_of)
def paused(request: HttpRequest, tasker: Tasker) -> HttpResponse:
    """Show a tasker why their labeling is paused, or that it is not. Nothing here tells which pictures were gold."""
    now = domain_now()
    change = stop_in_force(tasker)
    context = {
        "change": change,
        "requalify": change is not None and change.code == REQUALIFY,
        "voidings": voidings_of(tasker),
        "now": now,
    }
    return render(request, "monitoring/paused.html", context)
