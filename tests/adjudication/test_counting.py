"""What votes decide (R19): the most, and on a tie things stay as they are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudication.counting import CHOICES, ON_A_TIE, Ballot, agrees, decided_by, is_tie
from adjudication.enums import CaseKind, VoteChoice

UP, MORE = Ballot(VoteChoice.UPHOLD), Ballot(VoteChoice.MORE_TASKERS)
BIRD = Ballot(VoteChoice.OVERRULE, label="bird")
HIDDEN = Ballot(VoteChoice.OVERRULE, reasons=("occluded",))
SMALL = Ballot(VoteChoice.OVERRULE, reasons=("too_small",))
BOTH = Ballot(VoteChoice.OVERRULE, reasons=("too_small", "occluded"))
YES, NO = Ballot(VoteChoice.IN_FAVOUR), Ballot(VoteChoice.AGAINST)


@pytest.mark.parametrize(
    ("ballots", "decides", "why"),
    [
        ([], UP, "nobody voted: the ruling holds"),
        ([BIRD], BIRD, "one vote, one outcome"),
        ([UP, BIRD], UP, "a tie upholds"),
        ([MORE, BIRD], UP, "a tie upholds, also where nobody is for it"),
        ([MORE, MORE, BIRD], MORE, "the most"),
        ([HIDDEN, SMALL], BOTH, "both reject it: the reasons are put together, in the order of the rules"),
        ([HIDDEN, SMALL, UP], BOTH, "two reject it, one upholds"),
        ([HIDDEN, SMALL, BIRD, BIRD, BIRD], BIRD, "three are more than two"),
        ([HIDDEN, HIDDEN, UP, UP], UP, "two and two is a tie"),
        ([HIDDEN, HIDDEN, UP, MORE], HIDDEN, "two are more than either one"),
        ([BIRD, BIRD, HIDDEN, HIDDEN, UP], UP, "a tie between two overrules upholds as well"),
    ],
)
def test_a_picture(ballots: list[Ballot], decides: Ballot, why: str) -> None:
    assert decided_by(ballots, CaseKind.PICTURE) == decides, why


@pytest.mark.parametrize(
    ("ballots", "decides", "why"),
    [
        ([], NO, "nobody voted: nothing changes"),
        ([YES, YES], YES, "all are for it"),
        ([YES, NO], NO, "a tie drops the motion"),
        ([YES, YES, NO], YES, "two of three"),
        ([YES, NO, NO], NO, "two of three against"),
    ],
)
def test_a_motion(ballots: list[Ballot], decides: Ballot, why: str) -> None:
    assert decided_by(ballots, CaseKind.MOTION) == decides, why


@given(st.lists(st.sampled_from([UP, MORE, BIRD, HIDDEN, SMALL])))
def test_what_is_decided_has_more_votes_than_anything_else_or_is_the_tie(ballots: list[Ballot]) -> None:
    decides = decided_by(ballots, CaseKind.PICTURE)
    votes = sum(agrees(each, decides) for each in ballots)
    rivals = [sum(agrees(each, other) for each in ballots) for other in ballots if not agrees(other, decides)]
    assert is_tie(ballots) or not ballots or all(votes > each for each in rivals)
    assert not is_tie(ballots) or decides == ON_A_TIE[CaseKind.PICTURE]
    named = {reason for each in ballots for reason in each.reasons if agrees(each, decides)}
    assert set(decides.reasons) == named
    assert decided_by(ballots[::-1], CaseKind.PICTURE) == decides, "the order of voting decides nothing"


def test_each_kind_has_its_own_choices() -> None:
    assert not set(CHOICES[CaseKind.PICTURE]) & set(CHOICES[CaseKind.MOTION])
    assert set(CHOICES[CaseKind.PICTURE]) | set(CHOICES[CaseKind.MOTION]) == set(VoteChoice)
