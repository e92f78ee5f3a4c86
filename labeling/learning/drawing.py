"""Draws the pictures of a qualification attempt: every topic, in random order (R5). Pure."""

import json
from collections.abc import Hashable, Iterable, Sequence
from random import Random
from typing import TypeVar

from labeling.enums import TieBreak, Topic

Key = TypeVar("Key", bound=Hashable)


def draw_pictures(pool: Iterable[tuple[Key, Hashable]], size: int, rng: Random) -> list[Key] | None:
    """Return `size` keys of the pool's (key, kind) pairs; None when it has fewer.

    Every kind comes once before any comes twice; `rng` decides which pictures, and their order.
    """
    by_kind: dict[Hashable, list[Key]] = {}
    for key, kind in pool:
        by_kind.setdefault(kind, []).append(key)
    for keys in by_kind.values():
        rng.shuffle(keys)
    kinds = list(by_kind)
    drawn: list[Key] = []
    while len(drawn) < size and any(by_kind.values()):
        rng.shuffle(kinds)
        drawn += [by_kind[kind].pop() for kind in kinds if by_kind[kind]]
    rng.shuffle(kept := drawn[:size])
    return kept if len(kept) == size else None


def tie_break_for(topic: str, outline: str, *, width: int, rng: Random) -> TieBreak:
    """Return which of several equally large objects to outline, so that the known outline is the right one (R11).

    Where a picture shows several, the known outline is in the half of the right object. For other pictures the choice
    does not matter and is random.
    """
    if topic != Topic.SEVERAL or not outline:
        return rng.choice(list(TieBreak))
    return TieBreak.LEFTMOST if _middle(json.loads(outline)) * 2 < width else TieBreak.RIGHTMOST


def _middle(rings: Sequence[Sequence[Sequence[float]]]) -> float:
    across = [x for ring in rings for x, _ in ring]
    return (min(across) + max(across)) / 2
