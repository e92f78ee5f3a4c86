"""Draws the small pictures beside the rules of the instructions: worked examples of the tutorial with their outlines.

Run by hand in the repository root after the pictures to learn from have changed; what it writes is committed:

    python -m tools.learning_pictures.examples
"""

import json
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

from tools.learning_pictures.canvas import HERE

STATIC = Path("static/img/instructions")
# Those that `labeling.learning.examples` shows.
NAMES = (
    *("tutorial-03-neither-class", "tutorial-05-uncertain", "tutorial-07-too-small", "tutorial-08-truncated"),
    *("tutorial-09-truncated", "tutorial-11-occluded", "tutorial-12-occluded", "tutorial-14-painting"),
    *("tutorial-15-painting", "tutorial-16-toy", "tutorial-18-several"),
)
SIDE = 224
_FINE = 4  # drawn so many times larger first, so that lines are smooth
_LINES = ((7, "#faf9f6"), (3, "#0b6e6e"))  # pixels of the result: the halo, the line


def main() -> None:
    """Write every example."""
    STATIC.mkdir(parents=True, exist_ok=True)
    known = {Path(row["file"]).stem: row for row in json.loads((HERE / "known.json").read_text())}
    for name in NAMES:
        _drawn(known[name]).save(STATIC / f"{name}.webp", quality=80, method=6)


def _drawn(row: Any) -> Image.Image:
    with Image.open(HERE / row["file"]) as picture:
        scale = _FINE * SIDE / picture.width
        large = picture.convert("RGB").resize((_FINE * SIDE, _FINE * SIDE), Image.Resampling.LANCZOS)
    draw = ImageDraw.Draw(large)
    for width, colour in _LINES:
        for ring in row["outline"]:
            corners = [(x * scale, y * scale) for x, y in [*ring, ring[0], ring[1]]]
            draw.line(corners, colour, width * _FINE, joint="curve")
    return large.resize((SIDE, SIDE), Image.Resampling.LANCZOS)


if __name__ == "__main__":
    main()
