"""Permanent addresses: whole, in parts, cached, and nothing but what a release holds (R39)."""

import errno
import json
import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlparse
from xml.etree import ElementTree

import pytest
from django.test import Client
from django.utils.http import http_date

from common import outages
from contest.core.models import Release
from contest.releases.services import ReleaseResult
from contest.web.byte_ranges import ByteRange, UnsatisfiableRange, requested_range
from tests.contest.pages import lacking, main, plain

pytestmark = pytest.mark.django_db
ZIP = "/releases/release-2026-W47.zip"
TABLE = "/releases/release-2026-W47/responses.csv"


@pytest.fixture
def made(parts: list[ReleaseResult]) -> ReleaseResult:
    return parts[0]


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


def test_a_stranger_gets_the_very_bytes(made: ReleaseResult, client: Client) -> None:
    for address, content_type in CONTENT_TYPES.items():
        path = made.folder.parent / address.removeprefix("/releases/")
        answer = client.get(address)
        told = HEADERS | {"Content-Length": str(path.stat().st_size), "Content-Type": content_type}
        assert (answer.status_code, _body(answer)) == (200, path.read_bytes())
        assert answer.headers.items() >= told.items()
        assert not answer.cookies and "Cookie" not in answer.get("Vary", ""), "a cache may keep it for everybody"
    path = min((made.folder / "images").iterdir())
    answer = client.get(f"/releases/release-2026-W47/images/{path.name}")
    assert (answer["Content-Type"], _body(answer)) == ("image/png", path.read_bytes())


def test_a_broken_download_goes_on_unless_another_file_came_before(made: ReleaseResult, client: Client) -> None:
    whole = made.archive.read_bytes()
    asked = {"range": "bytes=1000-", "if-range": client.head(ZIP)["ETag"]}
    rest = client.get(ZIP, headers=asked)
    assert (rest.status_code, _body(rest)) == (206, whole[1000:])
    told = {"Content-Range": f"bytes 1000-{len(whole) - 1}/{len(whole)}", "Content-Length": str(len(whole) - 1000)}
    assert rest.headers.items() >= told.items()
    for held in ('"another"', "Thu, 01 Jan 2026 00:00:00 GMT", "nonsense"):
        answer = client.get(ZIP, headers=asked | {"if-range": held})
        assert (answer.status_code, _body(answer)) == (200, whole), held
    answer = client.get(ZIP, headers={"range": "bytes=99999999-"})
    told = (416, "no-store", f"bytes */{len(whole)}")
    assert (answer.status_code, answer["Cache-Control"], answer["Content-Range"]) == told


def test_the_date_of_publication_stands_for_the_file_too(made: ReleaseResult, client: Client) -> None:
    held = http_date(made.release.released_at.timestamp())
    asked = ({"range": "bytes=5-9", "if-range": held}, {"if-modified-since": held})
    assert [client.get(TABLE, headers=each).status_code for each in asked] == [206, 304]


def test_who_has_it_is_told_so(made: ReleaseResult, client: Client) -> None:
    tag = client.get(TABLE)["ETag"]
    for known in (tag, f'"x", {tag}', f"W/{tag}", "*"):
        answer = client.get(TABLE, headers={"if-none-match": known, "range": "bytes=0-1"})
        assert (answer.status_code, answer.content, answer["ETag"]) == (304, b"", tag)
    assert client.get(TABLE, headers={"if-none-match": '"x"'}).status_code == 200


def test_a_head_has_no_body_and_all_headers(made: ReleaseResult, client: Client) -> None:
    asked, told = client.head(ZIP, headers={"range": "bytes=0-9"}), client.get(ZIP)
    assert (asked.status_code, asked.content) == (200, b""), "a range is for GET"
    alike = ("Content-Length", "ETag", "Last-Modified", "Content-Type", "Accept-Ranges")
    assert [asked[name] for name in alike] == [told[name] for name in alike]


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


def test_nothing_but_the_files_of_a_release_has_an_address(made: ReleaseResult, client: Client) -> None:
    for place in (made.folder, made.folder.parent, made.folder.parent.parent):
        (place / "secret.txt").write_text("secret")
    addresses = [f"/releases/release-2026-W47/{path}" for path in NO_FILES]
    for name in ("release-2026-W40", "release-2026-W47-errata-0", "release-2026-W47-errata-01", "x"):
        made.archive.with_name(f"{name}.zip").write_bytes(b"not published")
        addresses += [f"/releases/{name}.zip", f"/releases/{name}/", f"/releases/{name}/responses.csv"]
    assert {each: client.get(each).status_code for each in addresses} == dict.fromkeys(addresses, 404)


def test_what_is_no_plain_file_is_not_found(made: ReleaseResult, client: Client, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("secret")
    for path, address in ((made.archive, ZIP), (made.folder / "responses.csv", TABLE)):
        path.unlink()
        kinds: list[tuple[Callable[[Path], object], Callable[[Path], object]]] = [
            (Path.mkdir, Path.rmdir),
            (os.mkfifo, Path.unlink),
            (lambda at: at.symlink_to(tmp_path / "elsewhere"), Path.unlink),
        ]
        for make, unmake in kinds:
            make(path)
            assert client.get(address).status_code == 404
            unmake(path)
    assert f'href="{ZIP}"' not in client.get("/releases/").content.decode(), "listed without its file"


OPENING = [
    (errno.ENOENT, 404, "it lies elsewhere"),
    (errno.EIO, 503, "a disk that was taken away"),
    (errno.EACCES, 503, "a folder that the process may not enter"),
    (errno.EPERM, 503, "a file that the system does not let it read"),
    (errno.EMFILE, 503, "too many files are open"),
]


@pytest.mark.parametrize(("number", "status", "why"), OPENING, ids=[row[2] for row in OPENING])
def test_only_a_file_that_is_not_there_is_not_found(
    number: int, status: int, why: str, made: ReleaseResult, client: Client, monkeypatch: Any
) -> None:
    real = os.open

    def fails(path: Any, *given: Any, **more: Any) -> int:
        if str(path).startswith(str(made.folder.parent)):
            raise OSError(number, os.strerror(number), str(path))
        return real(path, *given, **more)

    monkeypatch.setattr(os, "open", fails)
    for address in (ZIP, TABLE):
        answer = client.get(address)
        said = outages.store_away().message in plain(answer)
        assert (answer.status_code, "Retry-After" in answer, said) == (status, status == 503, status == 503), why


def test_only_reading_is_allowed(made: ReleaseResult, client: Client) -> None:
    for address in (ZIP, TABLE, "/releases/", "/weeks/2026-W47/", "/feeds/releases.atom"):
        assert client.post(address).status_code == 405


def test_the_list_shows_the_chain_and_the_page_every_file(parts: list[ReleaseResult], client: Client) -> None:
    listed = client.get("/releases/").content.decode()
    for part in parts:
        release = part.release
        told = [f'href="/releases/{release.name}/"', release.manifest_sha256, release.previous_sha256]
        assert lacking(listed, *told) == []
        files = json.loads((part.folder / "manifest.json").read_text())["files"]
        files["manifest.json"] = release.manifest_sha256
        links = [f'href="/releases/{release.name}/{path}"' for path in files]
        assert lacking(main(client, f"/releases/{release.name}/"), *links, *files.values()) == []
    assert "is the first" in listed and listed.index("errata 1") < listed.index("release-2026-W48")


def test_a_long_list_of_pictures_comes_in_pages(made: ReleaseResult, client: Client, monkeypatch: Any) -> None:
    monkeypatch.setattr("contest.pages.public.release_views.FILES_SHOWN", 4)
    names = sorted(path.name for path in (made.folder / "images").iterdir())
    for number in (1, 2, 3):
        page = client.get(f"/releases/release-2026-W47/?page={number}").content.decode()
        assert [name for name in names if name in page] == names[4 * number - 4 : 4 * number]


def test_the_api_lists_the_releases_and_leads_to_the_file(
    parts: list[ReleaseResult], settings: Any, client: Client
) -> None:
    rows = client.get("/api/v1/releases/").json()["releases"]
    assert [row["name"] for row in rows] == [part.release.name for part in parts]
    assert [row["previous_sha256"] for row in rows] == ["", *(row["manifest_sha256"] for row in rows[:-1])]
    assert rows[0]["file"] == settings.PUBLIC_URL + ZIP
    answer = client.get("/api/v1/releases/2026-W47/")
    assert (answer.status_code, answer["Location"]) == (302, "/releases/release-2026-W47-errata-1.zip")
    missing = client.get("/api/v1/releases/2026-W40/")
    assert (missing.status_code, missing.json()["code"]) == (404, "unknown_release")
    Release.objects.all().delete()
    assert "No week is released yet" in client.get("/releases/").content.decode()
    assert client.get("/api/v1/releases/").json() == {"releases": []}


# Feeds ---------------------------------------------------------------------------------------------------------------


ATOM = "{http://www.w3.org/2005/Atom}"


def _text(element: ElementTree.Element, name: str) -> str:
    (found,) = element.findall(f"{ATOM}{name}")
    return found.text or ""


def test_the_atom_feed_has_what_the_standard_asks_for(parts: list[ReleaseResult]) -> None:
    answer = Client().get("/feeds/releases.atom")
    assert answer["Content-Type"] == "application/atom+xml; charset=utf-8"
    feed = ElementTree.fromstring(answer.content)
    assert (feed.tag, feed.findtext(f"{ATOM}author/{ATOM}name")) == (f"{ATOM}feed", "Unanimous")
    assert urlparse(_text(feed, "id")).scheme == "urn" and _text(feed, "title")
    assert datetime.fromisoformat(_text(feed, "updated")) == max(part.release.released_at for part in parts)
    links = {link.get("rel"): link.get("href") for link in feed.findall(f"{ATOM}link")}
    assert links["self"].endswith("/feeds/releases.atom") and links["alternate"].endswith("/releases/")
    entries = feed.findall(f"{ATOM}entry")
    assert [_text(entry, "title") for entry in entries] == [
        "Week 2026-W47, errata 1", "Week 2026-W48", "Week 2026-W47",
    ]  # fmt: skip
    for entry, part in zip(entries, [each.release for each in reversed(parts)], strict=True):
        told = (urlparse(_text(entry, "id")).scheme, datetime.fromisoformat(_text(entry, "updated")))
        assert told == ("urn", part.released_at) and part.manifest_sha256 in _text(entry, "summary")
        assert entry.find(f"{ATOM}link").get("href").endswith(f"/releases/{part.name}/")  # type: ignore[union-attr]


def test_the_json_feed_has_what_the_standard_asks_for_and_the_same_names(
    parts: list[ReleaseResult], settings: Any
) -> None:
    answer = Client().get("/feeds/releases.json")
    feed = json.loads(answer.content)
    told = ("application/feed+json", "https://jsonfeed.org/version/1.1")
    assert (answer["Content-Type"], feed["version"]) == told
    assert feed["title"] and feed["feed_url"].endswith("/feeds/releases.json")
    for item, part in zip(feed["items"], [each.release for each in reversed(parts)], strict=True):
        assert isinstance(item["id"], str) and item["url"].endswith(f"/releases/{part.name}/")
        assert item["content_text"] and datetime.fromisoformat(item["date_published"]) == part.released_at
        attached = item["attachments"][0]
        assert (attached["mime_type"], attached["size_in_bytes"]) == ("application/zip", part.bytes)
        assert Client().head(urlparse(attached["url"]).path).status_code == 200
    names = [item["id"] for item in feed["items"]]
    settings.PUBLIC_URL = "https://elsewhere.example"
    atom = ElementTree.fromstring(Client().get("/feeds/releases.atom").content).findall(f"{ATOM}entry/{ATOM}id")
    assert len(set(names)) == 3 and [each.text for each in atom] == names, "wherever it lies"


@pytest.mark.parametrize("address", ["/feeds/releases.atom", "/feeds/releases.json"])
def test_a_reader_that_has_it_is_told_so_and_an_empty_feed_is_a_feed(address: str, parts: list[ReleaseResult]) -> None:
    answer = Client().get(address)
    again = Client().get(address, headers={"if-modified-since": answer["Last-Modified"]})
    assert (again.status_code, again.content) == (304, b"")
    Release.objects.all().delete()
    assert Client().get(address).status_code == 200


# Which bytes a Range header asks for (RFC 9110, section 14) ----------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "asked", "why"),
    [
        ("", None, "no header asks for all"),
        ("bytes=0-", (0, 100), "from the beginning"),
        ("bytes=0-0", (0, 1), "both ends are meant"),
        ("bytes=40-59", (40, 60), "a part in the middle"),
        ("bytes=40-", (40, 100), "what a broken download is missing"),
        ("bytes=99-", (99, 100), "the last byte"),
        ("bytes=90-200", (90, 100), "an end beyond the end is the end"),
        ("bytes=-10", (90, 100), "the last ten"),
        ("bytes=-500", (0, 100), "more than there are: all of them"),
        ("bytes= 40 - 59", (40, 60), "blanks are allowed"),
        ("bytes=0-9,20-29", None, "several ranges: the whole may be sent"),
        ("lines=0-9", None, "another unit is passed over"),
        ("bytes=9-3", None, "backwards is no range"),
        ("bytes=-", None, "neither is nothing"),
        ("bytes=a-b", None, "nor words"),
        ("bytes=" + "9" * 40 + "-", None, "nor a number that no file has"),
    ],
)
def test_what_is_asked_for(header: str, asked: tuple[int, int] | None, why: str) -> None:
    assert requested_range(header, 100) == (ByteRange(*asked) if asked else None), why


@pytest.mark.parametrize(
    ("header", "size"), [("bytes=100-", 100), ("bytes=100-200", 100), ("bytes=-0", 100), ("bytes=0-", 0)]
)
def test_bytes_that_are_not_there(header: str, size: int) -> None:
    assert requested_range("", size) is None, "also of an empty file all can be asked for"
    with pytest.raises(UnsatisfiableRange):
        requested_range(header, size)
