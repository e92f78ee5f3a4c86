"""`python -m defense_kit warmup` (R40): from pictures to a report, stopped and resumed, and what it refuses."""

import json
import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from defense_kit import check
from defense_kit.warmup import boundary, measure, spsa
from defense_kit.warmup import pictures as picture_sets
from defense_kit.warmup.as_published import DEVIATIONS
from defense_kit.warmup.as_published import spsa as published_spsa
from defense_kit.warmup.corruptions import NAMES
from defense_kit.warmup.results import Results, UnusableResults, open_results
from tests.defense_kit.programs import write

CLASSIFIER = """
import numpy as np
from defense_kit import from_warmup, serve

def classify(images):
    blue = (images[..., 2] - images[..., 0]).mean(axis=(1, 2))
    return np.stack([0.5 - 4 * blue, 0.5 + 4 * blue], axis=1)

attacked = []

def remembering(images):
    # Otherwise once a picture has a dark border: that is an attack's first move.
    edge, middle = images[:, :10].mean(axis=(1, 2, 3)), images[:, 100:120].mean(axis=(1, 2, 3))
    attacked.extend(np.flatnonzero((edge < 0.1) & (middle > 0.2)))
    return classify(images) + 0.01 * bool(attacked)

serve(from_warmup({classify}, 0.8), name="blue is sky")
"""


def program(folder: Path, classify: str = "classify") -> Path:
    return write(folder / "mine", CLASSIFIER.replace("{classify}", classify))


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two blue birds, two red bicycles; one bird is as red as a bicycle."""
    folder, rng = tmp_path_factory.mktemp("pictures"), np.random.default_rng(1)
    for name, colour in (("bird/a", 2), ("bird/b", 2), ("bird/c", 0), ("bicycle/a", 0), ("bicycle/b", 0)):
        pixels = rng.integers(60, 80, (230, 230, 3), dtype=np.uint8)
        pixels[..., colour] += 60
        (folder / name).parent.mkdir(exist_ok=True)
        Image.fromarray(pixels).save(folder / f"{name}.png")
    return folder


@pytest.fixture
def warmup(pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    monkeypatch.setattr(spsa, "STEPS", 2)
    monkeypatch.setattr(spsa, "PAIRS", 4)

    def run(defense: Path, *options: str, out: str = "out") -> int:
        asked = ["warmup", str(defense), "--pictures", str(pictures), "--attacks", "clean,spsa", "--batch-size", "32"]
        return check.main([*asked, "--out", str(tmp_path / out), *options])

    return run


def told(folder: Path, out: str = "out") -> dict[str, Any]:
    """The report without what may differ from run to run."""
    found: dict[str, Any] = json.loads((folder / out / "report.json").read_text())
    del found["timing"]
    return found


@pytest.mark.slow("a run of a program on five pictures")
def test_a_report_of_every_picture_and_attack(
    warmup: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert warmup(program(tmp_path)) == 0
    found = told(tmp_path)
    assert found["pictures_of_class"] == {"bicycle": 2, "bird": 3} and found["defense"] == "blue is sky"
    clean = found["attacks"]["clean"]
    assert (clean["n"], clean["accuracy_at_100"], clean["queries"]["sum"], clean["bad_rows"]) == (5, 0.8, 5, 0)
    assert found["attacks"]["spsa"]["queries"]["max"] == 1 + 2 * 9
    ids = [each["id"] for each in found["pictures"]]
    assert ids == sorted(ids)
    wrong = {each["file"]: each["attacks"]["clean"]["wrong"] for each in found["pictures"]}
    assert [name for name, is_wrong in wrong.items() if is_wrong] == ["bird/c.png"]
    assert all(each["attacks"]["clean"]["wrong_when_rounded"] == wrong[each["file"]] for each in found["pictures"])
    assert found["warnings"] == []
    assert "blue is sky" in (tmp_path / "out" / "report.html").read_text()
    said = capsys.readouterr()
    assert "clean                 5" in said.out and "80.0%" in said.out and "spsa: 5 pictures" in said.err


@pytest.mark.slow("three runs of a program")
def test_a_run_that_is_stopped_goes_on_and_reports_the_same(
    warmup: Callable[..., int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    defense = program(tmp_path)
    assert warmup(defense, out="whole") == 0
    add, kept = Results.add, []

    def stopped(self: Results, attack: str, *values: Any) -> None:
        if len(kept) == 7:
            raise KeyboardInterrupt
        kept.append(attack)
        add(self, attack, *values)

    monkeypatch.setattr(Results, "add", stopped)
    assert warmup(defense) == 130
    assert "go on with --resume" in capsys.readouterr().err and not (tmp_path / "out" / "report.json").exists()
    monkeypatch.setattr(Results, "add", lambda self, attack, *values: (kept.append(attack), add(self, attack, *values)))
    kept.clear()
    assert warmup(defense, "--resume", "--batch-size", "7") == 0
    assert kept == ["spsa"] * 3, "what was done is not done again"
    whole, resumed = told(tmp_path, "whole"), told(tmp_path)
    assert (whole.pop("batch_size"), resumed.pop("batch_size")) == (32, 7)
    assert whole == resumed
    files = [
        {path.relative_to(folder) for path in folder.rglob("*.png")}
        for folder in (tmp_path / "whole", tmp_path / "out")
    ]
    assert files[0] == files[1] and len(files[0]) == 2 * 5, "an original and an attacked picture each"


@pytest.mark.slow("two runs of a program")
def test_results_are_never_overwritten_and_another_defense_has_its_own(
    warmup: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    defense = program(tmp_path)
    assert warmup(defense) == 0
    assert warmup(defense, "--attacks", "clean") == 2
    assert "has 10 results of this defense: go on with --resume, or name another folder" in capsys.readouterr().err
    assert warmup(program(tmp_path, "lambda images: classify(images)[:, ::-1]")) == 0
    assert told(tmp_path)["attacks"]["clean"]["accuracy_at_100"] == pytest.approx(0.2)


@pytest.mark.slow("two runs of a program")
@pytest.mark.parametrize("where", ["pictures", "out"])
def test_another_program_is_another_defense_wherever_its_pictures_and_results_lie(
    where: str, tmp_path: Path, pictures: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the folder that holds it is the folder of pictures, or of results."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(pictures, "photographs")
    found = []
    for classify in ("classify", "lambda images: classify(images)[:, ::-1]"):
        program(Path("photographs") if where == "pictures" else tmp_path, classify)
        defense = "photographs/mine" if where == "pictures" else "mine"
        out = "out" if where == "pictures" else "mine"
        asked = ["warmup", defense, "--pictures", "photographs", "--attacks", "clean", "--resume", "--out", out]
        assert check.main(asked) == 0
        found.append(json.loads(Path(out, "report.json").read_text())["attacks"]["clean"]["accuracy_at_100"])
    assert found == pytest.approx([0.8, 0.2])


@pytest.mark.slow("three runs of a program")
def test_a_picture_of_another_class_is_attacked_again(
    warmup: Callable[..., int], pictures: Path, tmp_path: Path
) -> None:
    """What was found for the other class is no result for this one."""
    own = shutil.copytree(pictures, tmp_path / "own")
    defense = program(tmp_path)
    assert warmup(defense, "--pictures", str(own)) == 0
    (own / "bird" / "c.png").rename(own / "bicycle" / "c.png")
    assert warmup(defense, "--pictures", str(own), "--resume") == 0
    assert warmup(defense, "--pictures", str(own), out="fresh") == 0
    assert told(tmp_path) == told(tmp_path, "fresh")


def test_its_own_output_does_not_make_it_another_defense(
    pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    defense = program(tmp_path)
    monkeypatch.chdir(defense)
    asked = ["warmup", ".", "--pictures", str(pictures), "--attacks", "clean"]
    assert check.main(asked) == 0
    Path("warmup", "report.json.part").touch()  # as a kill in the middle leaves it
    assert check.main([*asked, "--resume"]) == 0
    assert check.main(asked) == 2, "its results are there"


@pytest.mark.slow("three runs of a program")
def test_the_boundary_attack_is_done_again_on_another_set(
    warmup: Callable[..., int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boundary, "STEPS", 1)
    monkeypatch.setattr(picture_sets, "BOUNDARY_PICTURES", 1)
    defense = program(tmp_path)
    assert warmup(defense, "--attacks", "clean,boundary", "--images", "2") == 0
    few = told(tmp_path)
    assert warmup(defense, "--attacks", "clean,boundary", "--resume") == 0
    assert (few["attacks"]["clean"]["n"], told(tmp_path)["attacks"]["clean"]["n"]) == (2, 5)
    assert (few["attacks"]["boundary"]["n"], told(tmp_path)["attacks"]["boundary"]["n"]) == (2, 2)
    assert warmup(defense, "--attacks", "clean,boundary", "--images", "2", "--resume") == 0
    assert told(tmp_path) == few


def test_the_worst_corruption_of_each_picture_is_named(warmup: Callable[..., int], tmp_path: Path) -> None:
    assert warmup(program(tmp_path), "--attacks", "corruptions", "--images", "2") == 0
    found = told(tmp_path)
    assert found["attacks"]["corruptions"]["queries"] == {"min": 17, "median": 17, "max": 17, "sum": 34}
    chosen = [each["attacks"]["corruptions"]["chosen"] for each in found["pictures"]]
    assert len(chosen) == 2 and {each["corruption"] for each in chosen} <= set(NAMES)
    assert found["made_with"]["scipy"], "whose filters they are"


@pytest.mark.parametrize(
    ("classify", "words"),
    [
        ("lambda images: classify(images) + np.random.normal(0, 0.01, (len(images), 2))", "randomised:"),
        (
            "lambda images: np.eye(2)[(classify(images)[:, 1] > 0.5).astype(int)]",
            "flat: 2 of 2 clean pictures got the same scores with small changes; in 4 of 4 SPSA steps (100%)",
        ),
        ("remembering", "changed: after an attack, clean pictures got other scores than before the first one"),
    ],
)
def test_a_defense_that_misleads_the_attacks_is_flagged(
    classify: str, words: str, warmup: Callable[..., int], tmp_path: Path
) -> None:
    assert warmup(program(tmp_path, classify), "--images", "2") == 0
    assert words in " ".join(told(tmp_path)["warnings"])


@pytest.mark.parametrize(
    ("bird", "bicycle", "accuracy"), [("blue", "red", 1.0), ("red", "blue", 0.0), ("blue", "navy", 0.5)]
)
def test_the_uninteresting_example_is_flagged_as_both_whatever_its_accuracy(
    bird: str, bicycle: str, accuracy: float, warmup: Callable[..., int], tmp_path: Path
) -> None:
    """Its noise changes no answer to a clear picture: that shows where its classes meet alone. No attack is needed."""
    for name, colour in (("bird", bird), ("bicycle", bicycle)):
        (tmp_path / "own" / name).mkdir(parents=True)
        Image.new("RGB", (224, 224), colour).save(tmp_path / "own" / name / "one.png")
    asked = ["--pictures", str(tmp_path / "own"), "--attacks", "clean"]
    assert warmup(check.EXAMPLES["uninteresting"], *asked) == 0
    found = told(tmp_path)
    assert found["attacks"]["clean"]["accuracy_at_100"] == accuracy
    assert [each.partition(":")[0] for each in found["warnings"]] == ["randomised", "flat"]


@pytest.mark.parametrize("example", ["numpy", "torch"])
@pytest.mark.slow("one of them loads torch")
def test_the_other_examples_can_be_measured(example: str, warmup: Callable[..., int], tmp_path: Path) -> None:
    assert warmup(check.EXAMPLES[example], "--images", "2", "--attacks", "clean") == 0
    assert told(tmp_path)["attacks"]["clean"]["bad_rows"] == 0


@pytest.mark.slow("three runs of a program")
def test_a_quick_run_has_few_steps_is_marked_and_kept_apart(
    warmup: Callable[..., int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure, "QUICK_STEPS", {"spsa": 1})
    defense = program(tmp_path)
    assert (warmup(defense, "--images", "2", "--quick"), warmup(defense, "--images", "2")) == (0, 0)
    whole = told(tmp_path)
    assert warmup(defense, "--images", "2", "--quick", "--resume") == 0
    steps = [found["attacks"]["spsa"]["queries"]["max"] for found in (told(tmp_path), whole)]
    assert steps == [1 + 9, 1 + 2 * 9]
    assert (told(tmp_path)["mode"], whole["mode"]) == ("quick", "default")
    assert told(tmp_path)["warnings"][0].startswith("quick: ") and whole["warnings"] == []


@pytest.mark.slow("three runs of a program")
def test_a_run_as_published_is_marked_and_kept_apart(
    warmup: Callable[..., int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(published_spsa, "STEPS", 1)
    defense = program(tmp_path)
    assert (warmup(defense, "--as-published"), warmup(defense)) == (0, 0), "neither has results of the other"
    contest = told(tmp_path)
    assert warmup(defense, "--as-published", "--resume") == 0
    published = told(tmp_path)
    assert (published["mode"], contest["mode"]) == ("as-published", "default")
    assert published["warnings"][0].startswith("as-published: ") and "not the contest's" in published["warnings"][0]
    assert contest["warnings"] == []
    assert [each["id"] for each in published["pictures"]] != [each["id"] for each in contest["pictures"]]
    assert len(published["attacks"]["spsa"]["curve"]) == 100 > len(contest["attacks"]["spsa"]["curve"])
    assert published["attacks"]["spsa"]["queries"]["max"] == 9 + 1
    for row in published["pictures"]:
        assert 0 < row["attacks"]["spsa"]["distance"]["l_infinity"] <= 16 / 255 + 1e-6, "from the published first move"
    page = (tmp_path / "out" / "report.html").read_text()
    listed = page.partition("The deviations of the published code</summary>")[2].partition("</ol>")[0]
    assert listed.count("<li>") == len(DEVIATIONS) and all(each in listed for each in DEVIATIONS.values())
    assert "its figures are not the contest's" in page and "What is not repeated" in page


def test_a_run_is_quick_or_as_published(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        check.main(["warmup", "x", "--pictures", str(tmp_path), "--quick", "--as-published"])
    assert "--as-published: not allowed with argument --quick" in capsys.readouterr().err


def test_a_score_that_is_not_finite_is_wrong_and_counted(warmup: Callable[..., int], tmp_path: Path) -> None:
    assert warmup(program(tmp_path, "lambda images: np.full((len(images), 2), np.nan)"), "--images", "2") == 0
    clean = told(tmp_path)["attacks"]["clean"]
    assert (clean["bad_rows"], clean["accuracy_at_80"], clean["coverage_reached"]) == (2, 0, 1)
    assert told(tmp_path)["attacks"]["spsa"]["bad_rows"] == 2 * 19
    assert told(tmp_path)["warnings"] == [
        f"bad rows: {2 * 20} answers were not finite; an attack cannot use them, and they count as wrong"
    ]
    assert told(tmp_path)["pictures"][0]["attacks"]["clean"]["scores"] == [None, None]


def test_a_defense_without_a_classifier_is_told_what_to_do(
    warmup: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = write(tmp_path / "old", "from defense_kit import serve\nserve(lambda images: [1] * len(images))")
    assert warmup(old) == 1
    assert "protocol: the program takes 8-bit pictures alone" in capsys.readouterr().err


def test_a_defense_that_fails_shows_its_log(
    warmup: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert warmup(program(tmp_path, "lambda images: images.sum()")) == 1
    assert "classify returned shape ()" in capsys.readouterr().err


def _png(size: tuple[int, int]) -> Callable[[Path], None]:
    return lambda path: Image.new("RGB", size).save(path)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (_png((230, 231)), "is 230 x 231: a picture is square, 224 at least"),
        (_png((223, 223)), "is 223 x 223: a picture is square, 224 at least"),
        (lambda path: path.write_bytes(b"no picture"), "as a picture"),
    ],
)
def test_a_file_that_is_no_such_picture_is_named(
    spoil: Callable[[Path], None], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, size in (("bird", 224), ("bicycle", 225)):
        (tmp_path / "own" / name).mkdir(parents=True)
        _png((size, size))(tmp_path / "own" / name / "a.png")
    spoil(tmp_path / "own" / "bird" / "b.png")
    assert check.main(["warmup", str(program(tmp_path)), "--pictures", str(tmp_path / "own")]) == 2
    said = capsys.readouterr().err
    assert words in said and "b.png" in said


def test_a_folder_without_a_class_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check.main(["warmup", str(program(tmp_path)), "--pictures", str(tmp_path)]) == 2
    assert "needs PNG or JPEG files in bird and in bicycle" in capsys.readouterr().err


def test_the_same_picture_twice_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("bird", "bicycle"):
        (tmp_path / name).mkdir()
        _png((224, 224))(tmp_path / name / "a.png")
    assert check.main(["warmup", str(program(tmp_path)), "--pictures", str(tmp_path)]) == 2
    assert "bicycle/a.png and bird/a.png are the same picture" in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"no database", b""], ids=["another file", "empty"])
def test_a_file_that_holds_no_results_is_named_or_filled(content: bytes, tmp_path: Path, pictures: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "results.sqlite3").write_bytes(content)
    asked = ["warmup", str(program(tmp_path)), "--pictures", str(pictures), "--attacks", "clean", "--out", str(out)]
    assert check.main(asked) == (2 if content else 0)


def test_an_attack_that_there_is_not_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        check.main(["warmup", "x", "--pictures", str(tmp_path), "--attacks", "clean,pgd"])
    assert "'pgd' is no attack; there are clean, spatial_grid" in capsys.readouterr().err


@pytest.mark.parametrize("missing", ["PIL", "scipy"])
def test_without_a_package_it_says_what_to_install(
    missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(check, "find_spec", lambda name: None if name == missing else find_spec(name))
    assert check.main(["warmup", str(program(tmp_path)), "--pictures", str(tmp_path)]) == 2
    assert 'pip install "unanimous-defense-kit[warmup]"' in capsys.readouterr().err


def test_results_of_other_libraries_are_not_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy's draws and Pillow's pixels may change with their versions."""
    with open_results(tmp_path / "results", "empty", resume=False):
        pass
    with open_results(tmp_path / "results", "d", resume=False) as results:
        results.keep_states("spsa", {bytes(33): (b"", 0)})
    monkeypatch.setattr(np, "__version__", "9.9")
    words = "was made with NumPy .*, and here are NumPy 9.9, .*: install the former versions, or name another folder"
    with pytest.raises(UnusableResults, match=words), open_results(tmp_path / "results", "d", resume=True):
        pass
    for other in ("empty", "another"):
        with open_results(tmp_path / "results", other, resume=True):
            pass


def test_a_second_run_on_the_same_file_is_refused(tmp_path: Path) -> None:
    with (
        open_results(tmp_path / "results", "d", resume=False),
        pytest.raises(UnusableResults, match="another run writes"),
        open_results(tmp_path / "results", "d", resume=True),
    ):
        pass
