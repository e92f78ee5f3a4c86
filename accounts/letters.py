"""E-mails about accounts: invitation, new address, password reset, and notices of security changes."""

from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.mail import EmailMessage
from django.urls import reverse
from django.utils.translation import get_language

from accounts.models import Invitation
from common.mail import render_letter, send_in_background


def language_of(user: Any) -> str:
    """Return the language to write to `user` in: a tasker's own, else that of the page they are on."""
    tasker = getattr(user, "tasker", None)
    return (tasker.language if tasker is not None else "") or get_language() or settings.LANGUAGE_CODE


def invitation_letter(invitation: Invitation, secret: str) -> EmailMessage:
    """Return the letter with the link that accepts `invitation`."""
    link = settings.PUBLIC_URL + reverse("join", args=[secret])
    context = {"role": invitation.role, "link": link, "until": invitation.expires_at}
    return render_letter("invitation", to=invitation.email, language=invitation.language, **context)


def address_letter(user: User, address: str, token: str) -> EmailMessage:
    """Return the letter to a new address, with the link that confirms it."""
    link = settings.PUBLIC_URL + reverse("account-email-confirm", args=[token])
    return render_letter(
        "confirm_address", to=address, language=language_of(user), username=user.get_username(), link=link
    )


def address_taken_letter(owner: User) -> EmailMessage:
    """Return the letter to an owner of an address that another account tried to take; it does not name that account."""
    context = {
        "username": owner.get_username(),
        "sign_in": settings.PUBLIC_URL + reverse("sign-in"),
        "reset": settings.PUBLIC_URL + reverse("password-reset"),
    }
    return render_letter("address_taken", to=owner.email, language=language_of(owner), **context)


def reset_letter(user: User, uid: str, token: str) -> EmailMessage:
    """Return the letter with the link to reset the password."""
    link = settings.PUBLIC_URL + reverse("password-reset-confirm", args=[uid, token])
    hours = settings.PASSWORD_RESET_TIMEOUT // 3600
    context = {"username": user.get_username(), "link": link, "hours": hours}
    return render_letter("reset_password", to=user.email, language=language_of(user), **context)


def tell(user: User, what: str, *, now: datetime, to: str = "") -> None:
    """Send the owner a notice that something about the account changed, if the account has an address.

    `what` names the letter: `password_changed`, `address_changed`, `second_factor_on`, `second_factor_off`.
    """
    if address := to or user.email:
        context = {"username": user.get_username(), "moment": now, "site": settings.PUBLIC_URL, "address": user.email}
        send_in_background(render_letter(what, to=address, language=language_of(user), **context))
