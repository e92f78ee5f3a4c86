"""Resumable uploads: keeps pieces of a large file, so that an interrupted upload can continue.

A page names the file by a key of its own and sends it piece by piece, in order. The server keeps one such file for
each team and field of the form; another file of the same member replaces it.
"""

import fcntl
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from os import SEEK_END
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

from django.contrib.auth.models import User
from django.http import HttpRequest

from common.errors import Conflict, InvalidInput, NotFound, WrongFields
from common.web.body_limits import MIB
from contest.core.models import Team
from contest.web.defense_uploads import FILES, PIECES, UPLOAD, expect_room, forget_left, upload_folder
from scoring.trials.submitted_files import too_large

PIECE_BYTES = 16 * MIB
_READ_BYTES = MIB
_IDLE_SECONDS = 600  # after which another member of the team may send a file for the same field
_KEY = re.compile(r"[0-9a-f]{64}")
_NOT_WHOLE = "This file did not arrive whole. Hand in again: only what is missing is sent."
_WHOLE = re.compile(r"([0-9a-f]{64}):(\d{1,14})")


def bytes_kept(team: Team, user: User, field: str, key: str) -> int:
    """Return how many bytes of a member's file are stored; NotFound for a field that takes no file."""
    path = _path(team, user, field, key)
    return path.stat().st_size if path.exists() else 0


def keep_piece(
    team: Team, user: User, field: str, key: str, *, at: int, length: int, size: int, body: HttpRequest
) -> int:
    """Add `length` bytes from `body`, which begin at `at`, to a file of `size`; return how many are stored now.

    Conflict: `wrong_place` where they do not begin at the end of the stored bytes, `busy` while another request adds
    some, `other_member` while another member of the team sends a file for this field, `no_room` where the disk has no
    room for the whole file. InvalidInput (`too_large`) beyond the most that the field takes. What arrives before a
    connection breaks stays.
    """
    path = _path(team, user, field, key)
    what, most = FILES[field]
    if max(size, at + length) > most:
        raise too_large(what, most, field)
    expect_room(rest=max(size - at, length), whole=size)
    forget_left()
    if at == 0:
        _make_way(path, upload_folder().glob(f"{team.pk}-*-{field}-*{PIECES}"), f"{team.pk}-{user.pk}-")
    elif not path.exists():
        raise _wrong_place(0)
    with _opened_alone(path) as file:
        if file.tell() != at:
            raise _wrong_place(file.tell())
        while piece := body.read(_READ_BYTES):
            file.write(piece)
        return file.tell()


def _make_way(path: Path, kept: Iterable[Path], own: str) -> None:
    """Remove the other files that the team keeps for the field of `path`."""
    others = [each for each in kept if each != path]
    idle_since = time.time() - _IDLE_SECONDS
    if any(not each.name.startswith(own) and _changed_at(each) > idle_since for each in others):
        words = "Another member of your team is sending such a file. Try again when it has arrived."
        raise Conflict(words, "other_member")
    _remove(others)


def _changed_at(path: Path) -> float:
    """Return when a file was written to; 0 where it was handed in or removed meanwhile."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _wrong_place(end: int) -> Conflict:
    return Conflict(f"The server has {end:,} bytes of this file: the next piece begins there.", "wrong_place")


@contextmanager
def taken_files(texts: Mapping[str, Any], team: Team, user: User) -> Iterator[dict[str, Path]]:
    """Give out the files that a form names, in `<field>_kept` as `<key>:<bytes>`; WrongFields where one is not whole.

    They are locked meanwhile, removed at the end, and kept for another try after an error.
    """
    named = {field: _WHOLE.fullmatch(str(texts[f"{field}_kept"])) for field in FILES if texts.get(f"{field}_kept")}
    with ExitStack() as stack:
        found = {field: _path(team, user, field, whole[1]) for field, whole in named.items() if whole}
        for field, path in list(found.items()):
            if not path.exists() or stack.enter_context(_opened_alone(path)).tell() != _stated(named[field]):
                del found[field]
        if lacking := named.keys() - found.keys():
            raise WrongFields(dict.fromkeys(sorted(lacking), _NOT_WHOLE))
        # Under names that no piece can have: another window may start the same file from the beginning.
        taken = {field: path.rename(path.with_suffix(f".{uuid4().hex}{UPLOAD}")) for field, path in found.items()}
        try:
            yield taken
        except BaseException:
            for field, path in taken.items():
                path.rename(found[field])
            raise
        _remove(taken.values())


def _stated(whole: re.Match[str] | None) -> int:
    return int(whole[2]) if whole else 0


def _path(team: Team, user: User, field: str, key: str) -> Path:
    if field not in FILES:
        raise NotFound("The form has no such file.", "not_found")
    if not _KEY.fullmatch(key):
        raise InvalidInput("Name the file by 64 hexadecimal digits.", "invalid")
    return upload_folder() / f"{team.pk}-{user.pk}-{field}-{key}{PIECES}"


def _remove(paths: Iterable[Path]) -> None:
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
