"""Base types of the fixed attacks: a picture to start from, the queries, the result.

An attack is a generator. It yields float32 rows [k, 224, 224, 3] in 0 to 1, or what writes them, is sent the scores
[k, 2] of the classes (bicycle, bird) for them, and returns an `AttackResult`. It knows nothing of batches or of other
pictures.
"""

from abc import ABC, abstractmethod
from collections.abc import Generator
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

SIDE = 224
Bytes = NDArray[np.uint8]  # [H, W, 3]
Floats = NDArray[np.floating]  # [H, W, 3]
Rows = NDArray[np.float32]  # [k, 224, 224, 3], 0 to 1 (SPSA as published: -0.01 to 1.01)
Scores = NDArray[np.float32]  # [k, 2]: bicycle, bird
Margins = NDArray[np.float64]  # [k]: the other class over the true one; a picture is wrong from 0 on


class MadeRows(ABC):
    """Rows that are written straight into the batch: the rows of all waiting attacks would take gigabytes.

    `shape` is that of an array of all rows. `used` is how many of them count; an attack that queries ahead (`is_ahead`)
    lowers it before its step ends.
    """

    is_ahead = False

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape, self.used = shape, shape[0]

    @abstractmethod
    def write(self, first: int, out: Rows) -> None:
        """Write the rows from number `first` on, as many as `out` has; any thread may call it."""


Query = Rows | MadeRows
Attack = Generator[Query, Scores, "AttackResult"]


@dataclass(frozen=True, slots=True)
class AttackedPicture:
    """A picture to attack: uint8 [224, 224, 3], its class, and the SHA-256 of the pixels that it was made from."""

    pixels: Bytes
    is_bird: bool
    sha256: bytes

    @property
    def key(self) -> bytes:
        """Return what its results are kept under: the SHA-256, and the class that they were found for."""
        return self.sha256 + bytes([self.is_bird])

    def margins(self, scores: Scores) -> Margins:
        """Return by how much the other class exceeds the true one; -inf for a row that is not finite: no attack may
        be led by one."""
        true = int(self.is_bird)
        wide = scores.astype(np.float64)
        return np.where(np.isfinite(wide).all(axis=1), wide[:, 1 - true] - wide[:, true], -inf)

    def is_wrong(self, scores: Scores) -> bool:
        """Say whether the scores [2] are finite and the other class is at least as high."""
        bicycle, bird = scores.tolist()
        return isfinite(bicycle) and isfinite(bird) and (bicycle >= bird if self.is_bird else bird >= bicycle)


@dataclass(frozen=True, slots=True)
class AttackResult:
    """What an attack returns: the picture with its scores, how many rows it queried, and what it chose.

    `bad_rows` counts the answers that were not finite; `checkpoints` fills it in.
    """

    picture: Rows  # [224, 224, 3]
    scores: Scores  # [2]
    queries: int
    chosen: dict[str, Any] = field(default_factory=dict)
    bad_rows: int = 0


def as_floats(pixels: Bytes) -> Rows:
    """Return 8-bit pixels as the values that a defense gets: k / 255 in float32."""
    return pixels.astype(np.float32) / np.float32(255)


def write_rows(query: Query, first: int, out: Rows) -> None:
    """Write the rows of a query from number `first` on, as many as `out` has."""
    if isinstance(query, np.ndarray):
        out[:] = query[first : first + len(out)]
    else:
        query.write(first, out)


def clean(of: AttackedPicture) -> Attack:
    """Return the picture as it is."""
    return single_query(as_floats(of.pixels))


def single_query(picture: Rows) -> Attack:
    """Return a picture [224, 224, 3] with its scores."""
    scores = yield picture[np.newaxis]
    return AttackResult(picture, scores[0].copy(), 1)
