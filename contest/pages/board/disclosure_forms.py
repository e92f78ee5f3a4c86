"""Form in which a board member discloses conflicts with a case's teams before the case opens (R21)."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction

from common.database.deadlocks import retry_on_deadlock
from common.domain_clock import domain_now
from common.web.forms import Form, TextField
from contest.board.cases import disclose
from contest.board.conflicts import MAX_DISCLOSURE_CHARACTERS, conflict_declare
from contest.board.recusal import teams_of_case, undisclosed
from contest.board.selectors import parties_of
from contest.core.enums import ConflictKind, PartyRole
from contest.core.models import Case, Team
from contest.core.teams import final_team
from contest.pages.board.conflict_forms import DECLARED, OWN_WORDS

ROLE_WORDS: Mapping[PartyRole, str] = {
    PartyRole.SENDER: "sent the picture",
    PartyRole.DEFENDER: "has a defense that the picture meets",
    PartyRole.APPELLANT: "appealed",
    PartyRole.CONCERNED: "is who the motion is about",
}
NO_TIE, ASIDE = "none", "aside"
_CHOOSE = "Choose one of the two for this team."
_CHOOSE_KIND = "Choose the kind of conflict."


class TieForm(Form):
    """A member's conflict with one team. Its fields are named after the team: `tie-T-0000`."""

    tie = forms.ChoiceField(
        label="Your answer",
        choices=[(NO_TIE, "No conflict with this team"), (ASIDE, "I step aside")],
        widget=forms.RadioSelect,
        error_messages={"required": _CHOOSE, "invalid_choice": _CHOOSE},
    )
    kind = forms.ChoiceField(
        label="Kind of conflict",
        choices=[("", "Choose"), *((str(kind), words) for kind, words in DECLARED.items())],
        required=False,
        error_messages={"invalid_choice": _CHOOSE_KIND},
    )
    words = TextField(OWN_WORDS, max_length=MAX_DISCLOSURE_CHARACTERS, rows=2, required=False)

    def __init__(self, *arguments: Any, team: Team, role: str, **named: Any) -> None:
        super().__init__(*arguments, prefix=team.public_id, **named)
        self.team, self.role = team, role

    def add_prefix(self, field_name: str) -> str:
        """Return the name of a field in the page."""
        return f"{field_name}-{self.prefix}"

    @property
    def steps_aside(self) -> bool:
        """Say whether the member steps aside for the team."""
        return bool(self.cleaned_data.get("tie") == ASIDE)

    def clean(self) -> None:
        """Refuse a form that steps aside without a reason."""
        if self.steps_aside and not self.cleaned_data.get("kind") and "kind" not in self.errors:
            self.add_error("kind", _CHOOSE_KIND)


class DisclosureForm(Form):
    """A member's conflicts with each team of a case that has no disclosure yet."""

    def __init__(self, *arguments: Any, case: Case, member: User, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.case, self.member = case, member
        # The first reason for which a team is part of the case comes last, and so is kept.
        roles = {final_team(each.team).pk: ROLE_WORDS[PartyRole(each.role)] for each in parties_of(case)}
        data = self.data if self.is_bound else None
        asked = undisclosed(case, member)
        self.teams = [TieForm(data, team=team, role=roles[team.pk]) for team in asked]
        self.answered = [team for team in teams_of_case(case) if team not in asked]

    def clean(self) -> None:
        """Refuse the form while one answer is missing."""
        wrong = [each for each in self.teams if not each.is_valid()]
        if wrong:
            raise ValidationError("Nothing was recorded. Correct what is marked.", "invalid")

    @retry_on_deadlock
    @transaction.atomic
    def save(self) -> str:
        """Record the answers; return whether the member steps aside from the case, ASIDE or NO_TIE."""
        now, aside = domain_now(), [each for each in self.teams if each.steps_aside]
        for each in aside:
            kind, words = ConflictKind(each.cleaned_data["kind"]), each.cleaned_data["words"]
            conflict_declare(
                member=self.member, team=each.team, kind=kind, since=now, words=words, by=self.member, now=now
            )
        if not aside:
            disclose(case=self.case, teams=[each.team.public_id for each in self.teams], by=self.member, now=now)
        return ASIDE if aside else NO_TIE
