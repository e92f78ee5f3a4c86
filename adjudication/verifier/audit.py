"""Checks that the audit trail of a release is an unbroken chain that continues the previous release.

Pure: standard library only. The private part of a row is not published: its SHA-256 stands in for it.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from adjudication.verifier import cells
from adjudication.verifier import release_format as form
from adjudication.verifier.release_reader import Findings, Manifest, NotARelease, Row, read_manifest, read_table
from common.audit.chain import ChainEnd, ChainRow, problem


def check_audit(
    folder: Path, manifest: Manifest, rows: Sequence[Row], previous: Path | None, findings: Findings
) -> None:
    """Check every row, and that the first one follows the last of `previous`, or of the release that lies beside."""
    before = _before(folder, manifest, previous)
    if rows and before is not None:
        _check_first(rows[0], *before, findings)
    end = _begin(rows)
    for row in rows:
        if wrong := _problem(end, row):
            findings.add(form.AUDIT, f"row {row['number']}", wrong, "a row that follows")
            return
        end = ChainEnd(int(row["number"]), row["sha256"])
    if rows and rows[-1]["at"] >= manifest.values["week_end"]:
        findings.add(form.AUDIT, f"row {rows[-1]['number']}", rows[-1]["at"], "a time before the week's end")
    findings.figures.append(f"{len(rows):,} rows of the audit trail checked" + (f", to {end.number:,}" if rows else ""))


def _begin(rows: Sequence[Row]) -> ChainEnd:
    """Return where the rows take the chain up, as the first of them says it; the very first row follows none."""
    if not rows or rows[0]["number"] == "1":
        return ChainEnd()
    return ChainEnd(int(rows[0]["number"]) - 1, rows[0]["previous"])


def _problem(end: ChainEnd, row: Row) -> str:
    try:
        return problem(end, chain_link_of_row(row))
    except (ValueError, TypeError, RecursionError) as error:
        return f"cannot be read: {error}"


def chain_link_of_row(row: Row) -> ChainRow:
    """Return a row of `audit.csv` as the chain sees it; raises ValueError for JSON that is none."""
    return ChainRow(int(row["number"]), _public(row), row["private_sha256"], row["previous"], row["sha256"])


def _public(row: Row) -> dict[str, Any]:
    part: dict[str, Any] = {"at": row["at"], "role": row["role"], "action": row["action"]}
    part["facts"] = json.loads(row["facts"])
    if not row["subject"]:
        return part
    return part | {"subject": json.loads(row["subject"]), "why": cells.text_from(row["why"])}


def _before(folder: Path, manifest: Manifest, previous: Path | None) -> tuple[Row, bool] | None:
    """Return the last row of the release before this one, where it is here and of an earlier week, and whether that
    week ends where this one begins."""
    place = previous if previous is not None else folder.resolve().parent / manifest.previous_name
    if not manifest.previous_name:
        return None
    try:
        other = read_manifest(place)
        rows = read_table(place, form.AUDIT, Findings(), revision=other.revision)
    except (NotARelease, KeyError):
        return None  # what is wrong with it, the check of that release says
    if not rows or other.values["week"] >= manifest.values["week"]:
        return None
    return rows[-1], other.values["week_end"] == manifest.values["week_start"]


def _check_first(row: Row, before: Row, adjoining: bool, findings: Findings) -> None:
    """The first row follows the last one of the week before; weeks between may have been released with rows, too."""
    number, last = int(row["number"]), int(before["number"])
    if number > last + 1 and not adjoining:
        findings.note(f"audit trail: rows {last + 1:,} to {number - 1:,} may be in releases between")
    elif number != last + 1 or row["previous"] != before["sha256"]:
        recorded = f"row {number:,} after {row['previous']}"
        findings.add(form.AUDIT, f"row {number}", recorded, f"row {last + 1:,} after {before['sha256']}")
