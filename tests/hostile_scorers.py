"""Run the hostile defenses of tests/hostile the way this machine can: sealed in containers, or as plain processes."""

import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from defense_kit.conversation import Deadlines
from defense_kit.harness import open_defense
from defense_kit.limits import Limits
from defense_kit.process import start_process
from defense_kit.protocol import Answers
from scoring.models import Defense
from scoring.sealed import ContainerRunner, Patience
from tests.images import PYTHON, Image, files_layer, numpy_layer, python_layer, write_archive

HOSTILE = Path(__file__).resolve().parent / "hostile"
NAMES = sorted(path.stem for path in HOSTILE.glob("*.py") if path.stem not in ("__init__", "raw"))
LIMITS = Limits(memory_mib=192, cpus=1, processes=24, scratch_mib=8, files=64, log_kib=64)
PATIENT = Deadlines(start=60, hello=30, batch=30)
IMAGE_SIZE, ROWS = 299, 16
SCORER = "hostile-tests"
_EXPECTED = re.compile(r"# expect: (.+)\n")
# What reaches for the machine itself. As a plain process, and as root, such a program would find it.
_ONLY_SEALED = "\n# only sealed\n"


class Running(Protocol):
    """What the tests use of a defense that runs."""

    def send(self, images: NDArray[np.uint8]) -> None: ...
    def receive(self) -> Answers: ...
    def log(self) -> str: ...
    def close(self) -> None: ...


class HostileScorer(Protocol):
    """A scorer that can run the programs of tests/hostile by their names."""

    def open(self, name: str, deadlines: Deadlines) -> Running: ...
    def left(self) -> list[str]:
        """Name everything that a defense left behind: containers, processes, files, room on the disk."""
        ...


def expected(name: str) -> str:
    """Return the fault that the program's first line declares, or `no fault`."""
    declared = _EXPECTED.match((HOSTILE / f"{name}.py").read_text())
    assert declared, f"{name} does not say what to expect"
    return declared[1]


def is_only_sealed(name: str) -> bool:
    """Say whether a program may run in a container alone."""
    return _ONLY_SEALED in (HOSTILE / f"{name}.py").read_text()


def picture_batch(seed: int) -> NDArray[np.uint8]:
    """Return a batch of noise."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, (ROWS, IMAGE_SIZE, IMAGE_SIZE, 3), np.uint8)


class ProcessScorer:
    """Runs them as plain processes: bounded and swept, not sealed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def open(self, name: str, deadlines: Deadlines) -> Running:
        """Start a program; RunnerFault when it does not get as far as READY. ValueError for one that needs a seal."""
        if is_only_sealed(name):
            raise ValueError(f"{name} must not run outside a container")
        command = [sys.executable, str(HOSTILE / f"{name}.py")]
        return open_defense(
            lambda socket: start_process(command, HOSTILE, socket, LIMITS),
            image_size=IMAGE_SIZE,
            batch_size=ROWS,
            seed=1,
            deadlines=deadlines,
            folder=self.folder,
        )

    def left(self) -> list[str]:
        """Name the processes that still know a socket in this folder, and the files in it."""
        mark = f"DEFENSE_SOCKET={self.folder}".encode()
        processes = [pid for pid in _pids() if mark in _proc(pid, "environ")]
        return [f"process {pid}" for pid in processes] + [f"file {each}" for each in sorted(self.folder.iterdir())]


class SealedScorer:
    """Runs them as the contest does."""

    def __init__(self, address: str, client: Any, images: dict[str, Image], folder: Path) -> None:
        self.client, self.images, self.folder, self.address = client, images, folder, address
        self._before = self._on_disk()

    def open(self, name: str, deadlines: Deadlines) -> Running:
        """Start a program in a container; RunnerFault when it does not get as far as READY."""
        runner = ContainerRunner(
            scorer=SCORER,
            folder=self.folder,
            limits=LIMITS,
            patience=Patience(deadlines.start, deadlines.hello, deadlines.batch / ROWS),
            address=self.address,
            least_free_bytes=1 << 20,
        )
        defense = Defense(name=name, image=self.images[name].id, digest=self.images[name].id)
        return runner.open(defense, device="cpu", image_size=IMAGE_SIZE, batch_size=ROWS, seed=1)

    def left(self) -> list[str]:
        """Name containers, their processes and files, and what the engine keeps on the disk beyond its images."""
        containers = [each.id for each in self.client.containers.list(all=True)]
        # A container of this scorer's has a socket out of this folder among its mounts.
        processes = [pid for pid in _pids() if os.fsencode(self.folder) in _proc(pid, "mountinfo")]
        return [
            *(f"container {each}" for each in containers),
            *(f"process {pid}" for pid in processes),
            *(f"file {each}" for each in sorted(self.folder.iterdir())),
            *(f"on disk {each}" for each in sorted(self._on_disk() - self._before)),
        ]

    def _on_disk(self) -> set[str]:
        root = Path(self.client.info()["DockerRootDir"])
        kinds = ("containers", "volumes", "overlay2", "vfs/dir", "tmp")
        return {str(path) for kind in kinds if (root / kind).is_dir() for path in (root / kind).iterdir()}


def _pids() -> Sequence[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _proc(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def hostile_images(folder: Path) -> dict[str, Image]:
    """Return an image for each program; they share all their layers."""
    files = {f"opt/hostile/{path.name}": path.read_bytes() for path in HOSTILE.glob("*.py")}
    layers = [python_layer(), numpy_layer(), files_layer(folder, files)]
    return {name: Image(layers, [PYTHON, f"/opt/hostile/{name}.py"]) for name in NAMES}


@contextmanager
def sealed_scorer(address: str) -> Iterator[SealedScorer]:
    """Give every hostile program to the engine at `address` as an image, and yield a scorer that runs them."""
    from defense_kit.container import LOADING_SECONDS, connect

    client = connect(address, seconds=LOADING_SECONDS)
    with tempfile.TemporaryDirectory(prefix="scorer-") as folder, tempfile.TemporaryDirectory() as workshop:
        images = hostile_images(Path(workshop))
        with open(write_archive(Path(workshop) / "all.tar", images.values()), "rb") as archive:
            client.images.load(archive)
        yield SealedScorer(address, client, images, Path(folder))
    client.close()


@contextmanager
def process_scorer() -> Iterator[ProcessScorer]:
    """Yield a scorer for a machine without a container engine."""
    with tempfile.TemporaryDirectory(prefix="scorer-") as folder:
        yield ProcessScorer(Path(folder))
