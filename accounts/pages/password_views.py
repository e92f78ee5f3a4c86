"""Changing a password, resetting a forgotten one, and the second factor."""

from typing import Any

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import password_validators_help_texts
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts import passwords
from accounts.access import signed_in
from accounts.letters import tell
from accounts.pages.account_views import user_of
from accounts.rate_limits import count_letter, count_wrong_link, may_send_letter, password_matches
from accounts.second_factor import (
    enrolment,
    has_second_factor,
    newest_recovery_code,
    recovery_codes_left,
    recovery_codes_renew,
    second_factor_turn_off,
    second_factor_turn_on,
)
from common.errors import DomainError, InvalidInput, NotFound, WrongFields
from common.web.form_fields import errors_of, go_to, secret, text
from common.web.page import page


def _new_password(request: HttpRequest) -> str:
    """Return the new password, typed twice alike."""
    first = secret(request, "new_password")
    if first != secret(request, "new_password_again"):
        raise InvalidInput(_("The two are not the same: type both again."), "not_alike", field="new_password_again")
    return first


@page(signed_in, "GET POST")
def password(request: HttpRequest, user: User) -> HttpResponse:
    """Change the password; every other session and every token ends."""
    context: dict[str, Any] = {"requirements": password_validators_help_texts(), "errors": {}}
    if request.method == "POST":
        try:
            return _change(request)
        except DomainError as error:
            context["errors"] = errors_of(error)
    return render(request, "accounts/password.html", context, status=400 if context["errors"] else 200)


def _change(request: HttpRequest) -> HttpResponse:
    user = user_of(request)
    if not password_matches(request, user, secret(request, "password")):
        raise InvalidInput(_("This is not your present password."), "wrong_password", field="password")
    new = _new_password(request)
    passwords.password_set(user=user, password=new, now=timezone.now(), session_key=request.session.session_key)
    update_session_auth_hash(request, user)
    messages.success(request, _("Your password is changed. Every other session and every token has ended."))
    return go_to("account")


@page(methods="GET POST")
def reset(request: HttpRequest) -> HttpResponse:
    """Ask for a link to a new password. The answer is the same whether there is such an account or not."""
    if request.method != "POST":
        return render(request, "accounts/reset.html", {"errors": {}})
    address = text(request, "email")
    if not may_send_letter(request, address):
        return HttpResponse(status=429)
    try:
        passwords.reset_ask(email=address)
    except InvalidInput as error:
        context = {"errors": errors_of(error), "typed": address}
        return render(request, "accounts/reset.html", context, status=400)
    count_letter(request, address)
    return render(request, "accounts/reset_sent.html", {"address": address})


@page(methods="GET POST")
def reset_confirm(request: HttpRequest, uid: str, token: str) -> HttpResponse:
    """Choose a new password; every session and every token ends."""
    try:
        user = passwords.user_of_reset(uid, token)
    except NotFound as error:
        count_wrong_link(request)
        return render(request, "accounts/link_over.html", {"error": error, "again": "password-reset"}, status=404)
    context: dict[str, Any] = {"owner": user, "requirements": password_validators_help_texts(), "errors": {}}
    if request.method == "POST":
        try:
            passwords.password_set(user=user, password=_new_password(request), now=timezone.now())
        except DomainError as error:
            context["errors"] = errors_of(error)
        else:
            messages.success(request, _("Your password is changed. Sign in with it."))
            return go_to("sign-in")
    return render(request, "accounts/reset_confirm.html", context, status=400 if context["errors"] else 200)


@page(signed_in, "GET POST")
def second_factor(request: HttpRequest, user: User) -> HttpResponse:
    """Turn the second factor on or off, or make new recovery codes."""
    try:
        if request.method == "POST":
            return _SECOND_FACTOR.get(text(request, "action"), _turn_on)(request)
    except DomainError as error:
        return _second_factor_page(request, errors_of(error), status=400)
    return _second_factor_page(request, {})


def _second_factor_page(request: HttpRequest, errors: Any, status: int = 200) -> HttpResponse:
    user = user_of(request)
    context: dict[str, Any] = {"errors": errors}
    if has_second_factor(user):
        context["left"] = recovery_codes_left(user)
        context["newest"] = newest_recovery_code(user)
        return render(request, "accounts/second_factor_on.html", context, status=status)
    context["enrolment"] = enrolment(user, text(request, "signed", 1000))
    return render(request, "accounts/second_factor_off.html", context, status=status)


def _turn_on(request: HttpRequest) -> HttpResponse:
    user, now = user_of(request), timezone.now()
    _check_password(request)
    codes = second_factor_turn_on(
        user=user, signed=text(request, "signed", 1000), code=text(request, "code", 40), now=now
    )
    tell(user, "second_factor_on", now=now)
    return render(request, "accounts/recovery_codes.html", {"codes": codes, "turned_on": True})


def _turn_off(request: HttpRequest) -> HttpResponse:
    _check_password(request)
    second_factor_turn_off(user=user_of(request))
    tell(user_of(request), "second_factor_off", now=timezone.now())
    messages.success(request, _("The second factor is off: signing in takes the password alone."))
    return go_to("account")


def _renew_codes(request: HttpRequest) -> HttpResponse:
    _check_password(request)
    newest = text(request, "newest", 18)
    codes = recovery_codes_renew(user=user_of(request), newest=int(newest) if newest.isdecimal() else 0)
    return render(request, "accounts/recovery_codes.html", {"codes": codes, "turned_on": False})


def _check_password(request: HttpRequest) -> None:
    if not password_matches(request, user_of(request), secret(request, "password")):
        raise WrongFields({"password": _("This is not your password.")})


_SECOND_FACTOR = {"turn_on": _turn_on, "turn_off": _turn_off, "renew": _renew_codes}
