"""Checks the bounds that release columns declare (R39): references, order in time, range, uniqueness.

Pure: standard library only.
"""

from collections.abc import Callable
from functools import singledispatch
from typing import TypeAlias

from adjudication.schema import columns
from adjudication.schema.release_tables import DECLARED, tables_of
from adjudication.verifier.findings import Findings
from adjudication.verifier.moments import is_before
from adjudication.verifier.release import CheckedRelease
from adjudication.verifier.rows import Row

# A function from a row to what its cell would have to be; None where the cell is right.
Check: TypeAlias = Callable[[Row], str | None]


def check_bounds(release: CheckedRelease, findings: Findings) -> None:
    """Check every bound of every column of the release. Each row is read once; the findings are in the order of the
    bounds."""
    for file, declared in tables_of(release.manifest.revision).items():
        rows = release.rows(file)
        bounds = [(name, bound) for name, column in declared.items() for bound in column.bounds if rows]
        # The rows ascend by their key: a column that is the whole key is unique by that.
        bounds = [each for each in bounds if each != (*DECLARED[file].key, columns.Once())]
        checks = [(name, _check_of(bound, file, name, release), Findings()) for name, bound in bounds]
        for row in rows if checks else ():
            for name, check, found in checks:
                follows = check(row)
                if follows is not None:
                    found.add_cell(file, row, name, follows)
        for _, _, found in checks:
            findings.extend(found)


@singledispatch
def _check_of(bound: object, file: str, name: str, release: CheckedRelease) -> Check:
    """Return the check of one bound of a column."""
    raise TypeError(f"no check for {bound!r}")


@_check_of.register
def _(bound: columns.NamesRow, file: str, name: str, release: CheckedRelease) -> Check:
    here = release.by(bound.table, bound.column)
    # References to earlier releases cannot be checked where the chain is not complete from its first release on.
    unknown = bound.earlier and not release.earlier.whole
    before = release.earlier_by(bound.table, bound.column) if bound.earlier else {}

    def check(row: Row) -> str | None:
        if row[name] in here:
            return None
        for cell in row[name].split(";"):
            if cell and cell not in here and cell not in before and not unknown:
                return f"a row of {bound.table}"
        return None

    return check


@_check_of.register
def _(bound: columns.SameAsNamed, file: str, name: str, release: CheckedRelease) -> Check:
    def check(row: Row) -> str | None:
        named = release.find(bound.table, bound.key, row[bound.by])
        return None if named is None or named[bound.column] == row[name] else named[bound.column]

    return check


@_check_of.register
def _(bound: columns.InWeek, file: str, name: str, release: CheckedRelease) -> Check:
    # The fixed width makes the order of the texts the order of the times.
    start, end = release.manifest.values["week_start"], release.manifest.values["week_end"]
    return lambda row: None if start <= row[name] < end else f"from {start}, before {end}"


@_check_of.register
def _(bound: columns.BeforeWeekEnd, file: str, name: str, release: CheckedRelease) -> Check:
    end = release.manifest.values["week_end"]
    return lambda row: None if row[name] < end else f"a time before {end}"


@_check_of.register
def _(bound: columns.NotBefore, file: str, name: str, release: CheckedRelease) -> Check:
    def check(row: Row) -> str | None:
        first = row.get(bound.column, "")
        return f"not before {bound.column} {first}" if row[name] and first and is_before(row[name], first) else None

    return check


@_check_of.register
def _(bound: columns.NotBeforeNamed, file: str, name: str, release: CheckedRelease) -> Check:
    def check(row: Row) -> str | None:
        named = release.by(bound.table, bound.key).get(row[bound.by])
        first = named[bound.column] if named is not None else ""
        wrong = row[name] and first and is_before(row[name], first)
        return f"not before {bound.column} {first} in {bound.table}" if wrong else None

    return check


@_check_of.register
def _(bound: columns.Between, file: str, name: str, release: CheckedRelease) -> Check:
    return lambda row: None if bound.least <= int(row[name]) <= bound.most else str(bound)


@_check_of.register
def _(bound: columns.FilledWith, file: str, name: str, release: CheckedRelease) -> Check:
    def check(row: Row) -> str | None:
        other = row.get(bound.column, "")
        asked = other in bound.words if bound.words else bool(other)
        return str(bound) if bool(row[name]) != asked else None

    return check


@_check_of.register
def _(bound: columns.Once, file: str, name: str, release: CheckedRelease) -> Check:
    seen: set[str] = set()

    def check(row: Row) -> str | None:
        again = row[name] in seen
        seen.add(row[name])
        return str(bound) if again else None

    return check


@_check_of.register
def _(bound: columns.New, file: str, name: str, release: CheckedRelease) -> Check:
    before = release.earlier_by(file, name)
    return lambda row: str(bound) if row[name] in before else None


@_check_of.register
def _(bound: columns.Unchanged, file: str, name: str, release: CheckedRelease) -> Check:
    (key,) = DECLARED[file].key
    before = release.earlier_by(file, key)

    def check(row: Row) -> str | None:
        earlier = before.get(row[key])
        then = earlier.get(name) if earlier is not None else None
        if then is None or row[name] == then or (not then and not bound.empty_too):
            return None
        return f"{then or 'nothing'}, as in earlier releases"

    return check


@_check_of.register
def _(bound: columns.InForceAt, file: str, name: str, release: CheckedRelease) -> Check:
    def check(row: Row) -> str | None:
        held = release.policies.at(row[bound.at])
        wrong = held is not None and row[name] not in release.policies.around(row[bound.at])
        return held.version if held is not None and wrong else None

    return check
