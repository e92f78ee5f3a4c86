"""Learning in a real browser: a newcomer goes through the examples and passes; another one fails and reads why."""

import json
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from labeling.enums import KnownUse
from labeling.learning.content import known_pictures_load, rows
from labeling.models import LessonSeen, QualificationAttempt, QualificationItem, Tasker
from labeling.policy import Policy
from labeling.selectors import forget_versions
from tests import factories
from tests.browser.looking import PHONE, violations
from tests.labeling.learning.cast import UNSURE, answer

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
]
ANSWERS = ["definitely_yes", "unsure_yes", "unsure_no", "definitely_no"]


@pytest.fixture
def newcomer(transactional_db: None) -> Tasker:
    """A newcomer, and the pictures that come with the application."""
    forget_versions()
    factories.policy_version()
    known_pictures_load(policy=Policy(), now=factories.NOW)
    return factories.tasker("nell", state="learning")


class Learner:
    """Somebody at the pages of learning who has nothing but a keyboard, save for outlines."""

    def __init__(self, page: Page, address: str) -> None:
        self.page, self.address = page, address
        self.complaints: list[str] = []
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def open(self, path: str) -> "Learner":
        self.page.goto(f"{self.address}{path}")
        return self

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

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
        self.open("/qualification/")
        expect(self.page.locator("main form button")).to_be_focused()
        self.press("Enter")
        expect(self.page.locator(".outline-surface")).to_be_visible()
        return self

    def item(self) -> QualificationItem:
        """What the picture on the page is, as nobody at the page can know."""
        item_id = self.page.locator("[name=assignment]").input_value()
        return QualificationItem.objects.select_related("known").get(public_id=item_id)

    def answer_rightly(self) -> None:
        known = self.item().known
        self._choose(1, known.accepts_bird[0])
        self._choose(2, known.accepts_bicycle[0])
        if known.outline:
            self._draw(json.loads(known.outline))
            for field in ("complete", "unoccluded", "real"):
                value = str(getattr(known, field)).lower()
                self.page.locator(f"[name={field}][value={value}]").check(force=True)
        self.submit()

    def answer_unsure(self) -> None:
        self._choose(1, "unsure_no")
        self._choose(2, "unsure_no")
        self.submit()

    def submit(self) -> None:
        self.page.click("#submit")
        self.page.wait_for_url("**/qualification/marks/**")

    def _choose(self, question: int, answer: str) -> None:
        fields = {1: "contains_bird", 2: "contains_bicycle"}
        self.page.locator(f"[name={fields[question]}][value={answer}]").check(force=True)

    def _draw(self, rings: list[list[list[float]]]) -> None:
        """Click around each part; every corner far enough from the last one to be a corner of its own."""
        box = self.page.locator(".outline-surface").bounding_box()
        assert box is not None
        left, top, width, height = map(float, self.view_box().split())
        for ring in rings:
            corners = thinned(ring)
            for x, y in [*corners, corners[0]]:
                self.page.mouse.click(
                    box["x"] + (x - left) * box["width"] / width, box["y"] + (y - top) * box["height"] / height
                )

    def view_box(self) -> str:
        script = "() => document.querySelector('.outline-surface').getAttribute('viewBox')"
        return str(self.page.evaluate(script))


def thinned(ring: list[list[float]], apart: float = 14) -> list[list[float]]:
    """The corners of a ring that lie at least so far from the one before and from the first."""
    kept = [ring[0]]
    for x, y in ring[1:]:
        if all((x - a) ** 2 + (y - b) ** 2 >= apart**2 for a, b in (kept[-1], kept[0])):
            kept.append([x, y])
    return kept


def test_the_worked_examples_by_keyboard_alone(newcomer: Tasker, contexts: Any, live_server: Any) -> None:
    learner = Learner(contexts(newcomer).new_page(), live_server.url).open("/")
    page = learner.page
    page.get_by_role("button", name="To the worked examples").press("Enter")
    expect(page.get_by_role("button", name="Begin")).to_be_focused()
    learner.press("Enter")
    count = sum(row["use"] == KnownUse.TUTORIAL for row in rows())
    for number in range(1, count + 1):
        learner.at(f"{number} of {count}")
        learner.answer_first()
        if number == 3:
            learner.press("ArrowLeft")
            learner.at(f"2 of {count}")
            learner.press("ArrowRight")
            learner.at(f"3 of {count}")
            learner.answer_first()
        learner.press("Enter" if number % 2 else "ArrowRight")
    expect(page.get_by_role("button", name="To the qualification")).to_be_focused()
    assert LessonSeen.objects.count() == count
    assert learner.complaints == []


def test_on_a_phone_the_page_begins_at_what_was_right(newcomer: Tasker, contexts: Any, live_server: Any) -> None:
    page = contexts(newcomer, viewport=PHONE, has_touch=True, is_mobile=True).new_page()
    page.goto(f"{live_server.url}/learn/1/")
    page.locator(".choice").first.tap()
    expect(page.locator("#next")).to_be_focused()
    expect(page.locator(".outcome")).to_be_in_viewport(ratio=1)
    assert page.locator("#next kbd").is_hidden(), "there is no Enter key"
    assert page.evaluate("scrollY") == 0


def test_a_newcomer_passes_in_the_real_form(newcomer: Tasker, contexts: Any, live_server: Any) -> None:
    Tasker.objects.update(tutorial_done_at=factories.NOW)
    learner = Learner(contexts(newcomer).new_page(), live_server.url).begin()
    page = learner.page
    for number in range(1, 11):
        expect(page.locator(".outline-surface")).to_be_visible()
        learner.answer_rightly()
        expect(page.locator("h1"), page.locator("table").inner_text()).to_have_text("Fully right")
        expect(page.locator("#next")).to_be_focused()
        assert QualificationItem.objects.filter(answered_at__isnull=False).count() == number
        learner.press("Enter")
    expect(page.locator("h1")).to_have_text("Passed")
    newcomer.refresh_from_db()
    assert newcomer.state == "qualified"
    learner.press("Enter")
    expect(page.locator("h1").first).to_have_text("Label a picture")
    assert learner.complaints == []


def test_another_one_fails_and_reads_why(newcomer: Tasker, contexts: Any, live_server: Any) -> None:
    Tasker.objects.update(tutorial_done_at=factories.NOW)
    learner = Learner(contexts(newcomer).new_page(), live_server.url).begin()
    page = learner.page
    for number in range(10):
        expect(page.locator(".outline-surface")).to_be_visible()
        if number == 5:  # the try is left, and taken up again where it was
            learner.begin()
        known = learner.item().known
        learner.answer_unsure()
        expect(page.locator("h1")).to_have_text("Not fully right")
        expect(page.locator(".marks")).to_contain_text(known.reasons["en"]["contains_bird"])
        expect(page.locator(".marks")).to_contain_text("Not sure, best guess no")
        page.locator("#next").click()
    expect(page.locator("h1")).to_have_text("Not passed")
    assert QualificationAttempt.objects.get().passed is False
    page.locator(".examples a").first.click()
    expect(page.locator(".where")).to_contain_text("Learn")
    assert learner.complaints == []


def test_a_different_answer_from_another_tab_changes_nothing(newcomer: Tasker, contexts: Any, live_server: Any) -> None:
    Tasker.objects.update(tutorial_done_at=factories.NOW)
    context = contexts(newcomer)
    first = Learner(context.new_page(), live_server.url).begin()
    second = Learner(context.new_page(), live_server.url).open("/qualification/picture/")
    expect(second.page.locator(".outline-surface")).to_be_visible()
    item = first.item()
    first.answer_unsure()
    item.refresh_from_db()
    assert item.answers is not None
    before = item.answers["sha256"]
    second.open("/qualification/picture/")
    assert second.item() != item
    item.refresh_from_db()
    assert item.answers["sha256"] == before


def test_axe_finds_nothing(newcomer: Tasker, contexts: Any, live_server: Any) -> None:
    # axe is put in from outside the page, which the content policy rightly forbids to anybody else.
    page = contexts(newcomer, bypass_csp=True).new_page()
    learner = Learner(page, live_server.url)
    for path in ("/learn/", "/learn/1/", "/learn/1/?answer=bicycle", "/learn/9/?answer=show", "/qualification/"):
        assert violations(learner.open(path).page) == [], path
    Tasker.objects.update(tutorial_done_at=factories.NOW)
    assert violations(learner.open("/qualification/").page) == []
    learner.begin().answer_unsure()
    assert violations(page) == [], "marks"
    for item in QualificationItem.objects.filter(answers__isnull=True):
        answer(item, timezone.now(), UNSURE)
    for path in ("/qualification/tries/1/", "/qualification/"):
        assert violations(learner.open(path).page) == [], path


def test_axe_finds_nothing_on_the_organizers_page(newcomer: Tasker, contexts: Any, live_server: Any) -> None:
    page = contexts(factories.user("olga", "organizers"), bypass_csp=True).new_page()
    learner = Learner(page, live_server.url).open("/organizer/learning/")
    assert violations(page) == []
    page.fill("#summary", "Wheels count.")
    page.get_by_role("button", name="Look over it").click()
    expect(page.locator("h1")).to_have_text("Publish these instructions")
    assert violations(page) == []
    assert learner.complaints == []
