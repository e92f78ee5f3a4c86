"""Every decoder is registered with what it may cost, or with the reason why its input is trusted."""

import ast
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import astuple
from pathlib import Path

import pytest

from config.decoders import BOUNDED, TRUSTED, DecodingLimits

REGISTERED = [*BOUNDED, *(place for each in TRUSTED.values() for place in each)]


@pytest.mark.slow("it reads the tree of every source")
def test_every_place_that_decodes_is_registered_and_no_other() -> None:
    found = places()
    unknown = {place: sorted(decoders) for place, decoders in found.items() if place not in REGISTERED}
    assert not unknown, "register these in config/decoders.py, with limits that the code enforces"
    assert sorted(REGISTERED) == sorted(set(REGISTERED)), "a place is registered once"
    assert not set(REGISTERED) - set(found), "the register names nothing that is gone"


@pytest.mark.parametrize("place", BOUNDED)
def test_a_strangers_bytes_have_every_limit(place: str) -> None:
    limits = BOUNDED[place]
    assert isinstance(limits, DecodingLimits)
    assert all(0 < each < float("inf") for each in astuple(limits))


FOUND = [
    ("import json\ndef f(x):\n    return json.loads(x)", ("f", "json.loads"), "a call"),
    ("from json import loads as read\ndef f(x):\n    return read(x)", ("f", "json.loads"), "under another name"),
    ("import json\ndef f(x):\n    return map(json.loads, x)", ("f", "json.loads"), "handed on as a function"),
    ("def f(x):\n    import zipfile\n    return zipfile.ZipFile(x)", ("f", "zipfile.ZipFile"), "imported inside"),
    ("from PIL import Image as P\nclass C:\n    x = P.open('a')", ("C", "PIL.Image.open"), "in a class"),
    ("import pickle\nx = pickle.loads(b'')", ("<module>", "pickle.loads"), "in a module"),
    ("import lzma\ndef f(x):\n    return lzma.open(x)", ("f", "lzma.open"), "any function of a module"),
    ("def f(x):\n    x.extractall()", ("f", ".extractall"), "a method, whatever it is of"),
    ("import pyarrow.parquet as pq\ndef f(x):\n    pq.read_table(x)", ("f", "pyarrow.parquet.read_table"), "parquet"),
    ("from numpy import load\ndef f(x):\n    load(x)", ("f", "numpy.load"), "arrays"),
]


@pytest.mark.parametrize(("source", "use", "why"), FOUND, ids=[row[2] for row in FOUND])
def test_the_search_finds(source: str, use: tuple[str, str], why: str) -> None:
    assert use in places_in(source)


def test_the_search_passes_over_annotations_and_writers_of_text() -> None:
    assert not places_in("import json, zipfile\ndef f(x: zipfile.ZipFile) -> str:\n    return json.dumps(x)")


ROOT = Path(__file__).parents[1]
# Functions and classes by their full names; a name that ends in a dot stands for all of a module.
DECODERS = (
    *("PIL.Image.open", "PIL.ImageCms.ImageCmsProfile", "PIL.ImageFile.", "PIL.ImageSequence.", "cv2.", "imageio."),
    *("zipfile.ZipFile", "zipfile.Path", "tarfile.open", "tarfile.TarFile", "shutil.unpack_archive"),
    *("gzip.GzipFile", "gzip.open", "gzip.decompress", "zlib.decompress", "zlib.decompressobj", "lzma.", "bz2."),
    *("json.load", "json.loads", "json.JSONDecoder", "csv.reader", "csv.DictReader", "tomllib.", "yaml.", "xml."),
    *("rest_framework.parsers.", "django.core.signing.loads", "base64.b64decode", "base64.urlsafe_b64decode"),
    *("django.http.multipartparser.", "django.core.serializers.deserialize"),
    *("pickle.", "marshal.", "shelve.", "torch.load", "joblib.", "ast.literal_eval", "email.message_from"),
    *("safetensors.torch.load_file", "safetensors.torch.load", "safetensors.safe_open"),
    *("numpy.load", "numpy.fromfile", "numpy.loadtxt", "numpy.genfromtxt", "numpy.fromstring", "numpy.frombuffer"),
    *("pyarrow.parquet.read", "pyarrow.parquet.ParquetFile", "pyarrow.ipc.", "pandas.read"),
    *("struct.unpack", "struct.unpack_from", "struct.iter_unpack"),
)
_PREFIXES = tuple(each for each in DECODERS if each.endswith((".", "read", "message_from")))
# Methods of objects whose class the tree does not tell.
METHODS = frozenset({"unpack", "unpack_from", "iter_unpack", "extractall", "extractfile", "decompress", "raw_decode"})


def places() -> dict[str, set[str]]:
    """Return the decoders that are used at each place, a file and a function: `picture_files/decoding.py:_open`."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"]  # also what is not committed yet
    found: dict[str, set[str]] = defaultdict(set)
    for name in subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split():
        if not name.startswith(("tests/", "bench/", ".ci/")) and (ROOT / name).exists():
            for function, decoder in places_in((ROOT / name).read_text(encoding="utf-8")):
                found[f"{name}:{function}"].add(decoder)
    return dict(found)


def places_in(source: str) -> set[tuple[str, str]]:
    """Return (function, decoder) for each use in a module; `<module>` outside of functions."""
    tree = ast.parse(source)
    return set(_uses(tree, _imported(tree), "<module>"))


def _imported(tree: ast.Module) -> dict[str, str]:
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            plain = {top: top for top in (each.name.partition(".")[0] for each in node.names if not each.asname)}
            names |= plain | {each.asname: each.name for each in node.names if each.asname}
        elif isinstance(node, ast.ImportFrom):
            names |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
    return names


def _uses(node: ast.AST, names: dict[str, str], function: str) -> Iterator[tuple[str, str]]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        function = node.name if function == "<module>" else f"{function}.{node.name}"
    if isinstance(node, (ast.Attribute, ast.Name)):
        full = _full_name(node, names)
        if full in DECODERS or full.startswith(_PREFIXES):
            yield function, full
            return
        if isinstance(node, ast.Attribute) and node.attr in METHODS:
            yield function, f".{node.attr}"
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _uses(child, names, function)


def _full_name(node: ast.AST, names: dict[str, str]) -> str:
    if isinstance(node, ast.Name):
        return names.get(node.id, "")
    if isinstance(node, ast.Attribute) and (before := _full_name(node.value, names)):
        return f"{before}.{node.attr}"
    return ""
