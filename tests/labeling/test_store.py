"""Folders and buckets keep files alike; the bucket is a real server that speaks S3 over HTTP."""

import os
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from django.utils import timezone

from common.errors import Unavailable
from labeling.store import (
    FolderStore,
    PictureMissing,
    PictureStore,
    S3Store,
    original_key,
    picture_key,
    picture_store,
)

SHA = "ab" * 32
KEY = picture_key(SHA)


@pytest.fixture(params=["folder", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> PictureStore:
    if request.param == "folder":
        (tmp_path / "store").mkdir()
        return FolderStore(tmp_path / "store")
    bucket = request.getfixturevalue("bucket")
    return S3Store(bucket.name, "some/prefix", endpoint=request.getfixturevalue("endpoint"))


def test_a_file_is_put_in_pieces_and_stays_as_it_was_first(store: PictureStore, tmp_path: Path) -> None:
    key, path = f"defenses/{SHA}.tar", tmp_path / "image.tar"
    path.write_bytes(b"layer" * 700_000)
    store.put_file(key, path)
    assert store.get(key) == path.read_bytes()
    whole = path.read_bytes()
    path.write_bytes(b"other")
    store.put_file(key, path)
    assert store.get(key) == whole
    with pytest.raises(ValueError):
        store.put_file("../x", path)


def test_what_was_put_is_got(store: PictureStore) -> None:
    assert not store.exists(KEY)
    store.put(KEY, b"\x89PNG picture")
    store.put(original_key(SHA), b"original")
    assert store.exists(KEY)
    assert store.get(KEY) == b"\x89PNG picture"
    assert store.get(original_key(SHA)) == b"original"


def test_a_file_larger_than_one_piece_is_fetched_whole(store: PictureStore, tmp_path: Path) -> None:
    archive = os.urandom(3_000_001)
    store.put(f"defenses/{SHA}.tar", archive)
    with open(tmp_path / "fetched", "wb") as file:
        store.fetch(f"defenses/{SHA}.tar", file)
    assert (tmp_path / "fetched").read_bytes() == archive


def test_fetching_what_is_not_there_says_so(store: PictureStore, tmp_path: Path) -> None:
    with open(tmp_path / "fetched", "wb") as file, pytest.raises(PictureMissing):
        store.fetch(f"defenses/{SHA}.tar", file)


PARTS = [(0, 1, "the first byte"), (5, 9, "some in the middle"), (1_500_000, 3_000_001, "to the end, several pieces")]


@pytest.mark.parametrize(("start", "end", "reason"), PARTS, ids=[row[2] for row in PARTS])
def test_a_part_is_read_alone(store: PictureStore, start: int, end: int, reason: str) -> None:
    whole, key = os.urandom(3_000_001), f"defenses/{SHA}.tar"
    store.put(key, whole)
    part, found = store.part(key, start, end), b""
    while piece := part.read(1 << 16):
        assert len(piece) <= 1 << 16
        found += piece
    part.close()
    assert found == whole[start:end], reason
    assert store.size(key) == len(whole)


def test_what_is_not_there_has_no_size_and_no_part(store: PictureStore) -> None:
    for asked in (lambda: store.size(KEY), lambda: store.part(KEY, 0, 1)):
        with pytest.raises(PictureMissing):
            asked()


def test_a_file_is_written_once(store: PictureStore) -> None:
    store.put(KEY, b"first")
    store.put(KEY, b"second")
    assert store.get(KEY) == b"first"


def test_a_missing_file_is_named(store: PictureStore) -> None:
    with pytest.raises(PictureMissing) as missing:
        store.get(KEY)
    assert missing.value.code == "picture_missing"
    assert KEY in missing.value.message


OUTSIDE = [
    ("../secret", "up and out"),
    ("pictures/../../secret", "up from inside"),
    ("/etc/passwd", "an absolute path"),
    ("pictures/..", "the folder above"),
    ("pictures/.hidden", "a hidden file, as half-written ones are"),
    ("pictures/a/b", "a folder too deep"),
    ("pictures", "no name"),
    ("pictures/", "an empty name"),
    ("", "nothing"),
    ("pictures/a\0b", "a zero byte"),
    ("pictures/a\n", "a newline"),
    ("pictures/..%2fsecret", "an escaped slash"),
]


@pytest.mark.parametrize(("key", "reason"), OUTSIDE, ids=[reason for _, reason in OUTSIDE])
@pytest.mark.parametrize("call", [lambda s, k: s.put(k, b"x"), lambda s, k: s.get(k), lambda s, k: s.exists(k)])
def test_keys_that_lead_elsewhere_are_refused(store: PictureStore, call: Any, key: str, reason: str) -> None:
    with pytest.raises(ValueError, match="not a key"):
        call(store, key)


def test_a_folder_is_spread_over_sub_folders(tmp_path: Path) -> None:
    FolderStore(tmp_path).put(KEY, b"x")
    assert (tmp_path / "pictures" / "ab" / f"{SHA}.png").read_bytes() == b"x"


def test_a_write_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def _disk_full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", _disk_full)
    with pytest.raises(OSError, match="No space left"):
        FolderStore(tmp_path).put(KEY, b"x")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_many_writers_of_one_file_agree(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    data = os.urandom(200_000)
    seen: list[bytes] = []

    def _write_and_read() -> None:
        store.put(KEY, data)
        seen.append(store.get(KEY))

    threads = [threading.Thread(target=_write_and_read) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [data] * 16
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 1


def test_objects_lie_under_the_prefix_with_their_type(bucket: Any, endpoint: str) -> None:
    store = S3Store(bucket.name, "contest", endpoint=endpoint)
    store.put(KEY, b"x")
    store.put(original_key(SHA), b"y")
    types = {item.key: item.Object().content_type for item in bucket.objects.all()}
    assert types == {f"contest/{KEY}": "image/png", f"contest/{original_key(SHA)}": "application/octet-stream"}


def test_a_wrong_bucket_is_an_error_and_not_a_missing_picture(bucket: Any, endpoint: str) -> None:
    store = S3Store("no-such-bucket-here", "", endpoint=endpoint)
    with pytest.raises(ClientError, match="NoSuchBucket"):
        store.put(KEY, b"x")
    with pytest.raises(ClientError, match="NoSuchBucket"):
        store.get(KEY)


# Walking and removing, for the command that removes unused files ------------------------------------------------------


def test_every_file_is_listed_with_its_size_and_age_until_it_is_removed(store: PictureStore) -> None:
    began = timezone.now() - timedelta(seconds=2)  # a bucket's times are whole seconds
    keys = {KEY: b"x", original_key(SHA): b"xy", f"private/{SHA}.png": b"xyz", f"defenses/{SHA}.weights": b""}
    for key, data in keys.items():
        store.put(key, data)
    found = list(store.files())
    assert {each.key: each.size for each in found} == {key: len(data) for key, data in keys.items()}
    assert all(began < each.written_at <= timezone.now() for each in found)
    store.remove(KEY)
    assert not store.exists(KEY)
    assert {each.key for each in store.files()} == set(keys) - {KEY}
    store.remove(KEY)  # another run was quicker


OTHERS = [
    ("README", "beside the folders"),
    ("pictures/notes.txt", "a folder too high"),
    (f"pictures/cd/{SHA}.png", "another sub-folder than its name says"),
    (f"pictures/ab/{SHA}.PNG", "a name that no key has"),
    (f"pictures/ab/more/{SHA}.png", "a folder too deep"),
    (f"lost+found/ab/{SHA}.png", "a folder of the disk"),
]


@pytest.mark.parametrize(("path", "reason"), OTHERS, ids=[reason for _, reason in OTHERS])
def test_what_the_store_did_not_write_is_not_listed(path: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_bytes(b"x")
    assert list(FolderStore(tmp_path).files()) == [], reason


def test_other_objects_of_the_bucket_are_not_listed(bucket: Any, endpoint: str) -> None:
    for name in (f"other/{KEY}", KEY, "contest/README", f"contest/a/{KEY}"):
        bucket.put_object(Key=name, Body=b"x")
    assert list(S3Store(bucket.name, "contest", endpoint=endpoint).files()) == []


def test_a_folder_that_is_gone_is_no_empty_store(tmp_path: Path) -> None:
    with pytest.raises(Unavailable):
        list(FolderStore(tmp_path / "unmounted").files())


def test_what_a_killed_writer_left_in_a_folder_is_removed_by_its_age(tmp_path: Path) -> None:
    store, now = FolderStore(tmp_path), timezone.now()
    store.put(KEY, b"x")
    part = tmp_path / "pictures" / "ab" / ".x7.part"
    part.write_bytes(b"half")
    assert [each.key for each in store.files()] == [KEY]
    assert list(store.unfinished(now - timedelta(days=1))) == [], "its writer may be at work"
    for remove in store.unfinished(now + timedelta(seconds=2)):
        remove()
    assert not part.exists() and store.get(KEY) == b"x"


def test_what_a_killed_writer_left_in_a_bucket_is_removed_by_its_age(bucket: Any, endpoint: str) -> None:
    store = S3Store(bucket.name, "contest", endpoint=endpoint)
    bucket.Object(f"contest/defenses/{SHA}.tar").initiate_multipart_upload()
    foreign = bucket.Object(f"other/defenses/{SHA}.tar").initiate_multipart_upload()
    begun = datetime(2010, 11, 10, 20, 48, 33, tzinfo=UTC)  # this server says so of every upload
    assert list(store.unfinished(begun)) == [], "its writer may be at work"
    for remove in store.unfinished(begun + timedelta(seconds=1)):
        remove()
    assert [each.id for each in bucket.multipart_uploads.all()] == [foreign.id]
    foreign.abort()


def test_the_store_follows_the_setting(settings: Any, tmp_path: Path, bucket: Any, endpoint: str) -> None:
    settings.IMAGE_STORE_URL = f"file://{tmp_path}/with%20space"
    folder = picture_store()
    folder.put(KEY, b"x")
    assert picture_store() is folder
    assert (tmp_path / "with space").is_dir()
    settings.IMAGE_STORE_URL, settings.S3_ENDPOINT_URL = f"s3://{bucket.name}/a/b", endpoint
    assert not picture_store().exists(KEY)
    picture_store().put(KEY, b"y")
    assert [item.key for item in bucket.objects.all()] == [f"a/b/{KEY}"]
