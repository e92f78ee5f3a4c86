"""Leases on panel places: dealing the next picture, renewing, releasing, expiring (R8).

Each function is a transaction of its own, or one for each lease; constraints and filtered UPDATEs guard against races.
The order in which transactions lock rows is at the head of `labeling/models/panels.py`.
"""

import secrets
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain
from random import Random
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import BigIntegerField, F, IntegerField
from django.db.models.expressions import RawSQL
from django.utils.translation import gettext as _

from common.database.deadlocks import retry_on_deadlock
from common.database.lookups import Parameter, PreparedInsert, PreparedStatement, PreparedTogether, PreparedUpdate
from common.errors import Conflict, NotFound
from labeling import selectors
from labeling.access import check_labeling
from labeling.enums import NEXT_ASSIGNMENT_STATE, AssignmentState, PanelState, TaskerState, TieBreak
from labeling.gold import GoldPicture, gold_for
from labeling.models import Assignment, Image, KnownPicture, Panel, Tasker
from policy.numbers import MAX_PANEL_SIZE, Policy

LAPSED_AT_ONCE = 500
CLAIM_TRIES = 5


@dataclass(frozen=True, slots=True)
class NothingLeft:
    """There is no picture for this tasker now. If others hold some, another try soon may succeed."""

    held: selectors.HeldByOthers | None


def assignment_next(
    *, tasker: Tasker, holding: Collection[UUID], policy: Policy, now: datetime, rng: Random
) -> Assignment | NothingLeft:
    """Return the next picture for this tasker, under a lease (R8).

    A picture that they hold and that is not in `holding` comes first, so that a second browser or a reloaded page gets
    the same picture. A page names the pictures that it has in `holding` to load the next ones ahead. Conflict
    (`enough_held`) when they hold `policy.pictures_held`, all of them named; NotAllowed (`paused`) when a pause began
    after they were read. One statement reads the held and the available pictures; the held ones are read again only
    where some of them are not in `holding`.
    """
    for _again in range(CLAIM_TRIES):
        try:
            return _next(tasker, holding, policy, now, rng)
        except IntegrityError:
            # Another request of this tasker was faster: the picture that it leased is now among those they hold. Or
            # they were paused or linked meanwhile.
            tasker.refresh_from_db(fields=["state", "person"])
            check_labeling(tasker, now=now)
    raise Conflict(_("Several pages of yours ask at the same moment: wait a second and ask again."), "ask_again")


def assignment_lease(*, tasker: Tasker, panel: Panel, policy: Policy, now: datetime, rng: Random) -> Assignment | None:
    """Lease the picture of this panel to a tasker who holds none; None where it is no longer open to them (R8).

    For the demo's taskers, who answer only pictures that they know. All other taskers get the next picture.
    """
    try:
        return _of_panel(tasker, panel, policy, now, rng)
    except IntegrityError:  # another request of this tasker was faster, or they were paused or linked meanwhile
        return None


@retry_on_deadlock
@transaction.atomic
def _of_panel(tasker: Tasker, panel: Panel, policy: Policy, now: datetime, rng: Random) -> Assignment | None:
    if not selectors.panels_open_to(tasker).filter(pk=panel.pk).exists():
        return None
    return _lease(tasker, panel.pk, panel.image, 1, policy, now, rng)


@retry_on_deadlock
@transaction.atomic
def _next(
    tasker: Tasker, holding: Collection[UUID], policy: Policy, now: datetime, rng: Random
) -> Assignment | NothingLeft:
    claimable = selectors.claimable_panels(tasker, range(1, policy.panel_size + 1))
    slots = claimable.held
    if slots is None or not slots.keys() <= set(holding):
        held = selectors.open_assignments(tasker)
        for assignment in held:
            if assignment.public_id not in holding and _renew(assignment, policy, now):
                return assignment
        slots = {assignment.public_id: assignment.slot for assignment in held}
    if len(slots) >= policy.pictures_held:
        message = _("You hold %(count)s pictures already: answer one of them first.") % {"count": len(slots)}
        raise Conflict(message, "enough_held")
    slot = min({1, 2, 3} - set(slots.values()))
    offers = chain(claimable.panels, _further_offers(tasker, policy))
    claimed = _claim(tasker, slot, offers, policy, now, rng) or _resume_lapsed(tasker, slot, policy, now)
    return claimed or NothingLeft(selectors.held_by_others(tasker))


def _renew(assignment: Assignment, policy: Policy, now: datetime) -> bool:
    """Renew a lease; False when it was meanwhile answered or ended, in another browser or by the sweep."""
    expires_at = now + timedelta(seconds=policy.lease_seconds)
    held = Assignment.objects.filter(pk=assignment.pk, state=AssignmentState.LEASED)
    if held.update(expires_at=expires_at) != 1:
        return False
    assignment.expires_at = expires_at
    return True


def _claim(
    tasker: Tasker, slot: int, offers: Iterable[tuple[int, Image]], policy: Policy, now: datetime, rng: Random
) -> Assignment | None:
    """Lease the best of `offers` or, at random, gold instead (R6).

    Gold is dealt only in place of an available ordinary picture: otherwise taskers would recognize it, as it comes
    when nothing else is left. The assignment records the panel of that ordinary picture.
    """
    gold = rng.randrange(100) < policy.gold_percent
    for panel_id, image in offers:
        drawn = gold_for(tasker, image, policy.gold_most_uses, rng) if gold else None
        gold = False
        leased = _lease(tasker, panel_id, drawn.image, slot, policy, now, rng, drawn) if drawn else None
        leased = leased or _lease(tasker, panel_id, image, slot, policy, now, rng)
        if leased is not None:
            return leased
    return None


def _lease(
    tasker: Tasker,
    panel_id: int,
    image: Image,
    slot: int,
    policy: Policy,
    now: datetime,
    rng: Random,
    gold: GoldPicture | None = None,
) -> Assignment | None:
    """Lease a place of the panel, or gold in its stead; None when others took the last place first.

    The lease is inserted before its place is taken: the insert may wait for another request of the same tasker, and
    must not lock a panel meanwhile. IntegrityError when the tasker was paused, or linked or no longer, since they were
    read: they may not have this picture.
    """
    lease = {
        "panel_id": gold.panel_id if gold else panel_id,
        "image": image,
        "tasker": tasker,
        "known_id": gold.known_id if gold else None,
        "stands_for_id": panel_id if gold else None,
        "instructions": selectors.instructions_in_force(now).version,
        "lease_token": secrets.token_hex(16),
        "slot": slot,
        "tie_break": rng.choice(list(TieBreak)),
        "leased_at": now,
        "expires_at": now + timedelta(seconds=policy.lease_seconds),
    }
    if gold:
        use = {"known": gold.known_id, "most_uses": policy.gold_most_uses}
        leased, (taken,) = _lease_gold(lease, **use, person_as_read=tasker.person or 0)
    else:
        leased, (taken,) = _lease_place(lease, panel=panel_id, person_as_read=tasker.person or 0)
    if taken:
        return leased
    _forget_lease(assignment=leased.pk)
    return None


# For a lease inserted in this transaction, whose place another tasker took first.
_forget_lease = PreparedStatement(
    "forget_lease", "DELETE FROM labeling_assignment WHERE id = %s", [Parameter("assignment", BigIntegerField())]
).changed

_use_gold = PreparedUpdate(
    "use_gold",
    lambda: (
        KnownPicture.objects.filter(
            pk=Parameter("known", BigIntegerField()),
            uses__lt=Parameter("most_uses", IntegerField()),
            retired_at__isnull=True,
            held_at__isnull=True,
        ),
        {"uses": F("uses") + 1},
    ),
)

_take_place = PreparedUpdate(
    "take_place",
    lambda: (
        Panel.objects.filter(
            pk=Parameter("panel", BigIntegerField()), state=PanelState.OPEN, size__gt=F("answered") + F("leased")
        ),
        {"leased": F("leased") + 1},
    ),
)


class _HeldRow(RawSQL):
    """A value of a row that nobody changes until we commit: a lock that those who only read it share (R6)."""

    def as_postgresql(self, compiler: Any, connection: Any) -> tuple[str, Any]:
        return f"({self.sql} FOR SHARE)", self.params


# A pause or a link waits for the lease and finds it, or the lease waits and finds no tasker in the state and with the
# links that were read: the database refuses a lease without a person.
_PERSON = f"""
    SELECT COALESCE(person, id) FROM labeling_tasker
    WHERE id = %s AND state = '{TaskerState.QUALIFIED}' AND COALESCE(person, 0) = %s"""
_AS_READ = [Parameter(name, BigIntegerField()) for name in ("tasker_id", "person_as_read")]
_add_lease = PreparedInsert("add_lease", Assignment, person=_HeldRow(_PERSON, _AS_READ))
_lease_gold = PreparedTogether("lease_gold", _add_lease, _use_gold)
_lease_place = PreparedTogether("lease_place", _add_lease, _take_place)


def _further_offers(tasker: Tasker, policy: Policy) -> Iterator[tuple[int, Image]]:
    """Yield further panels for the tasker, best first. Each statement runs only when the earlier offers are taken.

    Panels that miss more answers than a new one has places come from an earlier policy. If a clock was set back, a
    panel may be before the position where a tasker's search begins; the last searches ignore that position.
    """
    yield from selectors.claimable_panels(tasker, range(policy.panel_size + 1, MAX_PANEL_SIZE + 1)).panels
    if tasker.passed:
        yield from selectors.claimable_panels(tasker, from_marks=False).panels


def _resume_lapsed(tasker: Tasker, slot: int, policy: Policy, now: datetime) -> Assignment | None:
    """Lease again a picture whose lease this tasker let lapse, when nothing new is left: maybe no other can fill it."""
    tasker = _held(tasker)
    lapsed = selectors.lapsed_with_room(tasker) if tasker.state == TaskerState.QUALIFIED else None
    return lapsed if lapsed is not None and _resume(lapsed, slot, policy, now) else None


def _held(tasker: Tasker) -> Tasker:
    """Lock and return the tasker as they are now, before a lapsed lease: no pause and no link comes between (R6)."""
    return Tasker.objects.select_for_update(no_key=True).get(pk=tasker.pk)


class _NoRoom(Exception):
    """The place of a lapsed lease is gone."""


def _resume(lapsed: Assignment, slot: int, policy: Policy, now: datetime) -> bool:
    """Lease a lapsed assignment again; False, with nothing changed, when its place is gone.

    The assignment's slot is taken before the panel's place, as for a new lease.
    """
    lapsed.expires_at = now + timedelta(seconds=policy.lease_seconds)
    lapsed.instructions = selectors.instructions_in_force(now).version
    leased = {"expires_at": lapsed.expires_at, "instructions": lapsed.instructions, "slot": slot, "ended_at": None}
    try:
        with transaction.atomic():
            _move(lapsed, AssignmentState.LEASED, **leased)
            if not _retake_place(lapsed):
                raise _NoRoom
    except _NoRoom:
        return False
    return True


def _retake_place(lapsed: Assignment) -> bool:
    """Take the picture's place again, if it is free. Gold has no place: the panel it stands for decides."""
    taken = lapsed.known_id is not None or _take_place(panel=lapsed.panel_id) == 1
    return taken and selectors.may_be_free(lapsed, to_resume=True)


def assignment_heartbeat(
    *, tasker: Tasker, assignment_id: UUID, lease_token: str, policy: Policy, now: datetime
) -> datetime:
    """Renew a lease and return when it now ends; a lapsed one is leased again while its place is free.

    Conflict (`place_taken`, `lease_ended`) says that the place is gone; a late answer is kept nevertheless (R8).
    """
    expires_at = now + timedelta(seconds=policy.lease_seconds)
    mine = Assignment.objects.filter(public_id=assignment_id, tasker=tasker, lease_token=lease_token)
    if mine.filter(state=AssignmentState.LEASED).update(expires_at=expires_at) == 1:
        return expires_at
    try:
        return _take_up_again(tasker, assignment_id, lease_token, policy, now)
    except IntegrityError:
        raise _place_taken_error() from None


@retry_on_deadlock
@transaction.atomic
def _take_up_again(tasker: Tasker, assignment_id: UUID, lease_token: str, policy: Policy, now: datetime) -> datetime:
    tasker = _held(tasker)
    # Locked without its panel, which is locked after the slot.
    assignment = own_assignment(tasker, assignment_id, lease_token, lock=selectors.lock_own_lease)
    if _renew(assignment, policy, now):
        return assignment.expires_at
    if assignment.state != AssignmentState.EXPIRED or tasker.state != TaskerState.QUALIFIED:
        raise Conflict(_("This picture is not at hand any more: ask for the next one."), "lease_ended")
    held = {each.slot for each in selectors.open_assignments(tasker)}
    free = sorted({1, 2, 3} - held)
    if not free or not _resume(assignment, free[0], policy, now):
        raise _place_taken_error()
    return assignment.expires_at


def _place_taken_error() -> Conflict:
    return Conflict(
        _(
            "The lease ran out, and this place is not yours now. Send your answer all the same: it is kept and "
            "published, also where it does not count."
        ),
        "place_taken",
    )


def own_assignment(
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


@retry_on_deadlock
@transaction.atomic
def assignment_release(
    *, tasker: Tasker, assignment_id: UUID, lease_token: str | None, problem: str, now: datetime
) -> None:
    """Release a picture; a `problem` reports it as broken to the organizers. Releasing twice changes nothing.

    The token is checked if it is sent; the owner of the assignment is always checked.
    """
    assignment = own_assignment(tasker, assignment_id, lease_token)
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


@retry_on_deadlock
@transaction.atomic
def leases_release(*, tasker: Tasker, now: datetime) -> int:
    """Release every lease of a tasker who is paused or has left, and return how many. Responses that they send while
    paused are kept and do not count, on gold as on any other picture."""
    rows = Assignment.objects.select_for_update(of=("self",), no_key=True)
    ended = list(rows.filter(tasker=tasker, state=AssignmentState.LEASED).order_by("pk"))
    for assignment in sorted(ended, key=lambda each: each.panel_id):
        _end_lease(assignment, AssignmentState.RELEASED, now)
    return len(ended)


def _move(assignment: Assignment, to: AssignmentState, **values: Any) -> None:
    """Change a locked assignment's state as its transition table allows, by a filtered UPDATE of exactly one row."""
    states = [state for state, following in NEXT_ASSIGNMENT_STATE.items() if to in following]
    changed = Assignment.objects.filter(pk=assignment.pk, state__in=states).update(state=to, **values)
    if changed != 1:
        raise ValueError(f"an assignment that is {assignment.state} cannot become {to}")


def leases_lapse(*, now: datetime) -> int:
    """End every lease that ran out, one short transaction each; its place is free again. Returns how many."""
    overdue = Assignment.objects.filter(state=AssignmentState.LEASED, expires_at__lte=now)
    ids = list(overdue.order_by("expires_at").values_list("pk", flat=True)[:LAPSED_AT_ONCE])
    return sum(_lapse(pk, now) for pk in ids)


@retry_on_deadlock
@transaction.atomic
def _lapse(pk: int, now: datetime) -> bool:
    rows = Assignment.objects.select_for_update(skip_locked=True, of=("self",), no_key=True)
    assignment = rows.filter(pk=pk, state=AssignmentState.LEASED, expires_at__lte=now).first()
    if assignment is None:
        return False
    _end_lease(assignment, AssignmentState.EXPIRED, now)
    return True
