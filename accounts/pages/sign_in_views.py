"""Sign-in form and view, and the response to a lockout after too many wrong tries (HTTP 429)."""

import json
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth import authenticate
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.passkeys import MAX_CREDENTIAL_CHARACTERS, sign_in_begin
from accounts.rate_limits import LINKS, MAX_NAMES_PER_MINUTE, allowed_tries, is_of_letters, too_many_names
from accounts.session_store import CodeNeeded

# The names of the sign-in form's fields, so that other pages can separate them from their own fields.
SIGN_IN_FIELDS = frozenset({"csrfmiddlewaretoken", "username", "password", "otp", "passkey", "proof"})


_WRONG_TOGETHER: dict[str | None, tuple[str, ...]] = {"code_needed": (), "wrong_passkey": (), "wrong_code": ("otp",)}


class SignInForm(AuthenticationForm):
    """User name and password; then, where the account has a second factor, its code or the answer of a passkey.

    `proof` replaces the right password on the page that requests the code, so that no page holds the password.
    A program may send password and code together, and needs no proof.
    """

    otp = forms.CharField(
        label=_("Code of your second factor"),
        help_text=_("The code your app shows now, or one of your recovery codes."),
        required=False,
        max_length=40,
        widget=forms.TextInput(
            {
                "autocomplete": "one-time-code",
                "autocapitalize": "characters",
                "spellcheck": "false",
                "required": True,
                "autofocus": True,
            }
        ),
    )
    passkey = forms.CharField(required=False, max_length=MAX_CREDENTIAL_CHARACTERS)
    proof = forms.CharField(required=False, max_length=1000)
    code_step = False
    proof_given = ""
    # What the browser needs to sign in with a passkey, where the account has one.
    passkey_options: dict[str, Any] | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        username, password = self.fields["username"], self.fields["password"]
        username.label = _("User name")
        username.error_messages["required"] = _("Write your user name.")
        password.error_messages["required"] = _("Write your password.")
        password.required = not self.data.get("proof")
        username.widget.attrs |= {"spellcheck": "false", "autofocus": not self.data.get("username")}
        password.widget.attrs["autofocus"] = bool(self.data.get("username"))

    def add_error(self, field: str | None, error: Any) -> None:
        """Add an error; fields that are wrong as a group refer to the notice above them (`aria-describedby`)."""
        super().add_error(field, error)
        names = _WRONG_TOGETHER.get(getattr(error, "code", None), ("username", "password")) if field is None else ()
        for name in names:
            described = "id_otp_helptext sign-in-error" if name == "otp" else "sign-in-error"
            self.fields[name].widget.attrs |= {"aria-invalid": "true", "aria-describedby": described}

    def clean(self) -> dict[str, Any]:
        """Authenticate; `code_needed` and `wrong_code` ask for the code, `invalid_login` for everything again."""
        names = ("username", "password", "otp", "passkey", "proof")
        given = {name: self.cleaned_data.get(name, "") for name in names}
        if given["username"] and (given["password"] or given["proof"]):
            self.user_cache = self._user(given)
            if self.user_cache is None:
                raise self._refusal()
            self.confirm_login_allowed(self.user_cache)
        return self.cleaned_data

    def _user(self, given: dict[str, str]) -> Any:
        try:
            return authenticate(self.request, **given)
        except CodeNeeded as needed:
            self._ask_for_code(needed)
            raise

    def _refusal(self) -> ValidationError:
        wrong_code: CodeNeeded | None = getattr(self.request, "wrong_code", None)
        if wrong_code is None:
            return self.get_invalid_login_error()
        self._ask_for_code(wrong_code)
        if self.cleaned_data.get("passkey"):
            return ValidationError(gettext("The passkey was not accepted."), code="wrong_passkey")
        return ValidationError(gettext("This is not the code of this moment."), code="wrong_code")

    def _ask_for_code(self, needed: CodeNeeded) -> None:
        self.code_step, self.proof_given = True, needed.proof
        assert self.request is not None, "the backend needs it too"
        self.passkey_options = sign_in_begin(self.request, needed.user, now=timezone.now())

    @property
    def refused_because(self) -> str:
        """Return the error code of the form as a whole, empty without an error."""
        errors = self.non_field_errors().as_data() if self.is_bound else []
        return str(errors[0].code) if errors else ""


class SignIn(LoginView):
    """One sign-in page for everybody; what an account may do is decided after it.

    Scripts read from `Second-Factor` that the password was right and a code is needed too, and from `Passkey-Options`
    what a passkey signs in its place.
    """

    template_name = "registration/sign_in.html"
    authentication_form = SignInForm

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        """Show the form again."""
        response = super().form_invalid(form)
        if isinstance(form, SignInForm) and form.code_step:
            response["Second-Factor"] = "needed"
            if form.passkey_options:
                response["Passkey-Options"] = json.dumps(form.passkey_options)
        return response


def locked_out(request: HttpRequest, response: HttpResponse, credentials: dict[str, Any]) -> HttpResponse:
    """Answer 429 after too many wrong tries: a page for people, `{"code", "detail"}` for programs."""
    names = too_many_names(request, credentials)
    minute = names == MAX_NAMES_PER_MINUTE
    if request.path.startswith("/api/v1/"):
        words = gettext("Too many wrong passwords: sign-in is closed from your address for one hour.")
        if minute:
            words = gettext("Too many wrong names: sign-in is closed from your address for one minute.")
        answer: HttpResponse = JsonResponse({"code": "locked_out", "detail": words}, status=429)
    else:
        username = (credentials or {}).get("username", "")
        links, letters = username == LINKS, is_of_letters(username)
        context = {
            "limit": names or allowed_tries(request, credentials),
            "names": names,
            "minute": minute,
            "links": links,
            "letters": letters,
            "username": "" if links or letters else username,
        }
        answer = render(request, "registration/locked_out.html", context, status=429)
    answer["Retry-After"] = str(60 if minute else settings.AXES_COOLOFF_TIME * 3600)
    return answer
