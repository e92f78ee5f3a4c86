"""The tasker's page in a real browser: a label by mouse, by keys and on a phone, and everything that can come between.

Every test fails on any word in the console that it does not expect, so also on a breach of the content policy.
"""

import gzip
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Route, expect

from accounts.models import UserSession
from labeling.enums import AssignmentState, MonitoringAction
from labeling.leases import assignment_lease
from labeling.models import Assignment, InstructionVersion, Notice, Panel, Question, Report, Response, Tasker
from labeling.pages import label_form
from labeling.pages.label_form import MODULES
from labeling.selectors import forget_versions
from monitoring.actions import action_take
from policy.enums import OutlineGate
from policy.models import PolicyVersion
from policy.numbers import Policy
from policy.selectors import policy_in_force
from tests import factories
from tests.browser.label_desk import RECEIVED, SIZE, SQUARE, Desk, picture, wait_until
from tests.browser.looking import CHECKED, DESK, EMPTY, FOCUSED, HIDDEN, OPEN, PHONE, SHOWN, UNCHECKED, counts, has

STATEMENTS = ("complete", "unoccluded", "real")
STATIC = Path(__file__).resolve().parents[2] / "static"


@pytest.fixture
def at_page(pictures: list[Panel], contexts: Any, live_server: Any) -> Callable[..., Desk]:
    """Return a function that puts Tara at the page with a browser of her own; `clock` is one that a test moves."""

    def _at_page(*, clock: bool = False, **options: Any) -> Desk:
        tara = Tasker.objects.filter(user__username="tara").first() or factories.tasker("tara")
        page = contexts(tara, **options).new_page()
        if clock:
            page.clock.install()
        return Desk(page, live_server.url).open()

    return _at_page


def said(response: Response) -> tuple[Any, ...]:
    """The answers to the questions, without the outline."""
    return tuple(getattr(response, each) for each in ("contains_bird", "contains_bicycle", *STATEMENTS))


# One label, all the way.


def test_a_bird_is_labeled_with_the_mouse(desk: Desk) -> None:
    desk.answer(1, 1)
    desk.answer(2, 4)
    expect(desk.page.locator(".help")).to_have_text(re.compile("^Click around it.*Keys:", re.S), use_inner_text=True)
    desk.corner(*SQUARE[:2])
    desk.follow(("", "#outline-state", re.compile("or press C")))
    desk.corner(*SQUARE[2:], SQUARE[0])
    for name, value in (("complete", True), ("unoccluded", False), ("real", True)):
        desk.say(name, value)
    desk.missing.to_have_text("Ready to submit")
    desk.submit()
    desk.status.to_have_text(RECEIVED)
    response = Response.objects.get()
    assert said(response) == ("definitely_yes", "definitely_no", True, False, True)
    box = (response.box_xmin, response.box_ymin, response.box_xmax, response.box_ymax)
    assert box == pytest.approx((6_000, 6_000, 24_000, 24_000), abs=50)
    assert 0 < response.milliseconds < 60_000
    # The receipt is never broken in the middle of a line.
    code = desk.page.locator("#status .receipt")
    expect(code).to_have_text(response.receipt)
    for width in range(320, 420, 20):
        desk.page.set_viewport_size({"width": width, "height": 844})
        assert code.evaluate("code => code.getClientRects().length") == 1, width


def test_twelve_keystrokes_label_four_negative_pictures_and_a_fifth_is_waited_for(at_page: Any) -> None:
    desk = at_page(clock=True)
    desk.follow(("4 4 n", "ticked", UNCHECKED))  # the key does nothing where no outline is asked
    desk.goes_on("Enter")
    for _ in range(2):
        desk.goes_on("4", "4", "Enter")
    desk.goes_on("4", "4", "Enter", to="#empty")
    desk.follow(("", "#empty-title", "Nothing is left to label"))
    wait_until(desk.page, lambda: Response.objects.count() == 4)
    given = Response.objects.values_list("contains_bird", "contains_bicycle", "outline", "complete")
    assert list(given) == [("definitely_no", "definitely_no", "", None)] * 4
    picture(200)
    desk.page.clock.run_for(61_000)
    desk.follow(("", ".outline-surface", SHOWN))
    assert desk.complaints == []


def test_a_bicycle_is_labeled_with_the_keyboard_alone(desk: Desk) -> None:
    desk.press("4", "2")
    for key in ("ArrowLeft", "ArrowUp"):
        desk.press(*["Shift+" + key] * 8)
    desk.press("Enter", *["Control+ArrowRight"] * 3, "Enter", *["Control+ArrowDown"] * 3, "Enter")
    desk.follow(("c", "missing", "Still missing: question 4"), ("1 2 3 3 Enter", "status", RECEIVED))
    response = Response.objects.get()
    assert said(response) == ("definitely_no", "unsure_yes", True, True, False)
    assert response.outline.count("[") == 1 + 1 + 3
    assert (response.box_xmax - response.box_xmin, response.box_ymax - response.box_ymin) == (15_000, 15_000)


def test_a_label_on_a_phone_by_touch(at_page: Any) -> None:
    """The picture is on top, every target is large, and no key is told of."""
    desk = at_page(viewport=PHONE, has_touch=True, is_mobile=True)
    for question, choice in ((0, 0), (1, 3)):
        desk.page.locator(".question").nth(question).locator(".answer").nth(choice).tap()
    top, questions = (desk.page.locator(part).bounding_box() for part in ("#picture", "#questions"))
    assert top["y"] + top["height"] <= questions["y"]
    expect(desk.page.locator(".help")).to_have_text(re.compile("^Tap around it"), use_inner_text=True)
    assert desk.too_small() == []
    for opener in ("keys", "report", "ask", "receipts", "instructions"):
        if opener != "instructions":
            desk.page.locator("#open-more").tap()
            assert desk.too_small() == [], "more"
        desk.page.locator(f"[data-act={opener}]:visible").tap()
        desk.follow(("", "dialog[open]", SHOWN))
        assert desk.too_small() == [], opener
        desk.press("Escape")
    desk.page.locator("#open-more").tap()
    keys = "[...document.querySelectorAll('.sheet kbd')].filter((each) => each.checkVisibility()).length"
    assert desk.page.evaluate(keys) == 1, "the one that is all there is of the button of the instructions"
    desk.press("Escape")
    ((x, y),) = desk.on_screen((SIZE / 2, SIZE / 2))
    for dx, dy in ((-90, -90), (90, -90)):
        desk.page.touchscreen.tap(x + dx, y + dy)
    desk.follow(("", "#outline-state", "The outline is not closed: tap its first corner again."))
    for dx, dy in ((90, 90), (-90, 90), (-90, -90)):
        desk.page.touchscreen.tap(x + dx, y + dy)
    for name in STATEMENTS:
        desk.page.locator(f".toggle:has([name={name}]) label").first.tap()
    desk.page.locator("#submit").tap()
    desk.status.to_have_text(RECEIVED)
    assert Response.objects.get().real is True
    assert desk.complaints == []


# What is asked is fixed for each picture when it is dealt (R10).


def test_pictures_from_before_and_after_a_change_of_what_is_asked(pictures: list[Panel], at_page: Any) -> None:
    """A best guess of "no" is outlined under the new policy; a picture dealt before it asks as it did then."""
    change = timezone.now()
    wider = replace(Policy(), outline_gate=OutlineGate.NOT_EXCLUDED)
    PolicyVersion.objects.create(version=2, numbers=wider.to_json(), in_force_from=change, reason="tests")
    after = {each.pk for each in pictures[:2]}
    Panel.objects.filter(pk__in=after).update(dealt_at=change)
    forget_versions()
    desk = at_page()
    asked = []
    for number in range(4):
        asked.append(Assignment.objects.get(public_id=desk.assignment).panel_id in after)
        left = "Still missing: the outline, question 4" if asked[-1] else "Ready to submit"
        desk.follow(("3 4", "missing", left), ("n 1 2 3" if asked[-1] else "", "missing", "Ready to submit"))
        desk.goes_on("Enter", to="#empty" if number == 3 else "")
    assert Response.objects.filter(complete=True).count() == 2
    assert sorted(asked) == [False, False, True, True]
    assert desk.complaints == []


# Nothing can be outlined (R15).


def test_what_cannot_be_outlined_is_said_with_one_key_and_counts(desk: Desk) -> None:
    desk.outline_a_bird()
    desk.follow(
        ("n", "outline_short", "cannot be outlined"),
        ("", "missing", "Still missing: question 4"),
        ("", "spoken", "Question 3: cannot be outlined. No outline is sent."),
        ("", "[data-field=statements]", OPEN),
    )
    # What was drawn stays, dimmed, also after a reload, and is not sent.
    desk.reload()
    desk.follow(("", "ticked", CHECKED), ("", "outline_short", "cannot be outlined"))
    line = expect(desk.page.locator(".outline-line"))
    line.to_have_css("opacity", "0.4")
    line.to_have_attribute("d", re.compile("^M"))
    desk.open_again(3)
    desk.follow(
        ("", "#outline-state", "No outline is sent. What is drawn is kept."),
        ("1 2 3", "missing", "Ready to submit"),
        ("Enter", "status", RECEIVED),
    )
    response = Response.objects.get()
    assert (response.outline, response.box_xmin, response.complete, response.place is None) == ("", None, True, False)
    desk.ticked.not_to_be_checked()


def test_the_tick_is_taken_back_in_every_way_and_the_outline_is_as_it_was(desk: Desk) -> None:
    desk.outline_a_bird()
    ways: list[Callable[[], object]] = [partial(desk.press, key) for key in ("n", "u", "Control+z")]
    for way in (*ways, lambda: (desk.open_again(3), desk.tick()), lambda: desk.page.click("#undo")):
        desk.follow(("n", "ticked", CHECKED))
        way()
        desk.follow(
            ("", "ticked", UNCHECKED),
            ("", "outline_short", "1 outline, 4 corners"),
            ("", "spoken", has("Question 3: an outline is asked for.")),
            ("", "[data-field=outline]", OPEN),
            ("", ".outline-surface", FOCUSED if way in ways else SHOWN),
        )
    # A gesture that comes to nothing leaves it; drawing takes it back and says so.
    desk.press("n")
    ((x, y),) = desk.on_screen((SIZE / 2, SIZE / 2))
    desk.page.mouse.move(x, y)
    desk.page.mouse.down()
    desk.page.mouse.move(x + 80, y + 80, steps=5)
    desk.press("Escape")
    desk.page.mouse.up()
    desk.ticked.to_be_checked()
    desk.corner((20, 20))
    sent_again = re.compile(r"^Corner 1 at .* Question 3: the outline is sent again\.$")
    desk.follow(("", "ticked", UNCHECKED), ("", "spoken", sent_again), ("", "outline_short", "being drawn"))
    expect(desk.page.locator(".outline-line")).to_have_css("opacity", "1")
    desk.follow(("u 1 2 3 Enter", "status", RECEIVED))
    assert Response.objects.get().outline.count("[") == 1 + 1 + 4


def test_what_is_said_of_a_bird_is_not_said_of_a_bicycle(desk: Desk) -> None:
    """Neither the tick nor the outline."""
    desk.press("1", "4", "n")
    desk.answer_again(1, 4)
    desk.answer_again(2, 1)
    desk.follow(
        ("", "ticked", UNCHECKED),
        ("", "missing", "Still missing: the outline, question 4"),
        ("", "[data-words=outline]", has("largest single bicycle")),
    )
    desk.answer_again(2, 4)
    desk.missing.to_have_text("Ready to submit")
    desk.answer_again(1, 1)
    desk.ticked.to_be_checked()
    desk.press("n")
    desk.corner(*SQUARE, SQUARE[0])
    desk.answer_again(1, 4)
    desk.answer_again(2, 1)
    desk.missing.to_have_text("Still missing: the outline, question 4")


# What is asked, and what is missing.


def test_questions_come_and_go_with_the_answers_and_what_is_missing_is_said(desk: Desk) -> None:
    assert not desk.is_asked(3)
    desk.follow(
        ("", "missing", "Still missing: question 1, question 2"),
        ("ArrowDown ArrowDown", "[data-field=contains_bird][open] [value=unsure_no]", FOCUSED),
        ("1 Enter", "status", "Not sent. Still missing: question 2."),
        ("", "[data-field=contains_bicycle]", OPEN),
    )
    desk.press("4")
    assert desk.is_asked(3) and desk.is_asked(4)
    desk.corner(*SQUARE[:3])
    desk.missing.to_have_text("Still missing: closing the outline, question 4")
    desk.corner(SQUARE[3], SQUARE[0])
    desk.follow(
        ("u", "outline_short", "being drawn"),
        ("y", "outline_short", "1 outline, 4 corners"),
        ("1", "missing", "Still missing: statement 2 and 3"),
    )
    desk.open_again(1)
    desk.follow(("3", "missing", "Ready to submit"))
    assert not desk.is_asked(3) and not desk.is_asked(4)
    desk.open_again(1)
    desk.follow(("1", "outline_short", "1 outline, 4 corners"), ("", "missing", "Still missing: statement 2 and 3"))
    for key, field in (("f", "contains_bird"), ("b", "statements"), ("b", "outline")):
        desk.follow((key, f"[data-field={field}]", OPEN), ("", ".question[open]", counts(1)))
    desk.open_again(1)
    desk.follow(("4 Enter", "status", RECEIVED))
    assert Response.objects.get().outline == "", "what is not asked any more is not sent"


def test_questions_and_reports_are_typed_and_sent(desk: Desk) -> None:
    desk.press("q")
    desk.page.keyboard.type("Is a kite a bird?")
    answers = "Thank you. An organizer answers your question, for everybody where it helps everybody."
    desk.follow(("Tab Enter", "status", answers))
    assert Question.objects.get().text == "Is a kite a bird?"
    before = desk.assignment
    desk.press("r", "Space", "Tab")
    desk.page.keyboard.type("only the upper half is there, 4 lines")
    desk.follow(("Tab Enter", "status", "Thank you. An organizer looks at that picture; you do not get it again."))
    assert desk.assignment != before
    (report,) = Report.objects.values_list("assignment__public_id", "kind", "words")
    assert (str(report[0]), *report[1:]) == (before, "does_not_load", "only the upper half is there, 4 lines")


# The next picture.


def test_the_next_picture_is_there_at_once_and_nothing_jumps(desk: Desk) -> None:
    """It is loaded before it is needed, waits for no receipt, and its time is measured."""
    places = """() => ["#picture", "#questions", ".bar", "#submit", ".outline-surface"]
        .map((part) => JSON.stringify(document.querySelector(part).getBoundingClientRect()))"""
    desk.ahead()
    before, placed = desk.assignment, desk.page.evaluate(places)
    requested: list[str] = []
    held: list[Route] = []
    desk.page.on("request", lambda request: requested.append(request.url))
    desk.press("4", "4")
    desk.page.dblclick("#submit")
    desk.status.to_have_text(RECEIVED)
    shown = desk.page.locator(".outline-image").get_attribute("href")
    assert desk.assignment != before
    assert shown and not [each for each in requested if each.endswith(shown)]
    assert desk.page.evaluate(places) == placed
    assert Response.objects.count() == 1, "a double click is one response"
    before = desk.assignment
    desk.page.route("**/response/", lambda route: held.append(route))
    desk.press("4", "4", "Enter")
    wait_until(desk.page, lambda: bool(held))
    assert desk.assignment != before, "it waits for no receipt"
    desk.follow(("", "[name=contains_bird]:checked", counts(0)), ("", "[name=contains_bird] >> nth=0", FOCUSED))
    held[0].continue_()
    wait_until(desk.page, lambda: Response.objects.count() == 2)


def test_a_label_is_one_call_to_the_server(desk: Desk) -> None:
    """The next picture but two comes with the receipt."""
    desk.ahead()
    called: list[str] = []
    desk.page.on("request", lambda request: called.append(request.url) if "/api/" in request.url else None)
    desk.follow(("4 4 Enter", "status", RECEIVED))
    wait_until(desk.page, lambda: len(desk.pictures) == 4)
    assert [each.rsplit("/", 2)[1] for each in called] == ["response"]
    assert Assignment.objects.filter(state=AssignmentState.LEASED).count() == 3


# What can come between.


def test_two_browsers_of_one_tasker_answer_every_picture_once(desk: Desk, at_page: Any) -> None:
    other = at_page()
    assert other.assignment == desk.assignment
    desk.follow(("4 4 Enter", "status", RECEIVED))
    other.follow(("3 4 Enter", "status", has("You answered this picture already")))
    assert other.kept("drafts") == other.kept("outbox") == []
    assert Response.objects.get().contains_bird == "definitely_no"
    assert [each for each in other.complaints if "409" not in each] == []


def test_a_sign_in_that_ends_in_the_middle_of_an_outline_costs_nothing(desk: Desk) -> None:
    desk.press("1", "4")
    desk.corner(*SQUARE[:2])
    UserSession.objects.all().delete()
    desk.corner(*SQUARE[2:], SQUARE[0])
    desk.follow(("1 2 3 Enter", "#sign-in-dialog", SHOWN))
    desk.page.keyboard.type("wrong")
    desk.follow(("Enter", "#sign-in-error", re.compile("does not belong to the user name")))
    desk.page.keyboard.type(factories.PASSWORD)
    desk.follow(("Enter", "status", RECEIVED))
    assert Response.objects.get().outline.count("[") == 1 + 1 + 4
    # Signing in can be put off, and everything goes out with the next submit.
    desk.press("4", "4")
    desk.page.context.clear_cookies(name="sessionid")
    desk.follow(
        ("Enter", "#sign-in-dialog", SHOWN),
        ("Escape", "status", has("Your answer is kept here")),
        ("", "waiting", "1 answer waits until you sign in."),
    )
    desk.press("3", "4", "Enter")
    desk.page.fill("#sign-in-password", factories.PASSWORD)
    desk.press("Enter")
    wait_until(desk.page, lambda: Response.objects.count() == 3)
    desk.waiting.to_be_hidden()
    in_order = Response.objects.order_by("submitted_at", "id")
    assert [each.contains_bird for each in in_order] == ["definitely_yes", "definitely_no", "unsure_no"]
    desk.forgives("401")


def test_the_page_renews_the_lease_tells_of_a_place_given_away_and_suggests_a_break(at_page: Any) -> None:
    desk = at_page(clock=True)
    page, beats = desk.page, []
    page.on("request", lambda request: "/heartbeat/" in request.url and beats.append(request.url))
    desk.ahead()
    page.clock.run_for(61_000)
    wait_until(page, lambda: len(set(beats)) == 3)
    mine = Assignment.objects.get(public_id=desk.assignment)
    Assignment.objects.filter(pk=mine.pk).update(state=AssignmentState.EXPIRED)
    Panel.objects.filter(pk=mine.panel_id).update(leased=0)
    for name in ("ada", "bea", "cyd"):
        factories.response(factories.tasker(name), Panel.objects.get(pk=mine.panel_id))
    page.clock.run_for(30 * 60_000)
    desk.follow(
        ("4", "status", has("this place is not yours now. Send your answer all the same")),
        ("4 Enter", "status", has("it is kept and published, and does not count")),
        ("", "messages", has("arrived after the picture was given to somebody else or taken out")),
        ("d", "messages", EMPTY),
        ("v", "#receipts-rows tr", has("kept as surplus")),
    )
    assert Response.objects.get(tasker=mine.tasker).place_id is None
    desk.press("Escape")
    for _ in range(13):
        page.clock.run_for(4 * 60_000)
        desk.press("Shift")
    desk.messages.to_contain_text("without a break.")


def test_a_click_that_draws_nothing_or_too_much_is_answered_in_words(desk: Desk) -> None:
    desk.corner(SQUARE[0])
    desk.status.to_have_text("Answer questions 1 and 2 first. The outline comes after them.")
    desk.press("4", "4")
    desk.corner(SQUARE[0])
    desk.status.to_have_text("No outline is asked for with these answers to questions 1 and 2.")
    desk.answer_again(1, 1)
    desk.corner(*SQUARE, SQUARE[0])
    for name in STATEMENTS:
        desk.say(name, True)
    desk.missing.to_have_text("Ready to submit")
    desk.corner((20, 20))  # a stray click
    missing = "Still missing: closing or undoing outline 2 (1 corner)"
    desk.missing.to_have_text(missing)
    desk.page.click("#submit")
    desk.status.to_have_text(f"Not sent. {missing}.")
    desk.follow(("u", "missing", "Ready to submit"), ("", "status", EMPTY))


# Taking an answer back.


@pytest.fixture
def holding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(label_form, "HOLD_SECONDS", 5)


def test_an_answer_can_be_taken_back_for_five_seconds(holding: None, at_page: Any) -> None:
    """Then, with the next answer, or when the page is left, it is sent: nothing is lost, and nothing waits longer."""
    desk = at_page(clock=True)
    back = expect(desk.page.locator(".news [data-act=take_back]"))
    back.to_be_hidden()
    desk.goes_on("4", "4", "Enter")
    back.to_be_visible()
    desk.press("1")  # what was begun on the next picture waits there
    desk.follow(("z", "status", "Taken back. Nothing was sent: change it and submit again."))
    desk.follow(("", "[name=contains_bird][value=definitely_no]", CHECKED), ("", "missing", "Ready to submit"))
    back.to_be_hidden()
    assert Response.objects.count() == 0
    desk.answer_again(1, 3)
    desk.goes_on("Enter")
    desk.follow(("", "[name=contains_bird][value=definitely_yes]", CHECKED))
    desk.page.clock.run_for(5_100)
    desk.status.to_have_text(RECEIVED)
    back.to_be_hidden()
    assert said(Response.objects.get())[:2] == ("unsure_no", "definitely_no")
    desk.follow(("z", "status", has("No answer can be taken back now")))
    desk.answer_again(1, 4)
    desk.goes_on("4", "Enter")
    assert Response.objects.count() == 1
    desk.goes_on("4", "4", "Enter")
    wait_until(desk.page, lambda: Response.objects.count() == 2)
    desk.goes_on("4", "4", "Enter", to="#empty")
    wait_until(desk.page, lambda: Response.objects.count() == 3)
    # Nothing is left, and the last one can be taken back from there.
    desk.page.click("#empty [data-act=take_back]")
    desk.follow(("", ".outline-surface", SHOWN), ("", "missing", "Ready to submit"))
    desk.press("Enter")
    desk.follow(("", "#empty", SHOWN))
    desk.page.goto(f"{desk.address}/my-work/")
    wait_until(desk.page, lambda: Response.objects.count() == 4)
    assert desk.complaints == []


def test_a_held_answer_is_sent_before_signing_out_and_by_a_reload(holding: None, at_page: Any) -> None:
    desk = at_page()
    desk.goes_on("4", "4", "Enter")
    assert Response.objects.count() == 0
    desk.reload()
    wait_until(desk.page, lambda: Response.objects.count() == 1)
    desk.goes_on("4", "4", "Enter")
    assert Response.objects.count() == 1
    desk.page.click(".site-header button")
    expect(desk.page).not_to_have_url(re.compile("/label/"))
    assert Response.objects.count() == 2


def test_what_others_hold_is_told_with_its_time(desk: Desk) -> None:
    for _ in range(3):
        desk.goes_on("4", "4", "Enter")
    desk.goes_on("4", "4", "Enter", to="#empty")
    desk.follow(("", "#empty-title", "Nothing is left to label"))
    panel, now = picture(201), timezone.now()
    lease = {"panel": panel, "policy": policy_in_force(now).policy, "now": now, "rng": Random(1)}
    for name in "abc":
        assert assignment_lease(tasker=factories.tasker(name), **lease) is not None
    desk.page.click("#look-again")
    desk.follow(("", "#empty-title", "Nothing is free just now"))
    until = r"with another tasker. It becomes free at \d\d:\d\d:\d\d, unless"
    expect(desk.page.locator("#empty-words")).to_have_text(re.compile(until))


# How the picture is looked at.


def test_light_guides_and_the_map_are_chosen_and_remembered_on_every_device(desk: Desk, at_page: Any) -> None:
    """What is changed is how one tasker sees pictures; it is said on the page, and one key takes it back."""
    image, view = desk.page.locator("#picture .outline-image"), desk.page.locator("#view")
    desk.page.click("#open-view")
    for act in ("brighter", "brighter", "more_contrast"):
        view.locator(f"[data-act={act}]").click()
    expect(image).to_have_css("filter", "brightness(1.2) contrast(1.1)")
    desk.status.to_have_text("Brightness 120%, contrast 110%: on your screen alone.")
    desk.follow(("", "#brightness", "120%"), ("", "#contrast", "110%"), ("", "#view", SHOWN))
    for act in ("guides", "minimap"):
        view.locator(f"[data-act={act}]").click()
    desk.press("Escape", *["o"] * 12, "h")
    desk.follow(("", "#brightness", "50%"), ("", "#contrast", "100%"), ("", "#view", HIDDEN))
    chosen = {"brightness": 50, "contrast": 100, "guides": True, "minimap": False}
    wait_until(desk.page, lambda: Tasker.objects.get().preferences == chosen)
    other = at_page()
    expect(other.page.locator("#picture .outline-image")).to_have_css("filter", "brightness(0.5) contrast(1)")
    other.press("a")
    expect(other.page.locator("#picture .outline-image")).to_have_css("filter", "none")
    other.status.to_have_text("Brightness 100%, contrast 100%: on your screen alone.")
    wait_until(other.page, lambda: Tasker.objects.get().preferences["brightness"] == 100)


# Keys of one's own.


def test_keys_are_changed_and_every_hint_follows(desk: Desk) -> None:
    def remap(action: str, key: str, words: str) -> None:
        desk.page.click(f"[data-change={action}]")
        desk.follow((key, "#keys-status", has(words)))

    desk.press("s", "k")
    for key, words in (("Escape", "Nothing was changed."), ("F5", "This key stays"), ("Space", "This key stays")):
        remap("report", key, words)
        desk.follow(("", "#keys-dialog", SHOWN))
    wait_until(desk.page, lambda: Tasker.objects.get().preferences == {"smoothing": False})
    for action, key, words in (
        ("choice_4", "w", "W is now the key of: Answer 4."),
        ("close_outline", "x", "X is now the key of: Close the outline"),
        ("submit", "u", "U is now the key of: Submit. It was the key of: Undo, which has Enter now."),
    ):
        remap(action, key, words)
        desk.follow(("", f"[data-change={action}]", FOCUSED))
    desk.follow(
        ("Escape 4", "missing", "Still missing: question 1, question 2"),
        ("", "[name=contains_bird][aria-keyshortcuts=W] + kbd", "W"),
        ("w Enter", "status", "No outline is asked for with these answers to questions 1 and 2."),
        ("w u", "status", RECEIVED),
    )
    # They are kept, those of the outline as well, and how the picture is shown.
    desk.reload()
    expect(desk.page.locator(".outline-image")).to_have_css("image-rendering", "pixelated")
    desk.press("1", "w")
    desk.corner(*SQUARE)
    desk.follow(
        ("c", "outline_short", "being drawn"),
        ("x", "outline_short", "1 outline, 4 corners"),
        ("k", "#keys-dialog", SHOWN),
    )
    desk.page.click("#keys-reset")
    desk.follow(("", "#keys-status", "Every action has its usual key again."))
    wait_until(desk.page, lambda: Tasker.objects.get().preferences["keys"] == {})


# What organizers tell.


def test_changed_instructions_are_read_before_the_form_opens(desk: Desk) -> None:
    desk.ahead()
    InstructionVersion.objects.create(
        version=2, summary="Toys.", clarification="A toy bird is a depiction.", in_force_from=timezone.now()
    )
    Assignment.objects.exclude(public_id=desk.assignment).update(instructions=2)
    with desk.page.expect_response(lambda answer: "/instructions/news/" in answer.url):
        desk.reload()
    desk.follow(
        ("4 4 Enter", "news", SHOWN),
        ("", "news", has("A toy bird is a depiction.")),
        ("4 Escape", "news", SHOWN),
        ("", "[name=contains_bird]:checked", counts(0)),
        ("", "#news-form button", FOCUSED),
        ("Enter", "news", HIDDEN),
        ("", "[name=contains_bird][value=definitely_yes]", FOCUSED),
    )
    wait_until(desk.page, lambda: Tasker.objects.get().preferences.get("instructions") == 2)
    desk.follow(
        ("?", "#instructions-dialog", has("A toy bird is a depiction.")),
        ("Escape 4 4 Enter", "status", RECEIVED),
        ("", "news", HIDDEN),
    )


def test_the_instructions_open_at_the_section_about_the_open_question(desk: Desk) -> None:
    desk.press("?")
    expect(desk.page.locator("#instructions-title")).to_be_in_viewport()
    desk.press("Escape", "1", "4", "?")
    expect(desk.page.locator("#instructions-dialog [data-about=outline]")).to_be_in_viewport()
    expect(desk.page.locator("#instructions-title")).not_to_be_in_viewport()


def test_a_notice_stays_until_it_is_put_away_and_a_pause_is_told_with_the_next_receipt(
    pictures: list[Panel], at_page: Any
) -> None:
    tara = factories.tasker("tara")
    notice = Notice.objects.create(tasker=tara, code="test", text="Look at the corners too.", told_at=factories.NOW)
    desk = at_page()
    desk.messages.to_contain_text("Look at the corners too.")
    desk.page.click("#messages button")
    desk.messages.to_be_empty()
    wait_until(desk.page, lambda: Notice.objects.get(pk=notice.pk).seen_at is not None)
    desk.ahead()
    action_take(tasker=tara, action=MonitoringAction.PAUSE, reason="Too fast.", now=timezone.now())
    desk.follow(
        ("4 4 Enter", "messages", has("Your labeling is paused: Too fast.")),
        ("4 4 Enter", "#empty", has("Your labeling is paused.")),
    )
    assert Response.objects.count() == 2
    assert [each for each in desk.complaints if "403 (Forbidden)" not in each] == []


# The look.


@pytest.mark.parametrize("size", [(683, 384), (342, 300)], ids=["200 %", "400 %"])
def test_an_enlarged_page_leaves_every_answer_in_reach(size: tuple[int, int], at_page: Any) -> None:
    desk = at_page(viewport={"width": size[0], "height": size[1]})
    before = desk.assignment
    desk.answer(1, 4)  # a click that the bar lies over would never come through
    desk.answer(2, 4)
    expect(desk.page.locator("#submit")).to_be_in_viewport(ratio=1)
    desk.submit()
    desk.status.to_have_text(RECEIVED)
    assert desk.assignment != before


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_the_page_never_scrolls(size: dict[str, int], at_page: Any) -> None:
    desk = at_page(viewport=size)
    page_fits = """() => document.scrollingElement.scrollHeight <= innerHeight
        && document.scrollingElement.scrollWidth <= innerWidth"""
    steps: list[Callable[[], Any]] = [lambda: None, lambda: desk.press("1"), lambda: desk.press("4")]
    steps += [lambda: desk.corner(*SQUARE, SQUARE[0]), lambda: desk.press("n")]
    for number, step in enumerate(steps):
        step()
        assert desk.page.evaluate(page_fits) and (size == PHONE or desk.fits()), number
    desk.open_again(3)
    assert desk.fits()


# What it weighs.


def test_the_page_weighs_little_before_the_picture(pictures: list[Panel], signed_in: Any) -> None:
    page = signed_in(factories.tasker("tara")).get("/label/").content
    sheets = re.findall(rb'rel="stylesheet" href="/static/(css/[\w./]+|vendor/[\w./]+)"', page)
    parts = [*(each.decode() for each in sheets), "js/label.js", *MODULES]
    weights = [len(gzip.compress((STATIC / part).read_bytes(), 9)) for part in parts]
    assert sum(weights) + len(gzip.compress(page)) < 150_000
    assert len(parts) <= 52


def test_every_module_of_the_page_is_asked_for_at_once() -> None:
    reached, waiting = set(), ["js/label.js"]
    while waiting:
        module = waiting.pop()
        reached.add(module)
        found = re.findall(r'from "\./(\w+\.js)"', (STATIC / module).read_text())
        waiting += [f"js/{each}" for each in found if f"js/{each}" not in reached]
    assert set(MODULES) == reached - {"js/label.js"}
