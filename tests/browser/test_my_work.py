"""My work, questions and reports in a real browser: on paper, on a phone, and an outline on its picture."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import Page, expect

from labeling.enums import AssignmentState, ReportDecision, ReportKind
from labeling.models import Assignment, GoldMark, Image, Panel, Tasker
from labeling.my_work import selectors
from labeling.questions.services import question_answer, question_send, report_create, report_decide
from labeling.voiding import responses_void
from policy.enums import GoldFeedback
from policy.models import PolicyVersion
from policy.numbers import Policy
from tests import factories
from tests.browser.label_desk import picture
from tests.browser.looking import HIDDEN, SHOWN, Look, once, organizer, shows


def octagon(radius: int) -> str:
    way = [(0, -10), (7, -7), (10, 0), (7, 7), (0, 10), (-7, 7), (-10, 0), (-7, -7)]
    return json.dumps([[[150 + x * radius // 10, 150 + y * radius // 10] for x, y in way]])


def made() -> tuple[Tasker, User]:
    """A history with an answer of every kind, feedback, reports and questions, open and decided."""
    olga, tara, now = organizer(), factories.tasker("tara"), timezone.now()
    PolicyVersion.objects.update(numbers=Policy(gold_feedback=GoldFeedback.RETIRED).to_json())
    for days in range(9):
        values: dict[str, Any] = {"outline": octagon(90 + days), "now": now - timedelta(days=days, hours=2)}
        if days == 1:
            values |= {"box": None, "bird": "unsure_no", "complete": None, "unoccluded": None, "real": None}
        factories.response(tara, picture(20 + 20 * days), counted=days != 2, **values)
    since = now - timedelta(hours=3)
    responses_void(tasker=tara, since=since, reason="Many answers faster than a picture loads.", by=olga, now=now)
    for more in (_known, _reports, _questions):
        more(tara, olga)
    return tara, olga


def pages(found: tuple[Tasker, User]) -> list[Look]:
    tara, olga = found
    return [
        *((tara, address) for address in ("/my-work/", "/my-work/checks/", "/questions/")),
        (tara, "/my-work/", lambda page: page.locator(".own-answers a").nth(3).click()),
        *((olga, address) for address in ("/organizer/reports/", "/organizer/questions/")),
    ]


worked = once(made)


def _known(tara: Tasker, _: User) -> None:
    then = timezone.now() - timedelta(days=8)
    for number in range(10):
        panel, retired = picture(number), None if number else then
        known = factories.gold(panel, outline=octagon(80), retired_at=retired, retired_because="Old.")
        response = factories.response(tara, panel, outline=octagon(100), now=then, counted=False)
        Assignment.objects.filter(pk=response.assignment_id).update(known=known, stands_for=panel, expires_at=then)
        marks = {"right": number > 0, "marks": {"contains_bird": True, "outline": number > 0}, "marked_at": then}
        GoldMark.objects.create(response=response, known=known, tasker=tara, **marks)


def _reports(tara: Tasker, olga: User) -> None:
    now = timezone.now()
    words = "The lower half of the picture is grey, and a long_word_" + "without_end_" * 12
    for number, kind in enumerate(ReportKind):
        held = factories.assignment(tara, picture(201 + number), state=AssignmentState.LEASED)
        Panel.objects.filter(pk=held.panel_id).update(leased=1)
        told = {"kind": kind, "words": words, "now": now - timedelta(hours=number)}
        report_create(tasker=tara, assignment_id=held.public_id, lease_token=None, **told)
    image = Image.objects.get(reports__kind=ReportKind.DOES_NOT_LOAD)
    report_decide(image=image, decision=ReportDecision.KEPT_OUT, reply="It is broken.", by=olga, now=now)


def _questions(tara: Tasker, olga: User) -> None:
    now = timezone.now()
    question_send(tasker=tara, text="Does a bird's shadow count as a depiction?", now=now)
    for text, answer, everybody in (
        ("Is a unicycle a bicycle?", "No: a bicycle has two wheels.\n\nThree make a tricycle.", True),
        ("May I take a break of a day?", "Of course.", False),
    ):
        asked = question_send(tasker=tara, text=text, now=now).pk
        told = {"answer": answer, "to_everybody": everybody, "requalify": False, "by": olga, "now": timezone.now()}
        question_answer(question_id=asked, **told)


def too_small(page: Page) -> list[str]:
    """The things to touch within the page's content that are under 44 px high, links amid a sentence apart."""
    return page.evaluate(
        """() => [...document.querySelectorAll("main :is(button, summary, textarea, input:not([type=hidden]), a)")]
            .filter((each) => !(each.matches("p a") && each.parentElement.textContent.trim() !== each.textContent))
            .map((each) => [each.closest("label") ?? each, each.outerHTML.slice(0, 90)])
            .filter(([target]) => target.getClientRects().length && target.getBoundingClientRect().height < 44)
            .map(([, words]) => words)"""
    )


def test_on_paper_there_is_nothing_to_choose_or_download(
    worked: tuple[Tasker, User], visit: Callable[..., Page], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selectors, "ANSWERS_PER_PAGE", 4)
    page = visit("/my-work/", worked[0])
    controls = page.locator("main :is(form, [download], [rel=next], #download)")
    assert controls.count() > 2
    page.emulate_media(media="print")
    assert [each for each in controls.all() if each.is_visible()] == []
    expect(page.locator(".own-answers .receipt").first).to_be_visible()


def test_the_outline_lies_on_the_picture(worked: tuple[Tasker, User], visit: Callable[..., Page]) -> None:
    page = visit("/my-work/", worked[0])
    page.locator(".own-answers a").first.click()
    expect(page.locator(".traced img")).to_have_js_property("naturalWidth", 299)
    image, outline = (page.locator(f".traced {each}").bounding_box() for each in ("img", ".own"))
    assert image and outline
    # An octagon of 90 px around the middle of a picture of 299.
    zoom = image["width"] / 299
    assert outline["x"] - image["x"] == pytest.approx(60 * zoom, abs=3)
    assert outline["width"] == pytest.approx(180 * zoom, abs=6)


def test_on_a_phone_all_is_large_and_an_offensive_picture_hidden(
    worked: tuple[Tasker, User], visit: Callable[..., Page]
) -> None:
    """It is shown on demand."""
    for address in ("/my-work/", "/my-work/checks/", "/questions/"):
        assert too_small(visit(address, worked[0], screen="phone")) == [], address
    page = visit("/organizer/reports/", worked[1], screen="phone")
    assert too_small(page) == []
    offensive = "article:has-text('offensive')"
    shows(page, {f"{offensive} img": HIDDEN})
    page.click(f"{offensive} >> text=Show the picture")
    shows(page, {f"{offensive} img": SHOWN})
