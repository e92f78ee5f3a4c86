"""The forms of the second factor: authenticator app, passkeys, recovery codes."""

from datetime import datetime
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from accounts import passkeys, second_factor
from accounts.pages.forms import ConfirmedForm
from common.web.forms import Form, RowNumberField, TextField


class AppForm(ConfirmedForm):
    """The first code of an authenticator app."""

    signed = forms.CharField(required=False, max_length=1000, widget=forms.HiddenInput)
    code = TextField(
        _("Code"),
        max_length=40,
        autocomplete="one-time-code",
        autocapitalize="none",
        spellcheck="false",
        inputmode="numeric",
    )
    field_order = ["signed", "code"]

    def save(self, *, now: datetime) -> list[str]:
        """Turn the authenticator app on; return the recovery codes."""
        self.check_password()
        data = self.cleaned_data
        return second_factor.second_factor_turn_on(user=self.user, signed=data["signed"], code=data["code"], now=now)


class AppRemovalForm(ConfirmedForm):
    """Removal of the authenticator app."""

    def save(self, *, now: datetime) -> bool:
        """Remove the app; return whether another second factor is left."""
        self.check_password()
        return second_factor.authenticator_app_remove(user=self.user)


class RenewalForm(ConfirmedForm):
    """Replacement of the recovery codes; `newest` is the edition of the codes that the page displayed."""

    newest = RowNumberField()

    def save(self, *, now: datetime) -> list[str]:
        """Return the new codes."""
        self.check_password()
        return second_factor.recovery_codes_renew(user=self.user, newest=self.cleaned_data["newest"])


class PasskeyForm(ConfirmedForm):
    """The name of a new passkey."""

    name = TextField(_("Name of the passkey"), max_length=passkeys.MAX_NAME_CHARACTERS, required=False)
    field_order = ["name"]

    def save(self, *, now: datetime) -> dict[str, Any]:
        """Return the options with which the browser creates the passkey."""
        self.check_password()
        return passkeys.registration_begin(self.request, self.user, now=now)


class NewPasskeyForm(Form):
    """The passkey that the browser created, after the password was given in this session."""

    name = forms.CharField(required=False, widget=forms.HiddenInput)
    credential = forms.CharField(
        required=False, max_length=passkeys.MAX_CREDENTIAL_CHARACTERS, widget=forms.HiddenInput
    )

    def __init__(self, *arguments: Any, request: HttpRequest, user: User, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.request, self.user = request, user

    def save(self, *, now: datetime) -> list[str]:
        """Store the passkey; return the recovery codes."""
        data = self.cleaned_data
        return passkeys.passkey_add(self.request, self.user, name=data["name"], credential=data["credential"], now=now)


class PasskeyRemovalForm(ConfirmedForm):
    """Removal of a passkey."""

    passkey = RowNumberField()

    def save(self, *, now: datetime) -> bool:
        """Remove the passkey; return whether another second factor is left."""
        self.check_password()
        return passkeys.passkey_remove(user=self.user, passkey_id=self.cleaned_data["passkey"])
