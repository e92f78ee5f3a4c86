"""Validates team names: plain letters, so that no name imitates another. Pure."""

import re

MIN_NAME_CHARACTERS, MAX_NAME_CHARACTERS = 2, 40
# Names that the pages and the ledger use for themselves.
TAKEN = frozenset({"unanimous", "contest", "the contest", "organizer", "organizers", "board", "review board", "pool"})
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._&+'-]*")


def tidy_name(typed: str) -> str:
    """Return the name with single blanks, none at its ends."""
    return " ".join(typed.split())


def name_problem(name: str) -> str:
    """Return in words why a team may not have this name; empty if it may."""
    if not MIN_NAME_CHARACTERS <= len(name) <= MAX_NAME_CHARACTERS:
        return f"A team's name has {MIN_NAME_CHARACTERS} to {MAX_NAME_CHARACTERS} characters."
    if not _PLAIN.fullmatch(name):
        return (
            "A team's name has the letters A to Z, digits, blanks and . _ & + ' -, and begins with a letter or digit."
        )
    if name.lower() in TAKEN:
        return "This name would pass for the contest's own: choose another one."
    return ""
