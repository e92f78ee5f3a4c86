"""View of the page on which a user manages the second factor: authenticator app, passkeys, recovery codes."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.access import signed_in
from accounts.letters import tell
from accounts.pages import factor_forms
from accounts.passkeys import passkeys_of
from accounts.second_factor import (
    enrolment,
    has_authenticator_app,
    has_second_factor,
    newest_recovery_codes,
    recovery_codes_left,
)
from common.web.form_fields import redirect_with_message, text
from common.web.forms import Form
from common.web.page import page

_FORMS: dict[str, type[Form]] = {
    "turn_on": factor_forms.AppForm,
    "turn_off": factor_forms.AppRemovalForm,
    "renew": factor_forms.RenewalForm,
    "passkey_begin": factor_forms.PasskeyForm,
    "passkey_add": factor_forms.NewPasskeyForm,
    "passkey_remove": factor_forms.PasskeyRemovalForm,
}


@page(signed_in, "GET POST")
def second_factor(request: HttpRequest, user: User) -> HttpResponse:
    """Show the authenticator app, the passkeys and the recovery codes, and change one of them."""
    # Each form has a password: their fields' ids differ.
    forms = {
        action: kind.of(request, action=action, request=request, user=user, auto_id=f"{action}_%s")
        for action, kind in _FORMS.items()
    }
    action = text(request, "action")
    done = forms[action].submit(now=timezone.now()) if action in forms else None
    return _factor_page(request, user, forms) if done is None else _ANSWERS[action](request, user, done)


def _factor_page(request: HttpRequest, user: User, forms: dict[str, Form]) -> HttpResponse:
    sent = next((form for form in forms.values() if form.errors), None)
    context: dict[str, Any] = {"forms": forms, "sent": sent, "passkeys": passkeys_of(user)}
    if has_second_factor(user):
        context |= {"left": recovery_codes_left(user), "newest": newest_recovery_codes(user)}
    if not has_authenticator_app(user):
        context["enrolment"] = enrolment(user, text(request, "signed", 1000))
    return render(request, "accounts/second_factor.html", context, status=400 if sent else 200)


def _added(request: HttpRequest, user: User, codes: list[str], *, letter: str, words: Any) -> HttpResponse:
    tell(user, letter, now=timezone.now())
    if codes:
        return render(request, "accounts/recovery_codes.html", {"codes": codes, "turned_on": True})
    return redirect_with_message(request, words, "account-second-factor")


def _after_removal(request: HttpRequest, user: User, left: bool, *, letter: str, words: Any) -> HttpResponse:
    if left:
        tell(user, letter, now=timezone.now())
        return redirect_with_message(request, words, "account-second-factor")
    tell(user, "second_factor_off", now=timezone.now())
    return redirect_with_message(
        request, gettext("The second factor is off: signing in takes the password alone."), "account"
    )


def _new_recovery_codes(request: HttpRequest, user: User, codes: list[str]) -> HttpResponse:
    return render(request, "accounts/recovery_codes.html", {"codes": codes, "turned_on": False})


def _passkey_page(request: HttpRequest, user: User, options: dict[str, Any]) -> HttpResponse:
    return render(request, "accounts/passkey.html", {"options": options, "name": text(request, "name")})


# The responses to a valid form; the last argument is what its service returned.
_ANSWERS: dict[str, Callable[[HttpRequest, User, Any], HttpResponse]] = {
    "turn_on": partial(_added, letter="second_factor_on", words=_("The authenticator app is set up.")),
    "turn_off": partial(_after_removal, letter="app_removed", words=_("The authenticator app is removed.")),
    "renew": _new_recovery_codes,
    "passkey_begin": _passkey_page,
    "passkey_add": partial(_added, letter="passkey_added", words=_("The passkey was added.")),
    "passkey_remove": partial(_after_removal, letter="passkey_removed", words=_("The passkey is removed.")),
}
