"""Renders the project's Markdown documents as HTML; raw HTML in them is shown as text."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from django.conf import settings
from django.templatetags.static import static
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

# The documents that have a page: file name -> URL name.
PAGES = {
    "rules.md": "rules",
    "defenses.md": "docs-defenses",
    "release-format.md": "docs-release-format",
    "status.md": "docs-status",
    "verdicts-in-pandas.md": "docs-verdicts-in-pandas",
    "guide-taskers.md": "guide-taskers",
    "guide-board.md": "guide-board",
    "guide-organizers.md": "guide-organizers",
    "guide-teams.md": "guide-teams",
}
_STATIC = "../static/"
_RULE = re.compile(r"R\d+")
_NOT_IN_IDS = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Document:
    """A rendered document: its title, the text below it, and its headings (level 2) with their places."""

    title: str
    html: SafeString
    headings: tuple[tuple[str, str], ...]


@lru_cache(maxsize=len(PAGES))
def document(file: str) -> Document:
    """Return the document of this name in `docs/`, rendered once per process."""
    return render((settings.BASE_DIR / "docs" / file).read_text())


@lru_cache(maxsize=2)
def rule_book(beside: tuple[tuple[str, str], ...]) -> Document:
    """Return the rule book; `beside` has (rule number, trusted HTML) to put beside some rules."""
    return render((settings.BASE_DIR / "docs" / "rules.md").read_text(), dict(beside))


def render(text: str, beside: Mapping[str, str] = MappingProxyType({})) -> Document:
    """Render Markdown whose first block is the title. Raw HTML is shown as text; rules can be linked to (`#R8`).

    `beside` gives trusted HTML for the end of rules' entries, by the rule's number.
    """
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown.parse(text)
    title, rest = tokens[1].content, tokens[3:]
    headings = tuple(_name_headings(rest))
    _name_rules(rest)
    rest = list(_with_asides(rest, beside))
    _label_cells(rest)
    for token in rest:
        if token.type == "fence":
            token.attrSet("tabindex", "0")
        token.children = list(_with_own_links(token.children)) if token.children else token.children
    html = markdown.renderer.render(rest, markdown.options, {})
    return Document(title, mark_safe(html), headings)


def _name_headings(tokens: Sequence[Token]) -> Iterator[tuple[str, str]]:
    """Give every heading an id for links; yield the headings of the second level."""
    for opening, inside in zip(tokens, tokens[1:], strict=False):
        if opening.type == "heading_open":
            words = inside.content.replace("`", "")
            place = _NOT_IN_IDS.sub("-", words.lower()).strip("-")
            opening.attrSet("id", place)
            if opening.tag == "h2":
                yield place, words


def _name_rules(tokens: Sequence[Token]) -> None:
    """Give the entry of every rule its number as id."""
    for at, token in enumerate(tokens):
        children = token.children or []
        if token.type == "inline" and len(children) > 2 and children[1].type == "strong_open":
            number = children[2].content
            if tokens[at - 2].type == "list_item_open" and _RULE.fullmatch(number):
                tokens[at - 2].attrSet("id", number)


def _with_asides(tokens: Sequence[Token], beside: Mapping[str, str]) -> Iterator[Token]:
    """Append the HTML that belongs beside a rule to its entry."""
    open_entries: list[str] = []
    for token in tokens:
        if token.type == "list_item_open":
            open_entries.append(str(token.attrGet("id")))
        elif token.type == "list_item_close" and (html := beside.get(open_entries.pop())):
            yield Token("html_block", "", 0, content=html)
        yield token


def _label_cells(tokens: Sequence[Token]) -> None:
    """Let a phone show each row of a table as a block, whose cells say what they are."""
    titles: list[str] = []
    column = 0
    for opening, inside in zip(tokens, tokens[1:], strict=False):
        if opening.type == "table_open":
            opening.attrSet("class", "rows")
            titles = []
        elif opening.type == "th_open":
            opening.attrSet("scope", "col")
            titles.append(inside.content)
        elif opening.type == "tr_open":
            column = 0
        elif opening.type == "td_open":
            opening.attrSet("data-label", titles[column])
            column += 1


def _with_own_links(children: Sequence[Token]) -> Iterator[Token]:
    """Lead links between documents to their pages, and pictures to their static files; a link to a file that is no page
    becomes plain words."""
    dropped = False
    for token in children:
        if token.type == "image" and (source := str(token.attrGet("src"))).startswith(_STATIC):
            token.attrSet("src", static(source.removeprefix(_STATIC)))
        if token.type == "link_open":
            address = _address(str(token.attrGet("href")))
            dropped = not address
            token.attrSet("href", address)
        if token.type in ("link_open", "link_close") and dropped:
            continue
        yield token


def _address(target: str) -> str:
    """Return the address of a link's target on this site; empty for a file without a page."""
    if target.startswith(("https://", "http://", "#")):
        return target
    file, _, place = target.partition("#")
    name = PAGES.get(file.removeprefix("docs/"))
    return (reverse(name) + (f"#{place}" if place else "")) if name else ""
