"""What an upload holds: pictures and zips of them, each by itself, whatever a hostile archive says."""

import io
import random
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contest.attacks import uploads
from contest.attacks.uploads import MOST_ENTRIES, Part, parts_of
from tests.contest.attacks.cast import picture


def file(data: bytes, name: str = "sent") -> Any:
    found = io.BytesIO(data)
    found.name = name
    return found


def parts(data: bytes, name: str = "sent") -> list[Part]:
    return list(parts_of([file(data, name)]))


def zipped(*entries: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return packed.getvalue()


def test_files_and_the_pictures_of_a_zip_come_in_order() -> None:
    many = zipped(("b.png", b"two"), ("folder/a.png", b"three"))
    found = list(parts_of([file(b"one", "first.png"), file(many, "many.zip"), file(b"four", "last.png")]))
    assert found == [
        Part("first.png", b"one"),
        Part("b.png", b"two"),
        Part("folder/a.png", b"three"),
        Part("last.png", b"four"),
    ]


def test_a_zip_is_known_by_its_content_and_what_systems_add_is_passed_over() -> None:
    assert parts(zipped(("a.png", b"one")), "picture.png") == [Part("a.png", b"one")]
    assert parts(picture(), "pictures.zip") == [Part("pictures.zip", picture())]
    added = (("__MACOSX/._a.png", b"x"), (".DS_Store", b"x"), ("a/Thumbs.db", b"x"), ("a/", b""))
    assert parts(zipped(*added, ("a/b.png", b"1"))) == [Part("a/b.png", b"1")]


@pytest.mark.parametrize("name", ["../../x.png", ".hidden.png", "__MACOSX/._a.png", "a/"])
def test_a_zip_without_a_picture_to_take_says_why(name: str) -> None:
    (found,) = parts(zipped((name, b"one")))
    assert found.refused is not None and found.refused.code == "wrong_zip"
    assert "a name that begins with a dot" in found.refused.message


def encrypted() -> bytes:
    data = bytearray(zipped(("a.png", b"one")))
    for magic, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(magic) + at] |= 1
    return bytes(data)


def long_list() -> bytes:
    """A list of a megabyte, of which the end of the file says that it is one entry."""
    data = zipped(*((f"{number:04}{'x' * 1000}.png", b"") for number in range(1000)))
    at = data.rindex(b"PK\x05\x06")
    return data[: at + 8] + struct.pack("<HH", 1, 1) + data[at + 12 :]


def sixty_four() -> bytes:
    data = zipped(("a.png", b"one"))
    at = data.rindex(b"PK\x05\x06")
    locator = b"PK\x06\x07" + struct.pack("<IQI", 0, at, 1)
    return data[:at] + locator + data[at:]


def record(*, entries: int, list_bytes: int, disks: tuple[int, int] = (0, 0)) -> bytes:
    """The record at the end of a zip whose list has `list_bytes` bytes and begins where the file does."""
    return b"PK\x05\x06" + struct.pack("<HHHHIIH", *disks, entries, entries, list_bytes, 0, 0)


def listed(times: int) -> bytes:
    """The same entry of a list so many times."""
    data = zipped(("a.png", b""))
    return data[: data.index(b"PK\x01\x02")] + data[data.index(b"PK\x01\x02") : data.index(b"PK\x05\x06")] * times


def two_ends() -> bytes:
    """A record whose numbers of disks spell its own mark again: who looks for the last mark reads another length."""
    data = listed(100_000)
    spelled = struct.unpack("<HH", b"PK\x05\x06")
    return data + b"PK\x05\x06" + struct.pack("<HHHHIIH", *spelled, 1, 1, len(data), 0, 0)


def several_disks() -> bytes:
    data = zipped(("a.png", b"one"))
    at = data.rindex(b"PK\x05\x06")
    return data[: at + 4] + struct.pack("<HH", 1, 1) + data[at + 8 :]


WRONG = [
    (lambda: zipped(("inner.zip", zipped(("a.png", b"one")))), "zip_in_zip", "an archive in it"),
    (encrypted, "encrypted", "a password that nobody here has"),
    (
        lambda: zipped(*((f"{number}.png", b"") for number in range(MOST_ENTRIES + 1))),
        "wrong_zip",
        "too many pictures",
    ),
    (long_list, "wrong_zip", "a list too long to be read"),
    (sixty_four, "wrong_zip", "a second list of its own"),
    (two_ends, "wrong_zip", "a mark that is found twice"),
    (several_disks, "wrong_zip", "one of several files"),
    (
        lambda: listed(2000) + record(entries=2000, list_bytes=2000 * 51),
        "wrong_zip",
        "a list of many entries",
    ),
    (
        lambda: zipped(("a.png", bytes(uploads.MAX_BYTES + 1))),
        "too_many_bytes",
        "it unpacks beyond the bound",
    ),
    (lambda: zipped(("a.png", b"one" * 100), method=zipfile.ZIP_LZMA), "wrong_zip", "another way of packing"),
    (
        lambda: zipped(("a.png", b"one"), method=zipfile.ZIP_STORED).replace(b"one", b"two"),
        "damaged_zip",
        "changed bytes",
    ),
    (lambda: zipped(("a/", b"")), "wrong_zip", "no picture at all"),
    (
        lambda: zipped(("a.png", random.Random(1).randbytes(2000)))[:1000],
        "damaged_zip",
        "its list is missing",
    ),
    (lambda: b"PK\x03\x04", "damaged_zip", "nothing but how it begins"),
]


@pytest.mark.parametrize(("make", "code", "why"), WRONG, ids=[row[2] for row in WRONG])
def test_a_zip_is_refused(make: Callable[[], bytes], code: str, why: str) -> None:
    (found,) = parts(make())
    assert found.refused is not None
    assert (found.refused.code, found.data) == (code, b""), why


def test_one_bad_picture_of_a_zip_leaves_the_others() -> None:
    inner = zipped(("x.png", b"x"))
    found = parts(zipped(("a.png", b"one"), ("b.zip", inner), ("c.png", b"three")))
    assert [(each.name, each.data, bool(each.refused)) for each in found] == [
        ("a.png", b"one", False),
        ("b.zip", b"", True),
        ("c.png", b"three", False),
    ]


def test_a_zip_that_unpacks_to_too_much_is_read_no_further_than_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MAX_BYTES", 1 << 20)
    monkeypatch.setattr(uploads, "MOST_BYTES", 3 << 19)
    data = zipped(*((f"{number}.png", bytes(uploads.MAX_BYTES)) for number in range(20)))
    tracemalloc.start()
    found = [(each.refused.code if each.refused else "taken") for each in parts_of([file(data)])]
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == ["taken"] + ["too_many_bytes"] * 19
    assert most < 4 * uploads.MAX_BYTES


def test_a_zip_that_is_too_long_is_not_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MOST_BYTES", 100)
    (found,) = parts(zipped(("a.png", random.Random(1).randbytes(200))))
    assert found.refused is not None and found.refused.code == "too_many_bytes"


GOOD = zipped(("a.png", b"one" * 50), ("b.png", b"two"))


@settings(max_examples=300)
@given(st.integers(0, len(GOOD) - 1), st.integers(0, 255), st.integers(0, 40))
def test_a_changed_zip_is_read_or_refused_and_never_an_error(at: int, value: int, cut: int) -> None:
    damaged = bytearray(GOOD[: len(GOOD) - cut])
    damaged[min(at, len(damaged) - 1)] = value
    for each in parts(bytes(damaged)):
        assert each.refused is None or each.refused.message
