"""Defenses as real processes: the participant's end, what they may not do, and that nothing is left of them."""

import ast
import json
import os
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

import defense_kit
from defense_kit import from_warmup, keeper
from defense_kit.classifiers import resize
from defense_kit.conversation import Conversation, ConversationDeadlines, PeerSocket
from defense_kit.faults import Fault, RunnerFault
from defense_kit.harness import open_defense
from defense_kit.limits import DefenseLimits, library_settings
from tests.defense_kit.programs import CONNECT, DEADLINES, GOOD, HELLO, LIMITS, ROWS, SIZE, launch_of, opened, write
from tests.refusals import faulted

IMAGES = np.zeros((ROWS, SIZE, SIZE, 3), np.uint8)


SHORT = {Fault.START_TIMEOUT: {"start": 1}, Fault.HELLO_TIMEOUT: {"hello": 1}, Fault.BATCH_TIMEOUT: {"batch": 1}}


# However busy the machine is, only what is to be told by the clock is.
PATIENT = ConversationDeadlines(60, 60, 60)


@pytest.fixture(autouse=True)
def own_temporary_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """So that what is left there is this test's. A short path: the addresses of sockets have at most 107 characters."""
    with tempfile.TemporaryDirectory(prefix="t-") as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield


def leftovers() -> set[str]:
    return set(os.listdir(tempfile.gettempdir()))


FAULTY: list[tuple[str, str, Fault, str]] = [
    ("ends at once", "raise SystemExit(3)", Fault.CRASHED, "exit status 3"),
    ("never connects", "import time; time.sleep(60)", Fault.START_TIMEOUT, "did not connect"),
    ("connects and sleeps", CONNECT + "time.sleep(60)", Fault.HELLO_TIMEOUT, "HELLO"),
    ("connects and ends", CONNECT, Fault.CRASHED, "exit status 0"),
    ("sleeps in a batch", CONNECT + HELLO + "time.sleep(60)", Fault.BATCH_TIMEOUT, "batch 1"),
    ("ends in a batch", CONNECT + HELLO + "peer.recv(24); os._exit(4)", Fault.CRASHED, "exit status 4"),
    ("is ended by a signal", CONNECT + HELLO + "os.kill(os.getpid(), 11)", Fault.CRASHED, "SIGSEGV"),
    (
        "takes all memory",
        CONNECT + HELLO + "held = [bytes(1 << 20) for _ in range(1 << 20)]",
        Fault.OUT_OF_MEMORY,
        "",  # its exit status, or what was measured of it: whichever comes first
    ),
    (
        "fills the disk with one file",
        CONNECT + HELLO + "open(os.environ['HOME'] + '/x', 'wb').write(bytes(64 << 20))",
        Fault.DISK,
        "exit status 1",
    ),
    (
        "fills the disk with many files",
        CONNECT
        + HELLO
        + "for n in range(64): open(os.environ['HOME'] + f'/{n}', 'wb').write(bytes(1 << 20))\ntime.sleep(60)",
        Fault.DISK,
        "more than 8 MiB",
    ),
    (
        "makes too many processes",
        CONNECT + HELLO + "[os.fork() or time.sleep(60) for _ in range(64)]; time.sleep(60)",
        Fault.CRASHED,
        "more than 32 processes",
    ),
    (
        "kills its keeper",
        CONNECT + HELLO + "os.kill(os.getppid(), 9); time.sleep(60)",
        Fault.CRASHED,
        "its keeper ended",
    ),
]


@pytest.mark.parametrize(("reason", "program", "fault", "words"), FAULTY, ids=[row[0] for row in FAULTY])
def test_a_bad_program_has_its_fault_in_time_and_leaves_nothing(
    reason: str, program: str, fault: Fault, words: str, tmp_path: Path
) -> None:
    before, began = leftovers(), time.monotonic()
    folder = write(tmp_path / "d", program, before=f"# {tmp_path}\n")
    with (
        pytest.raises(RunnerFault) as caught,
        opened(folder, deadlines=replace(PATIENT, **SHORT.get(fault, {}))) as defense,
    ):
        defense.send(IMAGES)
        defense.receive()
    assert (caught.value.fault, words in caught.value.text) == (fault, True), caught.value
    assert time.monotonic() - began < PATIENT.batch
    assert (leftovers(), running_from(folder)) == (before, [])


def running_from(folder: Path) -> list[int]:
    """Return the processes whose working folder is `folder`."""
    found = []
    for pid in keeper.process_ids():
        with suppress(OSError):
            found += [pid] * (os.readlink(f"/proc/{pid}/cwd") == str(folder))
    return found


def test_a_run_that_is_stopped_in_a_batch_ends_as_cancelled(tmp_path: Path) -> None:
    """Long before the deadline of the batch (R30); `tests/scoring/test_scorers.py` stops one at its start."""
    launch, stop = launch_of(write(tmp_path / "d", CONNECT + HELLO + "time.sleep(600)")), list[bool]()
    told = {"image_size": SIZE, "batch_size": ROWS, "seed": 1, "deadlines": PATIENT}
    with open_defense(launch, **told, cancelled=lambda: bool(stop)) as defense:
        defense.send(IMAGES)
        stop.append(True)
        faulted(Fault.CANCELLED, defense.receive)


def test_a_defense_sees_a_short_environment_and_an_empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = """
    import json, os, sys
    print(json.dumps({"environment": dict(os.environ), "home": os.listdir(os.environ["HOME"]), "at": os.getcwd()}))
    sys.stdout.flush()
    """
    folder = write(tmp_path / "d", GOOD, before=textwrap.dedent(program))
    monkeypatch.setenv("SECRET_KEY_OF_A_TEST", "not for a defense")
    with opened(folder) as defense:
        defense.send(IMAGES)
        assert defense.receive().labels.tolist() == [1] * ROWS
        found = json.loads(defense.log())
    allowed = {"PATH", "LANG", "HOME", "TMPDIR", "PYTHONPATH", "DEFENSE_SOCKET", "LC_CTYPE"}
    settings = library_settings(LIMITS.cpus)
    assert settings.items() <= found["environment"].items()
    assert set(found["environment"]) <= allowed | set(settings)
    assert (found["home"], found["at"]) == ([".site"], str(folder))


def test_children_that_left_the_group_and_zombies_are_gone_afterwards(tmp_path: Path) -> None:
    """Also those that no signal but one ends."""
    program = """
    import signal, subprocess
    for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    for _ in range(3):
        subprocess.Popen(["sleep", "600"], start_new_session=True, env={})
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(600)
        os._exit(0)
    [os._exit(0) for _ in range(5) if os.fork() == 0]
    time.sleep(600)
    """
    folder = write(tmp_path / "d", program, before=CONNECT + HELLO)
    defense = opened(folder)
    wait_for(lambda: len(running_from(folder)) >= 5)
    defense.close()
    defense.close()
    assert running_from(folder) == []


def test_links_and_devices_left_in_scratch_are_removed_and_not_followed(tmp_path: Path) -> None:
    treasure, before = tmp_path / "treasure", leftovers()
    treasure.mkdir()
    (treasure / "kept").write_text("kept")
    program = f"""
    home = os.environ["HOME"]
    os.symlink({str(treasure)!r}, home + "/folder")
    os.symlink({str(treasure / "kept")!r}, home + "/file")
    os.symlink("/dev/zero", home + "/zero")
    os.mkfifo(home + "/pipe")
    os.mkdir(home + "/locked")
    open(home + "/locked/in", "w").close()
    os.mkdir(home + "/locked/deeper")
    os.chmod(home + "/locked/deeper", 0)
    os.chmod(home + "/locked", 0)
    if os.getuid() == 0:
        os.mknod(home + "/device", 0o600 | 0o020000, os.makedev(1, 5))
    os.chdir(home)
    for _ in range(1500):
        os.mkdir("d")
        os.chdir("d")
    print("laid", flush=True)
    time.sleep(600)
    """
    with opened(
        write(tmp_path / "d", program, before=CONNECT + HELLO), limits=DefenseLimits(scratch_mib=64)
    ) as defense:
        wait_for(lambda: "laid" in defense.log())
    assert (leftovers(), (treasure / "kept").read_text()) == (before, "kept")


def test_a_folder_too_deep_for_a_path_is_removed_and_counts_as_endless() -> None:
    script = "import os, sys\nos.chdir(sys.argv[1])\nfor _ in range(2500):\n    os.mkdir('dd')\n    os.chdir('dd')"
    root = Path(tempfile.mkdtemp())  # what cleans up after tests would fail over it
    subprocess.run([sys.executable, "-c", script, str(root)], check=True)
    try:
        assert keeper.scratch_bytes(str(root)) == float("inf")
        keeper.remove_tree(str(root))
        assert not root.exists()
    finally:
        subprocess.run(["rm", "-rf", str(root)], check=True)


def test_a_flood_of_log_is_drained_and_only_its_end_kept(tmp_path: Path) -> None:
    program = "for _ in range(2000):\n    print('x' * 10_000)\nprint('the end', flush=True)\n"
    with opened(write(tmp_path / "d", GOOD, before=program)) as defense:
        defense.send(IMAGES)
        defense.receive()
        assert len(defense.log()) <= LIMITS.log_kib << 10 and defense.log().rstrip().endswith("the end")


def test_when_the_starter_is_killed_the_defense_ends_by_itself(tmp_path: Path) -> None:
    folder, before = write(tmp_path / "d", "import time; time.sleep(600)"), leftovers()
    starter = (
        "import sys, time; from pathlib import Path; from defense_kit.process import start_process;"
        "from defense_kit.limits import DefenseLimits;"
        "start_process([sys.executable, 'defense.py'], Path(sys.argv[1]), Path('/nowhere'), DefenseLimits());"
        "time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", starter, str(folder)]) as running:
        wait_for(lambda: len(running_from(folder)) == 1)
        running.kill()
    wait_for(lambda: running_from(folder) == [] and leftovers() == before)


def wait_for(happened: Callable[[], bool]) -> None:
    until = time.monotonic() + 10
    while not happened() and time.monotonic() < until:
        time.sleep(0.05)
    assert happened()


def test_what_cannot_be_started_is_the_platforms_fault_and_leaves_nothing() -> None:
    def broken(path: Path) -> NoReturn:
        raise FileNotFoundError("no engine")

    before, told = leftovers(), {"image_size": SIZE, "batch_size": ROWS, "seed": 1, "deadlines": PATIENT}
    assert "no engine" in faulted(Fault.PLATFORM, open_defense, broken, **told).text
    assert leftovers() == before


def test_a_batch_that_is_none_is_the_callers_mistake(tmp_path: Path) -> None:
    with opened(write(tmp_path / "d", GOOD)) as defense:
        for reason, shape, kind in (
            ("too many rows", (ROWS + 1, SIZE, SIZE, 3), np.uint8),
            ("no rows", (0, SIZE, SIZE, 3), np.uint8),
            ("another size", (ROWS, SIZE, SIZE + 1, 3), np.uint8),
            ("floats", (ROWS, SIZE, SIZE, 3), np.float32),
        ):
            with pytest.raises(ValueError, match="expected uint8"):
                defense.send(np.zeros(shape, kind))
                pytest.fail(reason)


NUMBERED = np.arange(ROWS * SIZE * SIZE * 3, dtype=np.uint8).reshape(ROWS, SIZE, SIZE, 3)


KIT = Path(defense_kit.__file__).parent


PARTICIPANTS = ["__init__.py", "classifiers.py", "frames.py", "serve.py", "shared_memory.py"]


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
    images = NUMBERED.copy()
    images[:, 0, 0, 0] = [0, 100, 150, 250]
    with opened(write(tmp_path / "d", f"{SERVE}serve({predict}, name='one')")) as defense:
        defense.send(images)
        name, answers = defense.name, defense.receive()
    scores = [[0.5, 0.5] if "scores" in reason else [0.0, 0.0]] * 4
    assert (name, answers.labels.tolist(), answers.scores.tolist()) == ("one", labels, scores)


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
    ("an error in on_ready", "lambda x: [1] * 4, on_ready=lambda said: int(f'x{said.seed}')", Fault.CRASHED, "'x9'"),
]


@pytest.mark.parametrize(("reason", "predict", "fault", "words"), WRONG, ids=[row[0] for row in WRONG])
def test_a_wrong_answer_is_told_to_both_sides(
    reason: str, predict: str, fault: Fault, words: str, tmp_path: Path
) -> None:
    """And an error before the first one."""
    with (
        pytest.raises(RunnerFault) as caught,
        opened(write(tmp_path / "d", f"{SERVE}serve({predict})"), seed=9) as defense,
    ):
        defense.send(NUMBERED)
        defense.receive()
    assert (caught.value.fault, words in caught.value.text) == (fault, True), caught.value


FLOATS = np.linspace(-0.25, 1.25, ROWS * SIZE * SIZE * 3, dtype=np.float32).reshape(ROWS, SIZE, SIZE, 3)
WARMUP = """
import numpy as np
from defense_kit import from_warmup, serve
def classify(images):
    assert images.dtype == np.float32 and images.flags.c_contiguous
    return np.stack([images[:, 0, 0, 0], images[:, -1, -1, -1]], axis=1)
"""


def in_floats(folder: Path) -> Any:
    told = {"image_size": SIZE, "batch_size": ROWS, "seed": 1, "deadlines": DEADLINES}
    return open_defense(launch_of(folder), **told, pixels="float32")


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ("serve(from_warmup(classify, 0.8))", "the adapter brings its classifier along"),
        ("serve(lambda images: [1] * len(images), classify=classify)", "a program has both"),
    ],
)
def test_a_classifier_is_asked_about_float32_pictures_to_the_last_bit(call: str, why: str, tmp_path: Path) -> None:
    with in_floats(write(tmp_path / "d", WARMUP + call)) as defense:
        for images in (FLOATS, FLOATS[:2]):
            defense.send(images)
            scores = defense.receive().scores
            assert np.array_equal(scores, np.stack([images[:, 0, 0, 0], images[:, -1, -1, -1]], 1)), why
        with pytest.raises(ValueError, match="expected float32"):
            defense.send(IMAGES)


def test_the_same_program_answers_the_contest_in_8_bits(tmp_path: Path) -> None:
    with opened(write(tmp_path / "d", WARMUP + "serve(from_warmup(classify, 0.0, 8))")) as defense:
        defense.send(IMAGES)
        assert defense.receive().labels.tolist() == [-1] * ROWS


def test_in_the_warm_up_a_score_that_is_not_finite_is_an_answer(tmp_path: Path) -> None:
    program = WARMUP + "serve(from_warmup(lambda x: np.full((len(x), 2), np.nan), 0.8))"
    with in_floats(write(tmp_path / "d", program)) as defense:
        defense.send(FLOATS)
        assert np.isnan(defense.receive().scores).all()


@pytest.mark.parametrize(
    "program", [SERVE + "serve(lambda x: [1] * len(x))", CONNECT + HELLO], ids=["no classifier", "an earlier kit"]
)
def test_a_defense_without_a_classifier_is_told_what_to_do(program: str, tmp_path: Path) -> None:
    with pytest.raises(RunnerFault, match="make the defense with `from_warmup`") as caught:
        in_floats(write(tmp_path / "d", program))
    assert caught.value.fault is Fault.PROTOCOL


def test_the_next_batch_is_read_while_one_is_predicted_on(tmp_path: Path) -> None:
    """A batch larger than the socket's buffers goes out at once although the one before is not answered."""
    program = write(tmp_path / "d", SERVE + "serve(lambda x: (time.sleep(2), [1] * len(x))[1])")
    launch = launch_of(program, can_share=False)
    images, deadlines = np.zeros((32, 400, 400, 3), np.uint8), ConversationDeadlines(20, 10, 20)
    with open_defense(launch, image_size=400, batch_size=32, seed=1, deadlines=deadlines) as defense:
        began = time.monotonic()
        defense.send(images)
        defense.send(images)
        assert time.monotonic() - began < 1.5
        assert [len(defense.receive().labels) for _ in range(2)] == [32, 32]


def test_the_program_ends_with_0_when_the_contest_hangs_up(tmp_path: Path) -> None:
    program = SERVE + "serve(lambda x: [1] * len(x))\nprint('served', flush=True)"
    with PeerSocket() as gate:
        launched = launch_of(write(tmp_path / "d", program))(gate.path)
        connection = gate.accept(time.monotonic() + 20, launched.ended, launched.uid)
    with closing(Conversation(connection, DEADLINES, launched.ended)) as conversation:
        conversation.hello()
        conversation.ready(SIZE, ROWS, 1)
    until = time.monotonic() + 10
    while (ended := launched.ended()) is None and time.monotonic() < until:
        time.sleep(0.05)
    launched.stop()
    assert (ended, launched.log().strip()) == ((Fault.CRASHED, "it ended with exit status 0"), "served")


def python(program: str, **values: Any) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", program]
    return subprocess.run(command, cwd=KIT.parent, capture_output=True, text=True, check=False, **values)


def test_without_a_socket_it_says_how_to_be_started() -> None:
    ran = python("from defense_kit import serve; serve(lambda x: x)", env={})
    assert (ran.returncode, "python -m defense_kit check" in ran.stderr) == (1, True)


@pytest.mark.parametrize("name", [*PARTICIPANTS, "__main__.py"])
def test_what_a_participant_imports_is_python_3_8(name: str) -> None:
    source = (KIT / name).read_text()
    ast.parse(source, feature_version=(3, 8))
    assert not {"match", "collections.abc", "StrEnum"} & set(source.replace("(", " ").split())


def test_a_participants_program_loads_five_files_of_the_kit_and_no_more() -> None:
    ran = python(
        "import sys, defense_kit; print(sorted(name for name in sys.modules if name.startswith('defense_kit.')))"
    )
    assert ran.stdout.strip() == str([f"defense_kit.{Path(name).stem}" for name in PARTICIPANTS[1:]])


def classify_as(scores: list[list[float]]) -> Callable[[np.ndarray], np.ndarray]:
    def classify(images: np.ndarray) -> np.ndarray:
        assert images.shape[1:] == (224, 224, 3) and images.dtype == np.float32
        assert images.min() >= 0 and images.max() <= 1
        return np.array(scores)

    return classify


@pytest.mark.parametrize(
    ("reason", "scores", "label"),
    [
        ("a sure bird", [0.1, 0.9], 1),
        ("a sure bicycle", [0.9, 0.1], 0),
        ("at the threshold", [0.2, 0.8], 1),
        ("just below the threshold", [0.21, 0.79], -1),
        ("equal", [0.9, 0.9], -1),
        ("not a number", [float("nan"), 0.9], -1),
    ],
)
def test_the_larger_score_answers_from_the_threshold_on(reason: str, scores: list[float], label: int) -> None:
    predict = from_warmup(classify_as([scores]), threshold=np.float32(0.8))
    labels, told = predict(np.full((1, 299, 299, 3), 255, np.uint8))
    assert labels.tolist() == [label] and np.array_equal(told, np.float32([scores]), equal_nan=True)


def test_scores_of_another_shape_are_an_error() -> None:
    with pytest.raises(ValueError, match=r"\(1, 3\) for 1 images"):
        from_warmup(classify_as([[0, 0, 1]]), threshold=0.5)(np.zeros((1, 10, 10, 3), np.uint8))


def test_resizing_agrees_with_torch() -> None:
    torch = pytest.importorskip("torch")
    picture = np.random.default_rng(1).integers(0, 256, (2, 299, 299, 3), dtype=np.uint8)
    pixels = torch.from_numpy(picture).permute(0, 3, 1, 2).float()
    expected = torch.nn.functional.interpolate(pixels, size=(224, 224), mode="bilinear", align_corners=False)
    assert np.allclose(resize(picture, 224), expected.permute(0, 2, 3, 1).numpy(), atol=1e-2)
