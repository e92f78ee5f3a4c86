"""Builds the certificate of a ruling: each rule with the answers that pass or fail it (R13-R15).

It calls the function of the verdict itself, for all opinions and for each alone: the rules are implemented only once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from adjudication.enums import Reason
from adjudication.rules import REASONS, UNITS_PER_SQUARE_PIXEL, CountedOpinion, Decision, VerdictPolicy, adjudicate
from adjudication.wording import reason_name
from labeling.enums import Answer
from labeling.outline_gate import class_to_outline

QUESTIONS = ("bird", "bicycle", "outline", "complete", "unoccluded", "real")
# The rules that a picture has to meet, in the order of the reasons (R13, R15).
NEEDED: Mapping[Reason, str] = {
    Reason.UNCERTAIN: "Every tasker is sure of both questions",
    Reason.BOTH_CLASSES: "Every tasker excludes one class",
    Reason.NEITHER_CLASS: "No tasker excludes both classes",
    Reason.TASKERS_DISAGREE: "All are sure of the same class",
    Reason.NO_OUTLINE: "Everybody who was asked outlined the object",
    Reason.TOO_SMALL: "The smallest box is large enough",
    Reason.DEPICTION: "Everybody who was asked says that it is real",
    Reason.OCCLUDED: "Everybody who was asked says that it is not occluded",
    Reason.TRUNCATED: "Everybody who was asked says that it is complete",
}
_STATEMENT = {Reason.DEPICTION: "real", Reason.OCCLUDED: "unoccluded", Reason.TRUNCATED: "complete"}
_OF_THOSE_ASKED = (Reason.NO_OUTLINE, *_STATEMENT)
_UNSURE = (Answer.UNSURE_YES, Answer.UNSURE_NO)


@dataclass(frozen=True, slots=True)
class CertificateLine:
    """One rule: whether it is met, and the indexes (from 0 on) of the opinions that fail it. `note` says
    how the policy judges it, or that the question went to nobody."""

    reason: Reason
    rule: str
    needed: str
    met: bool
    whose: tuple[int, ...]
    note: str = ""

    @property
    def name(self) -> str:
        """Return the reason that it gives, as a word."""
        return reason_name(self.reason)


@dataclass(frozen=True, slots=True)
class Certificate:
    """The result of the answers. `cells` has the answers that fail a rule, by index of the opinion and question."""

    decision: Decision
    lines: tuple[CertificateLine, ...]
    cells: Mapping[tuple[int, str], tuple[Reason, ...]]


def certificate_of(
    opinions: Sequence[CountedOpinion], policy: VerdictPolicy, *, width: int, height: int
) -> Certificate:
    """Return the certificate of these opinions on a picture of this size; at least one."""
    decision = adjudicate(opinions, policy, width=width, height=height)
    alone = [set(adjudicate([each], policy, width=width, height=height).reasons) for each in opinions]
    lines = tuple(_line(reason, decision, alone, opinions, policy) for reason in REASONS)
    return Certificate(decision, lines, _cells(lines, opinions))


def _line(
    reason: Reason,
    decision: Decision,
    alone: Sequence[set[Reason]],
    opinions: Sequence[CountedOpinion],
    policy: VerdictPolicy,
) -> CertificateLine:
    met = reason not in decision.reasons
    # One opinion cannot disagree with itself: only this rule is about all opinions together.
    together = reason is Reason.TASKERS_DISAGREE and not met
    whose = tuple(place for place, reasons in enumerate(alone) if together or reason in reasons)
    rule = "R13, R14" if reason is Reason.TOO_SMALL else "R13"
    return CertificateLine(reason, rule, NEEDED[reason], met, whose, _note(reason, decision, opinions, policy))


def _note(reason: Reason, decision: Decision, opinions: Sequence[CountedOpinion], policy: VerdictPolicy) -> str:
    if reason is Reason.TASKERS_DISAGREE and Reason.UNCERTAIN in decision.reasons:
        return "Counts among taskers who are all sure."
    if reason is Reason.OCCLUDED and policy.occlusion_allowed:
        return "The policy of this panel allows it."
    if reason in _OF_THOSE_ASKED and not any(_is_asked_to_outline(each, policy) for each in opinions):
        return "Nobody was asked (R10)."
    if reason is Reason.TOO_SMALL:
        return _size_note(decision.smallest_box, policy.min_box_fraction)
    return ""


def _size_note(share: Fraction | None, least: Fraction) -> str:
    if share is None:
        return "Nobody outlined anything."
    return f"{percent(share)} of at least {percent(least)}."


def _is_asked_to_outline(opinion: CountedOpinion, policy: VerdictPolicy) -> bool:
    return class_to_outline(opinion.bird, opinion.bicycle, policy.outline_gate) is not None


def _cells(
    lines: Sequence[CertificateLine], opinions: Sequence[CountedOpinion]
) -> dict[tuple[int, str], tuple[Reason, ...]]:
    found: dict[tuple[int, str], tuple[Reason, ...]] = {}
    for line in lines:
        for place in line.whose if not line.met else ():
            for question in _questions(line.reason, opinions[place], opinions):
                found[place, question] = (*found.get((place, question), ()), line.reason)
    return found


def _questions(reason: Reason, opinion: CountedOpinion, opinions: Sequence[CountedOpinion]) -> tuple[str, ...]:
    """Return the questions whose answers make an opinion fail a rule."""
    if reason in (Reason.NO_OUTLINE, Reason.TOO_SMALL):
        return ("outline",)
    if reason in _STATEMENT:
        return (_STATEMENT[reason],)
    both = ("bird", "bicycle")
    if reason is Reason.UNCERTAIN:
        return tuple(each for each in both if getattr(opinion, each) in _UNSURE)
    if reason is Reason.TASKERS_DISAGREE:
        return tuple(each for each in both if len({getattr(other, each) for other in opinions}) > 1)
    return both


def box_fraction(opinion: CountedOpinion, *, width: int, height: int) -> Fraction | None:
    """Return the exact share of the picture that an opinion's box covers; None without a box."""
    return Fraction(opinion.box.area, width * height * UNITS_PER_SQUARE_PIXEL) if opinion.box else None


def percent(share: Fraction) -> str:
    """Return a share with two decimals, rounded down: what is below a limit never reads as the limit. Its sign stays
    with it at the end of a line."""
    hundredths = share * 10_000
    return f"{hundredths.numerator // hundredths.denominator / 100:.2f}\N{NO-BREAK SPACE}%"
