"""Drawn pictures, training on them, and publishing from the command line."""

from io import StringIO

import numpy as np
import pytest
from django.core.management import call_command

from labeling.enums import Label
from scoring.models import Defense
from scoring.reference import REFERENCES, train
from scoring.reference.drawing import draw
from scoring.reference.picture_statistics import PictureStatistics, shrunk


@pytest.mark.parametrize("label", [Label.BICYCLE, Label.BIRD, None])
def test_the_same_seed_draws_the_same_picture(label: Label | None) -> None:
    pictures = [draw(label, np.random.default_rng(seed), 80) for seed in (1, 1, 2)]
    assert pictures[0].shape == (80, 80, 3) and pictures[0].dtype == np.uint8
    assert (pictures[0] == pictures[1]).all() and (pictures[0] != pictures[2]).any()


@pytest.mark.parametrize("size", [64, 75, 299])
def test_shrinking_keeps_the_mean_of_an_even_picture(size: int) -> None:
    even = np.full((2, size, size, 3), 51, np.uint8)
    assert np.allclose(shrunk(even), 0.2) and shrunk(even).shape == (2, 64, 64, 3)


@pytest.mark.slow("draws the pictures that it fits on")
def test_fitting_on_few_drawn_pictures_already_tells_the_classes_apart() -> None:
    pictures, truth = train.drawn_pictures(120, seed=1)
    fresh, fresh_truth = train.drawn_pictures(60, seed=2)
    _, scores = PictureStatistics(train.fit_statistics(pictures, truth)).predict(fresh)
    assert ((scores[:, 1] > 0.5) == fresh_truth).mean() > 0.85


@pytest.mark.long("torch trains on 400 pictures; fitting on few stays")
def test_the_network_learns() -> None:
    pictures, truth = train.drawn_pictures(400, seed=1)
    network = train.fit_network(pictures, truth, epochs=4)
    torch = train.load_torch()
    with torch.inference_mode():
        right = (network(torch.from_numpy(pictures)).argmax(1).numpy() == truth).mean()
    assert right > 0.75


@pytest.mark.django_db
def test_the_command_publishes_once() -> None:
    said = [StringIO(), StringIO()]
    for out in said:
        call_command("publish_reference_defenses", stdout=out)
    assert Defense.objects.count() == len(REFERENCES)
    assert said[0].getvalue().count(": published") == 3
    assert said[1].getvalue().count(": already in force") == 3
