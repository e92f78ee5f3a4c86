"""View that serves canonical pictures, with headers for untrusted content."""

import structlog
from django.http import HttpRequest, HttpResponse, HttpResponseNotFound

from common.domain_clock import domain_now
from common.web.page import page
from labeling.pictures.addresses import LIFETIME, pixels_hash_of
from picture_files.store import PictureMissing, picture_key, picture_store

logger = structlog.get_logger(__name__)
_SANDBOX = "default-src 'none'; sandbox"


@page(cache=None)
def picture(request: HttpRequest, token: str) -> HttpResponse:
    """Answer GET and HEAD with the PNG behind an address of `picture_url`; 404 when forged, expired or missing.

    Uses no session, cookie or query: the address is the permission, and it expires.
    """
    pixels_sha256 = pixels_hash_of(token, now=domain_now())
    if pixels_sha256 is None:
        return _fenced(HttpResponseNotFound(content_type="text/plain"), cache="no-store")
    try:
        data = picture_store().get(picture_key(pixels_sha256))
    except PictureMissing as error:
        logger.error("picture_missing", detail=error.message)
        return _fenced(HttpResponseNotFound(content_type="text/plain"), cache="no-store")
    response = HttpResponse(data, content_type="image/png")
    response["Content-Disposition"] = 'inline; filename="picture.png"'
    return _fenced(response, cache=f"private, max-age={int(LIFETIME.total_seconds())}, immutable")


def _fenced(response: HttpResponse, *, cache: str) -> HttpResponse:
    """Set headers that let a browser only display the bytes; they replace the site-wide content security policy."""
    response["Content-Security-Policy"] = _SANDBOX
    response["X-Content-Type-Options"] = "nosniff"
    response["Cross-Origin-Resource-Policy"] = "same-origin"
    response["Cache-Control"] = cache
    return response
