"""What the labeling page keeps on the device: every stroke, what waits in the outbox, and whose it is; also when the
server is killed between its commit and its answer.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, Route, expect

from labeling.answers import MAX_SECONDS
from labeling.models import Assignment, Draft, Panel, Response, Tasker
from labeling.pages import label_form
from tests import factories
from tests.browser.label_desk import RECEIVED, SQUARE, Desk, wait_until
from tests.browser.looking import CHECKED, DESK, HIDDEN, SHOWN, has, holds, signs_in
from tests.cut_wire import wire_to
from tests.processes import deployment, kill, wait_for

CLOSED = """Object.defineProperty(window, "indexedDB", {
    value: { open() { throw new DOMException("closed", "SecurityError"); } },
});"""
ON_DEVICE = """async ([account, steps]) => {
    const { Device } = await import("/static/js/label_drafts.js");
    const [device, results] = [new Device(account), []];
    for (const [name, ...values] of steps) results.push(await device[name](...values));
    return results;
}"""
# Nothing is written until the page may go on.
HOLD_DATABASE = """() => new Promise((holding) => {
    const opening = indexedDB.open("unanimous");
    opening.onsuccess = () => {
        const outbox = opening.result.transaction("outbox", "readwrite").objectStore("outbox");
        const again = () => window.letGo ? opening.result.close() : (outbox.get("none").onsuccess = again);
        again();
        holding();
    };
})"""
# What a server of its own has to label, and what it kept.
FILL = """
from django.utils import timezone
from labeling.models import Tasker
from picture_files.png import encode_png, pixels_sha256
from picture_files.store import picture_key, picture_store
from tests import factories
factories.tasker("tara")
for shade in (40, 90, 140):
    pixels = bytes((shade, 150, 170)) * 299 * 299
    sha = pixels_sha256(299, 299, pixels)
    picture_store().put(picture_key(sha), encode_png(299, 299, pixels))
    factories.panel(factories.image(pixels_sha256=sha), dealt_at=timezone.now())
result = True
"""
KEPT = """
from labeling.models import Panel, Response
result = {
    "responses": list(Response.objects.values_list("receipt", flat=True)),
    "answered": sum(Panel.objects.values_list("answered", flat=True)),
}
"""


def on_device(desk: Desk, account: str, *steps: list[Any]) -> list[Any]:
    """Do things with what the page keeps things with, for an account; return what each of them gave."""
    return list(desk.page.evaluate(ON_DEVICE, [account, steps]))


def test_each_corner_is_there_after_a_reload_and_in_a_tab_opened_anew(desk: Desk) -> None:
    desk.press("1", "4")
    for count, corner in enumerate(SQUARE[:3], start=1):
        desk.corner(corner)
        wait_until(desk.page, lambda: bool(desk.kept("drafts")))
        wait_until(desk.page, lambda n=count: len(desk.kept("drafts")[0]["form"]["drawing"]["open"]) == n)
    expect(desk.page.locator("#saved")).to_have_text(re.compile(r"^Saved on this device \d\d:\d\d:\d\d$"))
    desk.reload()
    missing = "Still missing: closing the outline, question 4"
    desk.follow(("", "outline_short", "being drawn"), ("", "missing", missing))
    context = desk.page.context
    desk.page.close()
    again = Desk(context.new_page(), desk.address).open()
    again.outline_short.to_have_text("being drawn")
    again.corner(SQUARE[3], SQUARE[0])
    again.follow(("", "outline_short", "1 outline, 4 corners"), ("1 2 3 Enter", "status", RECEIVED))
    assert Response.objects.get().outline.count("[") == 1 + 1 + 4
    assert again.kept("drafts") == again.kept("outbox") == again.complaints == []


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
    assert "savedAt" in kept and same == older == {"newer": True}
    assert (found["revision"], found["form"]) == (5, "newer")
    queue = ["queue", {"assignment": "a", "answer": {}, "form": "said", "revision": 5}]
    settle = ["settle", "a", {"receipt": "0-0-0"}]
    changed = [["keep", "a", 9, "changed"], ["draftOf", "a"]]
    *_, queued, none, _, received, nothing = on_device(desk, "nobody", queue, *changed, settle, *changed)
    assert queued == received == {"submitted": True}
    assert none is nothing is None


@pytest.mark.parametrize(
    ("seconds", "days", "why"),
    [(0, 3, "a page left in view over a weekend"), (100_000, 0, "the draft of such a page")],
)
def test_a_picture_left_in_view_for_days_can_be_answered(desk: Desk, seconds: int, days: int, why: str) -> None:
    """The server takes a day at the most, so the page counts no more (R8: no answer is thrown away)."""
    on_device(desk, "tara", ["keep", desk.assignment, 1, {"seconds": seconds}])
    desk.page.clock.install()
    desk.reload()
    desk.page.clock.fast_forward(days * 24 * 3600 * 1000)
    desk.follow(("4 4 Enter", "status", RECEIVED))
    assert Response.objects.get().milliseconds == MAX_SECONDS * 1000, why


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
    desk.follow(("4 4 Enter", "status", RECEIVED))
    assert len(sent) == 1 and mine in sent[0]
    assert [each["account"] for each in desk.kept("outbox")] == ["somebody"]


def test_an_answer_of_a_qualification_that_waits_here_asks_for_no_picture(desk: Desk) -> None:
    """Only the calls of this page know how to bring one."""
    entry = {
        "assignment": "other",
        "api": "/api/v1/qualification/",
        "answer": {"seconds": 1},
        "form": {},
        "revision": 1,
    }
    on_device(desk, "tara", ["queue", entry])
    sent: list[Any] = []

    def receive(route: Route) -> None:
        sent.append(route.request.post_data_json)
        route.fulfill(status=201, json={"receipt": "R", "received_at": "2026-11-20T12:00:00Z", "counted": True})

    desk.page.route("**/api/v1/qualification/other/response/", receive)
    desk.reload()
    wait_until(desk.page, lambda: desk.kept("outbox") == [])
    assert sent == [{"seconds": 1}]


def test_a_device_that_keeps_nothing_says_so_and_the_page_works(
    pictures: list[Panel], contexts: Any, live_server: Any
) -> None:
    context = contexts(factories.tasker("tara"))
    context.add_init_script(CLOSED)
    desk = Desk(context.new_page(), live_server.url).open()
    desk.follow(("4", "#saved", "Not kept on this device: its storage is full or closed."))
    warned: list[str] = []
    desk.page.on("dialog", lambda dialog: (warned.append(dialog.type), dialog.accept()))
    desk.reload()
    assert warned == ["beforeunload"]
    desk.follow(("4 4 Enter", "status", RECEIVED))
    assert (Response.objects.count(), desk.complaints) == (1, [])


def test_three_answers_without_a_network_go_out_in_order_when_it_is_back(desk: Desk) -> None:
    desk.ahead()
    order = []
    desk.page.context.set_offline(True)
    for number, choice in enumerate("434"):
        order.append(desk.assignment)
        desk.goes_on(choice, "4", "Enter", to="#empty" if number == 2 else "")
    words = "3 answers wait for the network. Kept on this device; they go out by themselves. "
    words += "You can leave this page open or come back."
    desk.follow(("", "#empty-title", "No connection"), ("", "#empty-words", words))
    assert not Response.objects.exists()
    desk.page.context.set_offline(False)
    expect(desk.page.locator(".outline-surface")).to_be_visible()
    sent = [(str(each.assignment.public_id), each.contains_bird) for each in Response.objects.order_by("id")]
    assert sent == list(zip(order, ["definitely_no", "unsure_no", "definitely_no"], strict=True))
    assert desk.kept("outbox") == []
    desk.complaints.clear()


def test_the_network_is_cut_after_the_answer_went_out_and_the_page_is_left(desk: Desk) -> None:
    """The server has it, nobody heard: the answer is there once, and its receipt comes when somebody is back."""

    def cut(route: Route) -> None:
        route.fetch()
        desk.page.context.set_offline(True)
        route.abort()

    desk.page.route("**/response/", cut)
    desk.follow(("4 4 Enter", "waiting", "1 answer waits for the network."))
    context = desk.page.context
    desk.page.close()
    context.set_offline(False)
    again = Desk(context.new_page(), desk.address).open()
    again.status.to_have_text(re.compile("^An earlier answer: Received .*" + Response.objects.get().receipt))
    assert again.kept("outbox") == [] and Response.objects.count() == 1
    desk.complaints.clear()


def test_a_refused_answer_brings_its_picture_back_and_the_next_one_waits(desk: Desk) -> None:
    desk.ahead()
    first = desk.assignment
    held: list[Route] = []
    desk.page.route("**/response/", lambda route: held.append(route))
    desk.outline_a_bird()
    desk.goes_on("1", "2", "3", "Enter")
    second = desk.assignment
    desk.follow(("1 4 Enter", "spoken", has("Corner 1 at")))
    desk.answer_again(1, 2)
    held[0].fulfill(status=400, json={"code": "invalid", "detail": "No.", "fields": {"outline": ["Once more."]}})
    desk.follow(
        ("", "[name=assignment]", holds(first)),
        ("", "outline_short", "1 outline, 4 corners"),
        ("", "#outline-error", "Once more."),
    )
    desk.spoken.not_to_contain_text("Corner")
    desk.page.unroute("**/response/")
    desk.submit()
    desk.follow(
        ("", "status", RECEIVED),
        ("", "[name=assignment]", holds(second)),
        ("", "[name=contains_bird][value=unsure_yes]", CHECKED),
    )
    desk.complaints.clear()


def test_an_answer_refused_while_the_next_one_is_put_into_the_outbox_stays_on_screen(desk: Desk) -> None:
    desk.ahead()
    first = desk.assignment
    refused: list[Route] = []
    desk.page.route("**/response/", lambda route: refused.append(route))
    desk.goes_on("4", "4", "Enter")
    second = desk.assignment
    desk.follow(("4 4", "missing", "Ready to submit"))
    wait_until(desk.page, lambda: len(desk.kept("drafts")) == 1)
    desk.page.evaluate(HOLD_DATABASE)
    refused[0].fulfill(status=400, json={"code": "invalid", "detail": "No."})
    desk.page.unroute("**/response/")
    desk.page.wait_for_timeout(200)
    desk.press("Enter")
    desk.page.evaluate("window.letGo = true")
    wait_until(desk.page, lambda: Response.objects.count() == 1)
    desk.follow(
        ("", "[name=assignment]", holds(first)),
        ("", "[name=contains_bird][value=definitely_no]", CHECKED),
    )
    desk.goes_on("Enter")
    assert desk.assignment not in (first, second)
    desk.forgives("400")


@pytest.mark.parametrize(
    ("empty", "reply", "why"),
    [
        (False, Route.continue_, "the page waits for a picture that it loads ahead"),
        (True, Route.continue_, "none came ahead: it asks for one"),
        (True, Route.abort, "it asks, and there is no network"),
    ],
)
def test_an_answer_taken_back_while_the_next_picture_is_on_its_way_stays_on_screen(
    monkeypatch: pytest.MonkeyPatch, desk: Desk, empty: bool, reply: Callable[[Route], None], why: str
) -> None:
    """With `empty` the first request brings none; `reply` is made to the one that the tasker waits for."""
    monkeypatch.setattr(label_form, "HOLD_SECONDS", 9)
    asked: list[Route] = []
    desk.ahead()
    desk.page.route("**/next/", lambda route: asked.append(route), times=1 + empty)
    desk.reload()
    first = desk.assignment
    desk.follow(("4 4 Enter", ".news [data-act=take_back]", SHOWN))
    if empty:
        wait_until(desk.page, lambda: len(asked) == 1)
        asked[0].fulfill(status=204)
    wait_until(desk.page, lambda: len(asked) == 1 + empty)
    desk.follow(("z", "status", has("Taken back")))
    reply(asked[-1])
    desk.page.wait_for_timeout(300)
    desk.follow(("", "[name=assignment]", holds(first)), ("", "missing", "Ready to submit"), ("", "#empty", HIDDEN))
    desk.goes_on("Enter")
    desk.forgives("net::ERR_FAILED")


def test_receipts_are_listed_newest_first_also_after_a_reload(desk: Desk) -> None:
    desk.ahead()
    for count in (1, 2):
        desk.press("4", "4", "Enter")
        wait_until(desk.page, lambda n=count: Response.objects.count() == n and desk.kept("outbox") == [])
    desk.reload()
    receipts = list(Response.objects.order_by("-id").values_list("receipt", flat=True))
    desk.follow(("v", "#receipts-dialog", SHOWN), ("", "#receipts-rows tr", has(receipts)))
    with desk.page.context.expect_page() as answer:
        desk.page.get_by_role("link", name=receipts[1]).click()
    expect(answer.value.locator("main")).to_contain_text(receipts[1])


@pytest.mark.postgres("a server is killed as in a contest")
@pytest.mark.long("the page asks again after half a minute; killed before the answer arrives stays")
def test_killed_between_commit_and_answer(chromium: Browser, tmp_path: Path) -> None:
    with deployment(tmp_path) as site:
        site.run(FILL)
        web = site.start_web()
        with wire_to(site.port) as wire:
            desk = _signed_in(chromium, f"http://127.0.0.1:{wire.port}")
            wire.arm(b"/response/ ", lambda: kill(web))
            desk.press("4", "4", "Enter")
            assert wire.was_cut.wait(20), "the answer was on its way when the server died"
            before = site.run(KEPT)
            assert len(before["responses"]) == 1, "it was committed"
            site.start_web()
            expect(desk.page.locator("body")).to_contain_text(before["responses"][0], timeout=90_000)
            assert site.run(KEPT) == before | {"answered": 1}
            desk.page.context.close()


@pytest.mark.postgres("a server is killed as in a contest")
def test_killed_before_the_answer_arrived_and_the_tab_closed(chromium: Browser, tmp_path: Path) -> None:
    """The server is away altogether, the tab is closed, both come back: sent once, from what the device kept."""
    with deployment(tmp_path) as site:
        site.run(FILL)
        web = site.start_web()
        desk = _signed_in(chromium, site.url)
        kill(web)
        desk.press("4", "4", "Enter")
        # Beside the next picture if that was here already, else in place of it.
        expect(desk.page.get_by_text("1 answer waits for the network.").filter(visible=True)).to_be_visible()
        desk.page.close()
        assert site.run(KEPT)["responses"] == []
        site.start_web()
        again = Desk(desk.page.context.new_page(), site.url).open()
        again.status.to_contain_text("An earlier answer: Received")
        wait_for(lambda: len(site.run(KEPT)["responses"]) == 1, "the answer")
        again.reload()
        assert site.run(KEPT)["answered"] == 1
        again.page.context.close()


def _signed_in(chromium: Browser, address: str) -> Desk:
    page = chromium.new_context(viewport=DESK).new_page()
    page.goto(f"{address}/label/")
    signs_in(page, "tara")
    return Desk(page, address).open()


@pytest.fixture
def other(desk: Desk, contexts: Any) -> Desk:
    """A browser on another device of the same tasker."""
    return Desk(contexts(Tasker.objects.get(user__username="tara")).new_page(), desk.address)


SAVED = re.compile(r"^Saved \d\d:\d\d:\d\d$")


def test_another_device_goes_on_with_the_draft_and_its_steps(desk: Desk, other: Desk) -> None:
    desk.press("1", "4")
    desk.corner(*SQUARE)
    expect(desk.page.locator("#saved")).to_have_text(SAVED)
    other.open()
    other.outline_short.to_have_text("being drawn")
    other.press("u", "u")
    wait_until(other.page, lambda: len(other.kept("drafts")[0]["form"]["drawing"]["open"]) == 2)
    other.corner(*SQUARE[2:], SQUARE[0])
    expect(other.page.locator("#saved")).to_have_text(SAVED)
    # The first device is taken up again.
    desk.comes_back()
    desk.outline_short.to_have_text("1 outline, 4 corners")
    desk.status.to_have_text(re.compile("was changed in another window"))
    desk.press("1", "2", "3")
    desk.follow(("Enter", "status", RECEIVED))
    assert Response.objects.get().outline.count("[") == 1 + 1 + 4
    assert desk.complaints == other.complaints == []


def test_what_was_drawn_on_two_devices_at_once_is_an_undo_away(desk: Desk, other: Desk) -> None:
    other.open()
    other.press("1", "4")
    other.corner(*SQUARE[:3])
    expect(other.page.locator("#saved")).to_have_text(SAVED)
    desk.press("1", "4")
    desk.corner((150, 150))
    desk.outline_short.to_have_text("being drawn")
    wait_until(desk.page, lambda: len(desk.kept("drafts")[0]["form"]["drawing"]["open"]) == 1)
    desk.status.to_have_text(re.compile("undo brings your outline back"))
    desk.press("u")
    wait_until(desk.page, lambda: len(desk.kept("drafts")[0]["form"]["drawing"]["open"]) == 1)


def test_what_is_changed_here_stays_when_an_answer_is_taken_back(monkeypatch: pytest.MonkeyPatch, desk: Desk) -> None:
    """Each picture has a draft of another browser that this page began from: no such draft replaces what follows it."""
    monkeypatch.setattr(label_form, "HOLD_SECONDS", 9)
    desk.ahead()
    form = '{"answers": {"contains_bird": "unsure_yes", "contains_bicycle": "definitely_no"}}'
    for assignment in Assignment.objects.all():
        Draft.objects.create(assignment=assignment, browser=uuid4(), revision=7, form=form, saved_at=timezone.now())
    desk.reload()
    desk.answer_again(1, 4)
    desk.goes_on("Enter")
    desk.answer_again(1, 4)
    desk.goes_on("z")
    for picture in ("the one that came back", "the one that it put aside"):
        expect(desk.page.locator("#saved"), picture).to_have_text(SAVED)
        expect(desk.page.locator("[name=contains_bird][value=definitely_no]"), picture).to_be_checked()
        desk.goes_on("Enter")


def test_who_comes_back_to_what_they_left_is_told_nothing(desk: Desk, other: Desk) -> None:
    desk.press("1", "4")
    desk.corner(*SQUARE[:2])
    expect(desk.page.locator("#saved")).to_have_text(SAVED)
    other.open()
    for each in (desk, other):
        with each.page.expect_response("**/draft/"):
            each.comes_back()
        each.page.wait_for_timeout(200)
        each.status.to_have_text("")
    other.corner(SQUARE[2])
    wait_until(other.page, lambda: len(other.kept("drafts")[0]["form"]["drawing"]["open"]) == 3)
    expect(other.page.locator("#saved")).to_have_text(SAVED)
    other.status.to_have_text("")


def test_an_answer_of_another_device_brings_the_next_picture_here(desk: Desk, other: Desk) -> None:
    desk.press("1", "4")
    desk.corner(*SQUARE[:2])
    expect(desk.page.locator("#saved")).to_have_text(SAVED)
    first = desk.assignment
    other.open()
    assert other.assignment == first
    other.answer_again(1, 4)
    other.press("Enter")
    wait_until(other.page, lambda: Response.objects.count() == 1)
    desk.comes_back()
    expect(desk.page.locator("[name=assignment]")).not_to_have_value(first)
    desk.forgives("409")


def test_a_draft_stays_on_the_device_while_the_server_cannot_be_reached(desk: Desk, other: Desk) -> None:
    desk.page.route("**/draft/", lambda route: route.abort())
    desk.press("1", "4")
    desk.corner(*SQUARE[:2])
    with desk.page.expect_event("requestfailed"):
        expect(desk.page.locator("#saved")).to_have_text(re.compile("^Saved on this device"))
    desk.page.unroute("**/draft/")
    desk.complaints.clear()
    desk.corner(SQUARE[2])
    expect(desk.page.locator("#saved")).to_have_text(SAVED)
    other.open()
    other.outline_short.to_have_text("being drawn")


def test_who_answers_at_once_sends_no_draft(desk: Desk) -> None:
    sent: list[str] = []
    desk.page.on("request", lambda request: sent.append(request.url))
    for _ in range(3):
        desk.goes_on("4", "4", "Enter")
    wait_until(desk.page, lambda: len(desk.kept("receipts")) >= 2)
    assert not [each for each in sent if "/draft/" in each]
