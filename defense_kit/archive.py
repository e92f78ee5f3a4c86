"""Validates an image archive (`docker save`) before a container engine loads it, and limits what it unpacks to.

The archive is not trusted. This module checks its content, and removes the names of its image before an engine gets it:
a name could replace another image's. A few compressed megabytes may unpack to terabytes, and no limit of a container
counts them.
"""

import gzip
import hashlib
import io
import json
import tarfile
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any, Self

from defense_kit.faults import Fault, RunnerFault

PLATFORM = "linux/amd64"
_MANIFEST, _INDEX, _NAMES = "manifest.json", "index.json", "repositories"
_INDEX_KIND = "application/vnd.oci.image.index.v1+json"
_KEPT_OF_AN_ENTRY = ("mediaType", "digest", "size", "platform")
_MAX_JSON_BYTES = 4 << 20
MAX_MEMBERS = 10_000  # an image has at most 127 layers, with a few files each
MAX_DESCRIBED_CHARACTERS = 16 << 20  # characters of names and attributes, which stay in memory
_CHUNK_BYTES = 1 << 20
# Errors of reading a file that is no such archive, or that has another form.
_NOT_READABLE = (
    *(OSError, EOFError, zlib.error, tarfile.TarError, ValueError, LookupError),
    *(TypeError, AttributeError, RecursionError),
)
MAX_BYTES = 64 << 30
MAX_FILES = 2_000_000
MAX_SECONDS = 600.0
MAX_LAYERS = 127  # what an engine can put on top of one another
FIRST_BYTES = 64 << 10  # of a layer, unpacked: its first headers
_MAX_HEADER_BYTES = 1 << 16  # of a member's names and attributes, which are read into memory at once
_HEADERS = (
    *(tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE),
    *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK),
)
_GZIP = b"\x1f\x8b"
_OTHERWISE_COMPRESSED = (b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")  # bzip2, xz, zstd
_PLAIN = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE)


def refused_layer(text: str) -> RunnerFault:
    """Return the fault for an archive that is refused."""
    return RunnerFault(Fault.IMAGE_PULL, text)


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """The facts of an archive's image: its id (`sha256:…` of the configuration) and its layers' digests."""

    id: str
    layers: tuple[str, ...]


def read_archive(path: Path) -> ImageFacts:
    """Return the facts of the one image in the archive; `image_pull` with what to do when it is not such an archive.

    Every layer is unpacked to count what an engine would write, which may take minutes: for a machine that runs it.
    """
    return _read(path, UnpackingBudget().spend)


def glance_at_archive(path: Path) -> ImageFacts:
    """Return the same facts as `read_archive`, unpacking only the beginning of each layer.

    It is quick for any archive: for a server that accepts archives.
    """
    return _read(path, check_beginning)


def is_plain_path(name: str) -> bool:
    """Say whether a name in an archive leads to one place inside of it, the same for everybody who unpacks it."""
    path = PurePosixPath(name)
    return "\0" not in name and not path.is_absolute() and ".." not in path.parts and str(path) == name


def _read(path: Path, check_layer: Callable[[IO[bytes]], None]) -> ImageFacts:
    try:
        with _open_tar(path) as archive:
            _check_members(archive)
            for name in _NAMELESS.keys() & set(archive.getnames()):
                _nameless(archive, name)
            facts = _facts(_member(archive, _configuration_name(archive)))
            for layer in _layers(archive):
                check_layer(layer)
            return facts
    except _NOT_READABLE as error:
        raise refused_layer(f"this is not an archive as docker save writes it, uncompressed: {error}") from None


def check_configuration(settings: Mapping[str, Any]) -> None:
    """Refuse an image whose settings prevent it from running sealed.

    A volume would be a part of the machine's disk without a limit, outside the read-only file system.
    """
    if settings.get("Volumes"):
        raise refused_layer("the image declares volumes; leave VOLUME out: /tmp is the only place that can be written")
    if not settings.get("Cmd") and not settings.get("Entrypoint"):
        raise refused_layer("the image does not say what to run; give it a CMD or an ENTRYPOINT")


def check_platform(system: object, architecture: object) -> None:
    """Refuse an image that is for another kind of machine."""
    if (kind := f"{system}/{architecture}") != PLATFORM:
        raise refused_layer(f"the image is for {kind[:100]}, expected {PLATFORM}")


def without_names(path: Path) -> Iterator[bytes]:
    """Yield the bytes of an archive that `read_archive` has passed, with no name for the image in them.

    All headers are rewritten from the checked facts, so that an engine that reads them in another way (names in another
    case, attributes that were overruled) finds nothing else in them.
    """
    with _open_tar(path) as archive:
        for member in archive:
            if member.name != _NAMES:
                yield from _copy(archive, member)
    yield bytes(2 * tarfile.BLOCKSIZE)


class Header(tarfile.TarInfo):
    """A header that is refused before what belongs to it is read into memory."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        header = super().frombuf(buf, encoding, errors)
        if header.type in _HEADERS and header.size > _MAX_HEADER_BYTES:
            raise refused_layer(
                f"the archive holds a header of {header.size} bytes, expected at most {_MAX_HEADER_BYTES}"
            )
        return header


class _Header(Header):
    """Of the archive itself, whose members are files as they are."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        header = super().frombuf(buf, encoding, errors)
        if header.type == tarfile.GNUTYPE_SPARSE:
            raise _not_here(header)
        return header


def _open_tar(path: Path) -> tarfile.TarFile:
    return tarfile.open(path, "r:", tarinfo=_Header)


def _check_members(archive: tarfile.TarFile) -> None:
    """Refuse what could make the engine read another manifest than the one that is checked here."""
    seen: set[PurePosixPath] = set()
    links: set[PurePosixPath] = set()
    described = 0
    for number, member in enumerate(archive, start=1):
        if number > MAX_MEMBERS:
            raise refused_layer(f"the archive holds more than {MAX_MEMBERS} members")
        described += len(member.name) + len(member.linkname) + sum(map(len, member.pax_headers.values()))
        if described > MAX_DESCRIBED_CHARACTERS:
            raise refused_layer(
                f"the names and attributes in the archive have more than {MAX_DESCRIBED_CHARACTERS:,} characters"
            )
        path = PurePosixPath(member.name)
        if not _belongs(member):
            raise _not_here(member)
        if path in seen or links.intersection(path.parents):
            raise refused_layer(f"the archive holds {member.name[:100]} twice")
        seen.add(path)
        if member.issym():
            links.add(path)


def _belongs(member: tarfile.TarInfo) -> bool:
    """Say whether an engine finds the same under this name: a NUL ends it, a link or holes lead to other content."""
    if member.type not in _PLAIN or member.issparse() or "\0" in member.linkname:
        return False
    return is_plain_path(member.name) and (member.isreg() or member.name not in _NAMELESS)


def _copy(archive: tarfile.TarFile, member: tarfile.TarInfo) -> Iterator[bytes]:
    if member.name in _NAMELESS:
        changed = _nameless(archive, member.name)
        yield from _member_bytes(member, io.BytesIO(changed), len(changed))
    elif content := archive.extractfile(member) if member.isreg() else None:
        yield from _member_bytes(member, content, member.size)
    else:
        yield from _member_bytes(member, io.BytesIO(), 0)


def _member_bytes(member: tarfile.TarInfo, content: IO[bytes], size: int) -> Iterator[bytes]:
    """Yield a header that takes over nothing but name, kind and where a link leads, and the content."""
    header = tarfile.TarInfo(member.name)
    header.type, header.linkname, header.size, header.mode = member.type, member.linkname, size, 0o755
    yield header.tobuf()
    while chunk := content.read(_CHUNK_BYTES):
        yield chunk
    yield bytes(-size % tarfile.BLOCKSIZE)


def _nameless(archive: tarfile.TarFile, name: str) -> bytes:
    return json.dumps(_NAMELESS[name](json.loads(_member(archive, name)))).encode()


def _nameless_manifest(manifest: Any) -> Any:
    """Take over what is known: an engine reads `repotags` as `RepoTags`, so that a name cannot be looked for."""
    return [{"Config": image["Config"], "RepoTags": None, "Layers": image["Layers"]} for image in manifest]


def _nameless_index(index: Any) -> Any:
    entries = [{key: entry[key] for key in _KEPT_OF_AN_ENTRY if key in entry} for entry in index["manifests"]]
    return {"schemaVersion": 2, "mediaType": _INDEX_KIND, "manifests": entries}


_NAMELESS = {_MANIFEST: _nameless_manifest, _INDEX: _nameless_index}


def _configuration_name(archive: tarfile.TarFile) -> str:
    manifest = json.loads(_member(archive, _MANIFEST))
    if len(manifest) != 1:
        raise refused_layer(f"the archive holds {len(manifest)} images, expected one")
    return str(manifest[0]["Config"])


def _layers(archive: tarfile.TarFile) -> Iterator[IO[bytes]]:
    names = json.loads(_member(archive, _MANIFEST))[0]["Layers"]
    if len(names) > MAX_LAYERS:
        raise refused_layer(f"the image has {len(names)} layers, expected at most {MAX_LAYERS}")
    for name in names:
        layer = archive.extractfile(str(name))
        if layer is None:
            raise refused_layer(f"the layer {str(name)[:100]} is not a file")
        with layer:
            yield layer


def _facts(configuration: bytes) -> ImageFacts:
    settings = json.loads(configuration)
    check_configuration(settings.get("config") or {})
    check_platform(settings["os"], settings["architecture"])
    layers = tuple(str(layer) for layer in settings["rootfs"]["diff_ids"])
    return ImageFacts(f"sha256:{hashlib.sha256(configuration).hexdigest()}", layers)


def _member(archive: tarfile.TarFile, name: str) -> bytes:
    """Return a small file of the archive."""
    member = archive.getmember(name)
    file = archive.extractfile(member) if member.isreg() else None
    if file is None or member.size > _MAX_JSON_BYTES:
        raise refused_layer(f"{name[:100]} is not a file of at most {_MAX_JSON_BYTES} bytes")
    return file.read(_MAX_JSON_BYTES)


def _not_here(member: tarfile.TarInfo) -> RunnerFault:
    return refused_layer(f"the archive holds something that does not belong there: {member.name[:100]}")


# What the layers unpack to --------------------------------------------------------------------------------------------


class UnpackingBudget:
    """What all layers of an image may unpack to, taken together."""

    def __init__(
        self, max_bytes: int = MAX_BYTES, max_files: int = MAX_FILES, max_seconds: float = MAX_SECONDS
    ) -> None:
        self._max_bytes, self._max_files, self._max_seconds = max_bytes, max_files, max_seconds
        self._bytes = self._files = 0
        self._began = time.monotonic()

    def spend(self, layer: IO[bytes]) -> None:
        """Count a layer, a tar as it is or compressed with gzip; `image_pull` where it is too much or neither."""
        stream = _Counted(_unpacking(layer), self)
        with tarfile.open(fileobj=stream, mode="r|", tarinfo=Header, bufsize=_CHUNK_BYTES) as members:
            for member in members:
                self._count(member)
        while stream.read(_CHUNK_BYTES):  # the engine reads on behind the end of a tar
            pass

    def take(self, count: int) -> None:
        """Count bytes that were unpacked; `image_pull` when they are too many."""
        self._bytes += count
        if self._bytes > self._max_bytes:
            raise refused_layer(f"the image unpacks to more than {self._max_bytes >> 20:,} MiB; make it smaller")
        if time.monotonic() - self._began > self._max_seconds:
            raise refused_layer(
                f"the image takes more than {self._max_seconds:,.0f} seconds to unpack; make it smaller"
            )

    def _count(self, member: tarfile.TarInfo) -> None:
        self._files += 1
        if self._files > self._max_files:
            raise refused_layer(f"the image unpacks to more than {self._max_files:,} files; make it smaller")
        if member.issparse() or member.type == tarfile.GNUTYPE_SPARSE:
            # An engine fills the holes with zeros, which nothing above has counted.
            raise refused_layer(f"a layer holds a sparse file, {member.name[:100]}; write it out in full")


def check_beginning(layer: IO[bytes]) -> None:
    """Refuse a layer by its first bytes: one that is no tar, or is compressed in another way than with gzip."""
    begin = io.BytesIO(_unpacking(layer).read(FIRST_BYTES))
    with tarfile.open(fileobj=begin, mode="r:", tarinfo=Header):
        pass


class _Counted(io.RawIOBase):
    """A stream whose bytes a budget counts as they are read."""

    def __init__(self, stream: IO[bytes], budget: UnpackingBudget) -> None:
        self._stream, self._budget = stream, budget

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        self._budget.take(len(data))
        return data


def _unpacking(layer: IO[bytes]) -> IO[bytes]:
    begin = layer.read(6)
    layer.seek(0)
    if begin.startswith(_OTHERWISE_COMPRESSED):
        raise refused_layer("a layer is compressed in another way than with gzip; save the image with docker save")
    if begin.startswith(_GZIP):
        return gzip.GzipFile(fileobj=layer)  # type: ignore[return-value]
    return layer
