"""The files of a published open defense: whose they are to read, from when on, whole and in parts (R31-R33)."""

import hashlib
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as site
from django.test import Client

from contest.defenses import entries
from contest.defenses.files import downloads
from contest.defenses.models import DefenseEntry
from picture_files.store import FolderStore
from scoring.models import Defense
from tests import factories
from tests.contest.defenses import cast
from tests.contest.pages import codes, one_line, outsiders

pytestmark = pytest.mark.django_db
AT = factories.NOW
FILES = ("source.zip", "training-code.zip", "weights.bin", "image.tar")
ALL = (*FILES, "licence.txt")


@pytest.fixture(scope="module")
def names(module_world: Path) -> tuple[str, ...]:
    """Team blue handed in two defenses with every file, the second without source; neither is published."""
    blue = cast.team("blue", now=AT - timedelta(days=1))
    for name in ("open", "closed"):
        weights = module_world / f"{name}.weights"
        weights.write_bytes(name.encode() * 100)
        given = cast.given(
            name=name,
            image="",
            archive=cast.archive(module_world / name),
            source=None if name == "closed" else cast.zipped(module_world / "s.zip"),
            training_code=cast.zipped(module_world / "t.zip", "train.py"),
            weights=weights,
        )
        entries.submit_defense(blue, given, by=cast.captain(blue), policy=cast.policy(AT), now=AT)
    return ("open", "closed")


def handed_in(name: str, *, public: bool = True) -> DefenseEntry:
    if public:
        Defense.objects.filter(name=name).update(published_at=AT)
    return DefenseEntry.objects.get(defense__name=name)


@pytest.fixture
def entry(names: tuple[str, ...]) -> DefenseEntry:
    """The open one, published."""
    return handed_in("open")


def address(entry: DefenseEntry, name: str) -> str:
    return f"/defenses/{entry.defense.public_id}/{name}"


def body(answer: Any) -> bytes:
    return b"".join(answer.streaming_content) if answer.streaming else answer.content


STATES = [
    ("open", False, False, 404, "not published yet, whatever its state"),
    ("open", True, False, 200, "published with its source"),
    ("open", True, True, 200, "taken back later: what was public stays in the record"),
    ("open", False, True, 404, "taken back before it was published"),
    ("closed", True, False, 404, "a closed source closes every file"),
    ("closed", False, False, 404, "closed and not published"),
]


@pytest.mark.parametrize(("kind", "public", "taken_back", "status", "why"), STATES, ids=[row[4] for row in STATES])
def test_who_may_read_what_and_when(
    kind: str, public: bool, taken_back: bool, status: int, why: str, names: tuple[str, ...], signed_in: Any
) -> None:
    entry = handed_in(kind, public=public)
    if taken_back:
        entries.entry_withdraw(entry, by=cast.captain(entry.team), now=AT)
    people = outsiders(signed_in)
    people |= {"captain": signed_in(cast.captain(entry.team)), "organizer": signed_in(cast.organizer())}
    expected = dict.fromkeys(people, status) | {"tasker": 403}
    assert codes(people, address(entry, "image.tar")) == expected, why
    assert [name for name in ALL if Client().get(address(entry, name)).status_code != status] == []
    for who in ("stranger", "organizer"):
        assert ('id="files"' in people[who].get(address(entry, "")).content.decode()) == (status == 200), why


def test_the_very_bytes_come_with_their_hash_and_size(entry: DefenseEntry) -> None:
    listed = {each.name: each for each in downloads(entry.defense)}
    page = Client().get(address(entry, "")).content.decode()
    licence = Client().get(address(entry, "licence.txt")).content.decode()
    assert tuple(listed) == FILES
    for name, each in listed.items():
        answer = Client().get(address(entry, name))
        data, length = body(answer), int(answer["Content-Length"])
        assert (hashlib.sha256(data).hexdigest(), len(data), length) == (each.sha256, each.size, each.size)
        assert answer["Content-Disposition"].startswith("attachment; filename=")
        assert (answer["Cache-Control"], answer["X-Content-Type-Options"]) == ("private, no-cache", "nosniff")
        assert address(entry, name) in page and each.sha256 in page and each.sha256 in licence
    assert "Licence: Apache-2.0\n" in licence and "handed in by team blue" in licence


RANGES = [
    ("bytes=0-9", 206, slice(0, 10), "the first ten"),
    ("bytes=100-", 206, slice(100, None), "what a broken download is missing"),
    ("bytes=-7", 206, slice(-7, None), "the last seven"),
    ("bytes=9-3", 200, slice(None), "no range at all"),
    ("bytes=99999999-", 416, slice(0, 0), "behind the end"),
]


def test_a_broken_download_goes_on(entry: DefenseEntry) -> None:
    where = address(entry, "image.tar")
    whole = body(Client().get(where))
    for asked, status, part, why in RANGES:
        answer = Client().get(where, headers={"range": asked})
        assert (answer.status_code, body(answer)) == (status, whole[part]), why
        if status == 206:
            start, stop, _ = part.indices(len(whole))
            assert answer["Content-Range"] == f"bytes {start}-{stop - 1}/{len(whole)}"


def test_what_is_known_is_not_sent_again_and_a_head_has_no_body(entry: DefenseEntry) -> None:
    where = address(entry, "weights.bin")
    first = Client().get(where)
    assert Client().get(where, headers={"if-none-match": first["ETag"]}).status_code == 304
    stale = Client().get(where, headers={"range": "bytes=0-3", "if-range": '"another"'})
    assert (stale.status_code, len(body(stale))) == (200, int(first["Content-Length"]))
    head = Client().head(where)
    assert (head.status_code, head.content, head["Content-Length"]) == (200, b"", first["Content-Length"])


def test_opening_the_source_makes_the_files_public(names: tuple[str, ...], tmp_path: Path) -> None:
    """R33."""
    entry, later = handed_in("closed"), AT + timedelta(days=3)
    entries.source_open(entry, cast.zipped(tmp_path / "o.zip"), by=cast.captain(entry.team), now=later)
    answer = Client().get(address(entry, "image.tar"))
    assert answer.status_code == 200 and f"{later:%d %b %Y}" in answer["Last-Modified"]


def test_a_file_that_is_not_in_the_store_is_not_linked(entry: DefenseEntry) -> None:
    for left in FolderStore(Path(site.IMAGE_STORE_URL.removeprefix("file://"))).folder.rglob("*.weights"):
        left.unlink()
    page = one_line(Client().get(address(entry, "")).content.decode())
    assert "not here" in page and address(entry, "weights.bin") not in page
    for name in ("weights.bin", "nothing.zip", "source", "image.tar.gz", ".."):
        assert Client().get(address(entry, name)).status_code == 404, name
