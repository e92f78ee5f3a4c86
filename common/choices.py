"""Converts a StrEnum to Django choices. (Django would call a plain StrEnum.)"""

from enum import StrEnum


def choices(enum: type[StrEnum]) -> list[tuple[str, str]]:
    """List (value, label) pairs in the order of definition."""
    return [(member.value, member.value.replace("_", " ")) for member in enum]
