"""Forms about board members' conflicts of interest (R21). `save` returns the message that the page shows."""

from collections.abc import Iterable, Mapping
from datetime import date, datetime, time
from zoneinfo import ZoneInfo

from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction

from common.domain_clock import domain_now
from common.errors import NotFound
from common.web.forms import Form, RowForm, RowNumberField, TextField
from contest.board.conflicts import (
    MAX_DISCLOSURE_CHARACTERS,
    conflict_declare,
    conflict_dismiss,
    conflict_end,
    conflicts_find,
    declare_ties,
)
from contest.board.models import Affiliations
from contest.board.selectors import cases_not_closed, conflicts_of
from contest.core.conflicts import board_members
from contest.core.enums import ConflictKind
from contest.core.models import ConflictOfInterest, Team
from contest.core.teams import team_called
from policy.selectors import policy_in_force

MAX_NAME_CHARACTERS = 80
MAX_LIST_CHARACTERS = 20_000
KIND_WORDS: Mapping[ConflictKind, str] = {
    ConflictKind.COAUTHOR: "co-author",
    ConflictKind.INSTITUTION: "same institution",
    ConflictKind.ADVISOR: "advisor or advisee",
    ConflictKind.MEMBER: "was in the team",
    ConflictKind.OTHER: "other",
}
# Kinds that a member may declare; former membership in a team is detected instead.
DECLARED: Mapping[ConflictKind, str] = {
    ConflictKind.COAUTHOR: "We wrote a recent paper together",
    ConflictKind.INSTITUTION: "We are of one institution",
    ConflictKind.ADVISOR: "One of us advised the other",
    ConflictKind.OTHER: "Something else",
}
_NO_KIND = "Choose the kind of conflict."
_NO_MEMBER = "Choose a member of the review board."
_WRONG_DAY = "Give a day as in 2026-11-20, or leave it empty."
OWN_WORDS = "In words, if you like (organizers alone read them)"


class DeclareConflictForm(Form):
    """A member declares a conflict with a team."""

    team = TextField("Team, by its name or ID", max_length=MAX_NAME_CHARACTERS)
    kind = forms.ChoiceField(
        label="Kind of conflict",
        choices=[("", "Choose"), *((str(kind), words) for kind, words in DECLARED.items())],
        error_messages={"required": _NO_KIND, "invalid_choice": _NO_KIND},
    )
    since = forms.DateField(
        label="Since which day (empty: from now on)",
        required=False,
        input_formats=["%Y-%m-%d"],
        widget=forms.DateInput({"type": "date"}, format="%Y-%m-%d"),
        error_messages={"invalid": _WRONG_DAY},
    )
    words = TextField(OWN_WORDS, max_length=MAX_DISCLOSURE_CHARACTERS, rows=2, required=False)

    def clean_team(self) -> Team:
        """Return the team."""
        team = team_called(self.cleaned_data["team"])
        if team is None:
            raise ValidationError("There is no team of this name or ID. The teams page lists them.", "invalid")
        return team

    def save(self, *, member: User) -> str:
        """Declare it for the member who sent the form."""
        before = cases_not_closed(member)
        made = self.declare(member, by=member)
        return f"The conflict with team {made.team.name} is on record. {_closed_words(before, member)}"

    def declare(self, member: User, *, by: User) -> ConflictOfInterest:
        """Record the conflict."""
        now, data = domain_now(), self.cleaned_data
        return conflict_declare(
            member=member,
            team=data["team"],
            kind=ConflictKind(data["kind"]),
            since=_begin_of(data["since"], now) if data["since"] else now,
            words=data["words"],
            by=by,
            now=now,
        )


def _begin_of(day: date, now: datetime) -> datetime:
    return datetime.combine(day, time.min, ZoneInfo(policy_in_force(now).policy.time_zone))


class DeclareForMemberForm(DeclareConflictForm):
    """An organizer declares another member's conflict with a team."""

    field_order = ["member", "team"]
    member = forms.ModelChoiceField(
        label="Member of the board",
        queryset=board_members(),
        to_field_name="username",
        empty_label="Choose",
        error_messages={"required": _NO_MEMBER, "invalid_choice": _NO_MEMBER},
    )
    kind = forms.ChoiceField(
        label="Kind of conflict",
        choices=[("", "Choose"), *((str(kind), KIND_WORDS[kind].capitalize()) for kind in DECLARED)],
        error_messages={"required": _NO_KIND, "invalid_choice": _NO_KIND},
    )

    def save(self, *, by: User) -> str:  # type: ignore[override]  # for another member
        """Declare it."""
        made = self.declare(self.cleaned_data["member"], by=by)
        return f"The conflict of {made.member.get_username()} with team {made.team.name} is on record."


class EndOwnConflictForm(RowForm):
    """A member ends a conflict of their own."""

    keys = ("conflict",)
    conflict = RowNumberField()
    reason = TextField("Why it is over", max_length=MAX_DISCLOSURE_CHARACTERS, rows=2)

    def save(self, *, by: User) -> str:
        """End it; NotFound for a conflict of another member."""
        if not conflicts_of(by).filter(pk=self.cleaned_data["conflict"]).exists():
            raise NotFound("There is no such conflict of yours.", "not_found")
        ended = self.end(by)
        return (
            f"The conflict with team {ended.team.name} is over. Cases that were open while it held stay closed to you."
        )

    def end(self, by: User) -> ConflictOfInterest:
        """Record the end."""
        return conflict_end(
            conflict_id=self.cleaned_data["conflict"], reason=self.cleaned_data["reason"], by=by, now=domain_now()
        )


class EndConflictForm(EndOwnConflictForm):
    """An organizer ends a member's declared conflict."""

    def save(self, *, by: User) -> str:
        """End it."""
        ended = self.end(by)
        return f"The conflict of {ended.member.get_username()} with team {ended.team.name} is over."


class DismissConflictForm(EndOwnConflictForm):
    """An organizer dismisses a detected conflict."""

    reason = TextField("Reason", max_length=MAX_DISCLOSURE_CHARACTERS, rows=2)

    def save(self, *, by: User) -> str:
        """Dismiss it."""
        found = conflict_dismiss(
            conflict_id=self.cleaned_data["conflict"], reason=self.cleaned_data["reason"], by=by, now=domain_now()
        )
        return f"The conflict of {found.member.get_username()} with team {found.team.name} is dismissed."


class TiesForm(Form):
    """A member's affiliations, one entry per line: institutions, co-authors, papers."""

    domains = TextField(
        "Domains of your institutions, one a line",
        max_length=MAX_LIST_CHARACTERS,
        rows=3,
        required=False,
        placeholder="example.edu",
    )
    people = TextField(
        "E-mail addresses of recent co-authors, advisors and advisees, one a line",
        max_length=MAX_LIST_CHARACTERS,
        rows=4,
        required=False,
        placeholder="name@example.edu",
    )
    papers = TextField(
        "arXiv IDs of your recent papers, one a line",
        max_length=MAX_LIST_CHARACTERS,
        rows=3,
        required=False,
        placeholder="1809.08352",
    )

    @staticmethod
    def initial_of(ties: Affiliations | None) -> dict[str, str]:
        """Return the initial values."""
        return {name: "\n".join(getattr(ties, name, ())) for name in TiesForm.base_fields}

    def save(self, *, member: User) -> str:
        """Save the lists, and record the conflicts that follow from them."""
        now, before = domain_now(), cases_not_closed(member)
        with transaction.atomic():
            declare_ties(member=member, now=now, **{name: _lines(self.cleaned_data[name]) for name in self.fields})
            known = set(conflicts_of(member).values_list("pk", flat=True))
            conflicts_find(now=now)
            new = conflicts_of(member).exclude(pk__in=known).select_related("team")
            names = sorted({each.team.name for each in new})
        if not names:
            return "Recorded. It is a conflict with no present team; new teams are compared with it."
        return f"Recorded. It is a conflict with {', '.join(names)}. {_closed_words(before, member)}"


def _lines(typed: str) -> Iterable[str]:
    return [each.strip() for each in typed.replace(",", "\n").splitlines() if each.strip()]


def _closed_words(before: set[int], member: User) -> str:
    """Say in words how many of the open cases `before` the member can no longer see."""
    closed = len(before - cases_not_closed(member))
    if not closed:
        return "No case that is open to you is about this team; future ones will be closed to you."
    return f"{closed} open {'case is' if closed == 1 else 'cases are'} closed to you now, and future ones will be."
