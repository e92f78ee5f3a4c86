"""Organizers' page that requests a trial of a defense (R31): choose, preview, confirm."""

from datetime import datetime
from random import SystemRandom
from typing import Any, NamedTuple

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from accounts.access import organizer_of
from common.domain_clock import domain_now
from common.errors import Conflict
from common.queues import hint
from common.web.form_fields import SeeOther
from common.web.forms import Form
from common.web.page import page
from policy.numbers import Policy
from policy.selectors import policy_in_force
from scoring.enums import RunState, TrialKind
from scoring.models import Defense, Trial
from scoring.selectors import defense_named
from scoring.tasks import work_runs
from scoring.trials import selectors, services


class TrialWords(NamedTuple):
    """The words that the page uses for one kind of trial."""

    title: str
    does: str


_QUIET = "Only totals are shown. Which pictures they were is kept secret, and what the program prints is not kept."
KINDS = {
    TrialKind.SMOKE: TrialWords(
        "Smoke test",
        "The defense is started as often as the participants' own check starts it, and asked about at most "
        f"{selectors.SMOKE_PICTURES} pictures that anybody may see. Its report and what it printed are kept and shown "
        "to organizers.",
    ),
    TrialKind.PRIVATE: TrialWords(
        "Private set",
        f"The defense is asked about every picture of the private set in force, and its time is taken. {_QUIET}",
    ),
    TrialKind.EARLIER: TrialWords(
        "Earlier attacks",
        f"The defense is asked about every attack that is ruled valid when the trial begins. {_QUIET}",
    ),
    TrialKind.PROBE: TrialWords(
        "Memorisation probe",
        f"The defense is asked about at most {selectors.PROBE_PICTURES} published pictures three times: as they are, "
        "with every value one step lighter or darker, and moved by one pixel. It decides no condition: the differences "
        "are for the board.",
    ),
}


class TrialForm(Form):
    """Requests a trial."""

    kind = forms.ChoiceField(
        label="Which trial",
        choices=[(kind.value, words.title) for kind, words in KINDS.items()],
        widget=forms.RadioSelect,
        error_messages={"required": "Choose a trial.", "invalid_choice": "Choose a trial."},
    )

    def save(self, *, defense: Defense, by: User, now: datetime) -> Trial:
        """Request the trial."""
        kind, policy = TrialKind(self.cleaned_data["kind"]), policy_in_force(now).policy
        return services.trial_request(defense, kind, by=by, policy=policy, now=now, rng=SystemRandom())


@page(organizer_of, "GET POST")
def trial_new(request: HttpRequest, organizer: User, public_id: str) -> HttpResponse:
    """Let an organizer choose a trial, preview its effects, and request it."""
    now, defense, is_sent = domain_now(), defense_named(public_id), request.method == "POST"
    policy = policy_in_force(now).policy
    newest = selectors.newest_trials([defense.pk]).get(defense.pk, {})
    likely = _first_not_passed(newest, policy)
    typed = request.POST if is_sent else request.GET if "kind" in request.GET else None
    form = TrialForm(typed, initial={"kind": likely})
    kind = TrialKind(form.cleaned_data["kind"]) if form.is_valid() else None
    if is_sent and (trial := form.submit(defense=defense, by=organizer, now=now)):
        hint(work_runs.task)
        messages.success(request, f"Trial {kind} {trial.number} waits in the queue.")
        return SeeOther(f"{reverse('defense', args=[defense.public_id])}#trials")
    context: dict[str, Any] = {"defense": defense, "form": form, "kind": kind, "now": now}
    if kind is not None:
        context |= _preview(defense, kind, newest.get(kind), policy, now)
    context["zone"] = policy.time_zone
    return render(request, "defenses/trial.html", context, status=form.status)


def _first_not_passed(newest: selectors.Newest, policy: Policy) -> TrialKind:
    """Return the first kind of trial that the defense has not passed, as the initial choice."""
    passed = {kind for kind, trial in newest.items() if selectors.has_passed(trial, policy)}
    return next((kind for kind in TrialKind if kind not in passed), TrialKind.SMOKE)


def _preview(defense: Defense, kind: TrialKind, newest: Trial | None, policy: Policy, now: datetime) -> dict[str, Any]:
    findings = selectors.eligibility_of(defense, policy, now=now).findings
    return {
        "words": KINDS[kind],
        "asked": _question_count_words(kind, now),
        "decided": [finding for finding in findings if finding.condition in selectors.DECIDES[kind]],
        "newest": newest,
        "replaces": newest is not None and newest.state == RunState.FINISHED,
        "may_retry": newest is not None and selectors.trials_to_retry().filter(pk=newest.pk).exists(),
        "against": _against(defense, kind, policy),
    }


def _question_count_words(kind: TrialKind, now: datetime) -> str:
    """Return in words how many pictures the trial would use, where that is known."""
    if kind is TrialKind.EARLIER:
        return f"{len(selectors.earlier_questions(now=now)):,}, by the rulings of now"
    private_set = selectors.private_set_in_force() if kind is TrialKind.PRIVATE else None
    return f"{private_set.pictures.count():,}, those of {private_set}" if private_set else ""


def _against(defense: Defense, kind: TrialKind, policy: Policy) -> str:
    """Return why the trial cannot be requested now; empty when it can."""
    try:
        services.trial_possible(defense, kind, policy=policy)
    except Conflict as error:
        return error.message
    return ""
