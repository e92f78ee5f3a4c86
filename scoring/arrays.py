"""Pictures as arrays, decoded once: a PNG costs some hundred times what reading its pixels costs.

The cache holds one raw file of S*S*3 bytes per picture, named by the hash of its pixels. It may be deleted at any
time: the picture store is the truth.
"""

import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

from labeling.png import decode_png, pixels_sha256
from labeling.store import picture_key, picture_store

Pixels = NDArray[np.uint8]


class WrongPicture(Exception):
    """The store holds something else than the picture asked for."""


def load_arrays(pixels_sha256s: Sequence[str], size: int) -> Pixels:
    """Return the pictures as uint8 [N, size, size, 3], in the given order.

    Raise WrongPicture where the store's picture is another or of another size; the store's own errors pass through.
    """
    pictures = np.empty((len(pixels_sha256s), size, size, 3), dtype=np.uint8)
    for row, sha in enumerate(pixels_sha256s):
        pictures[row] = load_picture(sha, size)
    return pictures


def _path(sha: str) -> Path:
    return Path(settings.ARRAY_CACHE_DIR) / sha[:2] / f"{sha}.rgb"


def load_picture(sha: str, size: int, key: Callable[[str], str] = picture_key) -> Pixels:
    """Return one picture as uint8 [size, size, 3]; errors as of `load_arrays`. `key` names its place in the store."""
    try:
        flat = np.fromfile(_path(sha), dtype=np.uint8)
    except FileNotFoundError:
        flat = np.empty(0, dtype=np.uint8)
    if flat.size != size * size * 3:  # not there yet, or cut short by a full disk
        flat = _decoded(sha, size, key)
        cache_picture(sha, flat)
    return flat.reshape(size, size, 3)


def _decoded(sha: str, size: int, key: Callable[[str], str]) -> Pixels:
    width, height, pixels = decode_png(picture_store().get(key(sha)))
    if (width, height) != (size, size):
        raise WrongPicture(f"picture {sha} is {width} x {height} in the store, not {size} x {size}")
    if pixels_sha256(width, height, pixels) != sha:
        raise WrongPicture(f"the store has other pixels under {sha}: restore the picture from a backup")
    return np.frombuffer(pixels, dtype=np.uint8)


def cache_picture(sha: str, flat: Pixels) -> None:
    """Keep a picture's pixels, uint8 [S * S * 3], so that nobody has to decode it."""
    # Under another name first: a reader beside us sees the whole file or none.
    path = _path(sha)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(flat.tobytes())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
