"""Updates signatures and keys in a mirror: lines are added and never lost, and changes are reported.

Pure: standard library only.
"""

from collections.abc import Iterator
from pathlib import Path

from adjudication.schema import release_format as form
from adjudication.signatures.checking import read_signature
from adjudication.signatures.checkpoints import parse_checkpoint
from adjudication.signatures.key_files import write_whole
from adjudication.signatures.key_history import KEYS_FILE, parse_keys, read_keys
from adjudication.signatures.signed_note import NoteError, SignedNote, parse_note
from adjudication.verifier.release_reader import file_sha256
from adjudication.verifier.untrusted_files import UnreadableFile


def merge_notes(here: SignedNote | None, other: SignedNote) -> SignedNote:
    """Return a note with the lines of both; raises NoteError where their texts differ, which is a fork of the chain."""
    if here is None:
        return other
    if here.text != other.text:
        raise NoteError(f"fork: two checkpoints of one release, {_line(here)} and {_line(other)}")
    for line in other.lines:
        here = here.with_line(line)
    return here


def keep_signature(place: Path, fetched: bytes) -> Iterator[str]:
    """Add the contest's lines to `manifest.sig` of the release in the folder `place`; yields differences."""
    try:
        here = read_signature(place)
        note = merge_notes(here, _parse_signature(place, fetched))
        data = note.encode()
        parse_note(data)  # with the lines of both it may be longer than readers accept
        if note != here:
            write_whole(place / form.SIGNATURE, data, by_way_of=place.parent)
    except (NoteError, UnreadableFile) as error:
        yield f"{place.name}: {form.SIGNATURE}: {error}"


def _parse_signature(place: Path, fetched: bytes) -> SignedNote:
    """Read a fetched note; raises NoteError where it is about another manifest, or not made by the key it names."""
    note = parse_note(fetched)
    checkpoint = parse_checkpoint(note.text)
    if (checkpoint.name, checkpoint.sha256) != (place.name, file_sha256(place, form.MANIFEST)):
        raise NoteError(f"a checkpoint of {checkpoint.name} with the manifest {checkpoint.sha256}")
    keys = read_keys(place.parent)
    for key in (*(each.key for each in keys.statements), *keys.witnesses):
        note.check(key)
    return note


def keep_keys(folder: Path, fetched: bytes) -> Iterator[str]:
    """Copy the contest's `keys.json` into the mirror's folder; yields differences from the mirror's own.

    A published statement is permanent: if one is missing or changed, that is a difference and the mirror's file stays.
    """
    try:
        here, other = read_keys(folder), parse_keys(fetched)
        if other.statements[: len(here.statements)] != here.statements:
            raise NoteError("a statement that was published before is missing or another one now")
        if other != here:
            write_whole(folder / KEYS_FILE, other.encode(), by_way_of=folder)
    except NoteError as error:
        yield f"{KEYS_FILE}: {error}"


def _line(note: SignedNote) -> str:
    return " ".join(note.text.split("\n"))
