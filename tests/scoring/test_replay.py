"""A prediction again from its row alone (R29)."""

from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from scoring.inference import choose_device
from scoring.models import Defense, Prediction, Run
from scoring.replay import replay
from scoring.runner import Answers
from scoring.slots import take_slot
from tests.scoring import cast

pytestmark = pytest.mark.django_db


@pytest.fixture
def answered(now: datetime) -> None:
    cast.publish(now)
    cast.valid_pictures(11)
    cast.plan(now)
    cast.work_all(now)


def again(prediction: Prediction, find_runner: Any = cast.shipped) -> Any:
    row = Prediction.objects.select_related("item__run__defense", "item__image").get(pk=prediction.pk)
    return replay(row, find_runner=find_runner, device=choose_device("auto"))


def test_every_answer_of_a_shipped_defense_comes_again_to_the_last_bit(answered: None) -> None:
    rows = list(Prediction.objects.all())
    assert len(rows) == 11 * 3 * 3
    for row in rows:
        found = again(row)
        assert found.same and found.device == row.device


def test_what_depends_on_its_companions_gets_the_same_companions(now: datetime) -> None:
    cast.publish(now, "always-abstain")
    cast.valid_pictures(11)
    cast.plan(now)

    def coupled(answers: Answers, images: Any) -> Answers:
        brightness = images.astype(np.float64).mean()
        return Answers(answers.labels, np.full_like(answers.scores, brightness))

    def find_runner(defense: Defense) -> Any:
        return cast.Seeing(coupled)

    cast.work_all(now, find_runner=find_runner)
    assert all(again(row, find_runner).same for row in Prediction.objects.all())
    rounds = Prediction.objects.filter(image=Prediction.objects.all()[0].image)
    assert len(set(rounds.values_list("score_bird", flat=True))) == 3, "companions differ between the rounds"


def test_a_run_that_was_parted_is_replayed_by_the_plan_it_was_answered_with(now: datetime) -> None:
    cast.publish(now, "numpy-statistics")
    cast.valid_pictures(1)
    cast.plan(now)
    cast.work_all(now)
    poison = cast.valid_pictures(9, seed=8)[3]
    cast.plan(now, seed=2)
    cast.work_all(now, find_runner=cast.allergic_to(poison))
    assert Run.objects.filter(splits__gt=0).exists()
    assert all(again(row).same for row in Prediction.objects.all())


@pytest.mark.parametrize(
    ("image", "number", "said", "why"),
    [
        ("", 1, "The same, to the last bit.", "as it was"),
        ("", 9, "no such prediction", "no such round"),
        ("P-none", 1, "no such prediction", "no such picture"),
    ],
)
def test_the_command(
    image: str, number: int, said: str, why: str, answered: None, settings: Any, tmp_path: Path, capsys: Any
) -> None:
    settings.SCORER_DIR = tmp_path
    row = Prediction.objects.filter(defense__name="demo-cnn", round=1)[0]
    try:
        call_command("replay", row.defense.public_id, image or row.image.public_id, round=number)
        assert said in capsys.readouterr().out, why
    except CommandError as error:
        assert said in str(error), why


def test_a_device_that_a_scorer_has_is_named_with_what_to_type(answered: None, settings: Any, tmp_path: Path) -> None:
    settings.SCORER_DIR, settings.SCORING_DEVICE = tmp_path / "scorer", "cpu"
    row = Prediction.objects.filter(defense__name="demo-cnn", round=1)[0]
    scorer = take_slot(settings.SCORER_DIR, "cpu", 1)
    assert scorer is not None
    with scorer.lock, pytest.raises(CommandError, match="SCORER_DIR=var/replay ./unanimous replay"):
        call_command("replay", row.defense.public_id, row.image.public_id)


def test_another_version_than_answered_is_refused(answered: None, settings: Any, tmp_path: Path) -> None:
    settings.SCORER_DIR = tmp_path
    row = Prediction.objects.filter(defense__name="demo-cnn", round=1)[0]
    Defense.objects.filter(pk=row.defense_id).update(digest="sha256:0")
    with pytest.raises(CommandError, match="is not shipped with this worker"):
        call_command("replay", row.defense.public_id, row.image.public_id)
