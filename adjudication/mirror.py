"""`python -m adjudication.mirror URL DIR`: download all published releases and check them (R39).

Fetches the list of releases and every release in it, resuming where an interrupted run stopped, and compares hashes,
chain and every derived row. Needs nothing but Python. Exit status: 0 every release is here and nothing differs, 1 a
difference was found, 2 the contest did not answer. Another run fetches new releases and checks all of them again.
"""

import os
import re
import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import IO
from urllib.error import HTTPError
from urllib.parse import urljoin
from urllib.request import Request, urlopen

from adjudication.report import verdict
from adjudication.schema import release_format as form
from adjudication.signatures.checking import check_signatures
from adjudication.signatures.key_files import KeyFileError, TrustedKeys, read_trusted_keys, write_whole
from adjudication.signatures.key_history import KEYS_FILE, MAX_KEYS_BYTES
from adjudication.signatures.mirroring import keep_keys, keep_signature
from adjudication.signatures.signed_note import MAX_NOTE_BYTES
from adjudication.verifier.chain import ListedRelease, check_listed_release, check_release_list, parse_listed_release
from adjudication.verifier.findings import Findings
from adjudication.verifier.release_reader import read_manifest
from adjudication.verifier.release_zip import MAX_RELEASE_BYTES, DamagedZip, Progress, need_room, unpack_release
from adjudication.verifier.terminal import show
from adjudication.verifier.untrusted_files import (
    MAX_LIST_BYTES,
    NotARelease,
    NotThere,
    UnreadableFile,
    read_bytes,
    read_json,
)
from adjudication.verify import KEY_HELP, verify

LIST = "releases.json"
NOTHING_DIFFERS, DIFFERENT, NOT_CHECKED = 0, 1, 2

_ADDRESS = "api/v1/releases/"
SECONDS = 60
_TRIES = 5
_PIECE = 1 << 20
# A strong ETag, which a later request can repeat in `If-Range`.
_TAG = re.compile(r'"[!#-~]{1,200}"')
# Errors of a response: of the network, the protocol, and unreadable values.
_FETCH_ERRORS = (OSError, HTTPException, ValueError)


class ContestUnreachable(Exception):
    """The contest does not answer, or not with a list of releases."""


class _TooMuch(Exception):
    """The server sends more bytes than the list of releases says."""


def mirror(url: str, folder: Path, progress: Progress, keys: TrustedKeys | None = None) -> list[str]:
    """Bring `folder` up to date with the contest at `url`; returns the differences, in words. With `keys` signatures
    are checked as well.

    Raises ContestUnreachable. Releases that are in `folder` are checked and never overwritten.
    """
    folder.mkdir(parents=True, exist_ok=True)
    data = _list_at(urljoin(url.rstrip("/") + "/", _ADDRESS))
    releases = _listed(data, url)
    differences = [*check_release_list(releases), *_missing_or_changed(folder / LIST, releases)]
    for release in releases:
        differences += _bring(release, url, folder, progress)
    differences += _bring_signatures(releases, url, folder)
    for number, (before, release) in enumerate(zip([None, *releases], releases, strict=False), start=1):
        progress("releases checked", number, len(releases))
        differences += _checked(release, before, folder, keys)
    if not differences:
        write_whole(folder / LIST, data, by_way_of=folder)
    return differences


# The list ------------------------------------------------------------------------------------------------------------


def _list_at(address: str) -> bytes:
    try:
        with _open_url(address) as answer:
            return answer.read(MAX_LIST_BYTES)
    except _FETCH_ERRORS as error:
        raise ContestUnreachable(f"{address} does not answer: {error}") from error


def _open_url(address: str, headers: dict[str, str] | None = None) -> HTTPResponse:
    opened: HTTPResponse = urlopen(Request(address, headers=headers or {}), timeout=SECONDS)
    return opened


def _listed(data: bytes, url: str) -> list[ListedRelease]:
    try:
        return [parse_listed_release(row) for row in read_json(data)["releases"]]
    except (ValueError, KeyError, TypeError) as error:
        raise ContestUnreachable(f"{url} answers, but not with a list of releases: {error!r}") from error


def _missing_or_changed(known: Path, releases: Sequence[ListedRelease]) -> Iterator[str]:
    """Yield the releases of an earlier run that are missing from the list or have another manifest now."""
    now = {release.name: release.manifest_sha256 for release in releases}
    for release in _releases_of_last_run(known):
        if now.get(release.name) != release.manifest_sha256:
            follows = f"manifest {release.manifest_sha256}, as it was before"
            fork = " (fork: two releases of one name)" if release.name in now else ""
            yield f"list: {release.name}: recorded {now.get(release.name, 'nothing')}, follows {follows}{fork}"


def _releases_of_last_run(known: Path) -> list[ListedRelease]:
    """Return the releases listed in an earlier run; raises ContestUnreachable where its list is damaged."""
    try:
        return [parse_listed_release(row) for row in read_json(read_bytes(known.parent, known.name))["releases"]]
    except NotThere:
        return []
    except (UnreadableFile, ValueError, KeyError, TypeError) as error:
        words = f"{known}, the list of an earlier run, cannot be read: {error!r}. Put it right or take it away."
        raise ContestUnreachable(words) from error


# One release ---------------------------------------------------------------------------------------------------------


def _bring(release: ListedRelease, url: str, folder: Path, progress: Progress) -> Iterator[str]:
    """Fetch and unpack a release that is not in the mirror; yields what goes wrong."""
    archive = folder / f"{release.name}.zip"
    if not archive.exists():
        try:
            _fetch(release, url, archive, progress)
        except (*_FETCH_ERRORS, _TooMuch) as error:
            yield f"{release.name}: not fetched: {error}"
            return
    if not (folder / release.name).exists():
        yield from _unpacked(release, archive, folder, progress)


def _unpacked(release: ListedRelease, archive: Path, folder: Path, progress: Progress) -> Iterator[str]:
    """Unpack a zip. One that is not the listed release is moved aside and kept for inspection."""
    try:
        unpack_release(archive, release, folder, progress)
    except DamagedZip as error:
        aside = archive.with_suffix(".zip.damaged")
        os.replace(archive, aside)
        yield f"{release.name}: the zip is damaged ({error}); it is now {aside.name}, the next run fetches it anew"
    except (OSError, NotARelease) as error:
        yield f"{release.name}: not unpacked: {error}"


def _fetch(release: ListedRelease, url: str, archive: Path, progress: Progress) -> None:
    """Fetch the zip, resuming where an earlier attempt stopped, and retry when the connection breaks."""
    if release.size > MAX_RELEASE_BYTES:
        raise _TooMuch(f"{release.size:,} bytes are listed, and {MAX_RELEASE_BYTES:,} are the most that is taken")
    part = archive.with_suffix(".zip.part")
    # Fetched from the host of the list: behind a proxy the address in the list may name another host.
    address = urljoin(url.rstrip("/") + "/", f"releases/{archive.name}")
    for left in reversed(range(_TRIES)):
        try:
            _fetch_rest(release, address, part, progress)
            break
        except _TooMuch:
            part.unlink()
            raise
        except _FETCH_ERRORS as error:
            if not left or _is_refused(error):
                raise
            if _is_past_the_end(error):
                part.unlink(missing_ok=True)
    os.replace(part, archive)
    _tag_beside(part).unlink(missing_ok=True)


def _is_refused(error: Exception) -> bool:
    """Say whether the server refuses the request, so that a retry is useless."""
    return isinstance(error, HTTPError) and error.code < 500 and not _is_past_the_end(error)


def _is_past_the_end(error: Exception) -> bool:
    """Say whether the partial file is longer than the file on the server (HTTP 416)."""
    return isinstance(error, HTTPError) and error.code == 416


def _fetch_rest(release: ListedRelease, address: str, part: Path, progress: Progress) -> None:
    """Request the missing bytes. A file that changed meanwhile is sent from its beginning."""
    known = _known_tag(part)
    have = part.stat().st_size if known and part.is_file() else 0
    if have == release.size:
        return
    need_room(part.parent, release.size - have)
    headers = {"Range": f"bytes={have}-", "If-Range": known} if have else {}
    with _open_url(address, headers) as answer, part.open("ab" if have and answer.status == 206 else "wb") as file:
        _tag_beside(part).write_text(_tag_in(answer.headers.get("ETag") or ""), "ascii")
        _copy(answer, file, release, progress)


def _tag_beside(part: Path) -> Path:
    return part.with_suffix(".etag")


def _known_tag(part: Path) -> str:
    """Return the ETag of the file of which `part` is the beginning; empty where it is not known."""
    tag = _tag_beside(part)
    return _tag_in(tag.read_text("ascii", "replace")) if tag.is_file() else ""


def _tag_in(text: str) -> str:
    return text if _TAG.fullmatch(text) else ""


def _copy(source: HTTPResponse, file: IO[bytes], release: ListedRelease, progress: Progress) -> None:
    """Copy the response to a file, at most as many bytes as the list says."""
    while piece := source.read(_PIECE):
        if file.tell() + len(piece) > release.size:
            raise _TooMuch(f"more came than the {release.size:,} bytes that are listed")
        file.write(piece)
        progress(release.name, file.tell(), release.size)
    if file.tell() < release.size:
        raise OSError(f"the answer ended after {file.tell():,} of {release.size:,} bytes")


# Signatures ----------------------------------------------------------------------------------------------------------


def _bring_signatures(releases: Sequence[ListedRelease], url: str, folder: Path) -> Iterator[str]:
    """Fetch keys and signatures again: witnesses add lines to them. Releases listed without one are unsigned."""
    base = urljoin(url.rstrip("/") + "/", "releases/")
    signed = [release.name for release in releases if release.signed and (folder / release.name).is_dir()]
    try:
        if signed and (data := _small_file(base + KEYS_FILE, MAX_KEYS_BYTES)):
            yield from keep_keys(folder, data)
        for name in signed:
            if data := _small_file(f"{base}{name}/{form.SIGNATURE}", MAX_NOTE_BYTES):
                yield from keep_signature(folder / name, data)
    except _FETCH_ERRORS as error:
        yield f"signatures: not fetched: {error}"


def _small_file(address: str, max_bytes: int) -> bytes | None:
    """Return a file of the contest, at most `max_bytes` + 1 bytes of it; None where it does not exist."""
    try:
        with _open_url(address) as answer:
            return answer.read(max_bytes + 1)
    except HTTPError as error:
        if error.code in (404, 410):
            return None
        raise


def _checked(
    release: ListedRelease, before: ListedRelease | None, folder: Path, keys: TrustedKeys | None
) -> Iterator[str]:
    """Check a release in the mirror: that it is the listed one, and everything that is derived from its files."""
    place, findings = folder / release.name, Findings()
    if not place.is_dir():
        return  # reported before
    try:
        manifest = read_manifest(place)
        check_listed_release(release, before, manifest, findings)
        check_signatures(place, manifest, keys, findings)
        yield from findings.differences
        yield from (f"{release.name}: {each}" for each in verify(place).all_differences())
    except NotARelease as error:
        yield f"{release.name}: {error}"


# The command ---------------------------------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line and return the exit status."""
    parser = ArgumentParser(prog="python -m adjudication.mirror", description="Copy and check all weekly releases.")
    parser.add_argument("url", help="the contest, for example https://contest.example.org")
    parser.add_argument("folder", type=Path, help="where the copy lies; made when it is not there")
    parser.add_argument("--key", type=Path, metavar="FILE", help=KEY_HELP)
    parser.add_argument("--quiet", action="store_true", help="print differences alone")
    options = parser.parse_args(arguments)
    return mirror_and_report(options.url, options.folder, key=options.key, quiet=options.quiet)


def mirror_and_report(url: str, folder: Path, *, key: Path | None = None, quiet: bool = False) -> int:
    """Mirror, print what differs, and return the exit status. `key` is a file of trusted keys."""
    try:
        keys = read_trusted_keys(key) if key else None
        differences = mirror(url, folder, _show_progress if not quiet else lambda *_: None, keys)
    except (ContestUnreachable, KeyFileError, OSError) as error:
        show(error, stream=sys.stderr)
        return NOT_CHECKED
    for difference in differences:
        show(difference)
    if not quiet:
        show(verdict(len(differences)))
    return DIFFERENT if differences else NOTHING_DIFFERS


def _show_progress(what: str, done: int, total: int) -> None:
    """Print the progress: on a terminal after every piece, elsewhere one line for each finished step."""
    finished = done >= total
    if sys.stderr.isatty():
        show(f"{what}: {done:,} of {total:,}", stream=sys.stderr, end="\n" if finished else "", over=True)
    elif finished:
        show(f"{what}: {total:,}", stream=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
