"""The decorator that declares a page: its roles, methods and caching."""

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

    `role` takes `request.user` and returns the person or team that may open the page, for example `organizer_of`; it
    raises NotAllowed, NotFound or Http404 for others. The view gets the result as its second argument. Strangers are
    sent to sign in first; without a role the page is public. `methods` are separated by blanks, and GET includes HEAD.
    `cache` is a decorator; None where the view sets its own headers.
    """
    allowed = methods.replace("GET", "GET HEAD").split()

    def declare(view: Callable[..., Answer]) -> Callable[..., Answer]:
        declared: Any = require_http_methods(allowed)(_with_role(role, view) if role else view)
        declared = login_required(declared) if role else declared
        answers: Callable[..., Answer] = cache(declared) if cache else declared
        return answers

    return declare


def _with_role(role: Callable[[Any], Any], view: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(view)
    def opened(request: HttpRequest, *arguments: Any, **named: Any) -> Any:
        return view(request, role(request.user), *arguments, **named)

    return opened
