"""The organizers' page of the scoring queue, and the buttons that try runs and trials again."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from accounts.access import organizer_of
from common.domain_clock import domain_now
from common.errors import Conflict
from common.queues import hint
from common.typed import whole_number
from common.web.form_fields import SeeOther
from common.web.page import page
from contest.core.scoring_words import runs_to_retry
from contest.operations.scoring_figures import queue_state
from defense_kit.faults import WORDS, Fault
from scoring.services import runs_retry
from scoring.tasks import work_runs
from scoring.trials.selectors import trials_to_retry
from scoring.trials.services import trials_retry


@page(organizer_of)
def scoring_queue(request: HttpRequest, organizer: User) -> HttpResponse:
    """Show what waits, what runs, what gave up, and the scorers."""
    return render(request, "scoring_queue/queue.html", {"page": queue_state(now=domain_now())})


@page(organizer_of)
def scoring_queue_now(request: HttpRequest, organizer: User) -> HttpResponse:
    """Answer the changing part, for the page that refreshes itself."""
    return render(request, "scoring_queue/_queue.html", {"page": queue_state(now=domain_now())})


@page(organizer_of, "GET POST")
def runs_try_again(request: HttpRequest, organizer: User) -> HttpResponse:
    """Say which runs would be tried again, all or the one in the address, and queue them when that is confirmed."""
    form = request.POST if request.method == "POST" else request.GET
    run = _number(form.get("run", ""))
    if request.method != "POST":
        return render(request, "scoring_queue/retry.html", _what_would_be_tried(run))
    count = runs_retry(now=domain_now(), run=run, by=organizer)
    if not count:
        raise Conflict("Nothing is left to try again: somebody did it already, or the fault is final.", "nothing_dead")
    messages.success(request, f"{count:,} run{'s wait' if count > 1 else ' waits'} again, for one try each.")
    return SeeOther(reverse("scoring-queue"))


@page(organizer_of, "GET POST")
def trials_try_again(request: HttpRequest, organizer: User) -> HttpResponse:
    """Say which trials would be tried again, all or the one in the address, and queue them when that is confirmed."""
    form = request.POST if request.method == "POST" else request.GET
    trial = _number(form.get("trial", ""))
    if request.method != "POST":
        return render(request, "scoring_queue/retry_trials.html", _trials_that_would_be_tried(trial))
    try:
        count = _retry_trials(trial, organizer)
    except Conflict as error:
        context = _trials_that_would_be_tried(trial) | {"refused": error.message}
        return render(request, "scoring_queue/retry_trials.html", context, status=409)
    hint(work_runs.task)
    messages.success(request, f"{count:,} trial{'s wait' if count > 1 else ' waits'} again, for one try each.")
    return SeeOther(reverse("scoring-queue"))


def _retry_trials(trial: int | None, by: User) -> int:
    count = trials_retry(now=domain_now(), trial=trial, by=by)
    if not count:
        raise Conflict("Nothing is left to try again: somebody did it already, or the fault is final.", "nothing_dead")
    return count


def _trials_that_would_be_tried(trial: int | None) -> dict[str, Any]:
    dead = trials_to_retry()
    chosen = dead if trial is None else dead.filter(pk=trial)
    first = chosen.first()
    words = WORDS[Fault(first.fault)] if first else None
    return {"trial": trial, "count": chosen.count(), "first": first, "words": words}


def _number(text: str) -> int | None:
    """Return None where no number was given, and for what cannot be one 0, which no row has: it must not mean all."""
    return (whole_number(text) or 0) if text else None


def _what_would_be_tried(run: int | None) -> dict[str, Any]:
    dead = runs_to_retry()
    chosen = dead if run is None else dead.filter(pk=run)
    first = chosen.select_related("defense").order_by("-finished_at").first()
    words = WORDS[Fault(first.fault)] if first else None
    return {"run": run, "count": chosen.count(), "first": first, "words": words}
