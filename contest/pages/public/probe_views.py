"""Monitoring endpoints: health, readiness, Prometheus metrics."""

import hmac
from ipaddress import ip_address

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseForbidden, JsonResponse
from prometheus_client import CONTENT_TYPE_LATEST

from common.web.page import page
from contest.operations.metrics import prometheus_text
from contest.operations.readiness import is_ready, readiness


@page()
def healthz(request: HttpRequest) -> HttpResponse:
    """Return 200: this process serves requests. No database is queried, so a slow one never causes a restart."""
    return JsonResponse({"status": "ok"})


@page()
def readyz(request: HttpRequest) -> HttpResponse:
    """Answer 200 when everything this process needs can be reached, else 503; JSON with each check by name."""
    checks = readiness()
    ready = is_ready(checks)
    return JsonResponse({"status": "ready" if ready else "not ready", "checks": checks}, status=200 if ready else 503)


@page()
def metrics(request: HttpRequest) -> HttpResponse:
    """Return Prometheus's text format: to clients with METRICS_TOKEN or, where none is set, to this machine alone."""
    if not _may_read_metrics(request):
        return HttpResponseForbidden(
            "Send the METRICS_TOKEN as a Bearer token. Without one set, only this machine is answered.\n",
            content_type="text/plain",
        )
    return HttpResponse(prometheus_text(), content_type=CONTENT_TYPE_LATEST)


def _may_read_metrics(request: HttpRequest) -> bool:
    if settings.METRICS_TOKEN:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        return scheme == "Bearer" and hmac.compare_digest(token.encode(), settings.METRICS_TOKEN.encode())
    # A request that a proxy passed on comes from the proxy's address, which may be this machine's.
    forwarded = "X-Forwarded-For" in request.headers or "Forwarded" in request.headers
    return not forwarded and _is_loopback(request.META.get("REMOTE_ADDR", ""))


def _is_loopback(address: str) -> bool:
    # A server on a UNIX socket knows no address; who may open the socket is decided by the file system.
    return address == "" or ip_address(address).is_loopback
