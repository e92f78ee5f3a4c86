"""Screenshots of every page of a running demo, as contact sheets: `python -m tests.contact_sheets ADDRESS FOLDER`.

Each role starts at its landing page and follows links, one page for each address pattern. A sheet shows the pages of
one role at one size, light or dark; the single screenshots lie beside it. Sheets of two versions can be compared.
"""

import os
import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import django
from django.urls import Resolver404, resolve
from PIL import Image, ImageDraw
from playwright.sync_api import Browser, Error, Page, sync_playwright

from tests.chromium import ARGUMENTS, engine_path

PASSWORD = "demo-only"
ROLES = {"stranger": "", "tasker": "tasker1", "board": "board1", "organizer": "organizer", "team": "red"}
SIZES = {"wide": (1366, 768), "narrow": (390, 844)}
SCHEMES = ("light", "dark")
MAX_PAGES = 80
_THUMBNAIL, _CAPTION, _COLUMNS, _TALLEST = 300, 18, 6, 900
# What is no page, as files and feeds.
_FILES = (".csv", ".json", ".atom", ".png", ".txt", ".zip", ".gz", ".parquet", ".yaml")


@dataclass(frozen=True, slots=True)
class Screenshot:
    """A page's screenshot, and the address it shows."""

    address: str
    file: Path


def addresses(page: Page, site: str) -> Iterator[str]:
    """Return one address for each pattern that the pages linked from here lead to, the start first."""
    waiting, patterns = deque(["/"]), set()
    while waiting and len(patterns) < MAX_PAGES:
        address = waiting.popleft()
        pattern = _pattern(address)
        if pattern in patterns or address.endswith(_FILES) or address.startswith("/api/v1/"):
            continue
        patterns.add(pattern)
        try:
            answer = page.goto(f"{site}{address}")
        except Error:  # a file is downloaded
            continue
        if answer is None or not answer.ok or "text/html" not in answer.headers.get("content-type", ""):
            continue
        yield address
        links = page.eval_on_selector_all("a[href]", "links => links.map(link => link.href)")
        waiting.extend(urlsplit(link).path for link in links if link.startswith(f"{site}/"))


def _pattern(address: str) -> str:
    try:
        return resolve(address).route
    except Resolver404:
        return address


def sign_in(page: Page, site: str, username: str) -> None:
    """Sign in to the demo."""
    page.goto(f"{site}/sign-in/")
    page.fill("[name=username]", username)
    page.fill("[name=password]", PASSWORD)
    page.click("main button[type=submit]")
    page.wait_for_url(lambda url: "/sign-in/" not in url)


def photograph(browser: Browser, site: str, role: str, folder: Path) -> None:
    """Write the screenshots and the sheets of one role."""
    context = browser.new_context()
    page = context.new_page()
    if ROLES[role]:
        sign_in(page, site, ROLES[role])
    found = list(addresses(page, site))
    for size, (width, height) in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # one of the two that it knows
            shots = [_screenshot(page, site, address, folder / f"{role}-{size}-{scheme}") for address in found]
            sheet(shots).save(folder / f"{role}-{size}-{scheme}.png")
    context.close()


def _screenshot(page: Page, site: str, address: str, folder: Path) -> Screenshot:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{address.strip('/').replace('/', '_') or 'landing'}.png"
    page.goto(f"{site}{address}")
    page.screenshot(path=file, full_page=True, animations="disabled")
    return Screenshot(address, file)


def sheet(shots: list[Screenshot]) -> Image.Image:
    """Return the screenshots as thumbnails in rows, each with its address; a tall page is cut."""
    pictures = []
    for shot in shots:
        with Image.open(shot.file) as picture:
            height = round(picture.height * _THUMBNAIL / picture.width)
            small = picture.convert("RGB").resize((_THUMBNAIL, height), Image.Resampling.LANCZOS)
        pictures.append((shot.address, small.crop((0, 0, _THUMBNAIL, min(height, _TALLEST)))))
    rows = [pictures[start : start + _COLUMNS] for start in range(0, len(pictures), _COLUMNS)]
    heights = [max(picture.height for _, picture in row) + _CAPTION for row in rows]
    result = Image.new("RGB", (_COLUMNS * (_THUMBNAIL + 8), sum(heights) + 8 * len(rows)), "#888888")
    draw, top = ImageDraw.Draw(result), 0
    for row, height in zip(rows, heights, strict=True):
        for column, (address, picture) in enumerate(row):
            left = column * (_THUMBNAIL + 8)
            draw.text((left + 2, top + 2), address, fill="white")
            result.paste(picture, (left, top + _CAPTION))
        top += height + 8
    return result


def main(site: str, folder: str) -> None:
    """Photograph the pages of all roles."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=engine_path(), args=ARGUMENTS)
        for role in ROLES:
            photograph(browser, site.rstrip("/"), role, Path(folder))
            print(f"{role}: {folder}/{role}-*.png", flush=True)
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
