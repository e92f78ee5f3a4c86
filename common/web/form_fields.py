"""Helpers of form views: cleaned text, errors by field, safe redirects."""

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from common.errors import DomainError, WrongFields


class SeeOther(HttpResponseRedirect):
    """Redirect after a POST (HTTP 303), so that a reload never posts again."""

    status_code = 303


def go_to(name: str, *arguments: Any) -> SeeOther:
    """Send the browser to the page of this name."""
    return SeeOther(reverse(name, args=arguments))


def redirect_with_message(
    request: HttpRequest, words: str, name: str, *arguments: Any, extra_tags: str = ""
) -> SeeOther:
    """Redirect to the page of this name, which shows the message `words` once."""
    messages.success(request, words, extra_tags=extra_tags)
    return go_to(name, *arguments)


def text(request: HttpRequest, name: str, max_length: int = 254) -> str:
    """Return the text typed into a field, stripped, cut to `max_length`, without characters that no field can hold."""
    return request.POST.get(name, "").replace("\x00", "").strip()[:max_length]


def errors_of(error: DomainError) -> Mapping[str, str]:
    """Return the errors by field; errors of no field are under `all`."""
    if isinstance(error, WrongFields):
        return error.fields
    return {error.field or "all": error.message}


def safe_next(request: HttpRequest, otherwise: str) -> str:
    """Return the address in the field `next` if it is of this site, else `otherwise`."""
    wanted = request.POST.get("next", "")
    own = url_has_allowed_host_and_scheme(wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure())
    return wanted if own else otherwise
