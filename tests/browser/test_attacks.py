"""Attacks in a real browser: dropped, looked at, sent, withdrawn, seen to look alike; on every screen, by keyboard."""

import io
import random
import re
import struct
import zipfile
import zlib
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone
from PIL import Image as Pillow
from playwright.sync_api import Page, expect

from accounts.models import UserSession
from contest.attacks.near_duplicates import near_duplicates_find
from contest.attacks.services import attack_withdraw
from contest.attacks.uploads import MAX_ENTRIES, read_uploaded_files
from contest.core.models import Attack, Team
from picture_files.decoding import PictureRefused, read_attack
from picture_files.png import encode_png
from tests.browser.looking import (
    FOCUSED,
    SHOWN,
    Look,
    counts,
    fill,
    follow,
    in_new_tab,
    once,
    organizer,
    push,
    session_of,
    shows,
)
from tests.contest.attacks import cast

SIDE = cast.SIDE
READY = "Ready to send"
ORGANIZERS = ["attacks/", "near-duplicates/", "pictures/", "pictures/import/"]
PHOTOS = Path("contest/demo/photos")


def photo(form: str = "PNG", mode: str = "RGB", *, name: str = "bird-001.jpg", side: int = SIDE, **more: Any) -> bytes:
    """A photograph as a file."""
    packed = io.BytesIO()
    Pillow.open(PHOTOS / name).convert("RGB").resize((side, side)).convert(mode).save(packed, form, **more)
    return packed.getvalue()


def zipped(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path, data in files.items():
            archive.writestr(path, data)
    return packed.getvalue()


def made() -> Team:
    organizer()
    cast.policy()
    cast.staked("A small net")
    return cast.team("red")


red = once(made)


def full() -> list[Look]:
    """The pages of attacks of this week and the last one, a withdrawn one, a copy and a pair that looks alike."""
    now, red = timezone.now(), made()
    for team, shade in ((red, 0), (red, 1), (red, 2), (cast.team("blue"), 1)):
        cast.send(team, shade, now=now - timedelta(days=8))
    attack_withdraw(attack=cast.send(red, 9, now=now), by=cast.captain(red), now=now)
    near_duplicates_find(within=6, now=now)
    first, last = Attack.objects.earliest("pk"), cast.send(red, 10, now=now)
    own = ("", f"{last.public_id}/", f"{last.public_id}/withdraw/", f"{first.public_id}/")
    return [
        *(("red", f"/attacks/{address}") for address in own),
        *(("olga", f"/organizer/{address}") for address in ORGANIZERS),
        *(("", f"/attacks/weeks/{each.week}/") for each in (first, last)),
    ]


DROP = """([id, files]) => {
  const carried = new DataTransfer();
  for (const [name, bytes] of files) carried.items.add(new File([new Uint8Array(bytes)], name));
  const place = document.getElementById(id);
  for (const kind of ["dragenter", "dragover", "drop"]) {
    place.dispatchEvent(new DragEvent(kind, { dataTransfer: carried, bubbles: true, cancelable: true }));
  }
}"""


def choose(page: Page, files: dict[str, bytes]) -> None:
    given = [{"name": name, "mimeType": "application/octet-stream", "buffer": data} for name, data in files.items()]
    page.locator("#image").set_input_files(given)  # type: ignore[arg-type]


def two_chosen(visit: Callable[..., Page]) -> Page:
    page = visit("/attacks/", who="red")
    choose(page, {"a.png": cast.picture(1), "b.png": cast.picture(2)})
    expect(page.get_by_role("button", name="Send 2 pictures")).to_be_enabled()
    return page


def drop(page: Page, **files: bytes) -> None:
    page.evaluate(DROP, ["drop", [[f"{name}.png", list(data)] for name, data in files.items()]])


def sends(page: Page, count: int, *, refused: int = 0) -> None:
    """Send what is chosen: all of it is received, but for what is refused."""
    push(page, f"Send {count} picture{'s' * (count > 1)}")
    expect(page.locator("#summary")).to_have_text(f"{count - refused} received, {refused} refused.")


def test_a_captain_drops_three_gets_receipts_and_withdraws_one(red: Team, visit: Callable[..., Page]) -> None:
    page = visit("/attacks/", who="red")
    drop(page, heron=photo(), wide=photo(side=SIDE + 1), again=photo(name="bus.jpg"))
    shows(page, {".chosen-row": [READY, f"Make it exactly {SIDE} x {SIDE} pixels yourself", READY]})
    sends(page, 2)
    first, last = Attack.objects.order_by("pk")
    receipt = f"Receipt {first.public_id}"
    shows(page, {".chosen-row >> nth=0": receipt, "#left": "8 left for your team today"})
    assert (first.file_name, last.file_name) == ("heron.png", "again.png")
    page.get_by_role("link", name=receipt).click()
    shows(page, {".state-embargo >> nth=0": "under embargo"})
    push(page, "Withdraw", "Withdraw")
    shows(page, {"[role=status]": f"{receipt} is withdrawn."})
    assert Attack.objects.get(pk=first.pk).withdrawn_at is not None


def test_what_is_chosen_is_told_before_and_after_it_is_sent(red: Team, visit: Callable[..., Page]) -> None:
    """Of a zip, each picture; of what was sent before, that it was."""
    cast.send(red, 5, now=timezone.now())
    page = visit("/attacks/", who="red")
    many = zipped({"one.png": cast.picture(1), "two.png": b"not a picture"})
    choose(page, {"again.png": cast.picture(5), "new.png": cast.picture(6), "many.zip": many})
    sent = "Not sent: Your team has sent exactly this picture before."
    zip_of_two = "A zip of 2 pictures: they are looked at when it has arrived"
    shows(page, {".chosen-row": [sent, READY, zip_of_two], ".chosen-zip": "zip"})
    sends(page, 3, refused=1)
    one = f"one.png Receipt {Attack.objects.get(file_name='one.png').public_id}"
    outcomes = page.locator(".chosen-row").nth(2).locator(".chosen-outcomes li")
    expect(outcomes).to_contain_text([one, "two.png Refused: This is not a PNG"])


def test_everything_is_done_by_keyboard(red: Team, visit: Callable[..., Page]) -> None:
    page = two_chosen(visit)
    page.locator("#image").focus()
    follow(
        page,
        ("Tab", "[aria-label='Remove a.png']", FOCUSED),
        ("Enter", "[aria-label='Remove b.png']", FOCUSED),
        ("Tab Space Tab Enter", "#summary", "1 received, 0 refused."),
    )
    attack = Attack.objects.get()
    assert (attack.file_name, attack.targets.get().name) == ("b.png", "A small net")
    # Who goes on by keyboard goes on from here: to what was sent so far, which the page has read anew.
    shows(page, {"main button[type=submit]:focus, #summary:focus": counts(1), "#sent-so-far": attack.public_id})
    page.keyboard.press("Tab")
    expect(page.locator("#sent-so-far").get_by_role("link", name=attack.public_id)).to_be_focused()


def test_a_server_that_is_away_or_busy_costs_nothing(red: Team, visit: Callable[..., Page]) -> None:
    page = visit("/attacks/", who="red")
    drop(page, one=photo())
    busy = {"name": "one.png", "refused": {"code": "busy", "detail": "The server is busy with other uploads."}}
    answers = [{"status": 408, "body": ""}, {"json": {"outcomes": [busy], "quota_left": 5, "day_ends": "midnight"}}]
    page.route("**/attacks/send/", lambda route: route.fulfill(**answers.pop(0)), times=2)
    for words in ("the server did not answer", "is busy"):
        push(page, "Send 1 picture")
        expect(page.locator("#chosen")).to_contain_text(words)
    sends(page, 1)
    shows(page, {"#chosen": Attack.objects.get().public_id})
    expect(page.locator("#chosen")).not_to_contain_text("busy")


def test_a_sign_in_that_is_over_costs_nothing(red: Team, visit: Callable[..., Page]) -> None:
    """Signing in anew in another tab changes the CSRF token; the rows are sent from the page that was open."""
    page = two_chosen(visit)
    UserSession.objects.all().delete()
    push(page, "Send 2 pictures")
    told = "You are signed out, and nothing more was sent. Your pictures are still here"
    shows(page, {"#summary": told, ".chosen-row": [READY, READY]})
    in_new_tab(page, page.locator("#summary a"), "red", "Attacks of team team red")
    sends(page, 2)
    assert list(Attack.objects.order_by("pk").values_list("file_name", flat=True)) == ["a.png", "b.png"]


def test_a_page_that_was_opened_for_another_team_sends_nothing_and_keeps_what_was_chosen(
    red: Team, visit: Callable[..., Page], live_server: Any
) -> None:
    """Somebody signs out of one team and in to another in a second tab, and sends in the first one."""
    page, teams = two_chosen(visit), {"blue": cast.team("blue"), "red": red}
    page.get_by_label("A small net").check()
    for name, team in teams.items():
        cookie = {"name": "sessionid", "value": session_of(cast.captain(team)), "url": live_server.url}
        page.context.add_cookies([cookie])  # type: ignore[list-item]
        if name == "blue":
            push(page, "Send 2 pictures")
            words = "opened for team team red, and you are signed in as a member of team team blue now"
            shows(page, {"#summary": words, ".chosen-row": [READY, READY]})
            assert not Attack.objects.exists()
    sends(page, 2)
    sent = Attack.objects.order_by("pk").values_list("file_name", "team", "targets__name")
    assert list(sent) == [("a.png", red.pk, "A small net"), ("b.png", red.pk, "A small net")]


def test_what_was_sent_so_far_and_what_is_left_are_told_at_once(red: Team, visit: Callable[..., Page]) -> None:
    cast.policy(attacks_per_day=1)
    page = two_chosen(visit)
    more = "More than your team has left today: the last ones will be refused."
    shows(page, {"text=Nothing yet.": SHOWN, "#summary": more})
    push(page, "Remove b.png")
    sends(page, 1)
    left = "text=0 left for your team today. The next day begins on"
    shows(page, {"#sent-so-far": Attack.objects.get().public_id, "text=Nothing yet.": counts(0), left: SHOWN})
    choose(page, {"c.png": cast.picture(3)})
    waits = "What you chose waits here until the next day begins."
    shows(page, {"button:disabled:has-text('Send 1 picture')": SHOWN, "#summary": waits})


def test_the_countdown_runs_for_a_german_reader(red: Team, visit: Callable[..., Page]) -> None:
    page = visit("/attacks/", who="red", locale="de-DE")
    expect(page.locator("html")).to_have_attribute("lang", "de")
    clock = page.locator("[data-clock]").first
    expect(clock).to_have_text(re.compile(r"^([0-9] d )?[0-9]{2}:[0-9]{2}:[0-9]{2}$"))
    expect(clock).not_to_have_text(clock.inner_text())


def png(wide: int, high: int, *chunks: tuple[bytes, bytes], depth: int = 8, colour: int = 2) -> bytes:
    """A PNG file of these chunks behind its header."""
    head = struct.pack(">IIBBBBB", wide, high, depth, colour, 0, 0, 0)
    parts = [(len(body), kind + body) for kind, body in [(b"IHDR", head), *chunks, (b"IEND", b"")]]
    packed = (struct.pack(">I", size) + part + struct.pack(">I", zlib.crc32(part)) for size, part in parts)
    return b"\x89PNG\r\n\x1a\n" + b"".join(packed)


def pixels(bytes_each: int, value: bytes = b"\0") -> tuple[bytes, bytes]:
    """The chunk of a picture of one colour."""
    return b"IDAT", zlib.compress((b"\0" + value * SIDE * bytes_each) * SIDE)


def exif(turn: int) -> bytes:
    entries = Pillow.Exif()
    entries[0x0112] = turn
    return entries.tobytes()


# One entry of EXIF data in the order of bytes of some cameras: turn by 2.
MIRRORED = b"\x01\x12\0\x03\0\0\0\x01\0\x02\0\0\0\0\0\0"
LOOKED_AT = {
    "png": cast.picture,
    "rgba, opaque": lambda: photo(mode="RGBA"),
    "jpeg": lambda: photo("JPEG"),
    "webp": lambda: photo("WEBP", lossless=True),
    "webp, lossy": lambda: photo("WEBP"),
    "empty": lambda: b"",
    "text": lambda: b"no picture at all",
    "gif": lambda: photo("GIF"),
    "cut off": lambda: cast.picture()[:-20],
    "jpeg, cut off": lambda: photo("JPEG")[:-40],
    "header": lambda: b"\x89PNG\r\n\x1a\n" + bytes(40),
    "another size": lambda: encode_png(SIDE + 1, SIDE, bytes((SIDE + 1) * SIDE * 3)),
    "no pixels": lambda: png(0, SIDE),
    "huge": lambda: png(30_000, 30_000),
    "animated": lambda: png(SIDE, SIDE, (b"acTL", struct.pack(">II", 2, 0)), pixels(3)),
    "webp, animated": lambda: photo("WEBP", save_all=True, append_images=[Pillow.new("RGB", (SIDE, SIDE))]),
    "more behind it": lambda: cast.picture() + b"12345",
    "sixteen bits": lambda: png(SIDE, SIDE, pixels(6), depth=16),
    "grey": lambda: photo(mode="L"),
    "grey and alpha": lambda: photo(mode="LA"),
    "one bit": lambda: photo(mode="1"),
    "palette": lambda: photo(mode="P"),
    "jpeg, grey": lambda: photo("JPEG", mode="L"),
    "jpeg, cmyk": lambda: photo("JPEG", mode="CMYK"),
    "half clear": lambda: png(SIDE, SIDE, pixels(4, b"\x80"), colour=6),
    "jpeg, turned": lambda: photo("JPEG", exif=exif(6)),
    "jpeg, turned, other order": lambda: photo("JPEG", exif=b"Exif\0\0MM\0*\0\0\0\x08\0\x01" + MIRRORED),
    "jpeg, upright": lambda: photo("JPEG", exif=exif(1)),
    "jpeg, exif of nothing": lambda: photo("JPEG", exif=b"Exif\0\0II*\0\x08\0\0\0\0\0\0\0\0\0"),
    "png, turned": lambda: photo(exif=exif(3)),
    "webp, turned": lambda: photo("WEBP", lossless=True, exif=exif(8)),
    "zip of nothing": lambda: zipped(dict.fromkeys(["a/", "../../x.png", "__MACOSX/._a.png", "a/thumbs.DB"], b"x")),
    "zip of too many": lambda: zipped({f"{number}.png": b"x" for number in range(MAX_ENTRIES + 1)}),
    "garbled": lambda: cast.picture()[:60] + random.Random(1).randbytes(12) + cast.picture()[72:],
}
LOOK = """async (files) => {
  const rules = JSON.parse(document.getElementById("page-data").textContent);
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
        (found,) = read_uploaded_files([SimpleUploadedFile("a.zip", data)])
        return found.refused.message if found.refused else ""
    try:
        return " ".join(read_attack(data, size=SIDE).warnings)
    except PictureRefused as refusal:
        return refusal.message


def test_the_page_and_the_server_say_the_same_of_every_kind_of_file(red: Team, visit: Callable[..., Page]) -> None:
    page = visit("/attacks/", who="red")
    files = {name: make() for name, make in LOOKED_AT.items()}
    said = page.evaluate(LOOK, {name: list(data) for name, data in files.items()})
    assert said == {name: said_by_server(data) for name, data in files.items()}


def test_photographs_are_imported_a_few_at_a_time(red: Team, visit: Callable[..., Page]) -> None:
    page = visit("/organizer/pictures/import/")
    files = {f"{number}.png": photo(side=SIDE + number) for number in range(10)}
    choose(page, files | {"note.png": b"text"})
    fill(page, {"#source": "Our walks", "#licence": "CC0"})
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.method) if request.method == "POST" else None)
    push(page, "Import 11 files")
    shows(page, {"#summary": "11 of 11 files: 10 added, 0 known, 1 refused."})
    assert len(requests) == 2, "eight files, then three"
    shows(page, {"#outcomes-list li >> nth=0": "added", "#outcomes-list li >> nth=10": "refused."})
    choose(page, {"0.png": files["0.png"]})
    push(page, "Import 1 file")
    shows(page, {"#summary": "0 added, 1 known"})
    page.locator("#outcomes-list a").click()
    shows(page, {"h1": "Picture P-"})


def test_an_import_goes_on_where_the_connection_broke(red: Team, visit: Callable[..., Page]) -> None:
    page = visit("/organizer/pictures/import/")
    files = {f"{number}.png": photo(name="bird-007.jpg", side=SIDE + number) for number in range(10)}
    choose(page, files)
    fill(page, {"#source": "Our walks", "#licence": "CC0"})
    answered: list[int] = []

    def breaks(route: Any) -> None:
        answered.append(1)
        route.abort() if len(answered) == 2 else route.continue_()

    page.route("**/pictures/import/", breaks)
    push(page, "Import 10 files")
    shows(page, {"#summary": "The server did not answer."})
    push(page, "Import 2 files")
    shows(page, {"#summary": "10 of 10 files: 10 added"})
    choose(page, {"0.png": files["0.png"]})
    UserSession.objects.all().delete()
    push(page, "Import 1 file")
    shows(page, {"#summary": "You are signed out."})
    expect(page.get_by_role("button", name="Import 1 file")).to_be_enabled()
