"""Open motions for display on other pages, to board members who are not recused (R21)."""

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.urls import reverse

from contest.board.case_messages import describe_case
from contest.board.cases import count_of
from contest.board.motions import defenses_concerned, motions_open
from contest.board.recusal import cases_seen_by, quorum_of, undisclosed
from contest.core.decisions import rows_named
from contest.core.enums import DecisionKind
from contest.core.models import Case, Team


@dataclass(frozen=True, slots=True)
class OpenMotion:
    """An open motion: its subject, and how many of the votes that it needs were cast.

    `mine`: the reader moved it; `voted`: they have a vote on it. `open` is False until they declared no conflict with
    its teams: pages hide its subject before.
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
        """Return the kind of decision that the motion requests."""
        return DecisionKind(self.case.motion)

    @property
    def link(self) -> str:
        """Return the address at which members vote."""
        return reverse("board-case", args=[self.case.public_id])

    @property
    def words(self) -> str:
        """Return who moved what, how many voted, and what the reader may do at the link that follows."""
        if not self.open:
            return "A motion waits for you. First state any conflict of interest with its teams, at"
        if self.votes >= self.needed:
            next_step = "the count can be confirmed at"
        else:
            next_step = "others vote at" if self.mine or self.voted else "you vote at"
        what = describe_case(self.case)
        moved = f"Moved by {self._mover}, {self.votes} of {self.needed} votes"
        return f"{what[:1].upper()}{what[1:]}: {self.about}. {moved}; {next_step}"

    @property
    def _mover(self) -> str:
        if self.mine:
            return "you"
        return self.case.opened_by.get_username() if self.case.opened_by is not None else "an account that is gone"

    def names(self, table: str, row: int) -> bool:
        """Say whether the motion is about this row."""
        return row in self.case.subject.get(table, ())


def open_motions_for(member: User, *kinds: DecisionKind) -> list[OpenMotion]:
    """Return the open motions of these kinds that a member may judge, the oldest first."""
    rows = motions_open(*kinds) & cases_seen_by(member)
    return [_open_motion(each, member) for each in rows.select_related("policy", "opened_by")]


def _open_motion(case: Case, member: User) -> OpenMotion:
    votes = count_of(case).votes
    return OpenMotion(
        case=case,
        about=motion_subject(case),
        votes=len(votes),
        needed=quorum_of(case),
        mine=case.opened_by_id == member.pk,
        voted=any(vote.member_id == member.pk for vote in votes),
        open=not undisclosed(case, member),
    )


def motion_subject(case: Case) -> str:
    """Return the names of the subject of a motion, for members who may judge it."""
    teams = rows_named(case.subject, Team).order_by("pk")
    defenses = defenses_concerned(case.subject).order_by("name", "pk")
    return ", ".join([*(f"team {team.name}" for team in teams), *(each.name for each in defenses)])


def opened_words(case: Case) -> str:
    """Return the confirmation for a member who just opened a motion."""
    needed = quorum_of(case)
    votes = "your vote is enough" if needed == 1 else f"{needed} votes are needed, and yours is the first"
    return f"Moved as case {case.public_id}: {votes}. It is done when a member who voted confirms the count there."
