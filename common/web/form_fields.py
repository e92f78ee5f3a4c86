"""Typed values, their errors, and safe redirects."""

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from common.errors import DomainError, WrongFields


class SeeOther(HttpResponseRedirect):
    """After a POST: go and GET that, so that a reload never posts again."""

    status_code = 303


def go_to(name: str, *arguments: Any) -> SeeOther:
    """Send the browser to the page of this name."""
    return SeeOther(reverse(name, args=arguments))


def redirect_with_message(
    request: HttpRequest, words: str, name: str, *arguments: Any, extra_tags: str = ""
) -> SeeOther:
    """Redirect to the page of this name, which shows `words` once: what was done."""
    messages.success(request, words, extra_tags=extra_tags)
    return go_to(name, *arguments)


def text(request: HttpRequest, name: str, most: int = 254) -> str:
    """Return what was typed into a field, without what no field can hold."""
    return request.POST.get(name, "").replace("\x00", "").strip()[:most]


def errors_of(error: DomainError) -> Mapping[str, str]:
    """Return what is wrong by field; what belongs to no field is called `all`."""
    if isinstance(error, WrongFields):
        return error.fields
    return {error.field or "all": error.message}


def safe_next(request: HttpRequest, otherwise: str) -> str:
    """Return the page that a form was sent from, never one of another site."""
    wanted = request.POST.get("next", "")
    own = url_has_allowed_host_and_scheme(wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure())
    return wanted if own else otherwise
