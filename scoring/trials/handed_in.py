"""Handing in a defense as a container (R28): its image's archive, its source and its weights, by their hashes.

Everything is a stranger's. It is read and measured here; nothing is unpacked and nothing is run.
"""

import hashlib
import zipfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from tempfile import TemporaryFile
from typing import IO

from django.db import transaction

from common.errors import InvalidInput, NotFound
from defense_kit.archive import ImageFacts, read_archive
from defense_kit.faults import RunnerFault
from defense_kit.logs import readable
from labeling.store import picture_store
from scoring.models import Defense
from scoring.sealed import archive_key

MIB = 1 << 20
MOST_ARCHIVE_BYTES = 16 << 30
MOST_SOURCE_BYTES = 256 * MIB
MOST_WEIGHTS_BYTES = 16 << 30
MOST_FILES = 10_000
LONGEST_NAME = 80
LONGEST_PATH = 200
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
_ENTRY = b"PK\x01\x02"  # what each entry of a zip's directory begins with


def source_key(sha256: str) -> str:
    """Return the key of a source zip in the store."""
    return f"defenses/{sha256}.zip"


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file in a source zip: its path as text for showing, its unpacked size as the zip states it."""

    path: str
    bytes: int
    language: str


@dataclass(frozen=True, slots=True)
class Listing:
    """What is in a source zip; `languages` names each with its files and bytes, the most bytes first."""

    files: tuple[SourceFile, ...]
    languages: tuple[tuple[str, int, int], ...]


def defense_hand_in(
    archive: Path, *, name: str, source: Path | None, weights: Sequence[Path], description: str = "", now: datetime
) -> tuple[Defense, bool]:
    """Take a container in; return its row and whether it is new. The same image under the same name is one row.

    The files lie in the store before the row names them. Raises InvalidInput with what to change.
    """
    name = _checked_name(name)
    _check_size(archive, MOST_ARCHIVE_BYTES, "image archive")
    facts = _facts(archive)
    hashes = {"archive": _sha256(archive), "weights": weights_sha256(weights), "source": _source_sha256(source)}
    store = picture_store()
    store.put_file(archive_key(hashes["archive"]), archive)
    if source is not None:
        store.put_file(source_key(hashes["source"]), source)
    told = {"image": facts.id, "layers": list(facts.layers), "description": description, "created_at": now, **hashes}
    with transaction.atomic():
        return Defense.objects.get_or_create(name=name, digest=facts.id, defaults=told)


def _checked_name(name: str) -> str:
    name = name.strip()
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise InvalidInput(f"Give the defense a name, one line of at most {LONGEST_NAME} characters.", "bad_name")
    return name


def _facts(archive: Path) -> ImageFacts:
    try:
        return read_archive(archive)
    except RunnerFault as fault:
        raise InvalidInput(f"{archive.name}: {fault.text}", fault.fault.value, field="archive") from None


def _check_size(path: Path, most: int, what: str) -> None:
    try:
        size = path.stat().st_size if path.is_file() else -1
    except OSError:
        size = -1
    if size < 0:
        raise InvalidInput(f"There is no {what} at {path}.", "no_file")
    if size > most:
        raise InvalidInput(f"The {what} {path.name} has more than {most // MIB:,} MiB. Make it smaller.", "too_large")


def weights_sha256(files: Sequence[Path]) -> str:
    """Return the SHA-256 of one file, or of the sorted SHA-256s of several; empty for none."""
    for file in files:
        _check_size(file, MOST_WEIGHTS_BYTES, "file of weights")
    each = sorted(_sha256(file) for file in files)
    return each[0] if len(each) == 1 else hashlib.sha256("\n".join(each).encode()).hexdigest() if each else ""


def _source_sha256(source: Path | None) -> str:
    if source is None:
        return ""
    _check_size(source, MOST_SOURCE_BYTES, "source zip")
    with open(source, "rb") as file:
        list_source(file)
    return _sha256(source)


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def source_listing(defense: Defense) -> Listing:
    """Return what is in the source that was handed in; NotFound when none was, or when the store lost it."""
    if not defense.source:
        raise NotFound("No source was handed in with this defense.", "no_source")
    with TemporaryFile() as file:
        picture_store().fetch(source_key(defense.source), file)
        file.seek(0)
        return list_source(file)


def list_source(file: IO[bytes]) -> Listing:
    """List a zip by its directory alone; InvalidInput when it is none, or lists more files than anybody reads."""
    _refuse_many(file)
    try:
        with zipfile.ZipFile(file) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    # NotImplementedError is how the library names a zip of a later version of the format than it knows.
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, ValueError, OSError) as error:
        raise InvalidInput(f"The source is not a zip that can be read: {error}.", "bad_source") from None
    if not entries:
        raise InvalidInput("The source is a zip without a file in it.", "bad_source")
    files = tuple(SourceFile(_shown(entry), entry.file_size, _language(entry.filename)) for entry in entries)
    return Listing(tuple(sorted(files, key=lambda each: each.path)), _languages(files))


def _refuse_many(file: IO[bytes]) -> None:
    """Count the entries before they are read: a directory of millions would fill the memory."""
    count, tail = 0, b""
    while piece := file.read(MIB):
        whole = tail + piece
        count += whole.count(_ENTRY)
        tail = whole[1 - len(_ENTRY) :]
    file.seek(0)
    if count > MOST_FILES:
        raise InvalidInput(f"The source has to be a zip of at most {MOST_FILES:,} files.", "bad_source")


def _shown(entry: zipfile.ZipInfo) -> str:
    return readable(entry.filename, LONGEST_PATH).replace("\n", " ")


def _language(path: str) -> str:
    pure = PurePosixPath(path.lower())
    return LANGUAGES.get(pure.suffix) or BY_NAME.get(pure.stem, OTHER)


def _languages(files: Sequence[SourceFile]) -> tuple[tuple[str, int, int], ...]:
    count: Counter[str] = Counter()
    size: Counter[str] = Counter()
    for file in files:
        count[file.language] += 1
        size[file.language] += file.bytes
    return tuple((language, count[language], size[language]) for language, _ in size.most_common())
