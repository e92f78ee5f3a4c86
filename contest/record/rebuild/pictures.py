"""Rebuilds the pictures, panels, responses and rulings of a week."""

from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from adjudication.models import Ruling
from adjudication.verifier import cells
from adjudication.verifier import release_format as form
from adjudication.verifier.release_reader import Row
from contest.core.models import Attack, AttackTarget, Team
from contest.record.rebuild.contest_rows import ids_of, moment_in, number
from contest.record.rebuild.filling import CHUNK, FilledTables, in_chunks
from contest.record.rebuild.mirror_reader import MirroredRelease
from contest.record.rebuild.scoring import fill_breaks, fill_predictions
from labeling.enums import AssignmentState, TieBreak
from labeling.geometry import HUNDREDTHS_PER_PIXEL
from labeling.models import Assignment, Image, Panel, PanelPlace, Response, Tasker, VoidedResponse, Voiding
from picture_files.store import picture_key, picture_store

_BOX = ("box_xmin", "box_ymin", "box_xmax", "box_ymax")


def fill_week(part: MirroredRelease, known: FilledTables) -> None:
    """Fill everything of a week whose rows keep their numbers."""
    _fill_images(part, known)
    panels = _fill_panels(part, known)
    _fill_responses(part, known, panels)
    in_chunks(Ruling, (_ruling(row, known, panels) for row in part.rows(form.RULINGS)))
    _fill_attacks(part, known)
    fill_predictions(part, known)
    fill_breaks(part, known)


# Pictures, panels, answers -------------------------------------------------------------------------------------------


def _fill_images(part: MirroredRelease, known: FilledTables) -> None:
    dealt = {row["image_id"]: moment_in(row["dealt_at"]) for row in part.rows(form.PANELS) if row["panel"] == "1"}
    provenance = part.rows(form.PROVENANCE)  # in the same order, checked
    pairs = zip(part.rows(form.IMAGES), provenance, strict=True)
    in_chunks(Image, (_image(part, row, origin, dealt, known) for row, origin in pairs))


def _image(part: MirroredRelease, row: Row, came: Row, dealt: dict[str, Any], known: FilledTables) -> Image:
    sha = row["sha256_pixels"]
    picture_store().put(picture_key(sha), (part.folder / row["file"]).read_bytes())
    known.images[row["image_id"]] = int(came["number"])
    return Image(
        pk=int(came["number"]),
        public_id=row["image_id"],
        pixels_sha256=sha,
        original_sha256=came["original_sha256"],
        original_format=cells.text_from(came["original_format"]),
        width=int(row["width"]),
        height=int(row["height"]),
        origin=row["origin"],
        received_at=moment_in(row["received_at"]),
        label_from=moment_in(came["label_from"]),
        dealt_at=dealt.get(row["image_id"]),
        **{name: cells.text_from(came[name]) for name in ("source", "source_id", "licence", "author")},
    )


@dataclass
class _Seats:
    """A panel and its places. A voided answer keeps its place, which a later one replaces (R6)."""

    panel: Panel
    counted: list[int] = field(default_factory=list)
    voided: list[int] = field(default_factory=list)
    places: dict[int, PanelPlace] = field(default_factory=dict)


_Panels = dict[tuple[str, str], _Seats]


def _fill_panels(part: MirroredRelease, known: FilledTables) -> _Panels:
    panels = {(row["image_id"], row["panel"]): _Seats(_panel(row, known)) for row in part.rows(form.PANELS)}
    for row in part.rows(form.RESPONSES):
        seats = panels[row["image_id"], row["panel"]]
        if row["void_reason"]:
            seats.voided.append(int(row["response_id"]))
        elif row["counted"] == "true":
            seats.counted.append(int(row["response_id"]))
    for seats in panels.values():
        if seats.panel.joined:  # what came after others joined is published once it was ruled upon
            dealt = seats.panel.size - seats.panel.joined
            seats.panel.ruled_through = max(len(seats.voided) + len(seats.counted), dealt)
        seats.panel.answered = len(seats.counted)
        seats.panel.missing = seats.panel.size - len(seats.counted)
    in_chunks(Panel, (seats.panel for seats in panels.values()))
    for seats in panels.values():
        _seat(seats)
    return panels


def _panel(row: Row, known: FilledTables) -> Panel:
    full = cells.time_from(row["full_at"])
    dealt = moment_in(row["dealt_at"])
    return Panel(
        image_id=known.images[row["image_id"]],
        number=int(row["panel"]),
        size=int(row["size"]),
        state=row["state"],
        joined=int(row["joined"]),
        joined_at=cells.time_from(row["joined_at"]),
        dealt_at=dealt,
        waiting_since=full or dealt,
        full_at=full,
    )


def _seat(seats: _Seats) -> None:
    """Make the places: the n-th voided answer has the n-th place, which the n-th one beyond the size replaces."""
    size, voided = seats.panel.size, len(seats.voided)
    places: list[PanelPlace] = []
    for spot in range(1, size + voided + 1):
        replaces = places[spot - size - 1] if spot > size else None
        places.append(PanelPlace.objects.create(panel=seats.panel, number=spot, replaces=replaces))
    seats.places = dict(zip([*seats.voided, *seats.counted], places, strict=False))


def _fill_responses(part: MirroredRelease, known: FilledTables, panels: _Panels) -> None:
    rows = part.rows(form.RESPONSES)
    while chunk := list(islice(rows, CHUNK)):
        _fill_taskers(chunk, known)
        assignments = [_assignment(row, known, panels) for row in chunk]
        Assignment.objects.bulk_create(assignments)
        pairs = zip(chunk, assignments, strict=True)
        Response.objects.bulk_create(_response(row, given, panels) for row, given in pairs)
        _fill_voidings(chunk, known)


def _fill_taskers(rows: list[Row], known: FilledTables) -> None:
    first = {row["tasker_id"]: moment_in(row["submitted_at"]) for row in reversed(rows)}
    new = [
        Tasker(public_id=name, shuffle_seed=0, created_at=moment)
        for name, moment in first.items()
        if name not in known.taskers
    ]
    known.taskers |= {row.public_id: row.pk for row in Tasker.objects.bulk_create(new)}


def _assignment(row: Row, known: FilledTables, panels: _Panels) -> Assignment:
    tasker, moment = known.taskers[row["tasker_id"]], moment_in(row["submitted_at"])
    return Assignment(
        panel=panels[row["image_id"], row["panel"]].panel,
        image_id=known.images[row["image_id"]],
        tasker_id=tasker,
        person=tasker,
        state=AssignmentState.ANSWERED,
        slot=1,
        tie_break=TieBreak.LEFTMOST,
        leased_at=moment,
        expires_at=moment,
        ended_at=moment,
    )


def _response(row: Row, given: Assignment, panels: _Panels) -> Response:
    seats = panels[row["image_id"], row["panel"]]
    said = {name: cells.boolean_from(row[name]) for name in ("complete", "unoccluded", "real")}
    return Response(
        pk=int(row["response_id"]),
        assignment=given,
        image_id=given.image_id,
        panel=seats.panel,
        tasker_id=given.tasker_id,
        place=seats.places.get(int(row["response_id"])),
        contains_bird=row["contains_bird"],
        contains_bicycle=row["contains_bicycle"],
        outline=row["outline"],
        milliseconds=_scaled(row["seconds"], 1_000),
        submitted_at=given.leased_at,
        **{side: _scaled(row[side], HUNDREDTHS_PER_PIXEL) if row[side] else None for side in _BOX},
        **said,
    )


def _scaled(cell: str, parts: int) -> int:
    """Return a decimal with exactly as many digits as `parts` has zeros as a whole number of parts."""
    whole, _, rest = cell.partition(".")
    return int(whole) * parts + int(rest)


def _fill_voidings(rows: list[Row], known: FilledTables) -> None:
    """A voiding for each answer: which were voided together is not published."""
    for row in rows:
        if row["void_reason"]:
            reason, moment = cells.text_from(row["void_reason"]), moment_in(row["submitted_at"])
            by = Voiding.objects.create(tasker_id=known.taskers[row["tasker_id"]], reason=reason, voided_at=moment)
            VoidedResponse.objects.create(response_id=int(row["response_id"]), voiding=by)


def _ruling(row: Row, known: FilledTables, panels: _Panels) -> Ruling:
    panel = panels[row["image_id"], row["panel"]].panel
    part, _, whole = row["smallest_box_fraction"].partition("/")
    return Ruling(
        image_id=known.images[row["image_id"]],
        number=int(row["number"]),
        panel=panel,
        verdict=row["verdict"],
        label=row["label"],
        reasons=row["reasons"].split(";") if row["reasons"] else [],
        smallest_box_numerator=number(part),
        smallest_box_denominator=number(whole),
        policy_id=known.policies[int(row["policy_version"])],
        response_ids=[int(each) for each in row["response_ids"].split(";") if each],
        decided_at=moment_in(row["decided_at"]),
        decided_by=row["decided_by"],
        explanation=cells.text_from(row["explanation"]),
    )


# Attacks -------------------------------------------------------------------------------------------------------------


def _fill_attacks(part: MirroredRelease, known: FilledTables) -> None:
    teams = ids_of(Team)
    for row in part.rows(form.ATTACKS):
        made = _attack(row, known, teams)
        made.save(force_insert=True)
        known.attacks[row["attack_id"]] = made.pk
        aims = [name for name in row["targets"].split(";") if name in known.defenses]
        AttackTarget.objects.bulk_create(AttackTarget(attack=made, defense_id=known.defenses[name]) for name in aims)


def _attack(row: Row, known: FilledTables, teams: dict[str, int]) -> Attack:
    return Attack(
        pk=int(row["number"]),
        public_id=row["attack_id"],
        team_id=teams[row["team_id"]],
        image_id=known.images[row["image_id"]],
        received_at=moment_in(row["received_at"]),
        week=row["week"],
        of_quota=int(row["of_quota"]),
        copy_of_id=known.attacks.get(row["copy_of"]),
        policy_id=known.policies.get(number(row["policy_version"]) or 0),
    )


# Defenses ------------------------------------------------------------------------------------------------------------


# What has no number of its own: filled when every row that keeps its number is there ---------------------------------
