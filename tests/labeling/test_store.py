"""The canonical picture and its identity (R2), the folder or bucket it lies in, and its address (R3, R8)."""

import base64
import hashlib
import io
import os
import random
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from botocore.exceptions import ClientError
from django.test import Client
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as Pillow

from common.errors import ServiceUnavailable
from labeling.enums import Origin
from labeling.models import Image, Tasker
from labeling.pictures.addresses import picture_url, pixels_hash_of
from labeling.pictures.intake import image_add
from picture_files.decoding import read_attack
from picture_files.png import PictureDamaged, decode_png, encode_png, pixels_sha256
from picture_files.store import (
    FolderStore,
    PictureMissing,
    PictureStore,
    S3Store,
    original_key,
    picture_key,
    picture_store,
)
from tests.factories import image as image_row
from tests.labeling.cast import refused
from tests.tables import cases

pytestmark = pytest.mark.django_db


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
    refused(ValueError, store.put_file, "../x", path)


def test_what_was_put_is_got_and_stays_as_it_was_first(store: PictureStore, tmp_path: Path) -> None:
    """A missing file is named."""
    assert not store.exists(KEY)
    with open(tmp_path / "fetched", "wb") as file:
        for ask in (store.get, store.size, lambda key: store.part(key, 0, 1), lambda key: store.fetch(key, file)):
            missing = refused(PictureMissing, ask, KEY)
            assert (missing.code, KEY in missing.message) == ("picture_missing", True)
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
    for start, end in ((0, 1), (5, 9), (1_500_000, 3_000_001)):  # the first byte, some, and several pieces to the end
        with closing(store.part(key, start, end)) as part:
            pieces = list(iter(lambda part=part: part.read(1 << 16), b""))
        assert b"".join(pieces) == whole[start:end] and max(map(len, pieces)) <= 1 << 16


@cases(
    "key reason",
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
)
@pytest.mark.parametrize("call", [lambda s, k: s.put(k, b"x"), lambda s, k: s.get(k), lambda s, k: s.exists(k)])
def test_keys_that_lead_elsewhere_are_refused(store: PictureStore, call: Any, key: str, reason: str) -> None:
    assert "not a key" in str(refused(ValueError, call, store, key))


def test_a_folder_is_spread_over_sub_folders(tmp_path: Path) -> None:
    FolderStore(tmp_path).put(KEY, b"x")
    assert (tmp_path / "pictures" / "ab" / f"{SHA}.png").read_bytes() == b"x"


def test_a_write_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", Mock(side_effect=OSError(28, "No space left on device")))
    assert "No space left" in str(refused(OSError, FolderStore(tmp_path).put, KEY, b"x"))
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_many_writers_of_one_file_agree(tmp_path: Path) -> None:
    store, data = FolderStore(tmp_path), os.urandom(200_000)

    with ThreadPoolExecutor(16) as threads:
        assert list(threads.map(lambda _: store.put(KEY, data) or store.get(KEY), range(16))) == [data] * 16
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 1


def test_objects_lie_under_the_prefix_with_their_type(bucket: Any, endpoint: str) -> None:
    store = S3Store(bucket.name, "contest", endpoint=endpoint)
    for key in (KEY, original_key(SHA)):
        store.put(key, b"x")
    types = {item.key: item.Object().content_type for item in bucket.objects.all()}
    assert types == {f"contest/{KEY}": "image/png", f"contest/{original_key(SHA)}": "application/octet-stream"}


def test_a_wrong_bucket_is_an_error_and_not_a_missing_picture(bucket: Any, endpoint: str) -> None:
    store = S3Store("no-such-bucket-here", "", endpoint=endpoint)
    assert "NoSuchBucket" in str(refused(ClientError, store.put, KEY, b"x"))
    assert "NoSuchBucket" in str(refused(ClientError, store.get, KEY))


def test_every_file_is_listed_with_its_size_and_age_until_it_is_removed(store: PictureStore) -> None:
    began = timezone.now() - timedelta(seconds=2)  # a bucket's times are whole seconds
    keys = {KEY: b"x", original_key(SHA): b"xy", f"private/{SHA}.png": b"xyz", f"defenses/{SHA}.weights": b""}
    for key, data in keys.items():
        store.put(key, data)
    found = list(store.files())
    assert {each.key: each.size for each in found} == {key: len(data) for key, data in keys.items()}
    assert all(began < each.written_at <= timezone.now() for each in found)
    for _ in range(2):  # or another run was quicker
        store.remove(KEY)
    assert {each.key for each in store.files()} == set(keys) - {KEY} and not store.exists(KEY)


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
    for name, _ in OTHERS:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    assert list(FolderStore(tmp_path).files()) == []
    refused(ServiceUnavailable, list, FolderStore(tmp_path / "unmounted").files())


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
    picture_store().put(KEY, b"x")
    assert picture_store() is picture_store() and (tmp_path / "with space").is_dir()
    settings.IMAGE_STORE_URL, settings.S3_ENDPOINT_URL = f"s3://{bucket.name}/a/b", endpoint
    assert not picture_store().exists(KEY)
    picture_store().put(KEY, b"y")
    assert [item.key for item in bucket.objects.all()] == [f"a/b/{KEY}"]


RED_AND_BLUE = b"\xff\x00\x00\x00\x00\xff"


@st.composite
def pictures(draw: st.DrawFn) -> tuple[int, int, bytes]:
    width, height, palette = draw(st.integers(1, 24)), draw(st.integers(1, 24)), draw(st.integers(1, 256))
    noise = random.Random(draw(st.integers(0, 2**32)))
    return width, height, bytes(noise.randrange(palette) for _ in range(width * height * 3))


def test_the_identity_is_the_documented_hash() -> None:
    """The same bytes in another shape are another picture; the same pixels give the same file, which is read."""
    written_out = "3d59e1a87bb55198689201a19ece8a61846cb937bb78db6f180e911afae5468b"
    assert written_out == hashlib.sha256(b"RGB8 2x1\n" + RED_AND_BLUE).hexdigest()
    assert pixels_sha256(2, 1, RED_AND_BLUE) == written_out != pixels_sha256(1, 2, RED_AND_BLUE)
    assert encode_png(2, 1, RED_AND_BLUE) == encode_png(2, 1, bytearray(RED_AND_BLUE))
    assert decode_png(GOOD) == (2, 1, RED_AND_BLUE)


@settings(max_examples=50)
@given(pictures())
def test_what_was_written_is_read_back_by_us_and_by_pillow(picture: tuple[int, int, bytes]) -> None:
    width, height, pixels = picture
    data = encode_png(*picture)
    assert decode_png(data) == picture
    with Pillow.open(io.BytesIO(data)) as image:
        assert (image.mode, image.size, image.tobytes(), image.info["srgb"]) == ("RGB", (width, height), pixels, 0)


@given(pictures(), st.data())
def test_one_changed_byte_is_always_found(picture: tuple[int, int, bytes], data: st.DataObject) -> None:
    file = bytearray(encode_png(*picture))
    file[data.draw(st.integers(0, len(file) - 1))] ^= data.draw(st.integers(1, 255))
    refused(PictureDamaged, decode_png, bytes(file))


def _png(*chunks: tuple[bytes, bytes]) -> bytes:
    parts = [(struct.pack(">I", len(body)), kind + body, zlib.crc32(kind + body)) for kind, body in chunks]
    return b"\x89PNG\r\n\x1a\n" + b"".join(size + part + struct.pack(">I", crc) for size, part, crc in parts)


HEADER = (b"IHDR", struct.pack(">IIBBBBB", 2, 1, 8, 2, 0, 0, 0))


SRGB, END = (b"sRGB", b"\x00"), (b"IEND", b"")


PIXELS = (b"IDAT", zlib.compress(b"\x00" + RED_AND_BLUE))


GOOD = _png(HEADER, SRGB, PIXELS, END)


@cases(
    "data reason",
    (b"", "nothing"),
    (GOOD[:8], "the signature alone"),
    (GOOD[:-1], "the last byte is missing"),
    (GOOD + b"PK\x03\x04", "something follows the end"),
    (_png(HEADER, PIXELS, END), "no sRGB chunk"),
    (_png(HEADER, SRGB, (b"tEXt", b"a\x00b"), PIXELS, END), "an additional chunk"),
    (_png(HEADER, SRGB, PIXELS, PIXELS, END), "two IDAT chunks"),
    (_png(SRGB, HEADER, PIXELS, END), "another order"),
    (_png((b"IHDR", HEADER[1][:-1] + b"\x01"), SRGB, PIXELS, END), "interlaced"),
    (_png((b"IHDR", struct.pack(">IIBBBBB", 2, 1, 16, 2, 0, 0, 0)), SRGB, PIXELS, END), "16 bits"),
    (_png((b"IHDR", struct.pack(">IIBBBBB", 10**6, 1, 8, 2, 0, 0, 0)), SRGB, PIXELS, END), "too wide"),
    (_png((b"IHDR", HEADER[1] + b"\x00"), SRGB, PIXELS, END), "a longer header"),
    (_png(HEADER, (b"sRGB", b"\x01"), PIXELS, END), "another intent"),
    (_png(HEADER, SRGB, (b"IDAT", b"not deflate"), END), "pixels that are not packed"),
    (_png(HEADER, SRGB, (b"IDAT", zlib.compress(bytes(6))), END), "too few pixels"),
    (_png(HEADER, SRGB, (b"IDAT", zlib.compress(bytes(10**7))), END), "far more pixels than the size says"),
    (_png(HEADER, SRGB, (b"IDAT", PIXELS[1] + b"x"), END), "bytes behind the packed pixels"),
    (_png(HEADER, SRGB, (b"IDAT", PIXELS[1][:-4]), END), "packed pixels without their checksum"),
    (_png(HEADER, SRGB, (b"IDAT", zlib.compress(b"\x01" + RED_AND_BLUE)), END), "a filtered row"),
)
def test_any_other_form_is_refused(data: bytes, reason: str) -> None:
    refused(PictureDamaged, decode_png, data)


@pytest.mark.parametrize(
    ("width", "height", "length", "reason"),
    [(0, 1, 0, "no width"), (2, 1, 5, "a byte short"), (2, 1, 7, "a byte long"), (4097, 1, 3 * 4097, "too wide")],
)
def test_only_whole_pictures_are_written_or_named(width: int, height: int, length: int, reason: str) -> None:
    for make in (encode_png, pixels_sha256):
        assert "not the RGB pixels" in str(refused(ValueError, make, width, height, bytes(length)))


def test_it_needs_nothing_but_the_standard_library() -> None:
    """The verifier of a release reads pictures on a machine with nothing installed."""
    program = "import sys, picture_files.png; sys.exit(any(name in sys.modules for name in ('django', 'PIL', 'numpy')))"
    subprocess.run([sys.executable, "-S", "-c", program], cwd=Path(__file__).parents[2], check=True)


def _token(url: str) -> str:
    return url.removeprefix("/pictures/").removesuffix(".png")


PNG = encode_png(16, 16, bytes(range(256)) * 3)


@pytest.fixture
def image(now: datetime) -> Image:
    """A picture with its file in the store."""
    credit: dict[str, Any] = {"origin": Origin.DATASET, "source": "test", "licence": "CC0"}
    return image_add(read_attack(PNG, size=16), now=now, label_from=None, **credit)[0]


def test_the_picture_is_served_fenced_in(client: Client, image: Image) -> None:
    """To whoever has the address: it was given to who may see the picture, and it ends."""
    address = picture_url(image, now=timezone.now())
    response = client.get(address)
    assert response.content == PNG == picture_store().get(picture_key(image.pixels_sha256))
    expected = {
        "Content-Type": "image/png",
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "private, max-age=3600, immutable",
        "Content-Disposition": 'inline; filename="picture.png"',
        "Content-Length": str(len(PNG)),
    }
    assert {name: response.headers.get(name) for name in expected} == expected
    assert "ETag" not in response.headers and "Last-Modified" not in response.headers
    head = client.head(address)
    assert (head.status_code, head.content, head["Content-Length"]) == (200, b"", str(len(PNG)))
    others = (client.post, client.put, client.delete, client.options)
    assert [method(address).status_code for method in others] == [405] * 4


def test_serving_asks_the_database_nothing_and_sets_no_cookie(
    image: Image, tara: Tasker, signed_in: Callable[[Any], Client], django_assert_num_queries: Any
) -> None:
    client, url = signed_in(tara), picture_url(image, now=timezone.now())
    with django_assert_num_queries(0):
        response = client.get(url)
    assert (response.status_code, response.cookies, "Cookie" in response.get("Vary", "")) == (200, {}, False)


@cases(
    "age status reason",
    (timedelta(0), 200, "fresh"),
    (timedelta(minutes=59), 200, "within the hour"),
    (timedelta(minutes=61), 404, "over an hour old"),
    (timedelta(days=400), 404, "very old"),
    (timedelta(seconds=-50), 200, "from a server whose clock is fast"),
    (timedelta(minutes=-5), 404, "from the future"),
)
def test_an_address_ends_after_an_hour(client: Client, image: Image, age: timedelta, status: int, reason: str) -> None:
    assert client.get(picture_url(image, now=timezone.now() - age)).status_code == status


def test_the_lifetime_is_counted_with_the_clock_it_is_given_and_a_new_key_ends_nothing(
    image: Image, settings: Any, now: datetime
) -> None:
    token = _token(picture_url(image, now=now))
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "a new key", [settings.SECRET_KEY]
    assert pixels_hash_of(token, now=now + timedelta(minutes=60)) == image.pixels_sha256
    assert pixels_hash_of(token, now=now + timedelta(minutes=60, seconds=1)) is None


def test_forged_addresses_show_nothing(client: Client, image: Image, settings: Any) -> None:
    good = _token(picture_url(image, now=timezone.now()))
    changed = ("B" if good[60] == "A" else "A").join((good[:60], good[61:]))
    settings.SECRET_KEY = "another server's key"
    foreign = _token(picture_url(image, now=timezone.now()))
    settings.SECRET_KEY = "this server's key"
    for forged in (changed, good[:-4], good + "AAAA", image.pixels_sha256, image.public_id, "x", "%00", "ä", foreign):
        response = client.get(f"/pictures/{forged}.png")
        assert (response.status_code, response.content) == (404, b""), forged
        assert response["Cache-Control"] == "no-store"
        assert response["Content-Security-Policy"] == "default-src 'none'; sandbox"


def test_an_address_tells_nothing(image: Image, now: datetime) -> None:
    """Two addresses of one picture differ, and are as long as any."""
    addresses = {picture_url(image, now=now) for _ in range(20)}
    other = picture_url(image_row(origin="gold"), now=now)
    assert len(addresses) == 20 and {len(address) for address in addresses} == {len(other)}
    raw = base64.urlsafe_b64decode(_token(url := addresses.pop()))
    secrets = (image.pixels_sha256, image.public_id, image.original_sha256)
    assert [each for each in secrets if each in url or each.encode() in raw] == []
    assert bytes.fromhex(image.pixels_sha256)[:8] not in raw


def test_a_file_missing_from_the_store_is_a_plain_404(client: Client) -> None:
    response = client.get(picture_url(image_row(), now=timezone.now()))
    assert (response.status_code, response.content) == (404, b"")
