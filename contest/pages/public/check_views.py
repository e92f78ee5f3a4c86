"""Checking a release by oneself: the page that goes through it, and the program it needs (R39)."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import quote_etag
from django.views.decorators.http import condition

from adjudication.zipapp import NAME
from common.web.page import page
from contest.releases import selectors
from contest.releases.verifier_program import verifier_program


def _tag(request: HttpRequest) -> str:
    return quote_etag(verifier_program().sha256)


@page()
def check(request: HttpRequest) -> HttpResponse:
    """Go through the check of the newest release that lies here, with the commands as they are typed."""
    context = {
        "release": selectors.newest_downloadable(),
        "program": NAME,
        "sha256": verifier_program().sha256,
        "site": settings.PUBLIC_URL,
    }
    return render(request, "record/check.html", context)


@page(cache=None)
@condition(etag_func=_tag)
def verifier(request: HttpRequest) -> HttpResponse:
    """Send `verify.pyz`. Its address stays while its bytes follow the code, so caches ask again each time."""
    response = HttpResponse(verifier_program().data, content_type="application/octet-stream")
    response["Content-Disposition"] = f'attachment; filename="{NAME}"'
    response["Cache-Control"] = "public, no-cache"
    return response
