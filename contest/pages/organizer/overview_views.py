"""Organizers' first page: an overview of the contest's pipeline."""

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from accounts.access import organizer_of
from common.domain_clock import domain_now
from common.web.page import page
from contest.operations.overview import organizer_overview as read_overview


@page(organizer_of)
def overview(request: HttpRequest, organizer: User) -> HttpResponse:
    """Show the present state of the pipeline."""
    return render(request, "contest/overview.html", {"page": read_overview(now=domain_now())})


@page(organizer_of)
def overview_now(request: HttpRequest, organizer: User) -> HttpResponse:
    """Return the changing part of the overview, for the page's automatic refresh."""
    return render(request, "contest/_overview.html", {"page": read_overview(now=domain_now())})
