"""Measures what an attack changed in a picture, and writes PNG files to look at."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from defense_kit.warmup.attacks import AttackedPicture, Bytes, Rows, as_floats
from defense_kit.warmup.streams import Streams

FOLDER = "pictures"
_NAME_DIGITS = 16  # of a SHA-256, in a file's name
FirstMove = Callable[[AttackedPicture, Streams], Rows]


@dataclass(frozen=True, slots=True)
class Distance:
    """How far an attacked picture is from the picture that its attack started from; values are in 0 to 1."""

    l_infinity: float
    l2: float


def start_of(attack: str, of: AttackedPicture, first_move: FirstMove) -> Rows | None:
    """Return the picture that an attack changes: after the first move for SPSA and the boundary attack, otherwise the
    clean one. None for the grid: a distance says nothing about a rotation."""
    if attack == "spatial_grid":
        return None
    if attack in ("spsa", "boundary"):
        return first_move(of, Streams(attack, of.sha256))
    return as_floats(of.pixels)


def distance(start: Rows | None, picture: Rows) -> Distance | None:
    """Return the distance over all values, in float64; None without a start."""
    if start is None:
        return None
    change = picture.astype(np.float64) - start
    return Distance(float(np.abs(change).max()), float(np.linalg.norm(change.reshape(-1))))


def write_png(folder: Path, of: AttackedPicture, attack: str, pixels: Bytes) -> str:
    """Write 8-bit pixels unless their file exists, and return its path below `folder`.

    The name has a hash of the pixels, so that what another defense or set of pictures led to is never overwritten.
    """
    name = "original" if attack == "clean" else attack
    pixels_sha256 = hashlib.sha256(pixels.tobytes()).hexdigest()
    path = Path(FOLDER, of.sha256.hex()[:_NAME_DIGITS], f"{name}-{pixels_sha256[:_NAME_DIGITS]}.png")
    whole = folder / path
    if not whole.exists():
        whole.parent.mkdir(parents=True, exist_ok=True)
        part = whole.with_suffix(".part")  # a run that is killed here leaves no partial PNG
        Image.fromarray(pixels).save(part, "PNG")
        part.replace(whole)
    return path.as_posix()
