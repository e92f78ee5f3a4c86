"""Pictures as arrays, decoded once."""

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from labeling.png import encode_png
from labeling.store import PictureMissing, picture_key, picture_store
from scoring import arrays
from tests.scoring import cast

pytestmark = pytest.mark.django_db


class Disk(NamedTuple):
    total: int
    used: int
    free: int


def pictures(count: int) -> Any:
    return np.random.default_rng(3).integers(0, 256, (count, 20, 20, 3), dtype=np.uint8)


def files(folder: Path) -> list[Path]:
    return [path for path in Path(folder).rglob("*") if path.is_file()]


def test_arrays_are_the_pixels_in_the_order_asked_for(settings: Any) -> None:
    drawn = pictures(3)
    shas = [cast.stored(picture).pixels_sha256 for picture in drawn]
    assert (arrays.load_arrays(shas[::-1], 20) == drawn[::-1]).all()
    assert sorted(path.stat().st_size for path in files(settings.ARRAY_CACHE_DIR)) == [1200] * 3


def test_a_picture_is_decoded_once(settings: Any, tmp_path: Path) -> None:
    (drawn,) = pictures(1)
    sha = cast.stored(drawn).pixels_sha256
    arrays.load_arrays([sha], 20)
    settings.IMAGE_STORE_URL = f"file://{tmp_path / 'an-empty-store'}"
    assert (arrays.load_arrays([sha], 20)[0] == drawn).all()


@pytest.mark.parametrize("damage", [b"", b"\0" * 1199, b"\0" * 1201, b"\0" * 1200])
def test_a_cache_file_that_is_not_the_picture_is_made_again(
    settings: Any, damage: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    (drawn,) = pictures(1)
    sha = cast.stored(drawn).pixels_sha256
    arrays.load_arrays([sha], 20)
    (file,) = files(settings.ARRAY_CACHE_DIR)
    monkeypatch.setattr(arrays, "_compared", set())  # another process, after a power cut
    file.write_bytes(damage)
    assert (arrays.load_arrays([sha], 20)[0] == drawn).all()
    assert file.stat().st_size == 1200


def nothing(sha: str, folder: Path) -> None:
    """Take the picture out of the store."""
    next((folder / "pictures").rglob("*.png")).unlink()


def damage(sha: str, folder: Path) -> None:
    (stored,) = (folder / "pictures").rglob("*.png")
    whole = bytearray(stored.read_bytes())
    whole[-20] ^= 1
    stored.write_bytes(whole)


def other_pixels(sha: str, folder: Path) -> None:
    nothing(sha, folder)
    picture_store().put(picture_key(sha), encode_png(20, 20, pictures(2)[1].tobytes()))


@pytest.mark.parametrize(
    ("change", "size", "error", "words"),
    [
        (nothing, 20, PictureMissing, "."),
        (damage, 20, arrays.WrongPicture, "damaged"),
        (other_pixels, 20, arrays.WrongPicture, "other pixels"),
        (lambda *_: None, 30, arrays.WrongPicture, "20 x 20 in the store, not 30 x 30"),
    ],
    ids=["not in the store", "damaged", "other pixels under its name", "of another size"],
)
def test_what_is_not_the_picture_is_an_error(
    change: Any, size: int, error: type[Exception], words: str, tmp_path: Path
) -> None:
    sha = cast.stored(pictures(1)[0]).pixels_sha256
    change(sha, tmp_path)
    with pytest.raises(error, match=words):
        arrays.load_arrays([sha], size)


def test_a_full_disk_costs_only_time_and_leaves_no_half_file(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (drawn,) = pictures(1)
    sha = cast.stored(drawn).pixels_sha256

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    assert (arrays.load_arrays([sha], 20)[0] == drawn).all()
    assert files(settings.ARRAY_CACHE_DIR) == []
    settings.ARRAY_CACHE_DIR = settings.ARRAY_CACHE_DIR.with_name("never-made")
    assert arrays.make_room(1 << 60) == 0, "there is always room without a cache"


@pytest.mark.parametrize(
    ("free", "left", "why"),
    [
        (10_000, [1, 2, 3], "there is room"),
        (9_999, [], "all of it is less than what is missing"),
        (8_000, [], "as long as there is anything"),
    ],
)
def test_the_cache_gives_way_where_the_disk_is_short(
    free: int, left: list[int], why: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cached_in_order(settings)
    monkeypatch.setattr(arrays.shutil, "disk_usage", lambda _: Disk(10**9, 10**9 - free, free))
    assert arrays.make_room(10_000) == 3 - len(left)
    assert len(files(settings.ARRAY_CACHE_DIR)) == len(left), why


def test_what_was_cached_longest_ago_goes_first(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    oldest, *others = cached_in_order(settings)
    monkeypatch.setattr(arrays.shutil, "disk_usage", lambda _: Disk(10**9, 0, 599))
    assert arrays.make_room(600) == 1
    assert sorted(files(settings.ARRAY_CACHE_DIR)) == sorted(others) and oldest not in others


def cached_in_order(settings: Any) -> list[Path]:
    """Three cached pictures of 1,200 bytes, the oldest first."""
    cached = []
    for age, picture in zip((300, 200, 100), pictures(3), strict=True):
        arrays.load_arrays([cast.stored(picture).pixels_sha256], 20)
        (new,) = set(files(settings.ARRAY_CACHE_DIR)) - set(cached)
        os.utime(new, (1_000_000 - age, 1_000_000 - age))
        cached.append(new)
    return cached
