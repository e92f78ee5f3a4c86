"""Forms of a team's own page. `save` returns the message that the page shows."""

from django.contrib.auth.models import User
from django.utils import timezone

from common.domain_clock import domain_now
from common.web.forms import Form, RowNumberField, TextField
from contest.teams import entitlements, invitations, names, services

_MAX_ADDRESS_CHARACTERS = 254


class TeamForm(Form):
    """Base form for a member, or for a researcher without a team."""

    def save(self, *, by: User) -> str:
        """Do it."""
        raise NotImplementedError


class CreateForm(TeamForm):
    """A new team."""

    name = TextField(
        "Name of the team",
        max_length=names.MAX_NAME_CHARACTERS,
        help_text="It is public. Letters A to Z, digits, blanks and . _ & + ' -, "
        f"at most {names.MAX_NAME_CHARACTERS} characters.",
    )

    def save(self, *, by: User) -> str:
        """Create the team with this captain."""
        team = services.team_create(name=self.cleaned_data["name"], captain=by, now=domain_now())
        return f"Team {team.name} created. You are its captain."


class InviteMemberForm(TeamForm):
    """An invitation by e-mail."""

    email = TextField("E-mail address", max_length=_MAX_ADDRESS_CHARACTERS, type="email")

    def save(self, *, by: User) -> str:
        """Send the invitation."""
        sent = invitations.team_invite(by=by, email=self.cleaned_data["email"], now=timezone.now())
        return f"The invitation was sent to {sent.invitation.email}. Its link works once."


class WithdrawInvitationForm(TeamForm):
    """An invitation that is withdrawn."""

    invitation = RowNumberField()

    def save(self, *, by: User) -> str:
        """Withdraw the invitation."""
        number = self.cleaned_data["invitation"]
        email = invitations.team_invitation_withdraw(by=by, invitation_id=number, now=timezone.now()).email
        return f"The invitation of {email} is withdrawn. Its link no longer works."


class RemoveMemberForm(TeamForm):
    """A member who becomes the captain, or is removed: the button says which."""

    member = RowNumberField()

    def save(self, *, by: User) -> str:
        """Hand the team over, or remove the member."""
        number, now = self.cleaned_data["member"], domain_now()
        if self.data["action"] == "hand-over":
            captain = services.captain_hand_over(by=by, member_id=number, now=now)
            return f"{captain.user.username} is the captain now."
        return f"{services.member_remove(by=by, member_id=number, now=now).user.username} was removed from the team."


class LeaveForm(TeamForm):
    """Lets a member leave the team."""

    def save(self, *, by: User) -> str:
        """Leave the team."""
        return f"You have left team {services.member_leave(user=by, now=domain_now()).name}."


class EntitlementRequestForm(TeamForm):
    """A request to attack, by a member's paper (R25)."""

    arxiv_id = TextField("arXiv identifier", max_length=100, help_text="For example 1809.08352 or hep-th/9901001.")
    paper_email = TextField(
        "Author's e-mail address on the paper",
        max_length=_MAX_ADDRESS_CHARACTERS,
        type="email",
        help_text="A member's confirmed address.",
    )

    def save(self, *, by: User) -> str:
        """Send the request to the organizers."""
        paper, email = self.cleaned_data["arxiv_id"], self.cleaned_data["paper_email"]
        entitlements.entitlement_request(by=by, arxiv_id=paper, paper_email=email, now=domain_now())
        return "Your request was sent to the organizers. You get a letter when it is answered."


class QuestionAnswerForm(TeamForm):
    """The answer to the organizers' question about a request."""

    words = TextField("Your answer to the organizers' question", max_length=entitlements.MAX_CHARACTERS, rows=4)

    def save(self, *, by: User) -> str:
        """Send the answer."""
        entitlements.entitlement_answer(by=by, words=self.cleaned_data["words"], now=domain_now())
        return "Your answer was sent to the organizers."


class WithdrawRequestForm(TeamForm):
    """Withdraws a request."""

    def save(self, *, by: User) -> str:
        """Withdraw the request."""
        entitlements.entitlement_withdraw(by=by, now=domain_now())
        return "Your request is withdrawn."
