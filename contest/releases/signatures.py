"""Signs releases after they are published, and collects signatures of witnesses (R39, decision 0030).

A release is signed only after its record is committed: a signature can never be taken back. The next sweep signs what
a killed process left unsigned, and what could not be signed.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import structlog
from django.conf import settings
from django.db import transaction

from adjudication.schema import release_format as form
from adjudication.signatures.checking import read_signature
from adjudication.signatures.checkpoint_log import ForkError, open_checkpoint_log
from adjudication.signatures.checkpoints import Checkpoint, parse_checkpoint
from adjudication.signatures.key_files import KeyFileError, write_whole
from adjudication.signatures.key_history import KeyHistory, KeyStatement
from adjudication.signatures.mirroring import merge_notes
from adjudication.signatures.signed_note import (
    NoteError,
    SecretKey,
    SignatureKind,
    SignatureLine,
    SignedNote,
    VerifierKey,
    parse_note,
    parse_verifier_key,
    sign_note,
)
from adjudication.verifier.release_reader import file_sha256
from common.audit.trail import audit
from common.errors import Conflict, DomainError, InvalidInput
from contest.core.models import Release
from contest.releases.keys import public_keys, signing_key, write_public_keys
from contest.releases.selectors import release_named
from contest.releases.workplace import only_worker_in

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class SignedRelease:
    """A release, its number in the chain from 1 on, and its signed checkpoint; None while it is unsigned."""

    release: Release
    place: int
    note: SignedNote | None

    @property
    def signer(self) -> str:
        """Return name and ID of the contest's key; empty while it is unsigned."""
        return next((line.short for line in self._lines(False)), "")

    @property
    def witnesses(self) -> list[tuple[str, datetime]]:
        """Return name and ID of each witness, and when it signed."""
        signed = ((line.short, line.cosigned_time) for line in self._lines(True))
        return [(name, time) for name, time in signed if time is not None]

    def _lines(self, cosigned: bool) -> list[SignatureLine]:
        lines = self.note.lines if self.note else ()
        return [line for line in lines if (line.cosigned_at is not None) == cosigned]


@dataclass(frozen=True, slots=True)
class KeyFacts:
    """A key of the contest as people read it: `fingerprint` to compare by voice, `statement` the note that names it."""

    key: VerifierKey
    since: int
    fingerprint: str
    statement: str


def key_facts(statement: KeyStatement) -> KeyFacts:
    """Return what a page shows of a key."""
    return KeyFacts(statement.key, statement.since, fingerprint(statement.key), statement.note.encode().decode())


def fingerprint(key: VerifierKey) -> str:
    """Return the SHA-256 of a public key in groups of four digits."""
    digits = hashlib.sha256(key.public).hexdigest()
    return " ".join(digits[start : start + 4] for start in range(0, len(digits), 4))


# Signing -------------------------------------------------------------------------------------------------------------


def sign_releases(folder: Path) -> int:
    """Sign what lies in `folder` published and unsigned since its key was made; returns how many were signed.

    The caller holds the folder. Without a key, or where it cannot sign, releases stay unsigned: that is logged, and the
    organizers' page of releases says it.
    """
    try:
        key = signing_key(folder)
        return 0 if key is None else _sign(folder, key)
    except (DomainError, KeyFileError, ForkError, NoteError, OSError) as error:
        log.error("releases_not_signed", reason=str(error))
        return 0


def sign_left_releases() -> int:
    """Sign what an earlier process left unsigned; returns how many. Nothing while another one works on releases."""
    try:
        if not unsigned_releases(settings.RELEASE_DIR, by_newest_key=True):
            return 0
        with only_worker_in(settings.RELEASE_DIR):
            return sign_releases(settings.RELEASE_DIR)
    except Conflict as error:
        log.warning("releases_not_signed", reason=error.message)
        return 0


def _sign(folder: Path, key: SecretKey) -> int:
    keys, signed = public_keys(folder), 0
    left = [each for each in _unsigned(folder, keys) if keys.key_for(each.place) == key.verifier_key()]
    if not left:
        return 0
    with open_checkpoint_log(settings.RELEASE_KEY_FILE) as known:
        for each in left:
            checkpoint = _checkpoint(each.release, each.place, key.name)
            known.add(checkpoint)  # before the signature is anywhere
            note = SignedNote(checkpoint.text(), (sign_note(checkpoint.text(), key),))
            write_whole(folder / each.release.name / form.SIGNATURE, note.encode(), by_way_of=folder)
            signed += 1
    return signed


def unsigned_releases(folder: Path, *, by_newest_key: bool = False) -> list[Release]:
    """Return the releases in `folder` that a key should have signed and has not, oldest first; `by_newest_key` leaves
    out those of keys before it, which nobody can sign any more.

    Raises Conflict (`keys_damaged`).
    """
    keys = public_keys(folder)
    least = keys.newest.since if by_newest_key and keys.newest else 0
    return [each.release for each in _unsigned(folder, keys) if each.place >= least]


def signing_trouble(folder: Path) -> str:
    """Return in words what keeps releases from being signed that a key should sign; empty where nothing does."""
    try:
        left = len(unsigned_releases(folder))
    except Conflict as error:
        return error.message
    return f"{left:,} {'release is' if left == 1 else 'releases are'} not signed" if left else ""


def _unsigned(folder: Path, keys: KeyHistory) -> Iterator[SignedRelease]:
    if keys.newest is None:
        return
    for each in _published(folder, keys):
        here = (folder / each.release.name / form.MANIFEST).is_file()
        if here and each.note is None and keys.key_for(each.place) is not None:
            yield each


def signed_releases(folder: Path) -> list[SignedRelease]:
    """Return every release in the order of the chain with its signed checkpoint. Raises Conflict (`keys_damaged`)."""
    return list(_published(folder, public_keys(folder)))


def signed_release(folder: Path, release: Release) -> SignedRelease:
    """Return one release with its place in the chain and its signed checkpoint. Raises Conflict (`keys_damaged`)."""
    place = Release.objects.filter(pk__lte=release.pk).count()
    return SignedRelease(release, place, _own_note(folder, release, place, public_keys(folder).key_for(place)))


def _published(folder: Path, keys: KeyHistory) -> Iterator[SignedRelease]:
    for place, release in enumerate(Release.objects.order_by("pk"), start=1):
        yield SignedRelease(release, place, _own_note(folder, release, place, keys.key_for(place)))


def _own_note(folder: Path, release: Release, place: int, key: VerifierKey | None) -> SignedNote | None:
    """Return the note of a release where it is its checkpoint with the line of its key; whether that line was made by
    the key, whoever verifies finds out."""
    if key is None:
        return None
    try:
        note = read_signature(folder / release.name)
    except NoteError:
        return None
    if note is None or note.text != _checkpoint(release, place, key.name).text():
        return None
    return note if any(line.is_by(key) for line in note.lines) else None


def _checkpoint(release: Release, place: int, origin: str) -> Checkpoint:
    return Checkpoint(origin, place, release.manifest_sha256, release.name)


# Witnesses -----------------------------------------------------------------------------------------------------------


@transaction.atomic
def add_witnesses(data: bytes, *, folder: Path, now: datetime, vkey: str = "") -> tuple[Release, list[str]]:
    """Add the lines of known witnesses to a release's signature, each checked; `data` is a `manifest.sig` of theirs.

    `vkey` is the public key of a witness that is not known yet. Returns the release and the witnesses whose lines were
    added, and no name twice. Raises InvalidInput for what is no note of a published, signed release, and for one
    without a line of a known witness.
    """
    with only_worker_in(folder):
        keys = public_keys(folder)
        try:
            note = parse_note(data)
            release = release_named(parse_checkpoint(note.text).name)
            here = read_signature(folder / release.name)
            known = keys.with_witness(_witness_key(vkey, keys)) if vkey else keys
            lines = [line for key in known.witnesses if (line := note.check(key)) is not None]
            if late := [line.short for line in lines if line.cosigned_time is None]:
                raise NoteError(f"{', '.join(late)} signed at a time that no calendar has; it is in seconds since 1970")
            if here is None:
                raise NoteError(f"{release.name} is unsigned here")
            whole = merge_notes(here, SignedNote(note.text, tuple(lines)))
            parse_note(whole.encode())
        except NoteError as error:
            raise InvalidInput(f"Nothing was added: {error}.", "invalid", field="file") from error
        if not lines:
            message = "Nothing was added: no line is of a witness that is known. Name its public key with --vkey."
            raise InvalidInput(message, "unknown_witness", field="file")
        added = [line.short for line in whole.lines if line not in here.lines]
        subject, told = {"release": [release.name]}, {"witnesses": added}
        if added:
            audit("release_key.witness", by=None, subject=subject, now=now, public=told, published=True)
        if known != keys:
            write_public_keys(folder, known)
        write_whole(folder / release.name / form.SIGNATURE, whole.encode(), by_way_of=folder)
        return release, added


def _witness_key(vkey: str, keys: KeyHistory) -> VerifierKey:
    key = parse_verifier_key(vkey)
    if key.kind is not SignatureKind.COSIGNATURE:
        raise NoteError(f"{key.short} is not the key of a witness")
    if any(key.name == each.key.name for each in keys.statements):
        raise NoteError(f"{key.name} is the contest itself, and no witness")
    return key


def keep_witnesses(before: Path, folder: Path) -> None:
    """Add the signature lines of a release's folder to another folder of the same release: no line is lost when the one
    takes the place of the other."""
    try:
        note = read_signature(before)
        if note is None or parse_checkpoint(note.text).sha256 != file_sha256(folder, form.MANIFEST):
            return
        whole = merge_notes(read_signature(folder), note)
    except NoteError as error:
        log.error("signature_left_out", folder=before.name, reason=str(error))
        return
    write_whole(folder / form.SIGNATURE, whole.encode(), by_way_of=folder.parent)
