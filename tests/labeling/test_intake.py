"""Taking pictures in: the same pixels are one image for ever, and a row never names a missing file (R2, R3)."""

import io
from datetime import datetime
from functools import partial
from typing import Any

import pytest
from PIL import Image as Pillow

from common.errors import InvalidInput
from labeling.enums import Origin
from labeling.images import Picture, read_attack, read_dataset
from labeling.intake import image_add, import_picture
from labeling.models import Image
from labeling.png import decode_png
from labeling.store import FolderStore, original_key, picture_key, picture_store
from tests.labeling.cast import at_once

SIZE = 16


def _file(form: str = "PNG", colour: str = "teal", size: tuple[int, int] = (SIZE, SIZE), **options: Any) -> bytes:
    buffer = io.BytesIO()
    Pillow.new("RGB", size, colour).save(buffer, form, **options)
    return buffer.getvalue()


def _add(picture: Picture, now: datetime, **changes: Any) -> tuple[Image, bool]:
    credit = {"source": "Open Images", "source_id": "7", "licence": "CC BY 2.0", "author": "A. B."}
    return image_add(picture, now=now, **({"origin": Origin.DATASET, "label_from": now} | credit | changes))


def _import(data: bytes, now: datetime, **changes: Any) -> tuple[Image, bool, tuple[str, ...]]:
    values = {"size": SIZE, "origin": Origin.DATASET, "source": "here", "licence": "CC0", "label_from": now}
    return import_picture(data, now=now, **(values | changes))


@pytest.mark.django_db
def test_a_new_picture_has_its_row_and_both_files(now: datetime) -> None:
    data, store = _file("JPEG"), picture_store()
    picture = read_attack(data, size=SIZE)
    assert _add(picture, now)[1]
    image = Image.objects.get()
    credit = (image.origin, image.source, image.source_id, image.licence, image.author)
    assert credit == ("dataset", "Open Images", "7", "CC BY 2.0", "A. B.")
    assert (image.width, image.height, image.original_format) == (SIZE, SIZE, "JPEG")
    assert (image.received_at, image.label_from, image.dealt_at) == (now, now, None)
    assert decode_png(store.get(picture_key(image.pixels_sha256))) == (SIZE, SIZE, picture.pixels)
    assert store.get(original_key(image.original_sha256)) == data


@pytest.mark.django_db
def test_the_same_pixels_are_the_same_image_whatever_the_file(now: datetime) -> None:
    first, _ = _add(read_attack(_file(), size=SIZE), now)
    other_file = _file("WEBP", lossless=True)
    again, new = _add(read_attack(other_file, size=SIZE), now, origin=Origin.ATTACK, source="elsewhere")
    assert (again.pk, new) == (first.pk, False)
    assert (again.origin, again.source) == ("dataset", "Open Images")
    assert Image.objects.count() == 1
    assert picture_store().exists(original_key(read_dataset(other_file, size=SIZE).original_sha256))


WITHOUT_PROVENANCE = [
    ({"source": ""}, "no_provenance", "source", "no source"),
    ({"source": "  "}, "no_provenance", "source", "a blank source"),
    ({"licence": ""}, "no_provenance", "licence", "no licence"),
    ({"licence": "x" * 201}, "bad_provenance", "licence", "a licence too long"),
    ({"author": "A\0B"}, "bad_provenance", "author", "a zero byte, which PostgreSQL refuses"),
    ({"source_id": "1\n2"}, "bad_provenance", "source_id", "two lines"),
]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("changes", "code", "field", "reason"), WITHOUT_PROVENANCE, ids=[row[-1] for row in WITHOUT_PROVENANCE]
)
def test_provenance_is_required(now: datetime, changes: dict[str, str], code: str, field: str, reason: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        _import(_file(), now, **changes)
    assert (refusal.value.code, refusal.value.field) == (code, field)
    assert not Image.objects.exists()
    assert not picture_store().exists(picture_key(read_attack(_file(), size=SIZE).pixels_sha256))


@pytest.mark.django_db
def test_a_known_file_is_not_decoded_again(now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    first, new, _ = _import(_file(), now)
    assert new

    def _decoded(*args: Any, **options: Any) -> Picture:
        raise AssertionError("decoded a known file")

    monkeypatch.setattr("labeling.intake.read_dataset", _decoded)
    again, new, _ = _import(_file(), now)
    assert (again.pk, new) == (first.pk, False)


@pytest.mark.django_db
def test_the_same_file_at_another_size_is_another_picture(now: datetime) -> None:
    data = _file(size=(40, 40))
    small, _, _ = _import(data, now)
    large, new, _ = _import(data, now, size=32)
    assert new
    assert (small.width, large.width) == (16, 32)


@pytest.mark.django_db
def test_a_full_disk_leaves_no_row(now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    def _disk_full(*args: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(FolderStore, "put", _disk_full)
        with pytest.raises(OSError, match="No space"):
            _import(_file(), now)
    assert not Image.objects.exists()
    assert _import(_file(), now)[1]


@pytest.mark.postgres("eight importers at once, and a unique constraint")
@pytest.mark.django_db(transaction=True)
def test_two_importers_of_one_picture_make_one_row(now: datetime) -> None:
    added = at_once(*[partial(_add, read_attack(_file(), size=SIZE), now)] * 8)
    assert {image for image, _ in added} == {Image.objects.get()}
    assert sorted(new for _, new in added) == [False] * 7 + [True]
