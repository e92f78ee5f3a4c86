"""What happens to panels, leases and responses. Each function is one transaction; the database keeps the promises.

The order in which transactions lock rows is at the head of `labeling/models/panels.py`.
"""

import hashlib
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import BigIntegerField, BooleanField, DateTimeField, F, IntegerField
from django.utils.translation import gettext as _

from common.database.deadlocks import again_after_deadlock
from common.database.lookups import Change, Given, Statement
from common.errors import Conflict, NotFound
from labeling import selectors, signals
from labeling.answers import Answers, read_answers
from labeling.enums import NEXT_ASSIGNMENT_STATE, AssignmentState, PanelState, TaskerState, TieBreak
from labeling.gold import gold_mark
from labeling.models import Assignment, Image, KnownPicture, Panel, Place, Response, Tasker
from policy.enums import OutlineGate
from policy.numbers import LARGEST_PANEL, Policy

DEALT_AT_ONCE = 500
LAPSED_AT_ONCE = 500
CLAIM_TRIES = 5
# The marks in Tasker.passed are renewed at most this often, and never come nearer to the present than this, because
# a transaction that is still open may yet add a panel with a time just past.
MARK_AGE = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class NothingLeft:
    """No picture for this tasker now; `others_hold_some` says whether asking again soon may help."""

    others_hold_some: bool


@dataclass(frozen=True, slots=True)
class Submitted:
    """A response as kept. `repeated` marks the very same submission sent again."""

    response: Response
    repeated: bool

    @property
    def counted(self) -> bool:
        """What the receipt says: False for a surplus answer (R8). Gold says what its stand-in would have said (R6)."""
        assignment = self.response.assignment
        if assignment.known_id is not None:
            return assignment.seems_counted is not False
        return self.response.place_id is not None


def panels_deal(*, policy: Policy, now: datetime) -> int:
    """Give pictures that are due a panel with its places (R7), oldest first.

    Returns how many, DEALT_AT_ONCE at most, so that after a large import rulings need not wait; 0 when none is due.
    """
    due = selectors.images_waiting_for_panel(now, DEALT_AT_ONCE)
    return _deal(due, policy.panel_size, now) if due else 0


@again_after_deadlock
@transaction.atomic
def _deal(due: list[Image], size: int, now: datetime) -> int:
    ids = [image.pk for image in due]
    # Asked again under the lock: a picture may have been withdrawn since it was found due (R24).
    still_due = Image.objects.filter(pk__in=ids, dealt_at__isnull=True, label_from__lte=now)
    fresh = still_due.select_for_update(skip_locked=True, no_key=True)
    images = sorted(fresh, key=lambda image: ids.index(image.pk))
    panels = Panel.objects.bulk_create(
        Panel(image=image, size=size, missing=size, dealt_at=now, waiting_since=now) for image in images
    )
    Place.objects.bulk_create(Place(panel=panel, number=number) for panel in panels for number in range(1, size + 1))
    return Image.objects.filter(pk__in=[image.pk for image in images]).update(dealt_at=now)


def assignment_next(
    *, tasker: Tasker, holding: Collection[UUID], policy: Policy, now: datetime, rng: Random
) -> Assignment | NothingLeft:
    """Return the picture this tasker should look at next, under a lease (R8).

    One they already hold and do not name in `holding` comes first, so that a second browser or a reloaded page gets
    the same picture. Naming the pictures at hand is how a page loads the next ones ahead. Conflict
    (`enough_held`) when `policy.pictures_held` are at hand already.
    """
    for _again in range(CLAIM_TRIES):
        try:
            return _next(tasker, holding, policy, now, rng)
        except IntegrityError:
            # Another request of this very tasker was faster: what it leased is now among what they hold.
            continue
    raise Conflict(_("Several pages of yours ask at the same moment: wait a second and ask again."), "ask_again")


def assignment_of(*, tasker: Tasker, panel: Panel, policy: Policy, now: datetime, rng: Random) -> Assignment | None:
    """Lease the picture of this panel to a tasker who holds none; None where it is not open to them any more (R8).

    For the demo's people, who answer only the pictures that they know. Everybody else gets what comes next.
    """
    try:
        return _of_panel(tasker, panel, policy, now, rng)
    except IntegrityError:  # another request of this very tasker was faster
        return None


@again_after_deadlock
@transaction.atomic
def _of_panel(tasker: Tasker, panel: Panel, policy: Policy, now: datetime, rng: Random) -> Assignment | None:
    if not selectors.panels_open_to(tasker).filter(pk=panel.pk).exists():
        return None
    leased = _lease(tasker, panel.pk, panel.image, 1, policy, now, rng)
    if _take_place(panel.pk):
        return leased
    _forget_lease(assignment=leased.pk)
    return None


@again_after_deadlock
@transaction.atomic
def _next(
    tasker: Tasker, holding: Collection[UUID], policy: Policy, now: datetime, rng: Random
) -> Assignment | NothingLeft:
    held = selectors.open_assignments(tasker)
    for assignment in held:
        if assignment.public_id not in holding and _renew(assignment, policy, now):
            return assignment
    if len(held) >= policy.pictures_held:
        message = _("You hold %(count)s pictures already: answer one of them first.") % {"count": len(held)}
        raise Conflict(message, "enough_held")
    slot = min({1, 2, 3} - {assignment.slot for assignment in held})
    claimed = _claim(tasker, slot, policy, now, rng) or _resume_lapsed(tasker, slot, policy, now)
    return claimed or NothingLeft(selectors.others_hold_something_for(tasker))


def _renew(assignment: Assignment, policy: Policy, now: datetime) -> bool:
    """Renew a lease; False when it was answered or ended meanwhile, in another browser or by the sweep."""
    expires_at = now + timedelta(seconds=policy.lease_seconds)
    held = Assignment.objects.filter(pk=assignment.pk, state=AssignmentState.LEASED)
    if held.update(expires_at=expires_at) != 1:
        return False
    assignment.expires_at = expires_at
    return True


def _claim(tasker: Tasker, slot: int, policy: Policy, now: datetime, rng: Random) -> Assignment | None:
    """Lease the best of what there is, or gold in its stead, at random (R6).

    Gold is dealt only where an ordinary picture could have been, or it would be known by coming last. The panel of that
    picture is what the gold stands in for.
    """
    gold = rng.randrange(100) < policy.gold_percent
    for panel_id, image in _offers(tasker, policy):
        drawn = selectors.gold_for(tasker, image, policy.gold_most_uses, rng) if gold else None
        gold = False
        if drawn is not None:
            leased = _lease(tasker, drawn.panel_id, drawn.image, slot, policy, now, rng, drawn.known_id, panel_id)
            if _use_gold(known=drawn.known_id, most_uses=policy.gold_most_uses) == 1:
                return leased
            _forget_lease(assignment=leased.pk)
        leased = _lease(tasker, panel_id, image, slot, policy, now, rng)
        if _take_place(panel_id):
            return leased
        _forget_lease(assignment=leased.pk)
    return None


def _lease(
    tasker: Tasker,
    panel_id: int,
    image: Image,
    slot: int,
    policy: Policy,
    now: datetime,
    rng: Random,
    known_id: int | None = None,
    stands_for_id: int | None = None,
) -> Assignment:
    """Add the lease before its place is taken: it may wait for another request of the same tasker, and must not hold
    a panel meanwhile."""
    return Assignment.objects.create(
        panel_id=panel_id,
        image=image,
        tasker=tasker,
        person=tasker.person or tasker.pk,
        known_id=known_id,
        stands_for_id=stands_for_id,
        instructions=selectors.instructions_in_force(now).version,
        lease_token=secrets.token_hex(16),
        slot=slot,
        tie_break=rng.choice(list(TieBreak)),
        leased_at=now,
        expires_at=now + timedelta(seconds=policy.lease_seconds),
    )


# For a lease of this very transaction, whose place somebody else was faster to take.
_forget_lease = Statement(
    "forget_lease", "DELETE FROM labeling_assignment WHERE id = %s", [Given("assignment", BigIntegerField())]
).changed

_use_gold = Change(
    "use_gold",
    lambda: (
        KnownPicture.objects.filter(
            pk=Given("known", BigIntegerField()),
            uses__lt=Given("most_uses", IntegerField()),
            retired_at__isnull=True,
            held_at__isnull=True,
        ),
        {"uses": F("uses") + 1},
    ),
)


def _offers(tasker: Tasker, policy: Policy) -> Iterator[tuple[int, Image]]:
    """Yield what there is for the tasker, best first. A further statement runs only when the one before found nothing.

    Panels that miss more answers than a new one has places are left over from another policy. And a clock that was
    set back may have put a panel before a mark; a mark never hides work.
    """
    yield from selectors.candidates(tasker, range(1, policy.panel_size + 1))
    yield from selectors.candidates(tasker, range(policy.panel_size + 1, LARGEST_PANEL + 1))
    if tasker.passed:
        yield from selectors.candidates(tasker, from_marks=False)


def _take_place(panel_id: int) -> bool:
    """Reserve one free place by a filtered UPDATE; False when somebody else was faster."""
    return _lease_one(panel=panel_id) == 1


_lease_one = Change(
    "lease_one",
    lambda: (
        Panel.objects.filter(
            pk=Given("panel", BigIntegerField()), state=PanelState.OPEN, size__gt=F("answered") + F("leased")
        ),
        {"leased": F("leased") + 1},
    ),
)


def _resume_lapsed(tasker: Tasker, slot: int, policy: Policy, now: datetime) -> Assignment | None:
    """Offer again what this tasker let lapse, when nothing new is left: nobody else may be there to fill the place."""
    lapsed = selectors.lapsed_with_room(tasker)
    return lapsed if lapsed is not None and _resume(lapsed, slot, policy, now) else None


class _NoRoom(Exception):
    """The place of a lapsed lease is gone."""


def _resume(lapsed: Assignment, slot: int, policy: Policy, now: datetime) -> bool:
    """Lease a lapsed assignment again; False, and nothing changed, when its place is gone.

    The slot comes before the panel, as for a new lease.
    """
    lapsed.expires_at = now + timedelta(seconds=policy.lease_seconds)
    lapsed.instructions = selectors.instructions_in_force(now).version
    leased = {"expires_at": lapsed.expires_at, "instructions": lapsed.instructions, "slot": slot, "ended_at": None}
    try:
        with transaction.atomic():
            _move(lapsed, AssignmentState.LEASED, **leased)
            if not _take_back(lapsed):
                raise _NoRoom
    except _NoRoom:
        return False
    return True


def _take_back(lapsed: Assignment) -> bool:
    """Take the picture's place again, if it is free. Gold has none: it is free where its stand-in would be."""
    if lapsed.known_id is not None:
        return selectors.gold_seems_free(lapsed, to_resume=True)
    return _take_place(lapsed.panel_id)


def assignment_heartbeat(
    *, tasker: Tasker, assignment_id: UUID, lease_token: str, policy: Policy, now: datetime
) -> datetime:
    """Renew a lease and return when it now ends; a lapsed one is taken up again while its place is free.

    Conflict (`place_taken`, `lease_ended`) says that the place is gone; what is answered all the same is kept (R8).
    """
    expires_at = now + timedelta(seconds=policy.lease_seconds)
    mine = Assignment.objects.filter(public_id=assignment_id, tasker=tasker, lease_token=lease_token)
    if mine.filter(state=AssignmentState.LEASED).update(expires_at=expires_at) == 1:
        return expires_at
    try:
        return _take_up_again(tasker, assignment_id, lease_token, policy, now)
    except IntegrityError:
        raise _place_taken() from None


@again_after_deadlock
@transaction.atomic
def _take_up_again(tasker: Tasker, assignment_id: UUID, lease_token: str, policy: Policy, now: datetime) -> datetime:
    # Without its panel, which comes after the slot.
    assignment = _own_assignment(tasker, assignment_id, lease_token, lock=selectors.lock_own_lease)
    if _renew(assignment, policy, now):
        return assignment.expires_at
    if assignment.state != AssignmentState.EXPIRED or tasker.state != TaskerState.QUALIFIED:
        raise Conflict(_("This picture is not at hand any more: ask for the next one."), "lease_ended")
    held = {each.slot for each in selectors.open_assignments(tasker)}
    free = sorted({1, 2, 3} - held)
    if not free or not _resume(assignment, free[0], policy, now):
        raise _place_taken()
    return assignment.expires_at


def _place_taken() -> Conflict:
    return Conflict(
        _(
            "The lease ran out and somebody else has this place now. Send your answer all the same: it is kept and "
            "published, and does not count."
        ),
        "place_taken",
    )


def _own_assignment(
    tasker: Tasker,
    assignment_id: UUID,
    lease_token: str | None,
    *,
    lock: Callable[[Tasker, UUID], Assignment | None] = selectors.lock_own_assignment,
) -> Assignment:
    """Lock and return the tasker's own assignment and its panel; NotFound for anybody else's."""
    assignment = lock(tasker, assignment_id)
    if assignment is None:
        raise NotFound(_("There is no such assignment of yours."), "not_found")
    if lease_token is not None and not secrets.compare_digest(assignment.lease_token.encode(), lease_token.encode()):
        raise Conflict(
            _("The lease token is not that of this assignment: reload the page; drawn outlines stay."), "wrong_token"
        )
    return assignment


@again_after_deadlock
@transaction.atomic
def assignment_release(
    *, tasker: Tasker, assignment_id: UUID, lease_token: str | None, problem: str, now: datetime
) -> None:
    """Give a picture back; a `problem` reports it as broken to the organizers. Giving back twice changes nothing.

    The token is checked where it is sent; that the assignment is the tasker's own is always checked.
    """
    assignment = _own_assignment(tasker, assignment_id, lease_token)
    if assignment.state == AssignmentState.ANSWERED:
        raise Conflict(_("This picture is answered already and cannot be given back."), "already_answered")
    if assignment.state == AssignmentState.LEASED:
        _end_lease(assignment, AssignmentState.RELEASED, now)
    if problem:
        Assignment.objects.filter(pk=assignment.pk).update(problem=problem, ended_at=now)


def _end_lease(assignment: Assignment, state: AssignmentState, now: datetime) -> None:
    _move(assignment, state, ended_at=now)
    if assignment.known_id is None:
        Panel.objects.filter(pk=assignment.panel_id).update(leased=F("leased") - 1)


@again_after_deadlock
@transaction.atomic
def leases_end(*, tasker: Tasker, now: datetime) -> int:
    """Give back every picture the tasker holds: they are paused, or gone. Returns how many. What they send while they
    are paused is kept, and does not count: for gold as for any other."""
    rows = Assignment.objects.select_for_update(of=("self",), no_key=True)
    ended = list(rows.filter(tasker=tasker, state=AssignmentState.LEASED).order_by("pk"))
    for assignment in sorted(ended, key=lambda each: each.panel_id):
        _end_lease(assignment, AssignmentState.RELEASED, now)
    return len(ended)


def _move(assignment: Assignment, to: AssignmentState, **values: Any) -> None:
    """Move a locked assignment along its transition table by a filtered UPDATE that must change exactly one row."""
    states = [state for state, following in NEXT_ASSIGNMENT_STATE.items() if to in following]
    changed = Assignment.objects.filter(pk=assignment.pk, state__in=states).update(state=to, **values)
    if changed != 1:
        raise ValueError(f"an assignment that is {assignment.state} cannot become {to}")


def leases_lapse(*, now: datetime) -> int:
    """End every lease that ran out, one short transaction each; its place is free again. Returns how many."""
    overdue = Assignment.objects.filter(state=AssignmentState.LEASED, expires_at__lte=now)
    ids = list(overdue.order_by("expires_at").values_list("pk", flat=True)[:LAPSED_AT_ONCE])
    return sum(_lapse(pk, now) for pk in ids)


@again_after_deadlock
@transaction.atomic
def _lapse(pk: int, now: datetime) -> bool:
    rows = Assignment.objects.select_for_update(skip_locked=True, of=("self",), no_key=True)
    assignment = rows.filter(pk=pk, state=AssignmentState.LEASED, expires_at__lte=now).first()
    if assignment is None:
        return False
    _end_lease(assignment, AssignmentState.EXPIRED, now)
    return True


def response_submit(
    *,
    tasker: Tasker,
    assignment_id: UUID,
    lease_token: str,
    data: Mapping[str, Any],
    policy_at: Callable[[datetime], Policy],
    now: datetime,
) -> Submitted:
    """Keep a tasker's answer (R8-R12) and return it with its receipt.

    What was asked (R10) follows the policy that was in force when the panel was dealt, which `policy_at` knows.

    It counts while a place is theirs or free, also when it comes late; otherwise, and from somebody who was paused
    meanwhile (R6), it is kept as surplus. The very same again returns the same receipt; a different one afterwards is a
    Conflict (`already_answered`). WrongFields names what has to change, and nothing is kept.
    """
    submitted = _submit(tasker, assignment_id, lease_token, data, policy_at, now)
    if not submitted.repeated:
        _move_marks(tasker, now)
    return submitted


@again_after_deadlock
@transaction.atomic
def _submit(
    tasker: Tasker,
    assignment_id: UUID,
    lease_token: str,
    data: Mapping[str, Any],
    policy_at: Callable[[datetime], Policy],
    now: datetime,
) -> Submitted:
    assignment = _own_assignment(tasker, assignment_id, lease_token)
    image = assignment.image
    gate = outline_gate_of(assignment, policy_at)
    answers = read_answers(data, width=image.width, height=image.height, gate=gate)
    if assignment.state == AssignmentState.ANSWERED:
        return _repeated(assignment, answers)
    response = _keep(assignment, answers, now, counts=tasker.state == TaskerState.QUALIFIED)
    return Submitted(response, repeated=False)


def outline_gate_of(assignment: Assignment, policy_at: Callable[[datetime], Policy]) -> OutlineGate:
    """Return what the answers to questions 1 and 2 must be for 3 and 4 to be asked (R10).

    Fixed when the panel was dealt. Gold goes with the panel that it stands in for, however old its own is (R6).
    """
    asked_on = assignment.stands_for or assignment.panel
    return policy_at(asked_on.dealt_at).outline_gate


def _repeated(assignment: Assignment, answers: Answers) -> Submitted:
    response = Response.objects.get(assignment=assignment)
    response.assignment = assignment
    if response.answers_sha256 != answers.sha256:
        message = _("You answered this picture already (receipt %(receipt)s); an answer is never replaced.")
        raise Conflict(message % {"receipt": response.receipt}, "already_answered")
    return Submitted(response, repeated=True)


def _keep(assignment: Assignment, answers: Answers, now: datetime, *, counts: bool) -> Response:
    panel = assignment.panel
    holds_lease = assignment.state == AssignmentState.LEASED
    place = _free_place(panel) if counts and assignment.known_id is None and _has_room(panel, holds_lease) else None
    if assignment.known_id is not None:
        assignment.seems_counted = counts and (holds_lease or selectors.gold_seems_free(assignment))
    box = answers.outline.box if answers.outline else None
    response = Response.objects.create(
        assignment=assignment,
        image_id=assignment.image_id,
        panel=panel,
        tasker_id=assignment.tasker_id,
        place=place,
        contains_bird=answers.bird,
        contains_bicycle=answers.bicycle,
        outline=answers.outline.json if answers.outline else "",
        box_xmin=box.xmin if box else None,
        box_ymin=box.ymin if box else None,
        box_xmax=box.xmax if box else None,
        box_ymax=box.ymax if box else None,
        complete=answers.complete,
        unoccluded=answers.unoccluded,
        real=answers.real,
        milliseconds=answers.milliseconds,
        instructions=assignment.instructions,
        submitted_at=now,
        answers_sha256=answers.sha256,
        receipt=_receipt(assignment, answers, now),
    )
    _mark_answered(assignment=assignment.pk, now=now, seems_counted=assignment.seems_counted)
    if assignment.known_id is not None:
        gold_mark(response=response, known_id=assignment.known_id, now=now)
    elif place is not None:
        _fill_place(panel, holds_lease, now)
    elif holds_lease:
        Panel.objects.filter(pk=panel.pk).update(leased=F("leased") - 1)
    return response


_UNANSWERED = [state for state, following in NEXT_ASSIGNMENT_STATE.items() if AssignmentState.ANSWERED in following]
_mark_answered = Change(
    "mark_answered",
    lambda: (
        Assignment.objects.filter(pk=Given("assignment", BigIntegerField()), state__in=_UNANSWERED),
        {
            "state": AssignmentState.ANSWERED,
            "ended_at": Given("now", DateTimeField()),
            "seems_counted": Given("seems_counted", BooleanField()),
        },
    ),
)


def _has_room(panel: Panel, holds_lease: bool) -> bool:
    return holds_lease or panel.answered + panel.leased < panel.size


def _free_place(panel: Panel) -> Place | None:
    """Return the first place without an answer; the panel's row is locked, so it stays free until we commit.

    While a report holds the picture nobody new is asked, but who was asked before still counts.
    """
    if panel.state not in (PanelState.OPEN, PanelState.HELD):
        return None
    return selectors.first_free_place(panel)


def _fill_place(panel: Panel, held_lease: bool, now: datetime) -> None:
    panel.answered += 1
    panel.missing -= 1
    panel.leased -= 1 if held_lease else 0
    panel.waiting_since = now
    if panel.missing == 0:
        panel.state, panel.full_at = PanelState.FULL, now
    _write_progress(panel=panel.pk, **{name: getattr(panel, name) for name in _PROGRESS})
    if panel.state == PanelState.FULL:
        signals.panel_full.send(Panel, panel_id=panel.pk)


_PROGRESS = ("answered", "missing", "leased", "waiting_since", "state", "full_at")
_write_progress = Change(
    "write_progress",
    lambda: (
        Panel.objects.filter(pk=Given("panel", BigIntegerField())),
        {field.name: Given(field.name, field) for field in Panel._meta.concrete_fields if field.name in _PROGRESS},
    ),
)


def _receipt(assignment: Assignment, answers: Answers, now: datetime) -> str:
    """Return 12 hexadecimal digits that a tasker can quote: a digest of what was said, of which picture, and when."""
    text = f"{assignment.public_id} {answers.sha256} {now.isoformat()}"
    digits = hashlib.sha256(text.encode()).hexdigest()[:12].upper()
    return "-".join(digits[at : at + 4] for at in (0, 4, 8))


def _move_marks(tasker: Tasker, now: datetime) -> None:
    """Let the tasker's next claims begin where the panels new to them begin (see selectors.candidates)."""
    if tasker.passed_at is not None and now - tasker.passed_at < MARK_AGE:
        return
    latest = now - MARK_AGE
    found = selectors.first_not_passed(tasker)
    marks = {
        str(missing): min(found.get(missing, latest), latest).isoformat() for missing in range(1, LARGEST_PANEL + 1)
    }
    Tasker.objects.filter(pk=tasker.pk).update(passed=marks, passed_at=now)


def panel_settle(*, panel: Panel) -> None:
    """Mark a full panel as ruled upon; called by adjudication in the transaction that adds the ruling."""
    changed = Panel.objects.filter(pk=panel.pk, state=PanelState.FULL).update(state=PanelState.SETTLED)
    if changed != 1:
        raise Conflict("This panel is settled already.", "panel_settled")
