"""Links between taskers who may be one person or copy; linked taskers never share a panel (R6, R7).

Links make groups: all taskers joined by links, directly or not, are the same `person`, the smallest primary key of the
group. A change of a link locks the taskers of every group it touches, in the order of their primary keys.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any, TypeVar

from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import IntegrityError, transaction
from django.db.models import Case, Exists, F, OuterRef, Q, QuerySet, Value, When

from common.audit.trail import audit
from common.errors import Conflict, InvalidInput
from labeling.enums import AssignmentState, LinkKind, PanelState
from labeling.models import Assignment, Panel, Response, Tasker
from labeling.voiding import UNSETTLED
from monitoring.copying import ALIKE_PX, ComparedAnswer, CopyingSearch, Corner, Pair, PairEvidence
from monitoring.models import TaskerLink

LOOK_BACK = timedelta(days=30)
LOOK_EVERY = timedelta(days=1)
_LAST_LOOK = "copies-last-look"
# At most so many of the newest answers to one picture (gold has many): pairs grow with the square.
MAX_COMPARED = 60
TRIES = 5
Done = TypeVar("Done")


def find_copies(*, now: datetime) -> int:
    """Look at the answers of the last LOOK_BACK for pairs that copy, and link each (R6). Returns how many new links.

    Looking twice links nobody twice. After an organizer ended a link, only newer pictures count against the pair.
    """
    look = CopyingSearch()
    apart = _apart()
    for answers in _pictures(now - LOOK_BACK, now):
        look.add(answers, _apart_here(answers, apart))
    suspected = {pair: found for pair, found in look.figures().items() if found.suspected}
    return sum(_suspect(pair, found, now) for pair, found in sorted(suspected.items()))


def find_copies_periodically(*, now: datetime) -> int:
    """Look for copies when this process has not for LOOK_EVERY: for sweeps that come oftener. Forgetting when that was
    costs a look, never an event."""
    last: datetime | None = cache.get(_LAST_LOOK)
    if last is not None and last <= now < last + LOOK_EVERY:
        return 0
    linked = find_copies(now=now)
    cache.set(_LAST_LOOK, now, LOOK_EVERY.total_seconds())
    return linked


def _suspect(pair: Pair, figures: PairEvidence, now: datetime) -> bool:
    first, second = (Tasker.objects.get(pk=pk) for pk in pair)
    try:
        _link(first, second, LinkKind.SUSPECTED, suspicion(figures), figures.to_json(), None, now)
    except Conflict:
        return False  # another look, or an organizer, was faster
    return True


def suspicion(figures: PairEvidence) -> str:
    """Return in words, for organizers, what makes a pair stand out."""
    words = [f"{figures.shared} pictures were answered by both."]
    if figures.outlines:
        words.append(
            f"{figures.alike} of {figures.outlines} outlines are alike within {ALIKE_PX} px "
            f"(chance for two people on their own: at most {figures.outlines_chance:.1g})."
        )
    if figures.splits:
        words.append(
            f"In {figures.sided} of {figures.splits} disagreements both gave the same answer against the others "
            f"(at most {figures.sides_chance:.1g})."
        )
    words.append(
        f"{figures.lags_near} times one answered {abs(figures.usual_lag_seconds):.0f} s after the other, "
        "give or take half a minute."
    )
    return " ".join(words)


def _apart() -> dict[Pair, datetime]:
    """Return until when pictures do not count against a pair: for ever while linked, else until the last link ended."""
    forever = datetime.max.replace(tzinfo=UTC)
    links = TaskerLink.objects.order_by("ended_at").values_list("first_id", "second_id", "ended_at")
    apart: dict[Pair, datetime] = {}
    for first, second, ended_at in links:
        until = ended_at or forever
        apart[first, second] = max(until, apart.get((first, second), until))
    return apart


def _apart_here(answers: Iterable[ComparedAnswer], apart: dict[Pair, datetime]) -> list[Pair]:
    if not apart:
        return []
    sent = {seen.tasker: seen.at for seen in answers}
    return [
        (first, second)
        for (first, second), until in apart.items()
        if first in sent and second in sent and max(sent[first], sent[second]) <= until.timestamp()
    ]


_SAID = ("contains_bird", "contains_bicycle", "complete", "unoccluded", "real")
_COLUMNS = ("image_id", "tasker_id", "outline", "milliseconds", "submitted_at", "image__width", "image__height")


def _pictures(since: datetime, now: datetime) -> Iterator[list[ComparedAnswer]]:
    """Yield the answers to each picture that two or more answered, newest first."""
    rows = (
        Response.objects.filter(submitted_at__gt=since, submitted_at__lte=now)
        .order_by("image_id", "-submitted_at")
        .values(*_COLUMNS, *_SAID)
        .iterator()
    )
    for _, group in groupby(rows, key=lambda row: row["image_id"]):
        answers = [row for row, _ in zip(group, range(MAX_COMPARED), strict=False)]
        if len(answers) > 1:
            yield [_compared_answer(row) for row in answers]


def _compared_answer(row: dict[str, Any]) -> ComparedAnswer:
    return ComparedAnswer(
        tasker=row["tasker_id"],
        said=tuple(row[name] for name in _SAID),
        corners=corners_off_frame(row["outline"], row["image__width"], row["image__height"]),
        seconds=row["milliseconds"] / 1000,
        at=row["submitted_at"].timestamp(),
    )


def corners_off_frame(outline: str, width: int, height: int) -> list[Corner]:
    """Return the corners in pixels of an outline in canonical JSON, without those on the picture's frame: there
    everybody's corners are the same."""
    rings = json.loads(outline) if outline else []
    return [(x, y) for ring in rings for x, y in ring if 0 < x < width and 0 < y < height]


def link_declare(*, first: Tasker, second: Tasker, reason: str, by: User, now: datetime) -> TaskerLink:
    """Link two taskers on an organizer's word (R6). InvalidInput without a reason or for one tasker twice; Conflict
    (`linked_already`) while they are linked."""
    if first.pk == second.pk:
        raise InvalidInput("Choose two different taskers.", "same_tasker", field="second")
    return _link(first, second, LinkKind.DECLARED, _reason(reason), {}, by, now)


def end_tasker_link(*, link: TaskerLink, reason: str, by: User, now: datetime) -> TaskerLink:
    """End a link: from now on the two may be on one panel, unless other links join them. InvalidInput without a
    reason; Conflict (`link_ended`) when it was ended before."""
    because = _reason(reason)

    def end(members: Collection[int]) -> TaskerLink:
        open_link = TaskerLink.objects.filter(pk=link.pk, ended_at__isnull=True)
        if open_link.update(ended_at=now, ended_by=by, ended_because=because) != 1:
            raise Conflict("This link was ended before: reload the page.", "link_ended")
        _name_persons(members)
        audit("link.end", by=by, subject=_audit_subject(link), why=because, now=now)
        return TaskerLink.objects.get(pk=link.pk)

    return _with_group((link.first_id, link.second_id), end)


def panels_shared(link: TaskerLink) -> QuerySet[Panel]:
    """Return the panels both of a link were asked about before they were linked, those without a ruling first.

    Nothing happens to them automatically: an organizer may void answers while there is no ruling, and the board may
    review the others.
    """

    def asked(tasker_id: int) -> Exists:
        answered_or_held = Q(state__in=(AssignmentState.LEASED, AssignmentState.ANSWERED), known__isnull=True)
        return Exists(Assignment.objects.filter(answered_or_held, panel=OuterRef("pk"), tasker_id=tasker_id))

    settled_last = Case(When(state=PanelState.SETTLED, then=Value(1)), default=Value(0))
    both = Panel.objects.filter(asked(link.first_id), asked(link.second_id))
    return both.select_related("image").order_by(settled_last, "pk")


def _reason(reason: str) -> str:
    if not reason.strip():
        raise InvalidInput("Give the reason: it stays on the record.", "reason_missing", field="reason")
    return reason.strip()


def _link(
    one: Tasker, other: Tasker, kind: LinkKind, reason: str, figures: dict[str, Any], by: User | None, now: datetime
) -> TaskerLink:
    first, second = sorted((one.pk, other.pk))

    def make(members: Collection[int]) -> TaskerLink:
        if TaskerLink.objects.filter(first_id=first, second_id=second, ended_at__isnull=True).exists():
            raise Conflict("These two are linked already.", "linked_already")
        link = TaskerLink.objects.create(
            first_id=first, second_id=second, kind=kind, reason=reason, figures=figures, linked_at=now, linked_by=by
        )
        _name_persons(members)
        audit("link.make", by=by, subject=_audit_subject(link), why=reason, now=now, private={"kind": str(kind)})
        return link

    return _with_group((first, second), make)


def _audit_subject(link: TaskerLink) -> dict[str, list[str | int]]:
    return {"link": [link.pk], "tasker": [link.first.public_id, link.second.public_id]}


def _with_group(pair: Pair, change: Callable[[Collection[int]], Done]) -> Done:
    """Run `change` with locks on everybody linked to one of the pair.

    A tasker who joined a group while we waited for the locks has to be locked as well, in the right order; and one of
    them may have got a place on another's panel meanwhile. Then we release the locks and begin again.
    """
    for _ in range(TRIES):
        with suppress(IntegrityError), transaction.atomic():
            members = _group(pair)
            _lock(members)
            if _group(pair) == members:
                return change(members)
    raise Conflict("Other links of these taskers are being changed: try again in a moment.", "links_busy")


def _lock(members: Collection[int]) -> None:
    # `no_key`: inserting an answer refers to the tasker, and must not wait for us nor we for it.
    list(Tasker.objects.select_for_update(no_key=True).filter(pk__in=members).order_by("pk").values_list("pk"))


def _open_links(of: Collection[int]) -> list[Pair]:
    links = TaskerLink.objects.filter(Q(first_id__in=of) | Q(second_id__in=of), ended_at__isnull=True)
    return list(links.values_list("first_id", "second_id"))


def _group(start: Iterable[int]) -> set[int]:
    """Return `start` and everybody joined to them by open links."""
    members = set(start)
    while True:
        joined = members.union(*_open_links(members))
        if joined == members:
            return members
        members = joined


def _name_persons(members: Collection[int]) -> None:
    """Update the person of all `members`, by the groups that the present links make."""
    left = set(members)
    while left:
        group = _group({min(left)})
        left -= group
        person = min(group) if len(group) > 1 else None
        Tasker.objects.filter(pk__in=group).update(person=person)
        _name_on_panels(group)


def _name_on_panels(group: Collection[int]) -> None:
    """Update the person in assignments of pictures that wait for answers, so that the database refuses a second
    assignment to the person (R7), on any panel of the picture (R8).

    Where two of the group have assignments, both stay as they were: see `panels_shared`.
    """
    waiting = Exists(Panel.objects.filter(image=OuterRef("image"), state__in=UNSETTLED))
    asked = Assignment.objects.filter(waiting, tasker_id__in=group, known__isnull=True)
    other = Assignment.objects.filter(
        ~Q(tasker=OuterRef("tasker")), image=OuterRef("image"), tasker_id__in=group, known__isnull=True
    )
    alone = asked.filter(~Exists(other)).select_for_update(of=("self",), no_key=True).order_by("pk")
    ids = list(alone.values_list("pk", flat=True))
    Assignment.objects.filter(pk__in=ids).update(person=min(group) if len(group) > 1 else F("tasker_id"))
