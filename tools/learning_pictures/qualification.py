"""Recipes (photograph, cuts and covers, right answers, reasons) for the pictures of the taskers' qualification."""

from shapely.geometry.base import BaseGeometry

from tools.learning_pictures import drawings, words
from tools.learning_pictures.canvas import PhotoCanvas, PlacedPhoto, cut, thing
from tools.learning_pictures.recipes import (
    BARK,
    BRIGHT,
    COLD,
    DIM,
    EVENING,
    PAPER,
    THE_LARGEST,
    WALL,
    Recipe,
    behind,
    bird,
    both,
    duck,
    neither,
    small,
    two_of,
    with_parts,
)
from tools.learning_pictures.words import BICYCLE, Noun


def _largest(name: str, main: PlacedPhoto, noun: Noun, *small: PlacedPhoto) -> Recipe:
    return bird("several", drawings.sky_of(name), noun, outline=THE_LARGEST, draw=with_parts(main, *small))


def _framed(
    placed: PlacedPhoto, noun: Noun, *, wall: tuple[drawings.Colour, drawings.Colour], wood: drawings.Colour
) -> Recipe:
    def draw(canvas: PhotoCanvas) -> BaseGeometry:
        return drawings.painting(canvas, placed, margin=46, frame=wood)

    return bird("painting", wall, noun, depiction=("a painting on a wall", "ein Gemälde an einer Wand"), draw=draw)


def _clear() -> list[Recipe]:
    high = drawings.sky_of("bird-014")
    return [
        bird("clear", cut("bird-013", 122, 2, 476, flip=True), words.EGRET),
        bird("clear", cut("bicycle", 28, -52, 584, flip=True), BICYCLE),
        bird("clear", cut("bird-011", 62, 5, 420, flip=True), words.PELICAN),
        bird("clear", cut("bicycle", 8, -60, 628, tone=EVENING), BICYCLE),
        bird("clear", cut("bird-008", 192, 0, 424, flip=True, tone=EVENING), words.GULL),
        bird("clear", cut("bicycle", 46, -36, 548, flip=True, tone=COLD), BICYCLE),
        bird("clear", high, words.GULL, draw=with_parts(thing("bird-014", 128, (150, 146), flip=True))),
        bird("clear", cut("bicycle", 36, -58, 570, tone=DIM), BICYCLE),
        bird("clear", cut("bird-029", 120, 8, 424, flip=True, tone=COLD), words.GULL),
    ]


def _classes() -> list[Recipe]:
    return [
        both(cut("bicycle", 18, -58, 610, flip=True), thing("bird-008", 76, (150, 34)), noun=words.GULL),
        both(cut("bicycle", 20, -60, 600, tone=BRIGHT), thing("parrot", 62, (40, 218)), noun=words.PARROT),
        both(cut("bicycle", 12, -60, 622, tone=EVENING), thing("bird-013", 104, (132, 32)), noun=words.EGRET),
        both(
            cut("bicycle", 22, -56, 600, flip=True, tone=COLD),
            thing("bird-025", 64, (150, 36)),
            thing("bird-025", 50, (258, 60), flip=True),
            noun=words.SWALLOW,
        ),
        neither(cut("bus", 120, 0, 480)),
        neither(cut("car", 60, 0, 448)),
        neither(cut("lion", 160, 0, 426)),
        neither(cut("bus", 330, 70, 310, flip=True)),
    ]


def _sizes() -> list[Recipe]:
    return [
        small("bird-001", 112, (196, 92), words.PELICAN),
        small("bird-023", 84, (92, 196), words.GULL, flip=True),
        small("bird-007", 118, (120, 108), words.GULL, flip=True),
        small("bird-022", 80, (206, 186), words.FRIGATE),
        small("bird-009", 130, (140, 210), words.PELICAN, flip=True),
    ]


def _cut_off() -> list[Recipe]:
    wing = ("the tip of a wing", "die Spitze eines Flügels")
    return [
        bird("truncated", cut("bird-010", 44, 0, 333), words.HERON, cut_off=("the legs", "die Beine")),
        bird("truncated", cut("bird-020", 60, 0, 430, flip=True), words.FRIGATE, cut_off=wing),
        bird("truncated", cut("bird-009", 210, 40, 330, flip=True), words.PELICAN, cut_off=wing),
        bird("truncated", cut("bicycle", 0, 20, 430, flip=True), BICYCLE, cut_off=("the front wheel", "das Vorderrad")),
        bird("truncated", cut("parrot", 0, 70, 500), words.PARROT, cut_off=("the tail", "den Schwanz")),
    ]


def _hidden() -> list[Recipe]:
    post = {"hidden_by": ("the post", "der Pfosten"), "min_iou": 60}
    gull, egret = cut("bird-029", 140, 10, 410, flip=True, tone=DIM), cut("bird-013", 118, 0, 478, tone=BRIGHT)
    standing, wheel = cut("bird-017", 180, 30, 390, flip=True), cut("bicycle", 24, -60, 590, flip=True)
    return [
        bird("occluded", cut("bird-026", -31, 40, 430), words.ROLLER, hidden_by=("a twig", "ein Zweig")),
        bird("occluded", gull, words.GULL, draw=behind(gull, 96, 128, BARK), **post),
        bird(
            "occluded",
            cut("bird-005", 60, 10, 440, flip=True, tone=BRIGHT),
            words.ROLLER,
            hidden_by=("the branch", "der Ast"),
        ),
        bird("occluded", egret, words.EGRET, draw=behind(egret, 168, 200, BARK), **post),
        bird("occluded", wheel, BICYCLE, draw=behind(wheel, 196, 232, BARK), **post),
        bird("occluded", standing, words.GULL, draw=behind(standing, 128, 150, BARK), **post),
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
        bird(
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
        bird("painting", PAPER, BICYCLE, depiction=drawing, draw=lambda canvas: drawings.pencil(canvas, paper_bicycle)),
        _framed(
            thing("bicycle", 184, (150, 156)), BICYCLE, wall=((200, 180, 172), (182, 160, 152)), wood=(150, 112, 48)
        ),
        duck("zebra", (0, 262, 166), (156, 154), 96, (214, 60, 48), flip=True),
        bird(
            "toy",
            cut("car", 0, 300, 148),
            words.CRANE,
            draw=lambda canvas: drawings.crane(canvas, (150, 160), 104, (244, 244, 250)),
            **folded,
        ),
        bird(
            "toy",
            cut("lion", 440, 226, 200),
            words.OWL,
            draw=lambda canvas: drawings.owl(canvas, (150, 150), 104, (156, 116, 84)),
            **stuffed,
        ),
        bird("toy", drawings.sky_of("bird-017"), BICYCLE, **wire),
        duck("bicycle", (330, 398, 80), (150, 150), 88, (90, 160, 226)),
    ]


def _groups() -> list[Recipe]:
    return [
        two_of("bird-023", 118, ((84, 118), (216, 176)), 1, words.GULL),
        _largest(
            "bird-007",
            thing("bird-007", 210, (150, 160)),
            words.GULL,
            thing("bird-007", 52, (60, 60), flip=True),
            thing("bird-007", 44, (236, 254)),
        ),
        two_of("bird-001", 132, ((76, 180), (220, 104)), 0, words.PELICAN),
        _largest(
            "bird-016",
            thing("bird-016", 112, (128, 150), flip=True),
            words.GULL,
            thing("bird-016", 48, (254, 70)),
            thing("bird-016", 40, (246, 236)),
        ),
        two_of("bird-004", 122, ((72, 120), (224, 170)), 1, words.HERON),
    ]


def qualification() -> list[Recipe]:
    """The pool of the tries; none of them has the pixels or the framing of a worked example."""
    return [*_clear(), *_classes(), *_sizes(), *_cut_off(), *_hidden(), *_depictions(), *_groups()]
