"""Sending a file that never changes: in pieces, from where a broken download stopped, cached for ever (RFC 9110)."""

import io
import os
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.utils.http import http_date, parse_http_date_safe

from contest.record.ranges import Span, Unsatisfiable, span_of

_PIECE = 1 << 16
_FOR_EVER = "public, max-age=31536000, immutable"
_SANDBOX = "default-src 'none'; sandbox"


class Part(io.RawIOBase):
    """The bytes of a span of an open file; closing it closes the file."""

    def __init__(self, file: BinaryIO, span: Span) -> None:
        self._file, self._left = file, span.size
        file.seek(span.start)

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


def serve(
    request: HttpRequest, path: Path, *, tag: str, published_at: datetime, content_type: str, save_as: str = ""
) -> HttpResponse:
    """Answer GET and HEAD for the file at `path`, whose bytes `tag` stands for; Http404 when it is not there.

    With `save_as` a browser saves it under that name.
    """
    file = _opened(path)
    size = os.fstat(file.fileno()).st_size
    etag = f'"{tag}-{size:x}"'
    try:
        response = _answer(request, file, size, etag, int(published_at.timestamp()))
    except Unsatisfiable:
        file.close()
        response = HttpResponse(status=416)
        response["Content-Range"] = f"bytes */{size}"
    _head(response, etag, published_at, save_as)
    if response.status_code in (200, 206):
        response["Content-Type"] = content_type
    return response


def _opened(path: Path) -> BinaryIO:
    """Open a plain file; a link is not followed, wherever it leads."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        raise Http404("the release is recorded, this file of it is not on this machine") from None
    file = os.fdopen(descriptor, "rb")
    if not path.is_file():
        file.close()
        raise Http404("no file")
    return file


def _answer(request: HttpRequest, file: BinaryIO, size: int, etag: str, changed: int) -> HttpResponse:
    if _is_known(request, etag, changed):
        file.close()
        return HttpResponse(status=304)
    asked = request.headers.get("Range", "") if request.method == "GET" and _range_holds(request, etag, changed) else ""
    span = span_of(asked, size)
    return _bytes(request, file, span or Span(0, size), size, partial=span is not None)


def _bytes(request: HttpRequest, file: BinaryIO, span: Span, size: int, *, partial: bool) -> HttpResponse:
    status = 206 if partial else 200
    if request.method == "HEAD":
        file.close()
        response = HttpResponse(status=status)
    else:
        response = FileResponse(Part(file, span), status=status)  # type: ignore[assignment]
        response.block_size = _PIECE  # type: ignore[attr-defined]
    response["Content-Length"] = str(span.size)
    if partial:
        response["Content-Range"] = f"bytes {span.start}-{span.end - 1}/{size}"
    return response


def _is_known(request: HttpRequest, etag: str, changed: int) -> bool:
    """Say whether the reader has it already."""
    if known := request.headers.get("If-None-Match"):
        tags = {each.strip().removeprefix("W/") for each in known.split(",")}
        return "*" in tags or etag in tags
    since = parse_http_date_safe(request.headers.get("If-Modified-Since", ""))
    return since is not None and changed <= since


def _range_holds(request: HttpRequest, etag: str, changed: int) -> bool:
    """Say whether a range goes on with what the reader has: where another file came before, the whole is sent."""
    condition = request.headers.get("If-Range")
    if not condition:
        return True
    return condition == etag or parse_http_date_safe(condition) == changed


def _head(response: HttpResponse, etag: str, published_at: datetime, save_as: str) -> None:
    response["Accept-Ranges"] = "bytes"
    response["ETag"] = etag
    response["Last-Modified"] = http_date(published_at.timestamp())
    # A refusal is about this request alone: nobody keeps it.
    response["Cache-Control"] = "no-store" if response.status_code == 416 else _FOR_EVER
    response["Content-Security-Policy"] = _SANDBOX
    response["X-Content-Type-Options"] = "nosniff"
    if save_as:
        response["Content-Disposition"] = f'attachment; filename="{save_as}"'
