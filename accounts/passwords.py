"""Services to change or reset a password. A change ends every other session and every token of the account."""

from datetime import datetime

from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.contrib.auth.tokens import default_token_generator
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_decode, urlsafe_base64_encode
from django.utils.translation import gettext as _

from accounts.addresses import clean_address
from accounts.credentials import credentials_revoke
from accounts.letters import reset_letter, tell
from common.errors import InvalidInput, NotFound
from common.mail import send_in_background


@transaction.atomic
def password_set(*, user: User, password: str, now: datetime, session_key: str | None = None) -> None:
    """Set the password, end every other session and token, and tell the owner by e-mail.

    The session `session_key` stays: its view has to store the new password's hash in it. InvalidInput
    (`new_password`) for an invalid password.
    """
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise InvalidInput(" ".join(error.messages), "invalid", field="new_password") from None
    user.set_password(password)
    user.save(update_fields=["password"])
    credentials_revoke(user, but_session=session_key)
    tell(user, "password_changed", now=now)


def reset_ask(*, email: str) -> None:
    """Send a letter with a reset link to the account of this address, if there is one."""
    user = User.objects.filter(email=clean_address(email), is_active=True).select_related("tasker").first()
    if user is not None:
        uid = urlsafe_base64_encode(force_bytes(user.pk))
        send_in_background(reset_letter(user, uid, default_token_generator.make_token(user)))


def user_of_reset(uid: str, token: str) -> User:
    """Return the user whose password the link resets; NotFound for a link that is used, expired or forged."""
    try:
        number = int(urlsafe_base64_decode(uid).decode())
    except (ValueError, OverflowError):
        number = 0
    user = User.objects.filter(pk=number, is_active=True).select_related("tasker").first()
    if user is None or not default_token_generator.check_token(user, token):
        raise NotFound(_("This link is over: it works once, for one day. Ask for a new one."), "link_over")
    return user
