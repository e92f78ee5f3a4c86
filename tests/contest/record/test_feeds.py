"""The feeds hold to their standards, and name each release for ever (RFC 4287, JSON Feed 1.1)."""

import json
from datetime import datetime
from typing import Any
from urllib.parse import urlparse
from xml.etree import ElementTree

import pytest
from django.test import Client

from contest.releases import Released

pytestmark = pytest.mark.django_db
ATOM = "{http://www.w3.org/2005/Atom}"


def _atom() -> ElementTree.Element:
    answer = Client().get("/feeds/releases.atom")
    assert answer["Content-Type"] == "application/atom+xml; charset=utf-8"
    return ElementTree.fromstring(answer.content)


def _text(element: ElementTree.Element, name: str) -> str:
    found = element.findall(f"{ATOM}{name}")
    assert len(found) == 1, f"exactly one {name}"
    return found[0].text or ""


def test_the_atom_feed_has_what_the_standard_asks_for(parts: list[Released]) -> None:
    feed = _atom()
    assert feed.tag == f"{ATOM}feed"
    assert urlparse(_text(feed, "id")).scheme == "urn"
    assert _text(feed, "title")
    assert datetime.fromisoformat(_text(feed, "updated")) == max(part.release.released_at for part in parts)
    assert feed.findtext(f"{ATOM}author/{ATOM}name") == "Unanimous"
    links = {link.get("rel"): link.get("href") for link in feed.findall(f"{ATOM}link")}
    assert links["self"].endswith("/feeds/releases.atom") and links["alternate"].endswith("/releases/")
    entries = feed.findall(f"{ATOM}entry")
    assert [_text(entry, "title") for entry in entries] == [
        "Week 2026-W47, errata 1", "Week 2026-W48", "Week 2026-W47",
    ]  # fmt: skip
    for entry, part in zip(entries, [each.release for each in reversed(parts)], strict=True):
        assert urlparse(_text(entry, "id")).scheme == "urn"
        assert datetime.fromisoformat(_text(entry, "updated")) == part.released_at
        assert part.manifest_sha256 in _text(entry, "summary")
        assert entry.find(f"{ATOM}link").get("href").endswith(f"/releases/{part.name}/")  # type: ignore[union-attr]


def test_the_json_feed_has_what_the_standard_asks_for(parts: list[Released]) -> None:
    answer = Client().get("/feeds/releases.json")
    assert answer["Content-Type"] == "application/feed+json"
    feed = json.loads(answer.content)
    assert feed["version"] == "https://jsonfeed.org/version/1.1"
    assert feed["title"] and feed["feed_url"].endswith("/feeds/releases.json")
    for item, part in zip(feed["items"], [each.release for each in reversed(parts)], strict=True):
        assert isinstance(item["id"], str) and item["url"].endswith(f"/releases/{part.name}/")
        assert item["content_text"] and datetime.fromisoformat(item["date_published"]) == part.released_at
        attached = item["attachments"][0]
        assert (attached["mime_type"], attached["size_in_bytes"]) == ("application/zip", part.bytes)
        assert Client().head(urlparse(attached["url"]).path).status_code == 200


def test_both_feeds_name_a_release_alike_and_wherever_the_contest_lies(parts: list[Released], settings: Any) -> None:
    first = [entry.findtext(f"{ATOM}id") for entry in _atom().findall(f"{ATOM}entry")]
    items = json.loads(Client().get("/feeds/releases.json").content)["items"]
    assert [item["id"] for item in items] == first
    assert len(set(first)) == 3
    settings.PUBLIC_URL = "https://elsewhere.example"
    assert [entry.findtext(f"{ATOM}id") for entry in _atom().findall(f"{ATOM}entry")] == first


@pytest.mark.parametrize("address", ["/feeds/releases.atom", "/feeds/releases.json"])
def test_a_reader_that_has_it_is_told_so_and_an_empty_feed_is_a_feed(address: str, parts: list[Released]) -> None:
    answer = Client().get(address)
    again = Client().get(address, headers={"if-modified-since": answer["Last-Modified"]})
    assert (again.status_code, again.content) == (304, b"")
    for part in parts:
        part.release.delete()
    assert Client().get(address).status_code == 200
