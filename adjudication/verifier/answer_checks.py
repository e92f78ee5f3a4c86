"""Checks taskers' responses and panels: times, required questions, derived files (R7, R8, R10-R12, R19, R39).

Pure: standard library only.
"""

from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from sys import intern

from adjudication.enums import CaseOutcome, DecidedBy
from adjudication.schema import release_format as form
from adjudication.verifier import derived
from adjudication.verifier.findings import Findings
from adjudication.verifier.moments import is_before
from adjudication.verifier.panels import PanelKey, Panels, counted_ids, panel_key
from adjudication.verifier.release import CheckedRelease, EarlierReleases
from adjudication.verifier.release_reader import Manifest, compare_text, csv_text
from adjudication.verifier.rows import Row, RowIndex, Times
from labeling.enums import Answer, Label, PanelState
from labeling.outline_gate import class_to_outline
from policy.enums import OutlineGate

# The tables that these checks read: only they are passed to another process.
_TABLES = (form.IMAGES, form.RESPONSES, form.PANELS, form.RULINGS, form.CASES)
_STATEMENTS = ("complete", "unoccluded", "real")
_QUESTIONS = ("contains_bird", "contains_bicycle", *_STATEMENTS)
_ANSWER = ("response_id", "image_id", "panel", "submitted_at", "counted", "void_reason", "outline", *_QUESTIONS)
_RULING = ("image_id", "panel", "decided_at", "decided_by", "policy_version", "explanation")
_WITH_ALL = (PanelState.FULL, PanelState.SETTLED)


def begin_answers(release: CheckedRelease, processes: Executor | None) -> Callable[[], tuple[Findings, int]]:
    """Begin to check the responses, in another process if there is one; returns a function that waits for it."""
    if processes is None:
        return partial(check_answers, release)
    manifest, none = release.manifest.without_files(), EarlierReleases((), whole=False)
    tables = {name: release.tables[name] for name in _TABLES if name in release.tables}
    return processes.submit(
        check_answers, CheckedRelease(release.folder, manifest, tables, none, release.policies)
    ).result


# The counted responses of a panel so far: none; some, all before it was full; one at the time it was full.
_NO_ANSWER, _BEFORE_FULL, _WHEN_FULL = range(3)


class _PanelTimes:
    """The panels by number: when each was dealt, when it was full, and `answers`, one of the three states above."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.numbers: dict[PanelKey, int] = {}
        self.dealt_at, self.full_at, self.answers = Times(), Times(), bytearray([_NO_ANSWER]) * len(rows)
        for number, row in enumerate(rows):
            image_id, panel, dealt_at, full_at = row.cells(("image_id", "panel", "dealt_at", "full_at"))
            self.numbers[panel_key(image_id, int(panel))] = number
            self.dealt_at.append(dealt_at)
            self.full_at.append(full_at)


def check_answers(release: CheckedRelease) -> tuple[Findings, int]:
    """Check each response against its panel and against the required questions, and the files that are derived from all
    responses. Returns the findings, and how many pictures have a row of `tasker_data.csv`."""
    findings, responses = Findings(), release.rows(form.RESPONSES)
    panels, counted = _PanelTimes(release.rows(form.PANELS)), Panels(responses)
    ids, times = array("Q"), Times()
    gates = frozenset(each.policy.outline_gate for each in release.policies.named.values())
    for number, row in enumerate(responses):
        response_id, image_id, panel, at, counts, void_reason, outline, *answers = row.cells(_ANSWER)
        ids.append(int(response_id))
        times.append(at)
        if counts == "true":
            counted.add(number, row, derived.outline_sides(outline) if outline else None)
            _check_questions(row, answers, outline, gates, findings)
            if void_reason:
                findings.add(form.RESPONSES, row, counts, "false for a voided answer", column="counted", rule="R6")
        place = panels.numbers.get(panel_key(image_id, int(panel)))
        if place is not None:
            _check_times(row, at, counts == "true", panels, place, findings)
        elif form.PANELS in release.tables:
            findings.add(form.RESPONSES, row, panel, f"a panel of the picture in {form.PANELS}", column="panel")
    _check_panels(release, panels, findings)

    def submitted_at(response_id: int) -> str:
        place = bisect_left(ids, response_id)
        return times[place] if place < len(ids) and ids[place] == response_id else ""

    newest = _check_rulings(panels, submitted_at, release, findings)
    files = DerivedFiles(release.rows(form.IMAGES), newest, counted)
    files.compare(release.folder, release.manifest, findings)
    return findings, files.tasker_rows


def _check_times(row: Row, at: str, counts: bool, panels: _PanelTimes, number: int, findings: Findings) -> None:
    """Check that no response comes before its panel was dealt, and no counted one after it was full (R7)."""
    dealt_at, full_at = panels.dealt_at[number], panels.full_at[number]
    if is_before(at, dealt_at):
        findings.add_cell(form.RESPONSES, row, "submitted_at", f"not before {dealt_at}, when its panel was dealt")
    if not counts:
        return
    panels.answers[number] = max(panels.answers[number], _WHEN_FULL if at == full_at else _BEFORE_FULL)
    if full_at and is_before(full_at, at):
        findings.add_cell(form.RESPONSES, row, "submitted_at", f"not after {full_at}, when its panel was full")


def _check_questions(
    row: Row, answers: Sequence[str], outline: str, gates: frozenset[OutlineGate], findings: Findings
) -> None:
    """Check that questions 3 and 4 have answers exactly where they are required (R10, R12). Uncounted responses are
    left out: for gold, another policy may apply."""
    bird, bicycle, *statements = answers
    expected = _outline_expected(bird, bicycle, gates)
    if len(expected) != 1:
        return  # no policy is known, or they differ
    (asked,) = expected
    for column, cell in zip(_STATEMENTS, statements, strict=True):
        if bool(cell) != asked:
            follows = "an answer, as it was asked" if asked else "nothing, as it was not asked"
            findings.add(form.RESPONSES, row, cell, follows, column=column)
    if outline and not asked:
        findings.add(form.RESPONSES, row, outline, "nothing, as it was not asked", column="outline", rule="R10")


@lru_cache(1 << 10)
def _outline_expected(bird: str, bicycle: str, gates: frozenset[OutlineGate]) -> frozenset[bool]:
    """Return whether an outline was required, according to each of the gates."""
    return frozenset(class_to_outline(Answer(bird), Answer(bicycle), gate) is not None for gate in gates)


def _check_panels(release: CheckedRelease, panels: _PanelTimes, findings: Findings) -> None:
    """Check that panels are numbered without a gap, full where they say so, and joined as the board requested."""
    asked = _case_times_by_panel(release)
    image, follows = "", 0
    for at, row in enumerate(release.rows(form.PANELS)):
        image_id, number, state, full_at = row.cells(("image_id", "panel", "state", "full_at"))
        image, follows = image_id, follows + 1 if image_id == image else 1
        findings.compare(form.PANELS, row, number, str(follows), column="panel")
        if bool(full_at) != (state in _WITH_ALL):
            words = "a time" if state in _WITH_ALL else "no time"
            findings.add(form.PANELS, row, full_at, f"{words}, as it is {state}", column="full_at")
        if full_at and panels.answers[at] == _BEFORE_FULL:
            findings.add(form.PANELS, row, full_at, "the time of one of its answers", column="full_at")
        if row.get("joined", "0") != "0" and state == PanelState.SETTLED:
            # A case is published when it is closed, which may be after the ruling on its panel.
            cases = asked.get((image_id, number), [])
            if cases and row["joined_at"] not in cases:
                words = f"when a case was decided: {', '.join(cases)}"
                findings.add_cell(form.PANELS, row, "joined_at", words)


def _case_times_by_panel(release: CheckedRelease) -> dict[tuple[str, str], list[str]]:
    """Return picture, panel -> when the board decided that more taskers join it (R19)."""
    asked: dict[tuple[str, str], list[str]] = {}
    for row in release.rows(form.CASES):
        if row["outcome"] == CaseOutcome.MORE_TASKERS:
            asked.setdefault((row["image_id"], row["asked_panel"]), []).append(row["decided_at"])
    return asked


def _check_rulings(
    panels: _PanelTimes, submitted_at: Callable[[int], str], release: CheckedRelease, findings: Findings
) -> RowIndex[str]:
    """Check that a ruling comes after the responses it counts and the ruling before it, under the policy of its time
    (R7, R16). Returns image -> the ruling in force."""
    image, earlier = "", ""
    numbers: dict[str, int] = {}
    for place, row in enumerate(release.rows(form.RULINGS)):
        image_id, panel, decided_at, decided_by, version, explanation = row.cells(_RULING)
        counted = (int(each) for each in row.get("response_ids", "").split(";") if each)
        first = max(map(submitted_at, counted), default="")
        first = max(first, earlier) if image_id == image else first
        image, earlier = image_id, decided_at
        numbers[intern(image_id)] = place
        if is_before(decided_at, first):
            findings.add(form.RULINGS, row, decided_at, f"not before {first}, what it is about", column="decided_at")
        number, of_rules = panels.numbers.get(panel_key(image_id, int(panel))), decided_by == DecidedBy.RULES
        if of_rules and explanation:
            findings.add(form.RULINGS, row, explanation, "nothing: the rules explain it", column="explanation")
        if of_rules and number is None:
            continue
        at = panels.dealt_at[number] if of_rules and number is not None else decided_at
        held = release.policies.at(at)
        if held is not None and version not in release.policies.around(at):
            findings.add(form.RULINGS, row, version, held.version, column="policy_version")
    return RowIndex(release.rows(form.RULINGS), numbers)


class DerivedFiles:
    """Both derived files, from images, the ruling in force on each, and the counted responses."""

    def __init__(self, images: Sequence[Row], newest: Mapping[str, Row], panels: Panels) -> None:
        """Begin without a line: `tasker_rows` counts the pictures' rows that `tasker_data` yields."""
        self._images, self._newest, self._panels = images, newest, panels
        self.tasker_rows = 0

    def compare(self, folder: Path, manifest: Manifest, findings: Findings) -> None:
        """Find every line in which a file of the release differs."""
        lines = self.tasker_data()
        compare_text(folder, form.TASKER_DATA, lines, findings)
        deque(lines, maxlen=0)  # without a file no line was consumed: consume them all, so that they are counted
        compare_text(folder, form.COCO, self.coco(manifest), findings)

    def tasker_data(self) -> Iterator[str]:
        """Yield the lines of `tasker_data.csv`."""
        return csv_text(chain(derived.TASKER_DATA_HEADINGS, self._tasker_rows()))

    def _tasker_rows(self) -> Iterator[list[str]]:
        for _, image in self._first_rows():
            picture = self._picture(image)
            row = derived.tasker_data_row(picture, self._panels.of(picture.image_id))
            if row is not None:
                self.tasker_rows += 1
                yield row

    def coco(self, manifest: Manifest) -> Iterator[str]:
        """Yield the text of the annotations in pieces: it may be long."""
        rulings = ((number, self._newest.get(image["image_id"])) for number, image in self._first_rows())
        valid = array("I", (number for number, ruling in rulings if ruling and ruling["label"]))
        pictures = (self._picture(self._images[number]) for number in valid)
        yield from derived.coco_head(manifest.values["week"], manifest.rule_book, pictures)
        annotations = derived.Annotations()
        for number in valid:
            picture = self._picture(self._images[number])
            yield annotations.of(picture, self._panels.of(picture.image_id))
        yield derived.COCO_TAIL

    def _first_rows(self) -> Iterator[tuple[int, Row]]:
        """Yield each picture once, with the number of its row."""
        before = ""
        for number, image in enumerate(self._images):
            if image["image_id"] != before:
                yield number, image
            before = image["image_id"]

    def _picture(self, image: Row) -> derived.ReleasedPicture:
        image_id, sha256_pixels, width, height = image.cells(("image_id", "sha256_pixels", "width", "height"))
        ruling = self._newest.get(image_id)
        label = Label(ruling["label"]) if ruling and ruling["label"] else None
        counted = frozenset(counted_ids(ruling, self._panels)) if ruling else None
        return derived.ReleasedPicture(image_id, sha256_pixels, int(width), int(height), label, counted)
