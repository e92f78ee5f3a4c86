"""The page where organizers try other numbers: what is typed, what is found, and that it goes on part by part."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from adjudication.models import Ruling
from adjudication.services import panels_settle
from adjudication.what_if import TriedNumbers, box_shares
from contest.pages.organizer.policy_forms import WhatIfForm
from contest.policy_changes.number_words import share_in_words
from labeling.enums import Answer
from labeling.models import Panel
from policy.enums import OutlineGate
from policy.numbers import Policy
from policy.selectors import PolicyInForce, policy_in_force
from tests import factories
from tests.contest.pages import ORGANIZERS_ALONE, codes, lacking, outsiders

URL, PART = "/organizer/what-if/", "/organizer/what-if/part/"
GATE = "&outline_gate=best_guess_yes"


def typed_form(policy: Policy | None = None, **typed: str) -> WhatIfForm:
    return WhatIfForm(typed, version=PolicyInForce(1, 1, policy or Policy()))


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("25 %", Fraction(1, 4)),
        ("25", Fraction(1, 4)),
        (" 12.5% ", Fraction(1, 8)),
        ("1/3", Fraction(1, 3)),
        ("100 %", Fraction(1)),
        ("0", None),
        ("101 %", None),
        ("3/2", None),
        ("1/0", None),
        ("-5", None),
        ("", None),
        ("a fifth", None),
        ("٢٥", None),  # digits that Python reads and nobody means
    ],
)
def test_a_share_as_it_is_typed(typed: str, read: Fraction | None) -> None:
    form = typed_form(min_box_fraction=typed)
    assert (form.is_valid(), set(form.errors)) == (read is not None, set() if read else {"min_box_fraction"})
    assert read is None or form.tried.rules.min_box_fraction == read


@pytest.mark.parametrize(
    ("of", "words"),
    [(Fraction(1, 4), "25 %"), (Fraction(1, 8), "12.5 %"), (Fraction(1, 3), "1/3"), (Fraction(1), "100 %")],
)
def test_a_share_in_words_is_read_again(of: Fraction, words: str) -> None:
    assert share_in_words(of) == words
    form = typed_form(min_box_fraction=words)
    assert form.is_valid() and form.tried.rules.min_box_fraction == of


def test_what_is_in_force_tries_what_is_in_force() -> None:
    policy = Policy(outline_gate=OutlineGate.NOT_EXCLUDED, panel_size=5, occlusion_allowed=True)
    form = typed_form(policy)
    assert form.is_valid()
    numbers = form.tried
    assert (numbers.panel_size, numbers.rules.occlusion_allowed) == (5, True)
    assert (numbers.rules.outline_gate, numbers.rules.min_box_fraction) == (OutlineGate.NOT_EXCLUDED, Fraction(1, 4))
    assert isinstance(numbers, TriedNumbers)


@pytest.fixture(scope="class")
def pictures(class_world: Path) -> list[Panel]:
    """A fine bird, one with a small box, one partly hidden, and one with nothing on it."""
    factories.policy_version()
    nothing: dict[str, Any] = {"bird": Answer.DEFINITELY_NO, "box": None, "complete": None, "unoccluded": None}
    said: list[dict[str, Any]] = [{}, {"box": (0, 0, 13450, 13450)}, {"unoccluded": False}, nothing | {"real": None}]
    panels = [factories.panel() for _ in said]
    for panel, answers in zip(panels, said, strict=True):
        for n in range(3):
            factories.response(factories.tasker(f"{panel.pk}-{n}"), panel, **answers)
    panels_settle(policy_at=policy_in_force, now=factories.NOW)
    return panels


WOULD_CHANGE: list[tuple[str, dict[str, int], str]] = [
    ("min_box_fraction=20%25&panel_size=3", {"valid": 1}, "a smaller box is enough"),
    ("min_box_fraction=25&panel_size=3&occlusion_allowed=yes", {"valid": 1}, "what is partly hidden is good enough"),
    ("min_box_fraction=1/5&panel_size=3&occlusion_allowed=yes", {"valid": 2}, "both"),
    ("min_box_fraction=60&panel_size=3", {"rejected": 1, "reasons": 1}, "a larger box is needed"),
    ("min_box_fraction=25&panel_size=4", {"waiting": 1}, "a larger panel is needed"),
    ("min_box_fraction=25&panel_size=3", {}, "nothing changes"),
]


@pytest.mark.django_db
class TestTrying:
    def test_the_form_shows_what_is_in_force(self, organizer: Client, pictures: list[Panel]) -> None:
        page = organizer.get(URL).content.decode()
        assert "In force: 25 %" in page and "Try on 4 pictures" in page and "What would change" not in page

    @pytest.mark.parametrize(("query", "found", "why"), WOULD_CHANGE, ids=[row[2] for row in WOULD_CHANGE])
    def test_what_would_change(
        self, query: str, found: dict[str, int], why: str, organizer: Client, pictures: list[Panel]
    ) -> None:
        part = organizer.get(f"{PART}?{query}{GATE}").json()
        assert (part["looked"], part["kinds"]) == (4, found), why
        assert len(part["items"]) == sum(found.values())
        assert organizer.get(f"{PART}?{query}{GATE}&behind={part['through']}").json()["through"] is None
        page = organizer.get(f"{URL}?{query}{GATE}&whole=1").content.decode()
        counts = (f'data-kind="{kind}" data-label="Pictures">{count}<' for kind, count in found.items())
        assert not lacking(page, "4 pictures tried.", *counts) and page.count("<figure>") == sum(found.values())

    def test_a_picture_says_what_it_is_and_what_it_would_be(self, organizer: Client, pictures: list[Panel]) -> None:
        before = list(Ruling.objects.order_by("pk").values())
        page = organizer.get(f"{URL}?min_box_fraction=20&panel_size=3{GATE}&whole=1").content.decode()
        assert not lacking(
            page, pictures[1].image.public_id, "would be valid</strong>: bird.", "Now: the object is too small."
        )
        assert list(Ruling.objects.order_by("pk").values()) == before, "nothing is changed"

    def test_the_smallest_boxes_are_drawn_with_both_limits(self, organizer: Client, pictures: list[Panel]) -> None:
        shares = box_shares(20)
        assert (sum(shares), shares[4]) == (3, 1), "the small box covers 20 %; who outlined nothing has none"
        page = organizer.get(URL).content.decode()
        assert "20 to 25 %: 1" in page and "25 % in force" in page and "tried" not in page.partition("</svg>")[0]
        assert "30 % tried" in organizer.get(f"{URL}?min_box_fraction=30&panel_size=3{GATE}").content.decode()

    def test_what_makes_no_sense_is_said_at_its_field(self, organizer: Client, pictures: list[Panel]) -> None:
        answer = organizer.get(f"{URL}?min_box_fraction=0&panel_size=12&outline_gate=nobody")
        assert answer.status_code == 400
        assert not lacking(
            answer.content.decode(),
            "A percentage",
            "A whole number from 3 to 9",
            "One of the two.",
            'value="12"',
        ), "what was typed is kept"
        assert organizer.get(f"{PART}?min_box_fraction=0&panel_size=3{GATE}").status_code == 400


@pytest.mark.django_db
def test_with_no_picture_there_is_nothing_to_change(organizer: Client) -> None:
    factories.policy_version()
    page = organizer.get(f"{URL}?min_box_fraction=20&panel_size=3{GATE}&whole=1").content.decode()
    assert "0 pictures tried." in page and '<p class="none">No verdict would change.</p>' in page


@pytest.mark.django_db
def test_only_organizers_try(signed_in: Any) -> None:
    people = outsiders(signed_in)
    assert codes(people, URL) == codes(people, PART) == ORGANIZERS_ALONE
