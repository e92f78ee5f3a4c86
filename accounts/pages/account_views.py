"""The page of one's own account: profile, language, time zone, sessions, address, deletion."""

from typing import Any, cast

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import override

from accounts import passwords
from accounts.access import signed_in
from accounts.leaving import account_delete
from accounts.locale import zone_names
from accounts.rate_limits import count_letter, count_wrong_link, may_send_letter, password_matches
from accounts.second_factor import has_second_factor, recovery_codes_left
from accounts.sessions import session_end, sessions_end_others, sessions_of, token_revoke, tokens_of
from common import mail
from common.domain_clock import domain_now
from common.errors import DomainError, InvalidInput, WrongFields
from common.web.form_fields import SeeOther, errors_of, go_to, safe_next, secret, text
from common.web.page import page

_YEAR_SECONDS = 365 * 24 * 3600


def user_of(request: HttpRequest) -> User:
    """Return the signed-in user of a view behind `login_required`."""
    return cast(User, request.user)


def _tasker(user: User) -> Any:
    """Return what labeling keeps of this account, None for who does not label."""
    return getattr(user, "tasker", None)


@page(signed_in)
def account(request: HttpRequest, user: User) -> HttpResponse:
    """Show the account as it stands."""
    return _account_page(request)


def _account_page(request: HttpRequest, errors: Any = None, status: int = 200) -> HttpResponse:
    user, now = user_of(request), timezone.now()
    context = {
        "tasker": _tasker(user),
        "languages": settings.LANGUAGES,
        "zones": zone_names(),
        "second_factor": has_second_factor(user),
        "recovery_codes": recovery_codes_left(user),
        "sessions": sessions_of(user, here=request.session.session_key, now=now),
        "tokens": tokens_of(user, now=now),
        "errors": errors or {},
        "typed": request.POST if errors else {},
    }
    return render(request, "accounts/account.html", context, status=status)


@page(signed_in, "POST")
def account_settings(request: HttpRequest, user: User) -> HttpResponse:
    """Keep a tasker's language and time zone."""
    tasker = _tasker(user)
    if tasker is None:
        return language(request)
    try:
        _keep_settings(tasker, text(request, "language"), text(request, "time_zone"))
    except WrongFields as error:
        return _account_page(request, error.fields, status=400)
    with override(tasker.language or None):
        messages.success(request, _("Kept."))
    return _with_language(go_to("account"), tasker.language)


def _keep_settings(tasker: Any, chosen: str, zone: str) -> None:
    wrong = {}
    if chosen and chosen not in dict(settings.LANGUAGES):
        wrong["language"] = _("Choose one of the languages.")
    if zone and zone not in zone_names():
        wrong["time_zone"] = _("Choose a time zone of the list, for example Europe/Berlin.")
    if wrong:
        raise WrongFields(wrong)
    tasker.language, tasker.time_zone = chosen, zone
    tasker.save(update_fields=["language", "time_zone"])


@page(methods="POST", cache=None)
def language(request: HttpRequest) -> HttpResponse:
    """Remember the language in the browser; a tasker's with their account too."""
    chosen = text(request, "language")
    if chosen not in dict(settings.LANGUAGES):
        raise InvalidInput(_("Choose one of the languages."), "invalid", field="language")
    tasker = getattr(request.user, "tasker", None)
    if tasker is not None:
        tasker.language = chosen
        tasker.save(update_fields=["language"])
    return _with_language(SeeOther(safe_next(request, "/")), chosen)


def _with_language(response: HttpResponse, chosen: str) -> HttpResponse:
    """Keep the language in a cookie, for the pages before signing in."""
    if chosen:
        response.set_cookie(
            settings.LANGUAGE_COOKIE_NAME,
            chosen,
            max_age=_YEAR_SECONDS,
            secure=settings.HTTPS,
            httponly=True,
            samesite="Lax",
        )
    return response


@page(signed_in, "POST")
def end_sessions(request: HttpRequest, user: User) -> HttpResponse:
    """End one session, or all others."""
    here = request.session.session_key
    if handle := text(request, "session"):
        session_end(user=user, handle=handle, now=timezone.now())
    else:
        sessions_end_others(user=user, here=here)
    messages.success(request, _("Signed out there."))
    return go_to("account")


@page(signed_in, "POST")
def revoke_token(request: HttpRequest, user: User) -> HttpResponse:
    """End one token."""
    number = text(request, "token")
    token_revoke(user=user, token_id=int(number) if number.isdecimal() and len(number) < 19 else 0)
    messages.success(request, _("The token opens nothing any more."))
    return go_to("account")


@page(signed_in, "GET POST")
def email(request: HttpRequest, user: User) -> HttpResponse:
    """Ask for a new address and write to it; nothing changes before its link was opened."""
    if request.method != "POST":
        return render(request, "accounts/email.html", {"errors": {}})
    typed = text(request, "email")
    if not may_send_letter(request, typed):
        return HttpResponse(status=429)
    try:
        _check_password(request, user)
        # Counted before it is looked at: nobody is found out by asking on and on.
        count_letter(request, typed)
        letter = passwords.address_ask(user=user, email=typed)
        mail.send_letter(letter)
    except DomainError as error:
        context = {"errors": errors_of(error), "typed": typed}
        return render(request, "accounts/email.html", context, status=400)
    return render(request, "accounts/email_sent.html", {"address": letter.to[0]})


def _check_password(request: HttpRequest, user: User) -> None:
    if not password_matches(request, user, secret(request, "password")):
        raise InvalidInput(_("This is not your password."), "wrong_password", field="password")


@page(signed_in, "GET POST")
def email_confirm(request: HttpRequest, user: User, token: str) -> HttpResponse:
    """Take the new address. A button, because mail programs open links by themselves."""
    try:
        address = passwords.address_of(user, token)
        if request.method == "POST":
            passwords.address_confirm(user=user, token=token, now=timezone.now())
    except DomainError as error:
        count_wrong_link(request)
        return render(request, "accounts/link_over.html", {"error": error, "again": "account-email"}, status=404)
    if request.method != "POST":
        return render(request, "accounts/email_confirm.html", {"address": address})
    messages.success(request, _("Your e-mail address is confirmed."))
    return go_to("account")


@page(signed_in, "GET POST")
def delete(request: HttpRequest, user: User) -> HttpResponse:
    """Show what goes and what stays, and delete once the password and the ID are typed."""
    tasker = _tasker(user)
    confirmation = tasker.public_id if tasker else user.get_username()
    context: dict[str, Any] = {"tasker": tasker, "confirmation": confirmation, "errors": {}}
    if request.method == "POST":
        try:
            return _delete(request, user, confirmation)
        except DomainError as error:
            context["errors"] = errors_of(error)
    context["answers"] = tasker.responses.count() if tasker else 0
    return render(request, "accounts/delete.html", context, status=400 if context["errors"] else 200)


def _delete(request: HttpRequest, user: User, confirmation: str) -> HttpResponse:
    if text(request, "confirmation").upper() != confirmation.upper():
        words = _("Type %(confirmation)s here to confirm.") % {"confirmation": confirmation}
        raise InvalidInput(words, "not_confirmed", field="confirmation")
    _check_password(request, user)
    tasker = _tasker(user)
    account_delete(user=user, now=domain_now())
    logout(request)
    return render(request, "accounts/deleted.html", {"public_id": tasker.public_id if tasker else ""})
