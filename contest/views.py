"""The start page, the organizer's overview, the release files, and the page about the API."""

import re

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from contest.access import roles_of
from contest.api_docs import call_groups
from contest.models import Release
from contest.overview import overview as read_overview
from labeling.access import organizer_of
from labeling.enums import TaskerState

_RELEASE_NAME = re.compile(r"release-(?P<week>\d{4}-W\d{2})(?:-errata-(?P<part>[1-9]\d{0,3}))?")


@never_cache
@require_safe
@login_required
def home(request: HttpRequest) -> HttpResponse:
    """Lead everybody to what their account can do now."""
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
    return render(request, "contest/overview.html", {"page": read_overview(now=timezone.now())})


@never_cache
@require_safe
@login_required
def overview_now(request: HttpRequest) -> HttpResponse:
    """Answer the changing part of the overview, for the page that refreshes itself."""
    organizer_of(request.user)
    return render(request, "contest/_overview.html", {"page": read_overview(now=timezone.now())})


@require_safe
@login_required
def release_file(request: HttpRequest, name: str) -> FileResponse:
    """Stream the zip of a published release; 404 unless it is one of ours and lies here."""
    organizer_of(request.user)
    found = _RELEASE_NAME.fullmatch(name)
    if found is None or not Release.objects.filter(week=found["week"], part=int(found["part"] or 0)).exists():
        raise Http404("no such release")
    path = settings.RELEASE_DIR / f"{name}.zip"
    if not path.is_file():
        raise Http404("the release is recorded, its file is not on this machine")
    return FileResponse(path.open("rb"), as_attachment=True, filename=path.name, content_type="application/zip")


@require_safe
def api_docs(request: HttpRequest) -> HttpResponse:
    """Show every call of the API, made from its schema."""
    return render(request, "contest/api_docs.html", {"groups": call_groups(), "origin": settings.PUBLIC_URL})
