"""Formats the release verifier's findings, as text and as JSON (R39).

Pure: standard library only.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from adjudication.schema import release_tables
from adjudication.schema.columns import Column, Standing
from adjudication.signatures.checking import SignatureReport
from adjudication.verifier.findings import Findings
from adjudication.verifier.release_reader import Manifest
from adjudication.verifier.terminal import printable

_HOW_TO_READ = (
    "  rulings.csv: row P-ABC number 1: recorded verdict valid, follows verdict rejected [line 5, R13]",
    "  The file says the first; by the rest of the release and rule 13 the second holds. It is line 5 of the file,",
    "  where one is named. The rules are on the contest's page /rules/.",
)


def report(manifest: Manifest, findings: Findings) -> Iterator[str]:
    """Yield the report's lines: what was checked, what cannot be verified, notes, and how to read the differences."""
    yield from findings.figures
    yield ""
    yield "Checked: columns that were derived again (D), are bound by others (B), or free (F)"
    for file, columns in release_tables.tables_of(manifest.revision).items():
        number = findings.rows.get(file, 0)
        standings = Counter(column.standing for column in columns.values())
        numbers = "  ".join(f"{standings[each] or '-':>3} {each.name[0]}" for each in Standing)
        yield f"  {file:<20} {number:>11,} {'row ' if number == 1 else 'rows'}  {numbers}"
    yield ""
    yield "Nobody can know from releases alone:"
    for (file, reason), names in _by_reason(manifest.revision).items():
        yield f"  {file}: {', '.join(names)}: {reason}"
    if findings.notes:
        yield ""
        yield "Notes:"
        yield from (f"  {note}" for note in findings.notes)
    if findings.found:
        yield ""
        yield "How to read a difference, for example:"
        yield from _HOW_TO_READ
    yield ""


def _by_reason(revision: int) -> dict[tuple[str, str], list[str]]:
    """Return table and reason -> the columns of a revision that cannot be verified for that reason."""
    found: dict[tuple[str, str], list[str]] = {}
    for file, name, column in _free(revision):
        found.setdefault((file, column.reason), []).append(name)
    return found


def _free(revision: int) -> Iterator[tuple[str, str, Column]]:
    for file, columns in release_tables.tables_of(revision).items():
        for name, column in columns.items():
            if column.standing is Standing.FREE:
                yield file, name, column


def verdict(number: int) -> str:
    """Return the last line: how many differences there are."""
    return f"{number:,} difference{'s' if number != 1 else ''} found." if number else "Nothing differs."


def report_json(manifest: Manifest, findings: Findings, signatures: SignatureReport) -> dict[str, Any]:
    """Return the findings as JSON values: rows and columns by table, differences, and what cannot be verified."""
    tables = release_tables.tables_of(manifest.revision)
    checked = {
        file: {
            "rows": findings.rows.get(file, 0),
            "columns": {name: column.standing.value for name, column in columns.items()},
        }
        for file, columns in tables.items()
    }
    return {
        "release": printable(manifest.name),
        "manifest_sha256": manifest.sha256,
        "checked": checked,
        "differences": [asdict(each) for each in findings.found],
        "differences_not_listed": findings.not_kept,
        "notes": findings.notes,
        "unknowable": {f"{file} {name}": column.reason for file, name, column in _free(manifest.revision)},
        "signatures": asdict(signatures),
    }
