"""Permanent addresses: whole, in parts, cached, and nothing but what a release holds (R39)."""

import errno
import html
import json
import os
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils.http import http_date

from common import outages
from contest.models import Release
from contest.releases import Released

pytestmark = pytest.mark.django_db
ZIP = "/releases/release-2026-W47.zip"
TABLE = "/releases/release-2026-W47/responses.csv"


@pytest.fixture
def made(parts: list[Released]) -> Released:
    return parts[0]


@pytest.fixture
def stranger() -> Client:
    return Client()


def _body(answer: Any) -> bytes:
    return b"".join(answer.streaming_content) if answer.streaming else answer.content


CONTENT_TYPES = {
    ZIP: "application/zip",
    TABLE: "text/csv; charset=utf-8",
    "/releases/release-2026-W47/manifest.json": "application/json",
    "/releases/release-2026-W47/annotations.coco.json": "application/json",
    "/releases/release-2026-W47/responses.parquet": "application/vnd.apache.parquet",
}

HEADERS = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "Accept-Ranges": "bytes",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
}


def test_a_stranger_gets_the_very_bytes(made: Released, stranger: Client) -> None:
    for address, content_type in CONTENT_TYPES.items():
        path = made.folder.parent / address.removeprefix("/releases/")
        answer = stranger.get(address)
        assert (answer.status_code, answer["Content-Type"]) == (200, content_type)
        assert _body(answer) == path.read_bytes()
        assert answer.headers.items() >= (HEADERS | {"Content-Length": str(path.stat().st_size)}).items()
        assert not answer.cookies
        assert "Cookie" not in answer.get("Vary", ""), "a cache between may keep it for everybody"
    path = sorted((made.folder / "images").iterdir())[0]
    answer = stranger.get(f"/releases/release-2026-W47/images/{path.name}")
    assert (answer["Content-Type"], _body(answer)) == ("image/png", path.read_bytes())


def test_a_broken_download_goes_on(made: Released, stranger: Client) -> None:
    whole = made.archive.read_bytes()
    tag = stranger.head(ZIP)["ETag"]
    rest = stranger.get(ZIP, headers={"range": "bytes=1000-", "if-range": tag})
    assert (rest.status_code, _body(rest)) == (206, whole[1000:])
    assert rest["Content-Range"] == f"bytes 1000-{len(whole) - 1}/{len(whole)}"
    assert int(rest["Content-Length"]) == len(whole) - 1000


def test_where_another_file_came_before_the_whole_is_sent(made: Released, stranger: Client) -> None:
    for held in ('"another"', "Thu, 01 Jan 2026 00:00:00 GMT", "nonsense"):
        answer = stranger.get(ZIP, headers={"range": "bytes=1000-", "if-range": held})
        assert (answer.status_code, _body(answer)) == (200, made.archive.read_bytes()), held


def test_the_date_of_publication_stands_for_the_file_too(made: Released, stranger: Client) -> None:
    held = http_date(made.release.released_at.timestamp())
    assert stranger.get(TABLE, headers={"range": "bytes=5-9", "if-range": held}).status_code == 206
    assert stranger.get(TABLE, headers={"if-modified-since": held}).status_code == 304


def test_bytes_that_are_not_there_are_refused(made: Released, stranger: Client) -> None:
    answer = stranger.get(ZIP, headers={"range": "bytes=99999999-"})
    assert (answer.status_code, answer["Cache-Control"]) == (416, "no-store")
    assert answer["Content-Range"] == f"bytes */{made.archive.stat().st_size}"


def test_who_has_it_is_told_so(made: Released, stranger: Client) -> None:
    tag = stranger.get(TABLE)["ETag"]
    for known in (tag, f'"x", {tag}', f"W/{tag}", "*"):
        answer = stranger.get(TABLE, headers={"if-none-match": known, "range": "bytes=0-1"})
        assert (answer.status_code, answer.content) == (304, b"")
        assert answer["ETag"] == tag
    assert stranger.get(TABLE, headers={"if-none-match": '"x"'}).status_code == 200


def test_a_head_has_no_body_and_all_headers(made: Released, stranger: Client) -> None:
    asked, told = stranger.head(ZIP, headers={"range": "bytes=0-9"}), stranger.get(ZIP)
    assert (asked.status_code, asked.content) == (200, b""), "a range is for GET"
    for name in ("Content-Length", "ETag", "Last-Modified", "Content-Type", "Accept-Ranges"):
        assert asked[name] == told[name]


NO_FILES = [
    "secret.txt",
    "../secret.txt",
    "%2e%2e/secret.txt",
    "..%2fsecret.txt",
    "images/../../secret.txt",
    "images/",
    "images",
    "images//etc/passwd",
    "/etc/passwd",
    "images/" + "0" * 64 + ".png",
    "images/" + "0" * 64 + ".png/x",
    "manifest.json%00.png",
    "manifest.json%0a",
    ".release.partial/folder/responses.csv",
]


def test_nothing_but_the_files_of_a_release_has_an_address(made: Released, stranger: Client) -> None:
    for place in (made.folder, made.folder.parent, made.folder.parent.parent):
        (place / "secret.txt").write_text("secret")
    found = {path: stranger.get(f"/releases/release-2026-W47/{path}").status_code for path in NO_FILES}
    assert found == dict.fromkeys(NO_FILES, 404)


def test_only_what_is_published_has_an_address(made: Released, stranger: Client) -> None:
    for name in ("release-2026-W40", "release-2026-W47-errata-0", "release-2026-W47-errata-01", "x"):
        made.archive.with_name(f"{name}.zip").write_bytes(b"not published")
        for address in (f"/releases/{name}.zip", f"/releases/{name}/", f"/releases/{name}/responses.csv"):
            assert stranger.get(address).status_code == 404, address


def test_a_link_is_not_followed(made: Released, stranger: Client, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("secret")
    for path in (made.archive, made.folder / "responses.csv"):
        path.unlink()
        os.symlink(tmp_path / "elsewhere", path)
    assert stranger.get(ZIP).status_code == 404
    assert stranger.get(TABLE).status_code == 404


OPENING = [
    (errno.ENOENT, 404, "it lies elsewhere"),
    (errno.EIO, 503, "a disk that was taken away"),
    (errno.EACCES, 503, "a folder that the process may not enter"),
    (errno.EPERM, 503, "a file that the system does not let it read"),
    (errno.EMFILE, 503, "too many files are open"),
]


@pytest.mark.parametrize(("number", "status", "why"), OPENING, ids=[row[2] for row in OPENING])
def test_only_a_file_that_is_not_there_is_not_found(
    number: int, status: int, why: str, made: Released, stranger: Client, monkeypatch: Any
) -> None:
    real = os.open

    def fails(path: Any, *given: Any, **more: Any) -> int:
        if str(path).startswith(str(made.folder.parent)):
            raise OSError(number, os.strerror(number), str(path))
        return real(path, *given, **more)

    monkeypatch.setattr(os, "open", fails)
    for address in (ZIP, TABLE):
        answer = stranger.get(address)
        assert answer.status_code == status, why
        assert ("Retry-After" in answer) == (status == 503)
        said = outages.store_away().message in html.unescape(answer.content.decode())
        assert said == (status == 503)


def test_what_is_no_plain_file_is_not_found(made: Released, stranger: Client) -> None:
    table = made.folder / "responses.csv"
    table.unlink()
    for make in (table.mkdir, lambda: (table.rmdir(), os.mkfifo(table))):
        make()
        assert stranger.get(TABLE).status_code == 404


def test_a_release_that_lies_elsewhere_is_listed_without_its_file(made: Released, stranger: Client) -> None:
    made.archive.unlink()
    assert stranger.get(ZIP).status_code == 404
    assert f'href="{ZIP}"' not in stranger.get("/releases/").content.decode()


def test_only_reading_is_allowed(made: Released, stranger: Client) -> None:
    for address in (ZIP, TABLE, "/releases/", "/weeks/2026-W47/", "/feeds/releases.atom"):
        assert stranger.post(address).status_code == 405


def test_the_list_shows_the_chain_and_the_page_every_file(parts: list[Released], stranger: Client) -> None:
    listed = stranger.get("/releases/").content.decode()
    for part in parts:
        release = part.release
        for told in (f'href="/releases/{release.name}/"', release.manifest_sha256, release.previous_sha256):
            assert told in listed
        page = stranger.get(f"/releases/{release.name}/").content.decode()
        files = json.loads((part.folder / "manifest.json").read_text())["files"]
        for path, sha256 in {**files, "manifest.json": release.manifest_sha256}.items():
            assert f'href="/releases/{release.name}/{path}"' in page
            assert sha256 in page
    assert "is the first" in listed
    assert listed.index("errata 1") < listed.index("release-2026-W48")


def test_a_long_list_of_pictures_comes_in_pages(made: Released, stranger: Client, monkeypatch: Any) -> None:
    monkeypatch.setattr("contest.record.views.FILES_SHOWN", 4)
    names = sorted(path.name for path in (made.folder / "images").iterdir())
    for number in (1, 2, 3):
        page = stranger.get(f"/releases/release-2026-W47/?page={number}").content.decode()
        assert [name for name in names if name in page] == names[4 * number - 4 : 4 * number]


def test_the_api_lists_the_releases_and_leads_to_the_file(
    parts: list[Released], settings: Any, stranger: Client
) -> None:
    rows = stranger.get("/api/v1/releases/").json()["releases"]
    assert [row["name"] for row in rows] == [part.release.name for part in parts]
    assert [row["previous_sha256"] for row in rows] == ["", *(row["manifest_sha256"] for row in rows[:-1])]
    assert rows[0]["file"] == settings.PUBLIC_URL + ZIP
    answer = stranger.get("/api/v1/releases/2026-W47/")
    assert (answer.status_code, answer["Location"]) == (302, "/releases/release-2026-W47-errata-1.zip")
    missing = stranger.get("/api/v1/releases/2026-W40/")
    assert (missing.status_code, missing.json()["code"]) == (404, "unknown_release")
    Release.objects.all().delete()
    assert "No week is released yet" in stranger.get("/releases/").content.decode()
    assert stranger.get("/api/v1/releases/").json() == {"releases": []}
