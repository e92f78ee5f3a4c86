"""`python -m adjudication.witness DIR --key FILE`: check releases and add a witness's signature to them (R39).

DIR is a release or a mirror. A witness signs that it has seen this release in this place of the chain, that all derived
rows are right, and that nothing it saw before was changed. It signs only one release for each place of the chain.
Needs Python alone, on Linux or macOS. Exit status: 0 the newest release has this witness's signature, 1 a release was
refused, 2 there is no key or no release.
"""

import sys
import time
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from adjudication.schema import release_format as form
from adjudication.signatures.checking import check_place, list_releases_before, read_checkpoint, read_contest_signature
from adjudication.signatures.checkpoint_log import CheckpointLog, ForkError, open_checkpoint_log
from adjudication.signatures.checkpoints import Checkpoint
from adjudication.signatures.key_files import (
    KeyFileError,
    make_secret_key,
    read_secret_key,
    read_trusted_keys,
    write_secret_key,
    write_whole,
)
from adjudication.signatures.key_history import follow_keys, read_keys
from adjudication.signatures.signed_note import (
    NoteError,
    SecretKey,
    SignatureKind,
    SignedNote,
    VerifierKey,
    cosign_note,
    parse_note,
)
from adjudication.verifier.release_reader import Manifest, read_manifest
from adjudication.verifier.terminal import show
from adjudication.verifier.untrusted_files import NotARelease, names_in
from adjudication.verify import KEY_HELP, verify

ALL_SIGNED, REFUSED, NOTHING_TO_SIGN = 0, 1, 2
_MAX_LISTED = 5


class WitnessRefusal(Exception):
    """A witness refuses to sign a release; the text says why."""


@dataclass(frozen=True)
class _Signed:
    """A release in a folder, with the contest's checkpoint of it."""

    place: Path
    manifest: Manifest
    checkpoint: Checkpoint


def signed_releases(folder: Path) -> list[_Signed]:
    """Return the release in `folder`, or the signed releases of a mirror, in the order of the chain.

    Raises NotARelease where there is none, WitnessRefusal where `folder` is a release that is unsigned or has the
    checkpoint of another one.
    """
    folder = folder.resolve()
    if (folder / form.MANIFEST).exists():
        found = _signed(folder)
        if found is None:
            raise WitnessRefusal(f"{folder}: unsigned: the contest signs first, and a witness below it")
        return [found]
    names = [name for name in names_in(folder) if form.parse_release_name(name)]
    places = [folder / name for name in names if (folder / name / form.MANIFEST).is_file()]
    if not places:
        raise NotARelease(f"{folder} is no release, and none lies in it")
    return sorted((each for place in places if (each := _signed(place))), key=lambda each: each.checkpoint.size)


def _signed(place: Path) -> _Signed | None:
    manifest = read_manifest(place)
    try:
        found = read_checkpoint(place, manifest)
    except NoteError as error:
        raise WitnessRefusal(f"{place}: {form.SIGNATURE}: {error}") from error
    return None if found is None else _Signed(place, manifest, found[1])


def witness(release: _Signed, key: SecretKey, log: CheckpointLog, *, first: VerifierKey | None, at: int) -> bool:
    """Check a release and add this witness's signature; returns False where it has signed before.

    `first` is the contest's key if given; else the key that this witness recorded first, or the first that the
    contest names. `at` is the time in seconds since 1970. Raises WitnessRefusal, or ForkError for another release
    in a place of the chain that is signed.
    """
    contest = _contest_key(release, log, first)
    try:
        note = _checked(release, key, log, contest)
        if note is None:
            return False
        signed = note.with_line(cosign_note(note.text, key, at=at)).encode()
        parse_note(signed)  # with one more line it may be longer than readers accept
    except NoteError as error:
        raise WitnessRefusal(f"{release.manifest.name}: {error}") from error
    if log.contest(contest.name) is None:
        log.add_contest(contest)
        show(f"The contest's key is {contest}. Compare it with what the contest publishes: it is trusted from now on.")
    log.add(release.checkpoint)  # before the signature is written
    write_whole(release.place / form.SIGNATURE, signed, by_way_of=release.place.resolve().parent)
    return True


def _checked(release: _Signed, key: SecretKey, log: CheckpointLog, contest: VerifierKey) -> SignedNote | None:
    """Return the note that this witness can sign; None where it has signed."""
    keys = follow_keys(contest, read_keys(release.place.resolve().parent))
    signed = read_contest_signature(release.place, release.manifest, keys)
    if signed is None:
        raise WitnessRefusal(f"{release.manifest.name} is not signed by {contest.short} or a later key of the contest")
    log.check(release.checkpoint)
    note, _, _ = signed
    if note.check(key.verifier_key(SignatureKind.COSIGNATURE)) is not None:
        return None
    check_place(release.checkpoint, release.place, release.manifest)
    _check_what_was_seen(release, log)
    if differences := verify(release.place).all_differences():
        for difference in differences[:_MAX_LISTED]:
            show(f"{release.manifest.name}: {difference}")
        raise WitnessRefusal(f"{release.manifest.name} is not signed: {len(differences):,} differences found")
    return note


def _contest_key(release: _Signed, log: CheckpointLog, first: VerifierKey | None) -> VerifierKey:
    """Return the contest's key from which the history of keys is followed."""
    known = log.contest(release.checkpoint.origin)
    if known is not None and first is not None and first != known:
        raise WitnessRefusal(f"this witness began with {known}, which is not the key that was given")
    return known or first or _named_key(release)


def _named_key(release: _Signed) -> VerifierKey:
    try:
        key = read_keys(release.place.resolve().parent).key_for(release.checkpoint.size)
    except NoteError as error:
        raise WitnessRefusal(str(error)) from error
    if key is None or key.name != release.checkpoint.origin:
        raise WitnessRefusal(
            "keys.json beside the release does not name its key. Mirror the contest again, or give --contest."
        )
    return key


def _check_what_was_seen(release: _Signed, log: CheckpointLog) -> None:
    """Check that the release follows in the chain the newest one that this witness signed."""
    checkpoint, latest = release.checkpoint, log.latest(release.checkpoint.origin)
    if latest is None or checkpoint.size == latest.size:
        return  # the same place and the same release: the process was killed before it wrote the signature
    if checkpoint.size < latest.size:
        raise WitnessRefusal(f"{checkpoint.name} is older than {latest.name}, whose signature commits to it as well")
    before, steps = list_releases_before(release.place, release.manifest), checkpoint.size - latest.size
    if len(before) < steps:
        raise WitnessRefusal(f"releases between {latest.name} and {checkpoint.name} are not here: mirror them first")
    log.check(replace(latest, sha256=before[steps - 1].sha256))


# The command ---------------------------------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line and return the exit status."""
    parser = ArgumentParser(prog="python -m adjudication.witness", description="Sign releases as a witness.")
    parser.add_argument("folder", type=Path, nargs="?", metavar="DIR", help="a release, or a mirror with all of them")
    parser.add_argument("--key", type=Path, required=True, metavar="FILE", help="the witness's own secret key")
    parser.add_argument("--new", metavar="NAME", help="make the key; NAME is yours, as mirror.example.org")
    contest_help = f"the contest's key, where it is not to be taken from its keys.json at first: {KEY_HELP}"
    parser.add_argument("--contest", type=Path, metavar="FILE", help=contest_help)
    options = parser.parse_args(arguments)
    if (options.folder is None) == (options.new is None):
        parser.error("name a folder with releases, or make a key with --new")
    try:
        if options.new is not None:
            return _make_key(options.key, options.new)
        return _witness_all(options.folder, options.key, options.contest)
    except (KeyFileError, NoteError, NotARelease) as error:
        show(error, stream=sys.stderr)
        return NOTHING_TO_SIGN
    except (WitnessRefusal, ForkError, OSError) as error:
        show(error, stream=sys.stderr)
        return REFUSED


def _make_key(path: Path, name: str) -> int:
    key = make_secret_key(name)
    write_secret_key(path, key)
    show(f"# The secret key is in {path}: keep it, and show it to nobody. This is the public one:")
    show(key.verifier_key(SignatureKind.COSIGNATURE))
    return ALL_SIGNED


def _witness_all(folder: Path, path: Path, contest: Path | None) -> int:
    key = read_secret_key(path)
    first = read_trusted_keys(contest).contest if contest else None
    with open_checkpoint_log(path) as log:
        releases = signed_releases(folder)
        if not releases:
            show(f"{folder}: every release is unsigned, and there is nothing to witness.")
        for release in releases:
            latest = log.latest(release.checkpoint.origin)
            if len(releases) > 1 and latest is not None and release.checkpoint.size < latest.size:
                log.check(release.checkpoint)  # the newer one commits to it
                continue
            new = witness(release, key, log, first=first, at=int(time.time()))
            show(f"{release.manifest.name}: {'signed' if new else 'was signed before'} as {key.name}")
    return ALL_SIGNED


if __name__ == "__main__":
    sys.exit(main())
