"""The recipe of a learning picture, and recipes that several pictures share."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from shapely.geometry.base import BaseGeometry

from tools.learning_pictures import drawings, words
from tools.learning_pictures.canvas import PhotoCanvas, PlacedPhoto, Tone, cut, rings_of, thing
from tools.learning_pictures.words import BICYCLE, Noun, Reasons, reasons

# A photograph, or a plain ground from one colour to another.
Base = PlacedPhoto | tuple[drawings.Colour, drawings.Colour]
YES, NO = ["definitely_yes"], ["definitely_no"]
BARK = ("parrot", (330, 640, 470, 925))
PLANK = ("bird-017", (120, 388, 640, 426))
EVENING: Tone = (1.0, 0.86, 0.7)
COLD: Tone = (0.82, 0.95, 1.12)
DIM: Tone = (0.72, 0.74, 0.8)
BRIGHT: Tone = (1.12, 1.1, 1.05)


@dataclass
class Recipe:
    """One picture. `draw` returns the outline to be drawn, and may add to the canvas."""

    topic: str
    base: Base
    why: Reasons
    bird: list[str] = field(default_factory=lambda: YES)
    bicycle: list[str] = field(default_factory=lambda: NO)
    draw: Callable[[PhotoCanvas], BaseGeometry] | None = None
    outlined: bool = True
    complete: bool = True
    unoccluded: bool = True
    real: bool = True
    min_iou: int = 65

    def made(self) -> tuple[PhotoCanvas, list[list[list[float]]]]:
        """Return the picture, and the rings of what is to be outlined."""
        placed = self.base if isinstance(self.base, PlacedPhoto) else None
        canvas = PhotoCanvas(self.base.pixels() if isinstance(self.base, PlacedPhoto) else drawings.plain(*self.base))
        drawn = self.draw(canvas) if self.draw else None
        if not self.outlined:
            return canvas, []
        if drawn is None:
            if placed is None:
                raise ValueError("nothing is drawn on the plain ground")
            drawn = placed.outline
        on_top = canvas.covered[-1:] if not self.unoccluded and canvas.covered else []
        return canvas, rings_of(drawn, on_top)


def bird(topic: str, base: Base, noun: Noun, **options: Any) -> Recipe:
    names = {"title", "cut_off", "hidden_by", "depiction", "outline"}
    said = {name: options.pop(name) for name in names & set(options)}
    flags: dict[str, Any] = {
        "complete": "cut_off" not in said,
        "unoccluded": "hidden_by" not in said,
        "real": "depiction" not in said,
    }
    answers = {"bird": YES, "bicycle": NO} if noun.bird else {"bird": NO, "bicycle": YES}
    return Recipe(topic, base, reasons(noun, **said), **({**flags, **answers} | options))


def neither(base: PlacedPhoto, title: tuple[str, str] = ("", ""), **more: tuple[str, str]) -> Recipe:
    return Recipe("neither_class", base, reasons(None, title=title, **more), bird=NO, outlined=False)


def both(base: PlacedPhoto, *things: PlacedPhoto, noun: Noun, title: tuple[str, str] = ("", "")) -> Recipe:
    why = reasons(None, title=title, contains_bird=words.yes(noun), contains_bicycle=words.yes(BICYCLE))

    def draw(canvas: PhotoCanvas) -> BaseGeometry:
        return [canvas.put(each) for each in things][-1]

    return Recipe("both_classes", base, why, bicycle=YES, draw=draw, outlined=False)


def behind(
    placed: PlacedPhoto, left: float, right: float, source: tuple[str, tuple[int, int, int, int]]
) -> Callable[[PhotoCanvas], BaseGeometry]:
    def draw(canvas: PhotoCanvas) -> BaseGeometry:
        canvas.post(left, right, source=source)
        return placed.outline

    return draw


def with_parts(*things: PlacedPhoto, outlined: int = 0) -> Callable[[PhotoCanvas], BaseGeometry]:
    """Put things onto the canvas; the outline is that of one of them."""

    def draw(canvas: PhotoCanvas) -> BaseGeometry:
        outlines = [canvas.put(each) for each in things]
        return outlines[outlined]

    return draw


THE_LARGEST = (
    "There are several. The outline is that of the largest one, and of that one alone.",
    "Es sind mehrere. Der Umriss gehört zum größten, und nur zu diesem.",
)
LEFT_OF_TWO = (
    "Both are equally large. The page says to outline the left-most one.",
    "Beide sind gleich groß. Laut Seite ist das am weitesten links zu umreißen.",
)
RIGHT_OF_TWO = (
    "Both are equally large. The page says to outline the right-most one.",
    "Beide sind gleich groß. Laut Seite ist das am weitesten rechts zu umreißen.",
)
SMALL = (
    "Its box covers less than a quarter of the picture. Outline it as it is, not larger; "
    "the size is judged from the outline.",
    "Der Kasten darum bedeckt weniger als ein Viertel des Bildes. Zu umreißen ist, was da ist, nicht mehr; "
    "die Größe ergibt sich aus dem Umriss.",
)
LARGE = (
    "Its box covers more than a quarter of the picture, so it is large enough.",
    "Der Kasten darum bedeckt mehr als ein Viertel des Bildes, das ist groß genug.",
)
WALL = ((214, 204, 186), (196, 184, 166))
PAPER = ((250, 248, 242), (238, 234, 226))


def duck(
    name: str,
    window: tuple[float, float, float],
    at: tuple[float, float],
    size: float,
    colour: drawings.Colour,
    *,
    flip: bool = False,
    tone: Tone = (1, 1, 1),
    title: tuple[str, str] = ("", ""),
) -> Recipe:
    return bird(
        "toy",
        cut(name, *window, flip=flip, tone=tone),
        words.DUCK,
        title=title,
        depiction=("a toy", "ein Spielzeug"),
        draw=lambda canvas: drawings.duck(canvas, at, size, colour, flip=flip),
    )


def sign(title: tuple[str, str] = ("", "")) -> Recipe:
    return bird(
        "toy",
        cut("bird-017", -120, 20, 300, tone=COLD),
        BICYCLE,
        title=title,
        depiction=("a road sign", "ein Verkehrszeichen"),
        draw=drawings.road_sign,
        min_iou=55,
    )


def two_of(
    name: str,
    width: float,
    centres: tuple[tuple[float, float], tuple[float, float]],
    outlined: int,
    noun: Noun,
    title: tuple[str, str] = ("", ""),
) -> Recipe:
    """Two birds of one size in an empty sky; the outline is that of the left one (0) or of the right one (1)."""
    two = [thing(name, width, centres[0]), thing(name, width, centres[1], flip=True)]
    about = (LEFT_OF_TWO, RIGHT_OF_TWO)[outlined]
    return bird(
        "several",
        drawings.sky_of(name),
        noun,
        title=title,
        outline=about,
        draw=with_parts(*two, outlined=outlined),
        min_iou=60,
    )


def small(
    name: str,
    width: float,
    centre: tuple[float, float],
    noun: Noun,
    *,
    flip: bool = False,
    title: tuple[str, str] = ("", ""),
) -> Recipe:
    """One small bird in an empty sky."""
    one = thing(name, width, centre, flip=flip)
    return bird("too_small", drawings.sky_of(name), noun, title=title, outline=SMALL, draw=with_parts(one), min_iou=50)
