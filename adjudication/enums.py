"""Enumerations stored in the database by adjudication: verdicts, reasons, votes, kinds and outcomes of cases."""

from enum import StrEnum


class Verdict(StrEnum):
    """What a ruling says of an image (R13, R15)."""

    VALID = "valid"
    REJECTED = "rejected"


class Reason(StrEnum):
    """Why an image is rejected. `adjudication.rules._OBJECTIONS` decides their order (R15)."""

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


class CaseKind(StrEnum):
    """What the board votes on: the verdict on a `picture` (R18-R20), or a `motion`, which is everything else (R21)."""

    PICTURE = "picture"
    MOTION = "motion"


class AppealSide(StrEnum):
    """Who appeals (R18): a `defender` against a valid verdict, an `attacker` against a rejection."""

    DEFENDER = "defender"
    ATTACKER = "attacker"


class VoteChoice(StrEnum):
    """A member's vote: the first three choices are about a picture (R19), the others about a motion."""

    UPHOLD = "uphold"
    MORE_TASKERS = "more_taskers"
    OVERRULE = "overrule"
    IN_FAVOUR = "in_favour"
    AGAINST = "against"


class CaseOutcome(StrEnum):
    """The outcome of a case. A motion is `carried`, `lost`, or `dropped` by the member who moved it."""

    UPHOLD = "uphold"
    MORE_TASKERS = "more_taskers"
    OVERRULE = "overrule"
    CARRIED = "carried"
    LOST = "lost"
    DROPPED = "dropped"


class DecisionKind(StrEnum):
    """The kinds of board decisions that are not about a picture."""

    STAKE = "stake"
    GRANT = "grant"
    REVOKE = "revoke"
    WITHHOLD = "withhold"
    AWARD = "award"
    RETURN = "return"
    END = "end"
    FORFEIT = "forfeit"
