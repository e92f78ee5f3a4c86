"""Formats and parses shares; words for the outline gate: which taskers outline the object (R10, R14). Pure."""

import re
from fractions import Fraction

from policy.enums import OutlineGate

_PERCENT = re.compile(r"(\d{1,3}(?:\.\d{1,4})?) ?%?", re.ASCII)
_RATIO = re.compile(r"(\d{1,6}) ?/ ?(\d{1,6})", re.ASCII)

GATES = {
    OutlineGate.BEST_GUESS_YES: "sure, or the best guess is yes",
    OutlineGate.NOT_EXCLUDED: "all who do not exclude it",
}


def share_in_words(of: Fraction) -> str:
    """Return a share as a percentage where that is exact to four digits, else as a ratio."""
    percent = of * 100
    if (percent * 10_000).denominator != 1:
        return f"{of.numerator}/{of.denominator}"
    whole, digits = divmod(int(percent * 10_000), 10_000)
    return f"{whole}.{digits:04d}".rstrip("0").rstrip(".") + " %"


def parse_share(typed: str) -> Fraction | None:
    """Return a share that was typed as a percentage or a ratio: more than 0, at most 1; None for anything else."""
    text = typed.strip()
    if found := _PERCENT.fullmatch(text):
        value = Fraction(found[1]) / 100
    elif (found := _RATIO.fullmatch(text)) and int(found[2]):
        value = Fraction(int(found[1]), int(found[2]))
    else:
        return None
    return value if 0 < value <= 1 else None
