"""The chain of releases: each manifest holds the hash of the one published before it (R39).

Pure: standard library only.
"""

from pathlib import Path

from adjudication import release_format as form
from adjudication.verify_reading import Findings, Manifest, NotARelease, read_manifest


def check_chain(folder: Path, manifest: Manifest, previous: Path | None, findings: Findings) -> None:
    """Compare the release with `previous`, or with the releases that lie beside it."""
    if previous is not None:
        _check_previous(manifest, read_manifest(previous), findings)
        return
    others = _releases_beside(folder)
    _check_followers(manifest, others, findings)
    before = [other for other in others if other.name == manifest.values["previous_name"]]
    if not manifest.values["previous_sha256"]:
        _check_first(manifest, others, findings)
    elif before:
        _check_previous(manifest, before[0], findings)
    else:
        findings.notes.append(f"chain: {manifest.values['previous_name']} is not here to compare with")


def _releases_beside(folder: Path) -> list[Manifest]:
    beside = []
    for path in sorted(folder.resolve().parent.iterdir()):
        if path != folder.resolve() and (path / form.MANIFEST).is_file():
            try:
                beside.append(read_manifest(path))
            except NotARelease:
                continue  # some other folder that happens to hold a manifest
    return beside


def _check_previous(manifest: Manifest, previous: Manifest, findings: Findings) -> None:
    recorded = (manifest.values["previous_name"], manifest.values["previous_sha256"])
    if recorded == (previous.name, previous.sha256):
        findings.figures.append(f"chain: follows {previous.name}")
    else:
        findings.add(form.MANIFEST, "previous", " ".join(recorded) or "nothing", f"{previous.name} {previous.sha256}")


def _check_followers(manifest: Manifest, others: list[Manifest], findings: Findings) -> None:
    """Whatever names this release as the one before it names this very manifest."""
    for other in others:
        if other.values["previous_name"] == manifest.name and other.values["previous_sha256"] != manifest.sha256:
            findings.add(form.MANIFEST, f"chain to {other.name}", manifest.sha256, other.values["previous_sha256"])


def _check_first(manifest: Manifest, others: list[Manifest], findings: Findings) -> None:
    firsts = [other.name for other in others if not other.values["previous_sha256"]]
    if firsts:
        findings.add(form.MANIFEST, "previous", "the first release", f"{firsts[0]} is a first one too")
    else:
        findings.notes.append("chain: says that it is the first release")
