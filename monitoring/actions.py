"""Actions on taskers by a rule or an organizer, each with a reason that the tasker reads (R6)."""

from datetime import datetime

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext, gettext_noop, override

from common.audit.trail import audit
from common.database.deadlocks import retry_on_deadlock
from common.errors import Conflict
from common.typed import clean_words
from labeling import leases, voiding
from labeling.enums import MonitoringAction, TaskerState
from labeling.models import MonitoringEvent, Notice, StateChange, Tasker, Voiding
from labeling.states import tasker_state_change

MAX_REASON_CHARACTERS = 1_000
REQUALIFY = "requalify"
RETURNED = "returned"
_PAUSED = "paused"
_WARNED = "warned"
_VOIDED = "voided"

# The notice that a tasker sees on the next page; {reason} is the rule's or the organizer's.
_WORDS = {
    _WARNED: gettext_noop("About your answers: {reason}"),
    _PAUSED: gettext_noop("Your labeling is paused: {reason}"),
    REQUALIFY: gettext_noop("A short qualification comes before the next picture: {reason}"),
    RETURNED: gettext_noop("Your labeling goes on: {reason}"),
    _VOIDED: gettext_noop(
        "An organizer took answers of yours out of the count; they stay in the record. The reason: {reason}"
    ),
}
_CODES = {MonitoringAction.WARN: _WARNED, MonitoringAction.PAUSE: _PAUSED, MonitoringAction.REQUALIFY: REQUALIFY}
_ACTS = {
    MonitoringAction.WARN: "tasker.warn",
    MonitoringAction.PAUSE: "tasker.pause",
    MonitoringAction.REQUALIFY: "tasker.requalify",
}
_AFTER = {MonitoringAction.PAUSE: TaskerState.PAUSED, MonitoringAction.REQUALIFY: TaskerState.LEARNING}


def action_take(
    *,
    tasker: Tasker,
    action: MonitoringAction,
    reason: str,
    now: datetime,
    by: User | None = None,
    event: MonitoringEvent | None = None,
) -> None:
    """Warn, pause or send to a short qualification, and notify the tasker on their next page (R6).

    A tasker who may not go on loses their leases. InvalidInput without a reason; Conflict (`state_changed`) when the
    tasker's state does not (or no longer) allow the action.
    """
    _take(tasker, TaskerState(tasker.state), action, _checked(reason), now, by, event)


@retry_on_deadlock
@transaction.atomic
def _take(
    tasker: Tasker,
    before: TaskerState,
    action: MonitoringAction,
    reason: str,
    now: datetime,
    by: User | None,
    event: MonitoringEvent | None,
) -> None:
    code = _CODES[action]
    # A call that was rolled back by a deadlock has left its state on the object.
    tasker.state = before
    if action in _AFTER:
        tasker_state_change(tasker=tasker, after=_AFTER[action], code=code, reason=reason, now=now, by=by, event=event)
        leases.leases_release(tasker=tasker, now=now)
    _tell(tasker, code, reason, now, event)
    rule = {"watch_rule": event.rule_id, "watch_event": event.pk} if event is not None else None
    audit(_ACTS[action], by=by, subject={"tasker": [tasker.public_id]}, why=reason, now=now, private=rule)


@transaction.atomic
def tasker_return(*, tasker: Tasker, reason: str, by: User, now: datetime) -> None:
    """End a tasker's pause and restore their state before it: labeling, or learning.

    InvalidInput without a reason; Conflict for somebody who is not paused.
    """
    reason = _checked(reason)
    if tasker.state != TaskerState.PAUSED:
        raise Conflict("This tasker is not paused: there is nothing to return from.", "not_paused")
    tasker_state_change(tasker=tasker, after=state_before_pause(tasker), code=RETURNED, reason=reason, now=now, by=by)
    # Notices of the pause are over; unread, they would appear on the next page.
    Notice.objects.filter(tasker=tasker, code__in=(_PAUSED, REQUALIFY), seen_at__isnull=True).update(seen_at=now)
    _tell(tasker, RETURNED, reason, now)
    audit("tasker.return", by=by, subject={"tasker": [tasker.public_id]}, why=reason, now=now)


def state_before_pause(tasker: Tasker) -> TaskerState:
    """Return what a paused tasker was when the pause began."""
    changes = StateChange.objects.filter(tasker=tasker, after=TaskerState.PAUSED).order_by("-changed_at", "-pk")
    before = changes.values_list("before", flat=True).first()
    return TaskerState(before) if before else TaskerState.QUALIFIED


@retry_on_deadlock
@transaction.atomic
def answers_void(*, tasker: Tasker, since: datetime | None, reason: str, by: User, now: datetime) -> Voiding:
    """Void the tasker's unsettled answers from `since` on, and notify the tasker (R6).

    InvalidInput without a reason; Conflict (`nothing_to_void`) when every answer is settled or void already.
    """
    reason = _checked(reason)
    if not voiding.unsettled_responses(tasker, since).exists():
        raise Conflict("There is no unsettled answer of this tasker to void.", "nothing_to_void")
    row = voiding.responses_void(tasker=tasker, since=since, reason=reason, by=by, now=now)
    _tell(tasker, _VOIDED, reason, now)
    return row


def _checked(reason: str) -> str:
    ask = "Give the reason: the tasker reads it, and it stays on record."
    return clean_words(reason, field="reason", ask=ask, max_length=MAX_REASON_CHARACTERS)


def _tell(tasker: Tasker, code: str, reason: str, now: datetime, event: MonitoringEvent | None = None) -> None:
    """Add a notice in the tasker's language; a rule's reason is translated, an organizer's is not.

    Adds none for a tasker who has left.
    """
    if tasker.left_at is not None:
        return
    with override(tasker.language or settings.LANGUAGE_CODE):
        text = gettext(_WORDS[code]).format(reason=gettext(reason))
    Notice.objects.create(tasker=tasker, code=code, text=text, event=event, told_at=now)
