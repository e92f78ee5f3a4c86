"""Folders are compared, copied and removed name by name, and nothing outside them is touched."""

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from contest.exports import folders

FILES = {"a": b"1", "images/b": b"22", "images/c": b"333"}


def _folder(path: Path) -> Path:
    (path / "images").mkdir(parents=True)
    for name, data in FILES.items():
        (path / name).write_bytes(data)
    return path


def _linked(path: Path) -> None:
    path.rename(path.parent / "elsewhere")
    path.symlink_to(path.parent / "elsewhere")


CHANGES: dict[str, Callable[[Path], object]] = {
    "a file is changed": lambda path: (path / "images" / "b").write_bytes(b"2!"),
    "a file is missing": lambda path: (path / "images" / "c").unlink(),
    "one file more": lambda path: (path / "images" / "d").write_bytes(b""),
    "an empty folder more": lambda path: (path / "tables").mkdir(),
    "another name": lambda path: (path / "images" / "c").rename(path / "images" / "d"),
    "a link to the file": lambda path: _linked(path / "a"),
    "a link to the folder": lambda path: _linked(path / "images"),
    "a folder in the place of a file": lambda path: ((path / "a").unlink(), (path / "a").mkdir()),
    "it is gone": folders.remove_folder,
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_folder_that_differs_is_not_the_same(change: str, tmp_path: Path) -> None:
    one, other = _folder(tmp_path / "one"), _folder(tmp_path / "other" / "folder")
    assert folders.same_folder(one, other)
    CHANGES[change](other)
    assert not folders.same_folder(one, other)


def test_a_copy_is_the_same(tmp_path: Path) -> None:
    one = _folder(tmp_path / "one")
    copy = folders.copy_folder(one, tmp_path / "copy")
    assert {name: (copy / name).read_bytes() for name in FILES} == FILES
    assert folders.same_folder(one, copy) and folders.same_folder(copy, one)


def test_a_folder_is_removed_in_portions_and_links_are_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "_NAMES", 2)
    kept, folder = _folder(tmp_path / "kept"), _folder(tmp_path / "folder")
    for number in range(7):
        (folder / "images" / str(number)).write_bytes(b"")
    (folder / "images" / "link").symlink_to(kept)
    (folder / "link").symlink_to(kept / "a")
    folders.remove_folder(folder)
    assert not folder.exists()
    assert {name: (kept / name).read_bytes() for name in FILES} == FILES


def test_a_folder_is_removed_without_a_list_of_its_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "_NAMES", 50)
    folder = tmp_path / "folder"
    folder.mkdir()
    for number in range(800):
        (folder / f"{number:064}.png").write_bytes(b"")
    tracemalloc.start()
    folders.remove_folder(folder)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000, "all names at once are half as much again"
