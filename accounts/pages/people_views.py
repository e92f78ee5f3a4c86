"""Joining by an invitation, and the organizers' list of invitations and accounts."""

from random import SystemRandom
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import password_validators_help_texts
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from accounts import invitations
from accounts.access import organizer_of
from accounts.enums import Role
from accounts.invitations import InvitationState, NewInvitation, invitation_of, state_of
from accounts.leaving import account_delete
from accounts.letters import invitation_letter
from accounts.models import Invitation
from accounts.rate_limits import count_wrong_link, password_matches
from accounts.selectors import account_of_tasker, accounts_found, newest_invitations
from common import mail
from common.domain_clock import domain_now
from common.errors import Conflict, DomainError, InvalidInput, NotFound
from common.web.form_fields import errors_of, go_to, secret, text, typed_account
from common.web.page import page
from policy.selectors import policy_in_force

_PER_PAGE = 50
_MOST_INVITATIONS = 200
_random = SystemRandom()


@page(methods="GET POST")
def join(request: HttpRequest, token: str) -> HttpResponse:
    """Accept an invitation: choose a user name and a password, and begin."""
    try:
        invitation = invitation_of(token, now=timezone.now())
    except NotFound as error:
        count_wrong_link(request)
        return render(request, "accounts/link_over.html", {"error": error, "again": ""}, status=404)
    chosen = request.COOKIES.get(settings.LANGUAGE_COOKIE_NAME)
    with translation.override(chosen or invitation.language or translation.get_language()):
        return _join(request, invitation, token)


def _join(request: HttpRequest, invitation: Invitation, token: str) -> HttpResponse:
    context: dict[str, Any] = {"invitation": invitation, "errors": {}, "typed": text(request, "username")}
    if request.method == "POST":
        try:
            return _accept(request, token)
        except DomainError as error:
            context["errors"] = errors_of(error)
    context["requirements"] = password_validators_help_texts()
    return render(request, "accounts/join.html", context, status=400 if context["errors"] else 200)


def _accept(request: HttpRequest, token: str) -> HttpResponse:
    def make(username: str, password: str) -> User:
        return invitations.invitation_accept(
            secret=token, username=username, password=password, now=timezone.now(), rng=_random, joined_at=domain_now()
        )

    user = typed_account(request, make)
    login(request, user, backend="accounts.session_store.UserBackend")
    messages.success(request, _("Welcome. Your account is ready."))
    return go_to("home")


@page(organizer_of, "GET POST")
def people(request: HttpRequest, organizer: User) -> HttpResponse:
    """Show who was invited and who has an account; invite, send again, revoke."""
    if request.method != "POST":
        return _people_page(request, {})
    try:
        _ACTIONS.get(text(request, "action"), _invite)(request, organizer)
    except DomainError as error:
        return _people_page(request, errors_of(error), status=409 if isinstance(error, Conflict) else 400)
    return go_to("people")


def _invite(request: HttpRequest, organizer: User) -> None:
    role, language = text(request, "role"), text(request, "language")
    if role not in list(Role) or language not in dict(settings.LANGUAGES):
        raise InvalidInput("Choose a role and a language.", "invalid", field="role")
    _deliver(
        request,
        invitations.invite(
            email=text(request, "email"), role=Role(role), language=language, by=organizer, now=timezone.now()
        ),
    )


def _renew(request: HttpRequest, organizer: User) -> None:
    _deliver(request, invitations.invitation_renew(invitation_id=_number(request), by=organizer, now=timezone.now()))


def _revoke(request: HttpRequest, organizer: User) -> None:
    revoked = invitations.invitation_revoke(invitation_id=_number(request), by=organizer, now=timezone.now())
    messages.success(request, f"The invitation of {revoked.email} is revoked; its link opens nothing any more.")


_ACTIONS = {"invite": _invite, "renew": _renew, "revoke": _revoke}


def _deliver(request: HttpRequest, invited: NewInvitation) -> None:
    """Send the link. When the mail server refuses, the invitation stays and can be sent again."""
    address = invited.invitation.email
    try:
        mail.send_letter(invitation_letter(invited.invitation, invited.secret))
    except Conflict as error:
        messages.error(request, f"{address} is invited, but has no letter yet. {error.message} Use “Send again”.")
        return
    messages.success(request, f"The invitation was sent to {address}. Its link works for 7 days.")


def _number(request: HttpRequest) -> int:
    number = text(request, "invitation")
    return int(number) if number.isdecimal() and len(number) < 19 else 0


def _people_page(request: HttpRequest, errors: Any, status: int = 200) -> HttpResponse:
    now, page = timezone.now(), request.GET.get("page")
    found = request.GET.get("find", "").replace("\x00", "").strip()
    context = {
        "invitations": [(each, state_of(each, now=now)) for each in _waiting_first(now)],
        "accounts": Paginator(accounts_found(found), _PER_PAGE).get_page(page),
        "find": found,
        "invited_roles": [role.value for role in invitations.INVITED_ROLES],
        "languages": settings.LANGUAGES,
        "errors": errors,
        "typed": request.POST if errors else {},
        "now": now,
        "zone": policy_in_force(now).policy.time_zone,
    }
    return render(request, "accounts/people.html", context, status=status)


def _waiting_first(now: Any) -> list[Invitation]:
    rows = newest_invitations(_MOST_INVITATIONS)
    return sorted(rows, key=lambda each: state_of(each, now=now) not in {InvitationState.OPEN, InvitationState.EXPIRED})


@page(organizer_of, "GET POST")
def remove_person(request: HttpRequest, organizer: User, public_id: str) -> HttpResponse:
    """Delete the account of a tasker who asked for it; the organizer's password and the ID confirm."""
    person = account_of_tasker(public_id)
    if person is None:
        raise NotFound("There is no such tasker, or the account is deleted already.", "not_found")
    errors: Any = {}
    if request.method == "POST":
        if text(request, "confirmation").upper() != public_id:
            errors = {"confirmation": f"Type {public_id} here to confirm."}
        elif not password_matches(request, organizer, secret(request, "password")):
            errors = {"password": "This is not your password."}
        else:
            account_delete(user=person, now=domain_now(), by=organizer)
            messages.success(request, f"The account of {public_id} is deleted; the ID and the answers stay.")
            return go_to("people")
    return render(
        request,
        "accounts/remove_person.html",
        {"tasker": person.tasker, "errors": errors},
        status=400 if errors else 200,
    )
