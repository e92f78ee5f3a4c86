"""Views: joining by an invitation, and the organizers' list of invitations and accounts."""

from random import SystemRandom
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.forms import TextInput
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django_filters import CharFilter

from accounts.access import organizer_of
from accounts.invitations import InvitationState, NewInvitation, invitation_of, invitation_state
from accounts.letters import invitation_letter
from accounts.models import Invitation
from accounts.pages.forms import DeleteForm, InvitePersonForm, JoinForm, RenewForm, RevokeForm
from accounts.rate_limits import count_wrong_link
from accounts.selectors import account_of_tasker, newest_invitations, search_accounts
from common import mail
from common.errors import Conflict, NotFound
from common.web.form_fields import go_to, redirect_with_message
from common.web.forms import Form
from common.web.lists import ListFilter, page_of
from common.web.page import page
from policy.selectors import policy_in_force

PAGE_SIZE = 50
_MAX_INVITATIONS = 200
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
    form = JoinForm.of(request)
    if user := form.submit(secret=token, rng=_random):
        login(request, user, backend="accounts.session_store.UserBackend")
        return redirect_with_message(request, _("Welcome. Your account is ready."), "home")
    return render(
        request, "accounts/join.html", {"invitation": invitation, "form": form}, status=400 if form.errors else 200
    )


class AccountFilter(ListFilter):
    """Accounts by words of their name, address or ID."""

    find = CharFilter(label="User name, e-mail or public ID", method="with_words", widget=TextInput({"type": "search"}))

    def with_words(self, rows: QuerySet[User], name: str, words: str) -> QuerySet[User]:
        """Filter by text."""
        return search_accounts(words)


@page(organizer_of, "GET POST")
def people(request: HttpRequest, organizer: User) -> HttpResponse:
    """Show invitations and accounts; a POST invites, sends an invitation again, or revokes one."""
    form, renewal, end = (kind.of(request, action=name) for name, kind in _FORMS.items())
    if invited := form.submit(by=organizer) or renewal.submit(by=organizer):
        _deliver(request, invited)
    elif revoked := end.submit(by=organizer):
        messages.success(request, f"The invitation of {revoked.email} is revoked; its link opens nothing any more.")
    else:
        return _people_page(request, form, renewal if renewal.errors else end)
    return go_to("people")


_FORMS: dict[str, type[Form]] = {"invite": InvitePersonForm, "renew": RenewForm, "revoke": RevokeForm}


def _deliver(request: HttpRequest, invited: NewInvitation) -> None:
    """Send the invitation letter. If the mail server refuses it, the invitation stays and can be sent again."""
    address = invited.invitation.email
    try:
        mail.send_letter(invitation_letter(invited.invitation, invited.secret))
    except Conflict as error:
        messages.error(request, f"{address} is invited, but has no letter yet. {error.message} Use “Send again”.")
        return
    messages.success(request, f"The invitation was sent to {address}. Its link works for 7 days.")


def _people_page(request: HttpRequest, form: Form, sent: Form) -> HttpResponse:
    now, filtered = timezone.now(), AccountFilter(request, search_accounts(""))
    context = {
        "invitations": [(each, invitation_state(each, now=now)) for each in _waiting_first(now)],
        "page": page_of(request, filtered.rows, PAGE_SIZE),
        "filter": filtered,
        "form": form,
        "sent": sent,
        "now": now,
        "zone": policy_in_force(now).policy.time_zone,
    }
    status = 400 if isinstance(sent.refused, NotFound) else max(form.status, sent.status)
    return render(request, "accounts/people.html", context, status=status)


def _waiting_first(now: Any) -> list[Invitation]:
    rows = newest_invitations(_MAX_INVITATIONS)
    return sorted(
        rows, key=lambda each: invitation_state(each, now=now) not in {InvitationState.OPEN, InvitationState.EXPIRED}
    )


@page(organizer_of, "GET POST")
def remove_person(request: HttpRequest, organizer: User, public_id: str) -> HttpResponse:
    """Delete the account of a tasker who asked for it; the organizer's password and the ID confirm."""
    person = account_of_tasker(public_id)
    if person is None:
        raise NotFound("There is no such tasker, or the account is deleted already.", "not_found")
    form = DeleteForm.of(request, request=request, user=organizer, confirmation=public_id)
    if form.submit(person=person, by=organizer):
        return redirect_with_message(
            request, f"The account of {public_id} is deleted; the ID and the answers stay.", "people"
        )
    context = {"tasker": person.tasker, "form": form}
    return render(request, "accounts/remove_person.html", context, status=form.status)
