"""Learning in a real browser: a newcomer goes through the examples and passes; another one fails and reads why."""

import json
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from labeling.enums import KnownUse
from labeling.learning.content import known_pictures_load, rows
from labeling.models import KnownPicture, LessonSeen, QualificationItem, Tasker
from labeling.policy import Policy
from tests import factories
from tests.browser.label_desk import Desk
from tests.browser.looking import PHONE, Look, organizer
from tests.labeling.learning import cast


def made() -> Tasker:
    """A newcomer, and the pictures that come with the application."""
    organizer()
    known_pictures_load(policy=Policy(), now=factories.NOW)
    return factories.tasker("nell", state="learning")


@pytest.fixture
def newcomer(made_once: Any) -> Tasker:
    return made_once(made)


def pages(nell: Tasker) -> list[Look]:
    """Of a newcomer, of somebody who failed a try, and of an organizer who publishes instructions."""
    nina = cast.ready(factories.tasker("nina", state="learning"))
    attempt = cast.take(nina, timezone.now(), right=0)
    marks = attempt.items.order_by("position").first().public_id

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

    def goes_to(self, path: str) -> "Learner":
        self.page.goto(f"{self.address}{path}")
        return self

    def at(self, where: str) -> None:
        """Wait until the page says where it is and its script listens."""
        expect(self.page.locator(".where .muted")).to_have_text(where)
        self.page.wait_for_load_state("load")

    def answer_first(self) -> None:
        """Give the first answer to a worked example, and wait for what it says."""
        self.press("1")
        expect(self.page.locator("#next")).to_be_focused()
        self.page.wait_for_load_state("load")

    def begin(self) -> "Learner":
        """Begin a try, or go on with it, by Enter."""
        self.goes_to("/qualification/")
        expect(self.page.locator("main form button")).to_be_focused()
        self.press("Enter")
        expect(self.page.locator(".outline-surface")).to_be_visible()
        return self

    def answer_rightly(self) -> None:
        """Answer as the picture is, which nobody at the page can know; of each part, click around it."""
        item_id = self.page.locator("[name=assignment]").input_value()
        known = QualificationItem.objects.select_related("known").get(public_id=item_id).known
        answers = {"contains_bird": known.accepts_bird[0], "contains_bicycle": known.accepts_bicycle[0]}
        for field, answer in answers.items():
            self.page.locator(f"[name={field}][value={answer}]").check(force=True)
        for ring in json.loads(known.outline or "[]"):
            corners = thinned(ring)
            self.corner(*corners, corners[0])
        for field in ("complete", "unoccluded", "real") if known.outline else ():
            self.say(field, getattr(known, field))
        self.submit()
        self.page.wait_for_url("**/qualification/marks/**")


def thinned(ring: list[list[float]], apart: float = 14) -> list[list[float]]:
    """The corners of a ring that lie at least so far from the one before and from the first."""
    kept = [ring[0]]
    for x, y in ring[1:]:
        if all((x - a) ** 2 + (y - b) ** 2 >= apart**2 for a, b in (kept[-1], kept[0])):
            kept.append([x, y])
    return kept


def answered(*, left: int) -> None:
    """Answer the try rightly, up to the last ones, which the page is left with."""
    items = list(QualificationItem.objects.filter(answers__isnull=True).order_by("position"))
    for item in items[: len(items) - left]:
        known = item.known
        right = {"contains_bird": known.accepts_bird[0], "contains_bicycle": known.accepts_bicycle[0]}
        if known.outline:
            right |= {"outline": json.loads(known.outline)}
            right |= {field: getattr(known, field) for field in ("complete", "unoccluded", "real")}
        cast.answer(item, timezone.now(), right)


def test_the_worked_examples_by_keyboard_alone(newcomer: Tasker, contexts: Any, live_server: Any) -> None:
    learner = Learner(contexts(newcomer).new_page(), live_server.url).goes_to("/")
    page = learner.page
    page.get_by_role("button", name="To the worked examples").press("Enter")
    expect(page.get_by_role("button", name="Begin")).to_be_focused()
    learner.press("Enter")
    count = sum(row["use"] == KnownUse.TUTORIAL for row in rows())
    for number in (1, 2, 3):
        learner.at(f"{number} of {count}")
        learner.answer_first()
        if number == 3:
            learner.press("ArrowLeft")
            learner.at(f"2 of {count}")
            learner.press("ArrowRight")
            learner.at(f"3 of {count}")
            learner.answer_first()
        learner.press("Enter" if number % 2 else "ArrowRight")
    learner.at(f"4 of {count}")
    assert LessonSeen.objects.count() == 3
    for known in KnownPicture.objects.filter(use=KnownUse.TUTORIAL).order_by("position")[3 : count - 1]:
        LessonSeen.objects.create(tasker=newcomer, known=known, seen_at=timezone.now())
    learner.goes_to(f"/learn/{count}/")
    learner.answer_first()
    learner.press("Enter")
    expect(page.get_by_role("button", name="To the qualification")).to_be_focused()
    assert LessonSeen.objects.count() == count
    assert learner.complaints == []


def test_a_newcomer_passes_in_the_real_form(newcomer: Tasker, contexts: Any, live_server: Any) -> None:
    """The first picture and the last two of ten; those between are answered as this one is."""
    cast.ready(newcomer)
    learner = Learner(contexts(newcomer).new_page(), live_server.url).begin()
    page = learner.page
    for left in (9, 1, 0):
        expect(page.locator(".outline-surface")).to_be_visible()
        learner.answer_rightly()
        expect(page.locator("h1"), page.locator("table").inner_text()).to_have_text("Fully right")
        expect(page.locator("#next")).to_be_focused()
        if left == 9:  # the try is left, and taken up again where it was
            answered(left=2)
            learner.begin()
            continue
        learner.press("Enter")
    expect(page.locator("h1")).to_have_text("Passed")
    newcomer.refresh_from_db()
    assert newcomer.state == "qualified"
    learner.press("Enter")
    expect(page.locator("h1").first).to_have_text("Label a picture")
    assert learner.complaints == []


def test_on_a_phone_the_page_begins_at_what_was_right(newcomer: Tasker, contexts: Any, live_server: Any) -> None:
    page = contexts(newcomer, viewport=PHONE, has_touch=True, is_mobile=True).new_page()
    page.goto(f"{live_server.url}/learn/1/")
    page.locator(".choice").first.tap()
    expect(page.locator("#next")).to_be_focused()
    expect(page.locator(".outcome")).to_be_in_viewport(ratio=1)
    assert page.locator("#next kbd").is_hidden(), "there is no Enter key"
    assert page.evaluate("scrollY") == 0
