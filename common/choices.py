"""StrEnum to Django choices: a plain StrEnum given as `choices` would be called by Django."""

from enum import StrEnum


def choices(enum: type[StrEnum]) -> list[tuple[str, str]]:
    """List (value, label) pairs in the order of definition."""
    return [(member.value, member.value.replace("_", " ")) for member in enum]
