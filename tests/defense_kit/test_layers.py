"""What the layers of an image unpack to is bounded before an engine unpacks them."""

import gzip
import io
import lzma
import tarfile
from collections.abc import Callable

import pytest

from defense_kit.faults import Fault, RunnerFault
from defense_kit.layers import Budget

MIB = 1 << 20


def layer(files: int = 1, size: int = MIB, mark: Callable[[tarfile.TarInfo], None] = lambda _: None) -> bytes:
    """A tar with so many files of zeros."""
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for number in range(files):
            member = tarfile.TarInfo(f"file-{number}")
            member.size = size
            mark(member)
            archive.addfile(member, io.BytesIO(bytes(size)))
    return whole.getvalue()


def sparse(member: tarfile.TarInfo) -> None:
    member.pax_headers = {"GNU.sparse.major": "0", "GNU.sparse.minor": "1", "GNU.sparse.map": f"0,{member.size}"}


def long_header(member: tarfile.TarInfo) -> None:
    member.pax_headers = {"comment": "x" * (1 << 17)}


FITS = [
    (layer(), "as it is"),
    (gzip.compress(layer()), "compressed with gzip"),
    (gzip.compress(layer()) + gzip.compress(bytes(512)), "compressed in two pieces"),
    (layer(files=3, size=0), "files without content"),
]


@pytest.mark.parametrize(("content", "why"), FITS, ids=[why for _, why in FITS])
def test_a_layer_that_fits_is_passed(content: bytes, why: str) -> None:
    Budget(most_bytes=2 * MIB, most_files=3).spend(io.BytesIO(content))


TOO_MUCH = [
    (layer(size=3 * MIB), "2 MiB", "too large as it is"),
    (gzip.compress(layer(size=3 * MIB)), "2 MiB", "a few kilobytes that unpack to too much"),
    (gzip.compress(layer() + bytes(3 * MIB)), "2 MiB", "zeros behind the end of the tar"),
    (layer(files=4, size=0), "3 files", "too many files"),
    (layer(mark=sparse), "sparse file", "holes that an engine fills"),
    (layer(mark=long_header), "a header of", "a header that fills the memory"),
    (lzma.compress(layer()), "another way than with gzip", "what is not looked into"),
]


@pytest.mark.parametrize(("content", "said", "why"), TOO_MUCH, ids=[why for *_, why in TOO_MUCH])
def test_a_layer_that_unpacks_to_too_much_is_refused(content: bytes, said: str, why: str) -> None:
    with pytest.raises(RunnerFault, match=said) as refused:
        Budget(most_bytes=2 * MIB, most_files=3).spend(io.BytesIO(content))
    assert refused.value.fault is Fault.IMAGE_PULL, why


def test_all_layers_of_an_image_count_together() -> None:
    budget = Budget(most_bytes=3 * MIB)
    for _ in range(2):
        budget.spend(io.BytesIO(layer()))
    with pytest.raises(RunnerFault, match="3 MiB"):
        budget.spend(io.BytesIO(layer()))
