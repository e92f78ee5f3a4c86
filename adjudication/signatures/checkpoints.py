"""A release's place in the chain as a checkpoint of a transparency log (https://c2sp.org/tlog-checkpoint).

Pure: standard library only. Decision 0030 says why it has the head of a chain of hashes instead of a tree's root.
"""

import base64
import re
from dataclasses import dataclass

from adjudication.schema.release_format import parse_release_name
from adjudication.signatures.signed_note import NoteError, bytes_in_base64, check_key_name

_SIZE = re.compile(r"[1-9][0-9]{0,9}")
_HASH_BYTES = 32


@dataclass(frozen=True)
class Checkpoint:
    """The signed statement: `origin` names the contest's chain, `size` is how many releases it has (1 for the first),
    `sha256` in hexadecimal is the hash of the manifest of the newest, whose name is `name`."""

    origin: str
    size: int
    sha256: str
    name: str

    def text(self) -> str:
        """Return the text of the note."""
        head = base64.b64encode(bytes.fromhex(self.sha256)).decode("ascii")
        return f"{self.origin}\n{self.size}\n{head}\n{self.name}\n"


def parse_checkpoint(text: str) -> Checkpoint:
    """Read the text of a note; raises NoteError where it is not a checkpoint of a release."""
    lines = text.split("\n")
    if len(lines) != 5 or lines[4]:
        raise NoteError("a text of another number of lines than a checkpoint has")
    origin, size, head, name = lines[:4]
    if not _SIZE.fullmatch(size) or parse_release_name(name) is None:
        raise NoteError("a checkpoint without a place in the chain or a name of a release")
    digest = bytes_in_base64(head)
    if len(digest) != _HASH_BYTES:
        raise NoteError("a checkpoint without a SHA-256")
    found = Checkpoint(check_key_name(origin), int(size), digest.hex(), name)
    if found.text() != text:
        raise NoteError("a checkpoint in another form than the canonical one")
    return found
