"""Enumerations stored in the database by accounts: the role of an account (R8)."""

from enum import StrEnum


class Role(StrEnum):
    """The role of an account; each account has exactly one (R8)."""

    TASKER = "tasker"
    ORGANIZER = "organizer"
    BOARD = "board"
    TEAM = "team"
