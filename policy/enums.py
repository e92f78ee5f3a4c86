"""Stored choices of the policy."""

from enum import StrEnum


class OutlineGate(StrEnum):
    """When questions 3 and 4 are asked (R10)."""

    BEST_GUESS_YES = "best_guess_yes"
    NOT_EXCLUDED = "not_excluded"


class GoldFeedback(StrEnum):
    """What a tasker may know about their gold answers: nothing; the share right; also the retired pictures."""

    NONE = "none"
    SHARE = "share"
    RETIRED = "retired"
