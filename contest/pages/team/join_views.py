"""Views to register as a researcher, and to join a team by a link."""

from django.contrib.auth import login
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from accounts.addresses import CONFIRM_WITHIN
from accounts.rate_limits import count_wrong_link, may_send_letter
from common.errors import NotFound
from common.web.form_fields import redirect_with_message
from common.web.page import page
from contest.core.roles import researcher_of
from contest.core.teams import team_of
from contest.pages.team.join_forms import JoinTeamForm, NewAccountForm, NewMemberForm, RegisterForm
from contest.teams import invitations, registration
from contest.teams.models import TeamInvitation


@page(methods="GET POST")
def register(request: HttpRequest) -> HttpResponse:
    """Send a link that creates an account. The answer is the same whether or not the address has an account."""
    form = RegisterForm.of(request)
    if form.is_valid() and not may_send_letter(request, form.cleaned_data["email"]):
        return HttpResponse(status=429)
    if address := form.submit(request=request):
        return render(request, "teams/register_sent.html", {"days": CONFIRM_WITHIN.days, "address": address})
    return render(request, "teams/register.html", {"form": form}, status=form.status)


@page(methods="GET POST")
def register_confirm(request: HttpRequest, token: str) -> HttpResponse:
    """Create the account of the link, with a user name and a password."""
    try:
        address = registration.address_of_link(token)
    except NotFound as error:
        return _link_over(request, error, "register")
    form = NewAccountForm.of(request)
    if user := form.submit(token=token):
        _sign_in(request, user)
        return redirect_with_message(request, "Welcome. Your account is ready, and your address is confirmed.", "team")
    # A conflict too: the person chooses another name or password on this page.
    status = 400 if form.errors else 200
    return render(request, "teams/register_confirm.html", {"address": address, "form": form}, status=status)


def _link_over(request: HttpRequest, error: NotFound, again: str) -> HttpResponse:
    count_wrong_link(request)
    return render(request, "accounts/link_over.html", {"error": error, "again": again}, status=404)


def _sign_in(request: HttpRequest, user: User) -> None:
    login(request, user, backend="accounts.session_store.UserBackend")


@page(methods="GET POST")
def team_join(request: HttpRequest, token: str) -> HttpResponse:
    """Join a team by its link, with the signed-in account or a new one."""
    try:
        invitation = invitations.team_invitation_of(token, now=timezone.now())
    except NotFound as error:
        return _link_over(request, error, "")
    return _join(request, invitation, token)


def _join(request: HttpRequest, invitation: TeamInvitation, token: str) -> HttpResponse:
    user = researcher_of(request.user) if request.user.is_authenticated else None
    form = JoinTeamForm.of(request) if user else NewMemberForm.of(request)
    if joined := form.submit(token=token, user=user) if user else form.submit(token=token):
        if user is None:
            _sign_in(request, joined)
        return redirect_with_message(request, f"You are in team {invitation.team.name} now.", "team")
    context = {
        "invitation": invitation,
        "form": form,
        "team_now": team_of(user) if user else None,
        "has_account": invitations.has_account(invitation),
    }
    return render(request, "teams/join.html", context, status=form.status)
