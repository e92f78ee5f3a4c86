"""Checks that predictions of one run agree, and that the tables about defenses are consistent (R28-R33).

Pure: standard library only.
"""

from collections.abc import Iterable, Iterator, Mapping
from sys import intern
from typing import Any

from adjudication.enums import Verdict
from adjudication.rules import passes_private_set
from adjudication.schema import cells
from adjudication.schema import release_format as form
from adjudication.verifier.findings import Findings
from adjudication.verifier.moments import is_before, time_of
from adjudication.verifier.policies import RecordedPolicies
from adjudication.verifier.release import CheckedRelease
from adjudication.verifier.rows import Row
from adjudication.verifier.votes import value_of
from policy.calendar import week_of
from policy.numbers import Policy

_OF_RUN = ("defense_id", "round", "device", "batch_size", "seed", "attempt")
_OF_BATCH = ("latency_us", "predicted_at")
_PARTS = ("right", "wrong", "abstained", "faults")


def check_runs(release: CheckedRelease, findings: Findings) -> None:
    """Check that predictions agree in what is common to a run or batch, and that no two have the same place (R29)."""
    valid, rounds = _valid_since(release), _max_rounds(release)
    for file, moment in ((form.PREDICTIONS, "predicted_at"), (form.FAULTS, "at")):
        for row in release.rows(file):
            _check_valid(file, row, moment, valid, findings)
            _check_round(file, row, rounds, findings)
    runs = _Runs(release, findings)
    for row in release.rows(form.PREDICTIONS):
        runs.check(row)


class _Runs:
    """The earlier predictions, by what they have in common."""

    def __init__(self, release: CheckedRelease, findings: Findings) -> None:
        self._findings = findings
        self._sizes = {str(each.policy.batch_size) for each in release.policies.named.values()}
        self._published = {row["defense_id"]: row["published_at"] for row in release.rows(form.DEFENSES)}
        self._runs: dict[str, Row] = {}
        self._batches: dict[tuple[str, str], Row] = {}
        self._places: set[tuple[str, str, str]] = set()
        self._seeds: dict[tuple[str, str, str], str] = {}

    def check(self, row: Row) -> None:
        """Check one prediction against the earlier ones."""
        for column, follows in self._wrong(row):
            self._findings.add_cell(form.PREDICTIONS, row, column, follows)
        if "run" in row:
            _compare(row, self._runs.setdefault(row["run"], row), _OF_RUN, "run", self._findings)
            batch = self._batches.setdefault((row["run"], row["batch"]), row)
            _compare(row, batch, _OF_BATCH, "batch", self._findings)

    def _wrong(self, row: Row) -> Iterator[tuple[str, str]]:
        published = self._published.get(row["defense_id"], "")
        if published and is_before(row["predicted_at"], published):
            yield "predicted_at", f"not before {published}, when it was published"
        if self._sizes and row["batch_size"] not in self._sizes:
            yield "batch_size", " or ".join(sorted(self._sizes))
        if int(row["row"]) >= int(row["batch_size"]):
            yield "row", f"less than {row['batch_size']}"
        if row["attempt"] == "0":
            yield "attempt", "1 or more"
        answered = (intern(row["defense_id"]), intern(row["image_id"]), intern(row["seed"]))
        same = self._seeds.setdefault(answered, intern(row["round"]))
        if same != row["round"]:
            yield "seed", f"another than in round {same}"
        place = (intern(row["run"]), intern(row["batch"]), intern(row["row"])) if "run" in row else None
        if place in self._places:
            yield "row", f"another place in batch {row['batch']}"
        if place is not None:
            self._places.add(place)


def _max_rounds(release: CheckedRelease) -> int:
    return max((each.policy.evaluation_runs for each in release.policies.named.values()), default=0)


def _compare(row: Row, first: Row, columns: Iterable[str], what: str, findings: Findings) -> None:
    for column in columns:
        if row[column] != first[column]:
            findings.add_cell(form.PREDICTIONS, row, column, f"{first[column]}, as in the rest of its {what}")


def _valid_since(release: CheckedRelease) -> dict[str, str]:
    """Return picture -> when it was first ruled valid."""
    since: dict[str, str] = {}
    run = release.rows(form.PREDICTIONS) or release.rows(form.FAULTS)
    for row in release.rows(form.RULINGS) if run else ():
        if row["verdict"] == Verdict.VALID:
            since.setdefault(intern(row["image_id"]), row["decided_at"])
    return since


def _check_valid(file: str, row: Row, column: str, valid: Mapping[str, str], findings: Findings) -> None:
    """Check that predictions are made only on pictures that were ruled valid before (R29)."""
    if row["image_id"] not in valid:
        findings.add_cell(file, row, "image_id", "a picture that was ruled valid")
    elif is_before(row[column], valid[row["image_id"]]):
        findings.add_cell(file, row, column, f"not before {valid[row['image_id']]}, its ruling")


def _check_round(file: str, row: Row, max_round: int, findings: Findings) -> None:
    if not 1 <= int(row["round"]) <= max_round:
        findings.add_cell(file, row, "round", f"1 to {max_round}")


def check_found(release: CheckedRelease, findings: Findings) -> None:
    """Check that a break or a mistake is found after the ruling (R29); a rerun may prove it by a later prediction."""
    found = {row["image_id"] for file in (form.BREAKS, form.UNPROVED, form.MISTAKES) for row in release.rows(file)}
    decided = {
        (row["image_id"], row["number"]): row
        for row in (release.rows(form.RULINGS) if found else ())
        if row["image_id"] in found
    }
    rounds = _max_rounds(release)
    for file in (form.BREAKS, form.UNPROVED):
        for row in release.rows(file):
            _check_round(file, row, rounds, findings)
            ruling = decided.get((row["image_id"], row["ruling_number"]))
            if ruling is not None and is_before(row["found_at"], ruling["decided_at"]):
                findings.add_cell(file, row, "found_at", f"not before {ruling['decided_at']}, the ruling")
            if file == form.UNPROVED and (ruling is None or ruling["label"] in ("", row["answer"])):
                findings.add_cell(file, row, "answer", "the other class than a ruling of valid")
    first: dict[tuple[str, str], str] = {}
    for ruling in decided.values():
        key = (ruling["image_id"], ruling["label"])
        first[key] = min(ruling["decided_at"], first.get(key, ruling["decided_at"]))
    for row in release.rows(form.MISTAKES):
        ruled_at = first.get((row["image_id"], row["label"]))
        if ruled_at is not None and is_before(row["found_at"], ruled_at):
            findings.add_cell(form.MISTAKES, row, "found_at", f"not before {ruled_at}")


def check_defenses(release: CheckedRelease, findings: Findings) -> None:
    """Check a defense's digest and due time, and that a team's is public only after a passed trial (R28, R31, R32)."""
    for row in release.rows(form.DEFENSES):
        if "number" not in row:
            continue
        _, at, digest = row["image"].partition("@")
        if at and digest != row["digest"]:
            findings.add_cell(form.DEFENSES, row, "image", f"an image @{row['digest']}")
        if row["demo"] == "true" and row["team_id"]:
            findings.add_cell(form.DEFENSES, row, "demo", "false for one that a team handed in")
        _check_due(row, release.policies, findings)
    for before in release.earlier_by(form.DEFENSES, "defense_id").values():
        check_still_there(form.DEFENSES, "defense_id", before, release, findings)
        now = release.by(form.DEFENSES, "defense_id").get(before["defense_id"])
        # A reference defense of the contest returns when its software returns to an older version.
        if now is not None and now.get("team_id") and before["retired_at"]:
            findings.compare_cells(form.DEFENSES, now, {"retired_at": before["retired_at"]})
    _check_eligibility(release, findings)


def _check_due(row: Row, policies: RecordedPolicies, findings: Findings) -> None:
    """Check that a defense is due at the end of the week after the week of receipt, by the zone known then: a later
    change of the time zone does not move it (R33)."""
    if not row["received_at"]:
        findings.compare_cells(form.DEFENSES, row, {"due_at": ""})
        return
    held = policies.at(row["received_at"])
    if held is not None and policies.knows(row["received_at"]):
        received, zones = time_of(row["received_at"]), (policies.zones(), held.policy.time_zone)
        ends = [cells.time(week_of(week_of(received, each).end, each).end) for each in zones]
        if row["due_at"] not in ends:
            findings.add_cell(form.DEFENSES, row, "due_at", ends[0])


def check_still_there(file: str, key: str, before: Row, release: CheckedRelease, findings: Findings) -> None:
    """Check that each row of the previous release is in this one too."""
    if before[key] not in release.by(file, key):
        findings.add(file, f"row {before[key]}", "no row", "the row of the release before", column=key)


def _check_eligibility(release: CheckedRelease, findings: Findings) -> None:
    trials: set[tuple[str, str]] = set()
    passed: set[str] = set()
    for row in release.rows(form.ELIGIBILITY):
        if (row["defense_id"], row["trial"]) in trials:
            findings.add_cell(form.ELIGIBILITY, row, "trial", "each trial of a defense once")
        trials.add((row["defense_id"], row["trial"]))
        totals = _totals(row, findings)
        held = release.policies.at(row["finished_at"])
        defense = release.by(form.DEFENSES, "defense_id").get(row["defense_id"])
        if totals is None or defense is None or is_before(defense["published_at"], row["finished_at"]):
            continue
        when_published = release.policies.at(defense["published_at"])
        policies = [each.policy for each in (held, when_published) if each is not None]
        if not policies or any(_passes(totals, policy) for policy in policies):
            passed.add(row["defense_id"])
    for row in release.rows(form.DEFENSES):
        known = row.get("team_id") and row["published_at"] < release.manifest.values["week_end"]
        if known and row["defense_id"] not in passed:
            findings.add_cell(
                form.DEFENSES, row, "published_at", f"after a trial in {form.ELIGIBILITY} that it passed", rule="R31"
            )
    for before in release.earlier_by(form.ELIGIBILITY, "number").values():
        check_still_there(form.ELIGIBILITY, "number", before, release, findings)


def _totals(row: Row, findings: Findings) -> Mapping[str, Any] | None:
    """Return the totals of a trial; None where they are inconsistent."""
    try:
        totals = value_of(row["totals"])
        parts = [totals[name] for name in _PARTS]
        right = all(type(each) is int and each >= 0 for each in parts) and sum(parts) == totals["pictures"]
    except (ValueError, KeyError):
        right = False
    if not right:
        findings.add_cell(form.ELIGIBILITY, row, "totals", "parts that add up to its pictures")
        return None
    return dict(totals)


def _passes(totals: Mapping[str, Any], policy: Policy) -> bool:
    return passes_private_set(
        pictures=totals["pictures"],
        right=totals["right"],
        mistakes=totals["wrong"] + totals["faults"],
        percent=policy.eligibility_percent,
        strict=policy.eligibility_strict,
    )
