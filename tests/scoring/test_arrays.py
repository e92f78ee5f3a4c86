"""Pictures as arrays, decoded once."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labeling.png import encode_png
from labeling.store import PictureMissing, picture_key, picture_store
from scoring import arrays
from tests.scoring import cast

pytestmark = pytest.mark.django_db


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


def test_a_picture_that_is_not_in_the_store_is_an_error() -> None:
    with pytest.raises(PictureMissing):
        arrays.load_arrays(["0" * 64], 20)


def test_a_damaged_picture_in_the_store_is_an_error(settings: Any, tmp_path: Path) -> None:
    sha = cast.stored(pictures(1)[0]).pixels_sha256
    (stored,) = (tmp_path / "pictures").rglob("*.png")
    whole = bytearray(stored.read_bytes())
    whole[-20] ^= 1
    stored.write_bytes(whole)
    with pytest.raises(arrays.WrongPicture, match="damaged"):
        arrays.load_arrays([sha], 20)


def test_a_full_cache_costs_only_time(settings: Any, tmp_path: Path) -> None:
    (drawn,) = pictures(1)
    sha = cast.stored(drawn).pixels_sha256
    settings.ARRAY_CACHE_DIR = tmp_path / "not-a-folder"
    settings.ARRAY_CACHE_DIR.write_text("where the cache should be")
    assert (arrays.load_arrays([sha], 20)[0] == drawn).all()


def test_a_picture_of_another_size_is_an_error() -> None:
    sha = cast.stored(pictures(1)[0]).pixels_sha256
    with pytest.raises(arrays.WrongPicture, match="20 x 20 in the store, not 30 x 30"):
        arrays.load_arrays([sha], 30)


def test_other_pixels_under_the_name_of_a_picture_are_an_error() -> None:
    picture_store().put(picture_key("1" * 64), encode_png(20, 20, pictures(1)[0].tobytes()))
    with pytest.raises(arrays.WrongPicture, match="other pixels"):
        arrays.load_arrays(["1" * 64], 20)


def test_a_full_disk_costs_only_time_and_leaves_no_half_file(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (drawn,) = pictures(1)
    sha = cast.stored(drawn).pixels_sha256

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    assert (arrays.load_arrays([sha], 20)[0] == drawn).all()
    assert files(settings.ARRAY_CACHE_DIR) == []
