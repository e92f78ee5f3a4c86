"""Run the hostile defenses of tests/hostile, sealed in containers."""

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from defense_kit.conversation import ConversationDeadlines
from defense_kit.limits import DefenseLimits
from defense_kit.protocol import BatchAnswers
from scoring.models import Defense
from scoring.sealed import ContainerRunner
from tests.images import PYTHON, Image, files_layer, numpy_layer, python_layer, write_archive

HOSTILE = Path(__file__).resolve().parent / "hostile"
LIMITS = DefenseLimits(memory_mib=192, cpus=1, processes=24, scratch_mib=8, files=64, log_kib=64)
PATIENT = ConversationDeadlines(start=60, hello=30, batch=30)
IMAGE_SIZE, ROWS = 299, 16
SCORER = "hostile-tests"


class Running(Protocol):
    """What the tests use of a defense that runs."""

    def send(self, images: NDArray[np.uint8]) -> None: ...
    def receive(self) -> BatchAnswers: ...
    def log(self) -> str: ...
    def close(self) -> None: ...


_DECLARED = re.compile(r"^# expect: (.+?)(?: when (\w+))?$", re.MULTILINE)
# What each program's first lines declare: the fault that it ends with, or `no fault`. A program that can do several
# things takes a word, and is named `program word`.
EXPECTED = {
    f"{path.stem} {word}".strip(): fault
    for path in sorted(HOSTILE.glob("*.py"))
    for fault, word in _DECLARED.findall(path.read_text())
}


def _command(folder: Path | str, name: str) -> list[str]:
    program, *words = name.split()
    return [f"{folder}/{program}.py", *words]


def picture_batch(seed: int) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, (ROWS, IMAGE_SIZE, IMAGE_SIZE, 3), np.uint8)


class SealedScorer:
    def __init__(self, address: str, client: Any, images: dict[str, Image], folder: Path) -> None:
        self.client, self.images, self.folder, self.address = client, images, folder, address
        self._before = self._on_disk()

    def open(self, name: str, deadlines: ConversationDeadlines) -> Running:
        """Start a program in a container; RunnerFault when it does not get as far as READY."""
        runner = ContainerRunner(
            scorer=SCORER,
            folder=self.folder,
            limits=LIMITS,
            deadlines=lambda rows: deadlines,
            address=self.address,
            min_free_bytes=1 << 20,
        )
        defense = Defense(name=name, image=self.images[name].id, digest=self.images[name].id)
        return runner.open(defense, device="cpu", image_size=IMAGE_SIZE, batch_size=ROWS, seed=1)

    def left(self) -> list[str]:
        # A container of this scorer's has a socket out of this folder among its mounts.
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
        return [
            *(f"container {each.id}" for each in self.client.containers.list(all=True)),
            *(f"process {pid}" for pid in pids if os.fsencode(_in_its_mount(self.folder)) in _mounts(pid)),
            *(f"file {each}" for each in sorted(self.folder.iterdir())),
            *(f"on disk {each}" for each in sorted(self._on_disk() - self._before)),
        ]

    def _on_disk(self) -> set[str]:
        root = Path(self.client.info()["DockerRootDir"])
        kinds = ("containers", "volumes", "overlay2", "vfs/dir", "tmp")
        return {str(path) for kind in kinds if (root / kind).is_dir() for path in (root / kind).iterdir()}


def _in_its_mount(folder: Path) -> str:
    """Return the path of a folder as /proc/PID/mountinfo tells it: from the root of its file system."""
    mount = next(each for each in (folder, *folder.parents) if each.is_mount())
    return f"/{folder.relative_to(mount)}"


def _mounts(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/mountinfo").read_bytes()
    return b""


def hostile_images(folder: Path) -> dict[str, Image]:
    files = {f"opt/hostile/{path.name}": path.read_bytes() for path in HOSTILE.glob("*.py")}
    layers = [python_layer(), numpy_layer(), files_layer(folder, files)]
    return {name: Image(layers, [PYTHON, *_command("/opt/hostile", name)]) for name in EXPECTED}


@contextmanager
def sealed_scorer(address: str) -> Iterator[SealedScorer]:
    from defense_kit.container import LOADING_SECONDS, connect

    client = connect(address, seconds=LOADING_SECONDS)
    with tempfile.TemporaryDirectory(prefix="scorer-") as folder, tempfile.TemporaryDirectory() as workshop:
        images = hostile_images(Path(workshop))
        with open(write_archive(Path(workshop) / "all.tar", images.values()), "rb") as archive:
            client.images.load(archive)
        yield SealedScorer(address, client, images, Path(folder))
    client.close()
