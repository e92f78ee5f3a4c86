"""Changes of password and address. Either ends every other session and every token of the account."""

from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.contrib.auth.tokens import default_token_generator
from django.core import signing
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage
from django.db import IntegrityError, transaction
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_decode, urlsafe_base64_encode
from django.utils.translation import gettext as _

from accounts.credentials import credentials_end
from accounts.invitations import clean_address
from accounts.letters import address_letter, address_taken_letter, reset_letter, tell
from common.errors import Conflict, InvalidInput, NotFound
from common.mail import send_in_background

CONFIRM_WITHIN = timedelta(days=3)
_SALT = "address to confirm"


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
    credentials_end(user, but_session=session_key)
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


def address_ask(*, user: User, email: str) -> EmailMessage:
    """Return the letter to a new address, with the link that confirms it; nothing changes before.

    An address that has an account gets a letter that says so: who asks learns nothing of it (R4). InvalidInput
    (`email`) when it is no address, or the present one.
    """
    address = clean_address(email)
    if address == user.email:
        raise InvalidInput(_("This is the address of your account already."), "same_address", field="email")
    # The present address is in it, so that a link ends with the change it was for, or with any other.
    token = signing.dumps([user.pk, user.email, address], salt=_SALT)
    owner = User.objects.filter(email=address).select_related("tasker").first()
    return address_letter(user, address, token) if owner is None else address_taken_letter(owner)


def address_of(user: User, token: str) -> str:
    """Return the address that the link confirms for `user`; NotFound for a link that is over or somebody else's."""
    try:
        number, present, address = signing.loads(token, salt=_SALT, max_age=CONFIRM_WITHIN)
    except signing.BadSignature:
        number, present, address = 0, "", ""
    if (number, present) != (user.pk, user.email):
        words = _("This link is over, or it belongs to another account. Ask for a new one on your account page.")
        raise NotFound(words, "link_over")
    return str(address)


@transaction.atomic
def address_confirm(*, user: User, token: str, now: datetime) -> None:
    """Take the confirmed address, and tell the former one. Conflict (`has_account`) when somebody else took it."""
    former, user.email = user.email, address_of(user, token)
    try:
        with transaction.atomic():
            user.save(update_fields=["email"])
    except IntegrityError:
        raise Conflict(_("This address belongs to an account already."), "has_account") from None
    if former:
        tell(user, "address_changed", now=now, to=former)
