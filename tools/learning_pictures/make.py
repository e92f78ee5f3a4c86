"""Makes the learning pictures, and `known.json` with their right answers, from the demo's photographs.

Run by hand in the repository root, once after every change here; what it writes is committed:

    python -m tools.learning_pictures.make

Needs Pillow, NumPy and shapely. Nothing of the application imports it.
"""

import json
from typing import Any

import shapely

from tools.learning_pictures.canvas import HERE, PHOTOS_USED, SIZE, without_noise
from tools.learning_pictures.qualification import qualification
from tools.learning_pictures.recipes import Recipe
from tools.learning_pictures.tutorial import tutorial

# The two photographs that say who took them.
AUTHORS = {"bird-025.jpg": "Arend Vermazeren", "bird-029.jpg": "Graeme Darbyshire"}


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
