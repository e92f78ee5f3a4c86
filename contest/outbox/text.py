"""Parses the text of a letter (e-mail) into paragraphs, links and states, for pages and HTML. Pure."""

import re
from dataclasses import dataclass

# A state of the site: its shape in plain text, and its colour in letters, the one of static/css/shared/variables.css.
SHAPES = {"valid": "✓", "rejected": "✕", "open": "○", "embargo": "▣", "broken": "⚡", "unbroken": "◆"}
COLOURS = {
    "valid": "#2f7d32",
    "rejected": "#a63d2f",
    "open": "#8a6100",
    "embargo": "#5b4b9a",
    "broken": "#a63d2f",
    "unbroken": "#0b6e6e",
}
_LOOKS = {shape: look for look, shape in SHAPES.items()}
# A line may begin with a state: a shape, then its words up to a colon and a space, or to the end.
_STATE = re.compile(rf"({'|'.join(SHAPES.values())}) (.+?)(?=: |$)")


@dataclass(frozen=True, slots=True)
class TextPart:
    """A part of a line: words, a link of this site, or a state with its look."""

    words: str
    href: str = ""
    look: str = ""

    @property
    def shape(self) -> str:
        """Return the shape of a state."""
        return SHAPES.get(self.look, "")

    @property
    def colour(self) -> str:
        """Return the colour of a state in letters."""
        return COLOURS.get(self.look, "")


Paragraph = list[list[TextPart]]


def paragraphs(text: str, site: str) -> list[Paragraph]:
    """Take a text apart. Only addresses of `site` become links: words of others lead nowhere."""
    blocks = [block.strip("\n") for block in re.split(r"\n\s*\n", text.strip())]
    return [[_line(line, site) for line in block.split("\n")] for block in blocks if block]


def _line(line: str, site: str) -> list[TextPart]:
    found = _STATE.match(line)
    pieces = [TextPart(found[2], look=_LOOKS[found[1]])] if found else []
    rest = line[found.end() :] if found else line
    position = 0
    for link in re.finditer(rf"{re.escape(site)}/[^\s]*", rest):
        href = link[0].rstrip(".,;:)")
        pieces += [TextPart(rest[position : link.start()]), TextPart(href, href=href)]
        position = link.start() + len(href)
    return [piece for piece in [*pieces, TextPart(rest[position:])] if piece.words]
