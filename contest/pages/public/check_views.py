"""Public page on how to check a release, and the download of the program that does it (R39)."""

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
    """Explain how to check the newest release on this machine, with the commands to type."""
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
    """Send `verify.pyz`. Its address is stable and its bytes change with the code, so caches revalidate each time."""
    response = HttpResponse(verifier_program().data, content_type="application/octet-stream")
    response["Content-Disposition"] = f'attachment; filename="{NAME}"'
    response["Cache-Control"] = "public, no-cache"
    return response
