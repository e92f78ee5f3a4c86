"""Compares, copies and removes folders with a hundred thousand files.

The usual tools keep a list of all paths in memory: for a large week that is more than everything else together.
"""

import filecmp
import os
import shutil
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

# Names that are in memory at once while a folder is emptied.
_NAMES = 1_000


def same_folder(one: Path, other: Path, *, but: str = "") -> bool:
    """Say whether two folders hold the same files, byte by byte. A link is not the file it points to. A file of the
    name `but` counts for nothing."""
    if not other.is_dir():
        return False
    left_out, number = Path(but), 0
    for name in _below(one):
        if name != left_out:
            number += 1
            if not _alike(one / name, other / name):
                return False
    # All of `one` is there, so equal numbers leave no room for more.
    return number == sum(1 for name in _below(other) if name != left_out)


def copy_folder(source: Path, into: Path) -> Path:
    """Copy a folder of files and folders to the new folder `into`, and return that."""
    into.mkdir()
    for name in _below(source):
        if (source / name).is_dir():
            (into / name).mkdir()
        else:
            shutil.copyfile(source / name, into / name)
    return into


def remove_folder(folder: Path) -> None:
    """Remove a folder with everything below it; links go, what they point to stays."""
    # Read anew after each portion: what a reader sees of a folder that shrinks under it is left to the file system.
    while entries := _first_entries(folder):
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                remove_folder(Path(entry.path))
            else:
                os.unlink(entry.path)
    folder.rmdir()


def _first_entries(folder: Path) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return list(islice(entries, _NAMES))


def _below(folder: Path) -> Iterator[Path]:
    """Yield everything below `folder`, relative to it: a folder before what is in it, names as the system has them."""
    with os.scandir(folder) as entries:
        for entry in entries:
            yield Path(entry.name)
            if entry.is_dir(follow_symlinks=False):
                yield from (Path(entry.name) / name for name in _below(folder / entry.name))


def _alike(one: Path, other: Path) -> bool:
    if other.is_symlink():
        return False
    if one.is_dir():
        return other.is_dir()
    return other.is_file() and filecmp.cmp(one, other, shallow=False)
