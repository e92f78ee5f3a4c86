"""The organizers' overview."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.access import organizer_of
from common.domain_clock import domain_now
from contest.operations.overview import overview as read_overview


@never_cache
@require_safe
@login_required
def overview(request: HttpRequest) -> HttpResponse:
    """Show the pipeline as it stands."""
    organizer_of(request.user)
    return render(request, "contest/overview.html", {"page": read_overview(now=domain_now())})


@never_cache
@require_safe
@login_required
def overview_now(request: HttpRequest) -> HttpResponse:
    """Answer the changing part of the overview, for the page that refreshes itself."""
    organizer_of(request.user)
    return render(request, "contest/_overview.html", {"page": read_overview(now=domain_now())})
