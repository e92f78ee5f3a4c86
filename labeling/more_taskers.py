"""Adds taskers to a ruled picture on the board's request (R19): they join its panel, or a fresh panel replaces it.

The picture is dealt before all others, and blindly: nothing that a tasker gets distinguishes it from another picture
(R8). The order of locks is at the head of `labeling/models/panels.py`.
"""

from collections import Counter
from datetime import datetime

from django.db import transaction
from django.db.models import Max

from common.database.deadlocks import retry_on_deadlock
from common.errors import Conflict, InvalidInput
from labeling.enums import PanelState, ReportDecision
from labeling.models import Assignment, Image, KnownPicture, Panel, PanelPlace, Report
from policy.numbers import MAX_PANEL_SIZE, MIN_PANEL_SIZE


@retry_on_deadlock
@transaction.atomic
def panel_join(panel: Panel, more: int, *, now: datetime) -> Panel:
    """Give a settled panel `more` further places; it is ruled upon again when all of them have responses (R19).

    InvalidInput for fewer than one. Conflict when the panel is not settled or not the newest of its picture
    (`not_settled`, `replaced`), when it would have too many places (`panel_too_large`), and when no tasker may get
    the picture (`known_already`, `kept_out`).
    """
    if more < 1:
        raise InvalidInput("Ask for at least one more tasker.", "invalid", field="more")
    newest = _lock_settled_panel(panel.image_id)
    if newest.pk != panel.pk:
        raise Conflict("A fresh panel replaced this one: more taskers can join that one alone.", "replaced")
    last = _last_place(newest)
    _check_room(last, more)
    _seat(newest, range(last + 1, last + more + 1))
    newest.size += more
    newest.missing += more
    newest.joined += more
    newest.ruled_through, newest.joined_at = last, now
    # Set to now: a tasker's position in the queue must never be past a panel that has room again.
    newest.waiting_since, newest.full_at = now, None
    newest.state, newest.urgent = _state_with_room(newest.image_id), True
    newest.save()
    return newest


@retry_on_deadlock
@transaction.atomic
def panel_fresh(image: Image, size: int, *, now: datetime) -> Panel:
    """Deal a fresh panel of `size` places that replaces the settled one, which stays on record (R19).

    InvalidInput for a size that no panel has. Conflict as for `panel_join`.
    """
    if not MIN_PANEL_SIZE <= size <= MAX_PANEL_SIZE:
        raise InvalidInput(f"A panel has {MIN_PANEL_SIZE} to {MAX_PANEL_SIZE} places.", "invalid", field="size")
    before = _lock_settled_panel(image.pk)
    panel = Panel.objects.create(
        image_id=image.pk,
        number=before.number + 1,
        size=size,
        missing=size,
        state=_state_with_room(image.pk),
        urgent=True,
        dealt_at=now,
        waiting_since=now,
    )
    _seat(panel, range(1, size + 1))
    return panel


def newest_panel_locked(image_id: int) -> Panel:
    """Lock the panels of a picture and return the newest. Adding taskers, a ruling of the board, and making the picture
    gold begin with this lock, so that they run one after another.

    Conflict (`no_panel`) while the picture has none.
    """
    rows = Panel.objects.filter(image=image_id)
    list(rows.select_for_update(of=("self",), no_key=True).order_by("pk").values_list("pk", flat=True))
    # Read again under the lock: a fresh panel may have been dealt while we waited for it.
    return newest_panel(image_id)


def newest_panel(image_id: int) -> Panel:
    """Return the newest panel of a picture, without a lock; Conflict (`no_panel`) while it has none."""
    newest = Panel.objects.filter(image=image_id).order_by("-number").first()
    if newest is None:
        raise Conflict("No tasker was asked about this picture yet: wait for its first ruling.", "no_panel")
    return newest


def is_kept_out(image_id: int) -> bool:
    """Say whether an organizer keeps the picture from all taskers after a report."""
    return Report.objects.filter(image=image_id, decision=ReportDecision.KEPT_OUT).exists()


def _lock_settled_panel(image_id: int) -> Panel:
    """Lock the picture's panels and return the newest, if more taskers may get the picture."""
    _name_persons(image_id)
    newest = newest_panel_locked(image_id)
    if newest.state != PanelState.SETTLED:
        words = "Taskers are still being asked about this picture: wait for the ruling that follows from them."
        raise Conflict(words, "not_settled")
    if KnownPicture.objects.filter(image=image_id).exists():
        words = "This picture is or was gold, whose answers taskers may know: decide without further taskers."
        raise Conflict(words, "known_already")
    if is_kept_out(image_id):
        words = "An organizer keeps this picture out after a report: decide without further taskers."
        raise Conflict(words, "kept_out")
    return newest


def _name_persons(image_id: int) -> None:
    """Update the person of earlier assignments, so that the database refuses taskers linked with them since (R6, R8).
    Where two assignments now belong to one person, both stay as they were."""
    asked = Assignment.objects.filter(image=image_id, known__isnull=True).select_related("tasker").order_by("pk")
    rows = list(asked.select_for_update(of=("self",), no_key=True))
    persons = Counter(row.tasker.person or row.tasker_id for row in rows)
    taken = {row.person for row in rows}
    for row in rows:
        person = row.tasker.person or row.tasker_id
        if persons[person] == 1 and person not in taken:
            Assignment.objects.filter(pk=row.pk).update(person=person)


def room_in(panel: Panel) -> int:
    """Return how many more taskers may join a panel."""
    return MAX_PANEL_SIZE - _last_place(panel)


def _last_place(panel: Panel) -> int:
    return int(panel.places.aggregate(last=Max("number"))["last"])


def _check_room(places: int, more: int) -> None:
    """Places of voided answers count too: they are numbered, and stay on record (R6)."""
    room = MAX_PANEL_SIZE - places
    if more <= room:
        return
    held = f"A panel has at most {MAX_PANEL_SIZE} places, those of voided answers with them, and this one has {places}"
    what = f"ask for {room} more at most" if room > 0 else "decide without further taskers"
    raise Conflict(f"{held}: {what}.", "panel_too_large")


def _seat(panel: Panel, numbers: range) -> None:
    PanelPlace.objects.bulk_create(PanelPlace(panel=panel, number=number) for number in numbers)


def _state_with_room(image_id: int) -> PanelState:
    """Return HELD while a report waits for an organizer, who then opens the panel; otherwise OPEN."""
    undecided = Report.objects.filter(image=image_id, decided_at__isnull=True).exists()
    return PanelState.HELD if undecided else PanelState.OPEN
