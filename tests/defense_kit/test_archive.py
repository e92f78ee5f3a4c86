"""An image archive is read before an engine sees it: what does not belong in one is refused, names are left out."""

import gzip
import hashlib
import io
import json
import lzma
import tarfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from defense_kit import archive
from defense_kit.archive import glance_at_archive, read_archive, without_names
from defense_kit.faults import Fault, RunnerFault
from defense_kit.layers import Budget
from tests.images import Image, Layer, files_layer, write_archive


@pytest.fixture
def layer(tmp_path: Path) -> Layer:
    return files_layer(tmp_path, {"run": b"program"})


def image(layer: Layer, **changes: Any) -> Image:
    return Image(**{"layers": [layer], "command": ["/run"], **changes})


def layer_with(folder: Path, content: bytes) -> Layer:
    path = folder / "layer"
    path.write_bytes(content)
    return Layer(path, f"sha256:{hashlib.sha256(content).hexdigest()}")


def add(archive: tarfile.TarFile, name: str, data: bytes = b"[]", **changes: Any) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(data)
    for key, value in changes.items():
        setattr(member, key, value)
    archive.addfile(member, io.BytesIO(data))


def changed(path: Path, change: Callable[[tarfile.TarFile], None]) -> Path:
    """Add something to the end of an archive."""
    with tarfile.open(path, "a") as archive:
        change(archive)
    return path


def cleaned(path: Path) -> bytes:
    """What the engine is given of an archive; it is the same image."""
    clean = b"".join(without_names(path))
    copy = path.with_name("clean.tar")
    copy.write_bytes(clean)
    assert read_archive(copy) == read_archive(path)
    return clean


def test_names_are_left_out_and_all_else_is_kept(tmp_path: Path, layer: Layer) -> None:
    wanted = image(layer)
    path = write_archive(tmp_path / "image.tar", [wanted], names=["python:3.11"])
    index = {"manifests": [{"digest": "sha256:1", "annotations": {"io.containerd.image.name": "python:3.11"}}]}
    changed(path, lambda archive: add(archive, "repositories", b'{"python": {}}'))
    changed(path, lambda archive: add(archive, "index.json", json.dumps(index).encode()))
    changed(path, lambda archive: add(archive, "blobs", b"", type=tarfile.DIRTYPE))
    changed(path, lambda archive: add(archive, "blobs/link", b"", type=tarfile.SYMTYPE, linkname="../layer"))
    facts, clean = read_archive(path), cleaned(path)
    assert (facts.id, facts.layers) == (wanted.id, (f"sha256:{layer.digest}",))
    assert b"python" not in clean
    with tarfile.open(fileobj=io.BytesIO(clean)) as archive, tarfile.open(path) as whole:
        assert archive.getnames() == [name for name in whole.getnames() if name != "repositories"]
        assert archive.extractfile(f"{layer.digest}.tar").read() == layer.path.read_bytes()  # type: ignore[union-attr]
        assert archive.getmember("blobs/link").linkname == "../layer"


def test_names_in_another_case_are_left_out(tmp_path: Path, layer: Layer) -> None:
    """The engine's JSON does not mind the case of a key."""
    wanted = image(layer)
    entry = {"digest": "sha256:1", "size": 1, "Annotations": {"a": "python:3.11"}, "ANNOTATIONS": "python:3.11"}
    index = {"manifests": [entry], "Manifests": [{"annotations": "python:3.11"}], "annotations": "python:3.11"}
    kept = {"Config": f"{wanted.id.removeprefix('sha256:')}.json", "Layers": [f"{layer.digest}.tar"]}
    manifest = kept | dict.fromkeys(("RepoTags", "repotags", "REPOTAGS"), ["python:3.11"])
    with tarfile.open(tmp_path / "image.tar", "w") as archive:
        add(archive, "manifest.json", json.dumps([manifest]).encode())
        add(archive, "index.json", json.dumps(index).encode())
        add(archive, kept["Config"], wanted.configuration)
        archive.add(layer.path, f"{layer.digest}.tar")
    clean = cleaned(tmp_path / "image.tar")
    assert b"python" not in clean
    with tarfile.open(fileobj=io.BytesIO(clean)) as archive:
        found = [json.load(archive.extractfile(name)) for name in ("manifest.json", "index.json")]  # type: ignore[arg-type]
    assert found[0] == [kept | {"RepoTags": None}]
    assert found[1]["manifests"] == [{"digest": "sha256:1", "size": 1}]


def test_no_attribute_of_the_archives_own_reaches_the_engine(tmp_path: Path, layer: Layer) -> None:
    """A size among them would make the engine find other members than those that were checked."""
    path = write_archive(tmp_path / "image.tar", [image(layer)])
    with tarfile.open(path) as archive:
        manifest = archive.extractfile("manifest.json").read()  # type: ignore[union-attr]
    with tarfile.open(tmp_path / "own.tar", "w", pax_headers={"comment": "for all"}) as own:
        with tarfile.open(path) as archive:
            for member in archive.getmembers()[:-1]:
                own.addfile(member, archive.extractfile(member))
        headers = {"size": str(len(manifest)), "comment": "for one", "SCHILY.xattr.user.x": "x"}
        add(own, "manifest.json", manifest, pax_headers=headers)
        add(own, "folder", b"", type=tarfile.DIRTYPE, mode=0o7777, uid=7, uname="somebody")
    clean = cleaned(tmp_path / "own.tar")
    assert read_archive(tmp_path / "own.tar") == read_archive(path)
    assert b"manifest.json" in clean
    for word in (b"comment", b"xattr", b"size=", b"somebody"):
        assert word not in clean


# What is added to an image's archive, and the refusal.
ADDED: list[tuple[list[dict[str, Any]], str, str]] = [
    (
        [{"pax_headers": {"GNU.sparse.size": str(1 << 40), "GNU.sparse.map": "0,0"}}],
        "does not belong there: x",
        "holes that an engine fills",
    ),
    ([{"type": tarfile.GNUTYPE_SPARSE}], "does not belong there: x", "holes of GNU"),
    (
        [{"pax_headers": {"path": "index.json\0x"}}],
        "does not belong there: index.json",
        "a name with an end in it",
    ),
    (
        [{"name": "index.json", "type": tarfile.SYMTYPE, "linkname": "x"}],
        "does not belong there: index.json",
        "a link in the place of the index",
    ),
    ([{"pax_headers": {"comment": "x" * (1 << 17)}}], "a header of 1310", "a long header"),
    ([{"name": "index.json"}], "not an archive as docker save writes it", "an index that is none"),
    ([{"name": "manifest.json"}], "manifest.json twice", "the engine would take the second one"),
    ([{"name": "./manifest.json"}], "does not belong there: ./manifest.json", "another spelling"),
    (
        [{"name": "here", "type": tarfile.SYMTYPE, "linkname": "."}, {"name": "here/manifest.json"}],
        "here/manifest.json twice",
        "behind a link, written over the first",
    ),
    ([{"name": "/etc/passwd"}], "does not belong there: /etc/passwd", "an absolute path"),
    ([{"name": "../up"}], "does not belong there: ../up", "a way out"),
    ([{"name": "disk", "type": tarfile.BLKTYPE}], "does not belong there: disk", "a device"),
    ([{"name": "pipe", "type": tarfile.FIFOTYPE}], "does not belong there: pipe", "a pipe"),
    ([{"name": f"f{number}"} for number in range(10_000)], "holds more than 10000 members", "too many members"),
]


@pytest.mark.parametrize(("members", "words", "why"), ADDED, ids=[row[2] for row in ADDED])
def test_what_does_not_belong_in_an_archive_is_refused(
    members: list[dict[str, Any]], words: str, why: str, tmp_path: Path, layer: Layer
) -> None:
    """What an engine would read otherwise, too."""
    path = write_archive(tmp_path / "image.tar", [image(layer)])
    with tarfile.open(path, "a") as archive:
        for changes in members:
            add(archive, **{"name": "x", "data": b"", **changes})
    assert words in refusal(path), why


def test_layers_that_unpack_to_too_much_are_refused(
    tmp_path: Path, layer: Layer, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_archive(tmp_path / "image.tar", [image(layer)])
    read_archive(path)
    monkeypatch.setattr(archive, "Budget", partial(Budget, most_bytes=1 << 10))
    with pytest.raises(RunnerFault, match="unpacks to more than"):
        read_archive(path)


NO_LAYERS = [
    (b"no tar at all", "not an archive", "no tar"),
    (gzip.compress(b"no tar at all" * 100), "not an archive", "no tar, packed"),
    (lzma.compress(b"x"), "another way than with gzip", "packed in another way"),
]


@pytest.mark.parametrize(("content", "words", "why"), NO_LAYERS, ids=[row[2] for row in NO_LAYERS])
def test_a_glance_sees_what_is_no_layer(content: bytes, words: str, why: str, tmp_path: Path) -> None:
    path = write_archive(tmp_path / "image.tar", [image(layer_with(tmp_path, content))])
    for read in (glance_at_archive, read_archive):
        with pytest.raises(RunnerFault, match=words):
            read(path)


def test_a_glance_costs_little_whatever_the_layers_unpack_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    header = tarfile.TarInfo("zeros")
    header.size = 128 << 20
    bomb = gzip.compress(header.tobuf() + bytes(header.size + 2 * tarfile.BLOCKSIZE), 1)
    path = write_archive(tmp_path / "image.tar", [image(layer_with(tmp_path, bomb))])
    began = time.process_time()
    facts = glance_at_archive(path)
    assert time.process_time() - began < 0.2
    monkeypatch.setattr(archive, "Budget", partial(Budget, most_seconds=0.05))
    with pytest.raises(RunnerFault, match="seconds to unpack"):
        read_archive(path)
    monkeypatch.undo()
    assert read_archive(path) == facts


@pytest.mark.parametrize(
    ("images", "words"),
    [
        ([{"architecture": "arm64"}], "the image is for linux/arm64, expected linux/amd64"),
        ([{"more": {"Volumes": {"/data": {}}}}], "the image declares volumes"),
        ([{"command": []}], "does not say what to run"),
        ([{}, {"command": ["/other"]}], "holds 2 images, expected one"),
    ],
)
def test_an_image_that_cannot_run_sealed_is_refused(
    tmp_path: Path, layer: Layer, images: list[dict[str, Any]], words: str
) -> None:
    path = write_archive(tmp_path / "image.tar", [image(layer, **changes) for changes in images])
    assert words in refusal(path)


@pytest.mark.parametrize(
    "manifest",
    [b"{}", b"[1]", b"[{}]", b"nonsense", b"[" * 100_000, b'[{"Config": "missing"}]', b'[{"Config": "manifest.json"}]'],
)
def test_a_manifest_that_is_none_is_refused(tmp_path: Path, manifest: bytes) -> None:
    path = tmp_path / "image.tar"
    with tarfile.open(path, "w") as archive:
        add(archive, "manifest.json", manifest)
    assert refusal(path)


@pytest.mark.parametrize("content", [b"", b"\x1f\x8b compressed", b"x" * 4096], ids=["empty", "compressed", "nonsense"])
def test_what_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "image.tar").write_bytes(content)
    assert "not an archive as docker save writes it" in refusal(tmp_path / "image.tar")


def refusal(path: Path) -> str:
    with pytest.raises(RunnerFault) as caught:
        read_archive(path)
    assert caught.value.fault is Fault.IMAGE_PULL
    return caught.value.text
