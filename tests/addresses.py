"""Every address that the site knows."""

from collections.abc import Iterator, Sequence

from django.urls import URLPattern, URLResolver, get_resolver


def patterns(
    within: Sequence[URLPattern | URLResolver] | None = None, before: str = "/"
) -> Iterator[tuple[str, URLPattern]]:
    """Yield each path, with its parameters as `<str:name>`, and its pattern."""
    for pattern in get_resolver().url_patterns if within is None else within:
        path = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from patterns(pattern.url_patterns, path)
        else:
            yield path, pattern
