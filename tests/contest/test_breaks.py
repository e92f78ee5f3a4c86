"""A confident mistake becomes a break (R29), once, however often the sweep runs."""

from datetime import datetime

import pytest
from django.db import DatabaseError, transaction

from adjudication.models import Ruling
from adjudication.services import panels_settle
from contest.breaks import breaks_record
from contest.models import Break
from labeling.models import Image
from labeling.selectors import policy_in_force
from scoring.enums import Outcome, RunState
from scoring.models import Defense, Prediction, Run, RunItem
from tests import factories

pytestmark = pytest.mark.django_db
BIRD, BICYCLE, ABSTAIN = Outcome.BIRD, Outcome.BICYCLE, Outcome.ABSTAIN


def ruled_image(now: datetime, **answers: object) -> Image:
    panel = factories.panel()
    for n in range(3):
        factories.response(factories.tasker(f"{panel.pk}-{n}"), panel, **answers)  # type: ignore[arg-type]
    panels_settle(policy_at=policy_in_force, now=now)
    return panel.image


def finished_run(image: Image, answer: int, now: datetime, *, defense: Defense | None = None, round: int = 1) -> Run:
    defense = defense or Defense.objects.create(name=f"defense of {image}", digest="sha256:0", created_at=now)
    run = Run.objects.create(
        defense=defense, round=round, seed=1, batch_size=16, state=RunState.FINISHED, attempt=1, created_at=now,
        finished_at=now,
    )  # fmt: skip
    item = RunItem.objects.create(run=run, defense=defense, round=round, image=image, position=0)
    Prediction.objects.create(
        item=item, image=image, defense=defense, round=round, answer=answer, score_bicycle=0.9, score_bird=0.1,
        pixels_sha256=image.pixels_sha256, defense_digest="sha256:0", device="cpu", batch_size=16, batch=0, row=0,
        seed=1, attempt=1, latency_us=1000, predicted_at=now,
    )  # fmt: skip
    return run


OUTCOMES = [
    ({}, BICYCLE, 1, "a valid bird called a bicycle"),
    ({}, BIRD, 0, "right"),
    ({}, ABSTAIN, 0, "abstaining never breaks"),
    ({"real": False}, BICYCLE, 0, "a rejected picture breaks nothing"),
]


@pytest.mark.parametrize(("answers", "answer", "breaks", "why"), OUTCOMES, ids=[row[3] for row in OUTCOMES])
def test_breaks(answers: dict[str, object], answer: int, breaks: int, why: str, now: datetime) -> None:
    run = finished_run(ruled_image(now, **answers), answer, now)
    assert breaks_record(now=now) == 1
    assert breaks_record(now=now) == 0, "running it twice changes nothing"
    run.refresh_from_db()
    assert (Break.objects.count(), run.state) == (breaks, RunState.ASSESSED), why


def test_one_mistake_in_any_of_the_official_runs_breaks_once(now: datetime) -> None:
    image = ruled_image(now)
    defense = Defense.objects.create(name="undecided", digest="sha256:0", created_at=now)
    for round, answer in ((1, BIRD), (2, BICYCLE), (3, BICYCLE)):
        finished_run(image, answer, now, defense=defense, round=round)
    breaks_record(now=now)
    proof = Break.objects.get()
    assert (proof.prediction.round, proof.ruling) == (2, Ruling.objects.get())


@pytest.mark.both("a trigger refuses it, and recording locks the run")
def test_the_database_keeps_a_break(now: datetime) -> None:
    finished_run(ruled_image(now), BICYCLE, now)
    breaks_record(now=now)
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        Break.objects.all().delete()


@pytest.mark.parametrize(("origin", "breaks"), [("attack", 1), ("dataset", 1), ("gold", 0), ("example", 0)])
def test_a_picture_that_is_never_published_breaks_nothing(origin: str, breaks: int, now: datetime) -> None:
    """Nobody could check such a break (R39), and its prize would tell which pictures are gold (R6)."""
    image = ruled_image(now)
    Image.objects.update(origin=origin)
    finished_run(image, BICYCLE, now)
    breaks_record(now=now)
    assert Break.objects.count() == breaks


@pytest.mark.parametrize(("origin", "breaks"), [("dataset", 1), ("gold", 0)])
def test_nor_after_a_later_ruling(origin: str, breaks: int, now: datetime) -> None:
    image = ruled_image(now, real=False)
    Image.objects.update(origin=origin)
    finished_run(image, BICYCLE, now)
    breaks_record(now=now)
    Ruling.objects.create(
        image=image, panel=image.panels.get(), policy=factories.policy_version(), number=2, verdict="valid",
        label="bird", reasons=[], response_ids=[], decided_by="board", explanation="A bird.", decided_at=now,
    )  # fmt: skip
    breaks_record(now=now)
    assert Break.objects.count() == breaks
