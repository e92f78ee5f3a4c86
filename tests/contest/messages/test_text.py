"""Texts taken apart: paragraphs, lines, links of this site alone, states at the beginning of a line."""

import pytest

from contest.messages.text import Piece, paragraphs

SITE = "https://unanimous.example"
ROWS: list[tuple[str, list[list[list[Piece]]], str]] = [
    ("", [], "nothing"),
    ("a\nb\n\n\nc\n", [[[Piece("a")], [Piece("b")]], [[Piece("c")]]], "paragraphs and lines"),
    (
        f"See {SITE}/x/.",
        [[[Piece("See "), Piece(f"{SITE}/x/", href=f"{SITE}/x/"), Piece(".")]]],
        "a full stop is no part of a link",
    ),
    (f"{SITE}.evil.example/x", [[[Piece(f"{SITE}.evil.example/x")]]], "another site with our name in front"),
    ("https://evil.example/", [[[Piece("https://evil.example/")]]], "another site"),
    ("✓ valid: a bird", [[[Piece("valid", look="valid"), Piece(": a bird")]]], "a state with words behind it"),
    ("⚡ broke net: one", [[[Piece("broke net", look="broken"), Piece(": one")]]], "up to the colon"),
    ("○ until Tue 12:00 UTC", [[[Piece("until Tue 12:00 UTC", look="open")]]], "a colon in a time is none"),
    ("so ✓ valid", [[[Piece("so ✓ valid")]]], "in the middle of a line it is a word"),
    ("✓", [[[Piece("✓")]]], "a shape alone"),
]


@pytest.mark.parametrize(("text", "expected", "why"), ROWS, ids=[row[2] for row in ROWS])
def test_a_text_is_taken_apart(text: str, expected: list[list[list[Piece]]], why: str) -> None:
    assert paragraphs(text, SITE) == expected, why


def test_nothing_is_lost() -> None:
    text = f"Hello,\n\n✕ rejected: x {SITE}/a/ y {SITE}/b/, z\n{SITE}/c/"
    joined = "\n\n".join(
        "\n".join("".join(f"{each.shape} {each.words}" if each.look else each.words for each in line) for line in block)
        for block in paragraphs(text, SITE)
    )
    assert joined == text
