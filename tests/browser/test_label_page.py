"""The tasker's page in a real browser: a label by mouse, by keys and on a phone, and everything that can come between.

Every test fails on any word in the console that it does not expect, so also on a breach of the content policy.
"""

import gzip
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import Route, expect

from common.models import UserSession
from labeling.enums import AssignmentState, OutlineGate, WatchAction
from labeling.label_form import MODULES
from labeling.label_words import page_words
from labeling.models import (
    Assignment,
    InstructionVersion,
    Notice,
    Panel,
    PolicyVersion,
    Question,
    Report,
    Response,
    Tasker,
)
from labeling.policy import Policy
from labeling.selectors import forget_versions
from labeling.watching.actions import action_take
from tests import factories
from tests.browser.label_desk import SQUARE, Desk, picture, wait_until
from tests.browser.looking import DESK, PHONE, violations

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
]

STATIC = Path(__file__).resolve().parents[2] / "static"


# One label, all the way.


def test_a_bird_is_labeled_with_the_mouse(desk: Desk) -> None:
    desk.answer(1, 1)
    desk.answer(2, 4)
    desk.corner(*SQUARE, SQUARE[0])
    for name, value in (("complete", True), ("unoccluded", False), ("real", True)):
        desk.say(name, value)
    desk.missing.to_have_text("Ready to submit")
    desk.submit()
    desk.received()
    response = Response.objects.get()
    assert (response.contains_bird, response.contains_bicycle) == ("definitely_yes", "definitely_no")
    assert (response.complete, response.unoccluded, response.real) == (True, False, True)
    box = (response.box_xmin, response.box_ymin, response.box_xmax, response.box_ymax)
    assert all(abs(found - 100 * wanted) <= 50 for found, wanted in zip(box, (60, 60, 240, 240), strict=True))
    assert 0 < response.milliseconds < 60_000
    assert desk.page.locator("#status").inner_text().removesuffix(".").endswith(response.receipt)


def test_a_negative_picture_takes_three_keystrokes(desk: Desk) -> None:
    desk.press("4", "4", "Enter")
    desk.received()
    response = Response.objects.get()
    assert (response.contains_bird, response.contains_bicycle) == ("definitely_no", "definitely_no")
    assert (response.outline, response.complete) == ("", None)


def test_twelve_keystrokes_label_four_negative_pictures(desk: Desk) -> None:
    for labeled in range(1, 5):
        before = desk.assignment
        desk.press("4", "4", "Enter")
        if labeled < 4:
            expect(desk.page.locator("[name=assignment]")).not_to_have_value(before)
    expect(desk.page.locator("#empty")).to_be_visible()
    assert Response.objects.count() == 4


def test_a_bicycle_is_labeled_with_the_keyboard_alone(desk: Desk) -> None:
    desk.press("4", "2")
    for key in ("ArrowLeft", "ArrowUp"):
        desk.press(*["Shift+" + key] * 8)
    desk.press("Enter", *["Shift+ArrowRight"] * 16, "Enter", *["Shift+ArrowDown"] * 16, "Enter", "c")
    desk.missing.to_have_text("Still missing: question 4")
    desk.press("1", "2", "3", "3", "Enter")
    desk.received()
    response = Response.objects.get()
    assert (response.contains_bird, response.contains_bicycle) == ("definitely_no", "unsure_yes")
    assert (response.complete, response.unoccluded, response.real) == (True, True, False)
    assert response.outline.count("[") == 1 + 1 + 3


def test_a_label_on_a_phone_by_touch(pictures: list[Panel], contexts: Any, live_server: Any) -> None:
    context = contexts(factories.tasker("tara"), viewport=PHONE, has_touch=True, is_mobile=True)
    desk = Desk(context.new_page(), live_server.url).open()
    desk.page.locator(".question").nth(0).locator(".answer").nth(0).tap()
    desk.page.locator(".question").nth(1).locator(".answer").nth(3).tap()
    box = desk.page.locator(".outline-surface").bounding_box()
    assert box is not None
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    for dx, dy in ((-90, -90), (90, -90), (90, 90), (-90, 90), (-90, -90)):
        desk.page.touchscreen.tap(middle[0] + dx, middle[1] + dy)
    for name in ("complete", "unoccluded", "real"):
        desk.page.locator(f".toggle:has([name={name}]) label").first.tap()
    desk.page.locator("#submit").tap()
    desk.received()
    assert Response.objects.get().real is True
    assert desk.complaints == []


# What is asked is fixed for each picture when it is dealt (R10).


def test_pictures_from_before_and_after_a_change_of_what_is_asked(
    pictures: list[Panel], contexts: Any, live_server: Any
) -> None:
    """A best guess of "no" is outlined under the new policy; a picture dealt before it asks as it did then."""
    change = timezone.now()
    wider = replace(Policy(), outline_gate=OutlineGate.NOT_EXCLUDED)
    PolicyVersion.objects.create(version=2, numbers=wider.to_json(), in_force_from=change, reason="tests")
    after = {each.pk for each in pictures[:2]}
    Panel.objects.filter(pk__in=after).update(dealt_at=change)
    forget_versions()
    desk = Desk(contexts(factories.tasker("tara")).new_page(), live_server.url).open()
    asked = []
    for _ in pictures:
        before = desk.assignment
        panel = Assignment.objects.get(public_id=before).panel_id
        desk.press("3", "4")
        desk.missing.to_have_text("Still missing: the outline, question 4" if panel in after else "Ready to submit")
        if panel in after:
            desk.tick()
            for name in ("complete", "unoccluded", "real"):
                desk.say(name, True)
        desk.submit()
        asked.append(panel in after)
        if len(asked) < len(pictures):
            expect(desk.page.locator("[name=assignment]")).not_to_have_value(before)
    expect(desk.page.locator("#empty")).to_be_visible()
    assert Response.objects.filter(complete=True).count() == 2
    assert sorted(asked) == [False, False, True, True]
    assert desk.complaints == []


# Nothing can be outlined (R15).


def test_what_cannot_be_outlined_is_said_with_one_key_and_counts(desk: Desk) -> None:
    desk.press("1", "4", "n")
    desk.outline_short.to_have_text("cannot be outlined")
    desk.missing.to_have_text("Still missing: question 4")
    desk.spoken.to_have_text("Question 3: cannot be outlined. No outline is sent.")
    expect(desk.page.locator("[data-field=statements]")).to_have_attribute("open", "")
    desk.press("1", "2", "3")
    desk.missing.to_have_text("Ready to submit")
    desk.press("Enter")
    desk.received()
    response = Response.objects.get()
    assert (response.outline, response.box_xmin, response.complete) == ("", None, True)
    assert response.place is not None
    desk.ticked.not_to_be_checked()


def test_what_is_drawn_stays_dimmed_and_is_not_sent(desk: Desk) -> None:
    desk.press("1", "4")
    desk.corner(*SQUARE, SQUARE[0])
    desk.page.locator(".question summary").nth(2).click()
    desk.tick()
    line = expect(desk.page.locator(".outline-line"))
    line.to_have_css("opacity", "0.4")
    line.to_have_attribute("d", re.compile("^M"))
    expect(desk.page.locator("#outline-state")).to_have_text("No outline is sent. What is drawn is kept.")
    desk.press("1", "2", "3", "Enter")
    desk.received()
    assert Response.objects.get().outline == ""


def test_the_tick_survives_a_reload_with_what_was_drawn(desk: Desk) -> None:
    desk.press("1", "4")
    desk.corner(*SQUARE, SQUARE[0])
    desk.press("n")
    desk.reload()
    desk.ticked.to_be_checked()
    desk.outline_short.to_have_text("cannot be outlined")
    desk.missing.to_have_text("Still missing: question 4")
    desk.press("n")
    desk.outline_short.to_have_text("1 outline, 4 corners")


@pytest.mark.parametrize("keys", ["n", "u", "Control+z"])
def test_the_tick_is_taken_back_by_key_and_the_outline_is_as_it_was(keys: str, desk: Desk) -> None:
    desk.press("1", "4")
    desk.corner(*SQUARE, SQUARE[0])
    desk.press("n", keys)
    desk.ticked.not_to_be_checked()
    desk.outline_short.to_have_text("1 outline, 4 corners")
    desk.spoken.to_contain_text("Question 3: an outline is asked for.")
    expect(desk.page.locator("[data-field=outline]")).to_have_attribute("open", "")
    expect(desk.page.locator(".outline-surface")).to_be_focused()
    desk.press("n")
    desk.page.locator(".outline-surface").focus()
    desk.press(keys)
    desk.outline_short.to_have_text("1 outline, 4 corners")


def test_the_tick_is_taken_back_by_the_mouse(desk: Desk) -> None:
    desk.press("1", "4", "n")
    desk.page.locator(".question summary").nth(2).click()
    desk.tick()
    desk.missing.to_have_text("Still missing: the outline, question 4")
    desk.press("n")
    desk.page.click("#undo")
    desk.missing.to_have_text("Still missing: the outline, question 4")
    expect(desk.page.locator("#undo")).to_be_disabled()


def test_drawing_takes_the_tick_back_and_says_so(desk: Desk) -> None:
    desk.press("1", "4", "n")
    desk.corner(*SQUARE, SQUARE[0])
    desk.ticked.not_to_be_checked()
    desk.press("n")
    desk.corner((20, 20))
    desk.ticked.not_to_be_checked()
    desk.spoken.to_have_text(re.compile(r"^Corner 1 at .* Question 3: the outline is sent again\.$"))
    desk.outline_short.to_have_text("being drawn")
    expect(desk.page.locator(".outline-line")).to_have_css("opacity", "1")
    desk.press("u", "1", "2", "3", "Enter")
    desk.received()
    assert Response.objects.get().outline.count("[") == 1 + 1 + 4


def test_a_gesture_that_comes_to_nothing_leaves_the_tick(desk: Desk) -> None:
    desk.press("1", "4", "n")
    box = desk.page.locator(".outline-surface").bounding_box()
    assert box is not None
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    desk.page.mouse.move(*middle)
    desk.page.mouse.down()
    desk.page.mouse.move(middle[0] + 80, middle[1] + 80, steps=5)
    desk.press("Escape")
    desk.page.mouse.up()
    desk.ticked.to_be_checked()
    desk.outline_short.to_have_text("cannot be outlined")


def test_a_bird_that_cannot_be_outlined_says_nothing_of_a_bicycle(desk: Desk) -> None:
    desk.press("1", "4", "n")
    desk.answer_again(1, 4)
    desk.answer_again(2, 1)
    desk.ticked.not_to_be_checked()
    desk.missing.to_have_text("Still missing: the outline, question 4")
    desk.answer_again(2, 4)
    desk.missing.to_have_text("Ready to submit")
    desk.answer_again(1, 1)
    desk.ticked.to_be_checked()
    desk.missing.to_have_text("Still missing: question 4")


def test_the_key_does_nothing_where_no_outline_is_asked(desk: Desk) -> None:
    desk.press("4", "4", "n")
    desk.ticked.not_to_be_checked()
    desk.missing.to_have_text("Ready to submit")


# What is asked, and what is missing.


def test_questions_3_and_4_come_and_go_with_the_answers(desk: Desk) -> None:
    assert not desk.is_asked(3)
    desk.press("1", "4")
    assert desk.is_asked(3) and desk.is_asked(4)
    desk.corner(*SQUARE, SQUARE[0])
    desk.press("1")
    desk.page.locator(".question summary").nth(0).click()
    desk.press("3")
    assert not desk.is_asked(3) and not desk.is_asked(4)
    desk.missing.to_have_text("Ready to submit")
    desk.page.locator(".question summary").nth(0).click()
    desk.press("1")
    expect(desk.page.locator("[data-field=outline] .short")).to_have_text("1 outline, 4 corners")
    desk.missing.to_have_text("Still missing: statement 2 and 3")


def test_what_was_drawn_and_is_not_asked_any_more_is_not_sent(desk: Desk) -> None:
    desk.press("1", "4")
    desk.corner(*SQUARE, SQUARE[0])
    desk.page.locator(".question summary").nth(0).click()
    desk.press("4", "Enter")
    desk.received()
    assert Response.objects.get().outline == ""


def test_the_outline_of_a_bird_is_not_taken_for_a_bicycle(desk: Desk) -> None:
    desk.press("1", "4")
    desk.corner(*SQUARE, SQUARE[0])
    desk.page.locator(".question summary").nth(0).click()
    desk.press("4")
    desk.page.locator(".question summary").nth(1).click()
    desk.press("1")
    expect(desk.page.locator("[data-words=outline]")).to_contain_text("largest single bicycle")
    desk.missing.to_have_text("Still missing: the outline, question 4")


def test_what_is_missing_is_said_in_words_and_opened(desk: Desk) -> None:
    desk.missing.to_have_text("Still missing: question 1, question 2")
    desk.press("1")
    desk.press("Enter")
    desk.status.to_have_text("Not sent. Still missing: question 2.")
    expect(desk.page.locator("[data-field=contains_bicycle]")).to_have_attribute("open", "")
    desk.press("4")
    desk.corner(*SQUARE[:3])
    desk.missing.to_have_text("Still missing: closing the outline, question 4")
    assert not Response.objects.exists()


def test_arrow_keys_walk_through_the_answers_without_leaving_the_question(desk: Desk) -> None:
    desk.press("ArrowDown", "ArrowDown")
    expect(desk.page.locator("[data-field=contains_bird]")).to_have_attribute("open", "")
    expect(desk.page.locator("[name=contains_bird][value=unsure_no]")).to_be_focused()


def test_undo_and_redo_by_key(desk: Desk) -> None:
    desk.press("1", "4")
    desk.corner(*SQUARE, SQUARE[0])
    short = expect(desk.page.locator("[data-field=outline] .short"))
    desk.press("u")
    short.to_have_text("being drawn")
    desk.press("y")
    short.to_have_text("1 outline, 4 corners")


def test_the_instructions_open_and_give_the_focus_back(desk: Desk) -> None:
    desk.press("?")
    expect(desk.page.locator("#instructions-dialog")).to_be_visible()
    desk.press("4", "Escape")
    expect(desk.page.locator("#instructions-dialog")).to_be_hidden()
    desk.missing.to_have_text("Still missing: question 1, question 2")
    expect(desk.page.locator("[name=contains_bird]").first).to_be_focused()


def test_a_broken_picture_is_reported_and_the_next_one_shown(desk: Desk) -> None:
    before = desk.assignment
    desk.press("r", "Space", "Tab")
    desk.page.keyboard.type("only the upper half is there, 4 lines")
    desk.press("Tab", "Enter")
    desk.status.to_have_text("Thank you. An organizer looks at that picture; you do not get it again.")
    assert desk.assignment != before
    report = Report.objects.get(assignment__public_id=before)
    assert (report.kind, report.words) == ("does_not_load", "only the upper half is there, 4 lines")


# The next picture.


def test_the_next_picture_is_there_before_it_is_needed(desk: Desk) -> None:
    wait_until(desk.page, lambda: len(desk.pictures) == 3)
    requested: list[str] = []
    desk.page.on("request", lambda request: requested.append(request.url))
    shown = desk.page.locator(".outline-image").get_attribute("href")
    desk.press("4", "4", "Enter")
    desk.received()
    url = desk.page.locator(".outline-image").get_attribute("href")
    assert url and url != shown
    assert not [each for each in requested if each.endswith(url)]


def test_from_submit_to_the_next_picture_is_measured_and_waits_for_no_receipt(desk: Desk) -> None:
    wait_until(desk.page, lambda: len(desk.pictures) == 3)
    before = desk.assignment
    held: list[Route] = []
    desk.page.route("**/response/", lambda route: held.append(route))
    desk.press("4", "4", "Enter")
    wait_until(desk.page, lambda: bool(held))
    assert desk.assignment != before
    wait_until(desk.page, lambda: len(desk.measured()) == 1)
    held[0].continue_()
    desk.received()
    assert desk.measured()[0] < 500


def test_nothing_jumps_between_pictures_and_question_1_has_the_focus(desk: Desk) -> None:
    places = """() => ["#picture", "#questions", ".bar", "#submit", ".outline-surface"]
        .map((part) => JSON.stringify(document.querySelector(part).getBoundingClientRect()))"""
    before = desk.page.evaluate(places)
    desk.press("4", "4", "Enter")
    desk.received()
    assert desk.page.evaluate(places) == before
    expect(desk.page.locator("[name=contains_bird]").first).to_be_focused()
    assert desk.page.locator("[name=contains_bird]:checked").count() == 0


def test_an_empty_queue_says_so_and_goes_on_by_itself(transactional_db: None, contexts: Any, live_server: Any) -> None:
    forget_versions()
    factories.policy_version()
    context = contexts(factories.tasker("tara"))
    page = context.new_page()
    page.clock.install()
    desk = Desk(page, live_server.url).open()
    expect(page.locator("#empty-title")).to_have_text("Nothing is left to label")
    picture(40)
    page.clock.run_for(61_000)
    expect(page.locator(".outline-surface")).to_be_visible()
    desk.press("4", "4", "Enter")
    expect(page.locator("#empty-status")).to_have_text(re.compile("^Received"))


# What can come between.


def test_a_double_click_on_submit_is_one_response(desk: Desk) -> None:
    desk.press("4", "4")
    desk.page.dblclick("#submit")
    desk.received()
    desk.page.wait_for_timeout(300)
    assert Response.objects.count() == 1
    assert desk.page.locator("[name=contains_bird]:checked").count() == 0


def test_a_reload_keeps_answers_and_outline_also_an_unfinished_one(desk: Desk) -> None:
    desk.press("1", "4")
    desk.corner(*SQUARE[:3])
    expect(desk.page.locator("#saved")).to_have_text(re.compile(r"^Saved on this device \d\d:\d\d:\d\d$"))
    before = desk.assignment
    desk.reload()
    assert desk.assignment == before
    expect(desk.page.locator("[data-field=outline] .short")).to_have_text("being drawn")
    desk.missing.to_have_text("Still missing: closing the outline, question 4")
    desk.corner(SQUARE[3], SQUARE[0])
    desk.press("1", "2", "3", "Enter")
    desk.received()
    assert desk.kept("drafts") == desk.kept("outbox") == []


def test_a_second_tab_shows_the_same_picture_and_follows_when_it_is_answered(desk: Desk) -> None:
    second = Desk(desk.page.context.new_page(), desk.address).open()
    assert second.assignment == desk.assignment
    desk.page.bring_to_front()
    desk.press("4", "4", "Enter")
    desk.received()
    second.status.to_have_text("You answered that picture in another window. This is the next one.")
    assert second.assignment == desk.assignment
    assert second.complaints == []


def test_two_browsers_of_one_tasker_answer_every_picture_once(desk: Desk, contexts: Any, live_server: Any) -> None:
    other = Desk(contexts(Tasker.objects.get()).new_page(), live_server.url).open()
    assert other.assignment == desk.assignment
    desk.press("4", "4", "Enter")
    desk.received()
    other.press("3", "4", "Enter")
    other.status.to_contain_text("You answered this picture already")
    assert Response.objects.get().contains_bird == "definitely_no"
    assert [each for each in other.complaints if "409" not in each] == []


def test_a_sign_in_that_ends_in_the_middle_of_an_outline_costs_nothing(desk: Desk) -> None:
    desk.press("1", "4")
    desk.corner(*SQUARE[:2])
    UserSession.objects.all().delete()
    desk.corner(*SQUARE[2:], SQUARE[0])
    desk.press("1", "2", "3", "Enter")
    expect(desk.page.locator("#sign-in-dialog")).to_be_visible()
    desk.page.keyboard.type("wrong")
    desk.press("Enter")
    expect(desk.page.locator("#sign-in-error")).to_have_text(re.compile("does not belong to the user name"))
    desk.page.keyboard.type(factories.PASSWORD)
    desk.press("Enter")
    desk.received()
    assert Response.objects.get().outline.count("[") == 1 + 1 + 4
    desk.press("4", "4", "Enter")
    wait_until(desk.page, lambda: Response.objects.count() == 2)
    assert [each for each in desk.complaints if "401" not in each] == []
    desk.complaints.clear()


def test_signing_in_can_be_put_off_and_everything_goes_out_with_the_next_submit(desk: Desk) -> None:
    wait_until(desk.page, lambda: len(desk.pictures) == 3)
    desk.press("4", "4")
    desk.page.context.clear_cookies(name="sessionid")
    desk.press("Enter")
    expect(desk.page.locator("#sign-in-dialog")).to_be_visible()
    desk.press("Escape")
    desk.status.to_contain_text("Your answer is kept here")
    desk.waiting.to_have_text("1 answer waits until you sign in.")
    desk.press("3", "4", "Enter")
    desk.page.locator("#sign-in-password").fill(factories.PASSWORD)
    desk.press("Enter")
    wait_until(desk.page, lambda: Response.objects.count() == 2)
    desk.received()
    desk.waiting.to_be_hidden()
    in_order = Response.objects.order_by("submitted_at", "id")
    assert [each.contains_bird for each in in_order] == ["definitely_no", "unsure_no"]
    desk.complaints.clear()


def test_a_lost_network_is_told_and_the_answer_goes_out_when_it_is_back(desk: Desk) -> None:
    wait_until(desk.page, lambda: len(desk.pictures) == 3)
    before = desk.assignment
    desk.press("4", "4")
    desk.page.context.set_offline(True)
    desk.press("Enter")
    desk.waiting.to_have_text("1 answer waits for the network.")
    assert desk.assignment != before
    assert not Response.objects.exists()
    desk.page.context.set_offline(False)
    desk.received()
    desk.waiting.to_be_hidden()
    assert Response.objects.count() == 1
    desk.complaints.clear()


def test_a_lost_confirmation_gives_the_same_receipt(desk: Desk) -> None:
    """The server has the answer, the page does not know: the very same goes out again."""
    lost: list[bytes | None] = []

    def lose_the_first(route: Route) -> None:
        lost.append(route.request.post_data_buffer)
        if len(lost) == 1:
            route.fetch()
            route.abort()
        else:
            route.continue_()

    desk.page.route("**/response/", lose_the_first)
    desk.press("4", "4", "Enter")
    desk.received()
    assert lost[0] == lost[1]
    assert desk.page.locator("#status").inner_text().removesuffix(".").endswith(Response.objects.get().receipt)
    desk.complaints.clear()


def test_an_answer_on_its_way_survives_a_reload(desk: Desk) -> None:
    desk.press("4", "4")
    desk.page.route("**/response/", lambda route: (route.fetch(), route.abort()))
    desk.press("Enter")
    desk.waiting.to_have_text("1 answer waits for the network.")
    desk.page.unroute("**/response/")
    desk.reload()
    desk.status.to_have_text(re.compile("^An earlier answer: Received"))
    assert Response.objects.count() == 1
    assert desk.kept("outbox") == []
    desk.complaints.clear()


def test_what_the_server_refuses_is_shown_at_its_question(desk: Desk) -> None:
    wait_until(desk.page, lambda: len(desk.pictures) == 3)
    before = desk.assignment
    refusal = {"code": "invalid", "detail": "Wrong.", "fields": {"contains_bicycle": ["Look again."]}}
    desk.page.route("**/response/", lambda route: route.fulfill(status=400, json=refusal))
    desk.press("4", "4", "Enter")
    desk.status.to_contain_text("Not received: Wrong. Everything is kept")
    assert desk.assignment == before
    expect(desk.page.locator("#contains_bicycle-error")).to_have_text("Look again.")
    expect(desk.page.locator("[data-field=contains_bicycle]")).to_have_attribute("open", "")
    desk.page.unroute("**/response/")
    desk.press("3", "Enter")
    desk.received()
    assert Response.objects.get().contains_bicycle == "unsure_no"
    desk.complaints.clear()


def test_a_lease_that_ran_out_and_was_given_away_still_takes_the_answer(desk: Desk, pictures: list[Panel]) -> None:
    mine = Assignment.objects.get(public_id=desk.assignment)
    Assignment.objects.filter(pk=mine.pk).update(state=AssignmentState.EXPIRED)
    Panel.objects.filter(pk=mine.panel_id).update(leased=0)
    for name in ("ada", "bea", "cyd"):
        factories.response(factories.tasker(name), Panel.objects.get(pk=mine.panel_id))
    desk.press("4", "4", "Enter")
    desk.status.to_contain_text("it is kept and published, and does not count")
    desk.messages.to_contain_text("came after its place was taken")
    desk.press("d")
    desk.messages.to_be_empty()
    assert Response.objects.get(tasker=mine.tasker).place_id is None
    desk.press("v")
    expect(desk.page.locator("#receipts-rows tr")).to_contain_text("kept as surplus")


def test_the_lease_is_renewed_while_the_page_is_in_use_and_not_when_it_is_left(
    pictures: list[Panel], contexts: Any, live_server: Any
) -> None:
    page = contexts(factories.tasker("tara")).new_page()
    page.clock.install()
    beats: list[str] = []
    page.on("request", lambda request: "/heartbeat/" in request.url and beats.append(request.url))
    desk = Desk(page, live_server.url).open()
    wait_until(page, lambda: len(desk.pictures) == 3)
    desk.press("1")
    page.clock.run_for(61_000)
    wait_until(page, lambda: len(set(beats)) == 3)
    page.clock.run_for(15 * 60_000)
    before = len(beats)
    page.clock.run_for(10 * 60_000)
    assert len(beats) == before
    desk.press("2")
    wait_until(page, lambda: len(beats) > before)


# Keys of one's own.


def remap(desk: Desk, action: str, key: str) -> None:
    desk.page.locator(f"[data-change={action}]").click()
    desk.press(key)


def test_a_key_is_changed_and_every_hint_follows(desk: Desk) -> None:
    desk.press("k")
    remap(desk, "choice_4", "w")
    expect(desk.page.locator("#keys-status")).to_have_text("W is now the key of: Answer 4.")
    expect(desk.page.locator("[data-change=choice_4]")).to_be_focused()
    desk.press("Escape", "4")
    desk.missing.to_have_text("Still missing: question 1, question 2")
    expect(desk.page.locator("[data-field=contains_bird] kbd").last).to_have_text("W")
    expect(desk.page.locator("[name=contains_bird]").last).to_have_attribute("aria-keyshortcuts", "W")
    desk.press("w", "w", "Enter")
    desk.received()
    desk.reload()
    desk.press("w", "w")
    desk.missing.to_have_text("Ready to submit")


def test_a_key_that_is_taken_changes_places_and_both_are_told(desk: Desk) -> None:
    desk.press("k")
    remap(desk, "submit", "u")
    expect(desk.page.locator("#keys-status")).to_have_text(
        "U is now the key of: Submit. It was the key of: Undo, which has Enter now."
    )
    desk.press("Escape", "4", "Enter")
    desk.missing.to_have_text("Still missing: question 2")
    desk.status.to_have_text("No outline is asked for with these answers to questions 1 and 2.")
    desk.press("4", "u")
    desk.received()
    desk.press("k")
    desk.page.click("#keys-reset")
    expect(desk.page.locator("#keys-status")).to_have_text("Every action has its usual key again.")
    assert Tasker.objects.get().preferences["keys"] == {}


@pytest.mark.parametrize(
    ("key", "words"),
    [("Escape", "Nothing was changed."), ("F5", "This key stays with the browser"), ("Space", "This key stays")],
)
def test_some_keys_cannot_be_chosen(key: str, words: str, desk: Desk) -> None:
    desk.press("k")
    remap(desk, "report", key)
    expect(desk.page.locator("#keys-status")).to_contain_text(words)
    expect(desk.page.locator("#keys-dialog")).to_be_visible()
    assert Tasker.objects.get().preferences == {}


def test_the_keys_of_the_outline_are_changed_with_the_others(desk: Desk) -> None:
    desk.press("k")
    remap(desk, "close_outline", "x")
    expect(desk.page.locator("#keys-status")).to_contain_text("X is now the key")
    desk.reload()
    desk.press("1", "4")
    desk.corner(*SQUARE)
    desk.press("c")
    desk.outline_short.to_have_text("being drawn")
    desk.press("x")
    desk.outline_short.to_have_text("1 outline, 4 corners")


def test_questions_are_gone_through_by_key(desk: Desk) -> None:
    desk.press("1", "4")
    for key, field in (("f", "statements"), ("f", "contains_bird"), ("b", "statements"), ("b", "outline")):
        desk.press(key)
        expect(desk.page.locator(f"[data-field={field}]")).to_have_attribute("open", "")
        assert desk.page.locator(".question[open]").count() == 1


# What organizers tell, and what taskers ask.


def test_changed_instructions_are_read_before_the_form_opens(desk: Desk) -> None:
    wait_until(desk.page, lambda: len(desk.pictures) == 3)
    InstructionVersion.objects.create(
        version=2, summary="Toys.", clarification="A toy bird is a depiction.", in_force_from=timezone.now()
    )
    Assignment.objects.exclude(public_id=desk.assignment).update(instructions=2)
    with desk.page.expect_response(lambda answer: "/instructions/news/" in answer.url):
        desk.reload()
    desk.press("4", "4", "Enter")
    news = expect(desk.page.locator("#news-dialog"))
    news.to_be_visible()
    news.to_contain_text("A toy bird is a depiction.")
    desk.press("4", "Escape")
    news.to_be_visible()
    assert desk.page.locator("[name=contains_bird]:checked").count() == 0
    expect(desk.page.locator("#news-form button")).to_be_focused()
    desk.press("Enter")
    news.to_be_hidden()
    expect(desk.page.locator("[name=contains_bird]").first).to_be_focused()
    wait_until(desk.page, lambda: Tasker.objects.get().preferences.get("instructions") == 2)
    desk.press("?")
    expect(desk.page.locator("#instructions-dialog")).to_contain_text("A toy bird is a depiction.")
    desk.press("Escape", "4", "4", "Enter")
    desk.received()
    news.to_be_hidden()


def test_a_notice_is_shown_until_it_is_put_away(pictures: list[Panel], contexts: Any, live_server: Any) -> None:
    tara = factories.tasker("tara")
    notice = Notice.objects.create(tasker=tara, code="test", text="Look at the corners too.", told_at=factories.NOW)
    desk = Desk(contexts(tara).new_page(), live_server.url).open()
    desk.messages.to_contain_text("Look at the corners too.")
    desk.page.locator("#messages button").click()
    desk.messages.to_be_empty()
    wait_until(desk.page, lambda: Notice.objects.get(pk=notice.pk).seen_at is not None)
    assert desk.complaints == []


def test_a_pause_is_told_with_the_next_receipt_and_nothing_more_is_asked(desk: Desk) -> None:
    wait_until(desk.page, lambda: len(desk.pictures) == 3)  # two more are at hand
    tara = Tasker.objects.get()
    action_take(tasker=tara, action=WatchAction.PAUSE, reason="Too fast.", now=timezone.now())
    desk.press("4", "4", "Enter")
    desk.messages.to_contain_text("Your labeling is paused: Too fast.")
    desk.press("4", "4", "Enter")
    expect(desk.page.locator("#empty")).to_contain_text("Your labeling is paused.")
    assert Response.objects.count() == 2
    desk.complaints = [each for each in desk.complaints if "403 (Forbidden)" not in each]


def test_a_question_is_asked(desk: Desk) -> None:
    desk.press("4", "q")
    desk.page.keyboard.type("Is a kite a bird?")
    desk.press("Tab", "Enter")
    desk.status.to_have_text("Thank you. An organizer answers your question, for everybody where it helps everybody.")
    assert Question.objects.get().text == "Is a kite a bird?"
    desk.missing.to_have_text("Still missing: question 2")


def test_a_break_is_suggested_and_never_forced(pictures: list[Panel], contexts: Any, live_server: Any) -> None:
    page = contexts(factories.tasker("tara")).new_page()
    page.clock.install()
    desk = Desk(page, live_server.url).open()
    for _ in range(12):
        desk.press("Shift")
        page.clock.run_for(4 * 60_000)
    desk.press("Shift")
    desk.messages.to_be_empty()
    page.clock.run_for(2 * 60_000 + 1_000)
    desk.press("Shift")
    desk.messages.to_contain_text("You have labeled for 50 minutes without a break.")
    desk.press("4", "4")
    desk.missing.to_have_text("Ready to submit")
    desk.press("d")
    desk.messages.to_be_empty()
    page.clock.run_for(6 * 60_000)
    for _ in range(12):
        desk.press("Shift")
        page.clock.run_for(4 * 60_000)
    desk.press("Shift")
    desk.messages.to_be_empty()


def test_who_comes_back_to_a_place_given_away_is_told(pictures: list[Panel], contexts: Any, live_server: Any) -> None:
    page = contexts(factories.tasker("tara")).new_page()
    page.clock.install()
    desk = Desk(page, live_server.url).open()
    wait_until(page, lambda: len(desk.pictures) == 3)
    mine = Assignment.objects.get(public_id=desk.assignment)
    Assignment.objects.filter(pk=mine.pk).update(state=AssignmentState.EXPIRED)
    Panel.objects.filter(pk=mine.panel_id).update(leased=0)
    for name in ("ada", "bea", "cyd"):
        factories.response(factories.tasker(name), Panel.objects.get(pk=mine.panel_id))
    page.clock.run_for(30 * 60_000)
    desk.press("4")
    desk.status.to_contain_text("somebody else has this place now. Send your answer all the same")
    desk.missing.to_have_text("Still missing: question 2")


def test_how_the_picture_is_shown_is_remembered_and_nothing_else_is_done_to_it(desk: Desk) -> None:
    image = expect(desk.page.locator(".outline-image"))
    desk.press("s")
    image.to_have_css("image-rendering", "pixelated")
    image.to_have_css("filter", "none")
    wait_until(desk.page, lambda: Tasker.objects.get().preferences.get("smoothing") is False)
    desk.reload()
    image.to_have_css("image-rendering", "pixelated")
    expect(desk.page.locator("#smoothing")).to_have_attribute("aria-pressed", "false")


# The look.


@pytest.mark.parametrize("size", [(683, 384), (342, 300)], ids=["200 %", "400 %"])
def test_an_enlarged_page_leaves_every_answer_in_reach(
    size: tuple[int, int], pictures: list[Panel], contexts: Any, live_server: Any
) -> None:
    viewport = {"width": size[0], "height": size[1]}
    desk = Desk(contexts(factories.tasker("tara"), viewport=viewport).new_page(), live_server.url).open()
    before = desk.assignment
    desk.answer(1, 4)  # a click that the bar lies over would never come through
    desk.answer(2, 4)
    expect(desk.page.locator("#submit")).to_be_in_viewport(ratio=1)
    desk.submit()
    desk.received()
    assert desk.assignment != before
    assert desk.complaints == []


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_the_page_never_scrolls(size: dict[str, int], pictures: list[Panel], contexts: Any, live_server: Any) -> None:
    desk = Desk(contexts(factories.tasker("tara"), viewport=size).new_page(), live_server.url).open()
    page_fits = """() => document.scrollingElement.scrollHeight <= innerHeight
        && document.scrollingElement.scrollWidth <= innerWidth"""
    for keys in ((), ("1",), ("4",)):
        desk.press(*keys)
        assert desk.page.evaluate(page_fits)
        assert size == PHONE or desk.fits()
    desk.corner(*SQUARE, SQUARE[0])
    assert desk.page.evaluate(page_fits)
    assert size == PHONE or desk.fits()
    desk.press("n")
    expect(desk.page.locator("[data-field=statements]")).to_have_attribute("open", "")
    assert desk.page.evaluate(page_fits)
    assert size == PHONE or desk.fits()
    desk.page.locator(".question summary").nth(2).click()
    assert desk.fits()


def test_on_a_phone_the_picture_is_on_top_and_every_target_is_large(
    pictures: list[Panel], contexts: Any, live_server: Any
) -> None:
    context = contexts(factories.tasker("tara"), viewport=PHONE, has_touch=True, is_mobile=True)
    desk = Desk(context.new_page(), live_server.url).open()
    desk.answer(1, 1)
    desk.answer(2, 4)
    assert desk.too_small() == []
    for opener in ("keys", "report", "ask", "receipts", "instructions"):
        if opener != "instructions":
            desk.page.locator("#open-more").tap()
            assert desk.too_small() == [], "more"
        desk.page.locator(f"[data-act={opener}]:visible").tap()
        expect(desk.page.locator("dialog[open]")).to_be_visible()
        assert desk.too_small() == [], opener
        desk.press("Escape")
    top, questions = (desk.page.locator(part).bounding_box() for part in ("#picture", "#questions"))
    assert top and questions and top["y"] + top["height"] <= questions["y"]


def test_a_finger_taps_and_sees_no_keys(pictures: list[Panel], contexts: Any, live_server: Any) -> None:
    context = contexts(factories.tasker("tara"), viewport=PHONE, has_touch=True, is_mobile=True)
    desk = Desk(context.new_page(), live_server.url).open()
    desk.answer(1, 1)
    desk.answer(2, 4)
    expect(desk.page.locator(".help")).to_have_text(re.compile("^Tap around it"), use_inner_text=True)
    desk.page.locator("#open-more").tap()
    keys = "[...document.querySelectorAll('.sheet kbd')].filter((each) => each.checkVisibility()).length"
    assert desk.page.evaluate(keys) == 1, "the one that is all there is of the button of the instructions"
    desk.press("Escape")
    desk.corner(*SQUARE[:2])
    state = expect(desk.page.locator("#outline-state"))
    state.to_have_text("The outline is not closed: tap its first corner again.")


def test_a_mouse_clicks_and_sees_the_keys(desk: Desk) -> None:
    desk.press("1", "4")
    expect(desk.page.locator(".help")).to_have_text(re.compile("^Click around it.*Keys:", re.S), use_inner_text=True)
    desk.corner(*SQUARE[:2])
    expect(desk.page.locator("#outline-state")).to_have_text(re.compile("or press C"))


def test_a_receipt_never_breaks_in_the_middle_of_a_line(desk: Desk) -> None:
    desk.press("4", "4", "Enter")
    desk.received()
    code = desk.page.locator("#status .receipt")
    expect(code).to_have_text(Response.objects.get().receipt)
    for width in range(320, 420, 10):
        desk.page.set_viewport_size({"width": width, "height": 844})
        assert code.evaluate("code => code.getClientRects().length") == 1, width
    desk.press("v")
    expect(desk.page.locator("#receipts-rows .receipt")).to_have_css("white-space", "nowrap")


def test_axe_finds_nothing(pictures: list[Panel], contexts: Any, live_server: Any) -> None:
    # axe is put in from outside the page, which the content policy rightly forbids to anybody else.
    context = contexts(factories.tasker("tara"), bypass_csp=True)
    desk = Desk(context.new_page(), live_server.url).open()
    steps: list[tuple[str, Callable[[], object]]] = [
        ("question 1", lambda: None),
        ("question 2", lambda: desk.press("1")),
        ("question 3", lambda: desk.press("4")),
        ("question 4", lambda: desk.corner(*SQUARE, SQUARE[0])),
        ("nothing to outline", lambda: desk.press("n")),
        ("question 3 with its tick", lambda: desk.page.locator(".question summary").nth(2).click()),
        ("an outline after all", lambda: desk.press("n")),
        ("question 4 again", lambda: desk.page.locator(".question summary").nth(3).click()),
        ("something missing", lambda: desk.press("Enter")),
        ("complete", lambda: desk.press("1", "2", "3")),
        ("instructions", lambda: desk.press("?")),
        ("report", lambda: desk.press("Escape", "r")),
        ("question", lambda: desk.press("Escape", "q")),
        ("receipts", lambda: desk.press("Escape", "v")),
        ("keys", lambda: desk.press("Escape", "k")),
        ("a key to be changed", lambda: desk.page.locator("[data-change=undo]").click()),
        ("more", lambda: (desk.press("Escape", "Escape"), desk.page.click("#open-more"))),
    ]
    for name, act in steps:
        act()
        assert violations(desk.page) == [], name
    desk.press("Escape")
    context.clear_cookies()
    desk.submit()
    expect(desk.page.locator("#sign-in-dialog")).to_be_visible()
    assert violations(desk.page) == [], "signing in again"


def test_axe_finds_nothing_on_the_pages_around(transactional_db: None, contexts: Any, live_server: Any) -> None:
    forget_versions()
    factories.policy_version()
    for name, state in (("tara", "qualified"), ("nell", "learning"), ("paul", "paused")):
        page = contexts(factories.tasker(name, state=state), bypass_csp=True).new_page()
        for path in ("/label/", "/label/instructions/"):
            page.goto(f"{live_server.url}{path}")
            assert violations(page) == [], (name, path)


def test_axe_finds_nothing_where_nobody_labels(
    pictures: list[Panel], olga: User, rita: User, contexts: Any, live_server: Any
) -> None:
    for user in (olga, rita):
        page = contexts(user, bypass_csp=True).new_page()
        page.goto(f"{live_server.url}/label/")
        expect(page.locator("h1")).to_have_text("This account does not label")
        assert violations(page) == [], user.get_username()


def test_axe_finds_nothing_where_a_plain_form_asks_to_sign_in_again(
    pictures: list[Panel], contexts: Any, live_server: Any
) -> None:
    page = contexts(factories.tasker("tara"), bypass_csp=True).new_page()
    page.goto(f"{live_server.url}/label/")
    page.context.clear_cookies(name="sessionid")
    # As without scripts: the page's own listener is not asked.
    page.evaluate("HTMLFormElement.prototype.submit.call(document.querySelector('#label-form'))")
    expect(page.locator("h1")).to_have_text("Sign in again")
    expect(page.locator("#id_username")).to_be_focused()
    assert violations(page) == []
    page.fill("#id_username", "tara")
    page.fill("#id_password", "wrong")
    page.keyboard.press("Enter")
    expect(page.locator("#sign-in-error")).to_be_visible()
    assert violations(page) == []


def test_without_scripts_the_form_is_complete(pictures: list[Panel], contexts: Any, live_server: Any) -> None:
    page = contexts(factories.tasker("tara"), java_script_enabled=False).new_page()
    page.goto(f"{live_server.url}/label/")
    expect(page.locator("#picture img")).to_be_visible()
    page.locator("[name=contains_bird][value=definitely_no]").check(force=True)
    page.locator(".question summary").nth(1).click()
    page.locator("[name=contains_bicycle][value=definitely_yes]").check(force=True)
    page.locator(".question summary").nth(2).click()
    page.fill("#outline", "60,60\n240,60\n240,240")
    page.locator(".question summary").nth(3).click()
    for name in ("complete", "unoccluded", "real"):
        page.locator(f"[name={name}][value=true]").check(force=True)
    page.click("#submit")
    expect(page.locator(".notice")).to_contain_text(Response.objects.get().receipt)


def test_without_scripts_it_is_ticked_that_nothing_can_be_outlined(
    pictures: list[Panel], contexts: Any, live_server: Any
) -> None:
    page = contexts(factories.tasker("tara"), java_script_enabled=False).new_page()
    page.goto(f"{live_server.url}/label/")
    page.locator("[name=contains_bird][value=definitely_yes]").check(force=True)
    page.locator(".question summary").nth(1).click()
    page.locator("[name=contains_bicycle][value=definitely_no]").check(force=True)
    page.locator(".question summary").nth(2).click()
    page.locator(".tick").click()
    page.click("#submit")
    expect(page.locator(".notice")).to_contain_text("Everything you filled in is kept")
    expect(page.locator("[name=cannot_outline]")).to_be_checked()
    for name in ("complete", "unoccluded", "real"):
        page.locator(f"[name={name}][value=true]").check(force=True)
    page.click("#submit")
    expect(page.locator(".notice")).to_contain_text(Response.objects.get().receipt)
    assert Response.objects.get().outline == ""


# What it weighs.


def test_the_page_weighs_little_before_the_picture(pictures: list[Panel], signed_in: Any) -> None:
    page = signed_in(factories.tasker("tara")).get("/label/").content
    sheets = re.findall(rb'rel="stylesheet" href="/static/(css/[\w.]+|vendor/[\w./]+)"', page)
    parts = [*(each.decode() for each in sheets), "js/label.js", *MODULES]
    weights = [len(gzip.compress((STATIC / part).read_bytes(), 9)) for part in parts]
    assert sum(weights) + len(gzip.compress(page)) < 150_000
    assert len(parts) <= 33


def test_every_module_of_the_page_is_asked_for_at_once() -> None:
    reached, waiting = set(), ["js/label.js"]
    while waiting:
        module = waiting.pop()
        reached.add(module)
        found = re.findall(r'from "\./(\w+\.js)"', (STATIC / module).read_text())
        waiting += [f"js/{each}" for each in found if f"js/{each}" not in reached]
    assert set(MODULES) == reached - {"js/label.js"}


def test_the_page_has_every_word_of_the_editor() -> None:
    source = (STATIC / "js/outline_words.js").read_text()
    labels = source[source.index("LABELS = {") : source.index("\n};")]
    names = set(re.findall(r"^ +(\w+):", labels, re.MULTILINE)) - {"describedBy"}
    editor = page_words()["editor"]
    assert isinstance(editor, dict)
    assert set(editor) | set(editor["problems"]) == names
