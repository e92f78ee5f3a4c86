"""Composes pictures of 299 x 299 pixels from photographs: cut, scaled, mirrored. Part of `make`, run by hand.

Every outline goes through the same steps as the pixels it belongs to.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import shapely
from PIL import Image, ImageDraw, ImageFilter
from shapely import affinity
from shapely.geometry.base import BaseGeometry

SIZE = 299
FINE = 4  # masks are drawn this many times larger, for smooth edges
FRAME = shapely.box(0, 0, SIZE, SIZE)
ROOT = Path(__file__).parents[2]
HERE = ROOT / "labeling" / "learning" / "pictures"
PHOTOS = ROOT / "contest" / "demo" / "photos"
OUTLINES: dict[str, list[list[list[float]]]] = json.loads((HERE / "outlines.json").read_text())
# The photographs that the picture in hand was made of, for its credits.
PHOTOS_USED: set[str] = set()
Tone = tuple[float, float, float]
NEUTRAL: Tone = (1.0, 1.0, 1.0)


def photo(name: str) -> Image.Image:
    """Return a photograph of the demo, whole."""
    PHOTOS_USED.add(f"{name}.jpg")
    return Image.open(PHOTOS / f"{name}.jpg").convert("RGB")


def outline_in_photo(name: str) -> BaseGeometry:
    """Return the hand-traced outline in a photograph, in its pixels."""
    return shapely.union_all([shapely.Polygon(ring) for ring in OUTLINES[f"{name}.jpg"]])


@dataclass(frozen=True)
class PlacedPhoto:
    """A photograph on the square: its point (x, y) comes to (at), `scale` times as large, mirrored or not."""

    name: str
    origin: tuple[float, float]
    at: tuple[float, float]
    scale: float
    flip: bool = False
    tone: Tone = NEUTRAL

    def move(self, shape: BaseGeometry) -> BaseGeometry:
        """Carry a shape from the photograph to the square."""
        sign = -self.scale if self.flip else self.scale
        x, y = self.origin
        return affinity.affine_transform(
            shape, [sign, 0, 0, self.scale, self.at[0] - sign * x, self.at[1] - self.scale * y]
        )

    @property
    def outline(self) -> BaseGeometry:
        """Return the outline of what was traced in the photograph, on the square."""
        return self.move(outline_in_photo(self.name))

    def pixels(self) -> Image.Image:
        """Return the square with the photograph on it; where it does not reach, it is mirrored at its edges."""
        picture = np.asarray(photo(self.name))
        x, y = self.origin
        side = SIZE / self.scale
        left = x - (SIZE - self.at[0] if self.flip else self.at[0]) / self.scale
        top = y - self.at[1] / self.scale
        pad = int(max(0, -left, -top, left + side - picture.shape[1], top + side - picture.shape[0])) + 2
        wide = Image.fromarray(np.pad(picture, ((pad, pad), (pad, pad), (0, 0)), mode="symmetric"))
        box = (left + pad, top + pad, left + side + pad, top + side + pad)
        square = wide.resize((SIZE, SIZE), Image.Resampling.LANCZOS, box=box)
        if self.flip:
            square = square.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        return toned(square, self.tone)


def cut(name: str, x: float, y: float, side: float, *, flip: bool = False, tone: Tone = NEUTRAL) -> PlacedPhoto:
    """Return the square of a photograph that begins at (x, y); it may reach beyond the photograph."""
    at = (float(SIZE), 0.0) if flip else (0.0, 0.0)
    return PlacedPhoto(name, (x, y), at, SIZE / side, flip, tone)


def thing(
    name: str, width: float, centre: tuple[float, float], *, flip: bool = False, tone: Tone = NEUTRAL
) -> PlacedPhoto:
    """Return what was traced in a photograph, `width` pixels wide around `centre`, to be put into another one."""
    xmin, ymin, xmax, ymax = outline_in_photo(name).bounds
    return PlacedPhoto(name, ((xmin + xmax) / 2, (ymin + ymax) / 2), centre, width / (xmax - xmin), flip, tone)


def toned(picture: Image.Image, tone: Tone) -> Image.Image:
    """Return the picture in another light: a factor for red, green and blue."""
    if tone == NEUTRAL:
        return picture
    return Image.fromarray((np.asarray(picture) * np.array(tone)).clip(0, 255).astype(np.uint8))


def without_noise(picture: Image.Image) -> Image.Image:
    """Return the picture without its lowest bits, which nobody sees and no file can make smaller."""
    return Image.fromarray(np.asarray(picture) & 0xFE)


def mask_of(shape: BaseGeometry, *, soft: float = 0.5) -> Image.Image:
    """Return the shape as a mask with smooth edges."""
    mask = Image.new("L", (SIZE * FINE, SIZE * FINE), 0)
    draw = ImageDraw.Draw(mask)
    for part in polygons(shape):
        draw.polygon([(x * FINE, y * FINE) for x, y in part.exterior.coords], fill=255)
        for hole in part.interiors:
            draw.polygon([(x * FINE, y * FINE) for x, y in hole.coords], fill=0)
    return mask.resize((SIZE, SIZE), Image.Resampling.BOX).filter(ImageFilter.GaussianBlur(soft))


def polygons(shape: BaseGeometry) -> list[shapely.Polygon]:
    """Return the parts of a shape that have an area."""
    return [part for part in shapely.get_parts(shape) if isinstance(part, shapely.Polygon) and part.area > 0]


@dataclass
class PhotoCanvas:
    """The picture so far, and the ground that later things have covered."""

    pixels: Image.Image
    covered: list[BaseGeometry] = field(default_factory=list)

    def put(self, placed: PlacedPhoto) -> BaseGeometry:
        """Put a cut-out thing on top; returns its outline."""
        outline = placed.outline
        self.cover(outline, placed.pixels(), soft=0.7)
        return outline

    def cover(self, shape: BaseGeometry, pixels: Image.Image, *, soft: float = 0.5) -> None:
        """Put `pixels` on top where `shape` is."""
        # Slightly smaller than traced, so that no old background is copied.
        self.pixels = Image.composite(pixels, self.pixels, mask_of(shape.buffer(-0.6), soft=soft))
        self.covered.append(shape)

    def post(self, left: float, right: float, *, source: tuple[str, tuple[int, int, int, int]]) -> None:
        """Put a post in front of everything, from top to bottom, made of a part of a photograph."""
        name, box = source
        bark = photo(name).crop(box).resize((int(right - left) + 16, SIZE), Image.Resampling.LANCZOS)
        layer = self.pixels.copy()
        layer.paste(bark, (int(left) - 8, 0))
        self.cover(_uneven(left, right), layer)


def _uneven(left: float, right: float) -> shapely.Polygon:
    down = [(left + 1.5 * np.sin(y / 23), float(y)) for y in range(-4, SIZE + 9, 6)]
    up = [(right + 1.5 * np.sin(y / 17 + 1), float(y)) for y in range(SIZE + 4, -9, -6)]
    return shapely.Polygon([*down, *up])


def rings_of(shape: BaseGeometry, hidden: Sequence[BaseGeometry] = ()) -> list[list[list[float]]]:
    """Return the visible parts of a shape as rings in pixels of the picture, largest first."""
    seen = (
        shape.intersection(FRAME).difference(shapely.union_all(list(hidden))) if hidden else shape.intersection(FRAME)
    )
    parts = sorted(polygons(seen.simplify(0.35)), key=lambda part: -part.area)
    return [[[round(x, 1), round(y, 1)] for x, y in part.exterior.coords[:-1]] for part in parts if part.area > 12]
