"""Writes the text of a release's `manifest.json`, with the hash of every file."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any


def manifest_text(head: Mapping[str, Any], files: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield `head` and then `files` (path, SHA-256; ascending) piece by piece.

    The text is what `json.dumps(..., indent=1, ensure_ascii=False)` makes of the whole, and a newline.
    """
    yield json.dumps(head, indent=1, ensure_ascii=False).removesuffix("\n}")
    yield ',\n "files": {'
    for number, (path, sha256) in enumerate(files):
        yield f'{"," if number else ""}\n  "{path}": "{sha256}"'
    yield "\n }\n}\n"
