"""What the labeling page keeps on the device: every stroke, what waits in the outbox, and whose it is."""

import re
from typing import Any

from playwright.sync_api import Route, expect

from labeling.models import Panel, Response
from tests import factories
from tests.browser.label_desk import SQUARE, Desk, wait_until

CLOSED = """Object.defineProperty(window, "indexedDB", {
    value: { open() { throw new DOMException("closed", "SecurityError"); } },
});"""


def ahead(desk: Desk) -> None:
    """Wait until the next two pictures are loaded."""
    wait_until(desk.page, lambda: len(desk.pictures) == 3)


def on_device(desk: Desk, account: str, *steps: list[Any]) -> list[Any]:
    """Do things with what the page keeps things with, for an account; return what each of them gave."""
    results: list[Any] = desk.page.evaluate(
        """async ([account, steps]) => {
            const { Device } = await import("/static/js/label_drafts.js");
            const [device, results] = [new Device(account), []];
            for (const [name, ...values] of steps) results.push(await device[name](...values));
            return results;
        }""",
        [account, steps],
    )
    return results


# Every stroke.


def test_each_corner_is_there_after_a_reload_and_in_a_tab_opened_anew(desk: Desk) -> None:
    desk.press("1", "4")
    for count, corner in enumerate(SQUARE[:3], start=1):
        desk.corner(corner)
        wait_until(desk.page, lambda: bool(desk.kept("drafts")))
        wait_until(desk.page, lambda n=count: len(desk.kept("drafts")[0]["form"]["drawing"]["open"]) == n)
    expect(desk.page.locator("#saved")).to_have_text(re.compile(r"^Saved on this device \d\d:\d\d:\d\d$"))
    desk.reload()
    desk.outline_short.to_have_text("being drawn")
    desk.missing.to_have_text("Still missing: closing the outline, question 4")
    context = desk.page.context
    desk.page.close()
    again = Desk(context.new_page(), desk.address).open()
    again.outline_short.to_have_text("being drawn")
    again.corner(SQUARE[3], SQUARE[0])
    again.outline_short.to_have_text("1 outline, 4 corners")
    again.press("1", "2", "3", "Enter")
    again.received()
    assert Response.objects.get().outline.count("[") == 1 + 1 + 4
    assert again.kept("drafts") == again.kept("outbox") == again.complaints == []


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


def test_a_draft_replaces_neither_a_newer_one_nor_what_was_submitted(desk: Desk) -> None:
    keeps = [["keep", "a", 5, "newer"], ["keep", "a", 5, "same"], ["keep", "a", 3, "older"], ["draftOf", "a"]]
    kept, same, older, found = on_device(desk, "nobody", *keeps)
    assert "savedAt" in kept
    assert (same, older) == ({"newer": True}, {"newer": True})
    assert (found["revision"], found["form"]) == (5, "newer")
    queue = ["queue", {"assignment": "a", "answer": {}, "form": "said", "revision": 5}]
    settle = ["settle", "a", {"receipt": "0-0-0"}]
    changed = [["keep", "a", 9, "changed"], ["draftOf", "a"]]
    *_, queued, none, _, received, nothing = on_device(desk, "nobody", queue, *changed, settle, *changed)
    assert queued == received == {"submitted": True}
    assert none is nothing is None


# Whose it is, and for how long.


def test_what_another_account_left_here_is_neither_shown_nor_sent(desk: Desk) -> None:
    """A draft of a fortnight ago is cleared away, whoever left it."""
    mine = desk.assignment
    form = {"answers": {"contains_bird": "unsure_no"}}
    entry = {"assignment": "theirs", "api": "/api/v1/assignments/", "answer": {}, "form": form, "revision": 1}
    on_device(desk, "somebody", ["keep", mine, 7, form], ["queue", entry])
    desk.page.evaluate("""() => new Promise((resolve) => {
        const opening = indexedDB.open("unanimous");
        opening.onsuccess = () => {
            const drafts = opening.result.transaction("drafts", "readwrite").objectStore("drafts");
            drafts.put({ assignment: "old", account: "somebody", revision: 1, savedAt: Date.now() - 15 * 864e5 });
            drafts.transaction.oncomplete = () => { opening.result.close(); resolve(); };
        };
    })""")
    sent: list[str] = []
    desk.page.on("request", lambda request: "/response/" in request.url and sent.append(request.url))
    desk.reload()
    assert [each["assignment"] for each in desk.kept("drafts")] == [mine]
    assert desk.page.locator("[name=contains_bird]:checked").count() == 0
    desk.press("4", "4", "Enter")
    desk.received()
    assert len(sent) == 1 and mine in sent[0]
    assert [each["account"] for each in desk.kept("outbox")] == ["somebody"]


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
