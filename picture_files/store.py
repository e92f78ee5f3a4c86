"""The picture store: a folder, or an S3 bucket.

Keys are `pictures/<pixels_sha256>.png`, `originals/<original_sha256>`, `private/<pixels_sha256>.png` for pictures that
are never shown, and for defenses `defenses/<sha256>.tar` (the image's archive), `.zip` (the source) and `.weights`. A
key names its content, so a file is written once and never changed, and two writers of one key cannot disagree. Who puts
a file writes the row that names it within `picture_files.store_transactions.storing_files`.
"""

import errno
import io
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast
from urllib.parse import unquote, urlparse

from django.conf import settings

from common.errors import NotFound
from common.outages import store_away

# One folder and one plain file name: nothing that could climb out of the store.
_KEY = re.compile(r"[a-z]+/[0-9a-z][0-9a-z._-]*")
_PIECE_BYTES = 1 << 20
_PNG, _BYTES = "image/png", "application/octet-stream"
_MISSING_CODES = frozenset({"NoSuchKey", "404", "NotFound"})
_UNFINISHED = re.compile(r"\..*\.part")  # what `put` of a folder writes into before it renames


class PictureMissing(NotFound):
    """The store has no file under this key."""

    def __init__(self, key: str) -> None:
        super().__init__(f"The store has no {key}. Restore it from a backup of the store.", "picture_missing")


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file of the store: its key, its bytes, and when it was written by the clock of the disk or bucket."""

    key: str
    size: int
    written_at: datetime


class PictureStore(Protocol):
    """The interface of a store. Every method raises ValueError for a malformed key."""

    def put(self, key: str, data: bytes) -> None:
        """Keep `data` under `key`, whole or not at all; a key that is there already stays as it is."""

    def put_file(self, key: str, path: Path) -> None:
        """Keep the file at `path` under `key`, a piece at a time, and otherwise as `put` does."""

    def get(self, key: str) -> bytes:
        """Return what was put; raises PictureMissing."""

    def fetch(self, key: str, file: BinaryIO) -> None:
        """Write what was put to `file`, a piece at a time; raises PictureMissing."""

    def exists(self, key: str) -> bool:
        """Say whether `key` was put."""

    def size(self, key: str) -> int:
        """Return how many bytes were put; raises PictureMissing."""

    def part(self, key: str, start: int, end: int) -> BinaryIO:
        """Return the bytes from `start` up to and not including `end`, to be read and closed; raises PictureMissing.

        There has to be such a byte.
        """

    def files(self) -> Iterator[StoredFile]:
        """Yield every file that was put; what else lies in the folder or bucket is left out."""

    def remove(self, key: str) -> None:
        """Remove what was put; nothing happens where there is none. Only within `removing_files`."""

    def unfinished(self, before: datetime) -> Iterator[Callable[[], object]]:
        """Yield a function that removes it for each file that a writer began and did not touch since `before`."""


def picture_key(pixels_sha256: str) -> str:
    """Return the key of a canonical picture."""
    return f"pictures/{pixels_sha256}.png"


def original_key(original_sha256: str) -> str:
    """Return the key of an uploaded file as it came."""
    return f"originals/{original_sha256}"


def picture_store() -> PictureStore:
    """Return the store that IMAGE_STORE_URL names; one object per address."""
    return _store_at(settings.IMAGE_STORE_URL, settings.S3_ENDPOINT_URL)


@lru_cache(maxsize=8)
def _store_at(url: str, endpoint: str) -> PictureStore:
    parts = urlparse(url)
    if parts.scheme == "s3":
        return S3Store(parts.netloc, parts.path.strip("/"), endpoint=endpoint or None)
    return FolderStore(Path(unquote(parts.path)))


@contextmanager
def _reachable() -> Iterator[None]:
    """Turn errors of a folder that may not be entered, or is not a folder, into ServiceUnavailable."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM, errno.ENOTDIR):
            raise store_away() from error
        raise


def write_whole(path: Path, source: BinaryIO) -> None:
    """Write a file beside its place and rename it: whoever reads there finds all of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            shutil.copyfileobj(source, file, _PIECE_BYTES)
            file.flush()
            # A row that names this file may be committed next; the bytes must outlive a power cut too.
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


class FolderStore(PictureStore):
    """Files in `folder`, spread over sub-folders by the first two characters of their names."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, key: str, data: bytes) -> None:
        """Write beside the place and rename, so that a killed process leaves no half picture."""
        self._write(key, io.BytesIO(data))

    def put_file(self, key: str, path: Path) -> None:
        with open(path, "rb") as source:
            self._write(key, source)

    @_reachable()
    def _write(self, key: str, source: BinaryIO) -> None:
        path = self._path(key)
        if path.exists():
            return
        write_whole(path, source)

    @_reachable()
    def get(self, key: str) -> bytes:
        with self._opened(key) as file:
            return file.read()

    @_reachable()
    def fetch(self, key: str, file: BinaryIO) -> None:
        with self._opened(key) as kept:
            shutil.copyfileobj(kept, file, _PIECE_BYTES)

    @_reachable()
    def exists(self, key: str) -> bool:
        return self._path(key).exists()

    @_reachable()
    def size(self, key: str) -> int:
        with self._opened(key) as file:
            return os.fstat(file.fileno()).st_size

    @_reachable()
    def part(self, key: str, start: int, end: int) -> BinaryIO:
        return cast(BinaryIO, FileSlice(self._opened(key), start, end))

    def files(self) -> Iterator[StoredFile]:
        for entry, found in self._walk():
            key = f"{Path(entry.path).parent.parent.name}/{entry.name}"
            if _KEY.fullmatch(key) and self._path(key) == Path(entry.path):
                yield StoredFile(key, found.st_size, _moment(found))

    @_reachable()
    def remove(self, key: str) -> None:
        """Delete the file; its sub-folder stays, as another writer may be about to use it."""
        self._path(key).unlink(missing_ok=True)

    def unfinished(self, before: datetime) -> Iterator[Callable[[], object]]:
        """Walk through the sub-folders; a file that is written to is touched all the time."""
        for entry, found in self._walk():
            if _UNFINISHED.fullmatch(entry.name) and _moment(found) < before:
                yield partial(Path(entry.path).unlink, missing_ok=True)

    def _walk(self) -> Iterator[tuple[os.DirEntry[str], os.stat_result]]:
        """Yield the files where `put` writes; raises ServiceUnavailable where the whole folder is gone."""
        with _reachable():
            if not self.folder.is_dir():
                raise store_away()
            for folder in sorted(self.folder.glob("*/*/")):
                with os.scandir(folder) as entries:
                    for entry in entries:
                        with suppress(FileNotFoundError):  # its writer has just renamed it
                            if entry.is_file(follow_symlinks=False):
                                yield entry, entry.stat(follow_symlinks=False)

    def _opened(self, key: str) -> BinaryIO:
        """Open a file to be read; where it is missing with the whole folder, so is its disk."""
        try:
            return open(self._path(key), "rb")
        except FileNotFoundError as error:
            raise (PictureMissing(key) if self.folder.is_dir() else store_away()) from error

    def _path(self, key: str) -> Path:
        kind, name = _checked(key).split("/")
        return self.folder / kind / name[:2] / name


class FileSlice(io.RawIOBase):
    """The bytes of an open file from `start` up to and not including `end`; closing it closes the file."""

    def __init__(self, file: BinaryIO, start: int, end: int) -> None:
        self._file, self._left = file, end - start
        file.seek(start)

    def readable(self) -> bool:
        """Say that this is for reading."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, at most `size`; none at the end."""
        wanted = self._left if size < 0 else min(size, self._left)
        data = self._file.read(wanted)
        self._left -= len(data)
        return data

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()


class S3Store(PictureStore):
    """Objects in `bucket` under `prefix`. Credentials come from where boto3 looks for them."""

    def __init__(self, bucket: str, prefix: str, *, endpoint: str | None) -> None:
        self.bucket = bucket
        self.prefix = f"{prefix}/" if prefix else ""
        self._client = _s3_client(endpoint)

    def put(self, key: str, data: bytes) -> None:
        """Upload unless it is there; S3 shows an object only when it is whole."""
        if self.exists(key):
            return
        self._client.put_object(
            Bucket=self.bucket,
            Key=self._name(key),
            Body=data,
            ContentType=_type_of(key),
        )

    def put_file(self, key: str, path: Path) -> None:
        """Upload unless it is there, in parts where it is large."""
        if not self.exists(key):
            told = {"ContentType": _type_of(key)}
            self._client.upload_file(str(path), self.bucket, self._name(key), ExtraArgs=told)

    def get(self, key: str) -> bytes:
        data: bytes = self._body(key).read()
        return data

    def fetch(self, key: str, file: BinaryIO) -> None:
        for piece in self._body(key).iter_chunks(_PIECE_BYTES):
            file.write(piece)

    def exists(self, key: str) -> bool:
        try:
            self.size(key)
        except PictureMissing:
            return False
        return True

    def size(self, key: str) -> int:
        with _missing(key):
            return int(self._client.head_object(Bucket=self.bucket, Key=self._name(key))["ContentLength"])

    def part(self, key: str, start: int, end: int) -> BinaryIO:
        return cast(BinaryIO, self._body(key, Range=f"bytes={start}-{end - 1}"))

    def files(self) -> Iterator[StoredFile]:
        for page in self._pages("list_objects_v2"):
            for found in page.get("Contents", ()):
                key = found["Key"].removeprefix(self.prefix)
                if _KEY.fullmatch(key):
                    yield StoredFile(key, found["Size"], found["LastModified"])

    def remove(self, key: str) -> None:
        """Delete the object; S3 does not mind one that is not there."""
        self._client.delete_object(Bucket=self.bucket, Key=self._name(key))

    def unfinished(self, before: datetime) -> Iterator[Callable[[], object]]:
        """List the uploads in parts under the prefix that were begun before then and neither completed nor aborted."""
        for page in self._pages("list_multipart_uploads"):
            for found in page.get("Uploads", ()):
                if _KEY.fullmatch(found["Key"].removeprefix(self.prefix)) and found["Initiated"] < before:
                    which = {"Bucket": self.bucket, "Key": found["Key"], "UploadId": found["UploadId"]}
                    yield partial(self._client.abort_multipart_upload, **which)

    def _pages(self, listing: str) -> Iterator[dict[str, Any]]:
        pages = self._client.get_paginator(listing)
        return iter(pages.paginate(Bucket=self.bucket, Prefix=self.prefix))

    def _body(self, key: str, **asked: str) -> Any:
        with _missing(key):
            return self._client.get_object(Bucket=self.bucket, Key=self._name(key), **asked)["Body"]

    def _name(self, key: str) -> str:
        return self.prefix + _checked(key)


@contextmanager
def _missing(key: str) -> Iterator[None]:
    """Turn a bucket's answer that it has no such object into PictureMissing."""
    from botocore.exceptions import ClientError

    try:
        yield
    except ClientError as error:
        if error.response["Error"]["Code"] in _MISSING_CODES:
            raise PictureMissing(key) from error
        raise


def _s3_client(endpoint: str | None) -> Any:
    """Return a client (safe to share between threads); boto3 is loaded only where a bucket is used."""
    import boto3
    from botocore.config import Config

    return boto3.client(
        "s3",
        endpoint_url=endpoint,
        config=Config(
            connect_timeout=5,
            read_timeout=20,
            retries={"mode": "standard", "max_attempts": 3},
            # Stores other than Amazon's answer by path, and not all know the newer checksum headers.
            s3={"addressing_style": "path" if endpoint else "auto"},
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        ),
    )


def _moment(found: os.stat_result) -> datetime:
    return datetime.fromtimestamp(found.st_mtime, UTC)


def _type_of(key: str) -> str:
    return _PNG if key.endswith(".png") else _BYTES


def _checked(key: str) -> str:
    if not _KEY.fullmatch(key):
        raise ValueError(f"{key!r} is not a key of the picture store")
    return key
