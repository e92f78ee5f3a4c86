"""Reads the votes of a case from a release and counts them again (R19-R21).

Pure: standard library only. The count is the board's own function.
"""

import json
from collections.abc import Mapping
from typing import Any

from adjudication.counting import CHOICES, OUTCOMES, Ballot, agrees, decided_by
from adjudication.enums import CaseKind, CaseOutcome, VoteChoice
from adjudication.rules import REASONS
from adjudication.schema import cells
from adjudication.verifier.findings import Findings
from adjudication.verifier.release_reader import Manifest
from adjudication.verifier.rows import Row
from labeling.enums import Label

_VOTE = {"choice": str, "dissent": bool, "label": str, "reasons": list, "words": str}


def value_of(cell: str) -> Any:
    """Return the value in a JSON cell; raises ValueError for invalid JSON or a form that is not the canonical one."""
    try:
        value = json.loads(cell)
        again = cells.json_cell(value)
    except RecursionError as error:
        raise ValueError("JSON without end") from error
    if again != cell:
        raise ValueError("JSON in another form")
    return value


def check_count(file: str, row: Row, kind: CaseKind, manifest: Manifest, findings: Findings) -> None:
    """Check that there is a quorum, and that the outcome follows from the votes; a motion may have been dropped."""
    _check_policies(file, row, manifest, findings)
    try:
        votes = [_vote(each, kind) for each in value_of(row["votes"])]
    except ValueError as error:
        findings.add(file, row, f"votes that cannot be read: {error}", "votes")
        return
    decides = decided_by([ballot for ballot, _ in votes], kind)
    if row["outcome"] != CaseOutcome.DROPPED:
        if len(votes) < int(row["quorum"]):
            findings.add(file, row, f"{len(votes)} votes", f"at least {row['quorum']}")
        _check_outcome(file, row, decides, findings)
    _check_dissents(file, row, votes, decides, findings)


def _check_policies(file: str, row: Row, manifest: Manifest, findings: Findings) -> None:
    """Check that both policies are listed, and the quorum against the policy under which the case was opened (R21)."""
    policies: Mapping[str, Any] = manifest.values["policy"]
    for column in ("opened_policy_version", "policy_version"):
        if row[column] not in policies:
            findings.add(file, row, f"{column} {row[column]}", "a policy of the manifest")
    numbers = policies.get(row["opened_policy_version"])
    quorum = numbers.get("board_quorum") if isinstance(numbers, dict) else None
    if quorum is not None and row["quorum"] != str(quorum):
        findings.add(file, row, f"quorum {row['quorum']}", f"quorum {quorum}")


def _check_outcome(file: str, row: Row, decides: Ballot, findings: Findings) -> None:
    follows = {"outcome": OUTCOMES[decides.choice].value}
    if "label" in row:
        follows |= {"label": decides.label, "reasons": ";".join(decides.reasons)}
    findings.compare_cells(file, row, follows)


def _check_dissents(file: str, row: Row, votes: list[tuple[Ballot, bool]], decides: Ballot, findings: Findings) -> None:
    """Check that exactly the votes for something else are marked as dissents."""
    said = ("no dissent", "dissent")
    for number, (ballot, dissent) in enumerate(votes, start=1):
        if dissent == agrees(ballot, decides):
            findings.add(file, row, f"vote {number}: {said[dissent]}", said[not dissent])


def _vote(told: Any, kind: CaseKind) -> tuple[Ballot, bool]:
    """Return what a vote is for, and whether it is marked as a dissent; raises ValueError for an invalid vote."""
    if not isinstance(told, dict) or {name: type(value) for name, value in told.items()} != _VOTE:
        raise ValueError("no choice, dissent, label, reasons and words")
    if told["choice"] not in CHOICES[kind]:
        raise ValueError(f"nobody votes for {told['choice']}")
    choice, label, reasons = VoteChoice(told["choice"]), told["label"], told["reasons"]
    ordered = [each for each in REASONS if each in reasons]
    if label not in {"", *Label} or ordered != reasons:
        raise ValueError(f"no class or reasons: {label} {reasons}")
    if (choice is VoteChoice.OVERRULE) != (bool(label) != bool(reasons)) or (label and reasons):
        raise ValueError(f"{choice} with {label or 'no class'} and {len(reasons)} reasons")
    return Ballot(choice, label, tuple(reasons)), told["dissent"]
