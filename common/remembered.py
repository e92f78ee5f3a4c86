"""Caches the results of slow reads for some seconds."""

from collections.abc import Callable
from typing import TypeVar

from django.core.cache import cache

T = TypeVar("T")


def remembered(key: str, seconds: float, read: Callable[[], T]) -> T:
    """Return what `read` returned for this key within the last `seconds`; afterwards `read` is called again."""
    found: T | None = cache.get(key)
    if found is None:
        found = read()
        cache.set(key, found, seconds)
    return found
