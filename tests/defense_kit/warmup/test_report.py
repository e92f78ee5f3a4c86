"""The report of the warm-up (R40): its figures, its fields as documented, its PNGs, and its page."""

import inspect
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from defense_kit.warmup import ATTACKS, EXPLANATIONS, boundary, spatial_grid, spsa, worst_pictures
from defense_kit.warmup import report as report_module
from defense_kit.warmup.answer_checks import AnswerChecks
from defense_kit.warmup.as_published import DEVIATIONS
from defense_kit.warmup.attacks import AttackResult, Rows, Scores, as_floats
from defense_kit.warmup.changes import Distance, distance, start_of, write_png
from defense_kit.warmup.curves import curve_svg, highest_risk, risk_at
from defense_kit.warmup.measure import Measurement
from defense_kit.warmup.page import page
from defense_kit.warmup.pictures import LabelledPicture
from defense_kit.warmup.report import AttackTiming, Measured, MeasuredPicture, report, table
from defense_kit.warmup.results import open_results
from tests.defense_kit.warmup.defenses import InProcess, picture

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "defenses.md"
BIRDS = [LabelledPicture(f"bird/{number}.png", picture(number)) for number in range(5)]
TIMING = AttackTiming(5, 5, 64, 0.1)
NOTHING_FOUND = AnswerChecks(randomised=False, changed=False, flat=0, tried=5)


def answer(confidence: float, margin: float, **values: Any) -> MeasuredPicture:
    """What was answered about a bird: `margin` is bicycle minus bird, the higher of the two is the confidence."""
    bicycle, bird = (confidence, confidence - margin) if margin > 0 else (confidence + margin, confidence)
    scores = np.array([bicycle, bird], np.float32)
    found = MeasuredPicture(AttackResult(np.zeros((0, 0, 3), np.float32), scores, 1), None, "a.png", scores)
    return replace(found, **values)


def measured(**found: Sequence[MeasuredPicture]) -> Measured:
    by_picture = {
        name: {each.picture.key: answered for each, answered in zip(BIRDS, answers, strict=False)}
        for name, answers in found.items()
    }
    originals = {each.picture.key: "original.png" for each in BIRDS}
    timing = dict.fromkeys(found, TIMING)
    return Measured("d", "sha256:0", "a card", "default", 64, NOTHING_FOUND, by_picture, originals, timing)


def reported(**found: Sequence[MeasuredPicture]) -> dict[str, Any]:
    return report(BIRDS[: max(map(len, found.values()))], measured(**found))


def test_the_example_of_the_specification() -> None:
    answers = [answer(5, 2), answer(4, -1), answer(3, -3), answer(3, 0), answer(1, -0.5)]
    found = reported(clean=answers)
    figures = found["attacks"]["clean"]
    assert (figures["threshold"], figures["covered"], figures["coverage_reached"]) == (3, 4, 0.8)
    assert (figures["accuracy_at_80"], figures["wrong"], figures["accuracy_at_100"]) == (0.5, 2, pytest.approx(0.6))
    assert figures["curve"] == [[0.2, 1], [0.4, 0.5], [0.8, 0.5], [1, 0.4]]
    covered = [each["attacks"]["clean"]["covered"] for each in found["pictures"]]
    assert covered == [True, True, True, True, False]
    assert {name: found["worst"][name] for name in figures.keys() & found["worst"].keys()}.items() <= figures.items()


def test_where_the_threshold_is_a_bad_row_all_are_covered() -> None:
    found = reported(clean=[answer(5, -1), answer(nan, nan)])
    assert found["attacks"]["clean"]["threshold"] is None
    assert [each["attacks"]["clean"]["covered"] for each in found["pictures"]] == [True, True]
    assert found["pictures"][1]["attacks"]["clean"]["margin"] is None
    json.dumps(found, allow_nan=False)


@pytest.mark.parametrize(
    ("clean", "grid", "worst", "why"),
    [
        ((1, 1), (2, 1), "spatial_grid", "both are wrong: the more confident one"),
        ((2, 0), (1, 1), "clean", "a tie is as wrong as any"),
        ((9, -1), (1, 1), "spatial_grid", "the wrong one, however unsure"),
        ((9, -1), (8, -2), "spatial_grid", "both are right: the less confident one"),
        ((1, 1), (1, 1), "clean", "the first of equal ones"),
        ((nan, nan), (9, -1), "clean", "a bad row is wrong"),
        ((nan, nan), (1, 1), "spatial_grid", "a bad row has the lowest confidence"),
    ],
)
def test_the_worst_answer_of_a_picture(
    clean: tuple[float, float], grid: tuple[float, float], worst: str, why: str
) -> None:
    found = reported(clean=[answer(*clean)], spatial_grid=[answer(*grid)])
    assert found["pictures"][0]["worst"] == worst, why
    assert found["worst"]["wrong"] == found["attacks"][worst]["wrong"]
    assert "our own measure" in found["worst"]["note"]


def test_a_picture_counts_among_the_worst_with_the_attacks_that_ran_on_it() -> None:
    found = reported(clean=[answer(1, -1), answer(2, -1)], boundary=[answer(3, 1)])
    assert [each["worst"] for each in found["pictures"]] == ["boundary", "clean"]
    assert (found["worst"]["n"], found["worst"]["accuracy_at_100"]) == (2, 0.5)


@pytest.mark.parametrize(
    ("attack", "margin", "l2", "success", "why"),
    [
        ("boundary", 1, 10.00009, True, "wrong, and within the tolerance"),
        ("boundary", 0, 10.0, True, "a tie is wrong"),
        ("boundary", 1, 10.0002, False, "wrong, and too far away"),
        ("boundary", -1, 1.0, False, "near enough, and right"),
        ("spsa", 1, 1.0, None, "not the boundary attack"),
    ],
)
def test_success_of_the_boundary_attack(attack: str, margin: float, l2: float, success: bool | None, why: str) -> None:
    one = answer(1, margin, distance=Distance(0.1, l2))
    found = reported(**{attack: [replace(one, result=replace(one.result, chosen={"steps": 0, "flat_steps": 0}))]})
    assert found["pictures"][0]["attacks"][attack]["success"] is success, why
    assert found["attacks"][attack]["successes"] == (None if success is None else int(success))


@pytest.mark.parametrize(
    ("passes", "seconds", "flags", "why"),
    [
        ([640, 64], [10.0, 1.0], ["slow"], "64 pictures a second at best"),
        ([640, 64], [10.0, 0.5], [], "the fastest attack counts"),
        ([1000], [10.0], [], "100 pictures a second are enough"),
        ([0], [0.001], [], "nothing was sent in this run"),
        ([0, 64], [0.001, 1.0], ["slow"], "what is kept of an earlier run has no speed"),
    ],
)
def test_a_slow_defense_is_noted(passes: list[int], seconds: list[float], flags: list[str], why: str) -> None:
    runs = [AttackTiming(1, each, each, took) for each, took in zip(passes, seconds, strict=True)]
    timed = replace(measured(clean=[answer(1, -1)]), timing=dict(zip(("clean", "spatial_grid"), runs, strict=False)))
    found = report(BIRDS[:1], timed)
    assert [each.partition(":")[0] for each in found["timing"]["warnings"]] == flags, why
    assert ("Warning: slow: 64 pictures/s" in table(found)) == bool(flags)
    assert found["warnings"] == [], "a speed may differ from run to run"


# What an attack changed


def test_distances_are_from_the_picture_that_an_attack_changes() -> None:
    of = BIRDS[0].picture
    clean = as_floats(of.pixels)
    assert start_of("spatial_grid", of, spsa.first_move) is None and distance(None, clean) is None
    starts = [start_of(attack, of, spsa.first_move) for attack in ("clean", "spsa", "boundary")]
    assert starts[0] is not None and np.array_equal(starts[0], clean)
    assert starts[1] is not None and starts[2] is not None and not np.array_equal(starts[1], starts[2])
    changed = np.full((2, 2, 3), 0.5, np.float32)
    changed[0, 0] = [0.75, 0.5, 0.25]
    assert distance(np.full((2, 2, 3), 0.5, np.float32), changed) == Distance(0.25, pytest.approx(0.125**0.5))


def test_a_png_is_written_once_and_never_overwritten(tmp_path: Path) -> None:
    of = BIRDS[0].picture
    path = tmp_path / write_png(tmp_path, of, "spsa", of.pixels)
    with Image.open(path) as opened:
        assert np.array_equal(np.asarray(opened), of.pixels)
    before = path.stat()
    assert tmp_path / write_png(tmp_path, of, "spsa", of.pixels) == path
    other = tmp_path / write_png(tmp_path, of, "spsa", of.pixels ^ 1)
    assert other != path and path.stat() == before
    assert {each.suffix for each in path.parent.iterdir()} == {".png"}


# A whole run


def fooled_off_the_grid(rows: Rows) -> Scores:
    """Blue is a bird, red a bicycle; the other way round for values that no 8-bit picture has."""
    blue = rows[..., 2].mean(axis=(1, 2)) - rows[..., 0].mean(axis=(1, 2))
    off = np.abs(rows * 255 - np.rint(rows * 255)).mean(axis=(1, 2, 3)) > 0.01
    bird = np.where(off, -blue, blue)
    return np.stack([-bird, bird], axis=1).astype(np.float32)


def coloured(number: int, *, is_bird: bool) -> LabelledPicture:
    found = picture(number, is_bird=is_bird)
    pixels = found.pixels.copy()
    pixels[..., 0 if is_bird else 2] //= 3
    return LabelledPicture(f"{'bird' if is_bird else 'bicycle'}/{number}.png", replace(found, pixels=pixels))


Run = tuple[dict[str, Any], list[LabelledPicture], Path, dict[str, dict[bytes, Rows]]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Every attack, shortened, on a bird and a bicycle: the report, the pictures, the folder, and what was returned."""
    folder = tmp_path_factory.mktemp("run")
    pictures = [coloured(1, is_bird=True), coloured(2, is_bird=False)]
    with pytest.MonkeyPatch.context() as patch, open_results(folder / "results", "d", resume=False) as results:
        for module, name, value in (
            (spsa, "STEPS", 1),
            (boundary, "STEPS", 1),
            (boundary, "DIRECTIONS", 2),
            (spatial_grid, "DEGREES", (0,)),
            (spatial_grid, "QUERIES", 25),
        ):
            patch.setattr(module, name, value)
        session: Any = InProcess(fooled_off_the_grid)
        measurement = Measurement(session, pictures, results, batch=16, folder=folder)
        found = report(
            pictures, measurement.run(ATTACKS, defense="<script>alert('&\"')</script>", digest="sha256:1", device=None)
        )
        kept = {name: dict(results.of(measurement._kept_as(name))) for name in ATTACKS}
    yield found, pictures, folder, {name: {key: each.picture for key, each in of.items()} for name, of in kept.items()}


def fields(value: Any, path: str = "") -> set[str]:
    """Return the paths of a report's fields, attacks and classes by one word each."""
    if isinstance(value, dict):
        return set().union(*(fields(each, f"{path}.{key}") for key, each in value.items()))
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return set().union(*(fields(each, f"{path}[]") for each in value))
    named = re.sub(rf"attacks\.({'|'.join(ATTACKS)})\b", "attacks.ATTACK", path)
    return {re.sub(r"\b(bird|bicycle)$", "CLASS", named)[1:]}


def documented_fields() -> Iterator[str]:
    """Yield the paths in the tables of the document; each table's head names what its fields are below."""
    words = DOCUMENT.read_text().partition("### The fields of `report.json`")[2].partition("\n## ")[0]
    below = ""
    for cell in re.findall(r"^\| (.*?) \|", words, re.MULTILINE):
        if cell.startswith("Field"):
            below = "".join(f"{name}." for name in re.findall(r"`([a-z]\S+)`", cell)[:1])
        else:
            yield from (below + name for name in re.findall(r"`(.+?)`", cell))


def test_every_field_is_documented_and_every_documented_field_is_there(run: Run) -> None:
    documented = list(documented_fields())
    found = fields(run[0]) - {"pictures[].attacks.ATTACK.distance"}  # null for the grid
    assert len(documented) == len(set(documented)) and found - set(documented) == set()
    assert set(documented) - found == {"pictures[].attacks.ATTACK.chosen.no_start"}, "that run had a start"


def test_the_rounded_picture_is_in_the_png_and_was_sent_again(run: Run) -> None:
    found, pictures, folder, returned = run
    for row, each in zip(found["pictures"], pictures, strict=True):
        assert row["attacks"]["clean"]["png"] == row["original"]
        for attack, result in row["attacks"].items():
            with Image.open(folder / result["png"]) as opened:
                pixels = np.asarray(opened).astype(np.float64)
            assert np.abs(pixels - returned[attack][each.picture.key] * 255.0).max() <= 0.5 + 1e-4, "to nearest"
            is_off = attack in ("spsa", "boundary")
            assert (result["wrong"], result["wrong_when_rounded"]) == (is_off, False), attack
    counts = found["attacks"]["spsa"]
    assert (counts["wrong"], counts["wrong_when_rounded"]) == (2, 0)


def test_the_distances_of_a_run_keep_the_bounds_of_the_attacks(run: Run) -> None:
    for row in run[0]["pictures"]:
        attacks = row["attacks"]
        assert (
            attacks["clean"]["distance"] == {"l_infinity": 0, "l2": 0} and attacks["spatial_grid"]["distance"] is None
        )
        assert 0 < attacks["spsa"]["distance"]["l_infinity"] <= 16 / 255 + 1e-6
        assert attacks["boundary"]["distance"]["l2"] == pytest.approx(10, abs=1e-4) and attacks["boundary"]["success"]


# The page


def timeless(text: str) -> str:
    return re.sub(r'<section class="timing">.*?</section>', "", text, flags=re.DOTALL)


def test_the_same_results_give_the_same_bytes_but_for_the_timing(run: Run) -> None:
    found, pictures, folder, _ = run
    other = json.loads(json.dumps(found))
    other["timing"]["attacks"]["spsa"]["seconds"] += 100
    one, two = (page(each, pictures, folder) for each in (found, other))
    assert one == page(found, pictures, folder)
    assert one != two and timeless(one) == timeless(two)


def test_the_page_needs_nothing_else_and_runs_nothing(run: Run) -> None:
    found, pictures, folder, _ = run
    text = page(found, pictures, folder)
    assert "<script" not in text and "&lt;script&gt;alert(&#x27;&amp;&quot;&#x27;)" in text
    assert "default-src 'none'" in text and not re.findall(r"https?:|url\(|@import", text)
    sources = re.findall(r'src="(.{22})', text)
    assert set(sources) == {"data:image/png;base64,"} and len(sources) == 2 * 3, "original, attacked, change"


def test_what_comes_from_a_folder_or_file_is_escaped(run: Run) -> None:
    found, pictures, folder, _ = run
    other = json.loads(json.dumps(found))
    other["pictures"][0]["file"] = other["digest"] = other["attacks_ran_on"] = "<i>&"
    other["warnings"] = ["flat: <i>&"]
    for row in other["pictures"]:
        for result in row["attacks"].values():
            result["chosen"] = {"<i>&": "<i>&"}
    text = page(other, pictures, folder)
    assert "<i>" not in text and text.count("&lt;i&gt;&amp;") >= 6


def test_the_page_holds_the_most_confident_wrong_answers_alone(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    found, pictures, folder, _ = run
    monkeypatch.setattr(worst_pictures, "MAX_PICTURES", 1)
    text = page(found, pictures, folder)
    confidences = {row["file"]: row["attacks"][row["worst"]]["confidence"] for row in found["pictures"]}
    assert text.count("<article>") == 1 and f"<h3>{max(confidences, key=lambda name: confidences[name])}" in text
    assert "2 of 2 pictures were answered wrongly" in text


def test_a_change_is_eightfold_around_grey() -> None:
    start = np.array([[[10, 10, 10]]], np.uint8)
    seen = worst_pictures.change(start, np.array([[[11, 9, 200]]], np.uint8))
    assert seen.tolist() == [[[136, 120, 255]]]


SPSA_STEPS = {"best_step": 1, "steps": 2, "flat_steps": 0}


@pytest.mark.parametrize(
    ("attack", "chosen", "words"),
    [
        ("spsa", [SPSA_STEPS, SPSA_STEPS], ""),
        (
            "spsa",
            [SPSA_STEPS, {**SPSA_STEPS, "best_step": 0}],
            "no step of SPSA made a score worse on 1 of 2 pictures that",
        ),
        ("spsa", [{**SPSA_STEPS, "best_step": 0, "steps": 0}] * 2, ""),
        ("spsa", [{**SPSA_STEPS, "flat_steps": 1}] * 2, "in 2 of 4 SPSA steps (50%) all probes got the same loss"),
        ("spsa", [{"best_step": 0, "steps": 2, "flat_steps": 2}] * 2, "in 4 of 4 SPSA steps (100%)"),
        ("boundary", [{"steps": 1000, "distance": 12.0}] * 2, ""),
        (
            "boundary",
            [{"steps": 999, "distance": 12.0}, {"steps": 999}, {"steps": 0}],
            "found nothing wrong nearby after fewer than 1,000 of 7,500 steps on 1 of 3 pictures",
        ),
        ("boundary", [{"steps": 0, "no_start": True}, {"steps": 3}], "no picture to start from for 1 pictures"),
    ],
)
def test_what_attacks_met_is_a_warning(attack: str, chosen: list[dict[str, Any]], words: str) -> None:
    right = answer(4, -1)
    found = reported(**{attack: [replace(right, result=replace(right.result, chosen=each)) for each in chosen]})
    assert (words in " ".join(found["warnings"])) if words else found["warnings"] == []


@pytest.mark.parametrize(
    ("checks", "flags"),
    [
        (NOTHING_FOUND, []),
        (replace(NOTHING_FOUND, flat=1), ["flat"]),
        (replace(NOTHING_FOUND, changed=True), ["changed"]),
        (replace(NOTHING_FOUND, randomised=True, changed=True, flat=5), ["randomised", "flat"]),
    ],
)
def test_what_the_checks_found_is_a_warning(checks: AnswerChecks, flags: list[str]) -> None:
    found = report(BIRDS, replace(measured(clean=[answer(4, -1)] * 5), checks=checks))
    assert [each.partition(":")[0] for each in found["warnings"]] == flags


def test_every_warning_is_explained() -> None:
    source = inspect.getsource(report_module)
    codes = set(re.findall(r'f?"([a-z][a-z_ -]+): ', source))
    assert codes == set(EXPLANATIONS)


def test_the_page_states_figures_and_warnings_in_words() -> None:
    found = report(BIRDS, replace(measured(clean=[answer(4, -1)] * 5), checks=replace(NOTHING_FOUND, randomised=True)))
    text = page(found, BIRDS, Path())
    assert "An attack that compares scores is misled by noise" in text and "No answer was wrong" in text
    assert "the code differs from the contest's" in text and "not measured" in text and "not repeated" not in text
    details = text.partition("The deviations of the published code</summary>")[2].partition("</ol>")[0]
    assert details.count("<li>") == len(DEVIATIONS)
    assert len(re.findall(r'role="img"', text)) == len(set(re.findall(r'<desc id="(.+?)"', text))) == 2


def test_the_curve_s_values() -> None:
    curve = [(0.2, 1.0), (0.4, 0.5), (0.8, 0.5), (1.0, 0.4)]
    assert [risk_at(curve, at) for at in (0.1, 0.2, 0.5, 0.8, 0.9, 1.0)] == [1.0, 1.0, 0.5, 0.5, 0.4, 0.4]
    assert [highest_risk([[(1.0, risk)]]) for risk in (0.0, 0.1, 0.2, 0.4, 1.0)] == [0.1, 0.1, 0.25, 0.5, 1.0]


def test_a_published_risk_above_1_is_drawn_at_the_edge() -> None:
    curve = [[0.01, 24.5], [0.5, 0.5], [1.0, 0.25]]
    figures = {"curve": curve, "coverage_reached": 1.0, "accuracy_at_80": 0.75}
    drawn = curve_svg(0, "clean", figures, highest_risk([curve]))
    heights = [float(point.split(",")[1]) for point in re.findall(r'points="(.+?)"', drawn)[0].split()]
    assert heights[0] == heights[1] < heights[2] < heights[3] and heights[0] >= 0
