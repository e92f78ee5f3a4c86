"""Changes of the password. Each ends every other session and every token of the account."""

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

    The session `session_key` is spared: it has to be given the new password's hash by its view. InvalidInput
    (`new_password`) for a password that will not do.
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
    """Write to the account of this address, if there is one, how to choose a new password."""
    user = User.objects.filter(email=clean_address(email), is_active=True).select_related("tasker").first()
    if user is not None:
        uid = urlsafe_base64_encode(force_bytes(user.pk))
        send_in_background(reset_letter(user, uid, default_token_generator.make_token(user)))


def user_of_reset(uid: str, token: str) -> User:
    """Return whose password the link changes; NotFound for a link that is used, too old, or not ours."""
    try:
        number = int(urlsafe_base64_decode(uid).decode())
    except (ValueError, OverflowError):
        number = 0
    user = User.objects.filter(pk=number, is_active=True).select_related("tasker").first()
    if user is None or not default_token_generator.check_token(user, token):
        raise NotFound(_("This link is over: it works once, for one day. Ask for a new one."), "link_over")
    return user
