"""Keeps for a while in the cache what takes long to read."""

from collections.abc import Callable
from typing import TypeVar

from django.core.cache import cache

T = TypeVar("T")


def remembered(key: str, seconds: float, read: Callable[[], T]) -> T:
    """Return what `read` returned for this key within the last `seconds`; it is asked again after them."""
    found: T | None = cache.get(key)
    if found is None:
        found = read()
        cache.set(key, found, seconds)
    return found
