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
from labeling.models import Assignment, GoldMark, Image, Panel, PolicyVersion, Tasker
from labeling.my_work import selectors
from labeling.policy import Policy
from labeling.store import picture_key, picture_store
from labeling.voiding import responses_void
from tests import factories
from tests.browser.label_desk import disc
from tests.browser.looking import Look, organizer


def stored_picture(shade: int) -> Image:
    sha, png = disc(shade)
    picture_store().put(picture_key(sha), png)
    return factories.image(pixels_sha256=sha)


def octagon(radius: int) -> str:
    way = [(0, -10), (7, -7), (10, 0), (7, 7), (0, 10), (-7, 7), (-10, 0), (-7, -7)]
    return json.dumps([[[150 + x * radius // 10, 150 + y * radius // 10] for x, y in way]])


def made() -> tuple[Tasker, User]:
    """A history with an answer of every kind, feedback, reports and questions, open and decided."""
    olga, tara, now = organizer(), factories.tasker("tara"), timezone.now()
    PolicyVersion.objects.update(numbers=Policy(gold_feedback=GoldFeedback.RETIRED).to_json())
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


def pages(found: tuple[Tasker, User]) -> list[Look]:
    tara, olga = found
    return [
        *((tara, address) for address in ("/my-work/", "/my-work/checks/", "/questions/")),
        (tara, "/my-work/", lambda page: page.locator(".own-answers a").nth(3).click()),
        *((olga, address) for address in ("/organizer/reports/", "/organizer/questions/")),
    ]


@pytest.fixture
def worked(made_once: Any) -> tuple[Tasker, User]:
    return made_once(made)


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
    return page.evaluate(
        """() => [...document.querySelectorAll("main :is(button, summary, textarea, input:not([type=hidden]), a)")]
            .filter((each) => !(each.matches("p a") && each.parentElement.textContent.trim() !== each.textContent))
            .map((each) => [each.closest("label") ?? each, each.outerHTML.slice(0, 90)])
            .filter(([target]) => target.getClientRects().length && target.getBoundingClientRect().height < 44)
            .map(([, words]) => words)"""
    )


def test_own_work_is_looked_through_and_downloaded(
    worked: tuple[Tasker, User], visit: Callable[..., Page], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
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
    with page.expect_download() as download:
        page.get_by_role("link", name="Download all, signed").click()
    name = rf"my-work-{worked[0].public_id}-\d{{4}}-\d\d-\d\d\.json"
    assert re.fullmatch(name, download.value.suggested_filename)
    download.value.save_as(tmp_path / "work.json")
    assert json.loads((tmp_path / "work.json").read_text())["count"] == 19
    # On paper there is nothing to choose or download.
    controls = page.locator("main :is(form, [download], [rel=next], #download)")
    assert controls.count() > 2
    page.emulate_media(media="print")
    assert [each for each in controls.all() if each.is_visible()] == []
    expect(page.locator(".own-answers .receipt").first).to_be_visible()
    page.emulate_media(media="screen")
    # A day is chosen.
    page.locator("#by-day ~ table th a").nth(1).click()
    expect(page.locator("h2#answers")).to_contain_text("Your answers of")
    expect(page.locator(".own-answers > li")).to_have_count(1)


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


def test_on_a_phone_all_is_large_and_an_offensive_picture_hidden(
    worked: tuple[Tasker, User], visit: Callable[..., Page]
) -> None:
    """It is shown on demand."""
    for address in ("/my-work/", "/my-work/checks/", "/questions/"):
        assert too_small(visit(address, worked[0], screen="phone")) == [], address
    page = visit("/organizer/reports/", worked[1], screen="phone")
    assert too_small(page) == []
    offensive = page.locator("article", has_text="offensive")
    expect(offensive.locator("img")).to_be_hidden()
    offensive.get_by_text("Show the picture").click()
    expect(offensive.locator("img")).to_be_visible()
