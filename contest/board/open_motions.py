"""The open motions that a page beside the board's own shows: to members who do not step aside from them alone (R21)."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.urls import reverse

from contest.board.case_messages import what_of
from contest.board.cases import count_of
from contest.board.motions import motions_open
from contest.board.recusal import cases_seen_by, quorum_of, undisclosed
from contest.core.enums import DecisionKind
from contest.core.models import Award, Case, Team
from scoring.models import Defense


@dataclass(frozen=True, slots=True)
class Moved:
    """An open motion: what it is about, who moved it, and how many of the votes it needs are there.

    `mine` says that the member who looks moved it, `voted` that they have a vote on it. `open` is False until they
    said that nothing ties them to its teams: what it is about is not told before.
    """

    case: Case
    about: str
    votes: int
    needed: int
    mine: bool
    voted: bool
    open: bool

    @property
    def kind(self) -> DecisionKind:
        """Return what is moved."""
        return DecisionKind(self.case.motion)

    @property
    def what(self) -> str:
        """Return in words what is moved."""
        return what_of(self.case)

    @property
    def link(self) -> str:
        """Return the address at which members vote."""
        return reverse("board-case", args=[self.case.public_id])

    def names(self, table: str, row: int) -> bool:
        """Say whether the motion is about this row."""
        return row in self.case.subject.get(table, ())


def moved_for(member: User, *kinds: DecisionKind) -> list[Moved]:
    """Return the open motions of these kinds that a member may judge, the oldest first."""
    rows = motions_open(*kinds) & cases_seen_by(member)
    return [_moved(each, member) for each in rows.select_related("policy", "opened_by")]


def _moved(case: Case, member: User) -> Moved:
    votes = count_of(case).votes
    return Moved(
        case=case,
        about=about_of(case),
        votes=len(votes),
        needed=quorum_of(case),
        mine=case.opened_by_id == member.pk,
        voted=any(vote.member_id == member.pk for vote in votes),
        open=not undisclosed(case, member),
    )


def about_of(case: Case) -> str:
    """Return the names of what a motion is about, for members who may judge it."""
    subject = case.subject
    teams = list(Team.objects.filter(pk__in=subject.get("team", ())).order_by("pk"))
    names = [f"team {team.name}" for team in teams] + [each.name for each in _defenses(subject)]
    return ", ".join(names)


def _defenses(subject: dict[str, list[int]]) -> Iterable[Defense]:
    awarded = Award.objects.filter(pk__in=subject.get("award", ())).values("stake")
    stakes = Defense.objects.filter(stakes__in=[*subject.get("stake", ())]) | Defense.objects.filter(stakes__in=awarded)
    named = Defense.objects.filter(pk__in=subject.get("defense", ()))
    return (stakes | named).distinct().order_by("name", "pk")


def moved_words(case: Case) -> str:
    """Return what a member is told who just moved something."""
    needed = quorum_of(case)
    votes = "your vote is enough" if needed == 1 else f"{needed} votes are needed, and yours is the first"
    return f"Moved as case {case.public_id}: {votes}. It is done when a member who voted confirms the count there."
