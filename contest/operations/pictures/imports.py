"""Imports photographs that an organizer uploads on a page (R2, R3)."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.urls import reverse

from common.audit.trail import audit
from common.errors import DomainError
from contest.attacks.services import one_line
from contest.attacks.uploads import UploadedFile
from labeling.enums import Origin
from labeling.models import Image
from labeling.pictures.intake import checked_provenance, image_add, known_original, picture_put
from picture_files.decoding import CanonicalPicture, read_dataset
from picture_files.store_transactions import storing_files


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of one file: its picture, new or known, or why it was refused."""

    name: str
    image: Image | None = None
    new: bool = False
    warnings: tuple[str, ...] = ()
    refused: DomainError | None = None


@dataclass(frozen=True, slots=True)
class ImportTerms:
    """Source and licence of all pictures of an import. `labeled` says whether taskers shall label them."""

    source: str
    licence: str
    author: str
    origin: Origin
    labeled: bool


def pictures_import(
    files: Iterable[UploadedFile], terms: ImportTerms, *, size: int, by: User, now: datetime
) -> list[Imported]:
    """Import files and return the result of each, in order; a picture imported before is known and changes nothing.

    All are decoded and their files put first; the rows of the new ones and the row of the audit trail that names them
    are then committed together.
    Raises InvalidInput (`no_provenance`, `bad_provenance`).
    """
    provenance = checked_provenance(source=terms.source, licence=terms.licence, author=terms.author)
    read = [(file, _read(file, size)) for file in files]
    for _, picture in read:
        if isinstance(picture, CanonicalPicture):
            picture_put(picture)
    # In one order for all who import at once, so that no two wait for each other.
    order = sorted(range(len(read)), key=lambda at: getattr(read[at][1], "pixels_sha256", ""))
    with storing_files():
        added = {at: _add(*read[at], terms, provenance, now) for at in order}
        found = [added[at] for at in range(len(read))]
        if new := [each.image.public_id for each in found if each.image and each.new]:
            facts = {"origin": terms.origin.value, "source": provenance["source"], "labeled": terms.labeled}
            audit("picture.import", by=by, subject={"image": new}, now=now, private=facts)
    return found


def _read(file: UploadedFile, size: int) -> CanonicalPicture | Image | DomainError:
    if file.refused is not None:
        return file.refused
    known = known_original(hashlib.sha256(file.data).hexdigest(), size=size)
    if known is not None:
        return known
    try:
        return read_dataset(file.data, size=size)
    except DomainError as error:
        return error


def _add(
    file: UploadedFile,
    picture: CanonicalPicture | Image | DomainError,
    terms: ImportTerms,
    provenance: dict[str, str],
    now: datetime,
) -> Imported:
    if isinstance(picture, DomainError):
        return Imported(file.name, refused=picture)
    if isinstance(picture, Image):
        return Imported(file.name, picture)
    image, new = image_add(
        picture,
        **provenance,
        origin=terms.origin,
        source_id=one_line(file.name),
        now=now,
        label_from=now if terms.labeled else None,
    )
    return Imported(file.name, image, new, picture.warnings)


def imported_json(each: Imported) -> dict[str, Any]:
    """Return the result of one file as JSON, for the page's script."""
    if each.refused is not None:
        return {"name": each.name, "refused": {"code": each.refused.code, "detail": each.refused.message}}
    assert each.image is not None, "what was not refused is a picture"
    return {
        "name": each.name,
        "picture": {
            "id": each.image.public_id,
            "url": reverse("picture-record", args=[each.image.public_id]),
            "new": each.new,
            "warnings": list(each.warnings),
        },
    }
