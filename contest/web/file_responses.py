"""Sends immutable files with byte ranges and permanent caching (RFC 9110)."""

import errno
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, cast

from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.utils.http import http_date, parse_http_date_safe

from common.outages import store_away
from contest.web.byte_ranges import ByteRange, UnsatisfiableRange, requested_range
from picture_files.store import FileSlice, picture_store

_PIECE = 1 << 16
# No file, a path through a file, and a link. Every other error of opening a file is a failure (503).
_NOT_THERE = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}
_FOR_EVER = "public, max-age=31536000, immutable"
_FOR_ONE = "private, no-cache"
_SANDBOX = "default-src 'none'; sandbox"


@dataclass(frozen=True, slots=True)
class FileContent:
    """What is sent: how many bytes there are, and how a part of them is opened."""

    size: int
    part: Callable[[ByteRange], BinaryIO]


def serve(
    request: HttpRequest,
    path: Path,
    *,
    tag: str,
    published_at: datetime,
    content_type: str,
    save_as: str = "",
    rewritten: bool = False,
) -> HttpResponse:
    """Answer GET and HEAD for the file at `path`, whose bytes `tag` stands for.

    Http404 without the file; ServiceUnavailable where the disk fails or may not be read. With `save_as` a browser
    saves it under that name. A file that may be `rewritten` with other bytes has the moment of writing in its tag.
    """
    file = _open_file(path)
    found = os.fstat(file.fileno())
    tag = f"{tag}-{found.st_mtime_ns:x}" if rewritten else tag
    sent = FileContent(found.st_size, lambda span: cast(BinaryIO, FileSlice(file, span.start, span.end)))
    response = _served(request, sent, tag, published_at, content_type)
    if not response.streaming:
        file.close()
    _head(response, _FOR_EVER, save_as)
    return response


def serve_stored(
    request: HttpRequest, key: str, *, tag: str, published_at: datetime, content_type: str, save_as: str
) -> HttpResponse:
    """Answer GET and HEAD for a file of the store that a browser saves as `save_as`; PictureMissing without it.

    Shared caches must not store it, because access depends on the user.
    """
    store = picture_store()
    sent = FileContent(store.size(key), lambda span: store.part(key, span.start, span.end))
    response = _served(request, sent, tag, published_at, content_type)
    _head(response, _FOR_ONE, save_as)
    return response


def _served(
    request: HttpRequest, sent: FileContent, tag: str, published_at: datetime, content_type: str
) -> HttpResponse:
    etag = f'"{tag}-{sent.size:x}"'
    try:
        response = _answer(request, sent, etag, int(published_at.timestamp()))
    except UnsatisfiableRange:
        response = HttpResponse(status=416)
        response["Content-Range"] = f"bytes */{sent.size}"
    response["ETag"] = etag
    response["Last-Modified"] = http_date(published_at.timestamp())
    if response.status_code in (200, 206):
        response["Content-Type"] = content_type
    return response


def _open_file(path: Path) -> BinaryIO:
    """Open a plain file; a link is not followed, wherever it leads."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        if error.errno in _NOT_THERE:
            raise Http404("the release is recorded, this file of it is not on this machine") from None
        raise store_away() from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Http404("no file")
    return os.fdopen(descriptor, "rb")


def _answer(request: HttpRequest, sent: FileContent, etag: str, changed: int) -> HttpResponse:
    if _is_known(request, etag, changed):
        return HttpResponse(status=304)
    asked = (
        request.headers.get("Range", "")
        if request.method == "GET" and _is_range_current(request, etag, changed)
        else ""
    )
    span = requested_range(asked, sent.size)
    return _bytes(request, sent, span or ByteRange(0, sent.size), partial=span is not None)


def _bytes(request: HttpRequest, sent: FileContent, span: ByteRange, *, partial: bool) -> HttpResponse:
    status = 206 if partial else 200
    response = HttpResponse(status=status)
    if request.method != "HEAD" and span.size:
        response = FileResponse(sent.part(span), status=status)  # type: ignore[assignment]
        response.block_size = _PIECE  # type: ignore[attr-defined]
    response["Content-Length"] = str(span.size)
    if partial:
        response["Content-Range"] = f"bytes {span.start}-{span.end - 1}/{sent.size}"
    return response


def _is_known(request: HttpRequest, etag: str, changed: int) -> bool:
    """Say whether the client's cached copy is current."""
    if known := request.headers.get("If-None-Match"):
        tags = {each.strip().removeprefix("W/") for each in known.split(",")}
        return "*" in tags or etag in tags
    since = parse_http_date_safe(request.headers.get("If-Modified-Since", ""))
    return since is not None and changed <= since


def _is_range_current(request: HttpRequest, etag: str, changed: int) -> bool:
    """Say whether the range continues the same file that the client has in part; otherwise the whole is sent."""
    condition = request.headers.get("If-Range")
    if not condition:
        return True
    return condition == etag or parse_http_date_safe(condition) == changed


def _head(response: HttpResponse, kept: str, save_as: str) -> None:
    response["Accept-Ranges"] = "bytes"
    # A refusal is about this request alone, so it is not cached.
    response["Cache-Control"] = "no-store" if response.status_code == 416 else kept
    response["Content-Security-Policy"] = _SANDBOX
    response["X-Content-Type-Options"] = "nosniff"
    if save_as:
        response["Content-Disposition"] = f'attachment; filename="{save_as}"'
