"""Reads and writes key files: a secret key that only its owner can read, and lists of trusted public keys.

Pure: standard library only.
"""

import os
import secrets
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from adjudication.signatures.ed25519 import SEED_BYTES
from adjudication.signatures.signed_note import (
    NoteError,
    SecretKey,
    SignatureKind,
    VerifierKey,
    check_key_name,
    is_secret,
    parse_secret_key,
    parse_verifier_key,
)
from adjudication.verifier.untrusted_files import NotThere, UnreadableFile, read_bytes

_MAX_KEY_BYTES = 1 << 14
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class KeyFileError(Exception):
    """A key file cannot be read or written; the text names it and says why."""


class NoKeyFile(KeyFileError):
    """There is no file of this name."""


@dataclass(frozen=True)
class TrustedKeys:
    """The keys that a reader of releases trusts: the contest's, and those of known witnesses."""

    contest: VerifierKey
    witnesses: tuple[VerifierKey, ...] = ()


def make_secret_key(name: str) -> SecretKey:
    """Return a new random key; raises NoteError for an invalid name."""
    return SecretKey(check_key_name(name), secrets.token_bytes(SEED_BYTES))


def write_secret_key(path: Path, key: SecretKey) -> None:
    """Write a secret key to a new file that only its owner can read; raises KeyFileError where the file exists.

    The file is complete and on the disk before it gets its name, so a killed process leaves all of it or none.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Only its owner can read it, and it is removed afterwards.
        with tempfile.NamedTemporaryFile(prefix=f".{path.name}-", dir=path.parent) as beside:
            beside.write(f"{key.text()}\n".encode())
            beside.flush()
            os.fsync(beside.fileno())
            os.link(beside.name, path)  # fails where the file exists
        sync_to_disk(path.parent)
    except FileExistsError as error:
        raise KeyFileError(f"{path} is there already, and nothing is written over it") from error
    except OSError as error:
        raise KeyFileError(f"{path} cannot be written: {error.strerror or error}") from error


def read_secret_key(path: Path) -> SecretKey:
    """Read a secret key; raises NoKeyFile without one, KeyFileError for an invalid file or one that others can read."""
    text = _read(path)
    if path.stat().st_mode & _OTHERS:
        raise KeyFileError(f"{path} can be read by others than its owner: chmod 600 {path}")
    try:
        return parse_secret_key(text.removesuffix("\n"))
    except NoteError as error:
        raise KeyFileError(f"{path} holds no key that signs: {error}") from error


def read_trusted_keys(path: Path) -> TrustedKeys:
    """Read a file with one public key a line: the contest's, and then those of witnesses, if any.

    Empty lines and lines that begin with `#` are passed over. Raises KeyFileError.
    """
    lines = [line for line in _read(path).splitlines() if line.strip() and not line.startswith("#")]
    try:
        keys = [_public(line.strip()) for line in lines]
    except NoteError as error:
        raise KeyFileError(f"{path}: {error}") from error
    if [key.kind for key in keys] != [SignatureKind.ED25519] + [SignatureKind.COSIGNATURE] * (len(keys) - 1):
        raise KeyFileError(f"{path}: the first line is the contest's key, each other one a witness's")
    return TrustedKeys(keys[0], tuple(keys[1:]))


def _public(line: str) -> VerifierKey:
    if is_secret(line):
        raise NoteError("this is a private key; checks need the public one")
    return parse_verifier_key(line)


def _read(path: Path) -> str:
    try:
        return read_bytes(path.parent, path.name, _MAX_KEY_BYTES).decode()
    except NotThere as error:
        raise NoKeyFile(f"{path}: there is no such file") from error
    except (UnreadableFile, UnicodeDecodeError) as error:
        raise KeyFileError(f"{path} cannot be read: {error}") from error


def write_whole(path: Path, data: bytes, *, by_way_of: Path) -> None:
    """Write bytes to a file that others read: all of them or none, even if the process is killed or the power fails.

    They are first written to a hidden file in the folder `by_way_of`, on the same disk; one left over from a killed
    process is overwritten. A release's own folder holds only published files.
    """
    beside = by_way_of / f".{path.name}.partial"
    beside.write_bytes(data)
    sync_to_disk(beside)
    os.replace(beside, path)
    sync_to_disk(path.parent)


def sync_to_disk(path: Path) -> None:
    """Flush a file's bytes, or a folder's names, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
