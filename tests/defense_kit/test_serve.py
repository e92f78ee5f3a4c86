"""The participant's end in a real process, against the scorer's end."""

import ast
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import defense_kit
from defense_kit.conversation import Conversation, Deadlines, Gate
from defense_kit.faults import Fault, RunnerFault
from defense_kit.harness import open_defense
from tests.defense_kit.programs import DEADLINES, ROWS, SIZE, launch_of, opened, write

IMAGES = np.arange(ROWS * SIZE * SIZE * 3, dtype=np.uint8).reshape(ROWS, SIZE, SIZE, 3)
KIT = Path(defense_kit.__file__).parent
PARTICIPANTS = ["__init__.py", "frames.py", "serve.py", "warmup.py"]

SERVE = "import numpy as np\nimport time\nfrom defense_kit import serve\n"

RIGHT: list[tuple[str, str, list[int]]] = [
    ("names", "lambda x: ['bird', 'bicycle', 'abstain', 'bird']", [1, 0, -1, 1]),
    ("numbers", "lambda x: [1, 0, -1, 1]", [1, 0, -1, 1]),
    ("an array of numbers", "lambda x: np.array([1, 0, -1, 1])", [1, 0, -1, 1]),
    ("an array of names", "lambda x: np.array(['bird', 'bicycle', 'abstain', 'bird'])", [1, 0, -1, 1]),
    ("with scores", "lambda x: (['bird'] * 4, np.full((4, 2), 0.5))", [1, 1, 1, 1]),
    ("with scores in lists", "lambda x: (['bird'] * 4, [[0.5, 0.5]] * 4)", [1, 1, 1, 1]),
    ("by what is in the pictures", "lambda x: [int(p[0, 0, 0]) // 100 - 1 for p in x]", [-1, 0, 0, 1]),
]


@pytest.mark.parametrize(("reason", "predict", "labels"), RIGHT, ids=[row[0] for row in RIGHT])
def test_each_kind_of_answer_arrives(reason: str, predict: str, labels: list[int], tmp_path: Path) -> None:
    images = IMAGES.copy()
    images[:, 0, 0, 0] = [0, 100, 150, 250]
    with opened(write(tmp_path / "d", f"{SERVE}serve({predict}, name='one')")) as defense:
        assert defense.name == "one"
        defense.send(images)
        answers = defense.receive()
    assert answers.labels.tolist() == labels
    assert answers.scores.tolist() == [[0.5, 0.5] if "scores" in reason else [0.0, 0.0]] * 4


WRONG: list[tuple[str, str, Fault, str]] = [
    ("too few", "lambda x: ['bird']", Fault.CRASHED, "1 answers for 4 images"),
    ("another word", "lambda x: ['plane'] * 4", Fault.CRASHED, "'plane'"),
    ("another number", "lambda x: [7] * 4", Fault.CRASHED, "7"),
    ("a truth", "lambda x: [True] * 4", Fault.CRASHED, "True"),
    ("nothing", "lambda x: None", Fault.CRASHED, "predict returned NoneType"),
    ("scores alone", "lambda x: np.zeros((4, 2))", Fault.CRASHED, "return N answers, or (answers, scores)"),
    ("scores of another shape", "lambda x: ([1] * 4, np.zeros((4, 3)))", Fault.CRASHED, "(4, 3), expected (4, 2)"),
    ("one score for each", "lambda x: ([1] * 4, np.zeros(4))", Fault.CRASHED, "(4,), expected (4, 2)"),
    ("NaN", "lambda x: ([1] * 4, np.full((4, 2), np.nan))", Fault.NONFINITE, "NaN"),
    ("a double too large", "lambda x: ([1] * 4, np.full((4, 2), 1e300))", Fault.NONFINITE, "infinite"),
    ("an error", "lambda x: 1 / 0", Fault.CRASHED, "ZeroDivisionError"),
    ("out of memory", "lambda x: bytes(1 << 50)", Fault.OUT_OF_MEMORY, "MemoryError"),
]


@pytest.mark.parametrize(("reason", "predict", "fault", "words"), WRONG, ids=[row[0] for row in WRONG])
def test_a_wrong_answer_is_told_to_both_sides(
    reason: str, predict: str, fault: Fault, words: str, tmp_path: Path
) -> None:
    with (
        opened(write(tmp_path / "d", f"{SERVE}serve({predict})")) as defense,
        pytest.raises(RunnerFault) as caught,
    ):
        defense.send(IMAGES)
        defense.receive()
    assert (caught.value.fault, words in caught.value.text) == (fault, True), caught.value


def test_an_error_in_on_ready_is_reported(tmp_path: Path) -> None:
    program = SERVE + "def ready(said):\n    raise ValueError(said.seed)\nserve(lambda x: [1] * 4, on_ready=ready)"
    with pytest.raises(RunnerFault, match="ValueError: 9"), opened(write(tmp_path / "d", program), seed=9) as defense:
        defense.send(IMAGES)
        defense.receive()


def test_the_next_batch_is_read_while_one_is_predicted_on(tmp_path: Path) -> None:
    """A batch larger than the socket's buffers goes out at once although the one before is not answered."""
    program = SERVE + "serve(lambda x: (time.sleep(2), [1] * len(x))[1])"
    deadlines = Deadlines(20, 10, 20)
    images = np.zeros((32, 400, 400, 3), np.uint8)
    launch = launch_of(write(tmp_path / "d", program))
    with open_defense(launch, image_size=400, batch_size=32, seed=1, deadlines=deadlines) as defense:
        began = time.monotonic()
        defense.send(images)
        defense.send(images)
        assert time.monotonic() - began < 1.5
        assert [len(defense.receive().labels) for _ in range(2)] == [32, 32]


def test_the_program_ends_with_0_when_the_contest_hangs_up(tmp_path: Path) -> None:
    program = SERVE + "serve(lambda x: [1] * len(x))\nprint('served', flush=True)"
    with Gate() as gate:
        launched = launch_of(write(tmp_path / "d", program))(gate.path)
        connection = gate.accept(time.monotonic() + 20, launched.ended, launched.uid)
    conversation = Conversation(connection, DEADLINES, launched.ended)
    conversation.hello()
    conversation.ready(SIZE, ROWS, 1)
    conversation.close()
    until = time.monotonic() + 10
    while (ended := launched.ended()) is None and time.monotonic() < until:
        time.sleep(0.05)
    launched.stop()
    assert ended == (Fault.CRASHED, "it ended with exit status 0")
    assert launched.log().strip() == "served"


def test_without_a_socket_it_says_how_to_be_started() -> None:
    program = "from defense_kit import serve; serve(lambda x: x)"
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=KIT.parent, env={}, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 1
    assert "python -m defense_kit check" in ran.stderr


@pytest.mark.parametrize("name", PARTICIPANTS)
def test_what_a_participant_imports_is_python_3_8(name: str) -> None:
    source = (KIT / name).read_text()
    ast.parse(source, feature_version=(3, 8))
    assert not {"match", "collections.abc", "StrEnum"} & set(source.replace("(", " ").split())


def test_a_participants_program_loads_four_files_of_the_kit_and_no_more() -> None:
    program = "import sys, defense_kit; print(sorted(name for name in sys.modules if name.startswith('defense_kit.')))"
    ran = subprocess.run([sys.executable, "-c", program], cwd=KIT.parent, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == str([f"defense_kit.{Path(name).stem}" for name in PARTICIPANTS[1:]])
