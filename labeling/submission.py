"""Stores taskers' answers (R8-R12), each in one transaction.

The order in which transactions lock rows is at the head of `labeling/models/panels.py`.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import BigIntegerField, BooleanField, DateTimeField, F
from django.db.models.expressions import RawSQL
from django.utils.translation import gettext as _

from common.database.deadlocks import retry_on_deadlock
from common.database.lookups import Parameter, PreparedInsert, PreparedTogether, PreparedUpdate
from common.errors import Conflict
from labeling import selectors, signals
from labeling.answers import FormAnswers, read_form
from labeling.enums import NEXT_ASSIGNMENT_STATE, AssignmentState, PanelState, TaskerState
from labeling.gold import mark_gold
from labeling.leases import own_assignment
from labeling.models import Assignment, Panel, Response, Tasker
from labeling.more_taskers import is_kept_out
from policy.enums import OutlineGate
from policy.numbers import MAX_PANEL_SIZE, Policy

# The positions in Tasker.passed are updated at most this often, and stay at least this far in the past, because an
# open transaction may still add a panel with a slightly earlier time.
MARK_AGE = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class SubmittedResponse:
    """A stored response. `repeated`: the same submission was sent again."""

    response: Response
    repeated: bool

    @property
    def counted(self) -> bool:
        """Whether the receipt says it counts: False for surplus (R8). For gold, as its ordinary picture would (R6)."""
        assignment = self.response.assignment
        if assignment.known_id is not None:
            return assignment.seems_counted is not False
        return self.response.place_id is not None


def response_submit(
    *,
    tasker: Tasker,
    assignment_id: UUID,
    lease_token: str,
    data: Mapping[str, Any],
    policy_at: Callable[[datetime], Policy],
    now: datetime,
) -> SubmittedResponse:
    """Store a tasker's response (R8-R12) and return it with its receipt.

    Which questions apply (R10) depends on the policy in force when the panel was dealt; `policy_at` returns it.

    The response counts while a place is theirs or free, also when it is late; otherwise it is stored as surplus, as is
    one of a tasker who was paused meanwhile, one about a picture that an organizer keeps out, and a late one when a
    linked tasker is on the panel (R6). The same response again returns the same receipt; a different one is a
    Conflict (`already_answered`). WrongFields names the fields to change, and nothing is stored.
    """
    submitted = _submit(tasker, assignment_id, lease_token, data, policy_at, now)
    if not submitted.repeated:
        _move_marks(tasker, now)
    return submitted


@retry_on_deadlock
@transaction.atomic
def _submit(
    tasker: Tasker,
    assignment_id: UUID,
    lease_token: str,
    data: Mapping[str, Any],
    policy_at: Callable[[datetime], Policy],
    now: datetime,
) -> SubmittedResponse:
    assignment = own_assignment(tasker, assignment_id, lease_token)
    image = assignment.image
    gate = outline_gate_of(assignment, policy_at)
    answers = read_form(data, width=image.width, height=image.height, gate=gate)
    if assignment.state == AssignmentState.ANSWERED:
        return _repeated(assignment, answers)
    may_count = tasker.state == TaskerState.QUALIFIED and not _is_kept_out(assignment)
    response = _keep(assignment, answers, now, counts=may_count)
    return SubmittedResponse(response, repeated=False)


def outline_gate_of(assignment: Assignment, policy_at: Callable[[datetime], Policy]) -> OutlineGate:
    """Return the gate: which answers to questions 1 and 2 make questions 3 and 4 apply (R10).

    Fixed when the panel was dealt. For gold, the panel that it stands for decides, however old its own is (R6).
    """
    asked_on = assignment.stands_for or assignment.panel
    return policy_at(asked_on.dealt_at).outline_gate


def _is_kept_out(assignment: Assignment) -> bool:
    """Say whether an organizer keeps the picture out: no ruling may come of it (R19). For gold, whether the gold or the
    picture that it stands for is kept out: its receipt is as for an ordinary picture (R6)."""
    asked_on, known = assignment.stands_for or assignment.panel, assignment.known
    if known is not None and known.held_at is not None and is_kept_out(assignment.image_id):
        return True
    return asked_on.state == PanelState.HELD and is_kept_out(asked_on.image_id)


def _repeated(assignment: Assignment, answers: FormAnswers) -> SubmittedResponse:
    response = Response.objects.get(assignment=assignment)
    response.assignment = assignment
    if response.answers_sha256 != answers.sha256:
        message = _("You answered this picture already (receipt %(receipt)s); an answer is never replaced.")
        raise Conflict(message % {"receipt": response.receipt}, "already_answered")
    return SubmittedResponse(response, repeated=True)


def _keep(assignment: Assignment, answers: FormAnswers, now: datetime, *, counts: bool) -> Response:
    panel = assignment.panel
    holds_lease = assignment.state == AssignmentState.LEASED
    counts = counts and (holds_lease or selectors.may_be_free(assignment))
    takes_place = counts and assignment.known_id is None and _has_room(panel, holds_lease)
    if assignment.known_id is not None:
        assignment.seems_counted = counts
    box = answers.outline.box if answers.outline else None
    answer = {
        "assignment": assignment,
        "image_id": assignment.image_id,
        "panel": panel,
        "tasker_id": assignment.tasker_id,
        "contains_bird": answers.bird,
        "contains_bicycle": answers.bicycle,
        "outline": answers.outline.json if answers.outline else "",
        "box_xmin": box.xmin if box else None,
        "box_ymin": box.ymin if box else None,
        "box_xmax": box.xmax if box else None,
        "box_ymax": box.ymax if box else None,
        "complete": answers.complete,
        "unoccluded": answers.unoccluded,
        "real": answers.real,
        "milliseconds": answers.milliseconds,
        "instructions": assignment.instructions,
        "submitted_at": now,
        "answers_sha256": answers.sha256,
        "receipt": _receipt(assignment, answers, now),
    }
    marks = {"assignment": assignment.pk, "now": now, "seems_counted": assignment.seems_counted}
    if takes_place:
        return _fill_place(panel, holds_lease, answer, marks, now)
    response, _ = _keep_without_place(answer, **marks, free_place_of=None)
    if assignment.known is not None:
        mark_gold(response=response, known=assignment.known, answers=answers, now=now)
    elif holds_lease:
        Panel.objects.filter(pk=panel.pk).update(leased=F("leased") - 1)
    return response


_UNANSWERED = [state for state, following in NEXT_ASSIGNMENT_STATE.items() if AssignmentState.ANSWERED in following]
_mark_answered = PreparedUpdate(
    "mark_answered",
    lambda: (
        Assignment.objects.filter(pk=Parameter("assignment", BigIntegerField()), state__in=_UNANSWERED),
        {
            "state": AssignmentState.ANSWERED,
            "ended_at": Parameter("now", DateTimeField()),
            "seems_counted": Parameter("seems_counted", BooleanField()),
        },
    ),
)


def _has_room(panel: Panel, holds_lease: bool) -> bool:
    """Say whether a place is theirs or free. While a report holds the picture no new tasker gets it, but responses of
    taskers who had it before still count."""
    waits = panel.state in (PanelState.OPEN, PanelState.HELD)
    return waits and (holds_lease or panel.answered + panel.leased < panel.size)


def _fill_place(
    panel: Panel, held_lease: bool, answer: dict[str, Any], marks: dict[str, Any], now: datetime
) -> Response:
    panel.answered += 1
    panel.missing -= 1
    panel.leased -= 1 if held_lease else 0
    panel.waiting_since = now
    if panel.missing == 0:
        panel.state, panel.full_at = PanelState.FULL, now
    progress = {name: getattr(panel, name) for name in _PROGRESS}
    response, _ = _keep_in_place(answer, **marks, free_place_of=panel.pk, panel=panel.pk, **progress)
    if response.place_id is None:
        raise RuntimeError(f"panel {panel.pk} misses answers and has no free place")
    if panel.state == PanelState.FULL:
        signals.panel_full.send(Panel, panel_id=panel.pk)
    return response


_PROGRESS = ("answered", "missing", "leased", "waiting_since", "state", "full_at")


_write_progress = PreparedUpdate(
    "write_progress",
    lambda: (
        Panel.objects.filter(pk=Parameter("panel", BigIntegerField())),
        {field.name: Parameter(field.name, field) for field in Panel._meta.concrete_fields if field.name in _PROGRESS},
    ),
)
# The first place without an answer; the panel's row is locked, so it stays free until the insert. OFFSET keeps
# the lookup of each place's answer from being joined with all answers (docs/decisions/0005).
_FREE_PLACE = """
    SELECT place.id FROM labeling_panelplace place
    WHERE place.panel_id = %s
      AND NOT EXISTS (SELECT 1 FROM labeling_response r WHERE r.place_id = place.id LIMIT 1 OFFSET 0)
    ORDER BY place.number LIMIT 1"""
_add_response = PreparedInsert(
    "add_response", Response, place_id=RawSQL(_FREE_PLACE, [Parameter("free_place_of", BigIntegerField())])
)
_keep_without_place = PreparedTogether("keep_without_place", _add_response, _mark_answered)
_keep_in_place = PreparedTogether("keep_in_place", _add_response, _mark_answered, _write_progress)


def _receipt(assignment: Assignment, answers: FormAnswers, now: datetime) -> str:
    """Return 12 hexadecimal digits that a tasker can quote: a digest of the answers, the picture, and the time."""
    text = f"{assignment.public_id} {answers.sha256} {now.isoformat()}"
    digits = hashlib.sha256(text.encode()).hexdigest()[:12].upper()
    return "-".join(digits[at : at + 4] for at in (0, 4, 8))


def _move_marks(tasker: Tasker, now: datetime) -> None:
    """Move the tasker's positions in the queue to the oldest panels new to them (see selectors.claimable_panels)."""
    if tasker.passed_at is not None and now - tasker.passed_at < MARK_AGE:
        return
    latest = now - MARK_AGE
    found = selectors.first_not_passed(tasker)
    marks = {
        str(missing): min(found.get(missing, latest), latest).isoformat() for missing in range(1, MAX_PANEL_SIZE + 1)
    }
    Tasker.objects.filter(pk=tasker.pk).update(passed=marks, passed_at=now)
