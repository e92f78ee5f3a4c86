"""Log of the checkpoints that a key has signed, so that it never signs two releases for one place in the chain.

Pure: standard library only. A text file beside the secret key, `KEY.signed`, one checkpoint a line, written before the
key signs.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from adjudication.signatures.checkpoints import Checkpoint, parse_checkpoint
from adjudication.signatures.key_files import KeyFileError, sync_to_disk
from adjudication.signatures.signed_note import NoteError, VerifierKey, parse_verifier_key


class ForkError(Exception):
    """There are two different releases in one place of the chain; the text names both."""


class CheckpointLog:
    """The checkpoints that one key has signed; while it is open, no other process may add to it.

    A witness also records the first key of the contest that it saw (`contest`).
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path, self._descriptor = path, descriptor
        self._signed: dict[tuple[str, int], Checkpoint] = {}
        self._contests: dict[str, VerifierKey] = {}
        for number, line in enumerate(self._lines(), start=1):
            self._read(line, number)

    def _lines(self) -> list[str]:
        data = os.pread(self._descriptor, os.fstat(self._descriptor).st_size, 0)
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data):
            # A process died while it wrote: an incomplete line was never signed.
            os.ftruncate(self._descriptor, len(whole))
        return whole.decode("utf-8", "replace").splitlines()

    def _read(self, line: str, number: int) -> None:
        words = line.split(" ")
        try:
            if words[0] == "contest" and len(words) == 2:
                key = parse_verifier_key(words[1])
                self._contests[key.name] = key
                return
            if words[0] != "checkpoint":
                raise NoteError(f"{words[0]!r} is no kind of line")
            found = parse_checkpoint("\n".join([*words[1:], ""]))
            self._signed[found.origin, found.size] = found
        except NoteError as error:
            raise KeyFileError(f"{self._path}: line {number} cannot be read. Restore it, or make a new key.") from error

    def contest(self, origin: str) -> VerifierKey | None:
        """Return the contest's key that was recorded first; None where there is none."""
        return self._contests.get(origin)

    def latest(self, origin: str) -> Checkpoint | None:
        """Return the newest checkpoint of a contest that was signed; None where none was."""
        signed = [each for each in self._signed.values() if each.origin == origin]
        return max(signed, key=lambda each: each.size, default=None)

    def check(self, checkpoint: Checkpoint) -> None:
        """Raise ForkError where another release was signed in this place of the chain."""
        before = self._signed.get((checkpoint.origin, checkpoint.size), checkpoint)
        if before.sha256 != checkpoint.sha256:
            raise ForkError(
                f"fork: release number {checkpoint.size:,} of {checkpoint.origin} is {checkpoint.name} with the "
                f"manifest {checkpoint.sha256}, and this key has signed {before.name} with {before.sha256} in its place"
            )

    def add(self, checkpoint: Checkpoint) -> None:
        """Record a checkpoint before it is signed; raises ForkError as `check` does."""
        self.check(checkpoint)
        place = (checkpoint.origin, checkpoint.size)
        if place not in self._signed:
            self._write(f"checkpoint {' '.join(checkpoint.text().splitlines())}\n")
            self._signed[place] = checkpoint

    def add_contest(self, key: VerifierKey) -> None:
        """Record the first key of a contest."""
        self._write(f"contest {key}\n")
        self._contests[key.name] = key

    def _write(self, line: str) -> None:
        data = line.encode()
        while data:
            data = data[os.write(self._descriptor, data) :]
        os.fsync(self._descriptor)


@contextmanager
def open_checkpoint_log(secret: Path) -> Iterator[CheckpointLog]:
    """Open the log of the key in the file `secret`, locked for this process; raises KeyFileError."""
    path = secret.with_name(f"{secret.name}.signed")
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise KeyFileError(f"{path} cannot be opened: {error.strerror}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        sync_to_disk(path.parent)
        yield CheckpointLog(path, descriptor)
    finally:
        os.close(descriptor)
