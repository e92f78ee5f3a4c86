"""Builds the public form of the board's decisions on cases, without names of members (R20, R21)."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from adjudication.counting import OUTCOMES, Ballot
from adjudication.enums import Verdict
from adjudication.wording import verdict_words
from contest.board.case_messages import OUTCOME_WORDS
from contest.board.cases import VoteCount, count_fields
from contest.board.models import CaseDecision
from contest.core.enums import CaseOutcome, VoteChoice

CHOICE_WORDS: Mapping[VoteChoice, str] = {
    VoteChoice.UPHOLD: "uphold",
    VoteChoice.MORE_TASKERS: "more taskers",
    VoteChoice.OVERRULE: "overrule",
    VoteChoice.IN_FAVOUR: "in favour",
    VoteChoice.AGAINST: "against",
}


def ballot_words(ballot: Ballot) -> str:
    """Return what a vote is for, in words."""
    words = CHOICE_WORDS[ballot.choice]
    if ballot.choice is not VoteChoice.OVERRULE:
        return words
    verdict = Verdict.VALID if ballot.label else Verdict.REJECTED
    return f"{words} ({verdict_words(verdict, ballot.label, ballot.reasons)})"


@dataclass(frozen=True, slots=True)
class PublicRemark:
    """Words that one member, or several, publish with their vote. `repeated`: the explanation has the same words, so
    pages leave them out here."""

    vote: str
    words: str
    dissent: bool
    repeated: bool
    members: int

    @property
    def who(self) -> str:
        """Return who publishes it, in words."""
        dissenting = "dissenting " if self.dissent else ""
        who = f"{self.members} {dissenting}members" if self.members > 1 else f"A {dissenting}member"
        return f"{who}," if self.dissent else who


@dataclass(frozen=True, slots=True)
class PublicDecision:
    """A decision as the public pages show it, without names of members."""

    outcome_words: str
    verdict: str
    explanation: str
    tally: tuple[tuple[str, int], ...]
    remarks: tuple[PublicRemark, ...]
    quorum: int
    recused: int
    decided_at: datetime | None


def public_decision(decision: CaseDecision) -> PublicDecision:
    """Return a decision in its public form."""
    by_dissent = sorted(decision.votes, key=lambda vote: vote["dissent"])
    texts = Counter((_vote_words(vote), vote["words"], vote["dissent"]) for vote in by_dissent if vote["words"])
    label, reasons, verdict = decision.label, decision.reasons, ""
    if label or reasons:
        verdict = verdict_words(Verdict.VALID if label else Verdict.REJECTED, label, reasons)
    return PublicDecision(
        outcome_words=OUTCOME_WORDS[CaseOutcome(decision.outcome)],
        verdict=verdict,
        explanation=decision.explanation,
        tally=tuple(Counter(map(_vote_words, decision.votes)).items()),
        remarks=tuple(PublicRemark(*said, said[1] in decision.explanation, members) for said, members in texts.items()),
        quorum=decision.quorum,
        recused=decision.recused,
        decided_at=decision.decided_at,
    )


def decision_to_come(count: VoteCount, explanation: str) -> PublicDecision:
    """Return the public form of the decision if the present votes were confirmed with this explanation."""
    decides = count.decides
    told = {"label": decides.label, "reasons": list(decides.reasons), "explanation": explanation}
    return public_decision(CaseDecision(outcome=OUTCOMES[decides.choice], **told, **count_fields(count)))


def _vote_words(vote: Mapping[str, Any]) -> str:
    return ballot_words(Ballot(VoteChoice(vote["choice"]), vote["label"], tuple(vote["reasons"])))
