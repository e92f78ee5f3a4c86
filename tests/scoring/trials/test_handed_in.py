"""Handing in a container: what is kept, what is refused, and what a stranger's zip may do (nothing)."""

import hashlib
import io
import stat
import struct
import warnings
import zipfile
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from common.errors import InvalidInput
from defense_kit.layers import Budget
from labeling.store import FolderStore, picture_store
from scoring.models import Defense
from scoring.sealed import archive_key
from scoring.trials import handed_in
from tests import images
from tests.refusals import refused
from tests.scoring.trials import cast

pytestmark = pytest.mark.django_db


def an_archive(folder: Path, *, count: int = 1, **values: Any) -> Path:
    layers = [images.files_layer(folder, {"app/defense.py": b"print('x')"})]
    image = images.Image(layers, ["python3", "/app/defense.py"], **values)
    return images.write_archive(folder / "image.tar", [image] * count)


def a_zip(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as packed:
        for name, data in files.items():
            packed.writestr(name, data)
    return path


SOURCE = {"src/model.py": b"import torch\n" * 40, "Dockerfile": b"FROM scratch\n", "weights/net.pt": b"w" * 900}


def hand_in(archive: Path, now: datetime, **values: Any) -> tuple[Defense, bool]:
    return handed_in.defense_hand_in(archive, **{"name": "a", "source": None, "weights": [], "now": now, **values})


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_everything_is_kept_under_its_hash(tmp_path: Path, now: datetime) -> None:
    archive, source, weights = an_archive(tmp_path), a_zip(tmp_path / "source.zip", SOURCE), tmp_path / "net.pt"
    weights.write_bytes(b"w" * 900)
    defense, new = hand_in(archive, now, name=" steadfast ", source=source, weights=[weights], description="d")
    assert (new, defense.name, defense.description, defense.reference) == (True, "steadfast", "d", "")
    assert (defense.published_at, defense.demo) == (None, False)
    assert (defense.archive, defense.source) == (sha256(archive.read_bytes()), sha256(source.read_bytes()))
    assert defense.weights == sha256(b"w" * 900)
    assert [each.partition(":")[0] for each in (defense.digest, *defense.layers)] == ["sha256"] * 2
    assert defense.digest == defense.image
    assert picture_store().get(archive_key(defense.archive)) == archive.read_bytes()
    assert picture_store().get(handed_in.source_key(defense.source)) == source.read_bytes()


def test_several_files_of_weights_have_one_hash_in_any_order(tmp_path: Path) -> None:
    for name in "12":
        (tmp_path / name).write_text(name)
    one, two = tmp_path / "1", tmp_path / "2"
    both = handed_in.weights_sha256([one, two])
    assert both == handed_in.weights_sha256([two, one]) and len(both) == 64
    assert both != handed_in.weights_sha256([one]) == sha256(b"1")
    assert handed_in.weights_sha256([]) == ""


REFUSED: list[tuple[Any, dict[str, Any], str, str]] = [
    (lambda p: p / "nothing.tar", {}, "no_file", "no archive"),
    (lambda p: p, {}, "no_file", "a folder"),
    (lambda p: a_zip(p / "image.tar", {"a": b""}), {}, "image_pull", "another kind of file"),
    (lambda p: an_archive(p, architecture="arm64"), {}, "image_pull", "another kind of machine"),
    (lambda p: an_archive(p, count=2), {}, "image_pull", "two images"),
    (lambda p: an_archive(p, more={"Volumes": {"/data": {}}}), {}, "image_pull", "it wants a volume"),
    (an_archive, {"name": " "}, "bad_name", "no name"),
    (an_archive, {"name": "a\nb"}, "bad_name", "a name of two lines"),
    (an_archive, {"name": "x" * 81}, "bad_name", "a long name"),
    (an_archive, {"source": "image.tar"}, "bad_source", "a source that is no zip"),
    (an_archive, {"source": "nothing.zip"}, "no_file", "a source that is not there"),
    (an_archive, {"weights": ["nothing.pt"]}, "no_file", "weights that are not there"),
]


@pytest.mark.parametrize(("make", "values", "code", "why"), REFUSED)
def test_what_is_refused_leaves_nothing(
    make: Any, values: dict[str, Any], code: str, why: str, tmp_path: Path, now: datetime
) -> None:
    path = make(tmp_path)
    source = tmp_path / values["source"] if "source" in values else None
    weights = [tmp_path / each for each in values.get("weights", [])]
    refused(code, hand_in, path, now, name=values.get("name", "a"), source=source, weights=weights)
    assert not Defense.objects.exists() and not any((tmp_path / "pictures").rglob("*")), why


def test_a_file_too_large_is_refused_without_being_read(tmp_path: Path, now: datetime) -> None:
    with (tmp_path / "huge.tar").open("wb") as file:
        file.truncate(handed_in.MOST_ARCHIVE_BYTES + 1)
    refused("too_large", hand_in, tmp_path / "huge.tar", now)


# The source listing


def listed(folder: Path, files: dict[str, bytes]) -> handed_in.Listing:
    with a_zip(folder / "source.zip", files).open("rb") as file:
        return handed_in.list_source(file)


def test_the_listing_names_files_sizes_and_languages(tmp_path: Path, now: datetime) -> None:
    source = a_zip(tmp_path / "source.zip", SOURCE)
    listing = handed_in.source_listing(hand_in(an_archive(tmp_path), now, source=source)[0])
    assert [(each.path, each.bytes, each.language) for each in listing.files] == [
        ("Dockerfile", 13, "Dockerfile"),
        ("src/model.py", 520, "Python"),
        ("weights/net.pt", 900, "Weights"),
    ]
    assert listing.languages == (("Weights", 1, 900), ("Python", 1, 520), ("Dockerfile", 1, 13))


def test_languages_go_by_the_name(tmp_path: Path) -> None:
    languages = {
        **{"a.PY": "Python", "b.prototxt": "Caffe model", "lib.so": "Compiled"},
        **{"README": "Other", "x.bin": "Other"},
    }
    found = listed(tmp_path, dict.fromkeys(languages, b""))
    assert {each.path: each.language for each in found.files} == languages


def test_a_hostile_zip_is_only_listed(tmp_path: Path) -> None:
    """One that was taken in before there was a check of its names."""
    names = ["../../etc/passwd", "/root/.ssh/id", "a\x1b[31mred\nline.py", "x" * 5000]
    listing = listed(tmp_path, dict.fromkeys(names, b"x"))
    assert len(listing.files) == 4
    assert all(each.path.isprintable() and len(each.path) <= 200 for each in listing.files)
    assert {path.name for path in tmp_path.iterdir()} == {"source.zip", "pictures"}


def member(name: str, data: bytes = b"x", *, kind: int = 0, method: int = zipfile.ZIP_DEFLATED, flags: int = 0) -> Any:
    """One entry of a zip: its header and its content."""
    header = zipfile.ZipInfo(name)
    header.filename = name  # which the library would cut at a NUL
    header.external_attr, header.compress_type, header.flag_bits = kind << 16, method, flags
    return header, data


def zip_of(*members: Any, change: Any = lambda data: data) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that come twice
        for header, data in members:
            archive.writestr(header, data)
    return change(packed.getvalue())


HARMFUL = [
    (zip_of(member("../../etc/passwd")), "no plain relative path", "a way out of the folder"),
    (zip_of(member("a/../../b.py")), "no plain relative path", "a way out further in"),
    (zip_of(member("/root/.ssh/id")), "no plain relative path", "an absolute path"),
    (zip_of(member("C:/boot.ini")), "no plain relative path", "a drive"),
    (zip_of(member("..\\b.py")), "no plain relative path", "a way out on Windows"),
    (zip_of(member("a.py"), change=lambda d: d.replace(b"a.py", b"a\0py")), "no plain", "a name that ends early"),
    (zip_of(member("a\x1b[31mred.py")), "no plain relative path", "a name that colours a terminal"),
    (zip_of(member("a/./b.py")), "no plain relative path", "a name with two spellings"),
    (zip_of(member("././a.py")), "make the zip with `zip -r`", "a name with many spellings"),
    (zip_of(member("./../a.py")), "no plain relative path", "a way out behind a folder's own name"),
    (zip_of(member(".//etc/passwd")), "no plain relative path", "an absolute path behind it"),
    (zip_of(member("./a.py"), member("a.py", b"y")), "in it twice", "two spellings of one name"),
    (zip_of(member("x" * 1_001)), "no plain relative path", "a name that no file system takes"),
    (zip_of(member("a.py", b"/etc/passwd", kind=stat.S_IFLNK)), "links and devices", "a link"),
    (zip_of(member("a.py", kind=stat.S_IFCHR)), "links and devices", "a device"),
    (zip_of(member("a.py", kind=stat.S_IFIFO)), "links and devices", "a pipe"),
    (zip_of(member("a.py"), member("a.py", b"y")), "in it twice", "two files of one name"),
    (zip_of(member("a.py"), member("a.py/b.py")), "inside of a file", "a file that is a folder too"),
    (zip_of(member("a.py", method=zipfile.ZIP_LZMA)), "another way than deflate", "what few programs unpack"),
    (zip_of(member("a.py"), change=lambda d: d.replace(b"a.py", b"b.py", 1)), "damaged", "two names for one file"),
    (zip_of(member("bomb.py", bytes(200 << 20))), "100 times its size", "a bomb"),
    (zip_of(*[member(f"{n}.py", bytes(1 << 20)) for n in range(8)]), "100 times its size", "a bomb in pieces"),
]


def kept(folder: Path, data: bytes, *of: str) -> str:
    (folder / "source.zip").write_bytes(data)
    return handed_in.zip_keep(folder / "source.zip", *of)


@pytest.mark.parametrize(("data", "words", "why"), HARMFUL, ids=[row[2] for row in HARMFUL])
def test_a_zip_that_would_harm_its_readers_is_refused(data: bytes, words: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=words) as found:
        kept(tmp_path, data, "source", "training_code")
    assert (found.value.code, found.value.field) == ("bad_source", "training_code"), why
    assert not any((tmp_path / "pictures").rglob("*"))


def zip64(data: bytes, *, listed: int, list_bytes: int, is_seen: bool = True) -> bytes:
    """The zip with the longer record at its end, as programs write it that do not know the size beforehand."""
    end = len(data) - 22
    size, start = struct.unpack_from("<II", data, end + 12)
    assert size <= list_bytes
    record = struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, listed, listed, list_bytes, start)
    locator = struct.pack("<4sIQI", b"PK\6\7", 0, end, 1)
    last = data[end:] if is_seen else data[end : end + 8] + b"\xff" * 12 + b"\0\0"
    return data[:end] + record + locator + last


@pytest.mark.parametrize("is_seen", [True, False])
def test_what_ordinary_programs_pack_is_taken(is_seen: bool, tmp_path: Path) -> None:
    small = (member("zeros.bin", bytes(1 << 20)), member("ä.py"))
    packed = zip_of(member("./", b""), member("./src/", b""), member("./src/a.py"), *small)
    size = struct.unpack_from("<I", packed, len(packed) - 10)[0]
    assert kept(tmp_path, zip64(packed, listed=5, list_bytes=size, is_seen=is_seen), "source", "source")


@pytest.mark.parametrize(("listed", "list_bytes"), [(handed_in.MOST_FILES + 1, 200), (1, 1 << 40)])
def test_longer_numbers_are_held_to_the_same_caps(listed: int, list_bytes: int, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="lists too much"):
        kept(tmp_path, zip64(zip_of(member("a.py")), listed=listed, list_bytes=list_bytes), "source", "source")


def test_layers_are_not_unpacked_where_an_archive_is_taken_in(
    tmp_path: Path, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That is the scorer's, before anything runs: a few megabytes may unpack to gigabytes."""
    monkeypatch.setattr(Budget, "spend", None)
    assert hand_in(an_archive(tmp_path), now)[1]


def test_a_zip_of_too_many_files_is_refused_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handed_in, "MOST_FILES", 20)
    monkeypatch.setattr(handed_in, "MIB", 97)  # the entries' marks lie across pieces
    assert len(listed(tmp_path, {str(number): b"" for number in range(20)}).files) == 20
    with a_zip(tmp_path / "more.zip", {str(number): b"" for number in range(21)}).open("rb") as file:
        monkeypatch.setattr(zipfile, "ZipFile", None)  # nothing may open it
        with pytest.raises(InvalidInput, match="at most 20"):
            handed_in.list_source(file)


def test_without_a_readable_source_there_is_nothing_to_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each in words: none was handed in, it is gone, the store does not answer."""
    refused("no_source", handed_in.source_listing, cast.container())
    gone = cast.container("b", source="0" * 64)
    refused("picture_missing", handed_in.source_listing, gone)
    monkeypatch.setattr(FolderStore, "fetch", None)
    assert "TypeError" in str(refused("source_unreadable", handed_in.source_listing, gone))


# The command


def test_the_command_says_under_which_id(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    archive = an_archive(tmp_path)
    call_command("import_defense", archive, "--name", "a")
    defense = Defense.objects.get()
    assert capsys.readouterr().out == f"{defense.public_id} a {defense.digest[:19]}: taken in\n"
    call_command("import_defense", archive, "--name", "a")
    assert "known already" in capsys.readouterr().out
    call_command("import_defense", archive, "--name", "b")
    assert Defense.objects.count() == 2, "the same image under another name"


def test_the_command_says_why_not(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="no image archive") as found:
        call_command("import_defense", tmp_path / "x.tar", "--name", "a")
    assert found.value.returncode == 1
