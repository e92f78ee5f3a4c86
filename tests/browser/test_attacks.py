"""Attacks in a real browser: dropped, looked at, sent, withdrawn, seen to look alike; on every screen, by keyboard."""

import io
import random
import re
import struct
import zipfile
import zlib
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone
from PIL import Image as Pillow
from playwright.sync_api import Page, Route, expect

from common.models import UserSession
from contest.attacks.near import near_duplicates_find
from contest.attacks.services import attack_withdraw
from contest.attacks.uploads import MOST_ENTRIES, parts_of
from contest.models import Attack, Team
from labeling.images import PictureRefused, read_attack
from labeling.png import encode_png
from tests.browser.looking import Look, organizer, session_of
from tests.contest.attacks import cast
from tests.factories import PASSWORD

SIDE = cast.SIDE
PHOTOS = Path("contest/demo/photos")


def photo(name: str = "bird-001.jpg", side: int = SIDE) -> Pillow.Image:
    return Pillow.open(PHOTOS / name).convert("RGB").resize((side, side))


def file_of(image: Pillow.Image, form: str = "PNG", **options: Any) -> bytes:
    packed = io.BytesIO()
    image.save(packed, form, **options)
    return packed.getvalue()


def touched(image: Pillow.Image) -> Pillow.Image:
    image.putpixel((3, 3), (255, 0, 255))
    return image


def made() -> Team:
    organizer()
    cast.policy()
    cast.staked("A small net")
    return cast.team("red")


@pytest.fixture
def red(made_once: Any) -> Team:
    return made_once(made)


def full() -> list[Look]:
    """The pages of attacks of this week and the last one, a withdrawn one, a copy and a pair that looks alike."""
    now, red = timezone.now(), made()
    for shade in range(3):
        cast.send(red, shade, now=now - timedelta(days=8))
    cast.send(cast.team("blue"), 1, now=now - timedelta(days=8))
    attack_withdraw(attack=cast.send(red, 9, now=now), by=cast.captain(red), now=now)
    near_duplicates_find(within=6, now=now)
    first, last = Attack.objects.earliest("pk"), cast.send(red, 10, now=now)
    own = ["/attacks/", f"/attacks/{last.public_id}/", f"/attacks/{last.public_id}/withdraw/"]
    own += [f"/attacks/{first.public_id}/"]
    return [
        *(("red", address) for address in own),
        *(("olga", address) for address in ("/organizer/attacks/", "/organizer/near-duplicates/")),
        *(("", f"/attacks/weeks/{each.week}/") for each in (first, last)),
    ]


def given(name: str, data: bytes) -> dict[str, Any]:
    return {"name": name, "mimeType": "application/octet-stream", "buffer": data}


DROP = """([id, files]) => {
  const carried = new DataTransfer();
  for (const [name, bytes] of files) carried.items.add(new File([new Uint8Array(bytes)], name));
  const place = document.getElementById(id);
  for (const kind of ["dragenter", "dragover", "drop"]) {
    place.dispatchEvent(new DragEvent(kind, { dataTransfer: carried, bubbles: true, cancelable: true }));
  }
}"""


def two_chosen(visit: Callable[..., Page]) -> Page:
    page = visit("/attacks/", who="red")
    page.locator("#image").set_input_files([given("a.png", cast.picture(1)), given("b.png", cast.picture(2))])
    expect(page.get_by_role("button", name="Send 2 pictures")).to_be_enabled()
    return page


def drop(page: Page, **files: bytes) -> None:
    page.evaluate(DROP, ["drop", [[f"{name}.png", list(data)] for name, data in files.items()]])


def test_a_captain_drops_three_gets_receipts_and_withdraws_one(red: Team, visit: Callable[..., Page]) -> None:
    page = visit("/attacks/", who="red")
    drop(page, heron=file_of(photo()), wide=file_of(photo(side=SIDE + 1)), again=file_of(touched(photo())))
    rows = page.locator(".chosen-row")
    expect(rows.nth(0)).to_contain_text("Ready to send")
    expect(rows.nth(1)).to_contain_text(f"Make it exactly {SIDE} x {SIDE} pixels yourself")
    expect(rows.nth(2)).to_contain_text("Ready to send")
    page.get_by_role("button", name="Send 2 pictures").click()
    expect(page.locator("#summary")).to_have_text("2 received, 0 refused.")
    first, last = Attack.objects.order_by("pk")
    expect(rows.nth(0).get_by_role("link")).to_have_text(f"Receipt {first.public_id}")
    expect(page.locator("#left")).to_have_text("8 left for your team today")
    assert (first.file_name, last.file_name) == ("heron.png", "again.png")
    rows.nth(0).get_by_role("link").click()
    expect(page.locator(".state-embargo").first).to_have_text("under embargo")
    page.get_by_role("button", name="Withdraw").click()
    page.get_by_role("button", name="Withdraw").click()
    expect(page.get_by_role("status")).to_contain_text(f"Receipt {first.public_id} is withdrawn.")
    assert Attack.objects.get(pk=first.pk).withdrawn_at is not None


def test_what_is_chosen_is_told_before_and_after_it_is_sent(red: Team, visit: Callable[..., Page]) -> None:
    """Of a zip, each picture; of what was sent before, that it was."""
    cast.send(red, 5, now=timezone.now())
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("one.png", cast.picture(1))
        archive.writestr("two.png", b"not a picture")
    page = visit("/attacks/", who="red")
    files = {"again.png": cast.picture(5), "new.png": cast.picture(6), "many.zip": packed.getvalue()}
    page.locator("#image").set_input_files([given(name, data) for name, data in files.items()])
    rows = page.locator(".chosen-row")
    expect(rows.nth(0)).to_contain_text("Not sent: Your team has sent exactly this picture before.")
    expect(rows.nth(1)).to_contain_text("Ready to send")
    expect(rows.nth(2)).to_contain_text("A zip of 2 pictures: they are looked at when it has arrived")
    expect(page.locator(".chosen-zip")).to_have_text("zip")
    page.get_by_role("button", name="Send 3 pictures").click()
    expect(page.locator("#summary")).to_have_text("2 received, 1 refused.")
    outcomes = rows.nth(2).locator(".chosen-outcomes li")
    expect(outcomes.first).to_contain_text(f"one.png Receipt {Attack.objects.get(file_name='one.png').public_id}")
    expect(outcomes.last).to_contain_text("two.png Refused: This is not a PNG")


def test_everything_is_done_by_keyboard(red: Team, visit: Callable[..., Page]) -> None:
    page = two_chosen(visit)
    page.locator("#image").focus()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Remove a.png")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Remove b.png")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#summary")).to_have_text("1 received, 0 refused.")
    attack = Attack.objects.get()
    assert (attack.file_name, attack.targets.get().name) == ("b.png", "A small net")
    # Who goes on by keyboard goes on from here: to what was sent so far, which the page has read anew.
    place = page.locator("main button[type=submit]:focus, #summary:focus")
    expect(place).to_have_count(1)
    expect(page.locator("#sent-so-far")).to_contain_text(attack.public_id)
    page.keyboard.press("Tab")
    expect(page.locator("#sent-so-far").get_by_role("link", name=attack.public_id)).to_be_focused()


def _fulfilled(told: dict[str, Any], route: Route) -> None:
    route.fulfill(**told)


def test_a_server_that_is_away_or_busy_costs_nothing(red: Team, visit: Callable[..., Page]) -> None:
    page = visit("/attacks/", who="red")
    drop(page, one=file_of(photo()))
    busy = {"name": "one.png", "refused": {"code": "busy", "detail": "The server is busy with other uploads."}}
    answer = {"outcomes": [busy], "quota_left": 5, "day_ends": "midnight"}
    met: list[tuple[dict[str, Any], str]] = [
        ({"status": 408, "body": ""}, "the server did not answer"),
        ({"json": answer}, "is busy"),
    ]
    for told, words in met:
        page.route("**/attacks/send/", partial(_fulfilled, told))
        page.get_by_role("button", name="Send 1 picture").click()
        expect(page.locator("#chosen")).to_contain_text(words)
        page.unroute("**/attacks/send/")
    page.get_by_role("button", name="Send 1 picture").click()
    expect(page.locator("#summary")).to_have_text("1 received, 0 refused.")
    expect(page.locator("#chosen")).to_contain_text(Attack.objects.get().public_id)
    expect(page.locator("#chosen")).not_to_contain_text("busy")


def test_a_sign_in_that_is_over_costs_nothing(red: Team, visit: Callable[..., Page]) -> None:
    """Signing in anew in another tab changes the CSRF token; the rows are sent from the page that was open."""
    page = two_chosen(visit)
    UserSession.objects.all().delete()
    page.get_by_role("button", name="Send 2 pictures").click()
    summary, rows = page.locator("#summary"), page.locator(".chosen-row")
    expect(summary).to_contain_text("You are signed out, and nothing more was sent. Your pictures are still here")
    expect(rows.nth(0)).to_contain_text("Ready to send")
    expect(rows.nth(1)).to_contain_text("Ready to send")
    with page.expect_popup() as opened:
        summary.get_by_role("link", name="Sign in, in a new tab").click()
    tab = opened.value
    tab.get_by_label("User name").fill("red")
    tab.get_by_label("Password", exact=True).fill(PASSWORD)
    tab.get_by_role("button", name="Sign in").click()
    expect(tab.get_by_role("heading", name="Attacks of team team red")).to_be_visible()
    page.get_by_role("button", name="Send 2 pictures").click()
    expect(summary).to_have_text("2 received, 0 refused.")
    assert list(Attack.objects.order_by("pk").values_list("file_name", flat=True)) == ["a.png", "b.png"]


def test_a_page_that_was_opened_for_another_team_sends_nothing_and_keeps_what_was_chosen(
    red: Team, visit: Callable[..., Page], live_server: Any
) -> None:
    """Somebody signs out of one team and in to another in a second tab, and sends in the first one."""
    blue = cast.team("blue")
    page = visit("/attacks/", who="red")
    page.locator("#image").set_input_files([given("a.png", cast.picture(1)), given("b.png", cast.picture(2))])
    page.get_by_label("A small net").check()
    expect(page.get_by_role("button", name="Send 2 pictures")).to_be_enabled()

    def sign_in(person: User) -> None:
        session = {"name": "sessionid", "value": session_of(person), "url": live_server.url}
        page.context.add_cookies([session])  # type: ignore[list-item]

    sign_in(cast.captain(blue))
    page.get_by_role("button", name="Send 2 pictures").click()
    summary, rows = page.locator("#summary"), page.locator(".chosen-row")
    expect(summary).to_contain_text("opened for team team red, and you are signed in as a member of team team blue now")
    expect(rows.nth(0)).to_contain_text("Ready to send")
    expect(rows.nth(1)).to_contain_text("Ready to send")
    assert not Attack.objects.exists()
    sign_in(cast.captain(red))
    page.get_by_role("button", name="Send 2 pictures").click()
    expect(summary).to_have_text("2 received, 0 refused.")
    sent = Attack.objects.order_by("pk").values_list("file_name", "team", "targets__name")
    assert list(sent) == [("a.png", red.pk, "A small net"), ("b.png", red.pk, "A small net")]


def test_what_was_sent_so_far_and_what_is_left_are_told_at_once(red: Team, visit: Callable[..., Page]) -> None:
    cast.policy(attacks_per_day=1)
    page = visit("/attacks/", who="red")
    expect(page.get_by_text("Nothing yet.")).to_be_visible()
    page.locator("#image").set_input_files([given("a.png", cast.picture(1)), given("b.png", cast.picture(2))])
    expect(page.locator("#summary")).to_have_text("More than your team has left today: the last ones will be refused.")
    page.get_by_role("button", name="Remove b.png").click()
    page.get_by_role("button", name="Send 1 picture").click()
    expect(page.locator("#summary")).to_have_text("1 received, 0 refused.")
    expect(page.locator("#sent-so-far")).to_contain_text(Attack.objects.get().public_id)
    expect(page.get_by_text("Nothing yet.")).to_have_count(0)
    expect(page.get_by_text("0 left for your team today. The next day begins on")).to_be_visible()
    page.locator("#image").set_input_files([given("c.png", cast.picture(3))])
    expect(page.get_by_role("button", name="Send 1 picture")).to_be_disabled()
    expect(page.locator("#summary")).to_contain_text("What you chose waits here until the next day begins.")


def test_the_countdown_runs_for_a_german_reader(red: Team, visit: Callable[..., Page]) -> None:
    page = visit("/attacks/", who="red", locale="de-DE")
    expect(page.locator("html")).to_have_attribute("lang", "de")
    clock = page.locator("[data-clock]").first
    expect(clock).to_have_text(re.compile(r"^([0-9] d )?[0-9]{2}:[0-9]{2}:[0-9]{2}$"))
    expect(clock).not_to_have_text(clock.inner_text())


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def animated() -> bytes:
    data = cast.picture()
    return data[:33] + chunk(b"acTL", struct.pack(">II", 2, 0)) + data[33:]


def half_clear() -> bytes:
    image = photo().convert("RGBA")
    image.putalpha(128)
    return file_of(image)


def sixteen_bits() -> bytes:
    rows = b"".join(b"\x00" + bytes(SIDE * 6) for _ in range(SIDE))
    head = struct.pack(">IIBBBBB", SIDE, SIDE, 16, 2, 0, 0, 0)
    packed = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + packed


def huge() -> bytes:
    head = struct.pack(">IIBBBBB", 30_000, 30_000, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IEND", b"")


def no_pixels() -> bytes:
    head = struct.pack(">IIBBBBB", 0, SIDE, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IEND", b"")


def exif(turn: int) -> bytes:
    entries = Pillow.Exif()
    entries[0x0112] = turn
    return entries.tobytes()


def names(*paths: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path in paths:
            archive.writestr(path, b"x")
    return packed.getvalue()


def garbled() -> bytes:
    data = cast.picture()
    return data[:60] + random.Random(1).randbytes(12) + data[72:]


# One entry of EXIF data in the order of bytes of some cameras: turn by 2.
MIRRORED = b"\x01\x12\0\x03\0\0\0\x01\0\x02\0\0\0\0\0\0"
LOOKED_AT = {
    "png": cast.picture,
    "rgba, opaque": lambda: file_of(photo().convert("RGBA")),
    "jpeg": lambda: file_of(photo(), "JPEG"),
    "webp": lambda: file_of(photo(), "WEBP", lossless=True),
    "webp, lossy": lambda: file_of(photo(), "WEBP"),
    "empty": lambda: b"",
    "text": lambda: b"no picture at all",
    "gif": lambda: file_of(photo(), "GIF"),
    "cut off": lambda: cast.picture()[:-20],
    "jpeg, cut off": lambda: file_of(photo(), "JPEG")[:-40],
    "header": lambda: b"\x89PNG\r\n\x1a\n" + bytes(40),
    "another size": lambda: encode_png(SIDE + 1, SIDE, bytes((SIDE + 1) * SIDE * 3)),
    "no pixels": no_pixels,
    "huge": huge,
    "animated": animated,
    "webp, animated": lambda: file_of(photo(), "WEBP", save_all=True, append_images=[photo("bus.jpg")]),
    "more behind it": lambda: cast.picture() + b"12345",
    "sixteen bits": sixteen_bits,
    "grey": lambda: file_of(photo().convert("L")),
    "grey and alpha": lambda: file_of(photo().convert("LA")),
    "one bit": lambda: file_of(photo().convert("1")),
    "palette": lambda: file_of(photo().convert("P")),
    "jpeg, grey": lambda: file_of(photo().convert("L"), "JPEG"),
    "jpeg, cmyk": lambda: file_of(photo().convert("CMYK"), "JPEG"),
    "half clear": half_clear,
    "jpeg, turned": lambda: file_of(photo(), "JPEG", exif=exif(6)),
    "jpeg, turned, other order": lambda: file_of(photo(), "JPEG", exif=b"Exif\0\0MM\0*\0\0\0\x08\0\x01" + MIRRORED),
    "jpeg, upright": lambda: file_of(photo(), "JPEG", exif=exif(1)),
    "jpeg, exif of nothing": lambda: file_of(photo(), "JPEG", exif=b"Exif\0\0II*\0\x08\0\0\0\0\0\0\0\0\0"),
    "png, turned": lambda: file_of(photo(), exif=exif(3)),
    "webp, turned": lambda: file_of(photo(), "WEBP", lossless=True, exif=exif(8)),
    "zip of nothing": lambda: names("a/", "../../x.png", "__MACOSX/._a.png", "a/thumbs.DB"),
    "zip of too many": lambda: names(*(f"{number}.png" for number in range(MOST_ENTRIES + 1))),
    "garbled": garbled,
}
LOOK = """async ([files, rules]) => {
  const { look } = await import(document.querySelector("script[src*=attacks]").src.replace("attacks", "picture_check"));
  const said = {};
  for (const [name, bytes] of Object.entries(files)) {
    const found = await look(new File([new Uint8Array(bytes)], name), rules);
    said[name] = found.refused ?? found.warning;
  }
  return said;
}"""


def said_by_server(data: bytes) -> str:
    if data.startswith(b"PK"):
        (found,) = parts_of([SimpleUploadedFile("a.zip", data)])
        return found.refused.message if found.refused else ""
    try:
        return " ".join(read_attack(data, size=SIDE).warnings)
    except PictureRefused as refusal:
        return refusal.message


def test_the_page_and_the_server_say_the_same_of_every_kind_of_file(red: Team, visit: Callable[..., Page]) -> None:
    page = visit("/attacks/", who="red")
    files = {name: make() for name, make in LOOKED_AT.items()}
    rules = page.evaluate("JSON.parse(document.getElementById('page-data').textContent)")
    said = page.evaluate(LOOK, [{name: list(data) for name, data in files.items()}, rules])
    assert said == {name: said_by_server(data) for name, data in files.items()}
