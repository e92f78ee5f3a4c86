"""The organizers' page of the scoring queue, and the buttons that try runs and trials again."""

from collections.abc import Callable
from typing import Any

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from accounts.access import organizer_of
from common.domain_clock import domain_now
from common.errors import Conflict
from common.queues import hint
from common.typed import whole_number
from common.web.form_fields import redirect_with_message
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
    """Show waiting, running and dead work, and the scorers."""
    return render(request, "scoring_queue/queue.html", {"page": queue_state(now=domain_now())})


@page(organizer_of)
def scoring_queue_now(request: HttpRequest, organizer: User) -> HttpResponse:
    """Return the changing part of the page, for its automatic refresh."""
    return render(request, "scoring_queue/_queue.html", {"page": queue_state(now=domain_now())})


@page(organizer_of, "GET POST")
def runs_try_again(request: HttpRequest, organizer: User) -> HttpResponse:
    """Show which dead runs would be retried, all or the one in the address; once confirmed, queue them."""
    dead = runs_to_retry().select_related("defense").order_by("-finished_at")
    return _try_again(request, organizer, "run", dead, runs_retry)


@page(organizer_of, "GET POST")
def trials_try_again(request: HttpRequest, organizer: User) -> HttpResponse:
    """Show which dead trials would be retried, all or the one in the address; once confirmed, queue them."""
    return _try_again(request, organizer, "trial", trials_to_retry(), trials_retry)


def _try_again(
    request: HttpRequest, organizer: User, name: str, dead: QuerySet[Any], retry: Callable[..., int]
) -> HttpResponse:
    """Return the page of dead runs or trials; `name` is the query parameter that holds the number of one."""
    typed = (request.POST if request.method == "POST" else request.GET).get(name, "")
    # None without a number; 0, which no row has, for an invalid one: that must not mean all.
    number = (whole_number(typed) or 0) if typed else None
    refused = ""
    if request.method == "POST":
        try:
            count = retry(now=domain_now(), by=organizer, **{name: number})
        except Conflict as error:
            count, refused = 0, error.message
        if count:
            hint(work_runs.task)
            return redirect_with_message(
                request,
                f"{count:,} {name}{'s wait' if count > 1 else ' waits'} again, for one try each.",
                "scoring-queue",
            )
        refused = refused or "Nothing is left to try again: somebody did it already, or the fault is final."
    chosen = dead if number is None else dead.filter(pk=number)
    first = chosen.first()
    words = WORDS[Fault(first.fault)] if first else None
    context = {"number": number, "count": chosen.count(), "first": first, "words": words, "refused": refused}
    return render(request, f"scoring_queue/retry_{name}s.html", context, status=409 if refused else 200)
