"""Votes as the board members of the demo and of the simulation, and prepares awards for the vote."""

from collections.abc import Sequence
from datetime import datetime

from django.contrib.auth.models import User

from adjudication.selectors import newest_rulings
from contest.board.cases import count_of, disclose, vote_cast
from contest.board.decisions import case_decide
from contest.board.examinations import picture_confirm, queue_of
from contest.board.models import CaseDecision
from contest.board.recusal import judges_for, undisclosed
from contest.core.enums import VoteChoice
from contest.core.models import Case, Stake
from contest.prizes.awards import rerun_begin
from contest.prizes.checklist import own_conditions
from contest.prizes.conditions import reruns_after
from policy.numbers import Policy
from scoring.enums import RerunState
from scoring.reruns import progress, rerun_apply


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


def award_prepare(stake: Stake, *, policy: Policy, organizer: User, members: Sequence[User], now: datetime) -> int:
    """Prepare an award: re-run all attacks, and let members examine the rejected ones in turn (R37).

    Returns how many acts were done; 0 before its weeks and appeals are over.
    """
    met = {each.name: each.passed for each in own_conditions(stake, policy=policy, now=now)}
    if not (met["weeks"] and met["appeals"]):
        return 0
    return _run_again(stake, organizer, now) + _examine(stake, members, now)


def _run_again(stake: Stake, organizer: User, now: datetime) -> int:
    rerun = reruns_after(stake).first()
    if rerun is None:
        rerun_begin(stake=stake, by=organizer, now=now)
        return 1
    left = progress(rerun, now=now)
    if rerun.state != RerunState.RUNNING or left.waiting or left.running or left.stopped or left.dead:
        return 0
    rerun_apply(rerun_id=rerun.pk, by=organizer, now=now)
    return 1


def _examine(stake: Stake, members: Sequence[User], now: datetime) -> int:
    pictures = list(queue_of(stake.defense, members[0], now=now).mine)
    rulings = newest_rulings(each.pk for each in pictures)
    for number, image in enumerate(pictures):
        by, ruling = members[number % len(members)], rulings[image.pk].pk
        picture_confirm(image=image, defense=stake.defense, ruling=ruling, by=by, now=now)
    return len(pictures)
