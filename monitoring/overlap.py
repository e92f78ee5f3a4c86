"""Computes the mean overlap (intersection over union) of a panel's outlines, for many panels at once."""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np
import shapely

from monitoring.statistics import mean


def mean_overlaps(panels: Iterable[Mapping[int, str]]) -> dict[int, float]:
    """Return for each response with an outline the mean overlap, in percent, with the other outlines of its panel.

    `panels` give the outlines by response id. Whoever is alone with an outline is left out. Pair by pair would be three
    times slower: the geometry library takes all pairs at once.
    """
    drawn = [{response: outline for response, outline in panel.items() if outline} for panel in panels]
    pairs = [pair for panel in drawn for pair in combinations(panel, 2)]
    grounds = {response: _ground(outline) for panel in drawn if len(panel) > 1 for response, outline in panel.items()}
    found: dict[int, list[float]] = {}
    for (one, other), share in zip(pairs, _overlaps(pairs, grounds), strict=True):
        found.setdefault(one, []).append(share)
        found.setdefault(other, []).append(share)
    return {response: average for response, shares in found.items() if (average := mean(shares)) is not None}


def _overlaps(pairs: Sequence[tuple[int, int]], grounds: Mapping[int, shapely.Geometry]) -> list[float]:
    """Intersection over union of each pair, in percent."""
    ones = np.array([grounds[one] for one, _ in pairs], dtype=object)
    others = np.array([grounds[other] for _, other in pairs], dtype=object)
    shared = shapely.area(shapely.intersection(ones, others))
    covered = shapely.area(ones) + shapely.area(others) - shared
    shares: list[float] = (100 * shared / covered).tolist()
    return shares


def _ground(outline: str) -> shapely.Geometry:
    """The ground an outline covers; where two rings overlap it counts once."""
    rings = [shapely.Polygon(ring) for ring in json.loads(outline)]
    return rings[0] if len(rings) == 1 else shapely.union_all(rings)
