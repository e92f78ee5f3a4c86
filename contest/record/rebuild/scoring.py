"""Rebuilds predictions, breaks, faults and mistakes."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from typing import Any

from adjudication.models import Ruling
from adjudication.verifier import cells
from adjudication.verifier import release_format as form
from adjudication.verifier.release_reader import Row
from contest.core.models import Break
from contest.record.rebuild.contest_rows import moment_in
from contest.record.rebuild.filling import CHUNK, FilledTables
from contest.record.rebuild.mirror_reader import MirroredRelease
from labeling.models import Image
from scoring.enums import DefenseAnswer, RerunState, RunState
from scoring.models import Prediction, Rerun, Run, RunItem


def fill_predictions(part: MirroredRelease, known: FilledTables) -> None:
    rows = part.rows(form.PREDICTIONS)
    pixels = {row["image_id"]: row["sha256_pixels"] for row in part.rows(form.IMAGES)}
    while chunk := list(islice(rows, CHUNK)):
        new = {row["run"]: row for row in chunk if int(row["run"]) not in known.runs}
        Run.objects.bulk_create(_run(row, known) for row in new.values())
        items = [_item(row, known) for row in chunk]
        RunItem.objects.bulk_create(items)
        pairs = zip(chunk, items, strict=True)
        Prediction.objects.bulk_create(_prediction(row, item, pixels[row["image_id"]]) for row, item in pairs)


def _run(row: Row, known: FilledTables) -> Run:
    return Run(
        pk=int(row["run"]),
        defense_id=known.defenses[row["defense_id"]],
        round=int(row["round"]),
        seed=int(row["seed"]),
        batch_size=int(row["batch_size"]),
        state=RunState.ASSESSED,
        attempt=int(row["attempt"]),
        created_at=moment_in(row["predicted_at"]),
        finished_at=moment_in(row["predicted_at"]),
    )


def _item(row: Row, known: FilledTables) -> RunItem:
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
        answer=DefenseAnswer[row["answer"].upper()],
        score_bicycle=float(row["score_bicycle"]),
        score_bird=float(row["score_bird"]),
        pixels_sha256=pixels_sha256,
        defense_digest=cells.text_from(row["defense_digest"]),
        device=cells.text_from(row["device"]),
        predicted_at=moment_in(row["predicted_at"]),
        **{name: int(row[name]) for name in whole},
    )


def fill_breaks(part: MirroredRelease, known: FilledTables) -> None:
    rows = list(part.rows(form.BREAKS))
    found = Prediction.objects.filter(image__in={known.images[row["image_id"]] for row in rows})
    proofs = {(defense, image, turn): pk for defense, image, turn, pk in _keys(found)}
    for row in rows:
        place = known.defenses[row["defense_id"]], known.images[row["image_id"]], int(row["round"])
        _broken(row, known, proofs[place]).save(force_insert=True)


def _keys(found: Any) -> Iterator[tuple[int, int, int, int]]:
    return iter(found.values_list("defense", "image", "round", "pk"))


def _broken(row: Row, known: FilledTables, proof: int) -> Break:
    image = known.images[row["image_id"]]
    return Break(
        pk=int(row["break_id"]),
        defense_id=known.defenses[row["defense_id"]],
        image_id=image,
        ruling=Ruling.objects.get(image=image, number=int(row["ruling_number"])),
        prediction_id=proof,
        found_at=moment_in(row["found_at"]),
    )


def fill_faults(part: MirroredRelease, known: FilledTables) -> None:
    """Fill the questions that have no answer and get none, each as a run of its own."""
    for row in part.rows(form.FAULTS):
        ended = moment_in(row["at"])
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


def fill_unproved(part: MirroredRelease, known: FilledTables) -> None:
    """Fill the breaks whose proving answer was replaced: that answer stands in a re-run that counts for nothing."""
    by_defense: dict[str, list[Row]] = defaultdict(list)
    for row in part.rows(form.UNPROVED):
        by_defense[row["defense_id"]].append(row)
    for defense, rows in by_defense.items():
        asked = moment_in(rows[0]["found_at"])
        aside = Rerun.objects.create(
            defense_id=known.defenses[defense],
            reason="Answers that later ones took the place of.",
            state=RerunState.CANCELLED,
            asked_at=asked,
            ended_at=asked,
        )
        for row in rows:
            _broken(row, known, _set_aside(row, known, aside).pk).save(force_insert=True)


def fill_mistakes(part: MirroredRelease, known: FilledTables) -> None:
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
            found_at=moment_in(row["found_at"]),
        )


def _set_aside(row: Row, known: FilledTables, rerun: Rerun) -> Prediction:
    """Make the answer that once proved a break, as far as it is published."""
    found, image = moment_in(row["found_at"]), Image.objects.get(pk=known.images[row["image_id"]])
    same = {"defense_id": rerun.defense_id, "round": int(row["round"]), "rerun": rerun}
    run = Run.objects.create(
        seed=0, batch_size=1, state=RunState.ASSESSED, attempt=1, created_at=found, finished_at=found, **same
    )
    item = RunItem.objects.create(run=run, image=image, position=0, **same)
    return Prediction.objects.create(
        item=item,
        image=image,
        answer=DefenseAnswer[row["answer"].upper()],
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
