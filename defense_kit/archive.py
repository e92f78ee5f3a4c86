"""Reads an image archive, what `docker save` writes, before any container engine sees it.

The archive is a stranger's. What it holds is checked here, and the names that it would give its image are left out of
what an engine is given: a name could take the place of another image's.
"""

import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from defense_kit.faults import Fault, RunnerFault

PLATFORM = ("linux", "amd64")
_MANIFEST, _INDEX, _NAMES = "manifest.json", "index.json", "repositories"
_LONGEST_JSON = 4 << 20
_CHUNK_BYTES = 1 << 20
# What a file that is no such archive, or says things of another form, is met with on the way.
_NOT_READABLE = (OSError, tarfile.TarError, ValueError, LookupError, TypeError, AttributeError, RecursionError)
_PLAIN = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE)


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """What an archive says of its image: its id (`sha256:…` of the configuration) and its layers' digests."""

    id: str
    layers: tuple[str, ...]


def read_archive(path: Path) -> ImageFacts:
    """Return the facts of the one image in the archive; `image_pull` with what to do when it is not such an archive."""
    try:
        with tarfile.open(path, "r:") as archive:
            _check_members(archive)
            return _facts(_member(archive, _configuration_name(archive)))
    except _NOT_READABLE as error:
        raise _refused(f"this is not an archive as docker save writes it, uncompressed: {error}") from None


def check_configuration(settings: Mapping[str, Any]) -> None:
    """Refuse an image that cannot run sealed, by the settings it brings along.

    A volume would be a part of the machine's disk without a limit, outside the read-only file system.
    """
    if settings.get("Volumes"):
        raise _refused("the image declares volumes; leave VOLUME out: /tmp is the only place that can be written")
    if not settings.get("Cmd") and not settings.get("Entrypoint"):
        raise _refused("the image does not say what to run; give it a CMD or an ENTRYPOINT")


def without_names(path: Path) -> Iterator[bytes]:
    """Yield the bytes of an archive that `read_archive` has passed, with no name for the image in them."""
    with tarfile.open(path, "r:") as archive:
        for member in archive:
            if member.name == _NAMES:
                continue
            yield from _copy(archive, member, _NAMELESS.get(member.name))
    yield bytes(2 * tarfile.BLOCKSIZE)


def _check_members(archive: tarfile.TarFile) -> None:
    """Refuse what could make the engine read another manifest than the one that is checked here."""
    seen: set[PurePosixPath] = set()
    links: set[PurePosixPath] = set()
    for member in archive:
        path = PurePosixPath(member.name)
        if member.type not in _PLAIN or path.is_absolute() or ".." in path.parts or str(path) != member.name:
            raise _refused(f"the archive holds something that does not belong there: {member.name[:100]}")
        if path in seen or links.intersection(path.parents):
            raise _refused(f"the archive holds {member.name[:100]} twice")
        seen.add(path)
        if member.issym():
            links.add(path)


def _copy(archive: tarfile.TarFile, member: tarfile.TarInfo, change: Callable[[Any], Any] | None) -> Iterator[bytes]:
    content = archive.extractfile(member) if member.isreg() else None
    if content is not None and change is not None:
        changed = json.dumps(change(json.loads(_member(archive, member.name)))).encode()
        content, member.size = io.BytesIO(changed), len(changed)
    yield member.tobuf()
    if content is None:
        return
    while chunk := content.read(_CHUNK_BYTES):
        yield chunk
    yield bytes(-member.size % tarfile.BLOCKSIZE)


def _nameless_manifest(manifest: Any) -> Any:
    return [{**image, "RepoTags": None} for image in manifest]


def _nameless_index(index: Any) -> Any:
    manifests = [{key: entry[key] for key in entry if key != "annotations"} for entry in index["manifests"]]
    return {**index, "manifests": manifests}


_NAMELESS = {_MANIFEST: _nameless_manifest, _INDEX: _nameless_index}


def _configuration_name(archive: tarfile.TarFile) -> str:
    manifest = json.loads(_member(archive, _MANIFEST))
    if len(manifest) != 1:
        raise _refused(f"the archive holds {len(manifest)} images, expected one")
    return str(manifest[0]["Config"])


def _facts(configuration: bytes) -> ImageFacts:
    settings = json.loads(configuration)
    check_configuration(settings.get("config") or {})
    platform = (settings["os"], settings["architecture"])
    if platform != PLATFORM:
        raise _refused(f"the image is for {'/'.join(map(str, platform))[:100]}, expected {'/'.join(PLATFORM)}")
    layers = tuple(str(layer) for layer in settings["rootfs"]["diff_ids"])
    return ImageFacts(f"sha256:{hashlib.sha256(configuration).hexdigest()}", layers)


def _member(archive: tarfile.TarFile, name: str) -> bytes:
    """Return a small file of the archive."""
    member = archive.getmember(name)
    file = archive.extractfile(member) if member.isreg() else None
    if file is None or member.size > _LONGEST_JSON:
        raise _refused(f"{name[:100]} is not a file of at most {_LONGEST_JSON} bytes")
    return file.read(_LONGEST_JSON)


def _refused(text: str) -> RunnerFault:
    return RunnerFault(Fault.IMAGE_PULL, text)
