"""Streams submitted defense files to disk, and refuses too large ones early."""

import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import wraps
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler, SkipFile
from django.http import HttpRequest, HttpResponse
from django.utils.datastructures import MultiValueDict
from django.views.decorators.csrf import csrf_exempt, csrf_protect

from common.errors import Conflict, WrongFields
from common.web.body_limits import limit_body
from contest.defenses.entries import HandIn
from scoring.trials.submitted_files import MAX_ARCHIVE_BYTES, MAX_SOURCE_BYTES, MAX_WEIGHTS_BYTES, MIB, too_large

# Each file with its label and the most bytes it may have.
FILES: Mapping[str, tuple[str, int]] = {
    "archive": ("image archive", MAX_ARCHIVE_BYTES),
    "source": ("source zip", MAX_SOURCE_BYTES),
    "training_code": ("training code zip", MAX_SOURCE_BYTES),
    "weights": ("file of weights", MAX_WEIGHTS_BYTES),
}
TEXTS = ("name", "licence", "description", "image")
MAX_SUBMISSION_BYTES = sum(max_bytes for _, max_bytes in FILES.values()) + MIB
MIN_FREE_BYTES = 1 << 30
# Files that come in one request, and files that come in pieces; abandoned ones are removed.
UPLOAD, PIECES = ".upload", ".pieces"
_LEFT_SECONDS = {UPLOAD: 24 * 3600, PIECES: 3 * 24 * 3600}


def upload_folder() -> Path:
    """Return the folder in which files wait until they are in the store."""
    folder: Path = settings.DATA_DIR / "uploads"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


class StreamedFiles(FileUploadHandler):
    """Writes each known file to the disk as it arrives; skips the rest of a file that is too large, or unknown."""

    file: "UploadedFile[Any]"  # the file that is arriving; not set before the first

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request)
        self.refused: dict[str, str] = {}
        self._max_bytes = 0

    def new_file(self, field_name: str, *args: Any, **values: Any) -> None:
        """Begin a file."""
        super().new_file(field_name, *args, **values)
        if field_name not in FILES:
            self.refused[field_name] = f"The file '{field_name}' is not known."
            raise SkipFile
        self._max_bytes = FILES[field_name][1]
        kept = NamedTemporaryFile(dir=upload_folder(), suffix=UPLOAD)  # noqa: SIM115 - it lives as long as the request
        # Django closes it by this name, where the rest of a file is skipped.
        self.file = UploadedFile(kept, self.file_name, self.content_type, 0, self.charset, self.content_type_extra)

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        """Take a piece that begins at `start`."""
        if start + len(raw_data) > self._max_bytes:
            what, max_bytes = FILES[str(self.field_name)]
            self.refused[str(self.field_name)] = too_large(what, max_bytes, str(self.field_name)).message
            raise SkipFile
        self.file.write(raw_data)

    def file_complete(self, file_size: int) -> "UploadedFile[Any]":
        """Hand the file over when its last byte has come."""
        self.file.flush()
        self.file.seek(0)
        self.file.size = file_size
        return self.file

    def upload_interrupted(self) -> None:
        """Forget a file whose upload was interrupted."""
        if hasattr(self, "file"):
            self.file.close()


def expect_upload(request: HttpRequest) -> None:
    """Let `request` stream its files to the disk. Raises Conflict (`no_room`) before the body is read, where the disk
    has no room for it."""
    stated = request.META.get("CONTENT_LENGTH") or "0"
    size = int(stated) if stated.isdecimal() else 0
    forget_left()
    expect_room(rest=size, whole=size)
    request.upload_handlers = [StreamedFiles(request)]


def expect_room(*, rest: int, whole: int) -> None:
    """Raise Conflict (`no_room`) where the disk lacks room for the rest of a file and for a whole second copy, in the
    store, which may lie on the same disk."""
    if shutil.disk_usage(upload_folder()).free < rest + whole + MIN_FREE_BYTES:
        words = "The server has no room for a file of this size now. The organizers can see it; try again later."
        raise Conflict(words, "no_room")


def forget_left() -> None:
    """Remove files that a killed process left behind a day ago, and pieces without progress for three days."""
    for suffix, seconds in _LEFT_SECONDS.items():
        for left in upload_folder().glob(f"*{suffix}"):
            with suppress(FileNotFoundError):  # another request removes it too
                if left.stat().st_mtime < time.time() - seconds:
                    left.unlink()


def stream_files(before: Callable[[HttpRequest], Any]) -> Callable[..., Any]:
    """Let a page take a submission; `before` is called and the length checked before any of the body is read.

    The check for forged requests (CSRF) reads the body, so it comes after.
    """

    def decorate(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
        checked = csrf_protect(view)

        @limit_body(MAX_SUBMISSION_BYTES)
        @csrf_exempt
        @wraps(view)
        def looked_at(request: HttpRequest, *args: Any, **values: Any) -> HttpResponse:
            if request.method == "POST":
                before(request)
                expect_upload(request)
            return checked(request, *args, **values)

        return looked_at

    return decorate


def read_submission(
    texts: Mapping[str, Any],
    files: MultiValueDict[str, "UploadedFile[Any]"],
    request: HttpRequest,
    kept: Mapping[str, Path] | None = None,
) -> HandIn:
    """Return the submission; WrongFields for a file that was refused during the upload, or for invalid texts.

    `kept` are files that came before, in pieces.
    """
    refused = refused_files(request)
    for name in TEXTS:
        if not isinstance(texts.get(name, ""), str):
            refused[name] = "Send text."
    if refused:
        raise WrongFields(refused)
    name, licence, description, image = (texts.get(name, "") for name in TEXTS)
    archive, source, training_code, weights = (path_of(files, name) or (kept or {}).get(name) for name in FILES)
    return HandIn(name, licence, description, image, archive, source, training_code, weights)


def refused_files(request: HttpRequest) -> dict[str, str]:
    """Return why files were refused during the upload, by the name of their field."""
    handlers = [each for each in request.upload_handlers if isinstance(each, StreamedFiles)]
    return {name: words for handler in handlers for name, words in handler.refused.items()}


def path_of(files: MultiValueDict[str, "UploadedFile[Any]"], name: str) -> Path | None:
    """Return where an uploaded file lies until the request ends; None when it was not sent."""
    file = files.get(name)
    return None if file is None or file.file is None else Path(file.file.name)
