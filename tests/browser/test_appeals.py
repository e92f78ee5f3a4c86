"""Appeals (R18) in a real browser: a defender marks a spot and appeals, by mouse, touch and keyboard;
the other side answers.
"""

import io
from collections.abc import Callable
from typing import Any

from django.utils import timezone
from PIL import Image as Pillow
from playwright.sync_api import BrowserContext, Locator, Page, expect

from accounts.models import UserSession
from contest.appeals.services import appeal_send
from contest.board.models import Appeal
from tests.browser.looking import (
    DESK,
    SHOWN,
    Look,
    counts,
    follow,
    holds,
    once,
    organizer,
    press,
    push,
    shows,
    signed_in,
    signs_in,
)
from tests.contest.attacks import cast as attacks
from tests.contest.board.appealing import ARGUMENT, Appealing, appealing
from tests.contest.board.case_cast import ANSWER

LOOK, SEND = "Look at it before sending", "Send the appeal"


def made() -> Appealing:
    organizer()
    packed = io.BytesIO()
    Pillow.open("contest/demo/photos/bird-001.jpg").convert("RGB").resize((299, 299)).save(packed, "PNG")
    return appealing(timezone.now(), photo=packed.getvalue())


def pages(scene: Appealing) -> list[Look]:
    """With an appeal whose words are as long as they may be."""
    marks = [{"x": 9, "y": 9, "width": 90, "height": 90, "words": "w" * 200}]
    appeal = sent(scene, argument=f"{'w' * 400} is one word that is long", marks=marks)
    return [
        ("blue", "/appeals/"),
        ("red", f"/appeals/new/{scene.rejected.image.public_id}/"),
        ("blue", f"/appeals/{appeal.public_id}/"),
        ("red", "/appeals/"),
        ("red", f"/appeals/case/{appeal.case.public_id}/"),
    ]


scene = once(made)


def form(scene: Appealing) -> str:
    return f"/appeals/new/{scene.valid.image.public_id}/"


def on_screen(page: Page, *points: tuple[int, int]) -> list[tuple[float, float]]:
    """Where pixels of the picture are on the screen."""
    page.locator("#markable").scroll_into_view_if_needed()
    box = page.locator("#markable").bounding_box()
    assert box is not None
    return [(box["x"] + x * box["width"] / 299, box["y"] + y * box["width"] / 299) for x, y in points]


def drag(page: Page, start: tuple[int, int], end: tuple[int, int]) -> None:
    """Drag over the picture, in its own pixels."""
    first, last = on_screen(page, start, end)
    page.mouse.move(*first)
    page.mouse.down()
    page.mouse.move(*last, steps=5)
    page.mouse.up()


def numbers(row: Locator) -> list[int]:
    return [int(row.locator(f"[name$=-{name}]").input_value()) for name in ("x", "y", "width", "height")]


def near(found: list[int], wanted: list[int]) -> bool:
    return all(abs(one - other) <= 2 for one, other in zip(found, wanted, strict=True))


def test_a_defender_marks_a_spot_and_appeals(scene: Appealing, visit: Callable[..., Page]) -> None:
    page = visit("/appeals/", who="blue")
    page.get_by_role("link", name="Appeal the verdict on picture").click()
    rows = page.locator("#mark-rows > li")
    expect(rows).to_have_count(0)
    drag(page, (100, 90), (160, 150))
    expect(rows).to_have_count(1)
    assert near(numbers(rows.first), [100, 90, 60, 60])
    expect(page.locator(":focus")).to_have_attribute("name", "mark-0-words")
    page.keyboard.type("the branch")
    drag(page, (130, 120), (140, 125))
    assert near(numbers(rows.first), [110, 95, 60, 60]), "moved by its middle"
    drag(page, (170, 155), (190, 165))
    assert near(numbers(rows.first), [110, 95, 80, 70]), "resized by its corner"
    drag(page, (30, 30), (31, 31))
    expect(rows).to_have_count(1)
    page.fill("#argument", ARGUMENT)
    expect(page.locator("#counter")).to_have_text(f"{len(ARGUMENT)} of 8,000 characters")
    drawn = dict(zip(("x", "y", "width", "height"), numbers(rows.first), strict=True))
    push(page, LOOK)
    expect(page.locator(".marked-picture .line")).to_have_count(1)
    push(page, SEND)
    appeal = Appeal.objects.get()
    expect(page.get_by_role("status")).to_have_text(f"Receipt {appeal.public_id}: your appeal is received.")
    assert appeal.marks == [drawn | {"words": "the branch"}]


def test_everything_is_done_by_keyboard(scene: Appealing, visit: Callable[..., Page]) -> None:
    page = visit(form(scene), who="blue")
    page.locator("#argument").focus()
    page.keyboard.type(ARGUMENT)
    follow(page, ("Tab", ":focus", "Add a mark in the middle"), ("Enter", "#mark-rows > li", counts(1)))
    row = page.locator("#mark-rows > li")
    assert numbers(row) == [120, 120, 60, 60]
    expect(page.locator("#spoken")).to_have_text("Mark 1: 60 x 60 pixels at 120, 120")
    press(page, "ArrowUp", "Shift+ArrowDown", "Tab", "Shift+ArrowUp")
    assert numbers(row) == [111, 130, 60, 60]
    expect(page.locator("#markable .line")).to_have_attribute("y", "130")
    follow(page, ("Tab Tab Tab", "#spoken", "Mark 1: 60 x 60 pixels at 111, 130"))
    page.keyboard.type("a twig")
    follow(page, ("Tab", ":focus", "Remove"), ("Tab Enter", ".preview", SHOWN))
    page.get_by_role("button", name=SEND).press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Appeal L-")
    assert Appeal.objects.get().marks == [{"x": 111, "y": 130, "width": 60, "height": 60, "words": "a twig"}]


def test_by_touch_a_mark_is_drawn_only_when_asked_for(scene: Appealing, visit: Callable[..., Page]) -> None:
    page = visit(form(scene), who="blue", screen="phone")
    rows = page.locator("#mark-rows > li")
    way = (60, 60), (90, 80), (120, 100)
    touch(page, *way)
    expect(rows).to_have_count(0)
    page.get_by_role("button", name="Draw a mark on the picture").tap()
    expect(page.get_by_role("button", name="Drag over the picture now", pressed=True)).to_be_visible()
    touch(page, *way)
    expect(rows).to_have_count(1)
    assert near(numbers(rows.first), [60, 60, 60, 40])
    expect(page.get_by_role("button", name="Draw a mark on the picture", pressed=False)).to_be_visible()


def touch(page: Page, *way: tuple[int, int]) -> None:
    """Drag with a finger, in pixels of the picture."""
    session = page.context.new_cdp_session(page)
    for kind, (x, y) in zip(("touchStart", "touchMove", "touchMove"), on_screen(page, *way), strict=True):
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def sent(scene: Appealing, argument: str = ARGUMENT, marks: Any = ()) -> Appeal:
    told = {"argument": argument, "marks": list(marks), "by": attacks.captain(scene.blue), "now": timezone.now()}
    return appeal_send(image=scene.valid.image, team=scene.blue, **told)


def test_what_was_typed_outlives_a_sign_in_and_going_back_sends_nothing(
    scene: Appealing, browser: Callable[..., BrowserContext]
) -> None:
    page = signed_in(browser(viewport=DESK), "blue")
    page.goto(form(scene))
    page.fill("#argument", "Too short.")
    page.evaluate("document.getElementById('appeal-form').noValidate = true")
    push(page, LOOK)
    expect(page.get_by_text("There are 10 and 2.")).to_be_visible()
    page.wait_for_load_state()
    page.fill("#argument", ARGUMENT)
    drag(page, (100, 90), (160, 150))
    UserSession.objects.all().delete()
    push(page, LOOK)
    signs_in(page, "blue")
    expect(page.locator("#mark-rows > li")).to_have_count(1)
    for again in (page.reload, page.wait_for_load_state):
        expect(page.locator("#argument")).to_have_value(ARGUMENT)
        push(page, LOOK)
        expect(page.locator(".preview .said")).to_have_text(ARGUMENT)
        page.wait_for_load_state()
        again()
    push(page, SEND)
    receipt = f"Appeal {Appeal.objects.get().public_id}"
    expect(page.get_by_role("heading", level=1)).to_have_text(receipt)
    assert page.evaluate("sessionStorage.length") == 0, "nothing is left of the draft"
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text(receipt)
    assert Appeal.objects.count() == 1


def test_an_answer_outlives_a_sign_in_and_is_forgotten_once_it_is_sent(
    scene: Appealing, browser: Callable[..., BrowserContext]
) -> None:
    case = f"/appeals/case/{sent(scene).case.public_id}/"
    page = signed_in(browser(), "red")
    page.goto(case)
    page.fill("#words", ANSWER)
    for button in (LOOK, "Send the answer"):
        UserSession.objects.all().delete()
        push(page, button)
        signs_in(page, "red")
        shows(page, {"#words": holds(ANSWER), "text=What you typed before is here again.": SHOWN})
        push(page, LOOK)
    push(page, "Send the answer")
    expect(page.get_by_role("status")).to_have_text("Your answer is on record.")
    assert page.evaluate("sessionStorage.length") == 0, "nothing is left of the draft"
