"""`warmup DEFENSE` (R40): the contest's pictures, a sealed or known program, and what is recorded."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from PIL import Image as PillowImage

from common.errors import Conflict
from contest.core.models import Release
from contest.defenses.models import WarmupMeasurement
from contest.defenses.warmup_pictures import contest_pictures
from contest.demo.programs import STEADFAST, ProgramRunner
from defense_kit.warmup import boundary, spsa
from defense_kit.warmup.pictures import UnusablePictures
from labeling.models import Image
from scoring.models import Defense
from scoring.scorers import take_device
from scoring.trusted_programs import TrustedPrograms
from tests import factories
from tests.contest import release_fixtures as cast
from tests.scoring.cast import ruled

pytestmark = pytest.mark.django_db


@pytest.fixture
def pictures(settings: Any, tmp_path: Path) -> dict[str, Image]:
    """Valid pictures and a rejected one of a released week, one of a later week, and one that was sent as an attack."""
    settings.SCORER_DIR, settings.SCORING_DEVICE = tmp_path / "scorer", "cpu"
    factories.policy_version()
    Release.objects.create(
        week="2026-W47", part=0, manifest_sha256="ab" * 32, counts={}, bytes=1, released_at=cast.AFTER
    )
    later = {"received_at": cast.MONDAY + timedelta(days=7), "label_from": cast.MONDAY + timedelta(days=7)}
    made = {
        "bird": (cast.picture(1), "bird"),
        "bicycle": (cast.picture(2), "bicycle"),
        "second bird": (cast.picture(3), "bird"),
        "rejected": (cast.picture(4), ""),
        "later": (cast.picture(5, **later), "bird"),
        "attack": (cast.picture(6, origin="attack"), "bird"),
    }
    for image, label in made.values():
        ruled(image, **({"label": label} if label else {"verdict": "rejected", "reasons": ["truncated"]}))
    return {name: image for name, (image, _) in made.items()}


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch, pictures: dict[str, Image]) -> Defense:
    """A defense that runs without a container, and attacks of a step each."""
    monkeypatch.setattr(TrustedPrograms, "find", staticmethod(lambda defense: ProgramRunner(STEADFAST)))
    monkeypatch.setattr(spsa, "STEPS", 1)
    monkeypatch.setattr(boundary, "STEPS", 1)
    return cast.defense(1, image="sha256:1")


def warmup(defense: Defense, out: Path, *options: str) -> None:
    call_command("warmup", defense.public_id, "--out", str(out), "--batch-size", "32", *options)


def test_the_pictures_are_valid_released_and_none_is_an_attack(pictures: dict[str, Image]) -> None:
    of = {each.name: (each.of_class, each.picture.sha256.hex()) for each in contest_pictures()}
    wanted = {"bird": "bird", "second bird": "bird", "bicycle": "bicycle"}
    assert of == {
        pictures[name].public_id: (of_class, pictures[name].pixels_sha256) for name, of_class in wanted.items()
    }
    assert len(contest_pictures(2)) == 2


def test_without_pictures_of_both_classes_it_says_what_to_do(pictures: dict[str, Image]) -> None:
    Release.objects.all().delete()
    with pytest.raises(UnusablePictures, match="name a folder with --pictures"):
        contest_pictures()


@pytest.mark.slow("every attack on three pictures")
def test_a_run_of_all_attacks_is_recorded(known: Defense, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    warmup(known, tmp_path / "out")
    row = WarmupMeasurement.objects.get()
    assert row.report == json.loads((tmp_path / "out" / "report.json").read_text())
    assert (row.report["digest"], row.report["defense"]) == (known.digest, known.name)
    assert row.report["timing"]["defense_ran_on"].startswith("cpu"), "the contest's runner knows it"
    assert f"Recorded for {known.public_id}." in capsys.readouterr().out


def test_a_run_of_some_attacks_is_not_recorded(
    known: Defense, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    warmup(known, tmp_path / "out", "--attacks", "clean")
    assert "only a run of all attacks is, and spatial_grid is missing" in capsys.readouterr().err
    assert not WarmupMeasurement.objects.exists()
    with pytest.raises(CommandError, match="go on with --resume"):
        warmup(known, tmp_path / "out", "--attacks", "clean")


@pytest.mark.parametrize("option", ["--images", "--pictures"])
def test_a_run_on_other_pictures_is_not_recorded(
    option: str, known: Defense, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, name in enumerate(("bird", "bicycle")):
        (tmp_path / "own" / name).mkdir(parents=True)
        PillowImage.new("RGB", (224, 224), (number, 99, 0)).save(tmp_path / "own" / name / "one.png")
    value = {"--images": "2", "--pictures": str(tmp_path / "own")}[option]
    warmup(known, tmp_path / "out", "--attacks", "clean", option, value)
    assert "only a run on all pictures of the contest is" in capsys.readouterr().err


def test_a_run_as_published_is_not_recorded(known: Defense, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    warmup(known, tmp_path / "out", "--as-published", "--attacks", "clean")
    assert "This run will not be recorded" in capsys.readouterr().err
    assert not WarmupMeasurement.objects.exists()
    assert json.loads((tmp_path / "out" / "report.json").read_text())["mode"] == "as-published"


def test_a_shipped_defense_is_refused_in_a_sentence(pictures: dict[str, Image], tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="takes 8-bit pictures alone"):
        warmup(cast.defense(1, reference="demo-cnn"), tmp_path)


def test_a_defense_that_there_is_not_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="There is no defense D-NONE: its page shows the ID."):
        call_command("warmup", "D-NONE")


def test_a_scorer_keeps_its_device(known: Defense, tmp_path: Path, settings: Any) -> None:
    assert (scorer := take_device(settings.SCORER_DIR, "cpu", "docker"))
    with pytest.raises(Conflict, match="A scorer has this machine's device: stop it first"):
        warmup(known, tmp_path / "out", "--attacks", "clean")
    assert scorer.device == "cpu"
