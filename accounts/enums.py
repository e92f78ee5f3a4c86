"""Stored choices of accounts."""

from enum import StrEnum


class Role(StrEnum):
    """What an account is for; it has one role (R8)."""

    TASKER = "tasker"
    ORGANIZER = "organizer"
    BOARD = "board"
    TEAM = "team"
