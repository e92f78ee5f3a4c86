"""How a page is declared: who opens it, by which methods, and what may be kept of it by caches."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

Answer = TypeVar("Answer")


def page(
    role: Callable[[Any], Any] | None = None,
    methods: str = "GET",
    *,
    cache: Callable[[Any], Any] | None = never_cache,
) -> Callable[[Callable[..., Answer]], Callable[..., Answer]]:
    """Declare a page; its services open the transactions.

    `role` returns who `request.user` is, for example `organizer_of`, and raises NotAllowed, NotFound or Http404 for
    others; strangers are sent to sign in first. The view gets what it returns after the request. Without a role the
    page is open to everybody. `methods` are words, and HEAD goes with GET; `cache` is a decorator, None where the view
    says itself what may be kept.
    """

    allowed = methods.replace("GET", "GET HEAD").split()

    def declare(view: Callable[..., Answer]) -> Callable[..., Answer]:
        declared: Any = require_http_methods(allowed)(_for(role, view) if role else view)
        declared = login_required(declared) if role else declared
        answers: Callable[..., Answer] = cache(declared) if cache else declared
        return answers

    return declare


def _for(role: Callable[[Any], Any], view: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(view)
    def opened(request: HttpRequest, *arguments: Any, **named: Any) -> Any:
        return view(request, role(request.user), *arguments, **named)

    return opened
