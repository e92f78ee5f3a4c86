"""Everything that the board decides beside pictures: moved, voted on, and done once most are for it (R21)."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

import pytest
from django.contrib.auth.models import User
from django.http import Http404

from common.errors import DomainError, InvalidInput
from contest.board import carriers, moves
from contest.board.cases import count_of, disclose, vote_cast
from contest.board.deciding import case_decide
from contest.board.motions import motion_drop, motions_open
from contest.board.moved import moved_for
from contest.board.recusal import cases_seen_by, teams_stepped_aside_for
from contest.enums import AccountKind, CaseOutcome, CaseState, DecisionKind, VoteChoice
from contest.models import Award, BoardDecision, Case, CaseDecision, Conflict, Stake
from contest.money.ledger import account, check
from labeling.models import PolicyVersion
from labeling.policy import Policy
from tests import factories
from tests.contest.awards.test_awards import run_again
from tests.contest.board.motions import GIFT, MOTIONS, NOW, REASON, Motion, awarding, granting, staking, withholding
from tests.contest.money import cast
from tests.contest.money.cast import BEFORE
from tests.factories import carried, confirmed, voted

pytestmark = pytest.mark.django_db
AGAINST, NOBODY = VoteChoice.AGAINST, "not_on_board"


@pytest.fixture(autouse=True)
def nothing_is_lost(db: None) -> object:
    yield
    assert check().wrong == ()


@dataclass
class Board:
    """Rita, who moves, and two other members; an organizer and a stranger."""

    rita: User
    ron: User
    ruth: User
    olga: User
    stan: User


@pytest.fixture
def board(rita: User, ron: User, ruth: User, olga: User, stan: User) -> Board:
    factories.policy_version()
    return Board(rita, ron, ruth, olga, stan)


def steps_aside(member: User, motion: Motion) -> Conflict:
    return Conflict.objects.create(member=member, team=motion.team, kind="other", since=BEFORE, declared_at=BEFORE)


def newest() -> int:
    return BoardDecision.objects.order_by("-pk").values_list("pk", flat=True).first() or 0


def refused_as(act: Callable[[], object]) -> str:
    with pytest.raises(DomainError) as refused:
        act()
    return refused.value.code


def test_every_kind_is_carried_out_and_checked_without_doing_it() -> None:
    assert carriers.CHECKS.keys() == carriers.CARRIERS.keys() == set(DecisionKind)


# What may happen to a motion that rita made: to each kind, and to two kinds for all. ----------------------------------


def what_is_carried_is_done_with_its_decision(motion: Motion, case: Case, board: Board) -> None:
    assert not motion.done() and not BoardDecision.objects.filter(case=case).exists(), "moving alone changes nothing"
    assert (case.state, case.motion, case.opened_by, case.opened_at) == (CaseState.OPEN, motion.kind, board.rita, NOW)
    assert list(case.parties.values_list("team", "role")) == [(motion.team.pk, "concerned")]
    assert [(vote.member, vote.choice) for vote in count_of(case).votes] == [(board.rita, VoteChoice.IN_FAVOUR)]
    decided = carried(case, board.ron, NOW)
    assert motion.done()
    made = BoardDecision.objects.get(case=case)
    assert (made.kind, dict(made.subject), dict(made.details)) == (motion.kind, motion.subject, motion.details)
    assert (made.reason, made.decided_by, made.decided_at) == (case.reason, board.ron, NOW)
    assert (decided.outcome, len(decided.votes), decided.quorum) == (CaseOutcome.CARRIED, 2, 2)
    assert refused_as(lambda: confirmed(case, board.ron, NOW)) == "decided" and motion.done()


def what_cannot_be_done_any_more_is_refused_and_stays_open(motion: Motion, case: Case, board: Board) -> None:
    voted(case, board.ron, NOW)
    motion.spoil()
    before = newest()
    assert refused_as(lambda: confirmed(case, board.ron, NOW)) == motion.refused
    assert newest() == before and Case.objects.get(pk=case.pk).state == CaseState.OPEN
    board.ruth.groups.clear()
    voted(case, board.ron, NOW, AGAINST)
    assert confirmed(case, board.rita, NOW).outcome == CaseOutcome.LOST, "it is closed by votes against it"
    assert refused_as(lambda: motion.move(board.rita)) == motion.refused, "nor moved again"


def the_same_is_not_moved_twice(motion: Motion, case: Case, board: Board) -> None:
    for member, code in ((board.rita, "moved"), (board.ron, "moved"), (board.olga, NOBODY), (board.stan, NOBODY)):
        assert refused_as(partial(motion.move, member)) == code
    assert list(motions_open()) == [case]


def who_steps_aside_neither_moves_nor_sees_nor_votes(motion: Motion, case: Case, board: Board) -> None:
    ron, ruth = board.ron, board.ruth
    steps_aside(ron, motion)
    assert refused_as(lambda: motion.move(ron)) == "recused", "nor is told that it is moved"
    assert not cases_seen_by(ron).filter(pk=case.pk).exists() and moved_for(ron) == []
    assert [each.case for each in moved_for(ruth)] == [case]
    for act in (
        lambda: disclose(case=case, teams=[motion.team.public_id], by=ron, now=NOW),
        lambda: vote_cast(case=case, by=ron, choice=AGAINST, now=NOW),
        lambda: case_decide(case=case, seen=count_of(case).mark, explanation="", by=ron, now=NOW),
        lambda: motion_drop(case=case, by=ron, now=NOW),
    ):
        with pytest.raises(Http404):
            act()
    carried(case, ruth, NOW)
    assert motion.done() and CaseDecision.objects.get(case=case).recused == 1


def a_tie_changes_nothing(motion: Motion, case: Case, board: Board) -> None:
    assert refused_as(lambda: confirmed(case, board.rita, NOW)) == "no_quorum", "one vote is none"
    board.ruth.groups.clear()  # of two members, both of whom voted
    assert confirmed(voted(case, board.ron, NOW, AGAINST), board.ron, NOW).outcome == CaseOutcome.LOST
    assert not motion.done()


def what_is_lost_changes_nothing_and_may_be_moved_again(motion: Motion, case: Case, board: Board) -> None:
    before = newest()
    for member in (board.ron, board.ruth):
        voted(case, member, NOW, AGAINST)
    assert confirmed(case, board.rita, NOW).outcome == CaseOutcome.LOST
    assert not motion.done() and newest() == before
    carried(motion.move(board.ruth), board.ron, NOW)
    assert motion.done()


def a_vote_counts_no_more_when_its_member_steps_aside(motion: Motion, case: Case, board: Board) -> None:
    voted(case, board.ron, NOW)
    steps_aside(board.rita, motion)
    assert refused_as(lambda: confirmed(case, board.ron, NOW)) == "no_quorum"
    carried(case, board.ruth, NOW)
    assert motion.done()


def who_moved_it_drops_it(motion: Motion, case: Case, board: Board) -> None:
    rita, ron = board.rita, board.ron
    voted(case, ron, NOW)
    assert refused_as(lambda: motion_drop(case=case, by=ron, now=NOW)) == "not_yours"
    assert motion_drop(case=case, by=rita, now=NOW).outcome == CaseOutcome.DROPPED
    assert not motion.done() and refused_as(lambda: confirmed(case, ron, NOW)) == "decided"
    carried(motion.move(ron), rita, NOW)
    assert motion.done()


def who_did_not_vote_confirms_nothing(motion: Motion, case: Case, board: Board) -> None:
    voted(case, board.ron, NOW)
    disclose(case=case, teams=[motion.team.public_id], by=board.ruth, now=NOW)
    assert refused_as(lambda: confirmed(case, board.ruth, NOW)) == "no_vote"


EACH_KIND = [
    what_is_carried_is_done_with_its_decision,
    what_cannot_be_done_any_more_is_refused_and_stays_open,
    the_same_is_not_moved_twice,
]
ALL_KINDS_ALIKE = [
    who_steps_aside_neither_moves_nor_sees_nor_votes,
    a_tie_changes_nothing,
    what_is_lost_changes_nothing_and_may_be_moved_again,
    a_vote_counts_no_more_when_its_member_steps_aside,
    who_moved_it_drops_it,
    who_did_not_vote_confirms_nothing,
]
PAIRS = [(make, history) for make in MOTIONS for history in EACH_KIND]
PAIRS += [(make, history) for make in (granting, withholding) for history in ALL_KINDS_ALIKE]


@pytest.mark.parametrize(("make", "history"), PAIRS, ids=[f"{row[0].__name__}-{row[1].__name__}" for row in PAIRS])
def test_what_may_happen_to_a_motion(
    make: Callable[[User, User], Motion], history: Callable[[Motion, Case, Board], None], board: Board
) -> None:
    motion = make(board.rita, board.olga)
    history(motion, motion.move(board.rita), board)


# What is particular ---------------------------------------------------------------------------------------------------


def test_a_conflict_that_is_over_lets_a_member_move(rita: User, ron: User, olga: User) -> None:
    motion = granting(rita, olga)
    row = steps_aside(rita, motion)
    assert teams_stepped_aside_for(rita, now=NOW) == {motion.team.pk}
    assert refused_as(lambda: motion.move(rita)) == "recused" and not Case.objects.exists()
    Conflict.objects.filter(pk=row.pk).update(until=NOW)
    assert teams_stepped_aside_for(rita, now=NOW) == set()
    assert teams_stepped_aside_for(rita, now=NOW - timedelta(seconds=1)) == {motion.team.pk}
    carried(motion.move(rita), ron, NOW)
    assert motion.done()


def test_teams_that_were_merged_are_stepped_aside_for_together(rita: User, olga: User) -> None:
    motion = granting(rita, olga)
    into = cast.team("whole")
    steps_aside(rita, motion)
    type(into).objects.filter(pk=motion.team.pk).update(merged_into=into, merged_at=BEFORE)
    assert teams_stepped_aside_for(rita, now=NOW) == {motion.team.pk, into.pk}


def test_a_motion_about_several_teams_is_seen_by_who_steps_aside_for_none(rita: User, ron: User, olga: User) -> None:
    motion = staking(rita, olga)
    other = cast.defense("other", cast.team("others"))
    steps_aside(ron, motion)
    mine = next(iter(motion.subject["defense"]))
    both = [*type(other).objects.filter(pk=mine), other]
    assert refused_as(lambda: moves.stakes_move(both, "c", REASON, by=ron, now=NOW)) == "recused"
    moves.stakes_move(both, "c", REASON, by=rita, now=NOW)
    assert moved_for(ron) == []
    assert moves.stakes_move([other], "c", REASON, by=ron, now=NOW).opened_by == ron, "the other one alone"


def test_an_award_that_others_would_share_by_now_is_refused(rita: User, ron: User, olga: User) -> None:
    """Who votes for an award votes for those that share it: another one is another motion, with parties of its own."""
    cast.deposit(GIFT, olga)
    batch = cast.batch()
    stake = cast.staked(cast.defense("net", cast.team("makers")), of=batch)
    late = cast.staked(cast.defense("late", cast.team("others")), of=batch, at=cast.MONDAY + timedelta(days=40))
    for each in (stake, late):
        run_again(each)
    case = moves.award_move(stake, statement="It stood.", reason=REASON, by=rita, now=NOW)
    voted(case, ron, NOW)
    later = NOW + timedelta(days=30)
    assert refused_as(lambda: confirmed(case, ron, later)) == "others_share"
    assert not Award.objects.exists() and not Stake.objects.exclude(ended_at=None).exists()
    motion_drop(case=case, by=rita, now=later)
    carried(moves.award_move(late, statement="They stood.", reason=REASON, by=rita, now=later), ron, later)
    assert Award.objects.count() == 2


REASONS = [
    (" \n", "invalid", "none that could be read"),
    ("\x00", "invalid", "nor here"),
    ("They are a lab of one university. " * 200, "invalid", "more than anybody reads"),
    ("x", "says_too_little", "a letter"),
    ("ok ok ok ok ok ok ok ok", "says_too_little", "one word over and over"),
    ("They are a labs now", "says_too_little", "one character less than is asked for"),
    ("Extraordinarily well deserved", "says_too_little", "three words"),
]


def test_a_reason_that_says_something_is_asked_for_at_once(rita: User) -> None:
    lab = cast.team("lab")
    for reason, code, why in REASONS:
        with pytest.raises(InvalidInput) as refused:
            moves.grant_move(lab, reason=reason, by=rita, now=NOW)
        assert (refused.value.field, refused.value.code) == ("reason", code), why
    assert not Case.objects.exists()
    assert moves.grant_move(lab, reason="It is a lab of Graz.", by=rita, now=NOW).reason, "short, and enough"


def test_what_is_nobodys_is_not_withheld(rita: User) -> None:
    with pytest.raises(InvalidInput):
        moves.withhold_move(account(AccountKind.DEFENDERS), 1, reason=REASON, by=rita, now=NOW)
    assert not Case.objects.exists()


def test_the_policy_says_how_many_votes_it_takes(rita: User, ron: User, ruth: User, olga: User) -> None:
    motion = awarding(rita, olga)
    case = voted(motion.move(rita), ron, NOW)
    three = {"version": 9, "numbers": Policy(board_quorum=3).to_json(), "in_force_from": NOW, "reason": "Three votes."}
    Case.objects.filter(pk=case.pk).update(policy=PolicyVersion.objects.create(**three))
    assert refused_as(lambda: confirmed(case, ron, NOW)) == "no_quorum"
    carried(case, ruth, NOW)
    assert motion.done() and CaseDecision.objects.get(case=case).quorum == 3
