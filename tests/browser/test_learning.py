"""Learning in a real browser: a newcomer goes through the examples and passes; another one fails and reads why."""

import json
from random import Random
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from labeling.enums import KnownUse
from labeling.learning.content import known_pictures_load, listed_pictures
from labeling.models import KnownPicture, LessonSeen, QualificationItem, Tasker
from policy.numbers import Policy
from tests import factories
from tests.browser.label_desk import Desk
from tests.browser.looking import FOCUSED, HIDDEN, PHONE, SHOWN, Look, once, organizer, shows
from tests.labeling.learning import cast


def made() -> Tasker:
    """A newcomer, and the pictures that come with the application."""
    organizer()
    known_pictures_load(policy=Policy(), now=factories.NOW)
    return factories.tasker("nell", state="learning")


newcomer = once(made)


def pages(nell: Tasker) -> list[Look]:
    """Of a newcomer, of somebody who failed a try, and of an organizer who publishes instructions."""
    nina = cast.ready(factories.tasker("nina", state="learning"))
    marks = cast.take(nina, timezone.now(), right=0).items.order_by("position").first().public_id

    def look_over(page: Page) -> None:
        page.fill("#summary", "Wheels count.")
        page.get_by_role("button", name="Look over it").click()
        expect(page.locator("h1")).to_have_text("Publish these instructions")

    lessons = ("/learn/", "/learn/1/", "/learn/1/?answer=bicycle", "/learn/9/?answer=show", "/qualification/")
    tries = (f"/qualification/marks/{marks}/", "/qualification/tries/1/", "/qualification/")
    return [
        *((nell, address) for address in lessons),
        *((nina, address) for address in tries),
        ("olga", "/organizer/learning/"),
        ("olga", "/organizer/learning/", look_over),
    ]


class Learner(Desk):
    """Somebody at the pages of learning who has nothing but a keyboard, save for outlines."""

    def at(self, where: str) -> None:
        """Wait until the page says where it is and its script listens."""
        expect(self.page.locator(".where .muted")).to_have_text(where)
        self.page.wait_for_load_state("load")

    def answer_first(self) -> None:
        """Give the first answer to a worked example, and wait for what it says."""
        self.follow(("1", "#next", FOCUSED))
        self.page.wait_for_load_state("load")

    def begin(self) -> "Learner":
        """Begin a try, or go on with it, by Enter."""
        self.page.goto("/qualification/")
        self.follow(("", "main form button", FOCUSED), ("Enter", ".outline-surface", SHOWN))
        return self

    def answer_rightly(self) -> None:
        """Answer as the picture is, which nobody at the page can know; of each part, click around it."""
        item_id = self.page.locator("[name=assignment]").input_value()
        answers = right(QualificationItem.objects.get(public_id=item_id).known)
        for field in ("contains_bird", "contains_bicycle"):
            self.choose(field, answers.pop(field))
        for ring in answers.pop("outline", []):
            corners = thinned(ring)
            self.corner(*corners, corners[0])
        for field, value in answers.items():
            self.say(field, value)
        self.submit()
        self.page.wait_for_url("**/qualification/marks/**")


def thinned(ring: list[list[float]], apart: float = 18) -> list[list[float]]:
    """The corners of a ring that lie at least so far from the one before and from the first."""
    kept = [ring[0]]
    for x, y in ring[1:]:
        if all((x - a) ** 2 + (y - b) ** 2 >= apart**2 for a, b in (kept[-1], kept[0])):
            kept.append([x, y])
    return kept


def answered(*, left: int) -> None:
    """Answer the try rightly, up to the last ones, which the page is left with."""
    for item in list(QualificationItem.objects.filter(answers__isnull=True).order_by("position"))[:-left]:
        cast.answer(item, timezone.now(), right(item.known))


def right(known: KnownPicture) -> dict[str, Any]:
    """What is right about a known picture."""
    answers = {"contains_bird": known.accepts_bird[0], "contains_bicycle": known.accepts_bicycle[0]}
    shape = {field: getattr(known, field) for field in ("complete", "unoccluded", "real")} if known.outline else {}
    return answers | shape | ({"outline": json.loads(known.outline)} if known.outline else {})


def test_the_worked_examples_by_keyboard_alone(newcomer: Tasker, contexts: Any, live_server: Any) -> None:
    learner = Learner(contexts(newcomer, base_url=live_server.url).new_page(), live_server.url)
    page = learner.page
    page.goto("/")
    page.get_by_role("button", name="To the worked examples").press("Enter")
    expect(page.get_by_role("button", name="Begin")).to_be_focused()
    learner.press("Enter")
    count = sum(row["use"] == KnownUse.TUTORIAL for row in listed_pictures())
    way = [("", 1), ("Enter", 2), ("ArrowRight", 3), ("ArrowLeft", 2), ("ArrowRight", 3), ("Enter", 4)]
    for step, (key, number) in enumerate(way):
        learner.press(*key.split())
        learner.at(f"{number} of {count}")
        if step in (0, 1, 2, 4):
            learner.answer_first()
    assert LessonSeen.objects.count() == 3
    for known in KnownPicture.objects.filter(use=KnownUse.TUTORIAL).order_by("position")[3 : count - 1]:
        LessonSeen.objects.create(tasker=newcomer, known=known, seen_at=timezone.now())
    page.goto(f"/learn/{count}/")
    learner.answer_first()
    learner.press("Enter")
    expect(page.get_by_role("button", name="To the qualification")).to_be_focused()
    assert LessonSeen.objects.count() == count
    assert learner.complaints == []


def test_a_newcomer_passes_in_the_real_form(
    newcomer: Tasker, contexts: Any, live_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first picture and the last of ten; those between are answered as this one is.

    Always the same ten: of a few, the corners that are left of the outline cross.
    """
    monkeypatch.setattr("labeling.pages.learning_views._random", Random(1))
    cast.ready(newcomer)
    learner = Learner(contexts(newcomer, base_url=live_server.url).new_page(), live_server.url).begin()
    page = learner.page
    for left in (9, 0):
        learner.answer_rightly()
        expect(page.locator("h1"), page.locator("table").inner_text()).to_have_text("Fully right")
        learner.follow(("", "#next", FOCUSED))
        if left:  # the next one is there; the try is left, and taken up again where it is by then
            learner.follow(("Enter", ".outline-surface", SHOWN))
            answered(left=1)
            learner.begin()
    learner.follow(("Enter", "h1", "Passed"))
    newcomer.refresh_from_db()
    assert newcomer.state == "qualified"
    learner.follow(("Enter", "h1 >> nth=0", "Label a picture"))
    assert learner.complaints == []


def test_on_a_phone_the_page_begins_at_what_was_right(newcomer: Tasker, contexts: Any, live_server: Any) -> None:
    page = contexts(newcomer, viewport=PHONE, has_touch=True, is_mobile=True).new_page()
    page.goto(f"{live_server.url}/learn/1/")
    page.locator(".choice").first.tap()
    shows(page, {"#next": FOCUSED, "#next kbd": HIDDEN})  # there is no Enter key
    expect(page.locator(".outcome")).to_be_in_viewport(ratio=1)
    assert page.evaluate("scrollY") == 0
