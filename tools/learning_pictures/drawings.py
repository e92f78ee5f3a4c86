"""Draws toys, signs and paintings into learning pictures. Part of `make`, run by hand.

Each function draws onto a canvas and returns the outline of what it drew.
"""

import numpy as np
import shapely
from PIL import Image, ImageChops, ImageDraw, ImageFilter
from shapely import affinity
from shapely.geometry.base import BaseGeometry

from tools.learning_pictures.canvas import SIZE, PhotoCanvas, PlacedPhoto, mask_of, photo

Colour = tuple[int, int, int]
ORANGE: Colour = (236, 124, 30)


def _ellipse(x: float, y: float, rx: float, ry: float, turn: float = 0) -> shapely.Polygon:
    circle = shapely.Point(0, 0).buffer(1, quad_segs=24)
    return affinity.translate(affinity.rotate(affinity.scale(circle, rx, ry), turn), x, y)


def _placed(shape: BaseGeometry, at: tuple[float, float], size: float, flip: bool) -> BaseGeometry:
    return affinity.translate(affinity.scale(shape, -size if flip else size, size, origin=(0, 0)), *at)


def _rounded(shape: BaseGeometry, colour: Colour, light: tuple[float, float], reach: float) -> Image.Image:
    """A surface that is bright towards `light` and dark at the far side, like something moulded."""
    y, x = np.mgrid[0:SIZE, 0:SIZE]
    distance = np.hypot(x - light[0], y - light[1]) / reach
    shade = (1.12 - 0.5 * distance.clip(0, 1.3))[..., None]
    gloss = (np.exp(-((distance * 5) ** 2)) * 120)[..., None]
    return Image.fromarray((np.array(colour) * shade + gloss).clip(0, 255).astype(np.uint8))


def _part(canvas: PhotoCanvas, shape: BaseGeometry, colour: Colour) -> None:
    """One moulded part."""
    xmin, ymin, xmax, ymax = shape.bounds
    light = (xmin + (xmax - xmin) * 0.4, ymin + (ymax - ymin) * 0.25)
    canvas.cover(shape, _rounded(shape, colour, light, max(xmax - xmin, ymax - ymin)))


def _ground_shadow(canvas: PhotoCanvas, at: tuple[float, float], rx: float, ry: float) -> None:
    _shadow(canvas, _ellipse(*at, rx, ry))


def _shadow(canvas: PhotoCanvas, shape: BaseGeometry) -> None:
    mask = mask_of(shape, soft=4).point(lambda value: value * 0.55)
    canvas.pixels = Image.composite(Image.new("RGB", (SIZE, SIZE), (18, 18, 16)), canvas.pixels, mask)


def duck(
    canvas: PhotoCanvas, at: tuple[float, float], size: float, colour: Colour, *, flip: bool = False
) -> BaseGeometry:
    """A bath duck, `size` pixels from the middle to either end."""
    body = (
        shapely.union_all([_ellipse(0, 0.3, 0.9, 0.55), shapely.Polygon([(0.55, 0.1), (1.08, -0.32), (0.95, 0.4)])])
        .buffer(0.08)
        .buffer(-0.08)
    )
    parts = [
        (body, colour),
        (_ellipse(-0.5, -0.45, 0.5, 0.47), colour),
        (_ellipse(-1.02, -0.38, 0.24, 0.11, 8), ORANGE),
    ]
    wing = _ellipse(0.3, 0.22, 0.42, 0.24, -12)
    eye, glint = _ellipse(-0.64, -0.56, 0.085, 0.105), _ellipse(-0.665, -0.595, 0.03, 0.035)
    _ground_shadow(canvas, (at[0] + 4, at[1] + size * 0.84), size * 0.95, size * 0.16)
    for shape, each in parts:
        _part(canvas, _placed(shape, at, size, flip), each)
    darker: Colour = (int(colour[0] * 0.9), int(colour[1] * 0.87), int(colour[2] * 0.8))
    _part(canvas, _placed(wing, at, size, flip), darker)
    for shape, each in ((eye, (20, 20, 24)), (glint, (250, 250, 250))):
        canvas.cover(_placed(shape, at, size, flip), Image.new("RGB", (SIZE, SIZE), each))
    return _placed(shapely.union_all([shape for shape, _ in parts]), at, size, flip)


def owl(canvas: PhotoCanvas, at: tuple[float, float], size: float, colour: Colour) -> BaseGeometry:
    """A stuffed owl, sitting."""
    ears = [
        shapely.Polygon([(-0.62, -0.62), (-0.66, -1.12), (-0.2, -0.86)]),
        shapely.Polygon([(0.62, -0.62), (0.66, -1.12), (0.2, -0.86)]),
    ]
    body = (
        shapely.union_all([_ellipse(0, 0.1, 0.78, 0.95), _ellipse(0, -0.45, 0.72, 0.56), *ears])
        .buffer(0.05)
        .buffer(-0.05)
    )
    wings = [_ellipse(-0.78, 0.2, 0.2, 0.5, 12), _ellipse(0.78, 0.2, 0.2, 0.5, -12)]
    feet = [_ellipse(-0.32, 1.02, 0.22, 0.12), _ellipse(0.32, 1.02, 0.22, 0.12)]
    _ground_shadow(canvas, (at[0], at[1] + size * 1.05), size * 0.95, size * 0.14)
    dark: Colour = (int(colour[0] * 0.62), int(colour[1] * 0.62), int(colour[2] * 0.66))
    layers: list[tuple[BaseGeometry, Colour]] = [
        *((each, ORANGE) for each in feet),
        (body, colour),
        *((each, dark) for each in wings),
    ]
    layers += [(_ellipse(0, 0.36, 0.48, 0.52), (238, 226, 204))]
    layers += [(_ellipse(side * 0.3, -0.48, 0.3, 0.3), (246, 240, 226)) for side in (-1, 1)]
    layers += [(_ellipse(side * 0.27, -0.47, 0.13, 0.14), (28, 24, 22)) for side in (-1, 1)]
    layers += [(shapely.Polygon([(-0.11, -0.3), (0.11, -0.3), (0, -0.04)]).buffer(0.02), ORANGE)]
    for shape, each in layers:
        _part(canvas, _placed(shape, at, size, False), each)
    _stitch(canvas, _placed(_ellipse(0, 0.36, 0.43, 0.47), at, size, False))
    return _placed(shapely.union_all([body, *wings, *feet]), at, size, False)


def _stitch(canvas: PhotoCanvas, shape: BaseGeometry) -> None:
    line = np.array(shape.exterior.coords)
    draw = ImageDraw.Draw(canvas.pixels)
    for at in range(0, len(line) - 1, 4):
        draw.line([tuple(line[at]), tuple(line[min(at + 2, len(line) - 1)])], fill=(150, 120, 90), width=1)


def crane(
    canvas: PhotoCanvas, at: tuple[float, float], size: float, paper: Colour, *, flip: bool = False
) -> BaseGeometry:
    """A bird folded out of paper."""
    faces = [
        ([(-0.1, 0.15), (0.55, -1.0), (0.42, 0.25)], 0.8),
        ([(-0.42, 0.25), (-0.95, -0.55), (-0.2, 0.32)], 0.72),
        ([(-0.95, -0.55), (-1.25, -0.36), (-0.86, -0.42)], 0.9),
        ([(0.3, 0.3), (1.2, -0.5), (0.42, 0.42)], 0.86),
        ([(-0.45, 0.22), (0.0, 0.62), (0.45, 0.28), (0.05, 0.12)], 0.66),
        ([(-0.42, 0.2), (-0.35, -1.1), (0.3, 0.3)], 1.0),
    ]
    _ground_shadow(canvas, (at[0] + 3, at[1] + size * 0.62), size * 0.7, size * 0.1)
    for corners, light in faces:
        colour = tuple(int(channel * light) for channel in paper)
        canvas.cover(_placed(shapely.Polygon(corners), at, size, flip), Image.new("RGB", (SIZE, SIZE), colour))
    return _placed(shapely.union_all([shapely.Polygon(corners).buffer(0.005) for corners, _ in faces]), at, size, flip)


def _bicycle_lines() -> tuple[list[BaseGeometry], BaseGeometry]:
    """The strokes of a bicycle, from -1 to 1, and its outline with filled wheels."""
    rear, front, crank = (-0.58, 0.25), (0.6, 0.25), (-0.05, 0.27)
    seat, head = (-0.22, -0.36), (0.42, -0.34)
    wheels = [shapely.Point(*centre).buffer(0.38, quad_segs=32) for centre in (rear, front)]
    lines = [(rear, seat), (rear, crank), (crank, seat), (seat, head), (crank, head), (front, head)]
    lines += [(head, (0.37, -0.5)), ((0.2, -0.52), (0.37, -0.5)), ((0.37, -0.5), (0.5, -0.42)), (seat, (-0.26, -0.48))]
    lines += [((-0.4, -0.49), (-0.12, -0.47)), (crank, (0.05, 0.42)), ((0.0, 0.43), (0.12, 0.42))]
    strokes: list[BaseGeometry] = [wheel.exterior for wheel in wheels]
    strokes += [shapely.LineString(line) for line in lines]
    frame = shapely.Polygon([rear, seat, head, crank])
    return strokes, shapely.union_all([*wheels, frame, *(stroke.buffer(0.04) for stroke in strokes)])


def line_bicycle(
    canvas: PhotoCanvas, at: tuple[float, float], size: float, stroke: float, colour: Colour, *, flip: bool = False
) -> BaseGeometry:
    """A bicycle of strokes: a sign, or bent wire."""
    strokes, outline = _bicycle_lines()
    for each in strokes:
        canvas.cover(_placed(each, at, size, flip).buffer(stroke + 0.6), Image.new("RGB", (SIZE, SIZE), colour))
    return _without_holes(_placed(outline, at, size, flip))


def _without_holes(shape: BaseGeometry) -> BaseGeometry:
    parts = [part for part in shapely.get_parts(shape) if isinstance(part, shapely.Polygon)]
    return shapely.union_all([shapely.Polygon(part.exterior) for part in parts])


def road_sign(canvas: PhotoCanvas) -> BaseGeometry:
    """A round blue sign on a pole, with a white bicycle."""
    _part(canvas, shapely.box(143, 150, 155, 320), (120, 124, 128))
    _part(canvas, _ellipse(149, 138, 112, 112), (245, 245, 245))
    _part(canvas, _ellipse(149, 138, 105, 105), (20, 82, 170))
    return line_bicycle(canvas, (149, 142), 86, 4, (248, 248, 248))


def wire_bicycle(canvas: PhotoCanvas) -> BaseGeometry:
    """A sculpture of bent wire on a stone."""
    _part(canvas, shapely.box(60, 236, 244, 310), (168, 160, 148))
    outline = line_bicycle(canvas, (152, 165), 112, 2.4, (70, 48, 36))
    return outline


def painting(canvas: PhotoCanvas, placed: PlacedPhoto, *, margin: int, frame: Colour, strokes: int = 7) -> BaseGeometry:
    """A painting in a wooden frame, hung on the canvas: the photograph in broad strokes."""
    inner = shapely.box(margin, margin, SIZE - margin, SIZE - margin)
    _shadow(canvas, affinity.translate(inner.buffer(17), 4, 6))
    canvas.cover(inner.buffer(17, join_style="mitre"), _rounded(inner, frame, (60, 40), 380))
    canvas.cover(inner.buffer(4, join_style="mitre"), Image.new("RGB", (SIZE, SIZE), (232, 220, 190)))
    canvas.cover(inner, in_oil(placed.pixels(), strokes))
    return placed.outline.intersection(inner)


def in_oil(picture: Image.Image, strokes: int) -> Image.Image:
    """Return the picture in flat patches with canvas showing through."""
    rng = np.random.default_rng(strokes)
    flat = (
        picture.filter(ImageFilter.ModeFilter(strokes))
        .filter(ImageFilter.SMOOTH)
        .quantize(40, dither=Image.Dither.NONE)
    )
    y, x = np.mgrid[0:SIZE, 0:SIZE]
    weave = ((x % 4 < 2) ^ (y % 4 < 2)) * 7.0 + rng.integers(0, 5, (SIZE // 3 + 1, SIZE // 3 + 1)).repeat(3, 0).repeat(
        3, 1
    )[:SIZE, :SIZE]
    return Image.fromarray(
        (np.asarray(flat.convert("RGB")) * 1.06 - weave[..., None] + 6).clip(0, 255).astype(np.uint8)
    )


def pencil(canvas: PhotoCanvas, placed: PlacedPhoto) -> BaseGeometry:
    """The traced thing as a drawing in pencil, on paper."""
    grey = placed.pixels().convert("L")
    light = ImageChops.invert(grey).filter(ImageFilter.GaussianBlur(5))
    dodged = np.asarray(grey) * 255.0 / (256.0 - np.asarray(light))
    lines = Image.fromarray((dodged.clip(0, 255) * 0.8 + 40).clip(0, 242).astype(np.uint8))
    canvas.cover(placed.outline.buffer(0.8), lines.convert("RGB"))
    return placed.outline


def sky_of(name: str) -> tuple[Colour, Colour]:
    """The colours of a photograph's sky, at its top and at its bottom."""
    rows = np.asarray(photo(name)).astype(float)
    top, bottom = np.median(rows[:12], axis=(0, 1)), np.median(rows[-12:], axis=(0, 1))
    return tuple(map(int, top)), tuple(map(int, bottom))  # type: ignore[return-value]


def plain(top: Colour, bottom: Colour) -> Image.Image:
    """A wall or a sheet of paper: one colour at the top going over into another."""
    share = np.linspace(0, 1, SIZE)[:, None, None]
    rows = np.array(top) * (1 - share) + np.array(bottom) * share
    return Image.fromarray(np.broadcast_to(rows, (SIZE, SIZE, 3)).astype(np.uint8))
