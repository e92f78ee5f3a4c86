"""Queries for panels, assignments and images."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from hashlib import blake2b
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection, models
from django.db.models import Q, QuerySet

from common.database.lookups import Parameter, PreparedLookup, PreparedStatement
from common.versions import Versions
from labeling.enums import AssignmentState, PanelState, TaskerState
from labeling.models import Assignment, Image, InstructionVersion, Panel, Report, Tasker
from policy.numbers import MAX_PANEL_SIZE
from policy.selectors import policy_versions

# How many panels a claim reads. The oldest are dealt first; within this many, each tasker has an own order (R8).
WINDOW = 16


@dataclass(frozen=True, slots=True)
class InstructionsInForce:
    """A version of the instructions, and the newest version up to it that asks for a short qualification (R5)."""

    version: int
    qualified_since: int


def _read_instructions() -> list[tuple[datetime, InstructionsInForce]]:
    found: list[tuple[datetime, InstructionsInForce]] = []
    requalify = 1
    for row in InstructionVersion.objects.order_by("version"):
        requalify = row.version if row.requalify else requalify
        found.append((row.in_force_from, InstructionsInForce(row.version, requalify)))
    return found[::-1]


_instructions = Versions(_read_instructions)


def instructions_in_force(now: datetime) -> InstructionsInForce:
    """Return the newest version of the instructions in force at `now` (R5)."""
    return _instructions.at(now)


def forget_versions() -> None:
    """Clear the caches of policies and instructions after a new version was recorded in this process."""
    policy_versions.forget()
    _instructions.forget()


def open_assignments(tasker: Tasker) -> list[Assignment]:
    """Return what the tasker holds, longest held first."""
    return _open_assignments(tasker=tasker.pk)


# The columns that labeling reads of a lease and related rows: each further column costs a microsecond per label.
_LEASE = tuple(field.name for field in Assignment._meta.concrete_fields)
PICTURE = ("id", "pixels_sha256", "width", "height")
_PANEL = ("image", "size", "answered", "leased", "missing", "state", "dealt_at", "waiting_since", "full_at")
_KNOWN = ("accepts_bird", "accepts_bicycle", "outline", "min_iou_percent", "complete", "unoccluded", "real", "held_at")
_TASKER = Parameter("tasker", models.BigIntegerField())
_PERSON = Parameter("person", models.BigIntegerField())
_open_assignments = PreparedLookup(
    "open_assignments",
    lambda: (
        Assignment.objects.filter(tasker_id=_TASKER, state=AssignmentState.LEASED)
        .select_related("image")
        .only(*_LEASE, *(f"image__{name}" for name in PICTURE))
        .order_by("leased_at", "id")
    ),
)


def lock_own_assignment(tasker: Tasker, assignment_id: UUID) -> Assignment | None:
    """Lock and return the tasker's own assignment with its panel, the image beside it; None for anybody else's."""
    found = _own_assignment(tasker=tasker.pk, public_id=assignment_id)
    return found[0] if found else None


_own_assignment = PreparedLookup(
    "own_assignment",
    lambda: (
        Assignment.objects.select_for_update(of=("self", "panel"), no_key=True)
        .select_related("panel", "image", "stands_for", "known")
        .only(
            *_LEASE,
            *(f"image__{name}" for name in PICTURE),
            *(f"panel__{name}" for name in _PANEL),
            *(f"stands_for__{name}" for name in ("state", "dealt_at", "image")),
            *(f"known__{name}" for name in _KNOWN),
        )
        # The sum prevents use of the index on taskers, which would read all their assignments (docs/decisions/0005).
        .alias(its_tasker=models.F("tasker_id") + 0)
        .filter(public_id=Parameter("public_id", models.UUIDField()), its_tasker=_TASKER)
    ),
)


def lock_own_lease(tasker: Tasker, assignment_id: UUID) -> Assignment | None:
    """Lock and return the tasker's own assignment, its panel left alone; None for anybody else's."""
    rows = Assignment.objects.select_for_update(of=("self",), no_key=True)
    return rows.filter(public_id=assignment_id, tasker=tasker).first()


def new_to_tasker(picture: str) -> str:
    """Return the SQL condition that the tasker has no assignment of `picture`, a column (R8).

    A lookup by tasker and picture, row by row. Without OFFSET, PostgreSQL turns it into a join of all gold with all
    assignments of the tasker or, while the table's statistics are old, of each picture with all of these.
    """
    of_picture = f"a.tasker_id = %s AND a.image_id = {picture}"
    return f"NOT EXISTS (SELECT 1 FROM labeling_assignment a WHERE {of_picture} LIMIT 1 OFFSET 0)"


# No linked tasker has an assignment of the picture: on this panel, as linked taskers never share a panel (R6), or on an
# earlier one, as no person gets a picture twice (R8).
_NO_LINKED = """
          AND NOT EXISTS (SELECT 1 FROM labeling_assignment b JOIN labeling_tasker t ON t.id = b.tasker_id
                          WHERE b.image_id = p.image_id AND b.known_id IS NULL AND t.person = %s LIMIT 1 OFFSET 0)"""


def _part(name: str, missing: str, condition: str, linked: bool) -> str:
    return f"""
      SELECT * FROM (
        SELECT p.id, {missing} AS missing, p.image_id, i.pixels_sha256, i.width, i.height
        FROM labeling_panel p JOIN labeling_image i ON i.id = p.image_id
        WHERE p.state = '{PanelState.OPEN}' AND {condition}
          AND p.answered + p.leased < p.size
          AND {new_to_tasker("p.image_id")}
          {_NO_LINKED if linked else ""}
        ORDER BY p.waiting_since, p.id LIMIT {WINDOW}
      ) AS {name}"""


def _urgent(linked: bool) -> str:
    # Panels that the board waits for (R19), whatever their missing answers and the tasker's position. Their index is
    # empty at nearly every claim.
    return _part("urgent", str(_BEFORE_ALL_LEVELS), "p.urgent", linked)


def _level(missing: int, linked: bool) -> str:
    # One level of the queue: panels that miss this many answers, from the tasker's position on.
    return _part(f"missing_{missing}", "p.missing", f"p.missing = {missing} AND p.waiting_since >= %s", linked)


@cache
def _candidates(levels: range, linked: bool) -> PreparedStatement:
    first = levels[0] == ALL_LEVELS[0]
    parts = [_urgent(linked)] * first + [_level(missing, linked) for missing in levels]
    who = [_TASKER, *([_PERSON] if linked else [])]
    name = f"candidates_{levels[0]}_{levels[-1]}" + ("_linked" if linked else "")
    join_text = "string_agg" if connection.vendor == "postgresql" else "group_concat"
    sql = f"""
      SELECT *, (SELECT {join_text}(slot || ':' || public_id, ',') FROM labeling_assignment
                 WHERE tasker_id = %s AND state = '{AssignmentState.LEASED}')
      FROM ({" UNION ALL ".join(parts)} LIMIT {WINDOW}) AS candidates"""
    return PreparedStatement(name, sql, [_TASKER, *who * first, *_level_parameters(levels, who)])


ALL_LEVELS = range(1, MAX_PANEL_SIZE + 1)
_BEFORE_ALL_LEVELS = 0
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


def _level_parameters(levels: range, who: Sequence[Parameter]) -> list[Parameter]:
    since = [Parameter(f"since_{missing}", models.DateTimeField()) for missing in levels]
    return [parameter for each in since for parameter in (each, *who)]


def _level_values(tasker: Tasker, levels: range, passed: Mapping[str, str]) -> dict[str, Any]:
    marks = {missing: passed.get(str(missing)) for missing in levels}
    since = {f"since_{missing}": datetime.fromisoformat(mark) if mark else _LONG_AGO for missing, mark in marks.items()}
    return {"tasker": tasker.pk, **since}


class Claimable(NamedTuple):
    """The pictures available to a tasker, and those they hold: slots by assignment id; None where nothing was found."""

    panels: Iterator[tuple[int, Image]]
    held: dict[UUID, int] | None


def claimable_panels(tasker: Tasker, levels: range = ALL_LEVELS, *, from_marks: bool = True) -> Claimable:
    """Return (panel id, image) of open panels with a free place and not seen by this tasker, best first.

    What the board waits for first (R19), then fewest missing answers, then oldest; within a block of WINDOW panels each
    tasker has an order of their own (R8). Blocks do not slide, so no picture is postponed for ever.
    One statement that reads a bounded part of the queue's index: a level ends after WINDOW rows and later levels
    are read only when earlier ones are short. `tasker.passed` is where each level's scan begins; otherwise a tasker
    10,000 pictures ahead of the others would read past all of those at every claim. `levels` are the numbers of missing
    answers to look at; each is a part of the statement. Without `from_marks` the scan begins at the oldest panel.
    """
    if not levels:
        return Claimable(iter(()), None)
    values = _level_values(tasker, levels, tasker.passed if from_marks else {})
    rows = _candidates(levels, tasker.person is not None).rows(**values, person=tasker.person)
    shuffled = sorted(
        (missing, panel // WINDOW, _rank(tasker.shuffle_seed, panel), panel, picture)
        for panel, missing, *picture, _ in rows
    )
    panels = ((panel, Image.from_db(connection.alias, PICTURE, picture)) for *_, panel, picture in shuffled)
    return Claimable(panels, _slots(rows[0][-1]) if rows else None)


def _slots(held: str | None) -> dict[UUID, int]:
    pairs = (each.split(":") for each in held.split(",")) if held else ()
    return {UUID(assignment): int(slot) for slot, assignment in pairs}


def panels_open_to(tasker: Tasker) -> QuerySet[Panel]:
    """Return every panel that `claimable_panels` may offer to this tasker, however long the queue is. For the demo."""
    room = Panel.objects.filter(state=PanelState.OPEN, size__gt=models.F("answered") + models.F("leased"))
    of_picture = Assignment.objects.filter(image=models.OuterRef("image"))
    found = room.exclude(models.Exists(of_picture.filter(tasker=tasker)))
    if tasker.person is not None:
        found = found.exclude(models.Exists(of_picture.filter(known__isnull=True, tasker__person=tasker.person)))
    return found.select_related("image").order_by("missing", "waiting_since", "pk")


def _rank(seed: int, panel: int) -> bytes:
    """Return a panel's rank in a tasker's own order. Not a CRC: the CRCs of two seeds differ by the same bits for every
    panel, so that two taskers' orders could be the same."""
    return blake2b(b"%d:%d" % (seed, panel), digest_size=8).digest()


def _first_not_passed(missing: int) -> str:
    return f"""
      SELECT * FROM (
        SELECT {missing} AS missing, p.waiting_since FROM labeling_panel p
        WHERE p.state = '{PanelState.OPEN}' AND p.missing = {missing} AND p.waiting_since >= %s
          AND {new_to_tasker("p.image_id")}
        ORDER BY p.waiting_since LIMIT 1
      ) AS missing_{missing}"""


_not_passed = PreparedStatement(
    "not_passed",
    " UNION ALL ".join(_first_not_passed(missing) for missing in ALL_LEVELS),
    _level_parameters(ALL_LEVELS, [_TASKER]),
)


def first_not_passed(tasker: Tasker) -> dict[int, datetime]:
    """Return, for each number of missing answers, since when the oldest panel new to this tasker waits.

    Panels without a free place count as well: a lease may end, and a position must never be past such a panel.
    """
    rows = _not_passed.rows(**_level_values(tasker, ALL_LEVELS, tasker.passed))
    return {missing: _moment(since) for missing, since in rows}


def _moment(value: datetime) -> datetime:
    # SQLite returns times without a zone; they are stored in UTC.
    return value if value.tzinfo else value.replace(tzinfo=UTC)


def lapsed_with_room(tasker: Tasker) -> Assignment | None:
    """Lock and return an assignment that the tasker held and did not answer, whose panel still has a free place."""
    has_room = Q(known__isnull=True, panel__state=PanelState.OPEN) & Q(
        panel__size__gt=models.F("panel__answered") + models.F("panel__leased")
    )
    lapsed = Assignment.objects.select_for_update(skip_locked=True, of=("self",), no_key=True).filter(
        has_room | (_gold_seems_free() & ~_held_by_report()),
        tasker=tasker,
        state__in=(AssignmentState.EXPIRED, AssignmentState.RELEASED),
        problem="",
    )
    if tasker.person is not None:
        lapsed = lapsed.exclude(_linked_had_it())
    return lapsed.select_related("image", "panel", "stands_for").order_by("leased_at", "id").first()


def _linked_had_it(*how: Q) -> Q:
    """Say whether a linked tasker has an assignment of the picture, on any of its panels (see _NO_LINKED)."""
    linked = Assignment.objects.filter(*how, known__isnull=True, tasker__person=models.OuterRef("tasker__person"))
    linked = linked.exclude(tasker=models.OuterRef("tasker"))
    had = models.Exists(linked.filter(image=models.OuterRef("image")))
    # Gold is available as long as the picture in whose place it was dealt, whoever labeled the gold itself before.
    had_instead = models.Exists(linked.filter(image=models.OuterRef("stands_for__image")))
    return Q(had, known__isnull=True) | Q(had_instead, known__isnull=False)


def _held_by_report() -> Q:
    """Say whether a report holds the gold picture, or the one in whose place it was dealt: leases are not resumed, and
    late answers still count. Another hold of gold, as after a leak, leaves leases alone, as no ordinary picture has it.
    """
    reported = Report.objects.filter(image=models.OuterRef("image"), decided_at__isnull=True)
    of_gold = Q(models.Exists(reported), known__held_at__isnull=False)
    return Q(stands_for__state=PanelState.HELD) | of_gold


_ON_PANEL = Q(state=AssignmentState.LEASED) | Q(response__place__isnull=False)


def may_be_free(assignment: Assignment, *, to_resume: bool = False) -> bool:
    """Say whether the tasker, whose lease ended, may have a free place of the panel: they are neither paused nor linked
    with one who is on it (R6). While the panel is locked, no linked tasker comes onto it.

    Gold has no place: for it, whether the picture that it stands in for would have one, had it been dealt instead.
    With `to_resume` for resuming a lease, otherwise for a late answer.
    """
    free = Q(tasker__state=TaskerState.QUALIFIED) & ~_linked_had_it(_ON_PANEL)
    if assignment.known_id is not None:
        free &= _gold_seems_free() & ~_held_by_report() if to_resume else _gold_seems_free()
    return Assignment.objects.filter(free, pk=assignment.pk).exists()


def _gold_seems_free() -> Q:
    """Say whether the picture has a place for the tasker. A place that they took on it later counts as free."""
    taken = models.F("stands_for__answered") + models.F("stands_for__leased")
    own = Assignment.objects.filter(
        panel=models.OuterRef("stands_for"),
        tasker=models.OuterRef("tasker"),
        known__isnull=True,
        state__in=(AssignmentState.LEASED, AssignmentState.ANSWERED),
    )
    has_room = Q(stands_for__size__gt=taken) | Q(models.Exists(own), stands_for__size__gte=taken)
    return Q(has_room, known__retired_at__isnull=True, stands_for__isnull=False)


@dataclass(frozen=True, slots=True)
class HeldByOthers:
    """How many pictures new to a tasker others hold, and when the last of their leases ends unless it is renewed."""

    pictures: int
    until: datetime


def held_by_others(tasker: Tasker) -> HeldByOthers | None:
    """Return the pictures new to this tasker that others hold now, so that waiting may help; None without any."""
    mine = Assignment.objects.filter(tasker=tasker, image=models.OuterRef("image"))
    held = Assignment.objects.filter(~Q(tasker=tasker), state=AssignmentState.LEASED, known__isnull=True)
    found = held.filter(~models.Exists(mine)).aggregate(
        pictures=models.Count("image", distinct=True), until=models.Max("expires_at")
    )
    return HeldByOthers(**found) if found["pictures"] else None


def panels_of(image: Image) -> QuerySet[Panel]:
    """Return the panels of a picture, the first one first."""
    return Panel.objects.filter(image=image).order_by("number")


def images_waiting_for_panel(now: datetime, limit: int) -> list[Image]:
    """Return at most `limit` pictures that are due to be labeled and have no panel yet, oldest first."""
    waiting = Image.objects.filter(dealt_at__isnull=True, label_from__lte=now)
    return list(waiting.order_by("label_from", "id")[:limit])


def images_by_number(numbers: Iterable[int]) -> dict[int, Image]:
    """Return number -> picture of those with these numbers."""
    return Image.objects.in_bulk(numbers)


def images_by_public_id(public_ids: Iterable[str]) -> dict[str, Image]:
    """Return public ID -> picture of those with these IDs."""
    return Image.objects.in_bulk(public_ids, field_name="public_id")
