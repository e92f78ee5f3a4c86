"""Forges a copy of the releases in a folder, each kind in turn, and prints a table of what the verifier found:
`python -m tests.adjudication.forge FOLDER [--tries N] [--seed S] [--kind KIND …]`. Exit status 1 when one was missed.
"""

import json
import shutil
import sys
import tempfile
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from adjudication.schema import release_format as form
from adjudication.schema.columns import Standing
from adjudication.schema.manifest_entries import ENTRIES
from tests.adjudication.forged_groups import forge_groups
from tests.adjudication.forgeries import Chain, Forger


def _cells(forger: Forger) -> None:
    for number, file, name in list(forger.cells()):
        forger.forge_cell(number, file, name)


def _rows(forger: Forger) -> None:
    for number, file in forger.tables():
        forger.forge_row(number, file)


def _entries(forger: Forger) -> None:
    for number in range(len(forger.chain.folders)):
        for name in ENTRIES:
            forger.forge_entry(number, name)


KINDS: Mapping[str, Callable[[Forger], object]] = {
    "cells": _cells,
    "rows": _rows,
    "entries": _entries,
    "groups": forge_groups,
}


def forge(forger: Forger, tries: int, kinds: Sequence[str] = tuple(KINDS)) -> None:
    """Forge everything of these kinds once, and again until there were so many tries."""
    before = -1
    while before < sum(forger.tried.values()) < tries:
        before = sum(forger.tried.values())
        for kind in kinds:
            KINDS[kind](forger)


def table(forger: Forger) -> Iterator[str]:
    """Yield a Markdown table of the forgeries by file and kind. One is within the bounds where the declaration of its
    column, or nobody, can tell it from the truth."""
    missed = Counter((each.file, each.kind) for each in forger.missed)
    free = Counter((each.file, each.kind) for each in forger.allowed if each.standing is Standing.FREE)
    yield "| file or group | forgery | tried | found | within its bounds | free | missed |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    totals: Counter[str] = Counter()
    for kind, file in sorted(forger.tried, key=lambda each: (each[1], each[0])):
        figures = {
            "tried": forger.tried[kind, file],
            "found": forger.found[kind, file],
            "within": forger.within[kind, file] - free[file, kind],
            "free": free[file, kind],
            "missed": missed[file, kind],
        }
        totals.update(figures)
        yield f"| {file} | {kind} | {' | '.join(f'{number:,}' for number in figures.values())} |"
    yield f"| all | | {' | '.join(f'{number:,}' for number in totals.values())} |"


def chain_in(folder: Path, place: Path) -> Chain:
    """Copy the releases of a folder to `place` and return them in the order in which they were published."""
    releases = [each for each in folder.glob("release-*") if each.is_dir()]
    after = {json.loads((each / form.MANIFEST).read_text())["previous_name"]: each for each in releases}
    ordered, name = [], ""
    while name in after:
        ordered.append(after[name])
        name = after[name].name
    return Chain([shutil.copytree(each, place / each.name) for each in ordered])


def main() -> int:
    """Forge, and print the table."""
    parser = ArgumentParser(prog="python -m tests.adjudication.forge", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tries", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", nargs="+", choices=KINDS, default=list(KINDS))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        forger = Forger(chain_in(asked.folder, Path(place)), asked.seed)
        forge(forger, asked.tries, asked.kind)
    print("\n".join(table(forger)))
    for each in forger.missed:
        print("missed:", each.release, each.file, each.column, each.kind, each.words[:150])
    return 1 if forger.missed else 0


if __name__ == "__main__":
    sys.exit(main())
