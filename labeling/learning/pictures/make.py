"""Makes the pictures to learn from, and `known.json` with their right answers, out of the demo's photographs.

Run by hand in the repository root, once after every change here; what it writes is committed:

    python -m labeling.learning.pictures.make

Needs Pillow, NumPy and shapely. Nothing of the application imports it.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import shapely
from shapely.geometry.base import BaseGeometry

from labeling.learning.pictures import drawings, words
from labeling.learning.pictures.canvas import (
    HERE,
    PHOTOS_USED,
    SIZE,
    Canvas,
    Placed,
    Tone,
    cut,
    rings_of,
    thing,
    without_noise,
)
from labeling.learning.pictures.words import BICYCLE, Noun, Reasons, reasons

# A photograph, or a plain ground from one colour to another.
Base = Placed | tuple[drawings.Colour, drawings.Colour]
# The two photographs that say who took them.
AUTHORS = {"bird-025.jpg": "Arend Vermazeren", "bird-029.jpg": "Graeme Darbyshire"}
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
    draw: Callable[[Canvas], BaseGeometry] | None = None
    outlined: bool = True
    complete: bool = True
    unoccluded: bool = True
    real: bool = True
    min_iou: int = 65

    def made(self) -> tuple[Canvas, list[list[list[float]]]]:
        """Return the picture, and the rings of what is to be outlined."""
        placed = self.base if isinstance(self.base, Placed) else None
        canvas = Canvas(self.base.pixels() if isinstance(self.base, Placed) else drawings.plain(*self.base))
        drawn = self.draw(canvas) if self.draw else None
        if not self.outlined:
            return canvas, []
        if drawn is None:
            if placed is None:
                raise ValueError("nothing is drawn on the plain ground")
            drawn = placed.outline
        on_top = canvas.covered[-1:] if not self.unoccluded and canvas.covered else []
        return canvas, rings_of(drawn, on_top)


def _bird(topic: str, base: Base, noun: Noun, **options: Any) -> Recipe:
    names = {"title", "cut_off", "hidden_by", "depiction", "outline"}
    said = {name: options.pop(name) for name in names & set(options)}
    flags: dict[str, Any] = {
        "complete": "cut_off" not in said,
        "unoccluded": "hidden_by" not in said,
        "real": "depiction" not in said,
    }
    answers = {"bird": YES, "bicycle": NO} if noun.bird else {"bird": NO, "bicycle": YES}
    return Recipe(topic, base, reasons(noun, **said), **({**flags, **answers} | options))


def _neither(base: Placed, title: tuple[str, str] = ("", ""), **more: tuple[str, str]) -> Recipe:
    return Recipe("neither_class", base, reasons(None, title=title, **more), bird=NO, outlined=False)


def _both(base: Placed, *things: Placed, noun: Noun, title: tuple[str, str] = ("", "")) -> Recipe:
    why = reasons(None, title=title, contains_bird=words.yes(noun), contains_bicycle=words.yes(BICYCLE))

    def draw(canvas: Canvas) -> BaseGeometry:
        return [canvas.put(each) for each in things][-1]

    return Recipe("both_classes", base, why, bicycle=YES, draw=draw, outlined=False)


def _behind(
    placed: Placed, left: float, right: float, source: tuple[str, tuple[int, int, int, int]]
) -> Callable[[Canvas], BaseGeometry]:
    def draw(canvas: Canvas) -> BaseGeometry:
        canvas.post(left, right, source=source)
        return placed.outline

    return draw


def _with(*things: Placed, outlined: int = 0) -> Callable[[Canvas], BaseGeometry]:
    """Put things onto the canvas; the outline is that of one of them."""

    def draw(canvas: Canvas) -> BaseGeometry:
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


def tutorial() -> list[Recipe]:
    """The worked examples in their order, each rule once right and once wrong."""
    whole, hidden = cut("bicycle", 38, -26, 560), cut("bicycle", 20, -40, 600, tone=BRIGHT)
    return [
        _bird(
            "clear",
            cut("bird-008", 240, 20, 390),
            words.GULL,
            title=("A bird, large and whole", "Ein Vogel, groß und ganz"),
        ),
        _bird("clear", whole, BICYCLE, title=("A bicycle, large and whole", "Ein Fahrrad, groß und ganz")),
        _neither(
            cut("zebra", 150, 0, 429),
            ("Neither of the two", "Keins von beiden"),
            contains_bird=(
                "A zebra is no bird, and there is none anywhere else.",
                "Ein Zebra ist kein Vogel, und auch sonst ist keiner da.",
            ),
        ),
        _both(
            cut("bicycle", 38, -26, 560),
            thing("bird-017", 70, (252, 208)),
            noun=words.GULL,
            title=("Both in one picture", "Beide in einem Bild"),
        ),
        _snowman(),
        _bird(
            "too_small", cut("bird-004", 40, 30, 560), words.HERON, title=("Large enough", "Groß genug"), outline=LARGE
        ),
        _small("bird-004", 104, (176, 116), words.HERON, title=("Too small", "Zu klein")),
        _bird("truncated", cut("bird-016", 150, 10, 445), words.GULL, title=("Complete", "Vollständig")),
        _bird(
            "truncated",
            cut("bird-016", 195, 100, 330),
            words.GULL,
            title=("Cut off at the edge", "Am Rand abgeschnitten"),
            cut_off=("the tips of both wings", "die Spitzen beider Flügel"),
        ),
        _bird(
            "truncated",
            cut("bicycle", 175, 20, 430),
            BICYCLE,
            title=("A wheel is cut off", "Ein Rad ist abgeschnitten"),
            cut_off=("a part of the rear wheel", "einen Teil des Hinterrads"),
        ),
        _bird("occluded", cut("bird-017", 200, 50, 370), words.GULL, title=("Nothing in front of it", "Nichts davor")),
        _bird(
            "occluded",
            cut("bird-005", 80, 30, 400),
            words.ROLLER,
            title=("A branch in front of it", "Ein Ast davor"),
            hidden_by=("the branch", "der Ast"),
            min_iou=60,
        ),
        _bird(
            "occluded",
            hidden,
            BICYCLE,
            title=("A post in front of it", "Ein Pfosten davor"),
            hidden_by=("the post", "der Pfosten"),
            draw=_behind(hidden, 128, 158, BARK),
            min_iou=60,
        ),
        _bird(
            "painting",
            cut("bird-029", 150, 30, 390),
            words.GULL,
            title=("A real, live bird", "Ein echter, lebender Vogel"),
        ),
        _bird(
            "painting",
            cut("bird-027", 10, 10, 620),
            words.PUFFIN,
            title=("A painting of a bird", "Ein gemalter Vogel"),
            depiction=("a painting", "ein Gemälde"),
        ),
        _duck("zebra", (470, 300, 129), (150, 150), 92, (246, 200, 28), title=("A toy", "Ein Spielzeug")),
        _sign(title=("A picture of a bicycle", "Das Bild eines Fahrrads")),
        _bird(
            "several",
            drawings.sky_of("bird-014"),
            words.GULL,
            title=("Several: the largest one", "Mehrere: das größte"),
            draw=_with(
                thing("bird-014", 122, (140, 150)),
                thing("bird-014", 46, (250, 70), flip=True),
                thing("bird-014", 40, (40, 240)),
            ),
            outline=THE_LARGEST,
        ),
        _two_of(
            "bird-022",
            118,
            ((76, 140), (222, 150)),
            0,
            words.FRIGATE,
            title=("Equally large: the page says which", "Gleich groß: Die Seite sagt, welches"),
        ),
    ]


def _snowman() -> Recipe:
    why = reasons(
        None,
        title=("Honestly unsure", "Ehrlich unsicher"),
        contains_bird=(
            "A snowman with flippers: some will call it a penguin, some will not. “Not sure” is the honest answer, "
            "and as useful as any other.",
            "Ein Schneemann mit Flossen: Manche nennen ihn Pinguin, manche nicht. „Nicht sicher“ ist die ehrliche "
            "Antwort und genauso nützlich wie jede andere.",
        ),
    )
    return Recipe("uncertain", cut("snowman", 0, 60, 378), why, bird=["unsure_yes", "unsure_no"], outlined=False)


def _duck(
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
    return _bird(
        "toy",
        cut(name, *window, flip=flip, tone=tone),
        words.DUCK,
        title=title,
        depiction=("a toy", "ein Spielzeug"),
        draw=lambda canvas: drawings.duck(canvas, at, size, colour, flip=flip),
    )


def _sign(title: tuple[str, str] = ("", "")) -> Recipe:
    return _bird(
        "toy",
        cut("bird-017", -120, 20, 300, tone=COLD),
        BICYCLE,
        title=title,
        depiction=("a road sign", "ein Verkehrszeichen"),
        draw=drawings.road_sign,
        min_iou=55,
    )


def _two_of(
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
    return _bird(
        "several",
        drawings.sky_of(name),
        noun,
        title=title,
        outline=about,
        draw=_with(*two, outlined=outlined),
        min_iou=60,
    )


def _small(
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
    return _bird("too_small", drawings.sky_of(name), noun, title=title, outline=SMALL, draw=_with(one), min_iou=50)


def _largest(name: str, main: Placed, noun: Noun, *small: Placed) -> Recipe:
    return _bird("several", drawings.sky_of(name), noun, outline=THE_LARGEST, draw=_with(main, *small))


def _framed(
    placed: Placed, noun: Noun, *, wall: tuple[drawings.Colour, drawings.Colour], wood: drawings.Colour
) -> Recipe:
    def draw(canvas: Canvas) -> BaseGeometry:
        return drawings.painting(canvas, placed, margin=46, frame=wood)

    return _bird("painting", wall, noun, depiction=("a painting on a wall", "ein Gemälde an einer Wand"), draw=draw)


def _clear() -> list[Recipe]:
    high = drawings.sky_of("bird-014")
    return [
        _bird("clear", cut("bird-013", 122, 2, 476, flip=True), words.EGRET),
        _bird("clear", cut("bicycle", 28, -52, 584, flip=True), BICYCLE),
        _bird("clear", cut("bird-011", 62, 5, 420, flip=True), words.PELICAN),
        _bird("clear", cut("bicycle", 8, -60, 628, tone=EVENING), BICYCLE),
        _bird("clear", cut("bird-008", 192, 0, 424, flip=True, tone=EVENING), words.GULL),
        _bird("clear", cut("bicycle", 46, -36, 548, flip=True, tone=COLD), BICYCLE),
        _bird("clear", high, words.GULL, draw=_with(thing("bird-014", 128, (150, 146), flip=True))),
        _bird("clear", cut("bicycle", 36, -58, 570, tone=DIM), BICYCLE),
        _bird("clear", cut("bird-029", 120, 8, 424, flip=True, tone=COLD), words.GULL),
    ]


def _classes() -> list[Recipe]:
    return [
        _both(cut("bicycle", 18, -58, 610, flip=True), thing("bird-008", 76, (150, 34)), noun=words.GULL),
        _both(cut("bicycle", 20, -60, 600, tone=BRIGHT), thing("parrot", 62, (40, 218)), noun=words.PARROT),
        _both(cut("bicycle", 12, -60, 622, tone=EVENING), thing("bird-013", 104, (132, 32)), noun=words.EGRET),
        _both(
            cut("bicycle", 22, -56, 600, flip=True, tone=COLD),
            thing("bird-025", 64, (150, 36)),
            thing("bird-025", 50, (258, 60), flip=True),
            noun=words.SWALLOW,
        ),
        _neither(cut("bus", 120, 0, 480)),
        _neither(cut("car", 60, 0, 448)),
        _neither(cut("lion", 160, 0, 426)),
        _neither(cut("bus", 330, 70, 310, flip=True)),
    ]


def _sizes() -> list[Recipe]:
    return [
        _small("bird-001", 112, (196, 92), words.PELICAN),
        _small("bird-023", 84, (92, 196), words.GULL, flip=True),
        _small("bird-007", 118, (120, 108), words.GULL, flip=True),
        _small("bird-022", 80, (206, 186), words.FRIGATE),
        _small("bird-009", 130, (140, 210), words.PELICAN, flip=True),
    ]


def _cut_off() -> list[Recipe]:
    wing = ("the tip of a wing", "die Spitze eines Flügels")
    return [
        _bird("truncated", cut("bird-010", 44, 0, 333), words.HERON, cut_off=("the legs", "die Beine")),
        _bird("truncated", cut("bird-020", 60, 0, 430, flip=True), words.FRIGATE, cut_off=wing),
        _bird("truncated", cut("bird-009", 210, 40, 330, flip=True), words.PELICAN, cut_off=wing),
        _bird(
            "truncated", cut("bicycle", 0, 20, 430, flip=True), BICYCLE, cut_off=("the front wheel", "das Vorderrad")
        ),
        _bird("truncated", cut("parrot", 0, 70, 500), words.PARROT, cut_off=("the tail", "den Schwanz")),
    ]


def _hidden() -> list[Recipe]:
    post = {"hidden_by": ("the post", "der Pfosten"), "min_iou": 60}
    gull, egret = cut("bird-029", 140, 10, 410, flip=True, tone=DIM), cut("bird-013", 118, 0, 478, tone=BRIGHT)
    standing, wheel = cut("bird-017", 180, 30, 390, flip=True), cut("bicycle", 24, -60, 590, flip=True)
    return [
        _bird("occluded", cut("bird-026", -31, 40, 430), words.ROLLER, hidden_by=("a twig", "ein Zweig")),
        _bird("occluded", gull, words.GULL, draw=_behind(gull, 96, 128, BARK), **post),
        _bird(
            "occluded",
            cut("bird-005", 60, 10, 440, flip=True, tone=BRIGHT),
            words.ROLLER,
            hidden_by=("the branch", "der Ast"),
        ),
        _bird("occluded", egret, words.EGRET, draw=_behind(egret, 168, 200, BARK), **post),
        _bird("occluded", wheel, BICYCLE, draw=_behind(wheel, 196, 232, BARK), **post),
        _bird("occluded", standing, words.GULL, draw=_behind(standing, 128, 150, BARK), **post),
    ]


def _depictions() -> list[Recipe]:
    drawing = ("a drawing", "eine Zeichnung")
    paper_bicycle = thing("bicycle", 236, (150, 152), flip=True)
    wire = {
        "depiction": ("a sculpture of wire", "eine Skulptur aus Draht"),
        "draw": drawings.wire_bicycle,
        "min_iou": 55,
    }
    folded = {"depiction": ("folded paper", "gefaltetes Papier"), "min_iou": 55}
    stuffed = {"depiction": ("a stuffed toy", "ein Stofftier")}
    return [
        _bird(
            "painting",
            cut("bird-027", 36, 6, 604, flip=True, tone=EVENING),
            words.PUFFIN,
            depiction=("a painting", "ein Gemälde"),
        ),
        _framed(thing("bird-013", 180, (150, 150)), words.EGRET, wall=WALL, wood=(120, 78, 40)),
        _framed(
            thing("bird-017", 96, (150, 146), flip=True),
            words.GULL,
            wall=((176, 190, 186), (158, 172, 170)),
            wood=(60, 50, 46),
        ),
        _bird(
            "painting", PAPER, BICYCLE, depiction=drawing, draw=lambda canvas: drawings.pencil(canvas, paper_bicycle)
        ),
        _framed(
            thing("bicycle", 184, (150, 156)), BICYCLE, wall=((200, 180, 172), (182, 160, 152)), wood=(150, 112, 48)
        ),
        _duck("zebra", (0, 262, 166), (156, 154), 96, (214, 60, 48), flip=True),
        _bird(
            "toy",
            cut("car", 0, 300, 148),
            words.CRANE,
            draw=lambda canvas: drawings.crane(canvas, (150, 160), 104, (244, 244, 250)),
            **folded,
        ),
        _bird(
            "toy",
            cut("lion", 440, 226, 200),
            words.OWL,
            draw=lambda canvas: drawings.owl(canvas, (150, 150), 104, (156, 116, 84)),
            **stuffed,
        ),
        _bird("toy", drawings.sky_of("bird-017"), BICYCLE, **wire),
        _duck("bicycle", (330, 398, 80), (150, 150), 88, (90, 160, 226)),
    ]


def _groups() -> list[Recipe]:
    return [
        _two_of("bird-023", 118, ((84, 118), (216, 176)), 1, words.GULL),
        _largest(
            "bird-007",
            thing("bird-007", 210, (150, 160)),
            words.GULL,
            thing("bird-007", 52, (60, 60), flip=True),
            thing("bird-007", 44, (236, 254)),
        ),
        _two_of("bird-001", 132, ((76, 180), (220, 104)), 0, words.PELICAN),
        _largest(
            "bird-016",
            thing("bird-016", 112, (128, 150), flip=True),
            words.GULL,
            thing("bird-016", 48, (254, 70)),
            thing("bird-016", 40, (246, 236)),
        ),
        _two_of("bird-004", 122, ((72, 120), (224, 170)), 1, words.HERON),
    ]


def qualification() -> list[Recipe]:
    """The pool of the tries; none of them has the pixels or the framing of a worked example."""
    return [*_clear(), *_classes(), *_sizes(), *_cut_off(), *_hidden(), *_depictions(), *_groups()]


def main() -> None:
    """Write every picture and `known.json`."""
    known = []
    for use, recipes in (("tutorial", tutorial()), ("qualification", qualification())):
        for position, recipe in enumerate(recipes, start=1):
            known.append(_write(use, position, recipe))
    lines = ",\n".join(json.dumps(each, ensure_ascii=False) for each in known)
    (HERE / "known.json").write_text(f"[\n{lines}\n]\n")


def _write(use: str, position: int, recipe: Recipe) -> dict[str, Any]:
    PHOTOS_USED.clear()
    canvas, rings = recipe.made()
    file = f"{use}-{position:02d}-{recipe.topic.replace('_', '-')}.png"
    without_noise(canvas.pixels).save(HERE / file, optimize=True)
    if rings:
        _check(file, recipe, rings)
    stated = {name: getattr(recipe, name) if rings else None for name in ("complete", "unoccluded", "real")}
    return {
        "file": file,
        "use": use,
        "topic": recipe.topic,
        "position": position,
        "accepts_bird": recipe.bird,
        "accepts_bicycle": recipe.bicycle,
        "outline": rings,
        "min_iou_percent": recipe.min_iou,
        **stated,
        "reasons": recipe.why,
        "source": f"Open Images V4/V5, changed: {', '.join(sorted(PHOTOS_USED))}" if PHOTOS_USED else "drawn",
        "licence": "CC BY 2.0, https://creativecommons.org/licenses/by/2.0/",
        "author": ", ".join(AUTHORS[name] for name in sorted(PHOTOS_USED & set(AUTHORS))),
    }


def _check(file: str, recipe: Recipe, rings: list[list[list[float]]]) -> None:
    """Refuse an outline that could not be sent, and an object called complete that reaches the edge."""
    if not all(shapely.LinearRing(ring).is_simple for ring in rings):
        raise ValueError(f"{file}: the outline crosses itself")
    corners = [corner for ring in rings for corner in ring]
    inside = all(1 <= each <= SIZE - 1 for corner in corners for each in corner)
    if inside != recipe.complete:
        raise ValueError(f"{file}: complete is {recipe.complete}, and the outline says otherwise")


if __name__ == "__main__":
    main()
