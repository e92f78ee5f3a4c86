"""`python -m defense_kit check`: the report, its two forms, and the exit status; docs/defenses.md says what it does."""

import json
import re
import runpy
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as PillowImage

from defense_kit import check, container, frames
from defense_kit.examine import ROUNDS, ExaminationReport, ExaminedRound, smoke_test_defense, synthetic_pictures
from defense_kit.faults import WORDS, Fault, RunnerFault
from defense_kit.limits import DefenseLimits
from defense_kit.protocol import BatchAnswers
from defense_kit.sealing import SCORER_LABEL
from policy.numbers import Policy
from scoring.inference import load_torch
from tests.defense_kit.programs import EXAMPLES, GOOD, write
from tests.images import PYTHON, Image, files_layer, numpy_layer, python_layer, write_archive

PICTURES = synthetic_pictures(10, 16)


@pytest.fixture
def pictures(tmp_path: Path) -> str:
    np.save(tmp_path / "pictures.npy", PICTURES)
    return str(tmp_path / "pictures.npy")


@pytest.fixture
def checked(pictures: str, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, Any, str]]:
    """Runs the command on pictures of its own; the exit status, the report (text or JSON), and what was told."""

    def _checked(what: Path | str, *more: str) -> tuple[int, Any, str]:
        status = check.main(["check", str(what), "--pictures", pictures, *more])
        told = capsys.readouterr()
        return status, json.loads(told.out) if "--json" in more else told.out, told.err

    return _checked


@pytest.mark.parametrize(
    "example",
    ["numpy_defense", pytest.param("torch_defense", marks=pytest.mark.long("torch is loaded twice"))],
)
def test_the_examples_are_accepted(example: str) -> None:
    """As a stranger runs it: the whole command, in a process of its own."""
    command = [sys.executable, "-m", "defense_kit", "check", str(EXAMPLES / example), "--json"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=EXAMPLES.parents[1])
    report = json.loads(ran.stdout)
    assert report | {"accepted": True, "randomised": False, "pictures": 40} == report
    assert (ran.returncode, sum(report["answers"].values())) == (0, 40)
    assert [len(seconds) for seconds in report["batch_seconds"]] == [3, 3]


def test_the_text_says_what_the_json_says(tmp_path: Path, checked: Callable[..., Any]) -> None:
    status, said, told = checked(write(tmp_path / "d", GOOD) / "defense.py", "--batch-size", "4")
    for words in (
        "Defense: good",
        "Pictures: 10 of 16 x 16, in batches of 4; whole rounds: 2",
        "Answers: 10 bird, 0 bicycle, 0 abstain (0.0 %)",
        "round 2:",
        "fast enough",
        "every answer and score stayed the same",
        "Result: accepted",
    ):
        assert words in said
    assert status == 0 and "Round 2 of 2: starting, at most 300 s; then 3 batches, at most 240 s each" in told


FAULTY: list[tuple[str, str, Fault, str]] = [
    ("an error", "from defense_kit import serve\nserve(lambda x: 1 / 0)", Fault.CRASHED, "ZeroDivisionError"),
    ("an import that fails", "import weights_of_mine", Fault.CRASHED, "weights_of_mine"),
    ("too slow", "import time\ntime.sleep(60)", Fault.START_TIMEOUT, ""),
    (
        "NaN",
        "from defense_kit import serve\nserve(lambda x: ([1] * len(x), [[float('nan'), 0]] * len(x)))",
        Fault.NONFINITE,
        "",
    ),
]


@pytest.mark.parametrize(("reason", "program", "fault", "log"), FAULTY, ids=[row[0] for row in FAULTY])
def test_a_fault_is_told_with_its_words_and_the_logs_end(
    reason: str, program: str, fault: Fault, log: str, tmp_path: Path, checked: Callable[..., Any]
) -> None:
    seconds, words = "1" if "slow" in reason else "20", WORDS[fault]
    status, said, _ = checked(write(tmp_path / "d", program), "--start-seconds", seconds)
    expected = (fault.value, words.meaning, words.advice, words.payer.value, log, "Result: not accepted")
    assert (status, [each for each in expected if each not in said]) == (1, [])


@pytest.mark.parametrize(
    "answers",
    [
        "__import__('numpy').random.default_rng().integers(-1, 2, len(x))",
        "[1 if int(p.astype('i8').sum()) > x.mean() * p.size else 0 for p in x]",
    ],
    ids=["drawn at random", "by its companions"],
)
def test_answers_that_depend_on_more_than_the_picture_are_told(
    answers: str, tmp_path: Path, checked: Callable[..., Any]
) -> None:
    program = f"from defense_kit import serve\nserve(lambda x: {answers})"
    status, report, _ = checked(write(tmp_path / "d", program), "--batch-size", "3", "--json")
    assert (status, report["randomised"], report["image"]) == (0, True, None)
    assert report["changed_between_rounds"] > 0


WRONG_USE: list[tuple[str, list[str], str]] = [
    ("a folder without a program", ["{folder}/empty"], "there is no defense.py"),
    ("a file of no known kind", ["{folder}/notes.txt"], "is no folder"),
    ("nothing there", ["./nothing"], "there is no nothing"),
    ("an archive that is not there", ["mine.tar"], "there is no mine.tar"),
    ("no pictures file", ["{folder}/d", "--pictures", "none.npy"], "could not read"),
    ("pictures that are text", ["{folder}/d", "--pictures", "{folder}/notes.txt"], "could not read"),
    ("pictures of objects", ["{folder}/d", "--pictures", "{folder}/objects.npy"], "could not read"),
    ("pictures of floats", ["{folder}/d", "--pictures", "{folder}/floats.npy"], "uint8 pictures [N, S, S, 3]"),
    ("pictures that are not square", ["{folder}/d", "--pictures", "{folder}/flat.npy"], "uint8 pictures"),
    ("no pictures at all", ["{folder}/d", "--pictures", "{folder}/none.npy"], "uint8 pictures"),
]


@pytest.mark.parametrize(("reason", "asked", "words"), WRONG_USE, ids=[row[0] for row in WRONG_USE])
def test_wrong_use_ends_with_2_and_says_why(
    reason: str, asked: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("notes")
    np.save(tmp_path / "objects.npy", np.array([{}], object), allow_pickle=True)
    np.save(tmp_path / "floats.npy", PICTURES.astype(np.float32))
    np.save(tmp_path / "flat.npy", PICTURES[:, :8])
    np.save(tmp_path / "none.npy", PICTURES[:0])
    write(tmp_path / "d", GOOD)
    assert check.main(["check", *(word.format(folder=tmp_path) for word in asked)]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    "asked", [[], ["check"], ["check", "x", "--batch-size", "0"], ["check", "x", "--start-seconds", "no"]]
)
def test_a_wrong_command_line_ends_with_2(asked: list[str]) -> None:
    with pytest.raises(SystemExit, check=lambda ended: ended.code == 2):
        check.main(asked)


def test_a_traceback_that_the_log_has_is_told_once_and_a_long_log_is_cut(
    tmp_path: Path, checked: Callable[..., Any]
) -> None:
    program = """
    from defense_kit import serve
    def predict(images):
        for n in range(1000):
            print(f"line {n}")
        raise ValueError("of mine")
    serve(predict)
    """
    folder = write(tmp_path / "d", program)
    status, said, _ = checked(folder)
    assert (status, said.count("Traceback"), "line 900\n" in said) == (1, 1, False)
    assert "What was seen: ValueError: of mine" in said and f"its last {check.LOG_LINES} lines" in said
    assert 0 < said.index("line 999") < said.index("Traceback")  # what was printed first comes first
    _, report, _ = checked(folder, "--json")
    assert "line 900\n" in report["log"] and [each["code"] for each in report["faults"]] == ["crashed"]


def test_a_person_may_stop_it_and_nothing_runs_on(tmp_path: Path, pictures: str) -> None:
    pid = tmp_path / "pid"
    program = f"import os, time\nopen({str(pid)!r}, 'w').write(f'{{os.getpid()}} ')\ntime.sleep(600)"
    command = [sys.executable, "-m", "defense_kit", "check", str(write(tmp_path / "d", program))]
    with subprocess.Popen([*command, "--pictures", pictures], stderr=subprocess.PIPE, text=True) as running:
        until = time.monotonic() + 30
        while not pid.exists() or not pid.read_text().endswith(" "):
            assert time.monotonic() < until
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=30)
    assert (running.returncode, "Traceback" in said) == (check.STOPPED, False), said
    assert not Path("/proc", pid.read_text().strip()).exists()


def test_an_older_python_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 10, 0))
    with pytest.raises(SystemExit, check=lambda ended: ended.code == 2):
        runpy.run_module("defense_kit", run_name="__main__")
    assert "Python 3.11" in capsys.readouterr().err


@pytest.fixture
def made(tmp_path: Path, engine_address: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Image, Path]]:
    """Makes an image as the examples' Dockerfiles do, and its archive; `check` finds the tests' engine."""
    monkeypatch.setenv("DOCKER_HOST", engine_address)
    kit = Path(check.__file__).parent

    def _made(program: str, *, name: str = "", **changes: Any) -> tuple[Image, Path]:
        files = {f"defense/defense_kit/{path.name}": path.read_bytes() for path in kit.glob("*.py")}
        files["defense/defense.py"] = program.encode()
        layers = [python_layer(), numpy_layer(), files_layer(tmp_path, files)]
        image = Image(layers, [PYTHON, "defense.py"], **{"more": {"WorkingDir": "/defense"}, **changes})
        return image, write_archive(tmp_path / "mine.tar", [image], names=[name] if name else ())

    return _made


@pytest.fixture
def loaded(made: Callable[..., tuple[Image, Path]], containers: Any) -> Any:
    """Makes an image and gives it to the engine under a name; it goes when the test ends."""
    known = []

    def _loaded(program: str, name: str, **changes: Any) -> Image:
        image, archive = made(program, name=name, **changes)
        containers.images.load(archive.read_bytes())
        known.append(name)
        return image

    yield _loaded
    for name in known:
        containers.images.remove(name)


def test_an_archive_is_accepted_and_nothing_of_it_stays(
    made: Callable[..., tuple[Image, Path]], containers: Any, checked: Callable[..., Any]
) -> None:
    image, archive = made(GOOD)
    status, said, _ = checked(archive)
    for words in ("Defense: good", f"Image: {image.id}", "whole rounds: 2", "Result: accepted"):
        assert words in said
    assert (status, check.NOT_SEALED in said) == (0, False)
    assert image.id not in {each.id for each in containers.images.list()}
    assert containers.containers.list(all=True, filters={"label": f"{SCORER_LABEL}={check.SCORER}"}) == []


def test_an_image_is_accepted_and_keeps_its_names_only(
    loaded: Callable[..., Image], containers: Any, checked: Callable[..., Any]
) -> None:
    """Its own, and the one that a scorer of this engine gave it."""

    def names() -> set[str]:
        return {name for each in containers.images.list() if each.id == image.id for name in each.tags}

    image = loaded(GOOD, "check-good:latest")
    status, report, _ = checked("check-good", "--json")
    assert (status, report["image"], report["accepted"], report["rounds"]) == (0, image.id, True, 2)
    assert names() == {"check-good:latest"}
    assert container.present(containers, image.id)  # as a scorer does, which gives it the kit's own name
    before = names()
    assert checked("check-good")[0] == 0
    assert len(before) == 2 and names() == before
    containers.images.remove(next(name for name in before if name.startswith(container.IMAGE_NAME)))


CLASSIFIER = """
import numpy as np
from defense_kit import from_warmup, serve

def classify(images):
    blue = (images[..., 2] - images[..., 0]).mean(axis=(1, 2))
    return np.stack([0.5 - blue, 0.5 + blue], axis=1)

serve(from_warmup(classify, 0.8), name="blue is sky")
"""


@pytest.mark.slow("a program and its image on two pictures")
def test_an_archive_finds_in_the_warm_up_what_its_program_does(
    made: Callable[..., tuple[Image, Path]], containers: Any, tmp_path: Path
) -> None:
    """Sealed, it is sent the same pictures; what its results are kept under is the image."""
    for name, pixels in (("bird", np.full((224, 224, 3), (90, 90, 99))), ("bicycle", np.full((224, 224, 3), 77))):
        (tmp_path / "pictures" / name).mkdir(parents=True)
        PillowImage.fromarray(pixels.astype(np.uint8)).save(tmp_path / "pictures" / name / "one.png")
    image, archive = made(CLASSIFIER)
    reports = []
    for number, defense in enumerate((write(tmp_path / "mine", CLASSIFIER), archive)):
        out = tmp_path / f"out{number}"
        words = ["warmup", str(defense), "--pictures", str(tmp_path / "pictures"), "--attacks", "clean,corruptions"]
        assert check.main([*words, "--out", str(out)]) == 0
        reports.append(json.loads((out / "report.json").read_text()))
    assert reports[1]["digest"] == image.id != reports[0]["digest"]
    for report in reports:
        del report["timing"], report["digest"]
    assert reports[0] == reports[1] and reports[0]["attacks"]["clean"]["n"] == 2
    assert containers.containers.list(all=True, filters={"label": f"{SCORER_LABEL}={check.SCORER}"}) == []


def test_what_the_contest_would_refuse_is_refused(
    loaded: Callable[..., Image], tmp_path: Path, checked: Callable[..., Any]
) -> None:
    loaded(GOOD, "check-refused:latest", architecture="arm64")
    for what in (tmp_path / "mine.tar", "check-refused"):
        status, said, _ = checked(what)
        assert (status, "Fault: image_pull" in said, "expected linux/amd64" in said) == (1, True, True)


@pytest.mark.parametrize("name", ["never-built:latest", "Not A Name"])
def test_an_image_that_the_engine_does_not_have_is_wrong_use(
    name: str, engine_address: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DOCKER_HOST", engine_address)
    assert check.main(["check", name]) == 2 and f"no folder or file {name}" in capsys.readouterr().err


def test_no_engine_is_wrong_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    status, said = check.main(["check", "my-defense"]), capsys.readouterr().err
    assert status == 2 and "my-defense would be an image" in said and "does not answer" in said
    assert said.count("start") == said.count("DOCKER_HOST") == 1, "the advice is there, once"


class Script:
    """A defense inside the test: answers each picture by its own first byte, and notes what it was sent."""

    name = "script"

    def __init__(self, fault: RunnerFault | None = None) -> None:
        self.fault, self.closed = fault, False
        self.sent, self._waiting = list[np.ndarray](), list[np.ndarray]()

    def send(self, images: np.ndarray) -> None:
        assert len(self._waiting) < 2
        self.sent.append(images)
        self._waiting.append(images)

    def receive(self) -> BatchAnswers:
        images = self._waiting.pop(0)
        if self.fault and len(self.sent) == 2:
            raise self.fault
        first = images[:, 0, 0, 0]
        return BatchAnswers((first % 3).astype(np.int8) - 1, np.stack([first, first], 1).astype(np.float32))

    def log(self) -> str:
        return "all of it"

    def close(self) -> None:
        self.closed = True


def test_two_rounds_of_full_batches_with_other_companions_and_seeds() -> None:
    opened: dict[int, Script] = {}
    numbered = np.zeros((10, 4, 4, 3), np.uint8) + np.arange(10, dtype=np.uint8)[:, None, None, None]
    report = smoke_test_defense(
        lambda seed: opened.setdefault(seed, Script()), numbered, batch_size=4, seconds_per_picture=60
    )
    first, second = ([int(row[0, 0, 0]) for batch in each.sent for row in batch] for each in opened.values())
    assert (list(opened), all(script.closed for script in opened.values())) == ([1, 2], True)
    assert first == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1]
    assert sorted(second[:10]) == first[:10] != second[:10] and second[10:] == second[:2]
    assert [each.labels.tolist() for each in report.rounds] == [[n % 3 - 1 for n in range(10)]] * 2
    assert (report.changed, report.accepted, report.log) == (0, True, "all of it")


def test_a_fault_closes_what_was_opened_ends_the_examination_and_is_told_whole() -> None:
    script = Script(RunnerFault(Fault.CRASHED, "first\nsecond"))
    report = smoke_test_defense(lambda seed: script, PICTURES, batch_size=5, seconds_per_picture=60)
    assert (script.closed, report.accepted) == (True, False)
    assert [(fault.code, fault.round, fault.text) for fault in report.faults] == [("crashed", 1, "first\nsecond")]
    assert "  What was seen: first\n    second\n" in report.to_text()


@pytest.mark.parametrize(("seconds", "accepted"), [(3600, True), (3601, False)])
def test_one_picture_in_its_seconds_is_fast_enough_and_less_is_not(seconds: float, accepted: bool) -> None:
    rounds = [ExaminedRound(np.ones(60, np.int8), np.zeros((60, 2), np.float32), [seconds]) for _ in range(ROUNDS)]
    report = ExaminationReport(60, 299, 16, 60, rounds=rounds)
    assert (report.accepted, ("fast enough" if accepted else "too slow") in report.to_text()) == (accepted, True)


def test_the_drawn_pictures_are_the_same_at_every_call_and_not_alike() -> None:
    again = synthetic_pictures(10, 16)
    assert np.array_equal(PICTURES, again) and len({picture.tobytes() for picture in again}) == 10


PAGE = (Path(__file__).resolve().parents[2] / "docs" / "defenses.md").read_text()


def rows_under(heading: str) -> list[list[str]]:
    """Return the cells of every table row in a section."""
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|") and not line.startswith("|---")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_table_of_faults_is_the_closed_list() -> None:
    expected = [[f"`{fault.value}`", words.meaning, words.advice, words.payer.value] for fault, words in WORDS.items()]
    assert rows_under("Faults")[1:] == expected


def test_the_limits_are_those_of_the_policy() -> None:
    """On the page, of the kit, and of its command."""
    stated = {row[2].strip("`"): int(re.findall(r"\d+", row[1])[0]) for row in rows_under("Time and other limits")[1:]}
    policy, asked = Policy(), vars(check.parser().parse_args(["check", "x"]))
    assert stated == {"": stated[""]} | {name: getattr(policy, name) for name in stated if name}
    assert len(stated) == 8 + 1
    for name in ("memory_mib", "cpus", "processes", "scratch_mib"):
        assert getattr(DefenseLimits(), name) == getattr(policy, f"defense_{name}"), name
    for name in ("batch_size", "seconds_per_picture", "start_seconds"):
        assert asked[name] == getattr(policy, name), name


def test_the_table_of_frames_has_the_types_and_the_row_of_an_answer() -> None:
    types = {row[1]: int(row[0]) for row in rows_under("The protocol") if row[0].isdecimal()}
    assert types == {name: getattr(frames, name) for name in ("HELLO", "READY", "BATCH", "ANSWER", "ERROR")}
    assert f"{frames.ANSWER_ROW.itemsize} bytes a row" in PAGE and frames.HEADER.size == 24


@pytest.mark.parametrize("number", [2, 3], ids=["of one's own", "of the warm-up contest"])
def test_the_examples_on_the_page_are_accepted(number: int, tmp_path: Path, checked: Callable[..., Any]) -> None:
    assert checked(write(tmp_path / "d", PAGE.split("```python\n")[number].split("```")[0]))[0] == 0


NETWORK = """
from torch import nn

class Network(nn.Sequential):
    def __init__(self):
        super().__init__(nn.AvgPool2d(112), nn.Flatten(), nn.Linear(12, 2))
"""


@pytest.mark.slow("it loads torch twice more")
def test_a_trained_network_is_accepted_as_the_page_begins_with_it(tmp_path: Path, checked: Callable[..., Any]) -> None:
    torch = load_torch()
    folder = write(tmp_path / "d", PAGE.split("```python\n")[1].split("```")[0])
    (folder / "network.py").write_text(NETWORK)
    made: dict[str, Any] = {}
    exec(NETWORK, made)
    torch.save(made["Network"]().state_dict(), folder / "weights.pt")
    assert checked(folder)[0] == 0
