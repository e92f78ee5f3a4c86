"""`python -m adjudication.mirror URL DIR`: keep a whole copy of what the contest published, and check it (R39).

Fetches the list of releases and every release in it, going on where an interrupted run stopped, and compares hashes,
chain and every derived row. Needs nothing but Python. Exit status: 0 all of it is here and nothing differs, 1 something
does, 2 the contest could not be asked. Running it again fetches what is new and checks everything anew.
"""

import json
import os
import re
import shutil
import sys
import zipfile
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Any, TypeAlias
from urllib.error import HTTPError
from urllib.parse import urljoin
from urllib.request import Request, urlopen

from adjudication import release_format as form
from adjudication.verify import verify
from adjudication.verify_reading import NotARelease, file_sha256

LIST = "releases.json"
NOTHING_DIFFERS, DIFFERENT, NOT_ASKED = 0, 1, 2
# What is done, of how much, in words.
Progress: TypeAlias = Callable[[str, int, int], None]

_ADDRESS = "api/v1/releases/"
_SECONDS = 60
_TRIES = 5
_PIECE = 1 << 20
_MOST_LIST_BYTES = 1 << 26
_NAME = re.compile(r"release-\d{4}-W\d{2}(?:-errata-[1-9]\d{0,3})?")
_SHA256 = re.compile(r"[0-9a-f]{64}|")


class Unreachable(Exception):
    """The contest does not answer, or not with a list of releases."""


@dataclass(frozen=True)
class Listed:
    """A release as the contest lists it. `previous` is the SHA-256 of the manifest published before, empty at first."""

    name: str
    manifest_sha256: str
    previous: str
    size: int
    address: str


def mirror(url: str, folder: Path, progress: Progress) -> list[str]:
    """Bring `folder` up to date with the contest at `url`; returns what differs, in words.

    Raises Unreachable. What lies in `folder` already is checked and never written over.
    """
    folder.mkdir(parents=True, exist_ok=True)
    data = _list_at(urljoin(url.rstrip("/") + "/", _ADDRESS))
    releases = list(_listed(data, url))
    differences = [*_chain(releases), *_withdrawn(folder / LIST, releases)]
    for release in releases:
        differences += _bring(release, folder, progress)
    for number, release in enumerate(releases, start=1):
        progress("releases checked", number, len(releases))
        differences += _checked(release, folder)
    if not differences:
        _write_whole(folder / LIST, data)
    return differences


# The list ------------------------------------------------------------------------------------------------------------


def _list_at(address: str) -> bytes:
    try:
        with _opened(address) as answer:
            data: bytes = answer.read(_MOST_LIST_BYTES)
    except (OSError, HTTPException) as error:
        raise Unreachable(f"{address} does not answer: {error}") from error
    return data


def _opened(address: str, headers: dict[str, str] | None = None) -> HTTPResponse:
    opened: HTTPResponse = urlopen(Request(address, headers=headers or {}), timeout=_SECONDS)
    return opened


def _listed(data: bytes, url: str) -> Iterator[Listed]:
    """Read the list with mistrust: names and hashes go into paths and comparisons. Raises Unreachable."""
    try:
        for row in json.loads(data)["releases"]:
            yield _read(row, url)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise Unreachable(f"{url} answers, but not with a list of releases: {error!r}") from error


def _read(row: dict[str, Any], url: str) -> Listed:
    name, manifest, previous = str(row["name"]), str(row["manifest_sha256"]), str(row["previous_sha256"])
    if not (_NAME.fullmatch(name) and _SHA256.fullmatch(manifest) and _SHA256.fullmatch(previous) and manifest):
        raise ValueError(f"{name[:80]!r} is no release")
    # Asked where the list came from: the address in it may be another one, behind a proxy.
    return Listed(name, manifest, previous, int(row["bytes"]), urljoin(url.rstrip("/") + "/", f"releases/{name}.zip"))


def _chain(releases: Sequence[Listed]) -> Iterator[str]:
    """Each release names the manifest of the one before it."""
    before = ""
    for release in releases:
        if release.previous != before:
            recorded = f"recorded previous {release.previous or 'nothing'}"
            yield f"list: {release.name}: {recorded}, follows {before or 'nothing'}"
        before = release.manifest_sha256


def _withdrawn(known: Path, releases: Sequence[Listed]) -> Iterator[str]:
    """What an earlier run found published is published still, with the same manifest."""
    if not known.is_file():
        return
    now = {release.name: release.manifest_sha256 for release in releases}
    for row in json.loads(known.read_bytes())["releases"]:
        if now.get(row["name"]) != row["manifest_sha256"]:
            follows = f"manifest {row['manifest_sha256']}, as it was before"
            yield f"list: {row['name']}: recorded {now.get(row['name'], 'nothing')}, follows {follows}"


# One release ---------------------------------------------------------------------------------------------------------


def _bring(release: Listed, folder: Path, progress: Progress) -> Iterator[str]:
    """Fetch and unpack a release that is not here."""
    archive = folder / f"{release.name}.zip"
    try:
        if not archive.exists():
            _fetch(release, archive, progress)
        if not (folder / release.name).exists():
            _unpack(archive, release.name, folder, progress)
    except zipfile.BadZipFile as error:
        archive.unlink()
        yield f"{release.name}: the zip is damaged ({error}); it is fetched anew by the next run"
    except (OSError, HTTPException) as error:
        yield f"{release.name}: not fetched: {error}"


def _fetch(release: Listed, archive: Path, progress: Progress) -> None:
    """Fetch the zip, from where an earlier attempt stopped, and again where the wire is cut."""
    part = archive.with_suffix(".zip.part")
    for left in reversed(range(_TRIES)):
        try:
            _fetch_rest(release, part, progress)
            break
        except HTTPError as error:
            if error.code == 416:  # what is here is longer than what is there
                part.unlink()
            elif error.code < 500 or not left:
                raise
        except (OSError, HTTPException):
            if not left:
                raise
    os.replace(part, archive)


def _fetch_rest(release: Listed, part: Path, progress: Progress) -> None:
    """Ask for the bytes that are missing. A file that changed meanwhile comes from its beginning."""
    tag = part.with_suffix(".etag")
    have = part.stat().st_size if part.is_file() and tag.is_file() else 0
    headers = {"Range": f"bytes={have}-", "If-Range": tag.read_text("ascii")} if have else {}
    if have and have == release.size:
        return
    with _opened(release.address, headers) as answer:
        resumed = answer.status == 206
        total = (have if resumed else 0) + int(answer.headers.get("Content-Length") or 0)
        with part.open("ab" if resumed else "wb") as file:
            tag.write_text(answer.headers.get("ETag") or "", "ascii")
            _copy(answer, file, lambda done: progress(release.name, done, total))
            if file.tell() < total:
                raise OSError(f"the answer ended after {file.tell():,} of {total:,} bytes")
    tag.unlink()


def _copy(source: HTTPResponse, file: Any, told: Callable[[int], None]) -> None:
    while piece := source.read(_PIECE):
        file.write(piece)
        told(file.tell())


def _unpack(archive: Path, name: str, folder: Path, progress: Progress) -> None:
    """Unpack beside the place and rename when all of it is here. Only files that a release can have are written."""
    partial = folder / f".{name}.partial"
    if partial.exists():
        shutil.rmtree(partial)
    (partial / form.PICTURES).mkdir(parents=True)
    with zipfile.ZipFile(archive) as packed:
        entries = packed.infolist()
        for number, entry in enumerate(entries, start=1):
            _unpack_one(packed, entry, name, partial)
            progress(f"{name} unpacked", number, len(entries))
    os.rename(partial, folder / name)


def _unpack_one(packed: zipfile.ZipFile, entry: zipfile.ZipInfo, name: str, into: Path) -> None:
    top, _, path = entry.filename.partition("/")
    if top != name or not form.is_file(path):
        raise OSError(f"the zip holds {entry.filename[:120]!r}, which no release has")
    with packed.open(entry) as source, (into / path).open("xb") as file:
        shutil.copyfileobj(source, file, _PIECE)


def _checked(release: Listed, folder: Path) -> Iterator[str]:
    """Check what lies here: the manifest that was listed, and everything that follows from the files."""
    place = folder / release.name
    if not place.is_dir():
        return  # said already
    manifest = file_sha256(place / form.MANIFEST) if (place / form.MANIFEST).is_file() else "nothing"
    if manifest != release.manifest_sha256:
        yield f"{release.name}: manifest.json: recorded {release.manifest_sha256}, follows {manifest}"
    try:
        yield from (f"{release.name}: {each}" for each in verify(place).differences)
    except NotARelease as error:
        yield f"{release.name}: {error}"


def _write_whole(path: Path, data: bytes) -> None:
    beside = path.with_suffix(".part")
    beside.write_bytes(data)
    os.replace(beside, path)


# The command ---------------------------------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line and return the exit status."""
    parser = ArgumentParser(prog="python -m adjudication.mirror", description="Copy and check all weekly releases.")
    parser.add_argument("url", help="the contest, for example https://contest.example.org")
    parser.add_argument("folder", type=Path, help="where the copy lies; made when it is not there")
    parser.add_argument("--quiet", action="store_true", help="print differences alone")
    options = parser.parse_args(arguments)
    return run(options.url, options.folder, quiet=options.quiet)


def run(url: str, folder: Path, *, quiet: bool = False) -> int:
    """Mirror, print what differs, and return the exit status."""
    try:
        differences = mirror(url, folder, _Told() if not quiet else lambda *_: None)
    except Unreachable as error:
        print(error, file=sys.stderr)
        return NOT_ASKED
    for difference in differences:
        print(difference)
    if not quiet:
        number = len(differences)
        print(f"{number:,} difference{'s' if number != 1 else ''} found." if number else "Nothing differs.")
    return DIFFERENT if differences else NOTHING_DIFFERS


class _Told:
    """Says how far it is: on a terminal with every piece, elsewhere one line for each thing that is done."""

    def __call__(self, what: str, done: int, total: int) -> None:
        over = done >= total
        if sys.stderr.isatty():
            print(f"\r{what}: {done:,} of {total:,}", end="\n" if over else "", file=sys.stderr, flush=True)
        elif over:
            print(f"{what}: {total:,}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
