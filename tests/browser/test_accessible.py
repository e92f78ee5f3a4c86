"""The pages of a tasker through the accessibility tree alone, as somebody does it all who reads them by ear; and in
German every step is named, and in German.
"""

from typing import Any

import pytest
from playwright.sync_api import expect

from labeling import wording
from labeling.enums import Label
from labeling.learning.content import known_pictures_load
from labeling.models import Panel, Report, Response, Tasker
from policy.numbers import Policy
from tests import factories
from tests.browser.looking import DESK, PHONE
from tests.browser.screen_reader import Reader, Steps

BIRD, BICYCLE = (str(question.text) for question in wording.QUESTIONS)


YES, UNSURE_YES, UNSURE_NO, NO = (str(text) for _, text, _ in wording.ANSWERS)


OF_BIRD = wording.FOLLOW_UPS[Label.BIRD]


STATEMENTS = [str(each) for each in (OF_BIRD.complete, OF_BIRD.unoccluded, OF_BIRD.real)]


SURFACE = "Outline of the object"


RECEIVED = r"Received \d\d:\d\d:\d\d, receipt [0-9A-F-]{14}\."


@pytest.fixture
def reader(pictures: list[Panel], chromium: Any, live_server: Any) -> Any:
    """Tara at the first picture, signed in by hand."""
    factories.tasker("tara")
    context = chromium.new_context(viewport=DESK, base_url=live_server.url)
    reader = Reader(context.new_page())
    reader.page.goto("/sign-in/?next=/label/")
    reader.page.get_by_role("textbox", name="User name").fill("tara")
    reader.tab_to("textbox", "Password")
    reader.page.keyboard.type(factories.PASSWORD)
    reader.press("Enter")
    reader.is_at("radio", YES, BIRD)
    yield reader
    context.close()
    assert reader.complaints == []


MISSING = r"^Not sent\. Still missing: "


TWO_QUESTIONS: Steps = [
    (["Enter"], MISSING + r"question 1, question 2\.$"),
    ([], ("radio", YES, BIRD)),
    (["Space"], ("radio", YES, BICYCLE)),
    (["ArrowUp"], ("radio", NO, BICYCLE)),
    (["Enter"], MISSING + r"the outline, question 4\.$"),
    ([], ("application", SURFACE)),
]


# Every step is told in pixels of the picture.
DRAW: Steps = [
    ([], "^150, 150$"),
    (["Shift+ArrowLeft"] * 6, "^90, 150$"),
    (["Shift+ArrowUp"] * 6, "^90, 90$"),
    (["Enter"], "^Corner 1 at 90, 90$"),
    (["Shift+ArrowRight"] * 12, "^210, 90$"),
    (["Enter"], "^Corner 2 at 210, 90$"),
    (["c"], "^An outline needs at least three corners$"),
    (["u"], "^Undone$"),
    (["y"], "^Redone$"),
    (["Shift+ArrowDown"] * 12, "^210, 210$"),
    (["Enter"], "^Corner 3 at 210, 210$"),
    (["c"], "^Outline 1 closed with 3 corners$"),
]


CORRECT: Steps = [
    ([], "^Outline 1, corner 3 of 3 at 210, 210$"),
    ([], ("application", SURFACE)),
    (["ArrowRight"], "^Corner 3 of 3 moved to 211, 210$"),
    (["Escape"], "^No corner selected$"),
]


def test_a_bird_is_labeled_by_ear(reader: Reader) -> None:
    page = reader.page
    for role, name in (("banner", None), ("navigation", "Pages"), ("main", None)):
        expect(page.get_by_role(role, **({"name": name} if name else {}))).to_have_count(1)  # type: ignore[arg-type]
    expect(page.get_by_role("heading", level=1)).to_have_text("Label a picture")
    choices = [part.name for part in reader.parts() if part.group == BIRD and part.role == "radio"]
    assert choices == [YES, UNSURE_YES, UNSURE_NO, NO]
    reader.follow(*TWO_QUESTIONS)
    surface = reader.focus
    assert surface.properties["roledescription"] == "outline editor"
    for words in (str(OF_BIRD.outline), "Enter places", "C closes", "choose a corner", "removes it"):
        assert words in surface.description, surface.description
    reader.follow(*DRAW)
    # The corners are a list too, each a button that chooses it.
    corners = page.get_by_role("list", name="Corners of the outline").get_by_role("button")
    expect(corners).to_have_text(["Corner 1 at 90, 90", "Corner 2 at 210, 90", "Corner 3 at 210, 210"])
    corners.last.press("Enter")
    reader.follow(*CORRECT)
    expect(corners.last).to_have_text("Corner 3 at 211, 210")
    # Each statement is a group by its own words; what is left out is asked for by its number.
    for statement in STATEMENTS[:2]:
        reader.tab_to("radio", "True", statement)
        reader.press("Space")
    reader.follow((["Enter"], MISSING + r"statement 3\.$"), ([], ("radio", "True", STATEMENTS[2])))
    reader.press("Space")
    reader.tab_to("button", "Submit")
    assert reader.focus.description == "Ready to submit"
    reader.follow((["Enter"], RECEIVED), ([], "This is the next picture"), ([], ("radio", YES, BIRD)))
    assert len(reader.left_in_english()) > 20, "what is searched for in German pages is found in English ones"
    (said,) = Response.objects.values_list("contains_bird", "contains_bicycle", "outline", "real")
    assert said == ("definitely_yes", "definitely_no", "[[[90,90],[210,90],[211,210]]]", True)


def test_not_sure_and_not_to_be_outlined(reader: Reader) -> None:
    reader.follow((["ArrowDown"], ("radio", UNSURE_YES, BIRD)), (["f", "4"], ("application", SURFACE)))
    reader.tab_to("checkbox", "I cannot outline it")
    reader.follow(
        (["Space"], r"^Question 3: cannot be outlined\. No outline is sent\.$"),
        ([], ("radio", "True", STATEMENTS[0])),
        (["1", "2", "3", "Enter"], "This is the next picture"),
        *[([], ("radio", YES, BIRD)), (["4", "4", "Enter"], RECEIVED)] * 3,
        ([], ("button", "Look again", "Nothing is left to label")),
    )
    given = Response.objects.order_by("pk").values_list("contains_bird", "contains_bicycle", "outline")
    assert given[0] == ("unsure_yes", "definitely_no", "")


def test_a_problem_is_reported_and_what_waits_for_the_network_is_told(reader: Reader) -> None:
    report = "button", "Report and go on"
    reader.follow((["r"], ("radio", "It does not load", "What is wrong")))
    reader.press("Space")
    reader.tab_to(*report)
    reader.page.context.set_offline(True)
    reader.follow((["Enter"], "^No answer from the server"))
    expect(reader.page.get_by_role("alert").filter(has_text="No answer")).to_be_visible()
    reader.page.context.set_offline(False)
    reader.tab_to(*report)
    reader.follow((["Enter"], "^Thank you. An organizer looks at that picture"), ([], ("radio", YES, BIRD)))
    assert Report.objects.count() == 1
    statuses = sum(part.role == "status" for part in reader.parts())
    reader.page.context.set_offline(True)
    reader.follow((["4", "4", "Enter"], "^1 answer waits for the network"))
    assert sum(part.role == "status" for part in reader.parts()) == statuses, "words come into what is there already"
    reader.page.context.set_offline(False)
    assert all("ERR_INTERNET_DISCONNECTED" in each for each in reader.complaints)
    reader.complaints.clear()


def test_dialogs_name_themselves_keep_the_focus_and_give_it_back(reader: Reader) -> None:
    for key, name in (
        ("?", "Instructions"),
        ("k", "Keys"),
        ("v", "Last receipts on this device"),
        ("q", "Ask a question"),
        ("r", "Something is wrong with this picture"),
    ):
        reader.press(key)
        expect(reader.page.get_by_role("dialog", name=name)).to_be_visible()
        assert {part.role for part in reader.parts()}.isdisjoint({"main", "application"}), "what is behind is out"
        assert reader.sound() == [], name
        reached = set()
        for _ in range(4):
            reader.press("Tab")
            reached.add(reader.focus.role)
        assert "button" in reached and reached <= {"region", "button", "textbox", "radio", "link", "RootWebArea"}, (
            reached
        )
        reader.press("Escape")
        reader.is_at("radio", YES, BIRD)
    # One that was opened out of the menu gives it back to the button of the menu.
    reader.tab_to("button", "More")
    assert reader.focus.properties["expanded"] is False
    reader.press("Enter")
    reader.tab_to("button", "Keys")
    assert reader.sound() == []
    reader.follow((["Enter"], ("region", "Keys")), (["Escape"], ("button", "More")))


def check(reader: Reader, where: str, language: str = "de") -> None:
    expect(reader.page.locator("html")).to_have_attribute("lang", language)
    assert reader.sound() == [], where
    assert language == "en" or reader.left_in_english() == [], where


@pytest.mark.parametrize(
    "size", [DESK, pytest.param(PHONE, marks=pytest.mark.long("the same words on a phone"))], ids=["desk", "phone"]
)
def test_in_german_every_step_is_german(size: Any, pictures: list[Panel], contexts: Any, live_server: Any) -> None:
    tara = factories.tasker("tara")
    Tasker.objects.filter(pk=tara.pk).update(language="de")
    reader = Reader(contexts(tara, viewport=size, base_url=live_server.url).new_page())
    reader.page.goto("/label/")
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
    Tasker.objects.filter(pk=learner.pk).update(language=language, tutorial_done_at=factories.NOW)
    reader = Reader(contexts(learner, base_url=live_server.url).new_page())

    def then(role: str, where: str) -> None:
        reader.is_at(role)
        check(reader, where, language)

    reader.page.goto("/learn/1/")
    then("group", "a worked example")
    assert reader.focus.name, "the question is read first"
    reader.press("1")
    then("button", "its reasons")
    assert reader.focus.description, "what was right is read with the way on"
    reader.page.goto("/qualification/")
    then("button", "before a try")
    reader.press("Enter")
    then("radio", "its first picture")
    reader.press("3", "3", "Enter")
    reader.page.wait_for_url("**/qualification/marks/**")
    then("button", "its marks")
    assert reader.focus.description == not_right
    assert reader.complaints == []
