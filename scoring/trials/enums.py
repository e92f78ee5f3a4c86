"""Stored choices of trials."""

from enum import IntEnum, StrEnum


class Variant(IntEnum):
    """How a picture was shown: as it is, or altered so little that nobody sees it (the memorisation probe)."""

    PLAIN = 0
    NOISE = 1
    SHIFT = 2


class EligibilityCondition(StrEnum):
    """What a defense has to fulfil before it is published (R31), in the order in which it is looked at."""

    CONTAINER = "container"
    PRIVATE = "private"
    EARLIER = "earlier"
    SPEED = "speed"
    FRAMEWORK = "framework"


class ConditionStatus(StrEnum):
    """How a defense stands with a condition. PENDING: under way; NOT_YET: nobody has begun, or it has to be begun
    again."""

    PASSED = "passed"
    FAILED = "failed"
    PENDING = "pending"
    NOT_YET = "not_yet"
