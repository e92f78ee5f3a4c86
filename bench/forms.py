"""Filled-in forms as taskers send them: two single choices, an outline of 8 to 24 corners, three statements."""

import json
import math
from random import Random

IMAGE_SIZE = 299


def outline(rng: Random, size: int = IMAGE_SIZE) -> list[list[list[float]]]:
    """Return one simple ring around the middle of a picture of `size` pixels, corners with two decimals."""
    corners = rng.randint(8, 24)
    turns = sorted((corner + 0.8 * rng.random()) / corners for corner in range(corners))
    return [[_corner(turn, size * (0.28 + 0.2 * rng.random()), size) for turn in turns]]


def _corner(turn: float, radius: float, size: int) -> list[float]:
    angle = 2 * math.pi * turn
    return [round(size / 2 + radius * math.cos(angle), 2), round(size / 2 + radius * math.sin(angle), 2)]


def form(rng: Random, size: int = IMAGE_SIZE) -> dict[str, object]:
    """Return the members of a submission, without the lease token."""
    bird = rng.random() < 0.5
    return {
        "contains_bird": "definitely_yes" if bird else "definitely_no",
        "contains_bicycle": "definitely_no" if bird else "definitely_yes",
        "outline": outline(rng, size),
        "complete": rng.random() < 0.9,
        "unoccluded": rng.random() < 0.9,
        "real": rng.random() < 0.9,
        "seconds": round(5 + 20 * rng.random(), 1),
    }


def members(rng: Random) -> bytes:
    """Return a form as JSON without its opening brace, to be sent behind a lease token."""
    return json.dumps(form(rng), separators=(",", ":")).encode()[1:]
