"""Container images for the tests, made from this machine's own Python: nothing is pulled, no engine is needed.

An image is what `docker save` writes: layers, a configuration whose SHA-256 is the image's id, and a manifest.
The layers lie in var/test-images under a name that says what they hold, so that a second run builds nothing.
"""

import hashlib
import io
import json
import os
import platform
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import unittest
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CACHE = Path(__file__).resolve().parent.parent / "var" / "test-images"
PYTHON = "/usr/local/bin/python3"
_LIBRARY = f"usr/local/lib/python{sys.version_info.major}.{sys.version_info.minor}"
# What a small program never imports, and what needs libraries that are not taken along.
_NOT_TAKEN = {
    *("test", "idlelib", "lib2to3", "tkinter", "turtledemo", "ensurepip", "distutils", "unittest", "pydoc_data"),
    *("site-packages", "dist-packages", "curses", "sqlite3", "dbm", "venv", "wsgiref", "xmlrpc", "tests", "include"),
}
_MODULES_NOT_TAKEN = (
    *("_tkinter", "_sqlite3", "_ssl", "_hashlib", "_curses", "readline", "_gdbm", "_dbm", "nis", "_test"),
)


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer's tar and its digest, which is also its `diff_id`."""

    path: Path
    digest: str


@dataclass(frozen=True, slots=True)
class Image:
    """An image: layers from the lowest up, and its configuration. `more` goes into the configuration as it is."""

    layers: Sequence[Layer]
    command: Sequence[str]
    architecture: str = "amd64"
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def configuration(self) -> bytes:
        layers = [f"sha256:{layer.digest}" for layer in self.layers]
        return json.dumps(
            {
                "architecture": self.architecture,
                "os": "linux",
                "config": {"Cmd": list(self.command), "Env": ["PATH=/usr/local/bin:/usr/bin:/bin"], **self.more},
                "rootfs": {"type": "layers", "diff_ids": layers},
                "history": [{"created_by": "tests"} for _ in layers],
            },
            sort_keys=True,
        ).encode()

    @property
    def id(self) -> str:
        return f"sha256:{hashlib.sha256(self.configuration).hexdigest()}"


def write_archive(path: Path, images: Iterable[Image], *, names: Sequence[str] = ()) -> Path:
    """Write one archive with all `images`; layers that several share are in it once. Returns `path`."""
    manifest, written = [], set()
    with tarfile.open(path, "w") as archive:
        for image in images:
            configuration = image.id.removeprefix("sha256:") + ".json"
            _add_bytes(archive, configuration, image.configuration)
            files = [f"{layer.digest}.tar" for layer in image.layers]
            manifest.append({"Config": configuration, "RepoTags": list(names) or None, "Layers": files})
            for layer, name in zip(image.layers, files, strict=True):
                if name not in written:
                    archive.add(layer.path, name)
                    written.add(name)
        _add_bytes(archive, "manifest.json", json.dumps(manifest).encode())
    return path


def files_layer(folder: Path, files: Mapping[str, bytes]) -> Layer:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in sorted(files):
            _add_bytes(archive, name.lstrip("/"), files[name])
    digest = hashlib.sha256(buffer.getvalue()).hexdigest()
    (folder / f"{digest}.tar").write_bytes(buffer.getvalue())
    return Layer(folder / f"{digest}.tar", digest)


def python_layer() -> Layer:
    """The interpreter, the C library and the part of the standard library that small programs use."""
    return _cached("python", f"{sys.version} {platform.libc_ver()}", _add_python)


def numpy_layer() -> Layer:
    import numpy

    return _cached("numpy", f"{sys.version} {numpy.__version__}", _add_numpy)


def torch_layer() -> Layer:
    import torch

    return _cached("torch", f"{sys.version} {torch.__version__}", _add_torch)


def _cached(name: str, content: str, fill: Callable[[tarfile.TarFile], None]) -> Layer:
    key = hashlib.sha256(f"{content} {Path(__file__).read_text()}".encode()).hexdigest()[:16]
    path = CACHE / f"{name}-{key}.tar"
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=CACHE, delete=False) as file, tarfile.open(fileobj=file, mode="w") as tar:
            fill(tar)
        for older in CACHE.glob(f"{name}-*.tar"):
            older.unlink(missing_ok=True)
        os.replace(file.name, path)  # whole or not at all: another worker may be looking for it
    with open(path, "rb") as whole:
        return Layer(path, hashlib.file_digest(whole, "sha256").hexdigest())


def _add_python(archive: tarfile.TarFile) -> None:
    executable = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    paths = {name: Path(path) for name, path in sysconfig.get_paths(vars={"base": sys.base_prefix}).items()}
    libraries = _libraries(executable)
    for each in sorted({paths["stdlib"], paths["platstdlib"]}):
        _add_tree(archive, each, _LIBRARY, libraries)
    _add_file(archive, executable, PYTHON.lstrip("/"))
    for name, path in sorted(libraries.items()):
        _add_file(archive, path, name)
    _add_bytes(archive, "etc/passwd", b"root:x:0:0::/:/bin/false\nnobody:x:65534:65534::/:/bin/false\n")
    _add_bytes(archive, "etc/group", b"root:x:0:\nnogroup:x:65534:\n")
    for name, mode in (("tmp", 0o1777), ("proc", 0o755), ("sys", 0o755), ("dev", 0o755), ("run", 0o755)):
        folder = tarfile.TarInfo(name)
        folder.type, folder.mode = tarfile.DIRTYPE, mode
        archive.addfile(folder)


def _add_numpy(archive: tarfile.TarFile) -> None:
    import numpy

    package = Path(numpy.__file__).parent
    libraries: dict[str, Path] = {}
    _add_tree(archive, package, f"{_LIBRARY}/site-packages/numpy", libraries)
    bundled = package.parent / "numpy.libs"
    if bundled.is_dir():
        _add_tree(archive, bundled, f"{_LIBRARY}/site-packages/numpy.libs", libraries)
    _add_libraries(archive, libraries, bundled)


def _add_torch(archive: tarfile.TarFile) -> None:
    """torch with what `import torch` asks for; of the standard library, that is more than `python_layer` has."""
    import torch
    import typing_extensions

    package, packages = Path(torch.__file__).parent, f"{_LIBRARY}/site-packages"
    libraries: dict[str, Path] = {}
    for name in ("torch", "torchgen", "functorch"):
        _add_tree(archive, package.parent / name, f"{packages}/{name}", libraries)
    _add_tree(archive, Path(unittest.__file__).parent, f"{_LIBRARY}/unittest", libraries)
    _add_file(archive, Path(typing_extensions.__file__), f"{packages}/typing_extensions.py")
    manager = "bin/torch_shm_manager"  # has to be there, and nobody starts it
    _add_file(archive, package / manager, f"{packages}/torch/{manager}")
    _add_libraries(archive, libraries, package)


def _add_libraries(archive: tarfile.TarFile, libraries: Mapping[str, Path], there: Path) -> None:
    """Add the libraries that the modules of a package need, but those that it brings itself."""
    for name, path in sorted(libraries.items()):
        if there not in path.resolve().parents:
            _add_file(archive, path, name)


def _add_tree(archive: tarfile.TarFile, folder: Path, name: str, libraries: dict[str, Path]) -> None:
    """Add the modules under `folder`, compiled as well, and note the libraries that they need."""
    for where, folders, files in os.walk(folder):
        folders[:] = sorted(each for each in folders if each not in _NOT_TAKEN and not each.startswith("config-"))
        for file in sorted(files):
            path = Path(where) / file
            unwanted = path.name.startswith(_MODULES_NOT_TAKEN) or path.name.endswith((".opt-1.pyc", ".opt-2.pyc"))
            if {".py", ".pyc", ".so"} & set(path.suffixes) and not unwanted:
                _add_file(archive, path, f"{name}/{path.relative_to(folder)}")
                if ".so" in path.suffixes:
                    libraries.update(_libraries(path))


def _libraries(path: Path) -> dict[str, Path]:
    """Return the shared libraries that `path` is linked with, by the place where they are looked for."""
    found = {}
    for line in subprocess.run(["ldd", str(path)], capture_output=True, text=True).stdout.splitlines():
        name, _, place = line.strip().partition(" => ")
        target = (place or name).split(" (")[0].strip()
        if target.startswith("/"):
            where = target if name.startswith("/") else f"/usr/lib/{Path(target).name}"
            found[where.lstrip("/")] = Path(target)
    return found


def _add_file(archive: tarfile.TarFile, path: Path, name: str) -> None:
    real = path.resolve()
    entry = tarfile.TarInfo(name)
    entry.size, entry.mtime = real.stat().st_size, int(real.stat().st_mtime)  # compiled modules know their source's
    entry.mode = 0o755 if os.access(real, os.X_OK) else 0o644
    with open(real, "rb") as file:
        archive.addfile(entry, file)


def _add_bytes(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(data), 0o644
    archive.addfile(entry, io.BytesIO(data))
