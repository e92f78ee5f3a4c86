"""Checks that the audit trail of a release is an unbroken chain that continues the previous release.

Pure: standard library only. The private part of a row is not published: its SHA-256 stands in for it.
"""

import json
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from adjudication.schema import cells
from adjudication.schema import release_format as form
from adjudication.schema.cell_kinds import TIME
from adjudication.schema.release_tables import tables_of
from adjudication.verifier.findings import Findings
from adjudication.verifier.moments import time_of
from adjudication.verifier.release import CheckedRelease
from adjudication.verifier.rows import Row
from adjudication.verifier.votes import value_of
from common.audit.chain import ChainEnd, ChainRow, problem

# The action that the audit trail records when a release is published.
_PUBLISHED = "release.publish"


def check_audit(release: CheckedRelease, findings: Findings) -> None:
    """Check every row, and that the first one follows the last row of the earlier releases, or is the very first."""
    rows = release.rows(form.AUDIT)
    if rows:
        _check_first(rows[0], release, findings)
    end = _begin(rows)
    for row in rows:
        if wrong := _problem(end, row):
            findings.add(form.AUDIT, row, wrong, "a row that follows")
            return
        end = ChainEnd(int(row["number"]), row["sha256"])
    if rows and rows[-1]["at"] >= release.manifest.values["week_end"]:
        findings.add(form.AUDIT, rows[-1], rows[-1]["at"], "a time before the week's end")
    findings.figures.append(
        f"rows of the audit trail: {len(rows):,} checked" + (f", to number {end.number:,}" if rows else "")
    )


def check_publications(release: CheckedRelease, findings: Findings) -> None:
    """Check each publication in the trail: the release's manifest hash, and that nothing in it is later (R39)."""
    before = {each.manifest.name: each for each in release.earlier.releases}
    for row in release.rows(form.AUDIT):
        names = _json(row["subject"]).get("release") if row["action"] == _PUBLISHED else None
        published = before.pop(str(names[0]), None) if isinstance(names, list) and names else None
        if published is None:
            continue
        findings.compare(
            form.AUDIT, row, _json(row["facts"]).get("manifest_sha256"), published.manifest.sha256, column="facts"
        )
        latest = cells.time(time_of(row["at"]) + _BUILDING)
        for file, columns in tables_of(published.manifest.revision).items():
            times = [
                name for name, column in columns.items() if column.kind.form.pattern in _TIMES and name not in _TO_COME
            ]
            for each in published.stream(file) if times else ():
                for name in times:
                    if each[name] > latest:
                        words = f"not after {row['at']}, when it was published"
                        findings.add_cell(f"{published.manifest.name}/{file}", each, name, words)


# Times that may be later than the release that names them.
_TO_COME = frozenset({"due_at"})
# The time of a release is when its export began; rows that were read for it may be a little later.
_BUILDING = timedelta(hours=1)
_TIMES = frozenset({TIME.form.pattern, TIME.optional().form.pattern})


def _json(cell: str) -> dict[str, Any]:
    try:
        value = value_of(cell or "{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _begin(rows: Sequence[Row]) -> ChainEnd:
    """Return the link of the chain that the first row names as its predecessor; the very first row has none."""
    if not rows or rows[0]["number"] == "1":
        return ChainEnd()
    return ChainEnd(int(rows[0]["number"]) - 1, rows[0]["previous"])


def _problem(end: ChainEnd, row: Row) -> str:
    try:
        return problem(end, chain_link_of_row(row))
    except (ValueError, TypeError, RecursionError) as error:
        return f"cannot be read: {error}"


def chain_link_of_row(row: Mapping[str, str]) -> ChainRow:
    """Return a row of `audit.csv` in the form that the chain hashes; raises ValueError for invalid JSON."""
    return ChainRow(int(row["number"]), _public(row), row["private_sha256"], row["previous"], row["sha256"])


def _public(row: Mapping[str, str]) -> dict[str, Any]:
    part = {"at": row["at"], "role": row["role"], "action": row["action"], "facts": json.loads(row["facts"])}
    if row["subject"]:
        return part | {"subject": json.loads(row["subject"]), "why": cells.text_from(row["why"])}
    if row["why"]:
        raise ValueError("a reason without what it is about")
    return part


def _check_first(row: Row, release: CheckedRelease, findings: Findings) -> None:
    """Check that the first row follows the last one of the week before; releases in between may have rows too."""
    last = next((row for each in reversed(release.weeks_before) for row in deque(each.stream(form.AUDIT), 1)), None)
    before = ChainEnd(int(last["number"]), last["sha256"]) if last is not None else ChainEnd()
    number = int(row["number"])
    if number > before.number + 1 and not _is_next(release):
        findings.note(f"audit trail: rows {before.number + 1:,} to {number - 1:,} may be in releases between")
    elif number != before.number + 1 or row["previous"] != before.sha256:
        recorded = f"row {number:,} after {row['previous']}"
        findings.add(form.AUDIT, row, recorded, f"row {before.number + 1:,} after {before.sha256}")


def _is_next(release: CheckedRelease) -> bool:
    """Say whether no release can exist between this one and the last earlier week that is present."""
    return release.earlier.whole or any(
        each.manifest.values["week_end"] == release.manifest.values["week_start"] for each in release.weeks_before[-1:]
    )
