"""Prints untrusted text safely on any terminal, for the verifier and the mirror.

Pure: standard library only.
"""

import sys
from typing import TextIO

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
# A line is cut in its middle beyond this many characters.
MAX_LINE_CHARACTERS = 800
# Characters that count as printable but are invisible: fillers, joiners and variation selectors.
_INVISIBLE = frozenset(
    chr(code)
    for first, last in (
        (0x034F, 0x034F),
        (0x115F, 0x1160),
        (0x17B4, 0x17B5),
        (0x180B, 0x180F),
        (0x2800, 0x2800),
        (0x3164, 0x3164),
        (0xFE00, 0xFE0F),
        (0xFFA0, 0xFFA0),
        (0xE0100, 0xE01EF),
    )
    for code in range(first, last + 1)
)


def printable(value: object, max_characters: int = MAX_LINE_CHARACTERS) -> str:
    """Return a value as one line of at most `max_characters` characters, and one more for each cut.

    Characters with an effect on terminals are replaced: escape codes, ends of lines, marks that change the direction,
    invisible characters, halves of a surrogate pair.
    """
    text = shortened(str(value), max_characters)
    return "".join(each if each.isprintable() and each not in _INVISIBLE else _REPLACEMENT for each in text)


def shortened(text: str, max_characters: int) -> str:
    """Return the beginning and the end of a text that is longer than `max_characters`."""
    half = max_characters // 2
    return text if len(text) <= max_characters else f"{text[:half]}…{text[-half:]}"


def encodable(text: str, encoding: str | None) -> str:
    """Return a text for a stream of this encoding; characters outside it become their escape codes."""
    name = encoding or "ascii"
    return text.encode(name, "backslashreplace").decode(name)


def show(value: object, *, stream: TextIO | None = None, end: str = "\n", over: bool = False) -> None:
    """Print one line to `stream`, standard output by default; `over` overwrites the line before."""
    to = sys.stdout if stream is None else stream
    to.write(("\r" if over else "") + encodable(printable(value), to.encoding) + end)
    if over:
        to.flush()
