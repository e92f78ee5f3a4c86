"""Adds pictures: the file to the store first, then the row (R2, R3)."""

import hashlib
from datetime import datetime

from common.errors import InvalidInput
from labeling.enums import Origin
from labeling.models import Image
from picture_files.decoding import CanonicalPicture, read_dataset
from picture_files.png import encode_png
from picture_files.store import original_key, picture_key, picture_store
from picture_files.store_transactions import storing_files

MAX_PROVENANCE_CHARACTERS = 200
_REQUIRED = ("source", "licence")


def image_add(
    picture: CanonicalPicture,
    *,
    origin: Origin,
    source: str,
    source_id: str = "",
    licence: str,
    author: str = "",
    now: datetime,
    label_from: datetime | None,
) -> tuple[Image, bool]:
    """Record a picture; returns its row and whether it is new. The same pixels are one image for ever (R2).

    Files are written before the row, so that a row never names a missing file; a file without a row after a crash is
    reused by its key, or removed (`contest.operations.unused_files`). `label_from` is when a panel may be
    dealt, None for never. Raises InvalidInput without a source or a licence.
    """
    provenance = checked_provenance(source=source, source_id=source_id, licence=licence, author=author)
    with storing_files():
        picture_put(picture)
        return Image.objects.get_or_create(
            pixels_sha256=picture.pixels_sha256,
            defaults={
                "original_sha256": picture.original_sha256,
                "original_format": picture.original_format,
                "width": picture.width,
                "height": picture.height,
                "origin": origin.value,
                **provenance,
                "received_at": now,
                "label_from": label_from,
            },
        )


def picture_put(picture: CanonicalPicture) -> None:
    """Put the files of a picture into the store; callers do this before a large transaction, to keep that short."""
    store = picture_store()
    store.put(original_key(picture.original_sha256), picture.original)
    key = picture_key(picture.pixels_sha256)
    if not store.exists(key):
        store.put(key, encode_png(picture.width, picture.height, picture.pixels))


def import_picture(
    data: bytes,
    *,
    size: int,
    origin: Origin,
    source: str,
    source_id: str = "",
    licence: str,
    author: str = "",
    now: datetime,
    label_from: datetime | None,
) -> tuple[Image, bool, tuple[str, ...]]:
    """Import one photograph; returns its row, whether it is new, and warnings about the file.

    A file that was imported before is recognized by its bytes and is not decoded again. Raises InvalidInput
    (PictureRefused for the picture itself).
    """
    known = known_original(hashlib.sha256(data).hexdigest(), size=size)
    if known is not None:
        return known, False, ()
    provenance = checked_provenance(source=source, source_id=source_id, licence=licence, author=author)
    picture = read_dataset(data, size=size)
    image, new = image_add(picture, origin=origin, **provenance, now=now, label_from=label_from)
    return image, new, picture.warnings


def known_original(original_sha256: str, *, size: int) -> Image | None:
    """Return the image that was made from these bytes at this size, if there is one."""
    return Image.objects.filter(original_sha256=original_sha256, width=size, height=size).first()


def checked_provenance(**provenance: str) -> dict[str, str]:
    """Return the values trimmed; every picture says where it came from and under which licence (R3)."""
    trimmed = {field: value.strip() for field, value in provenance.items()}
    for field, value in trimmed.items():
        if field in _REQUIRED and not value:
            raise InvalidInput(f"Give the {field} of the picture.", "no_provenance", field=field)
        if len(value) > MAX_PROVENANCE_CHARACTERS or not value.isprintable():
            raise InvalidInput(
                f"The {field} must be one line of at most {MAX_PROVENANCE_CHARACTERS} characters.",
                "bad_provenance",
                field=field,
            )
    return trimmed
