"""The project's documents as pages: safe, linkable, and readable on a phone."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client

from contest.pages.public.documents import PAGES, document, render
from tests.contest.pages import lacking
from tests.rule_table import rules
from tools.guide_pictures import PICTURES

TITLE = "# A title\n\n"
DOCS = Path(settings.BASE_DIR) / "docs"


def test_the_title_is_apart_from_the_text() -> None:
    found = render(f"{TITLE}Words.\n")
    assert (found.title, str(found.html)) == ("A title", "<p>Words.</p>\n")


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "words <img src=x onerror=alert(1)>",
        "<style>body{display:none}</style>",
        "[here](javascript:alert(1))",
        "[here](data:text/html;base64,PHNjcmlwdD4=)",
        "![p](javascript:alert(1))",
    ],
)
def test_nothing_active_gets_through(text: str) -> None:
    html = str(render(TITLE + text).html)
    assert not re.search(r"<(script|style|img)", html)
    assert not re.search(r'(href|src)="(javascript|data):', html)


def test_headings_and_rules_can_be_linked_to() -> None:
    found = render(f"{TITLE}## The form (`check`)\n\n- **R9** Questions.\n- **R10** More.\n- **Not** a rule.\n")
    assert found.headings == (("the-form-check", "The form (check)"),)
    assert '<h2 id="the-form-check">' in found.html
    assert '<li id="R9">' in found.html and '<li id="R10">' in found.html and found.html.count("<li id=") == 2


def test_cells_of_a_table_say_what_they_are() -> None:
    html = render(f"{TITLE}| Code | Meaning |\n|---|---|\n| a | b |\n| c | d |\n").html
    assert '<table class="rows">' in html
    assert html.count('data-label="Code"') == html.count('data-label="Meaning"') == 2
    assert '<td data-label="Meaning">d</td>' in html


@pytest.mark.parametrize(
    ("link", "html"),
    [
        ("[x](defenses.md)", '<a href="/docs/defenses/">x</a>'),
        ("[x](docs/rules.md#R8)", '<a href="/rules/#R8">x</a>'),
        ("[x](operations.md)", "<p>x</p>"),  # no page of its own
        ("[x](../secret.py)", "<p>x</p>"),
        ("[x](#place)", '<a href="#place">x</a>'),
        ("[x](https://arxiv.org/)", '<a href="https://arxiv.org/">x</a>'),
        ("[x](operations.md) and [y](rules.md)", '<p>x and <a href="/rules/">y</a></p>'),
    ],
)
def test_links_lead_to_pages(link: str, html: str) -> None:
    assert html in render(TITLE + link).html


@pytest.mark.parametrize("file", sorted(PAGES))
def test_a_document_has_every_line_of_its_file(file: str) -> None:
    found, text = document(file), (Path(settings.BASE_DIR) / "docs" / file).read_text()
    assert text.startswith(f"# {found.title}\n")
    assert len(re.findall(r"^## ", text, re.M)) == len(found.headings)
    assert text.count("```") == 2 * found.html.count("<pre")


def test_every_rule_of_the_book_can_be_linked_to() -> None:
    html = document("rules.md").html
    written = rules((Path(settings.BASE_DIR) / "docs" / "rules.md").read_text())
    assert written and all(f'id="R{number}"' in html for number in written)


@pytest.mark.django_db
def test_the_pages_are_open_and_carry_no_style_or_script_of_their_own(client: Client) -> None:
    for page in ("/rules/", "/docs/defenses/", "/docs/release-format/", "/docs/status/", "/docs/verdicts-in-pandas/"):
        answer = client.get(page)
        text = answer.content.decode()
        assert answer.status_code == 200 and " style=" not in text, page
        assert re.findall(r"<script(?! type=\"module\" src=)", text) == [], page


@pytest.mark.django_db
def test_the_rules_page_has_the_numbers_in_force(client: Client) -> None:
    page = client.get("/rules/").content.decode()
    assert not lacking(
        page,
        '<th scope="row"><code>stake_hours</code></th><td class="figure" data-label="Value">2,160</td>',
        '<code>min_box_fraction</code></th><td class="figure" data-label="Value">1/4</td>',
    )


GUIDES = sorted(file for file in PAGES if file.startswith("guide-"))


def test_every_picture_of_the_guides_is_there_and_used() -> None:
    """`tools/guide_pictures.py` takes them."""
    shown = {
        name
        for file in GUIDES
        for name in re.findall(r"\]\(\.\./static/img/guides/([\w-]+)\.webp\)", (DOCS / file).read_text())
    }
    assert shown == {each.stem for each in (DOCS.parent / "static/img/guides").iterdir()}
    assert shown == {each.name for each in PICTURES}


@pytest.mark.parametrize("file", GUIDES)
def test_a_guide_shows_its_pictures_with_words_for_who_does_not_see_them(file: str) -> None:
    images = re.findall(r"<img [^>]*>", str(document(file).html))
    assert images and all('src="/static/img/guides/' in each for each in images)
    assert all(len(re.search(r'alt="([^"]*)"', each)[1]) > 20 for each in images)  # type: ignore[index]
