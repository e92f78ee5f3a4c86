"""The kinds of cells in the tables of a release (R39): the pattern of each, and how it is written and read back.

Standard library only. How a single value is written is in `cells`.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from adjudication.enums import Reason
from adjudication.schema import cells


@dataclass(frozen=True, slots=True)
class CellKind:
    """What the cells of a column look like, and how a value is written into one and read back from it."""

    form: re.Pattern[str]
    write: Callable[[Any], str]
    read: Callable[[str], Any]

    def optional(self) -> "CellKind":
        """Return the same kind for a column whose cells may be empty."""
        return kind_of(f"(?:{self.form.pattern})?", self.write, self.read)


def kind_of(cell: str, write: Callable[[Any], str] = str, read: Callable[[str], Any] = str) -> CellKind:
    """Return the kind whose cells match the whole of a pattern; by default its values are texts, unchanged."""
    return CellKind(re.compile(cell, re.ASCII), write, read)


def one_of(words: Iterable[StrEnum]) -> CellKind:
    """Return the kind whose cells are one of these words."""
    return kind_of("|".join(word.value for word in words))


# At most as many digits as a database column: longer numbers only make a hostile release expensive to read.
_DIGITS = r"0|[1-9]\d{0,18}"
NUMBER = kind_of(_DIGITS, str, cells.number_from)
WHOLE = kind_of(rf"-?(?:{_DIGITS})", str, cells.number_from)
# A ruling counts at most 100 answers.
NUMBERS = kind_of(rf"(?:(?:{_DIGITS})(?:;(?:{_DIGITS})){{0,99}})?", cells.listed, cells.numbers_from)


def _id(letter: str) -> CellKind:
    """Return the kind of the public ids that begin with this letter."""
    return kind_of(f"{letter}-[0-9A-Z]+")


APPEAL_ID, ATTACK_ID, BATCH_ID, CASE_ID, DEFENSE_ID, IMAGE_ID, TASKER_ID, TEAM_ID = map(_id, "LASCDPTG")
DEFENSE_IDS = kind_of(r"(?:D-[0-9A-Z]+(?:;D-[0-9A-Z]+)*)?", cells.listed, cells.listed_from)
SHA256 = kind_of(r"[0-9a-f]{64}")
# Only days that exist, also in leap years, because times are compared as text.
_DAY = (
    r"(?:[12]\d{3}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
    r"|(?:[12]\d(?:0[48]|[2468][048]|[13579][26])|(?:1[26]|2[048])00)-02-29)"
)
TIME = kind_of(rf"{_DAY}T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{{6}}Z", cells.time, cells.time_from)
WEEK = kind_of(r"\d{4}-W\d\d")
BOOLEAN = kind_of(r"true|false", cells.boolean, cells.boolean_from)
PIXELS = kind_of(r"(?:(?:0|[1-9]\d{0,8})\.\d\d)?", cells.pixels, cells.scaled_from)
SECONDS = kind_of(r"(?:0|[1-9]\d*)\.\d{3}", cells.seconds, cells.scaled_from)
SHARE = kind_of(r"(?:(?:0|[1-9]\d{0,18})/[1-9]\d{0,18})?", cells.share, cells.share_from)
# Finite numbers only: a score that is not a number is a fault (R30).
FLOAT = kind_of(r"-?\d+(?:\.\d+)?(?:e[+-]?\d{1,3})?", repr, float)
REASONS = kind_of(f"(?:(?:{'|'.join(Reason)})(?:;(?:{'|'.join(Reason)}))*)?", cells.listed, cells.listed_from)
# Rings of corners as labeling.geometry.canonical_json writes them, inside a picture, so without a sign.
_COORDINATE = r"(?:0|[1-9]\d{0,8})(?:\.\d?[1-9])?"
_CORNER = rf"\[{_COORDINATE},{_COORDINATE}\]"
_RING = rf"\[{_CORNER}(?:,{_CORNER})*\]"
OUTLINE = kind_of(rf"(?:\[{_RING}(?:,{_RING})*\])?")
TEXT = kind_of(r"(?![=+\-@\t|])[^\r]*", cells.text, cells.text_from)
WORD = kind_of(r"[a-z_]{1,20}")
JSON_OBJECT = kind_of(r"\{[^\r\n]*\}", cells.json_cell, cells.json_from)
JSON_LIST = kind_of(r"\[[^\r\n]*\]", cells.json_cell, cells.json_from)
JSON = kind_of(r"[\[{][^\r\n]*[\]}]", cells.json_cell, cells.json_from)
# An account of the ledger: one of the contest's, a team's, or that of a stake.
ACCOUNT = kind_of(rf"pool|attackers|defenders|withheld|outside|team:G-[0-9A-Z]+|stake:(?:{_DIGITS})")
