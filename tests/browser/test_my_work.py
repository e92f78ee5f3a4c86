"""My work, questions and reports in a real browser: accessible, within the policy, on every screen, by keyboard."""

import json
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import Page, expect

from labeling.asking.services import question_answer, question_ask, report_decide, report_make
from labeling.enums import AssignmentState, GoldFeedback, ReportDecision, ReportKind
from labeling.models import Assignment, GoldMark, Image, Panel, PolicyVersion, Question, Report, Tasker
from labeling.my_work import selectors
from labeling.png import encode_png, pixels_sha256
from labeling.policy import Policy
from labeling.selectors import forget_versions
from labeling.store import picture_key, picture_store
from labeling.voiding import responses_void
from tests import factories
from tests.browser.looking import SCREENS, too_wide, violations

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

TASKER_PAGES = ["/my-work/", "/my-work/checks/", "/questions/"]
ORGANIZER_PAGES = ["/organizer/reports/", "/organizer/questions/"]


@pytest.fixture
def cast(transactional_db: None) -> tuple[Tasker, User]:
    """Tara, who labels, and Olga, who organizes; retired known pictures are told."""
    forget_versions()
    factories.policy_version()
    PolicyVersion.objects.update(numbers=Policy(gold_feedback=GoldFeedback.RETIRED).to_json())
    return factories.tasker("tara"), factories.user("olga", "organizers")


def stored_picture(shade: int) -> Image:
    """A picture that is in the store: a disc on a ground of its own shade."""
    size = 299
    rows = [[(x - 150) ** 2 + (y - 150) ** 2 < 90**2 for x in range(size)] for y in range(size)]
    pixels = bytes(
        each for row in rows for inside in row for each in ((200, 90, shade) if inside else (shade, 150, 170))
    )
    sha = pixels_sha256(size, size, pixels)
    picture_store().put(picture_key(sha), encode_png(size, size, pixels))
    return factories.image(pixels_sha256=sha)


def octagon(radius: int) -> str:
    way = [(0, -10), (7, -7), (10, 0), (7, 7), (0, 10), (-7, 7), (-10, 0), (-7, -7)]
    return json.dumps([[[150 + x * radius // 10, 150 + y * radius // 10] for x, y in way]])


@pytest.fixture
def worked(cast: tuple[Tasker, User]) -> tuple[Tasker, User]:
    """A history with an answer of every kind, feedback, reports and questions, open and decided."""
    tara, olga = cast
    now = timezone.now()
    for days in range(9):
        panel = factories.panel(stored_picture(20 + 20 * days))
        values: dict[str, Any] = {"outline": octagon(90 + days), "now": now - timedelta(days=days, hours=2)}
        if days == 1:
            values |= {"box": None, "bird": "unsure_no", "complete": None, "unoccluded": None, "real": None}
        factories.response(tara, panel, counted=days != 2, **values)
    since = now - timedelta(hours=3)
    responses_void(tasker=tara, since=since, reason="Many answers faster than a picture loads.", by=olga, now=now)
    _known(tara)
    _reports(tara, olga)
    _questions(tara, olga)
    return tara, olga


def _known(tara: Tasker) -> None:
    then = timezone.now() - timedelta(days=8)
    for number in range(10):
        image = stored_picture(number)
        known = factories.gold(
            factories.panel(image),
            outline=octagon(80),
            retired_at=then if number == 0 else None,
            retired_because="Old.",
        )
        assert known.panel is not None
        response = factories.response(tara, known.panel, outline=octagon(100), now=then, counted=False)
        Assignment.objects.filter(pk=response.assignment_id).update(
            known=known, stands_for=known.panel, expires_at=then
        )
        marks = {"contains_bird": True, "outline": number > 0}
        GoldMark.objects.create(
            response=response, known=known, tasker=tara, right=number > 0, marks=marks, marked_at=then
        )


def _reports(tara: Tasker, olga: User) -> None:
    now = timezone.now()
    for number, kind in enumerate(ReportKind):
        panel = factories.panel(stored_picture(201 + number))
        held = factories.assignment(tara, panel, state=AssignmentState.LEASED)
        Panel.objects.filter(pk=panel.pk).update(leased=1)
        report_make(
            tasker=tara,
            assignment_id=held.public_id,
            lease_token=None,
            kind=kind,
            words="The lower half of the picture is grey, and a long_word_" + "without_end_" * 12,
            now=now - timedelta(hours=number),
        )
    image = Image.objects.get(reports__kind=ReportKind.DOES_NOT_LOAD)
    report_decide(image=image, decision=ReportDecision.KEPT_OUT, reply="It is broken.", by=olga, now=now)


def _questions(tara: Tasker, olga: User) -> None:
    now = timezone.now()
    texts = ("Does a bird's shadow count as a depiction?", "Is a unicycle a bicycle?", "May I take a break of a day?")
    asked = [question_ask(tasker=tara, text=text, now=now) for text in texts]
    for question, everybody in zip(asked[1:], (True, False), strict=True):
        question_answer(
            question_id=question.pk,
            answer="No: a bicycle has two wheels.\n\nThree make a tricycle." if everybody else "Of course.",
            to_everybody=everybody,
            requalify=False,
            by=olga,
            now=timezone.now(),
        )


def too_small(page: Page) -> list[str]:
    """The things to touch within the page's content that are under 44 px high, links amid a sentence apart."""
    return page.evaluate(  # type: ignore[no-any-return]
        """() => [...document.querySelectorAll("main :is(button, summary, textarea, input:not([type=hidden]), a)")]
            .filter((each) => !(each.matches("p a") && each.parentElement.textContent.trim() !== each.textContent))
            .map((each) => [each.closest("label") ?? each, each.outerHTML.slice(0, 90)])
            .filter(([target]) => target.getClientRects().length && target.getBoundingClientRect().height < 44)
            .map(([, words]) => words)"""
    )


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("filled", ["cast", "worked"], ids=["empty", "full"])
def test_the_pages_are_accessible_and_fit(
    filled: str, screen: str, visit: Callable[..., Page], request: pytest.FixtureRequest
) -> None:
    tara, olga = request.getfixturevalue(filled)
    for address in TASKER_PAGES + ORGANIZER_PAGES:
        page = visit(address, tara if address in TASKER_PAGES else olga, screen=screen)
        for details in page.locator("main details").all():
            details.locator("summary").click()
        assert violations(page) == [], address
        assert too_wide(page) == [], address
        if screen == "phone":
            assert too_small(page) == [], address


@pytest.mark.parametrize("screen", SCREENS)
def test_an_answer_is_accessible_and_fits(screen: str, worked: tuple[Tasker, User], visit: Callable[..., Page]) -> None:
    page = visit("/my-work/", worked[0], screen=screen)
    page.locator(".own-answers a").nth(3).click()
    expect(page.locator("h1")).to_contain_text("Answer ")
    assert violations(page) == []
    assert too_wide(page) == []


def test_the_outline_lies_on_the_picture(worked: tuple[Tasker, User], visit: Callable[..., Page]) -> None:
    page = visit("/my-work/", worked[0])
    page.locator(".own-answers a").first.click()
    picture, drawn = page.locator(".traced img"), page.locator(".traced .own")
    expect(drawn).to_have_count(1)
    image, outline = picture.bounding_box(), drawn.bounding_box()
    assert image and outline
    # An octagon of 90 px around the middle of a picture of 299.
    zoom = image["width"] / 299
    assert outline["x"] - image["x"] == pytest.approx(60 * zoom, abs=3)
    assert outline["width"] == pytest.approx(180 * zoom, abs=6)
    assert page.evaluate("document.querySelector('.traced img').naturalWidth") == 299


def test_a_day_is_chosen_and_pages_follow(
    worked: tuple[Tasker, User], visit: Callable[..., Page], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selectors, "ANSWERS_ON_A_PAGE", 4)
    page = visit("/my-work/", worked[0])
    seen = page.locator(".own-answers code").all_inner_texts()
    while page.locator("a[rel=next]").count():
        page.locator("a[rel=next]").click()
        page.wait_for_load_state()
        seen += page.locator(".own-answers code").all_inner_texts()
    assert len(seen) == len(set(seen)) == 19
    page.get_by_role("link", name="All, newest first").click()
    page.locator("#by-day ~ table th a").nth(1).click()
    expect(page.locator("h2#answers")).to_contain_text("Your answers of")
    expect(page.locator(".own-answers > li")).to_have_count(1)


def test_on_paper_there_is_nothing_to_choose_or_download(
    worked: tuple[Tasker, User], visit: Callable[..., Page]
) -> None:
    page = visit("/my-work/", worked[0])
    controls = page.locator("main :is(form, [download], [rel=next], #download)")
    assert controls.count() > 2
    page.emulate_media(media="print")
    assert [each for each in controls.all() if each.is_visible()] == []
    expect(page.locator(".own-answers .receipt").first).to_be_visible()


def test_the_download_is_a_file(worked: tuple[Tasker, User], visit: Callable[..., Page], tmp_path: Path) -> None:
    page = visit("/my-work/", worked[0])
    with page.expect_download() as download:
        page.get_by_role("link", name="Download all, signed").click()
    assert re.fullmatch(rf"my-work-{worked[0].public_id}-\d{{4}}-\d\d-\d\d\.json", download.value.suggested_filename)
    download.value.save_as(tmp_path / "work.json")
    assert json.loads((tmp_path / "work.json").read_text())["count"] == 19


def test_a_question_is_asked_and_answered_by_keyboard(cast: tuple[Tasker, User], visit: Callable[..., Page]) -> None:
    tara, olga = cast
    page = visit("/questions/", tara)
    page.locator("#text").focus()
    page.keyboard.type("Is a shadow a bird?")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("Your question is with the organizers")
    desk = visit("/organizer/questions/", olga)
    desk.get_by_label("Answer", exact=True).focus()
    desk.keyboard.type("No.")
    desk.keyboard.press("Tab")
    desk.keyboard.press("Space")
    desk.keyboard.press("ArrowDown")
    desk.keyboard.press("Tab")
    desk.keyboard.press("Tab")
    desk.keyboard.press("Enter")
    expect(desk.get_by_role("status")).to_contain_text("version 2 of the instructions")
    assert Question.objects.get().answer == "No."
    page.reload()
    expect(page.locator("section", has_text="Clarifications for everybody").locator(".words")).to_have_text("No.")


def test_an_offensive_picture_is_shown_on_demand(worked: tuple[Tasker, User], visit: Callable[..., Page]) -> None:
    page = visit("/organizer/reports/", worked[1])
    offensive = page.locator("article", has_text="offensive")
    expect(offensive.locator("img")).to_be_hidden()
    offensive.get_by_text("Show the picture").click()
    expect(offensive.locator("img")).to_be_visible()
    expect(page.locator("article", has_text="instructions unclear").locator("img")).to_be_visible()


def test_a_report_is_decided(worked: tuple[Tasker, User], visit: Callable[..., Page]) -> None:
    page = visit("/organizer/reports/", worked[1], screen="phone")
    report = page.locator("article", has_text="instructions unclear")
    report.get_by_text("Keep it out").click()
    report.get_by_role("button", name="Decide").click()
    expect(page.get_by_role("alert")).to_contain_text("Say why nobody is asked")
    report.get_by_text("Give it back").click()
    report.get_by_label("Reply, or the reason").fill("See version 2.")
    report.get_by_role("button", name="Decide").click()
    expect(page.get_by_role("status")).to_contain_text("is decided")
    assert Report.objects.get(kind=ReportKind.UNCLEAR).reply == "See version 2."
