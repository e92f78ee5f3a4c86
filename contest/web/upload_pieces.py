"""Keeps pieces of a large file, so that sending it goes on where a connection broke.

A page names the file by a key of its own and sends it piece by piece, in order. A person keeps one such file for each
field of the form; another one takes its place.
"""

import fcntl
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import SEEK_END
from pathlib import Path
from typing import IO, Any

from django.contrib.auth.models import User
from django.http import HttpRequest

from common.errors import Conflict, InvalidInput, NotFound, WrongFields
from common.web.body_limits import MIB
from contest.web.defense_uploads import FILES, expect_room, upload_folder
from scoring.trials.submitted_files import too_large

PIECE_BYTES = 16 * MIB
_READ_BYTES = MIB
_KEPT_SECONDS = 3 * 24 * 3600
_SUFFIX = ".pieces"
_KEY = re.compile(r"[0-9a-f]{64}")
_WHOLE = re.compile(r"([0-9a-f]{64}):(\d{1,14})")


def bytes_kept(user: User, field: str, key: str) -> int:
    """Return how many bytes of a file are here; NotFound for a field that takes no file."""
    path = _path(user, field, key)
    return path.stat().st_size if path.exists() else 0


def keep_piece(user: User, field: str, key: str, *, at: int, length: int, body: HttpRequest) -> int:
    """Add `length` bytes from `body`, which begin at `at`; return how many are here now.

    Conflict: `wrong_place` where they do not begin at the end of what is here, `busy` while another request adds some,
    `no_room` where the disk is full. InvalidInput (`too_large`) beyond the most that the field takes. What arrives
    before a connection breaks stays.
    """
    path = _path(user, field, key)
    what, most = FILES[field]
    if at + length > most:
        raise too_large(what, most, field)
    expect_room(length)
    if at == 0:
        _remove(each for each in _files_of(user, field) if each != path)
    with _opened_alone(path) as file:
        if file.tell() != at:
            words = f"The server has {file.tell():,} bytes of this file: the next piece begins there."
            raise Conflict(words, "wrong_place")
        while piece := body.read(_READ_BYTES):
            file.write(piece)
        return file.tell()


def kept_files(texts: Mapping[str, Any], user: User) -> dict[str, Path]:
    """Return the files that a form names, in `<field>_kept` as `<key>:<bytes>`; WrongFields where one is not whole."""
    found, wrong = {}, {}
    for field in FILES:
        if not (named := texts.get(f"{field}_kept")):
            continue
        whole = _WHOLE.fullmatch(str(named))
        if whole and bytes_kept(user, field, whole[1]) == int(whole[2]) > 0:
            found[field] = _path(user, field, whole[1])
        else:
            wrong[field] = "This file did not arrive whole. Hand in again: only what is missing is sent."
    if wrong:
        raise WrongFields(wrong)
    return found


def forget_files(files: Mapping[str, Path]) -> None:
    """Remove files that were handed in."""
    _remove(files.values())


def _path(user: User, field: str, key: str) -> Path:
    if field not in FILES:
        raise NotFound("The form has no such file.", "not_found")
    if not _KEY.fullmatch(key):
        raise InvalidInput("Name the file by 64 hexadecimal digits.", "invalid")
    return upload_folder() / f"{user.pk}-{field}-{key}{_SUFFIX}"


def _files_of(user: User, field: str) -> Iterator[Path]:
    """Yield the files of this field that are here; those that nobody went on with for days are removed."""
    for path in upload_folder().glob(f"*{_SUFFIX}"):
        if path.name.startswith(f"{user.pk}-{field}-"):
            yield path
        elif path.stat().st_mtime < time.time() - _KEPT_SECONDS:
            path.unlink(missing_ok=True)


def _remove(paths: Any) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


@contextmanager
def _opened_alone(path: Path) -> Iterator[IO[bytes]]:
    """Open a file at its end; Conflict (`busy`) while another request has it."""
    with path.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Conflict("Another window is sending this file.", "busy") from None
        file.seek(0, SEEK_END)  # others may have added some since it was opened
        yield file
