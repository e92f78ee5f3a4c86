"""Rebuilds the pictures, panels, responses and rulings of a week from its release."""

from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from adjudication.models import Ruling
from adjudication.schema import release_format as form
from contest.core.models import Attack, AttackTarget, Team
from contest.record.rebuild.contest_rows import ids_of
from contest.record.rebuild.filling import CHUNK, FilledTables, in_chunks
from contest.record.rebuild.mirror_reader import MirroredRelease, Values
from contest.record.rebuild.scoring import fill_breaks, fill_predictions
from labeling.enums import AssignmentState, TieBreak
from labeling.models import Assignment, Image, Panel, PanelPlace, Response, Tasker, VoidedResponse, Voiding
from picture_files.store import picture_key, picture_store

# The columns of a response that are called as its fields are.
_RESPONSE = (
    *("contains_bird", "contains_bicycle", "outline", "box_xmin", "box_ymin", "box_xmax", "box_ymax"),
    *("complete", "unoccluded", "real", "submitted_at"),
)


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
    dealt = {row["image_id"]: row["dealt_at"] for row in part.rows(form.PANELS) if row["panel"] == 1}
    provenance = part.rows(form.PROVENANCE)  # in the same order, checked
    pairs = zip(part.rows(form.IMAGES), provenance, strict=True)
    in_chunks(Image, (_image(part, row, origin, dealt, known) for row, origin in pairs))


def _image(part: MirroredRelease, row: Values, came: Values, dealt: dict[str, Any], known: FilledTables) -> Image:
    sha = row["sha256_pixels"]
    picture_store().put(picture_key(sha), (part.folder / row["file"]).read_bytes())
    known.images[row["image_id"]] = came["number"]
    return Image(
        pk=came["number"],
        public_id=row["image_id"],
        pixels_sha256=sha,
        dealt_at=dealt.get(row["image_id"]),
        **row.of("width", "height", "origin", "received_at"),
        **came.of("original_sha256", "original_format", "label_from", "source", "source_id", "licence", "author"),
    )


@dataclass
class _Seats:
    """A panel and its places. A voided answer keeps its place, which a later one replaces (R6)."""

    panel: Panel
    counted: list[int] = field(default_factory=list)
    voided: list[int] = field(default_factory=list)
    places: dict[int, PanelPlace] = field(default_factory=dict)


_Panels = dict[tuple[str, int], _Seats]


def _fill_panels(part: MirroredRelease, known: FilledTables) -> _Panels:
    panels = {(row["image_id"], row["panel"]): _Seats(_panel(row, known)) for row in part.rows(form.PANELS)}
    for row in part.rows(form.RESPONSES):
        seats = panels[row["image_id"], row["panel"]]
        if row["void_reason"]:
            seats.voided.append(row["response_id"])
        elif row["counted"]:
            seats.counted.append(row["response_id"])
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


def _panel(row: Values, known: FilledTables) -> Panel:
    return Panel(
        image_id=known.images[row["image_id"]],
        number=row["panel"],
        waiting_since=row["full_at"] or row["dealt_at"],
        **row.of("size", "state", "joined", "joined_at", "dealt_at", "full_at"),
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
        Response.objects.bulk_create(
            Response(
                pk=row["response_id"],
                assignment=given,
                image_id=given.image_id,
                panel=given.panel,
                tasker_id=given.tasker_id,
                place=panels[row["image_id"], row["panel"]].places.get(row["response_id"]),
                milliseconds=row["seconds"],
                **row.of(*_RESPONSE),
            )
            for row, given in zip(chunk, assignments, strict=True)
        )
        _fill_voidings(chunk, known)


def _fill_taskers(rows: list[Values], known: FilledTables) -> None:
    first = {row["tasker_id"]: row["submitted_at"] for row in reversed(rows)}
    new = [
        Tasker(public_id=name, shuffle_seed=0, created_at=moment)
        for name, moment in first.items()
        if name not in known.taskers
    ]
    known.taskers |= {row.public_id: row.pk for row in Tasker.objects.bulk_create(new)}


def _assignment(row: Values, known: FilledTables, panels: _Panels) -> Assignment:
    tasker, moment = known.taskers[row["tasker_id"]], row["submitted_at"]
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


def _fill_voidings(rows: list[Values], known: FilledTables) -> None:
    """A voiding for each answer: which were voided together is not published."""
    for row in (each for each in rows if each["void_reason"]):
        of = {"tasker_id": known.taskers[row["tasker_id"]], "reason": row["void_reason"]}
        by = Voiding.objects.create(voided_at=row["submitted_at"], **of)
        VoidedResponse.objects.create(response_id=row["response_id"], voiding=by)


def _ruling(row: Values, known: FilledTables, panels: _Panels) -> Ruling:
    share = row["smallest_box_fraction"]
    return Ruling(
        image_id=known.images[row["image_id"]],
        panel=panels[row["image_id"], row["panel"]].panel,
        smallest_box_numerator=None if share is None else share.numerator,
        smallest_box_denominator=None if share is None else share.denominator,
        policy_id=known.policies[row["policy_version"]],
        **row.of("number", "verdict", "label", "reasons", "response_ids", "decided_at", "decided_by", "explanation"),
    )


# Attacks -------------------------------------------------------------------------------------------------------------


def _fill_attacks(part: MirroredRelease, known: FilledTables) -> None:
    teams = ids_of(Team)
    for row in part.rows(form.ATTACKS):
        attack = Attack.objects.create(
            pk=row["number"],
            public_id=row["attack_id"],
            team_id=teams[row["team_id"]],
            image_id=known.images[row["image_id"]],
            copy_of_id=known.attacks.get(row["copy_of"]),
            policy_id=known.policies.get(row["policy_version"]),
            **row.of("received_at", "week", "of_quota"),
        )
        known.attacks[row["attack_id"]] = attack.pk
        aims = (known.defenses[name] for name in row["targets"] if name in known.defenses)
        AttackTarget.objects.bulk_create(AttackTarget(attack=attack, defense_id=defense) for defense in aims)
