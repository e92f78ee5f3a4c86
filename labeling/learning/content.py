"""Imports known pictures from a folder: the shipped ones, or an organizer's own (R5).

The folder holds `known.json`, a list of pictures with their right answers and reasons, and the files it names.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from django.db import transaction

from common.errors import InvalidInput
from labeling.enums import RELEASED_ORIGINS, Answer, KnownUse, Origin, Topic
from labeling.models import Image, KnownPicture
from labeling.outlines import read_outline
from labeling.pictures.intake import import_picture
from picture_files.image_headers import inspect
from policy.numbers import Policy

PICTURES = Path(__file__).parent / "pictures"
_SAID = (
    *("use", "topic", "position", "accepts_bird", "accepts_bicycle", "min_iou_percent"),
    *("complete", "unoccluded", "real", "reasons"),
)
_PROVENANCE = ("source", "licence", "author")
_FIELDS = frozenset({*_SAID, *_PROVENANCE, "file", "outline"})
_LISTS: dict[str, frozenset[str]] = {
    "use": frozenset({KnownUse.TUTORIAL, KnownUse.QUALIFICATION}),
    "topic": frozenset(Topic),
    "accepts_bird": frozenset(Answer),
    "accepts_bicycle": frozenset(Answer),
}


@transaction.atomic
def known_pictures_load(*, policy: Policy, now: datetime, folder: Path = PICTURES) -> int:
    """Import the folder's pictures with their right answers; returns how many are new.

    Another run adds nothing and updates the answers and reasons. The pictures are never labeled (R8). InvalidInput
    names the picture that is wrong, or that taskers label or may come to label, and nothing is imported.
    """
    return sum(_load(row, folder, policy, now) for row in listed_pictures(folder))


def listed_pictures(folder: Path = PICTURES) -> list[Mapping[str, Any]]:
    """Return the folder's entries, one for each picture; InvalidInput when they cannot be read."""
    try:
        found = json.loads((folder / "known.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{folder / 'known.json'} cannot be read: {error}.", "bad_list") from error
    if not isinstance(found, list):
        raise InvalidInput(f"{folder / 'known.json'} is not a list of pictures.", "bad_list")
    return [_checked(row) for row in found]


def _checked(row: Any) -> Mapping[str, Any]:
    if not isinstance(row, dict) or set(row) != _FIELDS:
        name = row.get("file", "a picture") if isinstance(row, dict) else "a picture"
        raise InvalidInput(f"{name}: give exactly {', '.join(sorted(_FIELDS))}.", "bad_row")
    for field, allowed in _LISTS.items():
        said = row[field] if isinstance(row[field], list) else [row[field]]
        if not said or not set(said) <= allowed:
            raise InvalidInput(
                f"{row['file']}: {field} is one of {', '.join(sorted(allowed))}.", "bad_row", field=field
            )
    return row


def _load(row: Mapping[str, Any], folder: Path, policy: Policy, now: datetime) -> bool:
    image = _image(row, folder, policy.image_size, now)
    said = {name: row[name] for name in _SAID}
    said["outline"] = (
        read_outline(row["outline"], width=image.width, height=image.height).json if row["outline"] else ""
    )
    _, new = KnownPicture.objects.update_or_create(
        image=image, defaults=said, create_defaults={**said, "created_at": now}
    )
    return new


def _image(row: Mapping[str, Any], folder: Path, size: int, now: datetime) -> Image:
    """Import one file. It is never resized, because its outline is in its own pixels."""
    try:
        data = (folder / row["file"]).read_bytes()
    except OSError as error:
        raise InvalidInput(f"{row['file']} cannot be read: {error.strerror}.", "unreadable") from error
    container = inspect(data)
    if (container.width, container.height) != (size, size):
        raise InvalidInput(
            f"{row['file']} is {container.width} x {container.height}; pictures of this contest are {size} x {size}: "
            "make it again in that size.",
            "wrong_size",
        )
    provenance = {name: row[name] for name in _PROVENANCE}
    image, _, _ = import_picture(
        data, size=size, origin=Origin.EXAMPLE, source_id=row["file"], now=now, label_from=None, **provenance
    )
    # Also where no label is due as yet: an attack with these pixels would make it due.
    if image.label_from or image.dealt_at or image.origin in RELEASED_ORIGINS:
        raise InvalidInput(
            f"{row['file']} is the same picture as {image.public_id}, which taskers label or may come to label: they "
            "would learn its right answers. Leave it out, or take another one.",
            "labeled_picture",
        )
    return image
