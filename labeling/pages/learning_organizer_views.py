"""The organizers' page of learning: known pictures, pool, learners, instructions."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse

from accounts.access import organizer_of
from common.domain_clock import domain_now
from common.errors import Conflict, InvalidInput
from common.web.form_fields import SeeOther
from common.web.page import page
from labeling.enums import KnownUse
from labeling.learning import organizer, selectors
from labeling.learning.services import instructions_publish
from policy.selectors import policy_in_force


@dataclass(frozen=True, slots=True)
class InstructionsDraft:
    """A new version of the instructions as typed: `begins` is a time in UTC, empty for at once."""

    summary: str = ""
    clarification: str = ""
    requalify: bool = False
    begins: str = ""

    def in_force_from(self, now: datetime) -> datetime:
        """Return when the version begins; InvalidInput when the time cannot be read."""
        if not self.begins:
            return now
        try:
            return datetime.fromisoformat(self.begins).replace(tzinfo=UTC)
        except ValueError:
            raise InvalidInput(
                "Write the time as 2026-11-20T08:00, in UTC.", "bad_time", field="in_force_from"
            ) from None


def _draft(fields: QueryDict) -> InstructionsDraft:
    return InstructionsDraft(
        summary=fields.get("summary", "").strip(),
        clarification=fields.get("clarification", "").strip(),
        requalify=fields.get("requalify") == "yes",
        begins=fields.get("begins", "").strip(),
    )


@page(organizer_of, "GET POST")
def learning(request: HttpRequest, by: User) -> HttpResponse:
    """Show how learning goes; a POST publishes a new version of the instructions, after a confirmation.

    The form comes back three times: to be looked over, to be changed once more, or to be published (`step`).
    """
    now = domain_now()
    if request.method != "POST":
        return _page(request, now)
    draft = _draft(request.POST)
    try:
        if request.POST.get("step") != "publish":
            return _confirm(request, draft, now)
        return _publish(request, draft, by, now)
    except (InvalidInput, Conflict) as error:
        return _page(request, now, draft=draft, refused=error.message, status=400)


def _confirm(request: HttpRequest, draft: InstructionsDraft, now: datetime) -> HttpResponse:
    if request.POST.get("step") == "change":
        return _page(request, now, draft=draft)
    if not draft.summary:
        raise InvalidInput("Say in a sentence what changed.", "no_summary", field="summary")
    begins = draft.in_force_from(now)
    if begins < now:
        raise InvalidInput("A version cannot begin in the past.", "too_early", field="in_force_from")
    context = {"draft": draft, "begins": begins, "asked_again": organizer.asked_again_by(draft.requalify), "now": now}
    return render(request, "learning/organizer_confirm.html", context)


def _publish(request: HttpRequest, draft: InstructionsDraft, by: User, now: datetime) -> HttpResponse:
    version = instructions_publish(
        summary=draft.summary,
        clarification=draft.clarification,
        requalify=draft.requalify,
        in_force_from=draft.in_force_from(now),
        by=by,
        now=now,
    )
    messages.success(request, f"Version {version.version} of the instructions is published.")
    return SeeOther(reverse("organizer-learning"))


def _page(
    request: HttpRequest, now: datetime, *, draft: InstructionsDraft | None = None, refused: str = "", status: int = 200
) -> HttpResponse:
    policy = policy_in_force(now).policy
    pool = organizer.picture_rows(KnownUse.QUALIFICATION, now)
    context: dict[str, Any] = {
        "now": now,
        "policy": policy,
        "zone": policy.time_zone,
        "health": selectors.pool_health(policy),
        "lessons": organizer.picture_rows(KnownUse.TUTORIAL, now),
        "pool": pool,
        "topics": organizer.topic_tallies(pool),
        "learners": organizer.learners(policy, now),
        "versions": organizer.instruction_versions(),
        "draft": draft or InstructionsDraft(),
        "refused": refused,
    }
    return render(request, "learning/organizer.html", context, status=status)
