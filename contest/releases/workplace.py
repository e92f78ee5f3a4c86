"""Locks the folder of the releases for one process at a time, and makes the folder in it for building a release."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from common.errors import Conflict
from contest.releases.folders import remove_folder


@contextmanager
def only_worker_in(out: Path) -> Iterator[None]:
    """Lock `out` for this process. The lock ends with the process, however that ends."""
    out.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(out, os.O_RDONLY)
    try:
        _lock(descriptor, out)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, out: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        message = f"Another release is being written into {out}. Try again when it is done."
        raise Conflict(message, "release_running") from error


@contextmanager
def workplace_in(out: Path) -> Iterator[Path]:
    """Lock `out` and make the folder in it for building a release; first remove what a killed process left there."""
    workplace = out / ".release.partial"
    with only_worker_in(out):
        if workplace.exists():
            remove_folder(workplace)
        workplace.mkdir()
        try:
            yield workplace
        finally:
            remove_folder(workplace)
