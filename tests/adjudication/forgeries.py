"""Falsifies releases as somebody who recomputes every hash, every derived file and the chain would, and says which
falsifications the verifier finds: `python -m tests.adjudication.forge FOLDER --tries 3000`.

The forgeries follow the declarations of the columns: of a derived column any other cell is one; of a bound column what
breaks each of its bounds; of a free column nothing has to be found.
"""

import csv
import hashlib
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from adjudication.schema import cell_kinds, cells, columns
from adjudication.schema import release_format as form
from adjudication.schema.columns import Column, Standing
from adjudication.schema.manifest_entries import ENTRIES
from adjudication.schema.release_tables import DECLARED, tables_of
from adjudication.verifier.audit import chain_link_of_row
from adjudication.verifier.derived import TASKER_DATA_HEADINGS
from adjudication.verifier.findings import Findings
from adjudication.verifier.moments import TOLERANCE
from adjudication.verifier.release_reader import read_manifest, read_table
from adjudication.verifier.untrusted_files import NotARelease
from adjudication.verify import verify
from common.audit.chain import ChainEnd, sealed
from tests.adjudication.derived import derived_files

Cells = dict[str, str]
Tables = dict[str, list[Cells]]
_FAR = timedelta(days=400)


@dataclass(frozen=True)
class Forgery:
    """One falsification of one release: what was changed, and what the declaration says of it."""

    release: str
    kind: str
    file: str
    column: str
    words: str
    standing: Standing


class Chain:
    """The folders of releases in the order of their chain, of which any can be changed and put back."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = list(folders)
        self.tables = [self._tables(folder) for folder in folders]
        self.manifests = [json.loads((folder / form.MANIFEST).read_text()) for folder in folders]
        self._moved: list[tuple[Path, Path]] = []
        self._kept = [
            {path: path.read_bytes() for path in folder.iterdir() if path.is_file()} for folder in self.folders
        ]

    @staticmethod
    def _tables(folder: Path) -> Tables:
        revision = read_manifest(folder).revision
        return {
            name: [dict(row) for row in read_table(folder, name, Findings(), revision=revision)]
            for name in tables_of(revision)
        }

    def write(self, number: int, file: str, rows: Sequence[Cells]) -> None:
        """Rewrite a table of a release, and let everything that follows from it follow."""
        self.write_table(number, file, rows)
        self.follow(number)

    def write_table(self, number: int, file: str, rows: Sequence[Cells]) -> None:
        """Rewrite a table of a release; nothing follows yet but the count."""
        header = list(tables_of(read_manifest(self.folders[number]).revision)[file])
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\n").writerows([header, *([row[name] for name in header] for row in rows)])
        (self.folders[number] / file).write_text(text.getvalue())
        self.manifest(number, lambda values: values["counts"].update({file.partition(".")[0]: len(rows)}))

    def manifest(self, number: int, change: Callable[[dict[str, Any]], object]) -> None:
        """Change the manifest of a release; no hash follows yet."""
        path = self.folders[number] / form.MANIFEST
        values = json.loads(path.read_text())
        change(values)
        path.write_text(json.dumps(values, indent=1, ensure_ascii=False) + "\n")

    def move_picture(self, number: int, path: str, to: int | None) -> None:
        """Move a picture's file into another release, or away where that is None."""
        place = self.folders[number] / path
        there = self.folders[to] / path if to is not None else self.folders[number].parent / place.name
        place.rename(there)
        self._moved.append((place, there))
        self.manifest(number, lambda values: values["files"].pop(path))
        if to is not None:
            sha256 = self.manifests[number]["files"][path]
            self.manifest(to, lambda values: self._list(values, path, sha256))

    @staticmethod
    def _list(values: dict[str, Any], path: str, sha256: str) -> None:
        values["files"] = dict(sorted({**values["files"], path: sha256}.items()))

    def follow(self, number: int) -> None:
        """Rewrite the derived files of a release, all hashes, and the links of the releases after it."""
        for name, text in derived_files(self.folders[number]).items():
            (self.folders[number] / name).write_text(text)
            if name == form.TASKER_DATA:
                rows = len(text.splitlines()) - len(TASKER_DATA_HEADINGS)
                self.manifest(number, lambda values, rows=rows: values["counts"].update(tasker_data=rows))
        self.rehash(number)

    def rehash(self, number: int) -> None:
        """Let the manifest have the hashes of the files, and each later one that of the one before."""
        folder = self.folders[number]

        def hashed(values: dict[str, Any]) -> None:
            for path in values["files"]:
                if (folder / path).is_file() and not form.is_picture(path):
                    values["files"][path] = hashlib.sha256((folder / path).read_bytes()).hexdigest()

        self.manifest(number, hashed)
        self.rechain(number)

    def rechain(self, number: int) -> None:
        """Let each release after this one have the hash of the one before it, in its manifest and, where it says when
        that was published, in its audit trail."""
        for later in range(number + 1, len(self.folders)):
            self.seal_publications(later)
            before = self._sha256(later - 1, form.MANIFEST)
            audit = self._sha256(later, form.AUDIT)
            self.manifest(later, lambda values, before=before: values.update(previous_sha256=before))
            self.manifest(later, lambda values, audit=audit: values["files"].update({form.AUDIT: audit}))

    def _sha256(self, number: int, name: str) -> str:
        return hashlib.sha256((self.folders[number] / name).read_bytes()).hexdigest()

    def seal_publications(self, number: int) -> None:
        """Write the hashes of the manifests of earlier releases into the audit trail of a release, and seal it again
        from there on."""
        published = {self.manifests[at]["name"]: self._sha256(at, form.MANIFEST) for at in range(number)}
        sealed_before = {row["number"]: row["sha256"] for at in range(number) for row in self._audit(at)}
        rows = self._audit(number)
        for row in rows:
            names = json.loads(row["subject"] or "{}").get("release", [])
            if row["action"] == "release.publish" and names and names[0] in published:
                facts = json.loads(row["facts"]) | {"manifest_sha256": published[names[0]]}
                row["facts"] = cells.json_cell(facts)
        seal(rows, sealed_before)
        self.write_table(number, form.AUDIT, rows)

    def _audit(self, number: int) -> list[Cells]:
        with (self.folders[number] / form.AUDIT).open(newline="") as file:
            return list(csv.DictReader(file))

    def found(self, number: int, *, pictures: bool = False) -> list[str]:
        """Return what the verifier says of a release and of those after it, until it says something."""
        for folder in self.folders[number:]:
            if differences := verify(folder, pictures=pictures).differences:
                assert not [line for line in differences if "a check ended early" in line], differences
                return differences
        return []

    def restore(self) -> None:
        """Put everything back."""
        for place, there in self._moved:
            there.rename(place)
        self._moved.clear()
        for kept in self._kept:
            for path, data in kept.items():
                path.write_bytes(data)


def seal(rows: Sequence[Cells], before: Mapping[str, str]) -> None:
    """Seal rows of the audit trail again, one after the other; `before` are the hashes of earlier rows by number."""
    known = dict(before)
    for row in rows:
        link = chain_link_of_row(row)
        end = ChainEnd(link.number - 1, known.get(str(link.number - 1), row["previous"]))
        again = sealed(end, link.public, link.private_sha256)
        row.update(previous=again.previous, sha256=again.sha256)
        known[row["number"]] = again.sha256


# Other cells ---------------------------------------------------------------------------------------------------------


def other_cell(column: Column, cell: str, among: Sequence[str], draw: Random) -> str | None:
    """Return another cell of the same form, as near to the true one as can be; None where there is none."""
    for _ in range(20):
        drawn = _drawn(column, cell, among, draw)
        if drawn is not None and drawn != cell and column.kind.form.fullmatch(drawn):
            return drawn
    return None


def _drawn(column: Column, cell: str, among: Sequence[str], draw: Random) -> str | None:
    filled = [each for each in among if each and each != cell]
    if not cell:
        return draw.choice(filled) if filled else _example(column, draw)
    if column.kind.form.fullmatch("") and draw.random() < 0.2:
        return ""
    if filled and draw.random() < 0.3:
        return draw.choice(filled)
    return _near(column, cell, draw)


def _example(column: Column, draw: Random) -> str | None:
    examples = ("1", "2026-01-20T10:30:00.000000Z", "P-00000000", "a" * 64, "x", "{}", "true", "bird", "1/2")
    fitting = [each for each in examples if column.kind.form.fullmatch(each)]
    return draw.choice(fitting) if fitting else None


def _near(column: Column, cell: str, draw: Random) -> str | None:
    if cell_kinds.TIME.form.fullmatch(cell):
        return moved(cell, draw.choice([timedelta(days=1), timedelta(days=-1), timedelta(hours=-7), _FAR, -_FAR]))
    if re.fullmatch(r"-?\d+", cell):
        return str(int(cell) + draw.choice([1, -1, 7]))
    if cell[:1] in "{[" and cell[-1:] in "}]":
        return _other_json(cell, draw)
    if "|" in column.kind.form.pattern and column.kind.form.fullmatch(cell):
        words = [
            word for word in re.findall(r"[a-z_]{3,}", column.kind.form.pattern) if column.kind.form.fullmatch(word)
        ]
        if words:
            return draw.choice(words)
    at = draw.randrange(len(cell))
    letter = draw.choice("0123456789" if cell[at].isdigit() else "abcdef" if cell[at].islower() else "ABCDEFGH")
    return cell[:at] + letter + cell[at + 1 :]


def moved(cell: str, by: timedelta) -> str:
    """Return a time, moved."""
    return cells.time(datetime.fromisoformat(cell) + by)


def _other_json(cell: str, draw: Random) -> str:
    value = json.loads(cell)
    places = list(_leaves(value))
    if not places:
        return '{"x":1}' if cell.startswith("{") else "[1]"
    holder, key = draw.choice(places)
    leaf = holder[key]
    holder[key] = (
        (not leaf) if isinstance(leaf, bool) else leaf + draw.choice([1, 5]) if isinstance(leaf, int) else f"{leaf}x"
    )
    return cells.json_cell(value)


def _leaves(value: Any) -> Iterator[tuple[Any, Any]]:
    for key, inner in list(value.items() if isinstance(value, dict) else enumerate(value)):
        if isinstance(inner, dict | list):
            yield from _leaves(inner)
        else:
            yield value, key


# What breaks a bound -------------------------------------------------------------------------------------------------

BREAKS_BOUND: Mapping[type, Callable[[Any, str, Cells, "World"], str | None]] = {
    columns.NamesRow: lambda bound, name, row, world: world.unknown_like(row[name]),
    columns.SameAsNamed: lambda bound, name, row, world: world.other(name, row),
    columns.InWeek: lambda bound, name, row, world: world.draw.choice(
        [moved(world.week_start, -_STEP), world.week_end]
    ),
    columns.BeforeWeekEnd: lambda bound, name, row, world: world.week_end if row[name] else None,
    columns.NotBefore: lambda bound, name, row, world: (
        moved(row[bound.column], -_STEP) if row[name] and row[bound.column] else None
    ),
    columns.NotBeforeNamed: lambda bound, name, row, world: world.before_named(bound, row) if row[name] else None,
    columns.Between: lambda bound, name, row, world: str(bound.most + 1),
    columns.FilledWith: lambda bound, name, row, world: "" if row[name] else world.other(name, row),
    columns.Once: lambda bound, name, row, world: world.of_another_row(name, row),
    columns.New: lambda bound, name, row, world: world.of_week_before(name),
    columns.Unchanged: lambda bound, name, row, world: world.changed(name, row),
    columns.InForceAt: lambda bound, name, row, world: world.other(name, row) if row[name] else None,
}
_STEP = 2 * TOLERANCE


@dataclass
class World:
    """A table of a release, and what a forger looks up around it."""

    chain: Chain
    number: int
    file: str
    draw: Random

    @property
    def rows(self) -> list[Cells]:
        return self.chain.tables[self.number][self.file]

    @property
    def declared(self) -> Mapping[str, Column]:
        return DECLARED[self.file].columns

    def value(self, key: str) -> str:
        return str(json.loads((self.chain.folders[self.number] / form.MANIFEST).read_text())[key])

    @property
    def week_start(self) -> str:
        return self.value("week_start")

    @property
    def week_end(self) -> str:
        return self.value("week_end")

    def other(self, name: str, row: Cells) -> str | None:
        return other_cell(self.declared[name], row[name], [each[name] for each in self.rows], self.draw)

    def unknown_like(self, cell: str) -> str | None:
        if not cell:
            return None
        first = cell.split(";")[0]
        return str(int(first) + 90_000) if first.isdigit() else f"{first[0]}-0000000{self.draw.randrange(10)}"

    def before_named(self, bound: columns.NotBeforeNamed, row: Cells) -> str | None:
        named = [each for each in self.chain.tables[self.number][bound.table] if each[bound.key] == row[bound.by]]
        return moved(named[0][bound.column], -_STEP) if named and named[0][bound.column] else None

    def of_another_row(self, name: str, row: Cells) -> str | None:
        others = [each[name] for each in self.rows if each[name] != row[name]]
        return self.draw.choice(others) if others else None

    def of_week_before(self, name: str) -> str | None:
        week = self.value("week")
        for number in reversed(range(self.number)):
            if json.loads((self.chain.folders[number] / form.MANIFEST).read_text())["week"] < week:
                known = [each[name] for each in self.chain.tables[number].get(self.file, []) if name in each]
                if known:
                    return self.draw.choice(known)
        return None

    def changed(self, name: str, row: Cells) -> str | None:
        """Return another cell, where an earlier or a later release has the same row and says something of it."""
        (key,) = DECLARED[self.file].key
        for number, tables in enumerate(self.chain.tables):
            if number == self.number:
                continue
            same = [each for each in tables.get(self.file, []) if each[key] == row[key]]
            if same and row[name] and same[0].get(name):
                drawn = self.other(name, row)
                return drawn or None
        return None


# The forgeries -------------------------------------------------------------------------------------------------------


class Forger:
    """Draws forgeries of a chain, tries each, and keeps the count."""

    def __init__(self, chain: Chain, seed: int) -> None:
        self.chain, self.draw = chain, Random(seed)
        self.tried: Counter[tuple[str, str]] = Counter()
        self.found: Counter[tuple[str, str]] = Counter()
        self.within: Counter[tuple[str, str]] = Counter()
        self.missed: list[Forgery] = []
        self.allowed: list[Forgery] = []
        self.sentences: dict[tuple[str, str], str] = {}

    def cells(self) -> Iterator[tuple[int, str, str]]:
        """Yield every release, table and column that has a row."""
        for number, tables in enumerate(self.chain.tables):
            for file, rows in tables.items():
                for name in rows[0] if rows else ():
                    yield number, file, name

    def forge_cell(self, number: int, file: str, name: str) -> None:
        """Change one cell of a column in every way that its declaration knows."""
        world = World(self.chain, number, file, self.draw)
        column = DECLARED[file].columns[name]
        at = self.draw.randrange(len(world.rows))
        row = world.rows[at]
        for words, cell in self._others(column, name, row, world):
            if cell is None or cell == row[name] or not column.kind.form.fullmatch(cell):
                continue
            changed = [*world.rows]
            changed[at] = {**row, name: cell}
            forgery = Forgery(
                self.chain.folders[number].name, words, file, name, f"{row[name]} → {cell}", column.standing
            )
            self._try(
                forgery, number, file, changed, must=words != "another cell" or column.standing is Standing.DERIVED
            )

    def _others(self, column: Column, name: str, row: Cells, world: World) -> Iterator[tuple[str, str | None]]:
        for bound in column.bounds:
            yield str(bound), BREAKS_BOUND[type(bound)](bound, name, row, world)
        yield "another cell", world.other(name, row)

    def _try(self, forgery: Forgery, number: int, file: str, rows: Sequence[Cells], *, must: bool) -> None:
        ordered = sorted(rows, key=lambda row: _order(file, row))
        self.chain.write(number, file, ordered)
        self._count(forgery, self._differences(number, pictures=file == form.IMAGES), must=must)

    def tables(self) -> Iterator[tuple[int, str]]:
        """Yield every release and table that has a row."""
        for number, tables in enumerate(self.chain.tables):
            yield from ((number, file) for file, rows in tables.items() if rows)

    def forge_row(self, number: int, file: str) -> None:
        """Leave a row out, and add one more like it under a key of its own."""
        tables, folder = self.chain.tables[number], self.chain.folders[number].name
        rows = tables[file]
        at = self.draw.randrange(len(rows))
        without = [*rows[:at], *rows[at + 1 :]]
        left_out = Forgery(folder, "a row left out", file, "", str(rows[at])[:200], Standing.BOUND)
        last = self.number_is_last(number)
        self._try(left_out, number, file, without, must=MISSING.get(file, _always)(rows[at], tables, last))
        (key, *_) = DECLARED[file].key
        fresh = str(max(int(row[key]) for row in rows) + 7) if rows[at][key].isdigit() else f"{rows[at][key]}7"
        added = Forgery(folder, "a row added", file, "", fresh, Standing.BOUND)
        self._try(added, number, file, [*rows, {**rows[at], key: fresh}], must=file not in FREE_TO_ADD)

    def number_is_last(self, number: int) -> bool:
        return number == len(self.chain.folders) - 1

    def forge_entry(self, number: int, name: str) -> None:
        """Change an entry of a manifest."""
        entry = ENTRIES[name]
        values = json.loads((self.chain.folders[number] / form.MANIFEST).read_text())
        if name not in values:
            return
        other = _other_value(values[name], self.draw)
        forgery = Forgery(
            self.chain.folders[number].name, "an entry", form.MANIFEST, name, repr(other)[:120], entry.standing
        )
        self.chain.manifest(number, lambda manifest: manifest.update({name: other}))
        self.chain.rechain(number)
        self._count(forgery, self._differences(number, pictures=True), must=entry.standing is not Standing.FREE)

    def forge_group(self, words: str, change: Callable[[Chain, Random], tuple[int, bool] | None]) -> bool:
        """Change much of the chain at once. `change` returns the first release that it changed and whether that must be
        found, or None where there is nothing to change; say whether there was."""
        try:
            changed = change(self.chain, self.draw)
        except BaseException:
            self.chain.restore()
            raise
        if changed is not None:
            number, must = changed
            forgery = Forgery(self.chain.folders[number].name, "a group", words, "", words, Standing.BOUND)
            self._count(forgery, self._differences(number, pictures=True), must=must)
        return changed is not None

    def _differences(self, number: int, *, pictures: bool = False) -> list[str]:
        try:
            return self.chain.found(number, pictures=pictures)
        except NotARelease as error:
            return [str(error)]
        finally:
            self.chain.restore()

    def _count(self, forgery: Forgery, differences: Sequence[str], *, must: bool) -> None:
        key = (forgery.kind, forgery.file)
        self.tried[key] += 1
        if differences:
            self.found[key] += 1
            self.sentences.setdefault((forgery.file, forgery.column), differences[0])
        elif must:
            self.missed.append(forgery)
        else:
            self.within[key] += 1
            self.allowed.append(forgery)


def _other_value(value: Any, draw: Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str):
        if cell_kinds.TIME.form.fullmatch(value):
            return moved(value, draw.choice([timedelta(seconds=1), timedelta(days=-1), timedelta(days=7)]))
        return f"{value[:-1]}{'1' if value[-1:] != '1' else '2'}" if value else "release-2026-W01"
    if isinstance(value, dict):
        if not value or draw.random() < 0.3:
            return {**value, str(len(value) + 90): draw.choice([*value.values()] or [1])}
        name = draw.choice([*value])
        if draw.random() < 0.3:
            return {key: each for key, each in value.items() if key != name}
        return {**value, name: _other_value(value[name], draw)}
    return [*value, 1]


Presence = Callable[[Cells, Mapping[str, list[Cells]], bool], bool]


def _always(row: Cells, tables: Mapping[str, list[Cells]], last: bool) -> bool:
    return True


def _never(row: Cells, tables: Mapping[str, list[Cells]], last: bool) -> bool:
    return False


def _newest(tables: Mapping[str, list[Cells]], image_id: str) -> Cells:
    return [row for row in tables[form.RULINGS] if row["image_id"] == image_id][-1]


def _needs_answer(row: Cells, tables: Mapping[str, list[Cells]], last: bool) -> bool:
    """Whether an answer is to be there: of a defense in force on a valid picture."""
    retired = {each["defense_id"] for each in tables[form.DEFENSES] if each["retired_at"]}
    return bool(_newest(tables, row["image_id"])["label"]) and row["defense_id"] not in retired


# The rows of which it is known that none is missing; of tables that are not listed that is each.
MISSING: Mapping[str, Presence] = {
    form.RESPONSES: lambda row, tables, last: row["counted"] == "true",
    form.PREDICTIONS: _needs_answer,
    form.FAULTS: _needs_answer,
    form.BREAKS: lambda row, tables, last: _newest(tables, row["image_id"])["number"] == row["ruling_number"],
    form.UNPROVED: _never,
    form.ATTACKS: lambda row, tables, last: not row["copy_of"],
    form.TEAMS: lambda row, tables, last: not row["merged_at"],
    form.ASSOCIATIONS: _never,
    form.DECISIONS: lambda row, tables, last: bool(row["case_id"]) or row["kind"] in ("stake", "award"),
    form.STAKES: lambda row, tables, last: not row["ended_at"],
    form.LEDGER: lambda row, tables, last: row["rule"] in ("R32",) or row["target"] == "pool",
    form.AUDIT: lambda row, tables, last: not last or row is not tables[form.AUDIT][-1],
    form.APPEALS: _never,
    form.STATEMENTS: _never,
    form.CASES: lambda row, tables, last: row["outcome"] == "overrule",
    form.MOTIONS: lambda row, tables, last: row["outcome"] == "carried",
    form.EXAMINATIONS: _never,
    form.DEFENSES: lambda row, tables, last: any(
        each["defense_id"] == row["defense_id"] for each in tables[form.PREDICTIONS]
    ),
    form.ELIGIBILITY: lambda row, tables, last: not last,
}
# Of these a row more is told apart from a true one by nothing.
FREE_TO_ADD = frozenset(
    {form.RESPONSES, form.UNPROVED, form.ASSOCIATIONS, form.DECISIONS, form.LEDGER, form.APPEALS, form.STATEMENTS}
    | {form.MOTIONS, form.EXAMINATIONS, form.CASES, form.ELIGIBILITY, form.DEFENSES}
)


def _order(file: str, row: Cells) -> tuple[Any, ...]:
    from adjudication.schema.release_tables import order_of

    return order_of(file, row)
