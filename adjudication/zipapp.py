"""`python -m adjudication.zipapp OUT`: pack the verifier as one file that Python runs, `verify.pyz` (R39).

It holds the sources of `adjudication.verify` and of every module of this project that it imports, and nothing else. The
same sources always give the same bytes: sorted names, one fixed time, no compression, no bytecode. Its SHA-256 is
printed; `--docs` writes it into `docs/release-format.md`, where a test compares it.

Pure: standard library only.
"""

import ast
import hashlib
import io
import re
import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from adjudication.verifier.terminal import show

ROOT = Path(__file__).resolve().parents[1]
NAME = "verify.pyz"
PROGRAM = "adjudication.verify"
DOCUMENT = ROOT / "docs" / "release-format.md"
# The place of the hash in the document.
RECORDED = re.compile(r"(?<=SHA-256 of `verify\.pyz`: `)[0-9a-f]{64}(?=`)")

# Any Python 3 can parse this, so that an old version can print what it lacks. 2: no release was read.
_MAIN = b"""import sys

if sys.version_info < (3, 11):
    sys.stderr.write("This needs Python 3.11 or newer, and this is Python %d.%d.\\n" % sys.version_info[:2])
    sys.exit(2)

from adjudication.verify import main

if __name__ == "__main__":
    sys.exit(main())
"""
# The earliest time that a zip can hold, and the mode of a file that everybody may read.
_TIME, _MODE = (1980, 1, 1, 0, 0, 0), 0o100644 << 16
_ON_UNIX = 3


def build_zipapp(root: Path = ROOT) -> bytes:
    """Return the program as one file, from the sources below `root`."""
    files = {"__main__.py": _MAIN, **sources(root)}
    whole = io.BytesIO()
    with ZipFile(whole, "w", ZIP_STORED) as packed:
        for name in sorted(files):
            entry = ZipInfo(name, _TIME)
            entry.create_system, entry.external_attr = _ON_UNIX, _MODE
            packed.writestr(entry, files[name])
    return whole.getvalue()


def sources(root: Path = ROOT) -> dict[str, bytes]:
    """Return path -> content of every source below `root` that the program is made of."""
    found: dict[str, bytes] = {}
    modules = [PROGRAM]
    while modules:
        for path in _files_of(root, modules.pop()):
            if path not in found:
                found[path] = (root / path).read_bytes()
                modules += _imported_by(found[path])
    return found


def _files_of(root: Path, module: str) -> Iterator[str]:
    """Yield the files of this project that an import reads: those of the packages and of the module."""
    parts = module.split(".")
    for length in range(1, len(parts) + 1):
        path = "/".join(parts[:length])
        yield from (each for each in (f"{path}/__init__.py", f"{path}.py") if (root / each).is_file())


def _imported_by(source: bytes) -> Iterator[str]:
    """Yield what a source imports anywhere in it; for `from a import b` also `a.b`, which may be a module."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def record_hash(sha256: str, document: Path = DOCUMENT) -> None:
    """Write the hash into `document` in place of the old one; raises ValueError where it has none."""
    text, number = RECORDED.subn(sha256, document.read_text("utf-8"))
    if number != 1:
        raise ValueError(f"{document} says the hash of {NAME} {number} times")
    document.write_text(text, "utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line and return the exit status."""
    parser = ArgumentParser(prog="python -m adjudication.zipapp", description=f"Pack the verifier as {NAME}.")
    parser.add_argument("out", nargs="?", type=Path, help="the file to write")
    parser.add_argument("--docs", action="store_true", help=f"write its SHA-256 into {DOCUMENT.relative_to(ROOT)}")
    options = parser.parse_args(arguments)
    data = build_zipapp()
    sha256 = hashlib.sha256(data).hexdigest()
    if options.out:
        options.out.write_bytes(data)
    if options.docs:
        record_hash(sha256)
    show(f"{sha256}  {options.out or NAME}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
