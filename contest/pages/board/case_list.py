"""Rows of the board's list of cases, limited to what one member may see (R21)."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User

from contest.board.case_messages import OUTCOME_WORDS, describe_case
from contest.board.public_decisions import CHOICE_WORDS
from contest.board.recusal import cases_undisclosed
from contest.core.enums import CaseOutcome, CaseState, VoteChoice
from contest.core.models import Case


@dataclass(frozen=True, slots=True)
class CaseRow:
    """A case in the list. Its subject is visible once the member has stated no conflict with its teams."""

    case: Case
    disclosed: bool
    my_vote: str
    overdue: bool

    @property
    def about(self) -> str:
        """Return what the case is about."""
        if not self.disclosed:
            return "opens when you have stated whether you have a conflict of interest with its teams"
        return describe_case(self.case)

    @property
    def outcome(self) -> str:
        """Return the decision in words; empty before there is one."""
        decision = getattr(self.case, "decision", None)
        return OUTCOME_WORDS[CaseOutcome(decision.outcome)] if decision is not None and self.disclosed else ""


def case_rows(cases: Iterable[Case], member: User, *, now: datetime) -> list[CaseRow]:
    """Return cases of `cases_listed` as the list shows them."""
    shown = list(cases)
    closed = cases_undisclosed(shown, member)
    return [_row(case, case.pk not in closed, now) for case in shown]


def _row(case: Case, disclosed: bool, now: datetime) -> CaseRow:
    choice: str | None = case.my_choice  # type: ignore[attr-defined]  # annotated by cases_listed
    words = CHOICE_WORDS[VoteChoice(choice)] if choice else ""
    return CaseRow(case, disclosed, words, case.state == CaseState.OPEN and case.due_at <= now)
