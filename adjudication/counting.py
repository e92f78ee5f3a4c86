"""Counts the board's votes (R19): the option with the most votes wins, and a tie changes nothing.

Pure: standard library only. The board decides with it, and the verifier of a release counts the votes again.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from adjudication.enums import CaseKind, CaseOutcome, VoteChoice
from adjudication.rules import REASONS


@dataclass(frozen=True, slots=True)
class Ballot:
    """What a vote is for. All votes to reject a picture count together, whatever their reasons: reasons are combined,
    as those of taskers are (R15)."""

    choice: VoteChoice
    label: str = ""
    reasons: tuple[str, ...] = ()


# What a tie decides: the ruling holds, and a motion changes nothing.
ON_A_TIE = {CaseKind.PICTURE: Ballot(VoteChoice.UPHOLD), CaseKind.MOTION: Ballot(VoteChoice.AGAINST)}
CHOICES = {
    CaseKind.PICTURE: (VoteChoice.UPHOLD, VoteChoice.MORE_TASKERS, VoteChoice.OVERRULE),
    CaseKind.MOTION: (VoteChoice.IN_FAVOUR, VoteChoice.AGAINST),
}
OUTCOMES = {
    VoteChoice.UPHOLD: CaseOutcome.UPHOLD,
    VoteChoice.MORE_TASKERS: CaseOutcome.MORE_TASKERS,
    VoteChoice.OVERRULE: CaseOutcome.OVERRULE,
    VoteChoice.IN_FAVOUR: CaseOutcome.CARRIED,
    VoteChoice.AGAINST: CaseOutcome.LOST,
}


def decided_by(ballots: Sequence[Ballot], kind: CaseKind) -> Ballot:
    """Return what the votes decide: the option with more votes than every other option, `ON_A_TIE` without one.

    A rejection has every reason that a vote for it names, in the order of R15.
    """
    if not ballots or is_tie(ballots):
        return ON_A_TIE[kind]
    first = Counter(map(_counted_as, ballots)).most_common(1)[0][0]
    winning = [ballot for ballot in ballots if _counted_as(ballot) == first]
    named = {reason for ballot in winning for reason in ballot.reasons}
    return replace(winning[0], reasons=tuple(each.value for each in REASONS if each in named))


def is_tie(ballots: Sequence[Ballot]) -> bool:
    """Say whether several options share the most votes: then nothing changes (R19)."""
    counted = Counter(map(_counted_as, ballots)).most_common(2)
    return len(counted) == 2 and counted[0][1] == counted[1][1]


def agrees(ballot: Ballot, decided: Ballot) -> bool:
    """Say whether a vote was for the decision, even for other reasons; otherwise it dissents."""
    return _counted_as(ballot) == _counted_as(decided)


def _counted_as(ballot: Ballot) -> tuple[VoteChoice, str]:
    return ballot.choice, ballot.label
