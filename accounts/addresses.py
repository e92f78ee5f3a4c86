"""Services for an account's e-mail address: a new address takes effect once its owner opens the link sent to it.

django-allauth stores addresses (`EmailAddress`) and makes the links; the account's `email` repeats the confirmed one.
"""

from datetime import datetime, timedelta

from allauth.account import app_settings
from allauth.account.models import EmailAddress, EmailConfirmationHMAC
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from accounts.letters import address_letter, address_taken_letter, tell
from common.errors import Conflict, InvalidInput, NotFound

CONFIRM_WITHIN = timedelta(days=app_settings.EMAIL_CONFIRMATION_EXPIRE_DAYS)


def clean_address(address: str) -> str:
    """Return an e-mail address in the form in which it is stored; InvalidInput (`email`) for an invalid one."""
    found = address.strip().lower()
    try:
        validate_email(found)
    except ValidationError:
        raise InvalidInput(_("Write an e-mail address such as name@example.org."), "invalid", field="email") from None
    return found


def keep_confirmed(user: User) -> None:
    """Store the address of a new account as confirmed; the caller knows that it belongs to the person."""
    if user.email:
        EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)


def address_ask(*, user: User, email: str) -> EmailMessage:
    """Return the letter to a new address, with the link that confirms it; the account's address stays until then. The
    link of an earlier request ends.

    An address that has an account gets a letter that says so; the page does not reveal this (R4). InvalidInput
    (`email`) when it is invalid, or the account's present address.
    """
    address = clean_address(email)
    if address == user.email:
        raise InvalidInput(_("This is the address of your account already."), "same_address", field="email")
    owner = User.objects.filter(email=address).select_related("tasker").first()
    if owner is not None:
        return address_taken_letter(owner)
    with transaction.atomic():
        EmailAddress.objects.filter(user=user).exclude(email=user.email).delete()
        asked = EmailAddress.objects.create(user=user, email=address)
    return address_letter(user, address, EmailConfirmationHMAC(asked).key)


def asked_address(user: User, key: str) -> EmailAddress:
    """Return the address that the link confirms for `user`; NotFound for an expired link or another account's."""
    link = EmailConfirmationHMAC.from_key(key)
    if link is None or link.email_address.user_id != user.pk:
        words = _("This link is over, or it belongs to another account. Ask for a new one on your account page.")
        raise NotFound(words, "link_over")
    return link.email_address


@transaction.atomic
def address_confirm(*, user: User, key: str, now: datetime) -> None:
    """Take the confirmed address, and tell the former one. Conflict (`has_account`) when somebody else took it."""
    address, former = asked_address(user, key), user.email
    address.user = user
    EmailAddress.objects.filter(user=user).exclude(pk=address.pk).delete()
    try:
        with transaction.atomic():
            address.verified = True
            address.set_as_primary()
    except IntegrityError:
        raise Conflict(_("This address belongs to an account already."), "has_account") from None
    if former:
        tell(user, "address_changed", now=now, to=former)
