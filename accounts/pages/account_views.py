"""Views of a user's own account page: profile, language, time zone, sessions, address, deletion."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import get_language, override
from django.utils.translation import gettext as _

from accounts.access import signed_in
from accounts.addresses import address_confirm, asked_address
from accounts.locale import zone_names
from accounts.pages.forms import AccountSettingsForm, DeleteForm, EmailForm
from accounts.rate_limits import count_wrong_link, may_send_letter
from accounts.second_factor import has_second_factor, recovery_codes_left
from accounts.sessions import session_end, sessions_end_others, sessions_of, token_revoke, tokens_of
from common import mail
from common.errors import DomainError, InvalidInput
from common.web.form_fields import SeeOther, go_to, redirect_with_message, safe_next, text
from common.web.page import page

_YEAR_SECONDS = 365 * 24 * 3600


def _tasker(user: Any) -> Any:
    """Return the account's row in labeling's table of taskers, None for an account that does not label."""
    return getattr(user, "tasker", None)


@page(signed_in)
def account(request: HttpRequest, user: User) -> HttpResponse:
    """Show the account page."""
    return _account_page(request, user, AccountSettingsForm(tasker=_tasker(user), language=get_language() or ""))


def _account_page(request: HttpRequest, user: User, form: AccountSettingsForm) -> HttpResponse:
    now = timezone.now()
    context = {
        "tasker": _tasker(user),
        "zones": zone_names(),
        "second_factor": has_second_factor(user),
        "recovery_codes": recovery_codes_left(user),
        "sessions": sessions_of(user, here=request.session.session_key, now=now),
        "tokens": tokens_of(user, now=now),
        "form": form,
    }
    return render(request, "accounts/account.html", context, status=form.status)


@page(signed_in, "POST")
def account_settings(request: HttpRequest, user: User) -> HttpResponse:
    """Keep a tasker's language and time zone."""
    tasker = _tasker(user)
    if tasker is None:
        return language(request)
    form = AccountSettingsForm.of(request, tasker=tasker)
    if not form.submit(tasker=tasker):
        return _account_page(request, user, form)
    with override(tasker.language or None):
        messages.success(request, _("Kept."))
    return _with_language(go_to("account"), tasker.language)


@page(methods="POST", cache=None)
def language(request: HttpRequest) -> HttpResponse:
    """Store the language in a cookie, and for a tasker in the account too."""
    chosen = text(request, "language")
    if chosen not in dict(settings.LANGUAGES):
        raise InvalidInput(_("Choose one of the languages."), "invalid", field="language")
    tasker = _tasker(request.user)
    if tasker is not None:
        tasker.language = chosen
        tasker.save(update_fields=["language"])
    return _with_language(SeeOther(safe_next(request, "/")), chosen)


def _with_language(response: HttpResponse, chosen: str) -> HttpResponse:
    """Set the language cookie, which the pages before signing in use."""
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
    return redirect_with_message(request, _("Signed out there."), "account")


@page(signed_in, "POST")
def revoke_token(request: HttpRequest, user: User) -> HttpResponse:
    """End one token."""
    number = text(request, "token")
    token_revoke(user=user, token_id=int(number) if number.isdecimal() and len(number) < 19 else 0)
    return redirect_with_message(request, _("The token opens nothing any more."), "account")


@page(signed_in, "GET POST")
def email(request: HttpRequest, user: User) -> HttpResponse:
    """Send a confirmation link to a new address; the account's address changes when the link is confirmed."""
    if request.method == "POST" and not may_send_letter(request, text(request, "email")):
        return HttpResponse(status=429)
    form = EmailForm.of(request, request=request, user=user)
    if letter := form.submit():
        try:
            mail.send_letter(letter)
            return render(request, "accounts/email_sent.html", {"address": letter.to[0]})
        except DomainError as error:
            form.refuse(error)
    return render(request, "accounts/email.html", {"form": form}, status=400 if form.errors else 200)


@page(signed_in, "GET POST")
def email_confirm(request: HttpRequest, user: User, token: str) -> HttpResponse:
    """Confirm the new address. This takes a click on a button, because mail programs open links by themselves."""
    try:
        address = asked_address(user, token).email
        if request.method == "POST":
            address_confirm(user=user, key=token, now=timezone.now())
    except DomainError as error:
        count_wrong_link(request)
        return render(request, "accounts/link_over.html", {"error": error, "again": "account-email"}, status=404)
    if request.method != "POST":
        return render(request, "accounts/email_confirm.html", {"address": address})
    return redirect_with_message(request, _("Your e-mail address is confirmed."), "account")


@page(signed_in, "GET POST")
def delete(request: HttpRequest, user: User) -> HttpResponse:
    """Show what a deletion removes and keeps, and delete the account once the password and the ID are typed."""
    tasker = _tasker(user)
    confirmation = tasker.public_id if tasker else user.get_username()
    form = DeleteForm.of(request, request=request, user=user, confirmation=confirmation)
    if form.submit(person=user):
        logout(request)
        return render(request, "accounts/deleted.html", {"public_id": tasker.public_id if tasker else ""})
    context = {"tasker": tasker, "form": form, "answers": tasker.responses.count() if tasker else 0}
    return render(request, "accounts/delete.html", context, status=form.status)
