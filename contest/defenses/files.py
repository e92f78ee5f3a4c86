"""Lists the files that anybody may download of a published defense with open source (R31-R33).

Nothing can be downloaded before publication, nor while the source is closed: its image could be taken apart.
"""

from dataclasses import dataclass

from django.core.cache import cache

from contest.defenses.models import DefenseEntry
from picture_files.store import PictureMissing, picture_store
from scoring.models import Defense
from scoring.sealed import archive_key
from scoring.trials.submitted_files import source_key, weights_key

LICENCE = "licence.txt"
_REMEMBERED_SECONDS = 24 * 3600
_ZIP, _BYTES, _TAR = "application/zip", "application/octet-stream", "application/x-tar"


@dataclass(frozen=True, slots=True)
class Download:
    """A file: the end of its address, its title, SHA-256 and key in the store; `size` is None if it is missing."""

    name: str
    words: str
    sha256: str
    key: str
    content_type: str
    size: int | None


def open_entry(defense: Defense) -> DefenseEntry | None:
    """Return the entry of a defense with public files: it is published and its source is open; else None."""
    entry: DefenseEntry | None = getattr(defense, "entry", None)
    is_public = entry is not None and entry.opened_at is not None and defense.published_at is not None
    return entry if is_public else None


def downloads(defense: Defense) -> list[Download]:
    """Return the files of a defense for download; none if they are not public."""
    entry = open_entry(defense)
    return [] if entry is None else [each for each in _all(defense, entry) if each.sha256]


def _all(defense: Defense, entry: DefenseEntry) -> list[Download]:
    found = [
        ("source.zip", "source", defense.source, source_key, _ZIP),
        ("training-code.zip", "training code", entry.training_code, source_key, _ZIP),
        ("weights.bin", "weights", defense.weights, weights_key, _BYTES),
        ("image.tar", "image archive", defense.archive, archive_key, _TAR),
    ]
    return [
        Download(name, words, sha256, key(sha256), kind, _size(key(sha256)) if sha256 else None)
        for name, words, sha256, key, kind in found
    ]


def _size(key: str) -> int | None:
    """Return the size of a stored file, which never changes; None if the store does not have it."""
    try:
        return cache.get_or_set(f"size-{key}", lambda: picture_store().size(key), _REMEMBERED_SECONDS)
    except PictureMissing:
        return None


def licence_text(defense: Defense, entry: DefenseEntry, site: str) -> str:
    """Return the text of the licence file: whose the other files are, under which licence, and how to check them."""
    team = entry.team.name
    lines = [f"{defense.name} ({defense.public_id}), handed in by team {team}", f"{site}/defenses/{defense.public_id}/"]
    lines += ["", f"Licence: {entry.licence}", "", "SHA-256 of the files:"]
    lines += [f"{each.sha256}  {save_as(defense, each.name)}" for each in downloads(defense)]
    return "\n".join(lines) + "\n"


def save_as(defense: Defense, name: str) -> str:
    """Return the name under which a browser saves a file of a defense."""
    stem, dot, ending = name.partition(".")
    return f"{stem}-{defense.public_id}{dot}{ending}"
