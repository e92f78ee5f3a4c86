"""The start page, the organizer's overview, and the page about the API."""

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from common.domain_clock import domain_now
from contest.api_docs import call_groups
from contest.core.roles import roles_of
from contest.front.views import front_page
from contest.overview import overview as read_overview
from labeling.access import organizer_of
from labeling.enums import TaskerState


@never_cache
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Lead everybody to what their account can do now, and show strangers what the contest is."""
    if not request.user.is_authenticated:
        return front_page(request)
    tasker = getattr(request.user, "tasker", None)
    if tasker is not None and tasker.state == TaskerState.QUALIFIED:
        return redirect("label")
    roles = roles_of(request.user)
    if roles.organizer:
        return redirect("overview")
    return render(request, "contest/home.html", {"tasker": tasker, "account_roles": roles})


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


@require_safe
def api_docs(request: HttpRequest) -> HttpResponse:
    """Show every call of the API, made from its schema."""
    return render(request, "contest/api_docs.html", {"groups": call_groups(), "origin": settings.PUBLIC_URL})
