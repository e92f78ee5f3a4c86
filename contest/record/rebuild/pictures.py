"""One week's pictures and everything said of them, from its release back into tables."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeVar

from django.db.models import Model

from adjudication.models import Ruling
from adjudication.verifier import release_format as form
from adjudication.verifier.reading import Row
from contest.models import Attack, AttackTarget, Break, Team
from contest.record.rebuild.around import at, ids_of, number
from contest.record.rebuild.reading import Part
from labeling.enums import AssignmentState, TieBreak
from labeling.geometry import HUNDREDTHS_PER_PIXEL
from labeling.models import Assignment, Image, Panel, Place, Response, Tasker, VoidedResponse, Voiding
from labeling.pictures.store import picture_key, picture_store
from policy.models import PolicyVersion
from scoring.enums import Outcome, RerunState, RunState
from scoring.models import Defense, Prediction, Rerun, Run, RunItem

CHUNK = 1_000
_BOX = ("box_xmin", "box_ymin", "box_xmax", "box_ymax")
_M = TypeVar("_M", bound=Model)


@dataclass
class Filled:
    """What is known while the weeks are filled one after the other."""

    images: dict[str, int] = field(default_factory=dict)
    taskers: dict[str, int] = field(default_factory=dict)
    policies: dict[int, int] = field(default_factory=dict)
    defenses: dict[str, int] = field(default_factory=dict)
    attacks: dict[str, int] = field(default_factory=dict)
    runs: Counter[int] = field(default_factory=Counter)


def begin() -> Filled:
    """Return what the pictures refer to; everything around them is there already."""
    return Filled(policies=dict(PolicyVersion.objects.values_list("version", "pk")), defenses=ids_of(Defense))


def fill_week(part: Part, known: Filled) -> None:
    """Fill everything of a week whose rows keep their numbers."""
    _fill_images(part, known)
    panels = _fill_panels(part, known)
    _fill_responses(part, known, panels)
    _in_chunks(Ruling, (_ruling(row, known, panels) for row in part.rows(form.RULINGS)))
    _fill_attacks(part, known)
    _fill_predictions(part, known)
    _fill_breaks(part, known)


def _in_chunks(model: type[_M], rows: Iterable[_M]) -> None:
    rows = iter(rows)
    while chunk := list(islice(rows, CHUNK)):
        model._default_manager.bulk_create(chunk)


# Pictures, panels, answers -------------------------------------------------------------------------------------------


def _fill_images(part: Part, known: Filled) -> None:
    dealt = {row["image_id"]: at(row["dealt_at"]) for row in part.rows(form.PANELS) if row["panel"] == "1"}
    provenance = part.rows(form.PROVENANCE)  # in the same order, checked
    pairs = zip(part.rows(form.IMAGES), provenance, strict=True)
    _in_chunks(Image, (_image(part, row, origin, dealt, known) for row, origin in pairs))


def _image(part: Part, row: Row, came: Row, dealt: dict[str, Any], known: Filled) -> Image:
    sha = row["sha256_pixels"]
    picture_store().put(picture_key(sha), (part.folder / row["file"]).read_bytes())
    known.images[row["image_id"]] = int(came["number"])
    return Image(
        pk=int(came["number"]),
        public_id=row["image_id"],
        pixels_sha256=sha,
        original_sha256=came["original_sha256"],
        original_format=form.text_from(came["original_format"]),
        width=int(row["width"]),
        height=int(row["height"]),
        origin=row["origin"],
        received_at=at(row["received_at"]),
        label_from=at(came["label_from"]),
        dealt_at=dealt.get(row["image_id"]),
        **{name: form.text_from(came[name]) for name in ("source", "source_id", "licence", "author")},
    )


@dataclass
class _Seats:
    """A panel and its places. A voided answer keeps its place, which a later one replaces (R6)."""

    panel: Panel
    counted: list[int] = field(default_factory=list)
    voided: list[int] = field(default_factory=list)
    places: dict[int, Place] = field(default_factory=dict)


_Panels = dict[tuple[str, str], _Seats]


def _fill_panels(part: Part, known: Filled) -> _Panels:
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
    _in_chunks(Panel, (seats.panel for seats in panels.values()))
    for seats in panels.values():
        _seat(seats)
    return panels


def _panel(row: Row, known: Filled) -> Panel:
    full = form.time_from(row["full_at"])
    dealt = at(row["dealt_at"])
    return Panel(
        image_id=known.images[row["image_id"]],
        number=int(row["panel"]),
        size=int(row["size"]),
        state=row["state"],
        joined=int(row["joined"]),
        joined_at=form.time_from(row["joined_at"]),
        dealt_at=dealt,
        waiting_since=full or dealt,
        full_at=full,
    )


def _seat(seats: _Seats) -> None:
    """Make the places: the n-th voided answer has the n-th place, which the n-th one beyond the size replaces."""
    size, voided = seats.panel.size, len(seats.voided)
    places: list[Place] = []
    for spot in range(1, size + voided + 1):
        replaces = places[spot - size - 1] if spot > size else None
        places.append(Place.objects.create(panel=seats.panel, number=spot, replaces=replaces))
    seats.places = dict(zip([*seats.voided, *seats.counted], places, strict=False))


def _fill_responses(part: Part, known: Filled, panels: _Panels) -> None:
    rows = part.rows(form.RESPONSES)
    while chunk := list(islice(rows, CHUNK)):
        _fill_taskers(chunk, known)
        assignments = [_assignment(row, known, panels) for row in chunk]
        Assignment.objects.bulk_create(assignments)
        pairs = zip(chunk, assignments, strict=True)
        Response.objects.bulk_create(_response(row, given, panels) for row, given in pairs)
        _fill_voidings(chunk, known)


def _fill_taskers(rows: list[Row], known: Filled) -> None:
    first = {row["tasker_id"]: at(row["submitted_at"]) for row in reversed(rows)}
    new = [
        Tasker(public_id=name, shuffle_seed=0, created_at=moment)
        for name, moment in first.items()
        if name not in known.taskers
    ]
    known.taskers |= {row.public_id: row.pk for row in Tasker.objects.bulk_create(new)}


def _assignment(row: Row, known: Filled, panels: _Panels) -> Assignment:
    tasker, moment = known.taskers[row["tasker_id"]], at(row["submitted_at"])
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
    said = {name: form.boolean_from(row[name]) for name in ("complete", "unoccluded", "real")}
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


def _fill_voidings(rows: list[Row], known: Filled) -> None:
    """A voiding for each answer: which were voided together is not published."""
    for row in rows:
        if row["void_reason"]:
            reason, moment = form.text_from(row["void_reason"]), at(row["submitted_at"])
            by = Voiding.objects.create(tasker_id=known.taskers[row["tasker_id"]], reason=reason, voided_at=moment)
            VoidedResponse.objects.create(response_id=int(row["response_id"]), voiding=by)


def _ruling(row: Row, known: Filled, panels: _Panels) -> Ruling:
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
        decided_at=at(row["decided_at"]),
        decided_by=row["decided_by"],
        explanation=form.text_from(row["explanation"]),
    )


# Attacks -------------------------------------------------------------------------------------------------------------


def _fill_attacks(part: Part, known: Filled) -> None:
    teams = ids_of(Team)
    for row in part.rows(form.ATTACKS):
        made = _attack(row, known, teams)
        made.save(force_insert=True)
        known.attacks[row["attack_id"]] = made.pk
        aims = [name for name in row["targets"].split(";") if name in known.defenses]
        AttackTarget.objects.bulk_create(AttackTarget(attack=made, defense_id=known.defenses[name]) for name in aims)


def _attack(row: Row, known: Filled, teams: dict[str, int]) -> Attack:
    return Attack(
        pk=int(row["number"]),
        public_id=row["attack_id"],
        team_id=teams[row["team_id"]],
        image_id=known.images[row["image_id"]],
        received_at=at(row["received_at"]),
        week=row["week"],
        of_quota=int(row["of_quota"]),
        copy_of_id=known.attacks.get(row["copy_of"]),
        policy_id=known.policies.get(number(row["policy_version"]) or 0),
    )


# Defenses ------------------------------------------------------------------------------------------------------------


def _fill_predictions(part: Part, known: Filled) -> None:
    rows = part.rows(form.PREDICTIONS)
    pixels = {row["image_id"]: row["sha256_pixels"] for row in part.rows(form.IMAGES)}
    while chunk := list(islice(rows, CHUNK)):
        new = {row["run"]: row for row in chunk if int(row["run"]) not in known.runs}
        Run.objects.bulk_create(_run(row, known) for row in new.values())
        items = [_item(row, known) for row in chunk]
        RunItem.objects.bulk_create(items)
        pairs = zip(chunk, items, strict=True)
        Prediction.objects.bulk_create(_prediction(row, item, pixels[row["image_id"]]) for row, item in pairs)


def _run(row: Row, known: Filled) -> Run:
    return Run(
        pk=int(row["run"]),
        defense_id=known.defenses[row["defense_id"]],
        round=int(row["round"]),
        seed=int(row["seed"]),
        batch_size=int(row["batch_size"]),
        state=RunState.ASSESSED,
        attempt=int(row["attempt"]),
        created_at=at(row["predicted_at"]),
        finished_at=at(row["predicted_at"]),
    )


def _item(row: Row, known: Filled) -> RunItem:
    run = int(row["run"])
    known.runs[run] += 1  # the place in the plan is not published; the order is
    return RunItem(
        run_id=run,
        defense_id=known.defenses[row["defense_id"]],
        round=int(row["round"]),
        image_id=known.images[row["image_id"]],
        position=known.runs[run] - 1,
    )


def _prediction(row: Row, item: RunItem, pixels_sha256: str) -> Prediction:
    whole = ("batch_size", "batch", "row", "seed", "attempt", "latency_us")
    return Prediction(
        pk=int(row["prediction_id"]),
        item=item,
        image_id=item.image_id,
        defense_id=item.defense_id,
        round=item.round,
        answer=Outcome[row["answer"].upper()],
        score_bicycle=float(row["score_bicycle"]),
        score_bird=float(row["score_bird"]),
        pixels_sha256=pixels_sha256,
        defense_digest=form.text_from(row["defense_digest"]),
        device=form.text_from(row["device"]),
        predicted_at=at(row["predicted_at"]),
        **{name: int(row[name]) for name in whole},
    )


def _fill_breaks(part: Part, known: Filled) -> None:
    rows = list(part.rows(form.BREAKS))
    found = Prediction.objects.filter(image__in={known.images[row["image_id"]] for row in rows})
    proofs = {(defense, image, turn): pk for defense, image, turn, pk in _keys(found)}
    for row in rows:
        place = known.defenses[row["defense_id"]], known.images[row["image_id"]], int(row["round"])
        _broken(row, known, proofs[place]).save(force_insert=True)


def _keys(found: Any) -> Iterator[tuple[int, int, int, int]]:
    return iter(found.values_list("defense", "image", "round", "pk"))


def _broken(row: Row, known: Filled, proof: int) -> Break:
    image = known.images[row["image_id"]]
    return Break(
        pk=int(row["break_id"]),
        defense_id=known.defenses[row["defense_id"]],
        image_id=image,
        ruling=Ruling.objects.get(image=image, number=int(row["ruling_number"])),
        prediction_id=proof,
        found_at=at(row["found_at"]),
    )


# What has no number of its own: filled when every row that keeps its number is there ---------------------------------


def fill_faults(part: Part, known: Filled) -> None:
    """Fill the questions that have no answer and get none, each as a run of its own."""
    for row in part.rows(form.FAULTS):
        ended = at(row["at"])
        run = Run.objects.create(
            defense_id=known.defenses[row["defense_id"]],
            round=int(row["round"]),
            seed=0,
            batch_size=1,
            state=RunState.DEAD,
            fault=row["fault"],
            attempt=int(row["attempt"]),
            created_at=ended,
            finished_at=ended,
        )
        image = known.images[row["image_id"]]
        RunItem.objects.create(run=run, defense_id=run.defense_id, round=run.round, image_id=image, position=0)


def fill_unproved(part: Part, known: Filled) -> None:
    """Fill the breaks whose proving answer was replaced: that answer stands in a re-run that counts for nothing."""
    by_defense: dict[str, list[Row]] = defaultdict(list)
    for row in part.rows(form.UNPROVED):
        by_defense[row["defense_id"]].append(row)
    for defense, rows in by_defense.items():
        asked = at(rows[0]["found_at"])
        aside = Rerun.objects.create(
            defense_id=known.defenses[defense],
            reason="Answers that later ones took the place of.",
            state=RerunState.CANCELLED,
            asked_at=asked,
            ended_at=asked,
        )
        for row in rows:
            _broken(row, known, _set_aside(row, known, aside).pk).save(force_insert=True)


def fill_mistakes(part: Part, known: Filled) -> None:
    """Fill the mistakes outside the contest (R29), by the answer of their round and the ruling that holds."""
    rows = list(part.rows(form.MISTAKES))
    found = Prediction.objects.filter(image__in={known.images[row["image_id"]] for row in rows})
    proofs = {(defense, image, turn): pk for defense, image, turn, pk in _keys(found)}
    for row in rows:
        defense, image = known.defenses[row["defense_id"]], known.images[row["image_id"]]
        Break.objects.create(
            defense_id=defense,
            image_id=image,
            ruling=Ruling.objects.filter(image=image).latest("number"),
            prediction_id=proofs[defense, image, int(row["round"])],
            found_at=at(row["found_at"]),
        )


def _set_aside(row: Row, known: Filled, rerun: Rerun) -> Prediction:
    """Make the answer that once proved a break, as far as it is published."""
    found, image = at(row["found_at"]), Image.objects.get(pk=known.images[row["image_id"]])
    same = {"defense_id": rerun.defense_id, "round": int(row["round"]), "rerun": rerun}
    run = Run.objects.create(
        seed=0, batch_size=1, state=RunState.ASSESSED, attempt=1, created_at=found, finished_at=found, **same
    )
    item = RunItem.objects.create(run=run, image=image, position=0, **same)
    return Prediction.objects.create(
        item=item,
        image=image,
        answer=Outcome[row["answer"].upper()],
        score_bicycle=0,
        score_bird=0,
        pixels_sha256=image.pixels_sha256,
        defense_digest=rerun.defense.digest,
        device="",
        batch_size=1,
        batch=0,
        row=0,
        seed=0,
        attempt=1,
        latency_us=0,
        predicted_at=found,
        **same,
    )
