"""The words of adjudication."""

from enum import StrEnum


class Verdict(StrEnum):
    """What a ruling says of an image (R13, R15)."""

    VALID = "valid"
    REJECTED = "rejected"


class Reason(StrEnum):
    """Why an image is rejected, in the order in which reasons are listed (R15)."""

    UNCERTAIN = "uncertain"
    BOTH_CLASSES = "both_classes"
    NEITHER_CLASS = "neither_class"
    TASKERS_DISAGREE = "taskers_disagree"
    NO_OUTLINE = "no_outline"
    TOO_SMALL = "too_small"
    DEPICTION = "depiction"
    OCCLUDED = "occluded"
    TRUNCATED = "truncated"
    # Only under the rule set of the original dataset (R17):
    KNOWN_BAD = "known_bad"
    AMBIGUOUS = "ambiguous"


class DecidedBy(StrEnum):
    """Who made a ruling (R16)."""

    RULES = "rules"
    BOARD = "board"
