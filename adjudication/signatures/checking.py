"""Checks the signed checkpoint beside a release's manifest (`manifest.sig`), with a trusted key.

Pure: standard library only. A release without one is "unsigned"; a signature on a later release covers it, because each
manifest holds the hash of the one before it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from adjudication.schema import release_format as form
from adjudication.signatures.checkpoints import Checkpoint, parse_checkpoint
from adjudication.signatures.key_files import TrustedKeys
from adjudication.signatures.key_history import KEYS_FILE, MAX_KEYS_BYTES, FollowedKeys, follow_keys, read_keys
from adjudication.signatures.signed_note import MAX_NOTE_BYTES, NoteError, SignedNote, VerifierKey, parse_note
from adjudication.verifier.chain import releases_beside
from adjudication.verifier.findings import Findings
from adjudication.verifier.release_reader import Manifest
from adjudication.verifier.untrusted_files import NotARelease, NotThere, UnreadableFile, read_bytes


@dataclass
class SignatureReport:
    """The result of checking a release's signatures.

    `state` is `unsigned`, `not checked` (no key was given), `signed` (by the trusted key), `covered` (by the trusted
    key's signature on a later release) or `different`. Each of `lines` has `key` (name and ID), `state` (`verified`,
    `unknown key`, `not checked`) and `at`, when a witness signed, empty for others.
    """

    state: str
    place: int | None = None
    lines: list[dict[str, str]] = field(default_factory=list)


def read_signature(folder: Path) -> SignedNote | None:
    """Read `manifest.sig` in a release's folder; None where there is none, NoteError where it is not a note."""
    try:
        return parse_note(read_bytes(folder, form.SIGNATURE, MAX_NOTE_BYTES))
    except NotThere:
        return None
    except UnreadableFile as error:
        raise NoteError(str(error)) from error


def copy_signature(archive: Path, folder: Path) -> None:
    """Copy the signature and keys beside a zip to where it was unpacked: `NAME.sig` as `manifest.sig` of `folder`, and
    `keys.json`.

    In a mirror the signature is in the folder beside the zip instead. Both files are optional. Raises NotARelease where
    one of them cannot be read.
    """
    signature, keys = folder / form.SIGNATURE, folder.parent / KEYS_FILE
    if not _copy_file(archive.with_suffix(".sig"), signature, MAX_NOTE_BYTES):
        _copy_file(archive.with_suffix("") / form.SIGNATURE, signature, MAX_NOTE_BYTES)
    _copy_file(archive.parent / KEYS_FILE, keys, MAX_KEYS_BYTES)


def _copy_file(source: Path, place: Path, max_bytes: int) -> bool:
    try:
        place.write_bytes(read_bytes(source.parent, source.name, max_bytes))
    except NotThere:
        return False
    except UnreadableFile as error:
        raise NotARelease(f"{source}: {error}") from error
    return True


def read_checkpoint(folder: Path, manifest: Manifest) -> tuple[SignedNote, Checkpoint] | None:
    """Read the signed checkpoint of a release and compare it with its manifest; None where it is unsigned.

    Raises NoteError where it is not a note, or is about another manifest. No signature is checked.
    """
    note = read_signature(folder)
    if note is None:
        return None
    checkpoint = parse_checkpoint(note.text)
    if (checkpoint.name, checkpoint.sha256) != (manifest.name, manifest.sha256):
        raise NoteError(f"a checkpoint of {checkpoint.name} with the manifest {checkpoint.sha256}")
    if (checkpoint.size == 1) != (not manifest.values["previous_sha256"]):
        before = manifest.previous_name or "nothing"
        raise NoteError(f"number {checkpoint.size:,} of the chain, and its manifest follows {before}")
    return note, checkpoint


def list_releases_before(folder: Path, manifest: Manifest) -> list[Manifest]:
    """Return the releases beside `folder` before this one in the chain, newest first, until one is missing."""
    by_hash = {each.sha256: each for each in releases_beside(folder)}
    found: list[Manifest] = []
    while (before := by_hash.pop(manifest.values["previous_sha256"], None)) is not None:
        found.append(before)
        manifest = before
    return found


def check_signatures(
    folder: Path, manifest: Manifest, trusted: TrustedKeys | None, findings: Findings
) -> SignatureReport:
    """Check the signatures of the release in `folder`, and report the result in `findings`.

    Without `trusted` keys only the form is checked. With them, a release that their contest key neither signs nor
    covers differs, and so does a line that names one of them and was not made by it.
    """
    try:
        return _check(folder, manifest, trusted, findings)
    except NoteError as error:
        findings.add(form.SIGNATURE, "checkpoint", error, "the signed checkpoint of this manifest")
        return SignatureReport("different")


def read_contest_signature(
    folder: Path, manifest: Manifest, keys: FollowedKeys
) -> tuple[SignedNote, Checkpoint, VerifierKey] | None:
    """Return the checked note of a release, its checkpoint, and which of the keys signed; None where none of them did.

    Raises NoteError where the note exists and is false.
    """
    found = read_checkpoint(folder, manifest)
    if found is None:
        return None
    note, checkpoint = found
    key = keys.key_for(checkpoint.size)
    if key is None or note.check(key) is None:
        return None
    if key.name != checkpoint.origin:
        raise NoteError(f"a checkpoint of {checkpoint.origin}, signed by {key.short}")
    return note, checkpoint, key


def _check(folder: Path, manifest: Manifest, trusted: TrustedKeys | None, findings: Findings) -> SignatureReport:
    found = read_checkpoint(folder, manifest)
    if trusted is None:
        return _unchecked(found, findings)
    keys = follow_keys(trusted.contest, read_keys(folder.resolve().parent))
    signed = read_contest_signature(folder, manifest, keys)
    if signed is None:
        recorded = f"lines of {_names(found[0])}" if found else "unsigned"
        return _unsigned(folder, manifest, keys, recorded, f"a signature of {trusted.contest.short}", findings)
    note, checkpoint, key = signed
    check_place(checkpoint, folder, manifest)
    report = SignatureReport("signed", checkpoint.size, list(_lines(note, (key, *trusted.witnesses))))
    findings.figures.append(f"signature: {key.short} signs release number {checkpoint.size:,} of the chain")
    for line in report.lines:
        if line["at"]:
            findings.note(f"witness: {line['key']}, {line['at']}: {line['state']}")
    return report


def check_place(checkpoint: Checkpoint, folder: Path, manifest: Manifest) -> None:
    """Raise NoteError where a checkpoint's number differs from the release's position among its neighbours. Not checked
    where an earlier release is missing."""
    before = list_releases_before(folder, manifest)
    if not (before[-1] if before else manifest).values["previous_sha256"] and checkpoint.size != len(before) + 1:
        raise NoteError(f"number {checkpoint.size:,} of the chain, and {len(before):,} releases lie before it")


def _unchecked(found: tuple[SignedNote, Checkpoint] | None, findings: Findings) -> SignatureReport:
    if found is None:
        findings.note("signature: unsigned")
        return SignatureReport("unsigned")
    note, checkpoint = found
    findings.note(f"signature: not checked, give the contest's key with --key; the lines name {_names(note)}")
    return SignatureReport("not checked", checkpoint.size, list(_lines(note, None)))


def _unsigned(
    folder: Path, manifest: Manifest, keys: FollowedKeys, recorded: str, follows: str, findings: Findings
) -> SignatureReport:
    """Look for a later release that the keys sign: its checkpoint commits to everything before it."""
    for later in _followers(folder, manifest):
        try:
            signed = read_contest_signature(folder.resolve().parent / later.name, later, keys)
        except NoteError:
            continue  # it covers nothing; the check of that release reports what is wrong
        if signed is not None:
            _, checkpoint, key = signed
            findings.note(f"signature: unsigned, and covered by the signature of {key.short} on {later.name}")
            return SignatureReport("covered", checkpoint.size)
    findings.add(form.SIGNATURE, "signature", recorded, f"{follows}, or of a later key that {KEYS_FILE} beside names")
    return SignatureReport("unsigned")


def _names(note: SignedNote) -> str:
    return ", ".join(line.short for line in note.lines)


def _followers(folder: Path, manifest: Manifest) -> Iterator[Manifest]:
    """Yield the neighbouring releases that come after this one in the chain, each found by its predecessor's hash."""
    # Of two that follow the same one, the first by name is taken.
    following = {each.values["previous_sha256"]: each for each in reversed(releases_beside(folder))}
    while (after := following.pop(manifest.sha256, None)) is not None:
        yield after
        manifest = after


def _lines(note: SignedNote, known: tuple[VerifierKey, ...] | None) -> Iterator[dict[str, str]]:
    """Yield the result for each line; raises NoteError for a line that names a known key and was not made by it."""
    for line in note.lines:
        state = "not checked" if known is None else "unknown key"
        for key in known or ():
            if line.is_by(key):
                note.check(key)
                state = "verified"
        at = line.cosigned_time
        yield {"key": line.short, "state": state, "at": f"{at:%Y-%m-%dT%H:%M:%SZ}" if at else ""}
