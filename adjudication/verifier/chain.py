"""Checks the chain of releases: each manifest holds the hash of the one published before it (R39).

Pure: standard library only.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adjudication.schema import release_format as form
from adjudication.verifier.findings import Findings
from adjudication.verifier.release_reader import Manifest, read_neighbour
from adjudication.verifier.terminal import printable
from adjudication.verifier.untrusted_files import NotARelease, names_in

_CELLS: Mapping[str, Callable[[str], object]] = {
    "name": form.parse_release_name,
    "week": re.compile(r"\d{4}-W\d{2}", re.ASCII).fullmatch,
    "manifest_sha256": re.compile(r"[0-9a-f]{64}").fullmatch,
    "previous_sha256": re.compile(r"(?:[0-9a-f]{64})?").fullmatch,
}
_SHOWN = 80
_NO_FORK = "one release of each name, and one after each"


@dataclass(frozen=True)
class ListedRelease:
    """A row of the contest's list of releases. `previous_sha256` is the hash of the manifest before, empty at first;
    `size` is the zip's, in bytes; `signed` says that the contest has a signature of the release."""

    name: str
    week: str
    part: int
    manifest_sha256: str
    previous_sha256: str
    size: int
    signed: bool = False


def parse_listed_release(row: Any) -> ListedRelease:
    """Read an untrusted row of the list: names and hashes are used in paths and comparisons, sizes as limits.

    Raises ValueError, KeyError or TypeError for an invalid row.
    """
    for key, parse in _CELLS.items():
        if parse(row[key]) is None:
            raise ValueError(f"{printable(row[key], _SHOWN)} is no {key} of a release")
    for key, least in (("part", 0), ("bytes", 1)):
        if type(row[key]) is not int or row[key] < least:
            raise ValueError(f"{printable(row[key], _SHOWN)} is no {key} of a release")
    return ListedRelease(
        **{key: row[key] for key in (*_CELLS, "part")}, size=row["bytes"], signed=bool(row.get("signature"))
    )


def check_release_list(releases: Sequence[ListedRelease]) -> list[str]:
    """Return the places where the list breaks the chain: each release must hold the manifest hash of the one before it,
    and the first must hold none."""
    previous, findings = "", Findings()
    for release in releases:
        if release.previous_sha256 != previous:
            _add(findings, release, "previous", release.previous_sha256, previous)
        previous = release.manifest_sha256
    named: dict[str, ListedRelease] = {}
    after: dict[str, ListedRelease] = {}
    for release in releases:
        first = (named.setdefault(release.name, release), after.setdefault(release.previous_sha256, release))
        for other in dict.fromkeys(first):
            if words := _fork_words(_link_of(release), _link_of(other)):
                _add(findings, release, "fork", words, _NO_FORK)
    return findings.differences


def check_listed_release(
    release: ListedRelease, previous: ListedRelease | None, manifest: Manifest, findings: Findings
) -> None:
    """Check that the list describes a release as its own manifest does. `previous` is the release listed before it.

    A list can be rewritten to hide a release; a manifest cannot, because the next one holds its hash.
    """
    for what, listed, follows in (
        ("name", release.name, manifest.values["name"]),
        ("week", release.week, manifest.values["week"]),
        ("part", release.part, manifest.values["part"]),
        ("manifest", release.manifest_sha256, manifest.sha256),
        ("previous", release.previous_sha256, manifest.values["previous_sha256"]),
        ("previous name", previous.name if previous else "", manifest.values["previous_name"]),
    ):
        if listed != follows:
            _add(findings, release, what, listed, follows)


def _add(findings: Findings, release: ListedRelease, what: str, recorded: object, follows: object) -> None:
    findings.add("list", release.name, f"{what} {str(recorded) or 'nothing'}", follows)


def check_chain(folder: Path, manifest: Manifest, previous: Path | None, findings: Findings) -> None:
    """Compare the release with `previous`, or with the releases in the same folder."""
    if previous is not None:
        _check_previous(manifest, read_neighbour(previous), findings)
        return
    others = releases_beside(folder)
    _check_followers(manifest, others, findings)
    for other in others:
        if words := _fork_words(_link_in(manifest), _link_in(other)):
            findings.add(form.MANIFEST, "fork", words, _NO_FORK)
    named = (manifest.previous_name, manifest.values["previous_sha256"])
    predecessors = [other for other in others if other.name == named[0] or other.sha256 == named[1]]
    if not manifest.values["previous_sha256"]:
        findings.note("chain: says that it is the first release")
    elif predecessors:
        _check_previous(manifest, predecessors[0], findings)
    else:
        findings.note(f"chain: {manifest.previous_name or 'the release before'} is not here to compare with")


def releases_beside(folder: Path) -> list[Manifest]:
    """Return the manifests of the releases in the same folder as this one."""
    here = folder.resolve()
    beside = []
    for name in names_in(here.parent):
        if name != here.name:
            try:
                beside.append(read_neighbour(here.parent / name))
            except NotARelease:
                continue  # some other folder
    return beside


def _check_previous(manifest: Manifest, previous: Manifest, findings: Findings) -> None:
    recorded = (manifest.values["previous_name"], manifest.values["previous_sha256"])
    if recorded == (previous.name, previous.sha256):
        findings.figures.append(printable(f"chain: follows {previous.name}"))
    else:
        findings.add(form.MANIFEST, "previous", " ".join(recorded) or "nothing", f"{previous.name} {previous.sha256}")


def _check_followers(manifest: Manifest, others: list[Manifest], findings: Findings) -> None:
    """Check that every release that names this one as its predecessor holds the hash of this manifest."""
    for other in others:
        if other.values["previous_name"] == manifest.name and other.values["previous_sha256"] != manifest.sha256:
            findings.add(form.MANIFEST, f"chain to {other.name}", manifest.sha256, other.values["previous_sha256"])


@dataclass(frozen=True)
class _Link:
    """A release in the chain: its name and hash, and those of the release that it follows, empty for a first one."""

    name: str
    sha256: str
    previous_name: str
    previous_sha256: str


def _link_of(release: ListedRelease) -> _Link:
    return _Link(release.name, release.manifest_sha256, "", release.previous_sha256)


def _link_in(manifest: Manifest) -> _Link:
    return _Link(manifest.name, manifest.sha256, manifest.previous_name, manifest.values["previous_sha256"])


def _fork_words(one: _Link, other: _Link) -> str:
    """Say how two releases fork the chain, by the same name or the same predecessor; empty where they do not."""
    if one.sha256 == other.sha256:
        return ""
    if one.name == other.name:
        return f"{other.name} has another manifest too, {other.sha256}"
    if not one.previous_sha256 and not other.previous_sha256:
        return f"{other.name} is a first one too"
    if one.previous_sha256 == other.previous_sha256 or one.previous_name and one.previous_name == other.previous_name:
        return f"{other.name} follows {one.previous_name or one.previous_sha256} too"
    return ""
