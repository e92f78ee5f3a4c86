"""Whole runs in each mode, shortened (R40): what no figure depends on, and what the page shows of a change."""

import base64
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from defense_kit.warmup import ATTACKS, boundary, spatial_grid, spsa
from defense_kit.warmup.as_published import boundary as published_boundary
from defense_kit.warmup.as_published import spatial_grid as published_grid
from defense_kit.warmup.as_published import spsa as published_spsa
from defense_kit.warmup.attacks import Rows
from defense_kit.warmup.measure import Measurement, as_bytes
from defense_kit.warmup.methods import method_of
from defense_kit.warmup.page import page
from defense_kit.warmup.pictures import LabelledPicture, in_order
from defense_kit.warmup.report import report
from defense_kit.warmup.results import open_results
from defense_kit.warmup.scheduler import Scheduler
from defense_kit.warmup.streams import Streams
from defense_kit.warmup.worst_pictures import change
from tests.defense_kit.warmup.defenses import InProcess, linear, picture

PICTURES = [LabelledPicture(f"{number}.png", picture(number, is_bird=number % 2 == 0)) for number in range(9)]


class Session(InProcess):
    """A defense that clips values, in this process."""

    def send(self, images: Rows) -> None:
        super().send(images.clip(0, 1))


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name, value in (
        *((each, "STEPS", 1) for each in (spsa, published_spsa)),
        *((each, "STEPS", 11) for each in (boundary, published_boundary)),
        *((each, "DEGREES", (0, 2)) for each in (spatial_grid, published_grid)),
        (spatial_grid, "QUERIES", 50),
        (boundary, "DIRECTIONS", 2),
    ):
        monkeypatch.setattr(module, name, value)


def reported(
    folder: Path, mode: str, pictures: Sequence[LabelledPicture], *, batch: int, attacks: Sequence[str] = ATTACKS
) -> dict[str, Any]:
    """Return the report of a run but for what says how it ran."""
    session: Any = Session(linear(scale=0.05))
    arranged = method_of(mode).arranged(in_order(pictures))
    with open_results(folder / f"results-{batch}", "d", resume=False, mode=mode) as results:
        measurement = Measurement(session, arranged, results, batch=batch, folder=folder, mode=mode)
        found = report(arranged, measurement.run(attacks, defense="d", digest="d", device=None))
    del found["timing"], found["batch_size"]
    return found


@pytest.mark.slow("every attack on four pictures, twice")
@pytest.mark.parametrize(
    ("mode", "many", "batches"),
    [
        pytest.param("default", 9, (1, 7, 64), marks=pytest.mark.long("every attack on nine pictures, three times")),
        ("as-published", 4, (1, 7)),
    ],
)
def test_a_report_is_the_same_at_any_batch_size_and_in_any_order(
    mode: str, many: int, batches: Sequence[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last run takes the pictures in reversed order, and attacks them in reversed order."""
    found = [reported(tmp_path, mode, PICTURES[:many], batch=batch) for batch in batches[:-1]]
    run, orders = Scheduler.run, list[list[Any]]()

    def reversed_run(self: Any, attacks: Iterable[Any]) -> Iterator[Any]:
        begun = list(attacks)[::-1]
        orders.append([key for key, _ in begun])
        return run(self, begun)

    monkeypatch.setattr(Scheduler, "run", reversed_run)
    found.append(reported(tmp_path, mode, PICTURES[:many][::-1], batch=batches[-1]))
    assert len({json.dumps(each) for each in found}) == 1
    rows, ids = found[0]["pictures"], [each["id"] for each in found[0]["pictures"]]
    assert [key[:32].hex() for key in orders[0]] == ids[::-1] and len(rows) == many
    steps = {name: [each["attacks"][name]["chosen"]["steps"] for each in rows] for name in ("spsa", "boundary")}
    assert max(steps["spsa"]) == 1 and max(steps["boundary"]) == 11, "the attacks had something to do"


def test_a_change_on_the_page_is_since_the_published_first_move(tmp_path: Path) -> None:
    mode = "as-published"
    found = reported(tmp_path, mode, PICTURES[:2], batch=64, attacks=("spsa",))
    text = page(
        {**found, "timing": {"attacks": {}, "defense_ran_on": None, "warnings": []}, "batch_size": 64},
        PICTURES,
        tmp_path,
    )
    row = next(each for each in found["pictures"] if each["attacks"]["spsa"]["wrong"])
    of = next(each.picture for each in PICTURES if each.picture.sha256.hex() == row["id"])
    with Image.open(tmp_path / row["attacks"]["spsa"]["png"]) as attacked:
        seen = change(as_bytes(method_of(mode).first_move(of, Streams("spsa", of.sha256))), np.asarray(attacked))
    files = (base64.b64decode(each) for each in re.findall(r'src="data:image/png;base64,(.+?)"', text))
    assert any(np.array_equal(np.asarray(Image.open(io.BytesIO(each))), seen) for each in files)
