"""The defenses of the demo's team: one program with several thresholds, each in an image archive of its own.

The demo needs no container engine. Its images hold the program without an interpreter, and this project runs the
same files in the scorer's process; it recognises them by the digest of their image.
"""

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from tarfile import TarFile, TarInfo
from typing import Any

from contest.demo.defense.predict import DemoDefense
from defense_kit.frames import CONTEST_PIXELS
from scoring.machine import processor_name
from scoring.models import Defense
from scoring.reference import AtOnce
from scoring.runner import Pixels, ReferenceSession

FOLDER = Path(__file__).parent / "defense"
CODE, WEIGHTS, TRAINING = "predict.py", "weights.json", "train.py"


@dataclass(frozen=True)
class Program:
    """A defense of the demo: it abstains below `least_confidence`."""

    name: str
    least_confidence: float
    words: str
    closed: bool = False

    @property
    def description(self) -> str:
        """Return the team's description of it."""
        image = "The image holds the program without an interpreter; the demo contest runs the program itself."
        return f"Demo. {self.words} {image}"

    @cached_property
    def weights(self) -> bytes:
        """Return the file of parameters that it reads."""
        fitted = json.loads((FOLDER / WEIGHTS).read_text())
        return json.dumps(fitted | {"least_confidence": self.least_confidence}).encode()

    @cached_property
    def _layers(self) -> list[bytes]:
        return [tar_of({f"app/{CODE}": (FOLDER / CODE).read_bytes()}), tar_of({f"app/{WEIGHTS}": self.weights})]

    @cached_property
    def _configuration(self) -> bytes:
        digests = [f"sha256:{_sha256(layer)}" for layer in self._layers]
        told = {
            "architecture": "amd64",
            "os": "linux",
            "config": {"Cmd": ["python3", f"/app/{CODE}"]},
            "rootfs": {"type": "layers", "diff_ids": digests},
        }
        return json.dumps(told).encode()

    @property
    def digest(self) -> str:
        """Return the digest of its image."""
        return f"sha256:{_sha256(self._configuration)}"

    @property
    def archive(self) -> bytes:
        """Return its image as `docker save` writes one."""
        layers = {f"{_sha256(layer)}.tar": layer for layer in self._layers}
        configuration = f"{_sha256(self._configuration)}.json"
        manifest = [{"Config": configuration, "RepoTags": None, "Layers": list(layers)}]
        rest = {configuration: self._configuration, "manifest.json": json.dumps(manifest).encode()}
        return tar_of(layers | rest)

    @property
    def source(self) -> bytes:
        """Return the zip of its source."""
        return zip_of({CODE: (FOLDER / CODE).read_bytes(), WEIGHTS: self.weights})

    @property
    def training_code(self) -> bytes:
        """Return the zip of what fitted its parameters."""
        return zip_of({TRAINING: (FOLDER / TRAINING).read_bytes()})


# The program errs on a valid attack of last week with a confidence of 0.56, and on one of this week with 0.785.
STEADFAST = Program("steadfast", 0.79, "Weighs which way edges point, and abstains below a confidence of 79 %.")
EAGER = Program("eager", 0.55, "Weighs which way edges point, and answers from a confidence of 55 % on.")
PATIENT = Program("patient", 0.77, "Weighs which way edges point, and abstains below a confidence of 77 %.")
SEALED = Program("sealed", 0.792, "Its source is closed: it can be attacked and staked and cannot win.", closed=True)
PROGRAMS = (STEADFAST, EAGER, PATIENT, SEALED)


@cache
def _by_digest() -> dict[str, Program]:
    return {program.digest: program for program in PROGRAMS}


def program_of(defense: Defense) -> Program | None:
    """Return the demo's program in a defense's image; None for every other image."""
    return _by_digest().get(defense.digest) if defense.image else None


class InProcessProgram(AtOnce):
    """A program of the demo in this process."""

    device = f"cpu, {processor_name()}, without a container"

    def __init__(self, program: Program, scale: int = 1) -> None:
        super().__init__()
        self._edges, self._scale = DemoDefense(json.loads(program.weights)), scale

    def predict(self, images: Pixels) -> Any:
        """Return labels int8 [N] and scores float32 [N, 2] for images whose values reach 255 over the scale."""
        return self._edges.predict(images if self._scale == 1 else images * self._scale)


class ProgramRunner:
    """Runs a program of the demo. It draws nothing at random, so the seed is not used."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def open(
        self, defense: Defense, *, image_size: int, batch_size: int, pixels: str = CONTEST_PIXELS, **_: object
    ) -> ReferenceSession:
        """Return a session of the program."""
        program = InProcessProgram(self._program, 1 if pixels == CONTEST_PIXELS else 255)
        return ReferenceSession(program, image_size=image_size, batch_size=batch_size, pixels=pixels)


def tar_of(files: Mapping[str, bytes]) -> bytes:
    """Return a tar of files, the same bytes for the same files."""
    packed = io.BytesIO()
    with TarFile(fileobj=packed, mode="w") as archive:
        for name, data in files.items():
            header = TarInfo(name)
            header.size = len(data)
            archive.addfile(header, io.BytesIO(data))
    return packed.getvalue()


def zip_of(files: Mapping[str, bytes]) -> bytes:
    """Return a zip of files, the same bytes for the same files."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return packed.getvalue()


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
