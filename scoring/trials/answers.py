"""Packs and unpacks the predictions of a trial, in rows of 20 bytes."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.void]

# `picture` is the number of a PrivatePicture in a trial over a private set, of an Image in all others; `label` a
# DefenseAnswer. A picture without an answer, because of a fault, has no row.
ROW = np.dtype(
    [("picture", "<i8"), ("variant", "u1"), ("label", "i1"), ("zero", "<u2"), ("scores", "<f4", (2,))], align=False
)


def pack_rows(answers: Iterable[tuple[int, int, int, float, float]]) -> bytes:
    """Return (picture, variant, label, score for bicycle, score for bird) as the table keeps them, in their order."""
    listed = sorted(answers)
    rows = np.zeros(len(listed), ROW)
    for place, (picture, variant, label, bicycle, bird) in enumerate(listed):
        rows[place] = (picture, variant, label, 0, (bicycle, bird))
    return rows.tobytes()


def unpack_rows(kept: bytes | memoryview) -> Rows:
    """Return the rows that `pack_rows` made; ValueError for anything else."""
    return np.frombuffer(bytes(kept), ROW)
