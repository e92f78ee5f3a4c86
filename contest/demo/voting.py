"""Votes of the demo's and the simulation's board members."""

from datetime import datetime

from contest.board.cases import count_of, disclose, vote_cast
from contest.board.decisions import case_decide
from contest.board.models import CaseDecision
from contest.board.recusal import judges_for, undisclosed
from contest.core.enums import VoteChoice
from contest.core.models import Case


def vote_through(case: Case, *, now: datetime, choice: VoteChoice = VoteChoice.IN_FAVOUR) -> CaseDecision:
    """Let members who may judge a case vote, in their order, until there is a quorum; the last one confirms.

    Raises errors as `case_decide` does: without members enough there is no quorum.
    """
    last = case.opened_by
    for member in judges_for(case):
        if count_of(case).is_enough:
            break
        if member != case.opened_by:
            disclose(case=case, teams=[team.public_id for team in undisclosed(case, member)], by=member, now=now)
            vote_cast(case=case, by=member, choice=choice, now=now)
            last = member
    assert last is not None, "somebody votes"
    return case_decide(case=case, seen=count_of(case).mark, explanation="", by=last, now=now)
