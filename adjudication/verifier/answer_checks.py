"""Checks the times of panels and answers, and which questions were asked (R7, R8, R10-R12, R19).

Pure: standard library only.
"""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from functools import lru_cache, partial

from adjudication.enums import CaseOutcome, DecidedBy
from adjudication.schema import release_format as form
from adjudication.verifier.findings import Findings
from adjudication.verifier.moments import is_before
from adjudication.verifier.panels import PanelKey, panel_key
from adjudication.verifier.release import EarlierReleases, Release
from adjudication.verifier.rows import Row, RowIndex
from labeling.enums import Answer, PanelState
from labeling.outline_gate import class_to_outline
from policy.enums import OutlineGate

# What is read here of a release: no more is handed to another process.
_TABLES = (form.RESPONSES, form.PANELS, form.RULINGS, form.CASES)
_STATEMENTS = ("complete", "unoccluded", "real")
_WITH_ALL = (PanelState.FULL, PanelState.SETTLED)


def begin_answers(release: Release, processes: Executor | None) -> Callable[[], Findings]:
    """Begin to check the answers in another process where there is one; returns what waits for the findings."""
    if processes is None:
        return partial(check_answers, release)
    manifest, none = release.manifest.without_files(), EarlierReleases((), whole=False)
    tables = {name: release.tables[name] for name in _TABLES if name in release.tables}
    return processes.submit(check_answers, Release(release.folder, manifest, tables, none, release.policies)).result


def check_answers(release: Release) -> Findings:
    """Check each answer against its panel and against the questions that were asked."""
    findings = Findings()
    rows = release.rows(form.PANELS)
    panels = RowIndex(rows, {panel_key(row["image_id"], int(row["panel"])): at for at, row in enumerate(rows)})
    gates = frozenset(each.policy.outline_gate for each in release.policies.named.values())
    # panel of each counted answer -> whether one of them came when the panel was full
    full: dict[PanelKey, bool] = {}
    ids = array("Q")
    for row in release.rows(form.RESPONSES):
        ids.append(int(row["response_id"]))
        counted = row["counted"] == "true"
        if counted and row["void_reason"]:
            findings.add(form.RESPONSES, row, row["counted"], "false for a voided answer", column="counted", rule="R6")
        if counted:
            _check_questions(row, gates, findings)
        key = panel_key(row["image_id"], int(row["panel"]))
        panel = panels.get(key)
        if panel is None:
            if form.PANELS in release.tables:
                findings.add(
                    form.RESPONSES, row, row["panel"], f"a panel of the picture in {form.PANELS}", column="panel"
                )
            continue
        _check_times(row, panel, findings)
        if counted:
            full[key] = full.get(key, False) or row["submitted_at"] == panel["full_at"]
    _check_panels(release, full, findings)
    _check_rulings(panels, ids, release, findings)
    return findings


def _check_times(row: Row, panel: Row, findings: Findings) -> None:
    """No answer comes before its panel was dealt, and no counted one after it was full (R7)."""
    at, dealt_at, full_at = row["submitted_at"], panel["dealt_at"], panel["full_at"]
    if is_before(at, dealt_at):
        words = f"not before {dealt_at}, when its panel was dealt"
        findings.add(form.RESPONSES, row, at, words, column="submitted_at")
    if full_at and row["counted"] == "true" and is_before(full_at, at):
        words = f"not after {full_at}, when its panel was full"
        findings.add(form.RESPONSES, row, at, words, column="submitted_at")


def _check_questions(row: Row, gates: frozenset[OutlineGate], findings: Findings) -> None:
    """Questions 3 and 4 are answered exactly where they were asked (R10, R12). What does not count is left out: of
    gold, another policy may have asked."""
    expected = _outline_expected(row["contains_bird"], row["contains_bicycle"], gates)
    for column in _STATEMENTS:
        if expected and bool(row[column]) not in expected:
            follows = "an answer, as it was asked" if True in expected else "nothing, as it was not asked"
            findings.add(form.RESPONSES, row, row[column], follows, column=column)
    if expected == {False} and row["outline"]:
        findings.add(form.RESPONSES, row, row["outline"], "nothing, as it was not asked", column="outline", rule="R10")


@lru_cache(1 << 10)
def _outline_expected(bird: str, bicycle: str, gates: frozenset[OutlineGate]) -> frozenset[bool]:
    """Return whether the class was to be outlined, by each of the gates."""
    return frozenset(class_to_outline(Answer(bird), Answer(bicycle), gate) is not None for gate in gates)


def _check_panels(release: Release, full: Mapping[PanelKey, bool], findings: Findings) -> None:
    """Panels are numbered without a gap, full where they say so, and joined by as many as the board asked for."""
    asked = _case_times_by_panel(release)
    numbers: dict[str, int] = {}
    for row in release.rows(form.PANELS):
        numbers[row["image_id"]] = numbers.get(row["image_id"], 0) + 1
        findings.compare(form.PANELS, row, row["panel"], str(numbers[row["image_id"]]), column="panel")
        if bool(row["full_at"]) != (row["state"] in _WITH_ALL):
            follows = "a time" if row["state"] in _WITH_ALL else "no time"
            findings.add(form.PANELS, row, row["full_at"], f"{follows}, as it is {row['state']}", column="full_at")
        if row["full_at"] and not full.get(panel_key(row["image_id"], int(row["panel"])), True):
            findings.add(form.PANELS, row, row["full_at"], "the time of one of its answers", column="full_at")
        if row.get("joined", "0") != "0" and row["state"] == PanelState.SETTLED:
            # A case is published when it is closed, which may be after the ruling on its panel.
            cases = asked.get((row["image_id"], row["panel"]), [])
            if cases and row["joined_at"] not in cases:
                words = f"when a case was decided: {', '.join(cases)}"
                findings.add(form.PANELS, row, row["joined_at"], words, column="joined_at")


def _case_times_by_panel(release: Release) -> dict[tuple[str, str], list[str]]:
    """Return picture, panel -> when the board asked more taskers of it (R19)."""
    asked: dict[tuple[str, str], list[str]] = {}
    for row in release.rows(form.CASES):
        if row["outcome"] == CaseOutcome.MORE_TASKERS:
            asked.setdefault((row["image_id"], row["asked_panel"]), []).append(row["decided_at"])
    return asked


def _check_rulings(panels: Mapping[PanelKey, Row], ids: Sequence[int], release: Release, findings: Findings) -> None:
    """A ruling comes after what it counts and after the ruling before it, under the policy of its time (R7, R16).
    `ids` are those of the answers, in their order."""
    responses = release.rows(form.RESPONSES)

    def submitted(response_id: str) -> str:
        at = bisect_left(ids, int(response_id or 0))
        return responses[at]["submitted_at"] if at < len(ids) and ids[at] == int(response_id or 0) else ""

    before: Mapping[str, str] = {}
    for row in release.rows(form.RULINGS):
        earlier = before["decided_at"] if before.get("image_id") == row["image_id"] else ""
        heard = map(submitted, row.get("response_ids", "").split(";"))
        first = max([earlier, *heard])
        if first and is_before(row["decided_at"], first):
            words = f"not before {first}, what it is about"
            findings.add(form.RULINGS, row, row["decided_at"], words, column="decided_at")
        before = row
        panel = panels.get(panel_key(row["image_id"], int(row["panel"])))
        at = panel["dealt_at"] if panel is not None and row["decided_by"] == DecidedBy.RULES else row["decided_at"]
        held = release.policies.at(at)
        known = held is not None and (panel is not None or row["decided_by"] != DecidedBy.RULES)
        if held is not None and known and row["policy_version"] not in release.policies.around(at):
            findings.add(form.RULINGS, row, row["policy_version"], held.version, column="policy_version")
        if row["decided_by"] == DecidedBy.RULES and row["explanation"]:
            findings.add(form.RULINGS, row, row["explanation"], "nothing: the rules explain it", column="explanation")
