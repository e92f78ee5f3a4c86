"""Every decoder is registered with what it may cost, or with the reason why its input is trusted."""

from dataclasses import astuple

import pytest

from config.decoders import BOUNDED, TRUSTED, Limits
from tests.decoding import places, places_in

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
    assert isinstance(limits, Limits)
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
