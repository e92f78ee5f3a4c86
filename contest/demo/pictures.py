"""The demo's photographs, and the answers that its taskers give about them."""

import io
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from PIL import Image as PillowImage
from PIL import ImageOps

from labeling.pictures.manifest import ManifestEntry, Provenance, manifest_entries

FOLDER = Path(__file__).parent
# Photographs that come in again, mirrored: careful taskers give equal answers, so careless ones stand out.
_MIRRORED = ("bird-001.jpg", "bird-007.jpg", "bird-017.jpg", "bird-020.jpg", "bicycle.jpg")


@dataclass(frozen=True, slots=True)
class Photo:
    """One photograph of the demo: when and by whom it comes in, and each tasker's answer about it."""

    entry: ManifestEntry
    sent_by: str | None
    this_week: bool
    opinions: list[dict[str, Any]]
    later: list[dict[str, Any]]
    settled: bool
    mirrored: bool = False

    @property
    def every_opinion(self) -> list[dict[str, Any]]:
        """Return each tasker's answer, with those of taskers who answer only when the demo's clock moves."""
        return self.opinions + self.later

    @property
    def file_name(self) -> str:
        """Return the name of the uploaded file."""
        return f"mirrored-{self.entry.path.stem}.png" if self.mirrored else self.entry.path.name

    @property
    def data(self) -> bytes:
        """Return the file's bytes."""
        data = self.entry.path.read_bytes()
        return _mirror_file(data) if self.mirrored else data


def photos() -> list[Photo]:
    """Return the demo's photographs in the order of their manifest."""
    opinions = json.loads((FOLDER / "opinions.json").read_text())
    entries = manifest_entries(FOLDER / "photos" / "manifest.csv", Provenance())
    return [_photo(entry, opinions[entry.path.name]) for entry in entries]


def mirrored_photos(*, size: int) -> list[Photo]:
    """Return some of them mirrored, as other pictures of `size` pixels; two taskers repeat their answers about the
    original."""
    return [_mirrored(photo, size) for photo in photos() if photo.entry.path.name in _MIRRORED]


def _mirrored(photo: Photo, size: int) -> Photo:
    said = [{**each, "outline": _mirror_outline(each["outline"], size)} for each in photo.opinions[:2]]
    return replace(photo, mirrored=True, opinions=said, later=[])


def _photo(entry: ManifestEntry, row: dict[str, Any]) -> Photo:
    return Photo(
        entry, row["sent_by"], row["week"] == "this", row["panel"], row.get("later", []), row["expected"] != "open"
    )


def _mirror_outline(outline: list[list[list[float]]] | None, size: int) -> list[list[list[float]]] | None:
    """Return the corners in the mirrored picture of `size` pixels."""
    return outline and [[[round(size - x, 1), y] for x, y in ring] for ring in outline]


def _mirror_file(data: bytes) -> bytes:
    """Return a photograph mirrored, as PNG."""
    out = io.BytesIO()
    with PillowImage.open(io.BytesIO(data)) as picture:
        ImageOps.mirror(ImageOps.exif_transpose(picture).convert("RGB")).save(out, "PNG")
    return out.getvalue()
