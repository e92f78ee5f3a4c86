"""Reads the labelled pictures that the fixed attacks change, in a fixed order."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from defense_kit.frames import CLASSES
from defense_kit.warmup.attacks import SIDE, AttackedPicture, as_floats

SUFFIXES = {".png", ".jpg", ".jpeg"}
BOUNDARY_PICTURES = 50  # of each class


class UnusablePictures(Exception):
    """A folder of pictures that cannot be used; the message says what to change."""


@dataclass(frozen=True, slots=True)
class LabelledPicture:
    """A picture with the name of its file."""

    name: str
    picture: AttackedPicture

    @property
    def of_class(self) -> str:
        """Return the name of its class."""
        return CLASSES[self.picture.is_bird]

    @property
    def boundary_rank(self) -> bytes:
        """Return what the pictures of the boundary attack are chosen by, ascending."""
        return hashlib.sha256(b"unanimous-warmup-boundary-1" + self.picture.sha256).digest()


def read_pictures(folder: Path, limit: int | None = None) -> list[LabelledPicture]:
    """Return the pictures of `folder/bird` and `folder/bicycle`, ascending by the SHA-256 of their pixels.

    Each is a square photograph of 224 pixels at least, shrunk to 224. With `limit`, so many with the smallest SHA-256,
    half of each class. UnusablePictures for a folder without either class, or a file that is no such picture.
    """
    found = [each for name in CLASSES for each in _read(folder, name)]
    if missing := [name for name in CLASSES if all(each.of_class != name for each in found)]:
        raise UnusablePictures(f"{folder} needs PNG or JPEG files in bird and in bicycle: none is in {missing[0]}")
    _refuse_repeated(found)
    return in_order(found, limit)


def in_order(pictures: Sequence[LabelledPicture], limit: int | None = None) -> list[LabelledPicture]:
    """Return pictures ascending by SHA-256; with `limit`, so many of them, half of each class."""
    ordered = sorted(pictures, key=lambda each: each.picture.sha256)
    if limit is None:
        return ordered
    of_class = {name: [each for each in ordered if each.of_class == name] for name in CLASSES}
    few = {each.name for at, found in enumerate(of_class.values()) for each in found[: max(1, (limit + at) // 2)]}
    return [each for each in ordered if each.name in few]


def boundary_pictures(pictures: Sequence[LabelledPicture]) -> list[LabelledPicture]:
    """Return those that the boundary attack takes, in their order: BOUNDARY_PICTURES of each class, by a hash of their
    own."""
    of_class = {name: [each for each in pictures if each.of_class == name] for name in CLASSES}
    ranked = (sorted(found, key=lambda each: each.boundary_rank) for found in of_class.values())
    chosen = {each.name for found in ranked for each in found[:BOUNDARY_PICTURES]}
    return [each for each in pictures if each.name in chosen]


def _refuse_repeated(pictures: Sequence[LabelledPicture]) -> None:
    """UnusablePictures where two files have the same pixels: they would count twice, or for both classes."""
    names: dict[bytes, str] = {}
    for each in pictures:
        other = names.setdefault(each.picture.sha256, each.name)
        if other != each.name:
            raise UnusablePictures(f"{other} and {each.name} are the same picture: remove one of them")


def _read(folder: Path, name: str) -> Iterator[LabelledPicture]:
    for path in sorted((folder / name).glob("*")):
        if path.suffix.lower() not in SUFFIXES:
            continue
        try:
            with Image.open(path) as opened:
                found = opened.convert("RGB")
        except (OSError, ValueError, Image.DecompressionBombError) as error:
            raise UnusablePictures(f"could not read {path} as a picture: {error}") from None
        if found.width != found.height or found.width < SIDE:
            raise UnusablePictures(f"{path} is {found.width} x {found.height}: a picture is square, {SIDE} at least")
        yield LabelledPicture(f"{name}/{path.name}", attacked_picture(found, is_bird=name == "bird"))


def attacked_picture(photograph: Image.Image, *, is_bird: bool) -> AttackedPicture:
    """Return an RGB photograph shrunk to 224 x 224, named by the pixels that it has now (R2)."""
    identity = hashlib.sha256(f"RGB8 {photograph.width}x{photograph.height}\n".encode("ascii"))
    identity.update(photograph.tobytes())
    shrunk = photograph.resize((SIDE, SIDE), Image.Resampling.BILINEAR)
    return AttackedPicture(np.asarray(shrunk), is_bird, identity.digest())


def set_sha256(pictures: Sequence[LabelledPicture]) -> str:
    """Return the SHA-256 of all float32 pictures in their order: what the figures were measured on."""
    digest = hashlib.sha256()
    for each in pictures:
        digest.update(as_floats(each.picture.pixels).tobytes())
    return digest.hexdigest()
