"""The files of a published open defense: whose they are to read, from when on, whole and in parts (R31-R33)."""

import hashlib
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from contest.defenses.files import downloads
from contest.models import Entry, Team
from contest.stakes import entries
from labeling.store import FolderStore
from scoring.models import Defense
from tests import factories
from tests.contest.stakes import cast

pytestmark = pytest.mark.django_db
FILES = ("source.zip", "training-code.zip", "weights.bin", "image.tar")
ALL = (*FILES, "licence.txt")


@pytest.fixture(autouse=True)
def own_store(settings: Any, tmp_path: Path) -> None:
    settings.IMAGE_STORE_URL = f"file://{tmp_path}/store"


@pytest.fixture
def at(db: None) -> datetime:
    return factories.NOW


@pytest.fixture
def blue(at: datetime) -> Team:
    return cast.team("blue", now=at - timedelta(days=1))


@pytest.fixture
def handed_in(blue: Team, at: datetime, tmp_path: Path) -> Entry:
    """An entry with every file, not published yet, and a closed one's would be without source."""
    return _handed_in(blue, at, tmp_path, "open one", closed=False)


def _handed_in(of: Team, at: datetime, folder: Path, name: str, *, closed: bool) -> Entry:
    weights = folder / f"{name}.weights"
    weights.write_bytes(name.encode() * 100)
    given = cast.given(
        name=name,
        image="",
        archive=cast.archive(folder / name),
        source=None if closed else cast.zipped(folder / "s.zip"),
        training_code=cast.zipped(folder / "t.zip", "train.py"),
        weights=weights,
    )
    return entries.entry_hand_in(of, given, by=cast.captain(of), policy=cast.policy(at), now=at)[0]


def published(entry: Entry, at: datetime) -> Entry:
    Defense.objects.filter(pk=entry.defense_id).update(published_at=at)
    return Entry.objects.get(pk=entry.pk)


def address(entry: Entry, name: str) -> str:
    return f"/defenses/{entry.defense.public_id}/{name}"


def body(answer: Any) -> bytes:
    return b"".join(answer.streaming_content) if answer.streaming else answer.content


@pytest.fixture
def everybody(blue: Team, at: datetime, signed_in: Any) -> dict[str, Client]:
    cast.team("red", now=at)
    return {
        "a stranger": Client(),
        "its captain": signed_in(cast.captain(blue)),
        "another team": signed_in(cast.person("cap-red")),
        "the board": signed_in(cast.board()),
        "an organizer": signed_in(cast.organizer()),
        "a tasker": signed_in(factories.tasker("tara").user),
    }


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
    kind: str,
    public: bool,
    taken_back: bool,
    status: int,
    why: str,
    everybody: dict[str, Client],
    blue: Team,
    at: datetime,
    tmp_path: Path,
) -> None:
    entry = _handed_in(blue, at, tmp_path, "one", closed=kind == "closed")
    if public:
        entry = published(entry, at)
    if taken_back:
        entries.entry_withdraw(entry, by=cast.captain(blue), now=at)
    for who, client in everybody.items():
        expected = 403 if who == "a tasker" else status
        for name in ALL:
            assert client.get(address(entry, name)).status_code == expected, f"{who}, {name}: {why}"
        page = client.get(address(entry, "")).content.decode()
        assert ('id="files"' in page) == (expected == 200), f"{who}: {why}"


def test_the_very_bytes_come_with_their_hash_and_size(handed_in: Entry, at: datetime) -> None:
    entry = published(handed_in, at)
    listed = {each.name: each for each in downloads(entry.defense)}
    page = Client().get(address(entry, "")).content.decode()
    assert tuple(listed) == FILES
    for name, each in listed.items():
        answer = Client().get(address(entry, name))
        data = body(answer)
        assert (hashlib.sha256(data).hexdigest(), len(data)) == (each.sha256, each.size)
        assert int(answer["Content-Length"]) == each.size and each.sha256 in page
        assert answer["Content-Disposition"].startswith("attachment; filename=")
        assert (answer["Cache-Control"], answer["X-Content-Type-Options"]) == ("private, no-cache", "nosniff")
        assert address(entry, name) in page


def test_the_licence_names_every_checksum(handed_in: Entry, at: datetime) -> None:
    entry = published(handed_in, at)
    text = Client().get(address(entry, "licence.txt")).content.decode()
    assert "Licence: Apache-2.0\n" in text and "handed in by team blue" in text
    assert all(each.sha256 in text for each in downloads(entry.defense))


RANGES = [
    ("bytes=0-9", 206, slice(0, 10), "the first ten"),
    ("bytes=100-", 206, slice(100, None), "what a broken download is missing"),
    ("bytes=-7", 206, slice(-7, None), "the last seven"),
    ("bytes=9-3", 200, slice(None), "no range at all"),
    ("bytes=99999999-", 416, slice(0, 0), "behind the end"),
]


@pytest.mark.parametrize(("asked", "status", "part", "why"), RANGES, ids=[row[3] for row in RANGES])
def test_a_broken_download_goes_on(
    asked: str, status: int, part: slice, why: str, handed_in: Entry, at: datetime
) -> None:
    entry = published(handed_in, at)
    where = address(entry, "image.tar")
    whole = body(Client().get(where))
    answer = Client().get(where, headers={"range": asked})
    assert (answer.status_code, body(answer)) == (status, whole[part]), why
    if status == 206:
        start, stop, _ = part.indices(len(whole))
        assert answer["Content-Range"] == f"bytes {start}-{stop - 1}/{len(whole)}"


def test_what_is_known_is_not_sent_again_and_a_head_has_no_body(handed_in: Entry, at: datetime) -> None:
    entry = published(handed_in, at)
    where = address(entry, "weights.bin")
    first = Client().get(where)
    assert Client().get(where, headers={"if-none-match": first["ETag"]}).status_code == 304
    stale = Client().get(where, headers={"range": "bytes=0-3", "if-range": '"another"'})
    assert (stale.status_code, len(body(stale))) == (200, int(first["Content-Length"]))
    head = Client().head(where)
    assert (head.status_code, head.content, head["Content-Length"]) == (200, b"", first["Content-Length"])


def test_opening_the_source_makes_the_files_public(blue: Team, at: datetime, tmp_path: Path) -> None:
    entry = published(_handed_in(blue, at, tmp_path, "late", closed=True), at)
    assert Client().get(address(entry, "image.tar")).status_code == 404
    later = at + timedelta(days=3)
    entries.source_open(entry, cast.zipped(tmp_path / "o.zip"), by=cast.captain(blue), now=later)
    answer = Client().get(address(entry, "image.tar"))
    assert answer.status_code == 200 and f"{later:%d %b %Y}" in answer["Last-Modified"]


def test_a_file_that_is_not_in_the_store_is_not_linked(handed_in: Entry, at: datetime, tmp_path: Path) -> None:
    entry = published(handed_in, at)
    for left in FolderStore(tmp_path / "store").folder.rglob("*.weights"):
        left.unlink()
    page = Client().get(address(entry, "")).content.decode()
    assert "not here" in page and address(entry, "weights.bin") not in page
    assert Client().get(address(entry, "weights.bin")).status_code == 404


@pytest.mark.parametrize("name", ["nothing.zip", "source", "image.tar.gz", ".."])
def test_no_other_file_is_there(name: str, handed_in: Entry, at: datetime) -> None:
    assert Client().get(address(published(handed_in, at), name)).status_code == 404
