"""The words for verdicts and reasons in pages, letters, feeds and API calls (R13, R15). Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from adjudication.enums import Reason, Verdict


@dataclass(frozen=True, slots=True)
class ReasonWords:
    """A reason of a rejection in words: a name for tables and charts, and a clause about the picture."""

    name: str
    words: str


REASON_WORDS: Mapping[Reason, ReasonWords] = {
    Reason.UNCERTAIN: ReasonWords("uncertain", "a tasker was not sure"),
    Reason.BOTH_CLASSES: ReasonWords("both classes", "a tasker ruled out neither class"),
    Reason.NEITHER_CLASS: ReasonWords("neither class", "a tasker ruled out both"),
    Reason.TASKERS_DISAGREE: ReasonWords("taskers disagree", "taskers were sure of different classes"),
    Reason.NO_OUTLINE: ReasonWords("no outline", "an outline is missing"),
    Reason.TOO_SMALL: ReasonWords("too small", "the object is too small"),
    Reason.DEPICTION: ReasonWords("depiction", "it is a depiction"),
    Reason.OCCLUDED: ReasonWords("occluded", "the object is partly hidden"),
    Reason.TRUNCATED: ReasonWords("truncated", "the object is cut off"),
    Reason.KNOWN_BAD: ReasonWords("known bad", "the picture was known to be unusable"),
    Reason.AMBIGUOUS: ReasonWords("ambiguous", "the answers do not name one class"),
}


def reason_name(reason: str) -> str:
    """Return the name of a reason for tables and charts, for example `too small`."""
    return REASON_WORDS[Reason(reason)].name


def reasons_words(reasons: Iterable[str]) -> str:
    """Return reasons as clauses about the picture, for example `the object is too small; it is a depiction`."""
    return "; ".join(REASON_WORDS[Reason(each)].words for each in reasons)


def verdict_words(verdict: str, label: str, reasons: Iterable[str]) -> str:
    """Return a verdict with its class or its reasons, for example `valid, a bird` or `rejected: it is a depiction`."""
    return f"valid, a {label}" if verdict == Verdict.VALID else f"rejected: {reasons_words(reasons)}"
