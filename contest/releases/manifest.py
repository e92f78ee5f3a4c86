"""Writes `manifest.json` with the hash of every file."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, TextIO


class HashingText:
    """Passes text on and knows the SHA-256 of its UTF-8 bytes; without a file it only counts the hash."""

    def __init__(self, file: TextIO | None = None) -> None:
        self._file = file
        self._digest = hashlib.sha256()

    def write(self, text: str) -> None:
        """Take one piece of text."""
        self._digest.update(text.encode())
        if self._file is not None:
            self._file.write(text)

    def sha256(self) -> str:
        """Return the hash of everything so far, in hexadecimal."""
        return self._digest.hexdigest()


def write_manifest(out: HashingText, head: Mapping[str, Any], files: Iterable[tuple[str, str]]) -> str:
    """Write `head` and then `files` (path, SHA-256; ascending) piece by piece. Returns the manifest's own hash.

    The text is what `json.dumps(..., indent=1, ensure_ascii=False)` makes of the whole, and a newline.
    """
    out.write(json.dumps(head, indent=1, ensure_ascii=False).removesuffix("\n}"))
    out.write(',\n "files": {')
    for number, (path, sha256) in enumerate(files):
        out.write(f'{"," if number else ""}\n  "{path}": "{sha256}"')
    out.write("\n }\n}\n")
    return out.sha256()
