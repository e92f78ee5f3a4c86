"""View of the organizers' page about learning: known pictures, pool, learners, instructions."""

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from accounts.access import organizer_of
from common.domain_clock import domain_now
from common.web.form_fields import redirect_with_message
from common.web.page import page
from labeling.enums import KnownUse
from labeling.learning import organizer, selectors
from labeling.pages.learning_forms import InstructionsForm
from policy.selectors import policy_in_force


@page(organizer_of, "GET POST")
def learning(request: HttpRequest, by: User) -> HttpResponse:
    """Show statistics of learning; a POST publishes a new version of the instructions, after a confirmation.

    The form comes back three times: to be looked over, to be changed once more, or to be published (`step`).
    """
    now, step = domain_now(), request.POST.get("step")
    policy = policy_in_force(now).policy
    form = InstructionsForm.of(request, policy=policy)
    version = None if step == "change" else form.submit(by=by, now=now, confirmed=step == "publish")
    if version and version.pk:
        told = f"Version {version.version} of the instructions is published."
        return redirect_with_message(
            request, told, "organizer-learning", extra_tags=f"instructions {by.get_username()}"
        )
    if version:
        asked_again = organizer.asked_again_by(version.requalify)
        context = {"form": form, "version": version, "asked_again": asked_again, "now": now}
        return render(request, "learning/organizer_confirm.html", context)
    pool = organizer.known_picture_rows(KnownUse.QUALIFICATION, now)
    context = {
        "now": now,
        "policy": policy,
        "zone": policy.time_zone,
        "health": selectors.pool_health(policy),
        "lessons": organizer.known_picture_rows(KnownUse.TUTORIAL, now),
        "pool": pool,
        "topics": organizer.topic_tallies(pool),
        "learners": organizer.learners(policy, now),
        "versions": organizer.instruction_versions(),
        "form": form,
    }
    return render(request, "learning/organizer.html", context, status=form.status)
