"""A perceptual hash of pictures, and the search for similar hashes, in NumPy.

The hash is the difference hash: the picture in grey, shrunk to nine columns and eight rows by the mean of each block;
a bit says whether a block is brighter than its neighbour to the right. Resizing, recompression and a change of
brightness move few of its 64 bits. A picture without structure has few bits that mean anything, and is near many.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

BITS = 64
_COLUMNS, _ROWS = 9, 8
# Weights of red, green and blue in perceived brightness, in thousandths (ITU-R BT.601).
_GREY = np.array((299, 587, 114), dtype=np.int64)

Hashes = npt.NDArray[np.uint64]


def difference_hash(width: int, height: int, pixels: bytes) -> int:
    """Return the hash of RGB8 pixels in C order, as a number of 64 bits; ValueError below nine by eight pixels."""
    if width < _COLUMNS or height < _ROWS:
        raise ValueError(f"a picture of {width} x {height} is too small to be hashed")
    grey = np.frombuffer(pixels, dtype=np.uint8).reshape(height, width, 3) @ _GREY
    means = _block_means(grey)
    bits = means[:, :-1] > means[:, 1:]
    return int.from_bytes(np.packbits(bits).tobytes(), "big")


def _block_means(grey: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    height, width = grey.shape
    tops = np.arange(_ROWS) * height // _ROWS
    lefts = np.arange(_COLUMNS) * width // _COLUMNS
    sums = np.add.reduceat(np.add.reduceat(grey, tops, axis=0), lefts, axis=1)
    sizes = np.outer(np.diff(tops, append=height), np.diff(lefts, append=width))
    means: npt.NDArray[np.float64] = sums / sizes
    return means


def as_signed_64_bits(bits: int) -> int:
    """Return 64 bits as the signed number that a database keeps."""
    return bits - (1 << BITS) if bits >> (BITS - 1) else bits


def as_array(kept: Sequence[int]) -> Hashes:
    """Return signed numbers as the bits they stand for."""
    return np.array(kept, dtype=np.int64).view(np.uint64)


def near(bits: int, others: Hashes, *, within: int, limit: int) -> list[tuple[int, int]]:
    """Return (place in `others`, distance in bits) of at most `limit` hashes that differ in `within` bits or fewer, the
    nearest first."""
    distances = np.bitwise_count(others ^ np.uint64(bits))
    places = np.flatnonzero(distances <= within)
    order = places[np.argsort(distances[places], kind="stable")][:limit]
    return [(int(place), int(distances[place])) for place in order]
