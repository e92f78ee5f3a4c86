"""Rebuilds the predictions, breaks, faults and mistakes of defenses from the releases."""

from itertools import islice

from adjudication.models import Ruling
from adjudication.schema import release_format as form
from contest.core.models import Break
from contest.record.rebuild.filling import CHUNK, FilledTables
from contest.record.rebuild.mirror_reader import MirroredRelease, Values
from labeling.models import Image
from scoring.enums import DefenseAnswer, RerunState, RunState
from scoring.models import Prediction, Rerun, Run, RunItem

_Proofs = dict[tuple[int, int, int], int]
# The columns of a prediction that are called as its fields are.
_PREDICTION = (
    *("score_bicycle", "score_bird", "defense_digest", "device", "predicted_at"),
    *("batch_size", "batch", "row", "seed", "attempt", "latency_us"),
)


def fill_predictions(part: MirroredRelease, known: FilledTables) -> None:
    rows = part.rows(form.PREDICTIONS)
    pixels = {row["image_id"]: row["sha256_pixels"] for row in part.rows(form.IMAGES)}
    while chunk := list(islice(rows, CHUNK)):
        new = {row["run"]: row for row in chunk if row["run"] not in known.runs}
        Run.objects.bulk_create(
            Run(
                pk=row["run"],
                defense_id=known.defenses[row["defense_id"]],
                state=RunState.ASSESSED,
                created_at=row["predicted_at"],
                finished_at=row["predicted_at"],
                **row.of("round", "seed", "batch_size", "attempt"),
            )
            for row in new.values()
        )
        items = [_item(row, known) for row in chunk]
        RunItem.objects.bulk_create(items)
        Prediction.objects.bulk_create(
            Prediction(
                pk=row["prediction_id"],
                item=item,
                image_id=item.image_id,
                defense_id=item.defense_id,
                round=item.round,
                answer=DefenseAnswer[row["answer"].upper()],
                pixels_sha256=pixels[row["image_id"]],
                **row.of(*_PREDICTION),
            )
            for row, item in zip(chunk, items, strict=True)
        )


def _item(row: Values, known: FilledTables) -> RunItem:
    known.runs[row["run"]] += 1  # the place in the plan is not published; the order is
    return RunItem(
        run_id=row["run"],
        defense_id=known.defenses[row["defense_id"]],
        round=row["round"],
        image_id=known.images[row["image_id"]],
        position=known.runs[row["run"]] - 1,
    )


def fill_breaks(part: MirroredRelease, known: FilledTables) -> None:
    rows = list(part.rows(form.BREAKS))
    proofs = _proofs(rows, known)
    for row in rows:
        _fill_break(row, known, proofs[_place(row, known)])


def _proofs(rows: list[Values], known: FilledTables) -> _Proofs:
    """Return defense, image, round -> the answer, for the pictures of these rows."""
    found = Prediction.objects.filter(image__in={known.images[row["image_id"]] for row in rows})
    places = found.values_list("defense", "image", "round", "pk")
    return {(defense, image, turn): pk for defense, image, turn, pk in places}


def _place(row: Values, known: FilledTables) -> tuple[int, int, int]:
    return known.defenses[row["defense_id"]], known.images[row["image_id"]], row["round"]


def _fill_break(row: Values, known: FilledTables, proof: int) -> None:
    image = known.images[row["image_id"]]
    Break.objects.create(
        pk=row["break_id"],
        defense_id=known.defenses[row["defense_id"]],
        image_id=image,
        ruling=Ruling.objects.get(image=image, number=row["ruling_number"]),
        prediction_id=proof,
        found_at=row["found_at"],
    )


def fill_faults(part: MirroredRelease, known: FilledTables) -> None:
    """Fill the questions that have no answer and get none, each as a run of its own."""
    for row in part.rows(form.FAULTS):
        same = {"defense_id": known.defenses[row["defense_id"]], "round": row["round"]}
        run = Run.objects.create(
            seed=0,
            batch_size=1,
            state=RunState.DEAD,
            created_at=row["at"],
            finished_at=row["at"],
            **same,
            **row.of("fault", "attempt"),
        )
        RunItem.objects.create(run=run, image_id=known.images[row["image_id"]], position=0, **same)


def fill_unproved(part: MirroredRelease, known: FilledTables) -> None:
    """Fill the breaks whose proving answer was replaced: that answer stands in a re-run that counts for nothing."""
    reruns: dict[str, Rerun] = {}
    for row in part.rows(form.UNPROVED):
        if row["defense_id"] not in reruns:
            reruns[row["defense_id"]] = Rerun.objects.create(
                defense_id=known.defenses[row["defense_id"]],
                reason="Answers that later ones took the place of.",
                state=RerunState.CANCELLED,
                asked_at=row["found_at"],
                ended_at=row["found_at"],
            )
        _fill_break(row, known, _replaced_prediction(row, known, reruns[row["defense_id"]]).pk)


def fill_mistakes(part: MirroredRelease, known: FilledTables) -> None:
    """Fill the mistakes outside the contest (R29), by the answer of their round and the ruling that holds."""
    rows = list(part.rows(form.MISTAKES))
    proofs = _proofs(rows, known)
    for row in rows:
        defense, image, _ = place = _place(row, known)
        Break.objects.create(
            defense_id=defense,
            image_id=image,
            ruling=Ruling.objects.filter(image=image).latest("number"),
            prediction_id=proofs[place],
            found_at=row["found_at"],
        )


def _replaced_prediction(row: Values, known: FilledTables, rerun: Rerun) -> Prediction:
    """Make the answer that once proved a break, as far as it is published."""
    found, image = row["found_at"], Image.objects.get(pk=known.images[row["image_id"]])
    same = {"defense_id": rerun.defense_id, "round": row["round"], "rerun": rerun}
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
