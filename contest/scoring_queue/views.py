"""The organizers' page of the scoring queue, and the button that tries runs again."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from common.errors import Conflict
from contest.scoring_queue.figures import queue
from defense_kit.faults import WORDS, Fault
from labeling.access import organizer_of
from labeling.views import SeeOther
from scoring.rules import PLATFORM_FAULTS
from scoring.selectors import dead_runs
from scoring.services import runs_retry


@login_required
@never_cache
@require_safe
def scoring_queue(request: HttpRequest) -> HttpResponse:
    """Show what waits, what runs, what gave up, and the scorers."""
    organizer_of(request.user)
    return render(request, "scoring_queue/queue.html", {"page": queue(now=timezone.now())})


@login_required
@never_cache
@require_safe
def scoring_queue_now(request: HttpRequest) -> HttpResponse:
    """Answer the changing part, for the page that refreshes itself."""
    organizer_of(request.user)
    return render(request, "scoring_queue/_queue.html", {"page": queue(now=timezone.now())})


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def runs_try_again(request: HttpRequest) -> HttpResponse:
    """Say which runs would be tried again, all or the one in the address, and queue them when that is confirmed."""
    organizer_of(request.user)
    form = request.POST if request.method == "POST" else request.GET
    run = _number(form.get("run", ""))
    if request.method != "POST":
        return render(request, "scoring_queue/retry.html", _what_would_be_tried(run))
    count = runs_retry(now=timezone.now(), run=run)
    if not count:
        raise Conflict("Nothing is left to try again: somebody did it already, or the fault is final.", "nothing_dead")
    messages.success(request, f"{count:,} run{'s wait' if count > 1 else ' waits'} again, for one try each.")
    return SeeOther(reverse("scoring-queue"))


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else None


def _what_would_be_tried(run: int | None) -> dict[str, Any]:
    dead = dead_runs().filter(fault__in=PLATFORM_FAULTS, defense__retired_at__isnull=True)
    chosen = dead if run is None else dead.filter(pk=run)
    first = chosen.select_related("defense").order_by("-finished_at").first()
    words = WORDS[Fault(first.fault)] if first else None
    return {"run": run, "count": chosen.count(), "first": first, "words": words}
