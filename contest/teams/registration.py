"""Services for the registration of researchers by a link in an e-mail (R8, R25)."""

from django.contrib.auth.models import User
from django.core import signing
from django.db import transaction

from accounts.addresses import CONFIRM_WITHIN, clean_address
from accounts.invitations import account_make
from accounts.roles import TEAMS, role_give
from common.errors import NotFound
from common.mail import send_in_background
from contest.teams.letters import known_letter, register_letter

_SALT = "address to register"


def registration_request(*, email: str) -> None:
    """Write to an address how to make an account, or that it has one. InvalidInput (`email`) if it is no address.

    The caller learns nothing of which of the two it was.
    """
    address = clean_address(email)
    user = User.objects.filter(email=address).first()
    token = signing.dumps(address, salt=_SALT)
    send_in_background(known_letter(user) if user is not None else register_letter(address, token, CONFIRM_WITHIN.days))


def address_of_link(token: str) -> str:
    """Return the address that a link confirms; NotFound (`link_over`) once it has an account, or after three days."""
    try:
        address = str(signing.loads(token, salt=_SALT, max_age=CONFIRM_WITHIN))
    except signing.BadSignature:
        address = ""
    if not address or User.objects.filter(email=address).exists():
        raise NotFound(
            f"This link does not open anything any more. It makes one account, within {CONFIRM_WITHIN.days} days: ask "
            "for a new one, or sign in if you have an account already.",
            "link_over",
        )
    return address


@transaction.atomic
def register_person(*, token: str, username: str, password: str) -> User:
    """Make a researcher's account; its address counts as confirmed, because the link came by it.

    NotFound for a link that is over, WrongFields for a user name or a password that will not do, Conflict
    (`has_account`) when the same link was faster.
    """
    return researcher_make(username=username, password=password, email=address_of_link(token))


@transaction.atomic
def researcher_make(*, username: str, password: str, email: str) -> User:
    """Make an account that competes, and so never labels, organizes or judges (R8)."""
    user = account_make(username=username, password=password, email=email)
    role_give(user=user, role=TEAMS)
    return user
