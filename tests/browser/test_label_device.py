"""What the labeling page keeps on the device: every stroke, what waits in the outbox, and whose it is."""

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Route, expect

from common.models import UserSession
from labeling.models import Assignment, Panel, Response
from tests import factories
from tests.browser.label_desk import SQUARE, Desk, wait_until

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
]
CLOSED = """Object.defineProperty(window, "indexedDB", {
    value: { open() { throw new DOMException("closed", "SecurityError"); } },
});"""


def ahead(desk: Desk) -> None:
    """Wait until the next two pictures are loaded."""
    wait_until(desk.page, lambda: len(desk.pictures) == 3)


def on_device(desk: Desk, script: str) -> Any:
    """Run a script with `device`, which is what the page keeps things with, for the account of the page."""
    return desk.page.evaluate(
        """async (body) => {
            const { Device } = await import("/static/js/label_drafts.js");
            const act = { keep: (device, steps) => steps.reduce(async (before, [name, ...values]) => {
                const results = await before;
                return [...results, await device[name](...values)];
            }, Promise.resolve([])) };
            const { account, steps } = JSON.parse(body);
            return act.keep(new Device(account), steps);
        }""",
        script,
    )


# Every stroke.


def test_each_corner_is_there_after_a_reload(desk: Desk) -> None:
    desk.press("1", "4")
    for corners in range(1, 4):
        desk.corner(SQUARE[corners - 1])
        wait_until(desk.page, lambda: bool(desk.kept("drafts")))
        wait_until(desk.page, lambda n=corners: len(desk.kept("drafts")[0]["form"]["drawing"]["open"]) == n)
        desk.reload()
        desk.outline_short.to_have_text("being drawn")
        assert len(desk.kept("drafts")[0]["form"]["drawing"]["open"]) == corners
    desk.corner(SQUARE[3], SQUARE[0])
    desk.outline_short.to_have_text("1 outline, 4 corners")


def test_a_closed_tab_loses_nothing(desk: Desk) -> None:
    desk.press("1", "4")
    desk.corner(*SQUARE[:3])
    wait_until(desk.page, lambda: len(desk.kept("drafts")[0]["form"]["drawing"]["open"]) == 3)
    context = desk.page.context
    desk.page.close()
    again = Desk(context.new_page(), desk.address).open()
    again.outline_short.to_have_text("being drawn")
    again.corner(SQUARE[3], SQUARE[0])
    again.press("1", "2", "3", "Enter")
    again.received()
    assert Response.objects.get().outline.count("[") == 1 + 1 + 4
    assert again.complaints == []


def test_a_draft_of_a_picture_loaded_ahead_is_shown_with_it(desk: Desk) -> None:
    ahead(desk)
    second = Assignment.objects.order_by("leased_at", "id")[1].public_id
    form = {"answers": {"contains_bird": "unsure_no", "contains_bicycle": None}, "statements": {}}
    on_device(desk, json.dumps({"account": "tara", "steps": [["keep", str(second), 4, form]]}))
    desk.reload()
    desk.pictures.clear()
    desk.press("4", "4", "Enter")
    expect(desk.page.locator("[name=assignment]")).to_have_value(str(second))
    expect(desk.page.locator("[name=contains_bird][value=unsure_no]")).to_be_checked()


# Two windows.


def test_a_second_window_follows_every_stroke(desk: Desk) -> None:
    second = Desk(desk.page.context.new_page(), desk.address).open()
    desk.page.bring_to_front()
    desk.press("1", "4")
    desk.corner(*SQUARE[:3])
    second.outline_short.to_have_text("being drawn")
    second.page.bring_to_front()
    second.corner(SQUARE[3], SQUARE[0])
    desk.outline_short.to_have_text("1 outline, 4 corners")
    assert second.complaints == []


def test_a_lower_revision_never_replaces_a_higher_one(desk: Desk) -> None:
    steps = [["keep", "a", 5, "newer"], ["keep", "a", 5, "same"], ["keep", "a", 3, "older"], ["draftOf", "a"]]
    kept, same, older, found = on_device(desk, json.dumps({"account": "tara", "steps": steps}))
    assert "savedAt" in kept
    assert (same, older) == ({"newer": True}, {"newer": True})
    assert (found["revision"], found["form"]) == (5, "newer")


@pytest.mark.parametrize("then", [[], [["settle", "a", {"receipt": "0-0-0"}]]], ids=["queued", "received"])
def test_a_draft_never_replaces_what_was_submitted(then: list[Any], desk: Desk) -> None:
    queued = {"assignment": "a", "answer": {}, "form": "said", "revision": 5}
    steps = [["keep", "a", 5, "said"], ["queue", queued], *then, ["keep", "a", 9, "changed"], ["draftOf", "a"]]
    *_, refused, found = on_device(desk, json.dumps({"account": "nobody", "steps": steps}))
    assert (refused, found) == ({"submitted": True}, None)


def test_a_draft_of_a_picture_answered_elsewhere_is_dropped(desk: Desk, contexts: Any, live_server: Any) -> None:
    other = Desk(contexts(Assignment.objects.first().tasker).new_page(), live_server.url).open()
    other.press("3")
    wait_until(other.page, lambda: len(other.kept("drafts")) == 1)
    desk.press("4", "4", "Enter")
    desk.received()
    other.press("4", "Enter")
    other.status.to_contain_text("You answered this picture already")
    assert other.kept("drafts") == other.kept("outbox") == []
    assert Response.objects.get().contains_bird == "definitely_no"


# Whose it is, and for how long.


def test_what_another_account_left_here_is_neither_shown_nor_sent(desk: Desk, contexts: Any) -> None:
    mine = desk.assignment
    form = {"answers": {"contains_bird": "unsure_no"}}
    entry = {"assignment": "theirs", "api": "/api/v1/assignments/", "answer": {}, "form": form, "revision": 1}
    on_device(desk, json.dumps({"account": "somebody", "steps": [["keep", mine, 7, form], ["queue", entry]]}))
    sent: list[str] = []
    desk.page.on("request", lambda request: "/response/" in request.url and sent.append(request.url))
    desk.reload()
    assert desk.page.locator("[name=contains_bird]:checked").count() == 0
    desk.press("4", "4", "Enter")
    desk.received()
    assert len(sent) == 1 and mine in sent[0]
    assert [each["account"] for each in desk.kept("outbox")] == ["somebody"]


def test_drafts_of_a_fortnight_ago_are_cleared_away(desk: Desk) -> None:
    desk.press("1")
    wait_until(desk.page, lambda: len(desk.kept("drafts")) == 1)
    desk.page.evaluate("""() => new Promise((resolve) => {
        const opening = indexedDB.open("unanimous");
        opening.onsuccess = () => {
            const drafts = opening.result.transaction("drafts", "readwrite").objectStore("drafts");
            drafts.put({ assignment: "old", account: "somebody", revision: 1, savedAt: Date.now() - 15 * 864e5 });
            drafts.transaction.oncomplete = () => { opening.result.close(); resolve(); };
        };
    })""")
    desk.reload()
    assert [each["account"] for each in desk.kept("drafts")] == ["tara"]


def test_a_device_that_keeps_nothing_says_so_and_the_page_works(
    pictures: list[Panel], contexts: Any, live_server: Any
) -> None:
    context = contexts(factories.tasker("tara"))
    context.add_init_script(CLOSED)
    desk = Desk(context.new_page(), live_server.url).open()
    desk.press("4")
    saved = expect(desk.page.locator("#saved"))
    saved.to_have_text("Not kept on this device: its storage is full or closed.")
    warned: list[str] = []
    desk.page.on("dialog", lambda dialog: (warned.append(dialog.type), dialog.accept()))
    desk.page.reload()
    desk.ready()
    assert warned == ["beforeunload"]
    desk.press("4", "4", "Enter")
    desk.received()
    assert Response.objects.count() == 1
    assert desk.complaints == []


# The outbox.


def test_three_answers_without_a_network_go_out_in_order_when_it_is_back(desk: Desk) -> None:
    ahead(desk)
    order = [desk.assignment]
    desk.page.context.set_offline(True)
    for choice in ("4", "3", "4"):
        order.append(desk.assignment)
        desk.press(choice, "4", "Enter")
        desk.page.wait_for_timeout(100)
    expect(desk.page.locator("#empty-title")).to_have_text("No connection")
    expect(desk.page.locator("#empty-words")).to_have_text(
        "3 answers wait for the network. Kept on this device; they go out by themselves. "
        "You can leave this page open or come back."
    )
    assert not Response.objects.exists()
    desk.page.context.set_offline(False)
    expect(desk.page.locator(".outline-surface")).to_be_visible()
    in_order = Response.objects.order_by("id")
    assert [str(each.assignment.public_id) for each in in_order] == order[1:]
    assert [each.contains_bird for each in in_order] == ["definitely_no", "unsure_no", "definitely_no"]
    assert desk.kept("outbox") == []
    desk.complaints.clear()


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", "1 answer waits for the network. Kept on this device; it goes out by itself."),
        ("de", "1 Antwort wartet auf das Netz. Auf diesem Gerät gesichert; sie geht von selbst hinaus."),
    ],
)
def test_one_answer_that_waits_is_told_as_one(
    language: str, words: str, pictures: list[Panel], contexts: Any, live_server: Any
) -> None:
    Panel.objects.exclude(pk=pictures[0].pk).update(state="held")
    tara = factories.tasker("tara")
    tara.language = language
    tara.save()
    desk = Desk(contexts(tara).new_page(), live_server.url).open()
    desk.page.context.set_offline(True)
    desk.press("4", "4", "Enter")
    expect(desk.page.locator("#empty-words")).to_contain_text(words)
    desk.page.context.set_offline(False)
    wait_until(desk.page, lambda: Response.objects.count() == 1)


def test_the_network_is_cut_after_the_answer_went_out_and_the_page_is_left(desk: Desk) -> None:
    """The server has it, nobody heard: the answer is there once, and its receipt comes when somebody is back."""

    def cut(route: Route) -> None:
        route.fetch()
        desk.page.context.set_offline(True)
        route.abort()

    desk.page.route("**/response/", cut)
    desk.press("4", "4", "Enter")
    desk.waiting.to_have_text("1 answer waits for the network.")
    context = desk.page.context
    desk.page.close()
    context.set_offline(False)
    again = Desk(context.new_page(), desk.address).open()
    again.status.to_have_text(re.compile("^An earlier answer: Received .*" + Response.objects.get().receipt))
    assert again.kept("outbox") == []
    assert Response.objects.count() == 1
    desk.complaints.clear()


def test_a_sign_in_that_ends_while_answers_wait_is_asked_for_once_and_all_goes_out(desk: Desk) -> None:
    ahead(desk)
    desk.page.context.set_offline(True)
    desk.press("4", "4", "Enter")
    desk.waiting.to_have_text("1 answer waits for the network.")
    desk.press("3", "4", "Enter")
    desk.waiting.to_have_text("2 answers wait for the network.")
    UserSession.objects.all().delete()
    desk.page.context.set_offline(False)
    expect(desk.page.locator("#sign-in-dialog")).to_be_visible()
    desk.page.keyboard.type(factories.PASSWORD)
    desk.press("Enter")
    wait_until(desk.page, lambda: Response.objects.count() == 2)
    desk.waiting.to_be_hidden()
    assert desk.kept("outbox") == []
    desk.complaints.clear()


def test_the_code_of_a_second_factor_is_asked_for_in_place(desk: Desk) -> None:
    posted: list[str] = []

    def ask_once(route: Route) -> None:
        posted.append(route.request.post_data or "")
        if len(posted) == 1:
            route.fulfill(status=200, headers={"Second-Factor": "needed"}, body="")
        else:
            route.continue_()

    UserSession.objects.all().delete()
    desk.press("4", "4", "Enter")
    desk.page.route("**/sign-in/", ask_once)
    desk.page.locator("#sign-in-password").fill(factories.PASSWORD)
    desk.press("Enter")
    expect(desk.page.locator("#sign-in-otp")).to_be_focused()
    expect(desk.page.locator("#sign-in-error")).to_contain_text("This account has a second factor")
    desk.page.keyboard.type("123456")
    desk.press("Enter")
    desk.received()
    assert "otp=123456" in posted[1]
    desk.complaints.clear()


def test_somebody_else_who_signed_in_meanwhile_does_not_send_it(desk: Desk, contexts: Any) -> None:
    otto = factories.tasker("otto")
    ahead(desk)
    cookies = contexts(otto).cookies()
    desk.page.context.clear_cookies(name="sessionid")
    desk.page.context.add_cookies([each for each in cookies if each["name"] == "sessionid"])
    desk.press("4", "4", "Enter")
    desk.status.to_contain_text("Sign in as tara; everything is kept.")
    assert not Response.objects.exists()
    desk.page.locator("#sign-in-password").fill(factories.PASSWORD)
    desk.press("Enter")
    desk.received()
    assert Response.objects.get().tasker.user.username == "tara"
    desk.complaints.clear()


def test_a_refused_answer_brings_its_picture_back_and_the_next_one_waits(desk: Desk) -> None:
    ahead(desk)
    first = desk.assignment
    held: list[Route] = []
    desk.page.route("**/response/", lambda route: held.append(route))
    desk.press("1", "4")
    desk.corner(*SQUARE, SQUARE[0])
    desk.press("1", "2", "3", "Enter")
    expect(desk.page.locator("[name=assignment]")).not_to_have_value(first)
    second = desk.assignment
    desk.press("1", "4", "Enter")
    desk.spoken.to_contain_text("Corner 1 at")
    desk.answer_again(1, 2)
    held[0].fulfill(status=400, json={"code": "invalid", "detail": "No.", "fields": {"outline": ["Once more."]}})
    expect(desk.page.locator("[name=assignment]")).to_have_value(first)
    desk.outline_short.to_have_text("1 outline, 4 corners")
    expect(desk.page.locator("#outline-error")).to_have_text("Once more.")
    desk.spoken.not_to_contain_text("Corner")
    desk.page.unroute("**/response/")
    desk.submit()
    desk.received()
    expect(desk.page.locator("[name=assignment]")).to_have_value(second)
    expect(desk.page.locator("[name=contains_bird][value=unsure_yes]")).to_be_checked()
    desk.complaints.clear()


def test_a_receipt_may_lead_elsewhere(desk: Desk) -> None:
    receipt = {"receipt": "0-0-0", "received_at": "2026-11-18T12:00:00Z", "counted": True, "go": "/label/instructions/"}
    desk.page.route("**/response/", lambda route: route.fulfill(status=201, json=receipt))
    desk.press("4", "4", "Enter")
    desk.page.wait_for_url("**/label/instructions/")
    assert desk.kept("drafts") == desk.kept("outbox") == []


def test_receipts_are_listed_newest_first_also_after_a_reload(desk: Desk) -> None:
    ahead(desk)
    for count in (1, 2):
        desk.press("4", "4", "Enter")
        wait_until(desk.page, lambda n=count: Response.objects.count() == n and desk.kept("outbox") == [])
    desk.reload()
    desk.press("v")
    expect(desk.page.locator("#receipts-dialog")).to_be_visible()
    shown = [row.text_content() or "" for row in desk.page.locator("#receipts-rows tr").all()]
    receipts = [each.receipt for each in Response.objects.order_by("-id")]
    assert all(receipt in row for receipt, row in zip(receipts, shown, strict=True))
