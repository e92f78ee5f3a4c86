"""Forms to register as a researcher, and to join a team."""

from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest
from django.utils import timezone

from accounts.pages.forms import JoinForm, email_field
from accounts.rate_limits import count_letter
from common.domain_clock import domain_now
from common.web.forms import Form
from contest.teams import invitations, registration


class RegisterForm(Form):
    """The e-mail address of a researcher who registers."""

    email = email_field("E-mail address")

    def save(self, *, request: HttpRequest) -> str:
        """Send the link that makes the account; return the address."""
        address: str = self.cleaned_data["email"]
        registration.registration_request(email=address)
        count_letter(request, address)
        return address


class NewAccountForm(JoinForm):
    """The user name and password of a researcher's account."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        words = "Your team and the organizers see it. Letters, digits and @ . + - _, at most 40."
        self.fields["username"].help_text = words

    def save(self, *, token: str) -> User:  # type: ignore[override]  # what a link makes differs
        """Create the account of the registered address."""
        return registration.register_person(token=token, **self.chosen)

    @property
    def chosen(self) -> dict[str, str]:
        """Return the user name and the password."""
        return {"username": self.cleaned_data["username"], "password": self.cleaned_data["new_password"]}


class NewMemberForm(NewAccountForm):
    """The user name and password of an account that joins a team."""

    def save(self, *, token: str) -> User:  # type: ignore[override]
        """Create the account and add it to the team."""
        now, joined_at = timezone.now(), domain_now()
        return invitations.team_invitation_register(secret=token, **self.chosen, now=now, joined_at=joined_at)


class JoinTeamForm(Form):
    """Adds the signed-in account to a team."""

    def save(self, *, token: str, user: User) -> User:
        """Join the team."""
        invitations.team_invitation_accept(secret=token, user=user, now=timezone.now(), joined_at=domain_now())
        return user
