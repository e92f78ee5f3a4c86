"""Disk cache of pictures as decoded NumPy arrays.

The cache holds one file per picture, named by the hash of its pixels: S*S*3 raw bytes and a checksum. It may be deleted
at any time: the picture store is the truth. It uses the free disk, and shrinks where room is short.
"""

import io
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import structlog
import xxhash
from django.conf import settings

from defense_kit.protocol import Pixels as Pixels
from picture_files.png import PictureDamaged, decode_png, pixels_sha256
from picture_files.store import picture_key, picture_store, write_whole

MIN_FREE_BYTES = 10 << 30
_FREE_DIVISOR = 20  # of a small disk: one part in this many
_CHECKSUM_BYTES = 8

log = structlog.get_logger(__name__)


class WrongPicture(Exception):
    """The store holds something else than the requested picture."""


def load_arrays(pixels_sha256s: Sequence[str], size: int) -> Pixels:
    """Return the pictures as uint8 [N, size, size, 3], in the given order; errors as of `read_arrays`."""
    pictures = np.empty((len(pixels_sha256s), size, size, 3), dtype=np.uint8)
    read_arrays(pixels_sha256s, pictures)
    return pictures


def read_arrays(pixels_sha256s: Sequence[str], out: Pixels) -> None:
    """Read the pictures into a given array, uint8 [N, size, size, 3].

    Raise WrongPicture where the store has another picture or another size; the store's own errors pass through.
    A defense may share this memory and write to it meanwhile: that changes only its own pictures.
    """
    for picture, sha in zip(out, pixels_sha256s, strict=True):
        _fill(picture.reshape(-1), sha, picture.shape[0], picture_key, cached=True)


def _path(sha: str) -> str:
    return os.path.join(settings.ARRAY_CACHE_DIR, sha[:2], f"{sha}.rgb")  # called for each picture: a Path costs more


def load_picture(sha: str, size: int, key: Callable[[str], str] = picture_key, *, cached: bool = True) -> Pixels:
    """Return one picture as uint8 [size, size, 3]; errors as of `read_arrays`. `key` names its place in the store.

    A picture that is not `cached` leaves no trace in the shared cache.
    """
    picture = np.empty((size, size, 3), dtype=np.uint8)
    _fill(picture.reshape(-1), sha, size, key, cached=cached)
    return picture


def _fill(flat: Pixels, sha: str, size: int, key: Callable[[str], str], *, cached: bool) -> None:
    """Read a picture into its place in the array, since a copy would cost as much as reading."""
    if cached and _read_cached(flat, sha):
        return
    # From here on in memory of our own: what a defense wrote to shared memory must not look like a damaged file.
    own = np.empty_like(flat)
    if not (cached and _read_cached(own, sha, warn=True)):
        own = _decoded(sha, size, key)
        if cached:
            cache_picture(sha, own)
    flat[:] = own


def _read_cached(flat: Pixels, sha: str, *, warn: bool = False) -> bool:
    """Fill `flat` from the cache; False without a valid copy there. A damaged copy may log a warning."""
    checksum = bytearray(_CHECKSUM_BYTES + 1)  # filled to the last byte where the file is too long
    try:
        file = os.open(_path(sha), os.O_RDONLY)  # a file object costs a tenth of what reading does
    except OSError:  # not there yet, or no cache at all
        return False
    try:
        whole = os.readv(file, [flat.data, checksum]) == flat.size + _CHECKSUM_BYTES
    except OSError:
        return False
    finally:
        os.close(file)
    if whole and checksum[:_CHECKSUM_BYTES] != _checksum(flat, sha):
        if warn:
            log.warning("cached_picture_damaged", pixels_sha256=sha)
        return False
    return whole


def _checksum(flat: Pixels, sha: str) -> bytes:
    """Return the checksum of a cached picture, which differs for the same bytes under another name.

    The SHA-256 of the pixels takes as long as a small network does for its answer. It is compared when the picture
    comes out of the store; this one finds what a disk or a power cut did to the copy since then.
    """
    return xxhash.xxh3_64_digest(flat.data, seed=int(sha[:16], 16))


def _decoded(sha: str, size: int, key: Callable[[str], str]) -> Pixels:
    try:
        width, height, pixels = decode_png(picture_store().get(key(sha)))
    except PictureDamaged as error:
        raise WrongPicture(f"the store's picture {sha} is damaged: restore it from a backup") from error
    if (width, height) != (size, size):
        raise WrongPicture(f"picture {sha} is {width} x {height} in the store, not {size} x {size}")
    if pixels_sha256(width, height, pixels) != sha:
        raise WrongPicture(f"the store has other pixels under {sha}: restore the picture from a backup")
    return np.frombuffer(pixels, dtype=np.uint8)


def cache_picture(sha: str, flat: Pixels) -> None:
    """Cache a picture's pixels, uint8 [S * S * 3], so that it is decoded only once; without room, do nothing."""
    try:
        write_whole(Path(_path(sha)), io.BytesIO(flat.tobytes() + _checksum(flat, sha)))
    except OSError:  # the caller has the pixels anyway
        log.warning("picture_not_cached", exc_info=True)


def make_room(min_free: int = MIN_FREE_BYTES) -> int:
    """Where the cache's disk has less than `min_free` bytes free, delete files until it has twice that.

    The oldest files go first. Return how many were deleted.
    """
    folder = Path(settings.ARRAY_CACHE_DIR)
    if not folder.is_dir():
        return 0
    disk = shutil.disk_usage(folder)
    least = min(min_free, disk.total // _FREE_DIVISOR)
    return _delete_oldest(folder, 2 * least - disk.free) if disk.free < least else 0


def _delete_oldest(folder: Path, missing: int) -> int:
    files = sorted((found.st_mtime_ns, found.st_size, path) for path, found in _files(folder))
    deleted = 0
    for _, size, path in files:
        if missing <= 0:
            break
        path.unlink(missing_ok=True)  # another scorer of this machine may be at it too
        missing, deleted = missing - size, deleted + 1
    log.warning("picture_cache_shortened", files=deleted, left=len(files) - deleted)
    return deleted


def _files(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    for path in folder.glob("*/*"):
        try:
            yield path, path.stat()
        except FileNotFoundError:  # deleted or renamed just now
            continue
