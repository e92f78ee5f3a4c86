"""Recipes of the tutorial's pictures."""

from tools.learning_pictures import drawings, words
from tools.learning_pictures.canvas import cut, thing
from tools.learning_pictures.recipes import (
    BARK,
    BRIGHT,
    LARGE,
    THE_LARGEST,
    Recipe,
    behind,
    bird,
    both,
    duck,
    neither,
    sign,
    small,
    two_of,
    with_parts,
)
from tools.learning_pictures.words import BICYCLE, reasons


def tutorial() -> list[Recipe]:
    """The worked examples in their order, each rule once right and once wrong."""
    whole, hidden = cut("bicycle", 38, -26, 560), cut("bicycle", 20, -40, 600, tone=BRIGHT)
    return [
        bird(
            "clear",
            cut("bird-008", 240, 20, 390),
            words.GULL,
            title=("A bird, large and whole", "Ein Vogel, groß und ganz"),
        ),
        bird("clear", whole, BICYCLE, title=("A bicycle, large and whole", "Ein Fahrrad, groß und ganz")),
        neither(
            cut("zebra", 150, 0, 429),
            ("Neither of the two", "Keins von beiden"),
            contains_bird=(
                "A zebra is no bird, and there is none anywhere else.",
                "Ein Zebra ist kein Vogel, und auch sonst ist keiner da.",
            ),
        ),
        both(
            cut("bicycle", 38, -26, 560),
            thing("bird-017", 70, (252, 208)),
            noun=words.GULL,
            title=("Both in one picture", "Beide in einem Bild"),
        ),
        _snowman(),
        bird(
            "too_small", cut("bird-004", 40, 30, 560), words.HERON, title=("Large enough", "Groß genug"), outline=LARGE
        ),
        small("bird-004", 104, (176, 116), words.HERON, title=("Too small", "Zu klein")),
        bird("truncated", cut("bird-016", 150, 10, 445), words.GULL, title=("Complete", "Vollständig")),
        bird(
            "truncated",
            cut("bird-016", 195, 100, 330),
            words.GULL,
            title=("Cut off at the edge", "Am Rand abgeschnitten"),
            cut_off=("the tips of both wings", "die Spitzen beider Flügel"),
        ),
        bird(
            "truncated",
            cut("bicycle", 175, 20, 430),
            BICYCLE,
            title=("A wheel is cut off", "Ein Rad ist abgeschnitten"),
            cut_off=("a part of the rear wheel", "einen Teil des Hinterrads"),
        ),
        bird("occluded", cut("bird-017", 200, 50, 370), words.GULL, title=("Nothing in front of it", "Nichts davor")),
        bird(
            "occluded",
            cut("bird-005", 80, 30, 400),
            words.ROLLER,
            title=("A branch in front of it", "Ein Ast davor"),
            hidden_by=("the branch", "der Ast"),
            min_iou=60,
        ),
        bird(
            "occluded",
            hidden,
            BICYCLE,
            title=("A post in front of it", "Ein Pfosten davor"),
            hidden_by=("the post", "der Pfosten"),
            draw=behind(hidden, 128, 158, BARK),
            min_iou=60,
        ),
        bird(
            "painting",
            cut("bird-029", 150, 30, 390),
            words.GULL,
            title=("A real, live bird", "Ein echter, lebender Vogel"),
        ),
        bird(
            "painting",
            cut("bird-027", 10, 10, 620),
            words.PUFFIN,
            title=("A painting of a bird", "Ein gemalter Vogel"),
            depiction=("a painting", "ein Gemälde"),
        ),
        duck("zebra", (470, 300, 129), (150, 150), 92, (246, 200, 28), title=("A toy", "Ein Spielzeug")),
        sign(title=("A picture of a bicycle", "Das Bild eines Fahrrads")),
        bird(
            "several",
            drawings.sky_of("bird-014"),
            words.GULL,
            title=("Several: the largest one", "Mehrere: das größte"),
            draw=with_parts(
                thing("bird-014", 122, (140, 150)),
                thing("bird-014", 46, (250, 70), flip=True),
                thing("bird-014", 40, (40, 240)),
            ),
            outline=THE_LARGEST,
        ),
        two_of(
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
