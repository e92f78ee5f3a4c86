"""Defenses as real processes: what they may not do, and that nothing is left of them."""

import json
import os
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

from defense_kit import keeper
from defense_kit.conversation import Deadlines
from defense_kit.faults import Fault, RunnerFault
from defense_kit.harness import open_defense
from defense_kit.limits import Limits
from tests.defense_kit.programs import CONNECT, GOOD, HELLO, LIMITS, ROWS, SIZE, opened, write

IMAGES = np.zeros((ROWS, SIZE, SIZE, 3), np.uint8)
SHORT = {Fault.START_TIMEOUT: {"start": 1}, Fault.HELLO_TIMEOUT: {"hello": 1}, Fault.BATCH_TIMEOUT: {"batch": 1}}
# However busy the machine is, only what is to be told by the clock is.
PATIENT = Deadlines(60, 60, 60)


@pytest.fixture(autouse=True)
def own_temporary_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """So that what is left there is this test's. A short path: the addresses of sockets have at most 107 characters."""
    with tempfile.TemporaryDirectory(prefix="t-") as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield


def leftovers() -> set[str]:
    return set(os.listdir(tempfile.gettempdir()))


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


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
        "exit status 1",
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
    before = leftovers()
    folder = write(tmp_path / "d", program, before=f"# {tmp_path}\n")
    deadlines = replace(PATIENT, **SHORT.get(fault, {}))
    began = time.monotonic()
    with pytest.raises(RunnerFault) as caught, opened(folder, deadlines=deadlines) as defense:
        defense.send(IMAGES)
        defense.receive()
    assert (caught.value.fault, words in caught.value.text) == (fault, True), caught.value
    assert time.monotonic() - began < PATIENT.batch
    assert leftovers() == before
    assert running_from(folder) == []


def running_from(folder: Path) -> list[int]:
    """Return the processes whose working folder is `folder`."""
    return [pid for pid in keeper.process_ids() if folder_of(pid) == str(folder)]


def folder_of(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return ""


def test_a_defense_sees_a_short_environment_and_an_empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = """
    import json, os, sys
    print(json.dumps({"environment": sorted(os.environ), "home": os.listdir(os.environ["HOME"]), "at": os.getcwd()}))
    sys.stdout.flush()
    """
    folder = write(tmp_path / "d", GOOD, before=textwrap.dedent(program))
    monkeypatch.setenv("SECRET_KEY_OF_A_TEST", "not for a defense")
    with opened(folder) as defense:
        defense.send(IMAGES)
        assert defense.receive().labels.tolist() == [1] * ROWS
        found = json.loads(defense.log())
    allowed = {"PATH", "LANG", "HOME", "TMPDIR", "PYTHONPATH", "DEFENSE_SOCKET", "OMP_NUM_THREADS", "LC_CTYPE"}
    assert set(found["environment"]) <= allowed
    assert found["home"] == [".site"]
    assert found["at"] == str(folder)


def test_children_that_left_the_group_and_zombies_are_gone_afterwards(tmp_path: Path) -> None:
    program = """
    import subprocess
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
    treasure = tmp_path / "treasure"
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
    before = leftovers()
    defense = opened(write(tmp_path / "d", program, before=CONNECT + HELLO), limits=Limits(scratch_mib=64))
    wait_for(lambda: "laid" in defense.log())
    defense.close()
    assert leftovers() == before
    assert (treasure / "kept").read_text() == "kept"


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
    program = """
    for _ in range(2000):
        print("x" * 10_000)
    print("the end", flush=True)
    """
    folder = write(tmp_path / "d", GOOD, before=textwrap.dedent(program))
    with opened(folder) as defense:
        defense.send(IMAGES)
        defense.receive()
        assert len(defense.log()) <= LIMITS.log_kib << 10
        assert defense.log().rstrip().endswith("the end")


def test_when_the_starter_is_killed_the_defense_ends_by_itself(tmp_path: Path) -> None:
    folder = write(tmp_path / "d", "import time; time.sleep(600)")
    starter = (
        "import sys, time; from pathlib import Path; from defense_kit.process import start_process;"
        "from defense_kit.limits import Limits;"
        "start_process([sys.executable, 'defense.py'], Path(sys.argv[1]), Path('/nowhere'), Limits()); time.sleep(600)"
    )
    before = leftovers()
    running = subprocess.Popen([sys.executable, "-c", starter, str(folder)])
    wait_for(lambda: len(running_from(folder)) == 1)
    running.kill()
    running.wait()
    wait_for(lambda: running_from(folder) == [] and leftovers() == before)


def wait_for(happened: Callable[[], bool]) -> None:
    until = time.monotonic() + 10
    while not happened() and time.monotonic() < until:
        time.sleep(0.05)
    assert happened()


def test_what_cannot_be_started_is_the_platforms_fault_and_leaves_nothing(tmp_path: Path) -> None:
    def broken(path: Path) -> NoReturn:
        raise FileNotFoundError("no engine")

    before = leftovers()
    with pytest.raises(RunnerFault) as caught:
        open_defense(broken, image_size=SIZE, batch_size=ROWS, seed=1, deadlines=PATIENT)
    assert (caught.value.fault, "no engine" in caught.value.text) == (Fault.PLATFORM, True)
    assert leftovers() == before


@pytest.mark.parametrize(
    ("reason", "images"),
    [
        ("too many rows", np.zeros((ROWS + 1, SIZE, SIZE, 3), np.uint8)),
        ("no rows", np.zeros((0, SIZE, SIZE, 3), np.uint8)),
        ("another size", np.zeros((ROWS, SIZE, SIZE + 1, 3), np.uint8)),
        ("floats", np.zeros((ROWS, SIZE, SIZE, 3), np.float32)),
    ],
)
def test_a_batch_that_is_none_is_the_callers_mistake(reason: str, images: np.ndarray, tmp_path: Path) -> None:
    with opened(write(tmp_path / "d", GOOD)) as defense, pytest.raises(ValueError, match="expected uint8"):
        defense.send(images)
