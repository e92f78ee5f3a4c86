"""A prediction again from its row alone (R29)."""

from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from common.errors import Conflict
from scoring.inference import choose_device
from scoring.machine import take_slot
from scoring.models import Defense, Prediction, Run
from scoring.replay import replay
from scoring.runner import BatchAnswers
from tests import factories
from tests.scoring import cast

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def answered(module_world: Path) -> None:
    cast.answered(factories.NOW, pictures=5)


@pytest.fixture
def row(answered: None, settings: Any, tmp_path: Path) -> Prediction:
    """An answer, on a machine without a scorer."""
    settings.SCORER_DIR = tmp_path / "scorer"
    return Prediction.objects.filter(defense__name="demo-cnn", round=1)[0]


def again(prediction: Prediction, find_runner: Any = cast.shipped) -> Any:
    row = Prediction.objects.select_related("item__run__defense", "item__image").get(pk=prediction.pk)
    return replay(row, find_runner=find_runner, device=choose_device("auto"))


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.long("each answer; every seventh stays"))])
def test_every_answer_of_a_shipped_defense_comes_again_to_the_last_bit(step: int, answered: None) -> None:
    rows = list(Prediction.objects.order_by("pk"))
    assert len(rows) == 5 * 3 * 3
    for row in rows[::step]:
        found = again(row)
        assert found.same and found.device == row.device


def replayed(row: Prediction, **values: Any) -> None:
    call_command("replay", row.defense.public_id, values.pop("image", row.image.public_id), **values)


def test_what_depends_on_its_companions_gets_the_same_companions(answered: None, now: datetime) -> None:
    Defense.objects.exclude(name="always-abstain").update(retired_at=now)

    def coupled(answers: BatchAnswers, images: Any) -> BatchAnswers:
        return BatchAnswers(answers.labels, np.full_like(answers.scores, images.astype(np.float64).mean()))

    coupling = cast.Seeing(coupled)
    cast.valid_pictures(6, seed=8)
    cast.plan(now, seed=2)
    cast.work_all(now, find_runner=lambda _: coupling)
    rows = Prediction.objects.order_by("-pk")[: 6 * 3]
    assert all(again(row, lambda _: coupling).same for row in rows)
    scores = Prediction.objects.filter(image=rows[0].image).values_list("score_bird", flat=True)
    assert len(set(scores)) == 3, "companions differ between the rounds"


def test_a_run_that_was_parted_is_replayed_by_the_plan_it_was_answered_with(answered: None, now: datetime) -> None:
    Defense.objects.exclude(name="numpy-statistics").update(retired_at=now)
    poison = cast.valid_pictures(5, seed=8)[3]
    cast.plan(now, seed=2)
    cast.work_all(now, find_runner=cast.allergic_to(poison))
    assert Run.objects.filter(splits__gt=0).exists()
    assert all(again(row).same for row in Prediction.objects.filter(item__run__splits__gt=0, round=3))


def test_the_command_says_whether_an_answer_comes_again(row: Prediction, capsys: pytest.CaptureFixture[str]) -> None:
    replayed(row, round=1)
    assert "The same, to the last bit." in capsys.readouterr().out
    for wrong in ({"round": 9}, {"round": 1, "image": "P-none"}):
        with pytest.raises(CommandError, match="no such prediction"):
            replayed(row, **wrong)


def test_a_device_that_a_scorer_has_is_named_with_what_to_type(row: Prediction, settings: Any) -> None:
    settings.SCORING_DEVICE = "cpu"
    scorer = take_slot(settings.SCORER_DIR, "cpu", 1)
    assert scorer is not None
    with scorer.lock, pytest.raises(Conflict, match="SCORER_DIR=var/replay ./unanimous replay"):
        replayed(row)


def test_another_version_than_answered_is_refused(row: Prediction) -> None:
    Defense.objects.filter(pk=row.defense_id).update(digest="sha256:0")
    with pytest.raises(CommandError, match="is not shipped with this worker"):
        replayed(row)
