"""Voids a tasker's unsettled answers: they stay on record without counting, and their places are dealt again (R6)."""

from collections.abc import Sequence
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, Max, Q, QuerySet

from common.audit.trail import Subject, audit
from common.database.deadlocks import retry_on_deadlock
from common.errors import InvalidInput
from labeling.enums import PanelState, ReportDecision
from labeling.models import Panel, PanelPlace, Report, Response, Tasker, VoidedResponse, Voiding

UNSETTLED = (PanelState.OPEN, PanelState.HELD, PanelState.FULL)


def unsettled_responses(tasker: Tasker, since: datetime | None) -> QuerySet[Response]:
    """Return the tasker's counted responses that no ruling has counted yet, from `since` on."""
    return _counted_responses(tasker, since).exclude(_ruled_upon()).order_by("pk")


def settled_responses(tasker: Tasker, since: datetime | None) -> QuerySet[Response]:
    """Return the tasker's responses that a ruling counted: those are for the board, never voided."""
    return _counted_responses(tasker, since).filter(_ruled_upon()).order_by("pk")


def _ruled_upon() -> Q:
    """Return a filter for responses on settled panels, and earlier ones of a panel that others joined since (R19)."""
    return Q(panel__state=PanelState.SETTLED) | Q(place__number__lte=F("panel__ruled_through"))


def _counted_responses(tasker: Tasker, since: datetime | None) -> QuerySet[Response]:
    when = Q(submitted_at__gte=since) if since is not None else Q()
    return Response.objects.filter(when, tasker=tasker, place__isnull=False, voided__isnull=True)


@retry_on_deadlock
@transaction.atomic
def responses_void(*, tasker: Tasker, since: datetime | None, reason: str, by: User | None, now: datetime) -> Voiding:
    """Void every unsettled response of the tasker and open its place again (R6); the reason is published.

    InvalidInput without a reason. A panel that is ruled upon meanwhile stays as it is.
    """
    if not reason.strip():
        raise InvalidInput(
            "Give the reason: it is published beside each voided answer.", "reason_missing", field="reason"
        )
    ids = unsettled_responses(tasker, since).order_by("panel_id").values_list("panel_id", flat=True)
    panels = list(_locked(list(ids)))
    # After the panels: this row holds the tasker's, and a submit takes the panel first and then its tasker.
    voiding = Voiding.objects.create(tasker=tasker, since=since, reason=reason.strip(), voided_at=now, voided_by=by)
    for panel in panels:
        response = unsettled_responses(tasker, since).filter(panel=panel).first()
        if response is not None:
            _void(response, panel, voiding, now)
    told = {"answers": voiding.responses.count()}
    subject: Subject = {"tasker": [tasker.public_id], "voiding": [voiding.pk]}
    audit("response.void", by=by, subject=subject, why=voiding.reason, now=now, private=told)
    return voiding


def _locked(ids: Sequence[int]) -> QuerySet[Panel]:
    rows = Panel.objects.select_for_update(of=("self",), no_key=True).filter(pk__in=ids, state__in=UNSETTLED)
    return rows.order_by("pk")


def _state_with_room(panel: Panel) -> PanelState:
    """Held where a report waits or kept the picture out: it came too late for a full panel, and not for this one."""
    reports = Report.objects.filter(image=panel.image_id).exclude(decision=ReportDecision.REOPENED)
    return PanelState.HELD if reports.exists() else PanelState.OPEN


def _void(response: Response, panel: Panel, voiding: Voiding, now: datetime) -> None:
    VoidedResponse.objects.create(response=response, voiding=voiding)
    last = PanelPlace.objects.filter(panel=panel).aggregate(number=Max("number"))["number"]
    PanelPlace.objects.create(panel=panel, number=last + 1, replaces_id=response.place_id)
    panel.answered -= 1
    panel.missing += 1
    # Set to now: a tasker's position in the queue must never be past a panel that has room again.
    panel.waiting_since = now
    if panel.state == PanelState.FULL:
        panel.state, panel.full_at = _state_with_room(panel), None
    panel.save(update_fields=["answered", "missing", "waiting_since", "state", "full_at"])
