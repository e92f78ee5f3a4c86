"""The page "Check it yourself" and the program it offers (R39)."""

import hashlib
import html
import re
from typing import Any

import pytest
from django.test import Client

from adjudication.zipapp import build_zipapp
from contest.releases.services import ReleaseResult
from tests.contest.pages import lacking, main

pytestmark = pytest.mark.django_db
PAGE, PROGRAM = "/releases/check/", "/releases/verify.pyz"
EMPTY = "No release can be downloaded yet"


def commands(page: str, machine: str) -> str:
    """What a reader copies from the block for one kind of machine."""
    (found,) = re.findall(rf'<pre tabindex="0" id="{machine}"><code>(.*?)</code></pre>', page, re.DOTALL)
    return html.unescape(found)


def test_other_machines_have_the_same_commands_in_their_own_words(parts: list[ReleaseResult], client: Client) -> None:
    page = client.get(PAGE).content.decode()
    linux = commands(page, "linux")
    assert commands(page, "macos") == linux.replace("sha256sum", "shasum -a 256")
    windows = linux.replace("sha256sum verify.pyz", "certutil -hashfile verify.pyz SHA256")
    assert commands(page, "windows") == windows.replace("curl", "curl.exe").replace("python3", "py")


def test_the_page_is_about_the_newest_release_that_lies_here(
    parts: list[ReleaseResult], settings: Any, client: Client
) -> None:
    for part in reversed(parts):
        assert (
            lacking(commands(client.get(PAGE).content.decode(), "linux"), f"python3 verify.pyz {part.release.name}.zip")
            == []
        )
        (settings.RELEASE_DIR / f"{part.release.name}.zip").unlink()
    page = main(client, PAGE)
    assert EMPTY in page and "curl" not in page


def test_it_says_whom_to_write_to(parts: list[ReleaseResult], settings: Any, client: Client) -> None:
    assert "Tell the organizers." in main(client, PAGE)
    settings.CONTACT_EMAIL = "contest@example.org"
    assert 'href="mailto:contest@example.org"' in main(client, PAGE)


def test_the_lists_lead_to_it(parts: list[ReleaseResult], client: Client) -> None:
    assert f'href="{PAGE}"' in main(client, "/releases/")
    release = main(client, f"/releases/{parts[0].release.name}/")
    told = (f'href="{PAGE}"', f'href="{PROGRAM}"', hashlib.sha256(build_zipapp()).hexdigest())
    assert lacking(release, *told, f"python3 verify.pyz {parts[0].release.name}.zip") == []


def test_a_stranger_gets_the_program_and_is_told_when_it_is_the_same(client: Client) -> None:
    answer = client.get(PROGRAM)
    data = build_zipapp()
    assert (answer.status_code, answer.content) == (200, data)
    told = {
        "Content-Type": "application/octet-stream",
        "Content-Length": str(len(data)),
        "Content-Disposition": 'attachment; filename="verify.pyz"',
        "Cache-Control": "public, no-cache",
        "X-Content-Type-Options": "nosniff",
        "ETag": f'"{hashlib.sha256(data).hexdigest()}"',
    }
    assert answer.headers.items() >= told.items()
    assert not answer.cookies and "Cookie" not in answer.get("Vary", ""), "a cache may keep it for everybody"
    again = client.get(PROGRAM, headers={"if-none-match": answer["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert client.head(PROGRAM).content == b""
    assert client.post(PROGRAM).status_code == 405
