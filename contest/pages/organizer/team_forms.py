"""The organizers' forms about a team: its association with the contest, its merge, and requests to attack."""

from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from django import forms
from django.contrib.auth.models import User

from common.domain_clock import domain_now
from common.web.forms import DayField, Form, RowForm, RowNumberField, TextField
from contest.core.models import Team
from contest.core.teams import team_by_id
from contest.teams import associations, entitlements, services
from contest.teams.selectors import other_teams
from policy.selectors import policy_in_force

_NO_TEAM = "Choose the team it becomes part of."


def _midnight(day: date) -> datetime:
    """Return the beginning of the day in the contest's time zone."""
    return datetime.combine(day, time.min, ZoneInfo(policy_in_force(domain_now()).policy.time_zone))


class OrganizerTeamForm(Form):
    """A form about a team. `save` returns the message that the page shows."""

    def save(self, *, team: Team, by: User) -> str:
        """Do it."""
        raise NotImplementedError


class DeclareAssociationForm(OrganizerTeamForm):
    """Declares that a team is associated with the contest (R27)."""

    since = DayField("First day", missing="Write the day it begins.")
    until = DayField("Last day, if it is known")
    reason = TextField("Reason (the team reads it)", max_length=associations.MAX_CHARACTERS, rows=2)

    def save(self, *, team: Team, by: User) -> str:
        """Declare the association."""
        data = self.cleaned_data
        associations.association_declare(
            team=team,
            since=_midnight(data["since"]),
            until=_midnight(data["until"] + timedelta(days=1)) if data["until"] else None,
            reason=data["reason"],
            by=by,
            now=domain_now(),
        )
        return f"Team {team.name} is marked as associated with the contest. It was notified."


class AssociationForm(RowForm, OrganizerTeamForm):
    """A form about one association of the team."""

    keys = ("association",)
    association = RowNumberField()


class EndAssociationForm(AssociationForm):
    """Ends an association at a date."""

    until = DayField("Last day", missing="Write the last day of the association.")

    def save(self, *, team: Team, by: User) -> str:
        """Record the end."""
        data = self.cleaned_data
        end = _midnight(data["until"] + timedelta(days=1))
        associations.association_end(association_id=data["association"], until=end, by=by, now=domain_now())
        return "The end is recorded. The team was notified."


class MistakenAssociationForm(AssociationForm):
    """Voids an association that was declared in error."""

    reason = TextField("Reason (the team reads it)", max_length=associations.MAX_CHARACTERS, rows=2)

    def save(self, *, team: Team, by: User) -> str:
        """Void the association, also for the past."""
        data = self.cleaned_data
        number, reason = data["association"], data["reason"]
        associations.association_mistaken(association_id=number, reason=reason, by=by, now=domain_now())
        return "The association is recorded as an error and is void. The team was notified."


class MergeForm(OrganizerTeamForm):
    """Merges the team into another one."""

    into = forms.ChoiceField(label="Team that stays", error_messages={"required": _NO_TEAM, "invalid_choice": _NO_TEAM})
    reason = TextField("Reason (both teams read it)", max_length=services.MAX_REASON_CHARACTERS, rows=2)

    def for_team(self, team: Team) -> "MergeForm":
        """Offer the teams that `team` may be merged into."""
        choices = ((each.public_id, f"{each.name} ({each.public_id})") for each in other_teams([team.pk]))
        self.fields["into"].choices = [("", "Choose a team"), *choices]  # type: ignore[attr-defined]
        return self

    def save(self, *, team: Team, by: User) -> str:
        """Merge the teams for good."""
        into = team_by_id(self.cleaned_data["into"])
        assert into is not None, "it is one of the choices"
        services.teams_merge(team=team, into=into, reason=self.cleaned_data["reason"], by=by, now=domain_now())
        return f"Team {team.name} is now part of team {into.name}. Both were notified."


class AcceptEntitlementForm(Form):
    """Accepts a paper that entitles a team to attack (R25)."""

    def save(self, *, number: int, by: User) -> str:
        """Accept the request."""
        team = entitlements.entitlement_accept(number=number, by=by, now=domain_now()).team
        return f"Team {team.name} is entitled now. It was notified."


class EntitlementAnswerForm(Form):
    """A question about an entitlement request, or the reason for its refusal; the button says which."""

    words = TextField(
        "A question, or the reason of a refusal (the team reads it)", max_length=entitlements.MAX_CHARACTERS, rows=4
    )

    def save(self, *, number: int, by: User) -> str:
        """Ask the team, or refuse the request."""
        words, now = self.cleaned_data["words"], domain_now()
        if self.data.get("action") == "question":
            done = entitlements.entitlement_question(number=number, words=words, by=by, now=now)
            return f"The question was sent to team {done.team.name}."
        done = entitlements.entitlement_refuse(number=number, words=words, by=by, now=now)
        return f"The request of team {done.team.name} is refused. It was notified."


class RevokeEntitlementForm(Form):
    """Revokes an entitlement, with a reason."""

    words = TextField("Reason (the team reads it)", max_length=entitlements.MAX_CHARACTERS, rows=3)

    def save(self, *, number: int, by: User) -> str:
        """Revoke the entitlement."""
        done = entitlements.entitlement_revoke(number=number, words=self.cleaned_data["words"], by=by, now=domain_now())
        return f"The entitlement of team {done.team.name} is revoked. It was notified."
