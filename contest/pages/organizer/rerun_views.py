"""Organizers' pages of re-runs of a defense's predictions: preview, start, follow, stop, apply, cancel."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from accounts.access import organizer_of
from common.domain_clock import domain_now
from common.errors import Conflict, InvalidInput, NotFound
from common.queues import hint
from common.web.form_fields import redirect_with_message
from common.web.page import page
from contest.core.breaks import all_breaks
from contest.core.models import Break
from contest.core.scoring_words import rerun_words
from contest.pages.organizer.rerun_forms import StartRerunForm
from labeling.pictures.addresses import picture_url
from policy.selectors import policy_in_force
from scoring import reruns
from scoring.enums import NEXT_RERUN_STATE, RerunState
from scoring.models import Rerun
from scoring.rerun_scope import items_in_scope
from scoring.selectors import defense_named, rerun_numbered
from scoring.tasks import prepare_reruns, work_runs

PICTURES_SHOWN = 24
BREAKS_SHOWN = 100


@page(organizer_of, "GET POST")
def rerun_new(request: HttpRequest, organizer: User, public_id: str) -> HttpResponse:
    """Let an organizer choose which predictions are repeated, preview the cost, and start the re-run with a reason."""
    now = domain_now()
    defense, is_sent = defense_named(public_id), request.method == "POST"
    looked_at = request.GET if "which" in request.GET else None
    form = StartRerunForm(
        request.POST if is_sent else looked_at, defense=defense, zone=policy_in_force(now).policy.time_zone
    )
    if is_sent and (rerun := form.submit(by=organizer)):
        hint(prepare_reruns.task)
        words = "The re-run is being prepared. Nothing changes until it is applied."
        return redirect_with_message(
            request, words, "rerun", rerun.pk, extra_tags=f"rerun {organizer.get_username()} {public_id}"
        )
    context = {"defense": defense, "form": form, "now": now, "zone": form.zone}
    if form.is_bound and (form.is_valid() or form.scope):
        context |= _preview(form)
    return render(request, "scoring_queue/rerun_new.html", context, status=form.status)


def _preview(form: StartRerunForm) -> dict[str, Any]:
    """Return the preview; empty, with an error in the form, where the scope cannot be counted."""
    assert form.scope is not None, "the form was read"
    try:
        preview = reruns.rerun_preview(form.defense, form.scope)
    except (InvalidInput, Conflict) as error:
        if form.refused is None:
            form.refuse(error)
        return {}
    resting = all_breaks().filter(prediction__item__in=items_in_scope(form.defense, form.scope))
    return {"preview": preview, **_breaks(resting)}


def _breaks(resting: QuerySet[Break]) -> dict[str, Any]:
    listed = resting.select_related("image", "prediction").order_by("pk")
    return {"breaks": list(listed[:BREAKS_SHOWN]), "break_count": resting.count()}


@page(organizer_of)
def rerun_page(request: HttpRequest, organizer: User, number: int) -> HttpResponse:
    """Show the progress of a re-run, and the predictions that differ so far."""
    now, rerun = domain_now(), rerun_numbered(number)
    context = _standing(rerun, now) | _differences(rerun, now) | _breaks(_breaks_of(rerun))
    return render(request, "scoring_queue/rerun.html", context)


@page(organizer_of)
def rerun_now(request: HttpRequest, organizer: User, number: int) -> HttpResponse:
    """Return the progress of a re-run, for the page's automatic refresh."""
    return render(request, "scoring_queue/_rerun.html", _standing(rerun_numbered(number), domain_now()))


def _standing(rerun: Rerun, now: datetime) -> dict[str, Any]:
    found = reruns.progress(rerun, now=now)
    return {
        "rerun": rerun,
        "words": rerun_words(rerun, now=now),
        "is_open": bool(NEXT_RERUN_STATE[RerunState(rerun.state)]),
        "preparation": reruns.preparations([rerun]).get(rerun.pk),
        "progress": found,
        "actions": [ACTIONS[name] for name in _offered(rerun, found)],
        "now": now,
        "zone": policy_in_force(now).policy.time_zone,
    }


def _differences(rerun: Rerun, now: datetime) -> dict[str, Any]:
    changed = reruns.changed_answers(rerun)
    return {
        "changes": reruns.answer_changes(rerun),
        "changed_count": changed.count(),
        "changed": [(each, picture_url(each.image, now=now)) for each in changed[:PICTURES_SHOWN]],
    }


def _offered(rerun: Rerun, found: reruns.RerunProgress) -> list[str]:
    """Return the names of the actions that are possible now, the likeliest first."""
    if rerun.state == RerunState.PREPARING:
        return ["cancel"]
    if rerun.state != RerunState.RUNNING:
        return []
    possible = {"apply": found.done == found.answers, "go-on": found.stopped, "stop": found.waiting, "cancel": True}
    return [name for name, makes_sense in possible.items() if makes_sense]


def _breaks_of(rerun: Rerun) -> QuerySet[Break]:
    """Return the breaks that depend on predictions that the re-run replaced or would replace."""
    if rerun.state == RerunState.APPLIED:
        return all_breaks().filter(prediction__superseded__rerun=rerun)
    if rerun.state != RerunState.RUNNING:
        return all_breaks().none()
    return all_breaks().filter(prediction__in=reruns.answers_to_replace(rerun))


class RerunAction(NamedTuple):
    """An action of an organizer on a re-run, with the words of its page."""

    name: str
    title: str
    happens: str
    done: str
    do: Callable[..., object]


ACTIONS = {
    action.name: action
    for action in (
        RerunAction(
            "apply",
            "Apply",
            "All new answers take the place of the older ones at once, or none does. The older ones stay on record as "
            "superseded. New confident mistakes on attacks become breaks; breaks that rest on an "
            "older answer stay and are listed for the board. This cannot be undone, only run again.",
            "The re-run is applied.",
            reruns.rerun_apply,
        ),
        RerunAction(
            "stop",
            "Stop",
            "What waits is taken out of the queue until somebody lets it go on. What a scorer has now is let to its "
            "end. Nothing is lost.",
            "The re-run is stopped. It can go on at any time.",
            reruns.rerun_stop,
        ),
        RerunAction(
            "go-on",
            "Go on",
            "What was stopped waits in the queue again.",
            "The re-run goes on.",
            reruns.rerun_resume,
        ),
        RerunAction(
            "cancel",
            "Cancel",
            "The older answers stay in force. The new ones stay on record and never count. What a scorer has now is "
            "thrown away. A cancelled re-run cannot go on.",
            "The re-run is cancelled. Nothing was changed.",
            reruns.rerun_cancel,
        ),
    )
}


@page(organizer_of, "GET POST")
def rerun_action(request: HttpRequest, organizer: User, number: int, name: str) -> HttpResponse:
    """Show what an action would do; once confirmed, do it."""
    now, action, refused = domain_now(), ACTIONS.get(name), ""
    rerun = rerun_numbered(number)
    if action is None:
        raise NotFound("There is no such action.", "not_found")
    if request.method == "POST":
        try:
            action.do(rerun_id=rerun.pk, by=organizer, now=now)
        except Conflict as error:
            rerun, refused = rerun_numbered(number), error.message
        else:
            hint(work_runs.task)
            return redirect_with_message(request, action.done, "rerun", rerun.pk)
    context = {"action": action, "refused": refused} | _standing(rerun, now) | _breaks(_breaks_of(rerun))
    return render(request, "scoring_queue/rerun_action.html", context, status=409 if refused else 200)
