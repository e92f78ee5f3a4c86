"""Outlines as SVG paths over a picture."""

import json


def drawn_outline(outline: str) -> str:
    """Return an outline in canonical JSON as the path of an SVG drawing in image pixels; empty for none."""
    rings = json.loads(outline) if outline else []
    return " ".join("M" + " L".join(f"{x:g},{y:g}" for x, y in ring) + " Z" for ring in rings)
