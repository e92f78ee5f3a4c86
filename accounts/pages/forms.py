"""The forms of accounts: passwords, addresses, settings, leaving, joining, and the organizers' list of people."""

from random import Random
from typing import Any, ClassVar

from django import forms
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import password_validators_help_texts
from django.core.mail import EmailMessage
from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts import addresses, invitations, passwords
from accounts.enums import Role
from accounts.leaving import account_delete
from accounts.locale import zone_names
from accounts.models import Invitation
from accounts.rate_limits import count_letter, password_matches
from common.domain_clock import domain_now
from common.errors import InvalidInput
from common.web.forms import Form, RowNumberField, TextField

_MAX_PASSWORD_CHARACTERS = 1000
_NO_ROLE, _NO_LANGUAGE = "Choose tasker, organizer or review board.", "Choose a language."


class PasswordField(forms.CharField):
    """A password as typed, never displayed again."""

    def __init__(self, label: Any, autocomplete: str = "current-password") -> None:
        attributes = {"autocomplete": autocomplete, "autocapitalize": "none", "spellcheck": "false", "required": True}
        super().__init__(label=label, required=False, strip=False, widget=forms.PasswordInput(attributes))

    def to_python(self, value: Any) -> str:
        """Return what was typed, blanks included."""
        return str(value or "")[:_MAX_PASSWORD_CHARACTERS]


def email_field(label: Any, autocomplete: str = "email") -> TextField:
    """Return a field for an address."""
    return TextField(label, max_length=254, type="email", autocomplete=autocomplete, spellcheck="false")


class ConfirmedForm(Form):
    """A form on which a signed-in user repeats the password; a wrong one counts towards the lockout, as at sign-in."""

    wrong_password: ClassVar[Any] = _("This is not your password.")
    password = PasswordField(_("Your password"))

    def __init__(self, *arguments: Any, request: HttpRequest, user: User, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.request, self.user = request, user

    def check_password(self) -> None:
        """Raise InvalidInput (`password`) for a wrong one."""
        if not password_matches(self.request, self.user, self.cleaned_data["password"]):
            raise InvalidInput(str(self.wrong_password), "wrong_password", field="password")


class NewPassword(forms.Form):
    """A new password, typed twice."""

    new_password = PasswordField(_("New password"), "new-password")
    new_password_again = PasswordField(_("New password again"), "new-password")

    def clean_new_password_again(self) -> str:
        """Check that both are equal."""
        again: str = self.cleaned_data["new_password_again"]
        if self.cleaned_data.get("new_password") != again:
            raise forms.ValidationError(gettext("The two are not the same: type both again."), "not_alike")
        return again

    @cached_property
    def requirements(self) -> list[str]:
        """Return the requirements for a password, as text."""
        return password_validators_help_texts()


class PasswordForm(NewPassword, ConfirmedForm):
    """Change of the password by a user who knows the present one."""

    wrong_password = _("This is not your present password.")
    password = PasswordField(_("Present password"))
    field_order = ["password"]

    def save(self) -> User:
        """Change the password; every other session and every token ends."""
        self.check_password()
        session, new = self.request.session.session_key, self.cleaned_data["new_password"]
        passwords.password_set(user=self.user, password=new, now=timezone.now(), session_key=session)
        return self.user


class ResetForm(NewPassword, Form):
    """Reset of the password by a user who has the link from a letter."""

    def save(self, *, user: User) -> User:
        """Change the password; every session and every token ends."""
        passwords.password_set(user=user, password=self.cleaned_data["new_password"], now=timezone.now())
        return user


class ResetRequestForm(Form):
    """Request for a link to reset a forgotten password."""

    email = email_field(_("E-mail address"))

    def save(self, *, request: HttpRequest) -> str:
        """Write to the account of the address, if there is one; return the address."""
        address: str = self.cleaned_data["email"]
        passwords.reset_ask(email=address)
        count_letter(request, address)
        return address


class EmailForm(ConfirmedForm):
    """Change of the account's e-mail address."""

    email = email_field(_("New e-mail address"))
    field_order = ["email"]

    def save(self) -> EmailMessage:
        """Return the letter to the new address."""
        self.check_password()
        # Counted before the address is checked, so that nobody finds out by trial which addresses have an account.
        count_letter(self.request, self.cleaned_data["email"])
        return addresses.address_ask(user=self.user, email=self.cleaned_data["email"])


class AccountSettingsForm(Form):
    """A tasker's language and time zone; the time zone is theirs alone."""

    language = forms.ChoiceField(
        label=_("Language"), required=False, error_messages={"invalid_choice": _("Choose one of the languages.")}
    )
    time_zone = TextField(
        _("Time zone"), max_length=254, required=False, list="zones", placeholder="UTC", autocapitalize="none"
    )

    def __init__(self, *arguments: Any, tasker: Any, language: str = "", **named: Any) -> None:
        chosen = {"language": tasker.language, "time_zone": tasker.time_zone} if tasker else {"language": language}
        super().__init__(*arguments, initial=chosen, **named)
        as_browser = [("", _("as the browser asks"))] if tasker else []
        self.fields["language"].choices = [*as_browser, *settings.LANGUAGES]  # type: ignore[attr-defined]
        if tasker is None:
            del self.fields["time_zone"]

    def clean_time_zone(self) -> str:
        """Check that the time zone is known; it may be empty."""
        zone: str = self.cleaned_data["time_zone"]
        if zone and zone not in zone_names():
            raise forms.ValidationError(gettext("Choose a time zone of the list, for example Europe/Berlin."))
        return zone

    def save(self, *, tasker: Any) -> Any:
        """Store language and time zone."""
        tasker.language, tasker.time_zone = self.cleaned_data["language"], self.cleaned_data["time_zone"]
        tasker.save(update_fields=["language", "time_zone"])
        return tasker


class DeleteForm(ConfirmedForm):
    """Deletion of an account; `confirmation` is its public ID, or the user name where it has none."""

    confirmation = TextField("", max_length=254, autocapitalize="none", spellcheck="false")
    field_order = ["confirmation"]

    def __init__(self, *arguments: Any, confirmation: str, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.expected = confirmation
        words = gettext("Type %(confirmation)s to confirm") % {"confirmation": confirmation}
        self.fields["confirmation"].label = words

    def save(self, *, person: User, by: User | None = None) -> User:
        """Delete the account."""
        if self.cleaned_data["confirmation"].upper() != self.expected.upper():
            words = gettext("Type %(confirmation)s here to confirm.") % {"confirmation": self.expected}
            raise InvalidInput(words, "not_confirmed", field="confirmation")
        self.check_password()
        account_delete(user=person, now=domain_now(), by=by)
        return person


class JoinForm(NewPassword, Form):
    """The user name and password of a new account."""

    names = {"password": "new_password"}
    username = TextField(
        _("User name"),
        max_length=150,
        help_text=_("Only organizers see it. Letters, digits and @ . + - _, at most 40."),
        autocomplete="username",
        autocapitalize="none",
        spellcheck="false",
    )
    field_order = ["username"]

    def save(self, *, secret: str, rng: Random) -> User:
        """Create the account for the invitation of the link."""
        return invitations.invitation_accept(
            secret=secret,
            username=self.cleaned_data["username"],
            password=self.cleaned_data["new_password"],
            now=timezone.now(),
            rng=rng,
            joined_at=domain_now(),
        )


class InvitePersonForm(Form):
    """An invitation: the address, the role, and the language of the letter."""

    email = email_field("E-mail address", "off")
    role = forms.ChoiceField(
        label="Role",
        choices=[("tasker", "tasker"), ("organizer", "organizer"), ("board", "review board")],
        error_messages={"required": _NO_ROLE, "invalid_choice": _NO_ROLE},
    )
    language = forms.ChoiceField(
        label="Language of the letter",
        choices=settings.LANGUAGES,
        error_messages={"required": _NO_LANGUAGE, "invalid_choice": _NO_LANGUAGE},
    )

    def save(self, *, by: User) -> invitations.NewInvitation:
        """Invite the address."""
        data = self.cleaned_data
        return invitations.invite(
            email=data["email"], role=Role(data["role"]), language=data["language"], by=by, now=timezone.now()
        )


class RenewForm(Form):
    """Renewal of an invitation."""

    invitation = RowNumberField()

    def save(self, *, by: User) -> invitations.NewInvitation:
        """Make a new link."""
        return invitations.invitation_renew(invitation_id=self.cleaned_data["invitation"], by=by, now=timezone.now())


class RevokeForm(RenewForm):
    """Revocation of an invitation."""

    def save(self, *, by: User) -> Invitation:  # type: ignore[override]
        """Revoke the invitation."""
        return invitations.invitation_revoke(invitation_id=self.cleaned_data["invitation"], by=by, now=timezone.now())
