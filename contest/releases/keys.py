"""The contest's key that signs releases: made and rotated by a command, kept in a file outside the database.

The secret is in `RELEASE_KEY_FILE`. The public part is in `keys.json`, in the folder of the releases. Pages read only
that file: only the process that publishes releases can read the secret.
"""

import os
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings
from django.db import transaction

from adjudication.signatures.key_files import (
    KeyFileError,
    NoKeyFile,
    make_secret_key,
    read_secret_key,
    write_secret_key,
    write_whole,
)
from adjudication.signatures.key_history import KEYS_FILE, KeyHistory, read_keys
from adjudication.signatures.signed_note import NoteError, SecretKey
from common.audit.trail import audit
from common.errors import Conflict, InvalidInput, required
from contest.core.models import Release
from contest.releases.workplace import only_worker_in


def public_keys(folder: Path) -> KeyHistory:
    """Return what everybody may know of the keys of the releases in `folder`, empty before the first key.

    Raises Conflict (`keys_damaged`).
    """
    try:
        return read_keys(folder)
    except NoteError as error:
        raise Conflict(
            f"{folder / KEYS_FILE}: {error}. Put it back from a mirror or a backup.", "keys_damaged"
        ) from error


def write_public_keys(folder: Path, keys: KeyHistory) -> None:
    """Put `keys.json` in its place, whole."""
    write_whole(folder / KEYS_FILE, keys.encode(), by_way_of=folder)


def copy_public_keys(source: Path, folder: Path) -> None:
    """Put what a mirror has of the keys beside a copy of its releases; nothing where it has none."""
    keys = public_keys(source)
    if keys.newest is not None:
        write_public_keys(folder, keys)


def signing_key(folder: Path) -> SecretKey | None:
    """Return the key that signs the releases in `folder` now; None before the first one is made.

    Takes a rotation that was interrupted to its end. Raises Conflict where the file of the key is missing, damaged, or
    holds another key than the newest of `keys.json`.
    """
    newest = public_keys(folder).newest
    if newest is None:
        return None
    _finish_rotation(folder)
    key = required(
        _secret(settings.RELEASE_KEY_FILE),
        Conflict(f"The key {newest.key.short} is not in {settings.RELEASE_KEY_FILE}: put it back.", "key_missing"),
    )
    if key.verifier_key() != newest.key:
        message = f"{settings.RELEASE_KEY_FILE} holds {key.verifier_key().short}, and {newest.key.short} signs."
        raise Conflict(message, "key_differs")
    return key


def key_name() -> str:
    """Return the name that a new key gets, which is the origin of the chain: the address of the releases."""
    address = urlsplit(settings.PUBLIC_URL)
    return f"{address.netloc}{address.path.rstrip('/')}/releases"


@transaction.atomic
def make_key(*, folder: Path, now: datetime, name: str = "") -> None:
    """Make the first key, which signs what is published from now on.

    The same again finishes what was interrupted. Raises Conflict (`key_exists`) where there is a key, InvalidInput for
    a name that no key can have.
    """
    with only_worker_in(folder):
        keys = public_keys(folder)
        if keys.newest is not None:
            raise Conflict(
                f"There is a key: {keys.newest.key.short}. `release_key rotate` makes the next.", "key_exists"
            )
        key = _secret(settings.RELEASE_KEY_FILE) or _new_secret(settings.RELEASE_KEY_FILE, name or key_name())
        keys = keys.with_key(key, since=_next_place(), before=None)
        audit("release_key.make", by=None, subject={}, now=now, public={"key": str(key.verifier_key())})
        write_public_keys(folder, keys)


@transaction.atomic
def rotate_key(*, folder: Path, now: datetime) -> None:
    """Let a new key sign what is published from now on: the old one signs a statement that says so, and is removed.

    What was published before is signed by then, or never is. The same again finishes what was interrupted. Raises
    Conflict.
    """
    with only_worker_in(folder):
        if _finish_rotation(folder):
            return
        key = required(signing_key(folder), Conflict("There is no key yet: `release_key new` makes it.", "no_key"))
        path = _next_path()
        following = _secret(path) or _new_secret(path, key.name)
        keys = public_keys(folder).with_key(following, since=_next_place(), before=key)
        audit("release_key.rotate", by=None, subject={}, now=now, public={"key": str(following.verifier_key())})
        write_public_keys(folder, keys)
        _finish_rotation(folder)


def _next_path() -> Path:
    """Return where the next key waits until the statement about it is published."""
    path: Path = settings.RELEASE_KEY_FILE
    return path.with_name(f"{path.name}.next")


def _finish_rotation(folder: Path) -> bool:
    """Put the next key in the place of the old one where the statement about it is published; say whether it was."""
    newest, following = public_keys(folder).newest, _secret(_next_path())
    if newest is None or following is None or following.verifier_key() != newest.key:
        return False
    os.replace(_next_path(), settings.RELEASE_KEY_FILE)
    return True


def _next_place() -> int:
    return Release.objects.count() + 1


def _secret(path: Path) -> SecretKey | None:
    try:
        return read_secret_key(path)
    except NoKeyFile:
        return None
    except KeyFileError as error:
        raise Conflict(f"{error}.", "key_damaged") from error


def _new_secret(path: Path, name: str) -> SecretKey:
    try:
        key = make_secret_key(name)
        write_secret_key(path, key)
    except NoteError as error:
        raise InvalidInput(f"{name!r} cannot be the name of a key: {error}.", "invalid", field="name") from error
    except KeyFileError as error:
        raise Conflict(f"{error}.", "key_damaged") from error
    return key
