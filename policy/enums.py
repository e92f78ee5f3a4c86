"""Enumerations stored in the policy: when an outline is required, and what taskers learn about gold answers."""

from enum import StrEnum


class OutlineGate(StrEnum):
    """When questions 3 and 4 are asked (R10)."""

    BEST_GUESS_YES = "best_guess_yes"
    NOT_EXCLUDED = "not_excluded"


class GoldFeedback(StrEnum):
    """What taskers see about their gold answers: nothing; the share right; also their answers on retired pictures."""

    NONE = "none"
    SHARE = "share"
    RETIRED = "retired"
