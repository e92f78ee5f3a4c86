"""Signing in, being locked out, and the sign of life."""

from typing import Any

from django.conf import settings
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

LOCKED_OUT = "Too many wrong passwords for this account: sign-in is closed from your address for one hour."


class SignIn(LoginView):
    """One sign-in page for everybody; what an account may do is decided after it."""

    template_name = "registration/sign_in.html"


def locked_out(request: HttpRequest, response: HttpResponse, credentials: dict[str, Any]) -> HttpResponse:
    """Answer 429 after too many wrong passwords: a page for people, `{"code", "detail"}` for programs."""
    if request.path.startswith("/api/v1/"):
        answer: HttpResponse = JsonResponse({"code": "locked_out", "detail": LOCKED_OUT}, status=429)
    else:
        context = {
            "reason": LOCKED_OUT,
            "limit": settings.AXES_FAILURE_LIMIT,
            "username": (credentials or {}).get("username", ""),
        }
        answer = render(request, "registration/locked_out.html", context, status=429)
    answer["Retry-After"] = str(settings.AXES_COOLOFF_TIME * 3600)
    return answer


@require_safe
@never_cache
def healthz(request: HttpRequest) -> HttpResponse:
    """Answer that this process serves requests; asks nobody else, so a slow database never restarts it."""
    return JsonResponse({"status": "ok"})
