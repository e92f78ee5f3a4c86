"""The pages of a tasker in German, by ear: every step is named, and in German."""

from typing import Any

import pytest
from playwright.sync_api import expect

from labeling.learning.content import known_pictures_load
from labeling.models import Panel, Tasker
from labeling.policy import Policy
from tests import factories
from tests.browser.looking import DESK, PHONE
from tests.browser.screen_reader import Reader


def check(reader: Reader, where: str, language: str = "de") -> None:
    expect(reader.page.locator("html")).to_have_attribute("lang", language)
    assert reader.sound() == [], where
    assert language == "en" or reader.left_in_english() == [], where


def speaking(tasker: Tasker, language: str) -> Tasker:
    tasker.language = language
    tasker.save()
    return tasker


@pytest.mark.parametrize(
    "size", [DESK, pytest.param(PHONE, marks=pytest.mark.long("the same words on a phone"))], ids=["desk", "phone"]
)
def test_in_german_every_step_is_german(size: Any, pictures: list[Panel], contexts: Any, live_server: Any) -> None:
    context = contexts(speaking(factories.tasker("tara"), "de"), viewport=size)
    reader = Reader(context.new_page())
    reader.page.goto(f"{live_server.url}/label/")
    reader.is_at("radio")
    square = ["Shift+ArrowLeft", "Enter", *["Shift+ArrowRight"] * 6, "Enter", *["Shift+ArrowDown"] * 6, "Enter"]
    for where, keys in (
        ("question 1", []),
        ("something missing", ["Enter"]),
        ("question 3", ["1", "4"]),
        ("a line begun", square),
        ("question 4", ["c"]),
        ("complete", ["1", "2", "3"]),
        ("instructions", ["?"]),
        ("keys", ["Escape", "k"]),
        ("receipts", ["Escape", "v"]),
        ("a question", ["Escape", "q"]),
        ("a report", ["Escape", "r"]),
        ("the form again", ["Escape"]),
    ):
        reader.press(*keys)
        check(reader, where)
    reader.page.get_by_role("button", name="Absenden").press("Enter")
    reader.hears("Das ist das nächste Bild")
    reader.hears("Beleg|Quittung")
    check(reader, "the next picture")
    assert reader.complaints == []


@pytest.mark.parametrize(
    ("language", "not_right"),
    [
        pytest.param("en", "Not fully right", marks=pytest.mark.long("German is heard in `make test`")),
        ("de", "Nicht ganz richtig"),
    ],
)
def test_learning_and_qualifying_by_ear(
    language: str, not_right: str, transactional_db: None, contexts: Any, live_server: Any
) -> None:
    factories.policy_version()
    known_pictures_load(policy=Policy(), now=factories.NOW)
    learner = factories.tasker("nell", state="learning")
    learner.tutorial_done_at = factories.NOW
    reader = Reader(contexts(speaking(learner, language), base_url=live_server.url).new_page())
    learn(reader, language)
    qualify(reader, language, not_right)
    assert reader.complaints == []


def learn(reader: Reader, language: str) -> None:
    reader.page.goto("/learn/1/")
    reader.is_at("group")
    assert reader.focus.name, "the question is read first"
    check(reader, "a worked example", language)
    reader.press("1")
    reader.is_at("button")
    assert reader.focus.description, "what was right is read with the way on"
    check(reader, "its reasons", language)


def qualify(reader: Reader, language: str, not_right: str) -> None:
    reader.page.goto("/qualification/")
    reader.is_at("button")
    check(reader, "before a try", language)
    reader.press("Enter")
    reader.is_at("radio")
    check(reader, "its first picture", language)
    reader.press("3", "3", "Enter")
    reader.page.wait_for_url("**/qualification/marks/**")
    reader.is_at("button")
    assert reader.focus.description == not_right
    check(reader, "its marks", language)
