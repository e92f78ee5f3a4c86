"""Folders and buckets keep files alike; the bucket is a real server that speaks S3 over HTTP."""

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
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
    key, path, whole = f"defenses/{SHA}.tar", tmp_path / "image.tar", b"layer" * 700_000
    for content in (whole, b"other"):
        path.write_bytes(content)
        store.put_file(key, path)
        assert store.get(key) == whole
    with pytest.raises(ValueError):
        store.put_file("../x", path)


def test_what_was_put_is_got_and_stays_as_it_was_first(store: PictureStore, tmp_path: Path) -> None:
    """A missing file is named."""
    assert not store.exists(KEY)
    with open(tmp_path / "fetched", "wb") as file:
        for ask in (store.get, store.size, lambda key: store.part(key, 0, 1), lambda key: store.fetch(key, file)):
            with pytest.raises(PictureMissing) as missing:
                ask(KEY)
            assert (missing.value.code, KEY in missing.value.message) == ("picture_missing", True)
    for data in (b"first", b"second"):
        store.put(KEY, data)
    store.put(original_key(SHA), b"original")
    assert (store.exists(KEY), store.get(KEY), store.get(original_key(SHA))) == (True, b"first", b"original")


def test_a_file_larger_than_one_piece_is_fetched_whole_or_in_part(store: PictureStore, tmp_path: Path) -> None:
    whole, key = os.urandom(3_000_001), f"defenses/{SHA}.tar"
    store.put(key, whole)
    assert store.size(key) == len(whole)
    with open(tmp_path / "fetched", "wb") as file:
        store.fetch(key, file)
    assert (tmp_path / "fetched").read_bytes() == whole
    for start, end in PARTS:
        with closing(store.part(key, start, end)) as part:
            pieces = list(iter(lambda part=part: part.read(1 << 16), b""))
        assert b"".join(pieces) == whole[start:end] and max(map(len, pieces)) <= 1 << 16


# The first byte, some in the middle, and to the end in several pieces.
PARTS = [(0, 1), (5, 9), (1_500_000, 3_000_001)]


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
    store, data = FolderStore(tmp_path), os.urandom(200_000)

    def _write_and_read(_: int) -> bytes:
        store.put(KEY, data)
        return store.get(KEY)

    with ThreadPoolExecutor(16) as threads:
        assert list(threads.map(_write_and_read, range(16))) == [data] * 16
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 1


def test_objects_lie_under_the_prefix_with_their_type(bucket: Any, endpoint: str) -> None:
    store = S3Store(bucket.name, "contest", endpoint=endpoint)
    store.put(KEY, b"x")
    store.put(original_key(SHA), b"y")
    types = {item.key: item.Object().content_type for item in bucket.objects.all()}
    assert types == {f"contest/{KEY}": "image/png", f"contest/{original_key(SHA)}": "application/octet-stream"}


def test_a_wrong_bucket_is_an_error_and_not_a_missing_picture(bucket: Any, endpoint: str) -> None:
    store = S3Store("no-such-bucket-here", "", endpoint=endpoint)
    for act in (lambda: store.put(KEY, b"x"), lambda: store.get(KEY)):
        with pytest.raises(ClientError, match="NoSuchBucket"):
            act()


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


def test_what_the_store_did_not_write_is_not_listed(tmp_path: Path) -> None:
    """A folder that is gone is no empty store."""
    for path, _ in OTHERS:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(b"x")
    assert list(FolderStore(tmp_path).files()) == []
    with pytest.raises(Unavailable):
        list(FolderStore(tmp_path / "unmounted").files())


def test_other_objects_of_the_bucket_are_not_listed(bucket: Any, endpoint: str) -> None:
    for name in (f"other/{KEY}", KEY, "contest/README", f"contest/a/{KEY}"):
        bucket.put_object(Key=name, Body=b"x")
    assert list(S3Store(bucket.name, "contest", endpoint=endpoint).files()) == []


def test_what_a_killed_writer_left_in_a_folder_is_removed_by_its_age(tmp_path: Path) -> None:
    store, now = FolderStore(tmp_path), timezone.now()
    store.put(KEY, b"x")
    (part := tmp_path / "pictures" / "ab" / ".x7.part").write_bytes(b"half")
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
