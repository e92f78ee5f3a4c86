"""Checks the times of panels and answers, and which questions were asked (R7, R8, R10-R12, R19).

Pure: standard library only.
"""

from bisect import bisect_left
from collections.abc import Collection, Mapping

from adjudication.enums import CaseOutcome, DecidedBy
from adjudication.schema import release_format as form
from adjudication.verifier.findings import Findings
from adjudication.verifier.moments import is_before
from adjudication.verifier.release import Release
from adjudication.verifier.rows import Row
from labeling.enums import Answer, PanelState
from labeling.outline_gate import class_to_outline
from policy.enums import OutlineGate

_STATEMENTS = ("complete", "unoccluded", "real")
_WITH_ALL = (PanelState.FULL, PanelState.SETTLED)
Panels = Mapping[tuple[str, str], Row]


def check_answers(release: Release, findings: Findings) -> None:
    """Check each answer against its panel and against the questions that were asked."""
    panels = {(row["image_id"], row["panel"]): row for row in release.rows(form.PANELS)}
    gates = {each.policy.outline_gate for each in release.policies.named.values()}
    # picture and panel of each counted answer -> whether one of them came when the panel was full
    full: dict[tuple[str, str], bool] = {}
    for row in release.rows(form.RESPONSES):
        if row["void_reason"] and row["counted"] == "true":
            findings.add(form.RESPONSES, row, row["counted"], "false for a voided answer", column="counted", rule="R6")
        _check_questions(row, gates, findings)
        panel = panels.get((row["image_id"], row["panel"]))
        if panel is None:
            if form.PANELS in release.tables:
                findings.add(
                    form.RESPONSES, row, row["panel"], f"a panel of the picture in {form.PANELS}", column="panel"
                )
            continue
        if is_before(row["submitted_at"], panel["dealt_at"]):
            words = f"not before {panel['dealt_at']}, when its panel was dealt"
            findings.add(form.RESPONSES, row, row["submitted_at"], words, column="submitted_at")
        if row["counted"] == "true":
            key = (row["image_id"], row["panel"])
            full[key] = full.get(key, False) or row["submitted_at"] == panel["full_at"]
            if panel["full_at"] and is_before(panel["full_at"], row["submitted_at"]):
                words = f"not after {panel['full_at']}, when its panel was full"
                findings.add(form.RESPONSES, row, row["submitted_at"], words, column="submitted_at")
    _check_panels(release, full, findings)
    _check_rulings(panels, release, findings)


def _check_questions(row: Row, gates: Collection[OutlineGate], findings: Findings) -> None:
    """Questions 3 and 4 are answered exactly where they were asked (R10, R12). What does not count is left out: of
    gold, another policy may have asked."""
    if row["counted"] != "true":
        return
    bird, bicycle = Answer(row["contains_bird"]), Answer(row["contains_bicycle"])
    asked = {class_to_outline(bird, bicycle, gate) is not None for gate in gates}
    for column in _STATEMENTS:
        if asked and bool(row[column]) not in asked:
            follows = "an answer, as it was asked" if True in asked else "nothing, as it was not asked"
            findings.add(form.RESPONSES, row, row[column], follows, column=column)
    if row["outline"] and asked == {False}:
        findings.add(form.RESPONSES, row, row["outline"], "nothing, as it was not asked", column="outline", rule="R10")


def _check_panels(release: Release, full: Mapping[tuple[str, str], bool], findings: Findings) -> None:
    """Panels are numbered without a gap, full where they say so, and joined by as many as the board asked for."""
    asked = _case_times_by_panel(release)
    numbers: dict[str, int] = {}
    for row in release.rows(form.PANELS):
        numbers[row["image_id"]] = numbers.get(row["image_id"], 0) + 1
        findings.compare(form.PANELS, row, row["panel"], str(numbers[row["image_id"]]), column="panel")
        if bool(row["full_at"]) != (row["state"] in _WITH_ALL):
            follows = "a time" if row["state"] in _WITH_ALL else "no time"
            findings.add(form.PANELS, row, row["full_at"], f"{follows}, as it is {row['state']}", column="full_at")
        if row["full_at"] and not full.get((row["image_id"], row["panel"]), True):
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


def _check_rulings(panels: Panels, release: Release, findings: Findings) -> None:
    """A ruling comes after what it counts and after the ruling before it, under the policy of its time (R7, R16)."""
    responses = release.rows(form.RESPONSES)
    ids = [int(row["response_id"]) for row in responses]

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
        panel = panels.get((row["image_id"], row["panel"]))
        at = panel["dealt_at"] if panel is not None and row["decided_by"] == DecidedBy.RULES else row["decided_at"]
        held = release.policies.at(at)
        known = held is not None and (panel is not None or row["decided_by"] != DecidedBy.RULES)
        if held is not None and known and row["policy_version"] not in release.policies.around(at):
            findings.add(form.RULINGS, row, row["policy_version"], held.version, column="policy_version")
        if row["decided_by"] == DecidedBy.RULES and row["explanation"]:
            findings.add(form.RULINGS, row, row["explanation"], "nothing: the rules explain it", column="explanation")
