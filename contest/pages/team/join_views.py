"""Registration of researchers, and joining a team by a link."""

from typing import Any

from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import password_validators_help_texts
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from accounts.addresses import CONFIRM_WITHIN
from accounts.rate_limits import count_letter, count_wrong_link, may_send_letter
from common.domain_clock import domain_now
from common.errors import Conflict, DomainError, InvalidInput, NotFound
from common.web.form_fields import errors_of, go_to, text, typed_account
from common.web.page import page
from contest.core.roles import researcher_of
from contest.core.teams import team_of
from contest.teams import invitations, registration
from contest.teams.models import TeamInvitation


@page(methods="GET POST")
def register(request: HttpRequest) -> HttpResponse:
    """Ask for a link that makes an account. The answer is the same whether the address has one or not."""
    context: dict[str, Any] = {"days": CONFIRM_WITHIN.days, "errors": {}}
    if request.method != "POST":
        return render(request, "teams/register.html", context)
    address = text(request, "email")
    if not may_send_letter(request, address):
        return HttpResponse(status=429)
    try:
        registration.registration_request(email=address)
    except InvalidInput as error:
        context |= {"errors": errors_of(error), "typed": address}
        return render(request, "teams/register.html", context, status=400)
    count_letter(request, address)
    return render(request, "teams/register_sent.html", context | {"address": address})


@page(methods="GET POST")
def register_confirm(request: HttpRequest, token: str) -> HttpResponse:
    """Choose a user name and a password, and begin."""
    try:
        address = registration.address_of_link(token)
    except NotFound as error:
        count_wrong_link(request)
        return render(request, "accounts/link_over.html", {"error": error, "again": "register"}, status=404)
    context: dict[str, Any] = {"address": address, "errors": {}, "typed": text(request, "username")}
    if request.method == "POST":
        try:
            return _registered(request, token)
        except DomainError as error:
            context["errors"] = errors_of(error)
    context["requirements"] = password_validators_help_texts()
    return render(request, "teams/register_confirm.html", context, status=400 if context["errors"] else 200)


def _registered(request: HttpRequest, token: str) -> HttpResponse:
    def make(username: str, password: str) -> User:
        return registration.register(token=token, username=username, password=password)

    _sign_in(request, typed_account(request, make))
    messages.success(request, "Welcome. Your account is ready, and your address is confirmed.")
    return go_to("team")


def _sign_in(request: HttpRequest, user: User) -> None:
    login(request, user, backend="accounts.session_store.UserBackend")


@page(methods="GET POST")
def team_join(request: HttpRequest, token: str) -> HttpResponse:
    """Join a team by its link: with the account that is signed in, or with a new one."""
    try:
        invitation = invitations.team_invitation_of(token, now=timezone.now())
    except NotFound as error:
        count_wrong_link(request)
        return render(request, "accounts/link_over.html", {"error": error, "again": ""}, status=404)
    return _join(request, invitation, token)


def _join(request: HttpRequest, invitation: TeamInvitation, token: str) -> HttpResponse:
    user = researcher_of(request.user) if request.user.is_authenticated else None
    context: dict[str, Any] = {"invitation": invitation, "errors": {}, "typed": text(request, "username")}
    status = 200
    if request.method == "POST":
        try:
            return _joined(request, invitation, token, user)
        except DomainError as error:
            context["errors"], status = errors_of(error), 409 if isinstance(error, Conflict) else 400
    context |= {
        "team_now": team_of(user) if user else None,
        "has_account": invitations.has_account(invitation),
        "requirements": password_validators_help_texts(),
    }
    return render(request, "teams/join.html", context, status=status)


def _joined(request: HttpRequest, invitation: TeamInvitation, token: str, user: User | None) -> HttpResponse:
    def make(username: str, password: str) -> User:
        return invitations.team_invitation_register(
            secret=token, username=username, password=password, now=timezone.now(), joined_at=domain_now()
        )

    if user is None:
        _sign_in(request, typed_account(request, make))
    else:
        invitations.team_invitation_accept(secret=token, user=user, now=timezone.now(), joined_at=domain_now())
    messages.success(request, f"You are in team {invitation.team.name} now.")
    return go_to("team")
