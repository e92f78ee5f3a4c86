"""Stores a submitted defense (R28): image archive, source and weights, by their hashes.

No file is trusted. This module reads and measures files; it unpacks and runs nothing.
"""

import hashlib
import os
import re
import stat
import struct
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from tempfile import TemporaryFile
from typing import IO, Any, BinaryIO

import structlog
from django.conf import settings

from common.audit.trail import audit
from common.errors import InvalidInput, NotFound
from common.zips import TAIL_BYTES, ZipRefused, zip_size
from defense_kit.archive import glance_at_archive, is_plain_path
from defense_kit.faults import RunnerFault
from defense_kit.logs import readable
from picture_files.store import picture_store
from picture_files.store_transactions import storing_files
from scoring.models import Defense
from scoring.sealed import archive_key, file_sha256

MIB = 1 << 20
MAX_ARCHIVE_BYTES = 16 << 30
MAX_SOURCE_BYTES = 256 * MIB
MAX_WEIGHTS_BYTES = 16 << 30
MAX_FILES = 10_000
MAX_UNPACKED_BYTES = 1 << 30  # of a zip, as it states them
MAX_RATIO = 100  # unpacked to packed, of a zip that unpacks to more than the following
_SMALL_BYTES = 4 * MIB
MAX_LIST_BYTES = 16 * MIB
MAX_NAME_CHARACTERS = 80
MAX_PATH_CHARACTERS = 200
LANGUAGES = {
    **dict.fromkeys((".py", ".pyi"), "Python"),
    ".ipynb": "Jupyter notebook",
    **dict.fromkeys((".c", ".h"), "C"),
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".hpp"), "C++"),
    **dict.fromkeys((".cu", ".cuh"), "CUDA"),
    ".prototxt": "Caffe model",
    ".rs": "Rust",
    ".go": "Go",
    ".java": "Java",
    ".js": "JavaScript",
    ".sh": "Shell",
    **dict.fromkeys((".md", ".rst", ".txt"), "Text"),
    **dict.fromkeys((".json", ".yaml", ".yml", ".toml", ".cfg", ".ini"), "Settings"),
    **dict.fromkeys((".pt", ".pth", ".npz", ".npy", ".safetensors", ".h5", ".pb", ".caffemodel", ".onnx"), "Weights"),
    **dict.fromkeys((".so", ".dll", ".dylib", ".pyc", ".exe", ".a", ".o"), "Compiled"),
}
BY_NAME = {"dockerfile": "Dockerfile", "makefile": "Makefile", "licence": "Text", "license": "Text"}
OTHER = "Other"
_MAX_ZIP_NAME_CHARACTERS = 1_000
# zipfile raises NotImplementedError for a zip of a later format version than it knows: a refusal, not unfinished work.
_UNREADABLE = (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, ValueError, OSError, struct.error)
_ENTRY = b"PK\x01\x02"  # what each entry of a zip's directory begins with
MAX_IMAGE_CHARACTERS = 200
_IN_REGISTRY = re.compile(
    r"(?:(?P<host>[a-z0-9-]+(?:\.[a-z0-9-]+)+(?::\d{1,5})?|localhost(?::\d{1,5})?)/)?"
    r"[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*@(?P<digest>sha256:[0-9a-f]{64})"
)
_NO_HOST = "docker.io"  # where a container engine looks for an image whose name begins with no host

log = structlog.get_logger(__name__)


def source_key(sha256: str) -> str:
    """Return the key of a zip of source, or of training code, in the store."""
    return f"defenses/{sha256}.zip"


def weights_key(sha256: str) -> str:
    """Return the key of a file of weights in the store."""
    return f"defenses/{sha256}.weights"


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file in a source zip: its path as text for showing, its unpacked size as the zip states it."""

    path: str
    bytes: int
    language: str


@dataclass(frozen=True, slots=True)
class SourceListing:
    """What is in a source zip; `languages` names each with its files and bytes, the most bytes first."""

    files: tuple[SourceFile, ...]
    languages: tuple[tuple[str, int, int], ...]


def submit_files(
    archive: Path | None,
    *,
    name: str,
    source: Path | None,
    weights: Sequence[Path],
    image: str = "",
    description: str = "",
    now: datetime,
) -> tuple[Defense, bool]:
    """Store a submitted container, as `keep_files` does, and return its row and whether it is new.

    The same image under the same name is one row. The files lie in the store before the row names them. Raises
    InvalidInput with what to change.
    """
    name = checked_name(name)
    kept, files = keep_files(archive, image=image, source=source, weights=weights)
    told = kept | {"description": description, "created_at": now}
    with storing_files():
        put_files(files)
        defense, new = Defense.objects.get_or_create(name=name, digest=told.pop("digest"), defaults=told)
        if new:
            audit("defense.import", by=None, subject={"defense": [defense.public_id]}, now=now)
        return defense, new


def keep_files(
    archive: Path | None, *, image: str = "", source: Path | None, weights: Sequence[Path]
) -> tuple[dict[str, Any], dict[str, Path]]:
    """Store a submission, and return the fields of its row, and its files by their keys in the store.

    It is the archive of an image or, without one, `image`, its name and digest in a registry. The caller commits the
    row and calls `put_files` with these files again. Raises InvalidInput with what to change; then nothing was kept.
    """
    what = _in_registry(image) if archive is None else _archived(archive)
    hashes = {
        "weights": weights_sha256(weights),
        "source": "" if source is None else _zip_sha256(source, "source", "source"),
    }
    files: dict[str, Path] = {}
    if archive is not None:
        files[archive_key(what["archive"])] = archive
    if source is not None:
        files[source_key(hashes["source"])] = source
    if len(weights) == 1:  # several files have one common hash, which names none of them
        files[weights_key(hashes["weights"])] = weights[0]
    put_files(files)
    return what | hashes, files


def put_files(files: Mapping[str, Path]) -> None:
    """Put each file under its key, where the store does not have it yet.

    Called once outside of a transaction, since gigabytes take minutes, and once more within `storing_files`: there it
    puts only what was removed in between because no row named it yet.
    """
    store = picture_store()
    for key, path in files.items():
        store.put_file(key, path)


def _archived(archive: Path) -> dict[str, Any]:
    _check_size(archive, MAX_ARCHIVE_BYTES, "image archive", "archive")
    try:
        facts = glance_at_archive(archive)
    except RunnerFault as fault:
        raise InvalidInput(f"The image archive: {fault.text}.", fault.fault.value, field="archive") from None
    return {"image": facts.id, "digest": facts.id, "layers": list(facts.layers), "archive": file_sha256(archive)}


def _in_registry(image: str) -> dict[str, Any]:
    """Return the known facts of an image that scorers fetch from its registry: its layers are unknown."""
    named = _IN_REGISTRY.fullmatch(image.strip()) if len(image) <= MAX_IMAGE_CHARACTERS else None
    if named is None:
        words = "Name the image with its digest, for example ghcr.io/team/defense@sha256: and 64 hexadecimal digits."
        raise InvalidInput(words, "bad_image", field="image")
    host = named["host"] or _NO_HOST
    if host not in settings.DEFENSE_REGISTRIES:
        known = ", ".join(settings.DEFENSE_REGISTRIES) or "none"
        words = f"Images are not fetched from {host}. Registries in use: {known}. Or hand in the image as an archive."
        raise InvalidInput(words, "registry_unknown", field="image")
    return {"image": image.strip(), "digest": named["digest"], "layers": [], "archive": ""}


def keep_zip(path: Path, what: str, field: str) -> str:
    """Keep a zip of source or of training code, `what` in words, as `keep_files` does, and return its SHA-256.

    Raises InvalidInput for one that is too large, that cannot be read, or that lists more files than anybody reads.
    """
    sha256 = _zip_sha256(path, what, field)
    put_files({source_key(sha256): path})
    return sha256


def checked_name(name: str) -> str:
    """Return the name of a defense without blanks around it; InvalidInput for none, a long one or several lines."""
    name = name.strip()
    if not name or len(name) > MAX_NAME_CHARACTERS or not name.isprintable():
        raise InvalidInput(
            f"Give the defense a name, one line of at most {MAX_NAME_CHARACTERS} characters.", "bad_name", field="name"
        )
    return name


def _check_size(path: Path, max_bytes: int, what: str, field: str) -> None:
    try:
        size = path.stat().st_size if path.is_file() else -1
    except OSError:
        size = -1
    if size < 0:
        raise InvalidInput(f"There is no {what} at {path}.", "no_file", field=field)
    if size > max_bytes:
        raise too_large(what, max_bytes, field)


def too_large(what: str, max_bytes: int, field: str) -> InvalidInput:
    """Return the refusal of a file of more than `max_bytes`."""
    return InvalidInput(
        f"The {what} has more than {max_bytes // MIB:,} MiB. Make it smaller.", "too_large", field=field
    )


def weights_sha256(files: Sequence[Path]) -> str:
    """Return the SHA-256 of one file, or of the sorted SHA-256s of several; empty for none."""
    for file in files:
        _check_size(file, MAX_WEIGHTS_BYTES, "file of weights", "weights")
    each = sorted(file_sha256(file) for file in files)
    return each[0] if len(each) == 1 else hashlib.sha256("\n".join(each).encode()).hexdigest() if each else ""


def _zip_sha256(path: Path, what: str, field: str) -> str:
    _check_size(path, MAX_SOURCE_BYTES, f"{what} zip", field)
    with open(path, "rb") as file:
        list_source(file, what, field)
        _check_zip(file, what, field)
    return file_sha256(path)


def _check_zip(file: IO[bytes], what: str, field: str) -> None:
    """Refuse a zip that would harm whoever unpacks it: it is published as it came (R33). Nothing is unpacked here."""
    try:
        with zipfile.ZipFile(file) as archive:
            words = _harm(archive)
    except _UNREADABLE as error:
        words = f"it is damaged: {error}"
    if words:
        raise InvalidInput(f"The {what} zip cannot be taken: {words}.", "bad_source", field=field)


def _harm(archive: zipfile.ZipFile) -> str:
    """Say what is wrong with a zip; empty for a valid one."""
    seen: dict[str, bool] = {}
    for entry in archive.infolist():
        name = entry.orig_filename.removeprefix("./").removesuffix("/")  # as some programs begin each name
        if not name and entry.is_dir():
            continue
        if words := _harm_of_entry(entry, name):
            return f"{_path_shown(entry)} {words}"
        if name in seen:
            return f"{_path_shown(entry)} is in it twice"
        seen[name] = entry.is_dir()
        archive.open(entry).close()  # the header before the content must agree with the directory
    unpacked = sum(entry.file_size for entry in archive.infolist())
    packed = sum(entry.compress_size for entry in archive.infolist())
    if behind := next(
        (name for name in seen if any(not seen.get(str(each), True) for each in PurePosixPath(name).parents)), ""
    ):
        return f"{readable(behind, MAX_PATH_CHARACTERS)} lies inside of a file"
    if unpacked > MAX_UNPACKED_BYTES:
        return f"it unpacks to more than {MAX_UNPACKED_BYTES // MIB:,} MiB"
    if unpacked > _SMALL_BYTES and unpacked > MAX_RATIO * packed:
        return f"it unpacks to more than {MAX_RATIO} times its size; leave out what can be computed"
    return ""


def _harm_of_entry(entry: zipfile.ZipInfo, name: str) -> str:
    if not _is_portable(name) or len(name) > _MAX_ZIP_NAME_CHARACTERS:
        return "is no plain relative path; make the zip with `zip -r` or your file manager"
    if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "is no file: links and devices are not taken"
    if entry.flag_bits & 0x1 or entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "is encrypted or packed in another way than deflate"
    return ""


def _is_portable(name: str) -> bool:
    """Say whether a name means the same path on every system: on Windows a backslash and a colon are special."""
    return is_plain_path(name) and name.isprintable() and "\\" not in name and ":" not in name


def source_listing(defense: Defense) -> SourceListing:
    """Return what is in the source that was handed in; NotFound as `open_source`, InvalidInput as `list_source`."""
    with open_source(defense) as file:
        return list_source(file)


def open_source(defense: Defense) -> BinaryIO:
    """Return the submitted zip as a temporary file that is removed when it is closed.

    Raises NotFound when none was handed in, when the store lost it, and when the store cannot be read.
    """
    if not defense.source:
        raise NotFound("No source was handed in with this defense.", "no_source")
    with ExitStack() as on_failure:
        file = on_failure.enter_context(TemporaryFile())
        _fetch(source_key(defense.source), file)
        file.seek(0)
        on_failure.pop_all()
    return file


def _fetch(key: str, file: BinaryIO) -> None:
    try:
        picture_store().fetch(key, file)
    except NotFound:
        raise
    except Exception as error:  # a disk or a bucket that does not answer: each kind of store has errors of its own
        log.exception("source_unreadable", key=key)
        message = (
            f"The source could not be read from the store now ({type(error).__name__}). The server's log says why."
        )
        raise NotFound(message, "source_unreadable") from error


def list_source(file: IO[bytes], what: str = "source", field: str = "source") -> SourceListing:
    """List a zip by its directory alone; InvalidInput when it is none, or lists more files than anybody reads."""
    _refuse_many(file, what, field)
    try:
        with zipfile.ZipFile(file) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    except _UNREADABLE as error:
        raise InvalidInput(f"The {what} is not a zip that can be read: {error}.", "bad_source", field=field) from None
    if not entries:
        raise InvalidInput(f"The {what} is a zip without a file in it.", "bad_source", field=field)
    files = tuple(SourceFile(_path_shown(entry), entry.file_size, _language(entry.filename)) for entry in entries)
    return SourceListing(tuple(sorted(files, key=lambda each: each.path)), _languages(files))


def _refuse_many(file: IO[bytes], what: str, field: str) -> None:
    """Count the entries before they are read: a directory of millions would fill the memory."""
    count, tail = 0, b""
    while piece := file.read(MIB):
        whole = tail + piece
        count += whole.count(_ENTRY)
        tail = whole[1 - len(_ENTRY) :]
    words = f"The {what} has to be a zip of at most {MAX_FILES:,} files."
    if count > MAX_FILES:
        raise InvalidInput(words, "bad_source", field=field)
    file.seek(-min(TAIL_BYTES, file.seek(0, os.SEEK_END)), os.SEEK_END)
    try:
        zip_size(file.read(), max_listed=MAX_FILES, max_list_bytes=MAX_LIST_BYTES)
    except ZipRefused as error:
        raise InvalidInput(f"{words} {error}", "bad_source", field=field) from None
    except zipfile.BadZipFile:
        raise InvalidInput(f"The {what} is not a zip that can be read.", "bad_source", field=field) from None
    file.seek(0)


def _path_shown(entry: zipfile.ZipInfo) -> str:
    return readable(entry.filename, MAX_PATH_CHARACTERS).replace("\n", " ")


def _language(path: str) -> str:
    pure = PurePosixPath(path.lower())
    return LANGUAGES.get(pure.suffix) or BY_NAME.get(pure.stem, OTHER)


def _languages(files: Sequence[SourceFile]) -> tuple[tuple[str, int, int], ...]:
    count, size = Counter(file.language for file in files), Counter[str]()
    for file in files:
        size[file.language] += file.bytes
    return tuple((language, count[language], size[language]) for language, _ in size.most_common())
