"""Recomputes the rulings of a release from its raw responses, and compares them (R13-R16).

Pure: standard library only.
"""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from sys import intern
from typing import TypeAlias

from adjudication.enums import DecidedBy, Verdict
from adjudication.rules import CountedOpinion, VerdictPolicy, adjudicate
from adjudication.schema import cells
from adjudication.schema import release_format as form
from adjudication.verifier.derived import outline_sides
from adjudication.verifier.findings import Findings
from adjudication.verifier.panels import BOX, Panels, check_counted, check_panels, counted_ids
from adjudication.verifier.policies import RecordedPolicy
from adjudication.verifier.release_reader import Manifest
from adjudication.verifier.rows import Row, RowIndex
from labeling.geometry import HUNDREDTHS_PER_PIXEL
from policy.numbers import MAX_PANEL_SIZE, MIN_PANEL_SIZE

# Picture -> width and height.
Sizes: TypeAlias = Mapping[str, tuple[int, int]]

_DERIVED = ("verdict", "label", "reasons", "smallest_box_fraction")


def read_responses(rows: Sequence[Row], sizes: Sizes, findings: Findings) -> Panels:
    """Check every response on its own and collect those that count. `rows` are sorted by id."""
    panels, numbers = Panels(rows), {image_id: number for number, image_id in enumerate(sizes)}
    # Picture and tasker of each response as one number, to save memory: 0 for a response on an unknown picture.
    pairs = array("Q")
    counted = 0
    for number, row in enumerate(rows):
        image_id, tasker_id, counts = row.cells(("image_id", "tasker_id", "counted"))
        image = numbers.get(image_id)
        pairs.append(0 if image is None else (image + 1) << 32 | panels.tasker_number(tasker_id))
        if image is None:  # this table is the longest: its pictures are looked up once, here
            findings.add(form.RESPONSES, row, f"image {image_id}", "an image of this release")
            continue
        box = _sides(row, sizes[image_id], findings)
        if counts == "true" and panels.add(number, row, box):
            counted += 1
        elif counts == "true":  # each ruling needs the whole panel
            place = f"counted on {image_id} panel {int(row['panel'])}"
            findings.add(form.RESPONSES, f"row {int(row['response_id'])}", place, "the panel was full")
    _check_pairs(pairs, rows, findings)
    findings.figures.append(f"responses: {len(rows):,} read, {counted:,} of them counted")
    return panels


def _check_pairs(pairs: Sequence[int], rows: Sequence[Row], findings: Findings) -> None:
    """Check that no tasker answers twice about a picture (R8)."""
    repeated = {one for one, other in pairwise(sorted(pairs)) if one == other} - {0}
    first = set[int]()
    for number, pair in enumerate(pairs if repeated else ()):
        if pair in first:
            tasker_id, image_id = rows[number].cells(("tasker_id", "image_id"))
            findings.add(form.RESPONSES, rows[number], f"{tasker_id} on {image_id} again", "one response each")
        first |= {pair} & repeated


def _sides(row: Row, size: tuple[int, int], findings: Findings) -> Sequence[int] | None:
    """Return the sides of the box computed from the outline, whatever box is recorded, and check that."""
    outline, *recorded = row.cells(("outline", *BOX))
    sides = outline_sides(outline) if outline else None
    texts = ["", "", "", ""] if sides is None else [_pixels(side) for side in sides]
    if recorded != texts:
        findings.add(form.RESPONSES, row, f"box {' '.join(recorded)}", f"box {' '.join(texts)}")
    width, height = size
    if sides is not None and (sides[2] > width * HUNDREDTHS_PER_PIXEL or sides[3] > height * HUNDREDTHS_PER_PIXEL):
        findings.add(form.RESPONSES, row, f"box {' '.join(texts)}", "an outline inside the image")
    return sides


_pixels = lru_cache(1 << 15)(cells.pixels)  # equal sides repeat often


def check_rulings(
    rows: Sequence[Row],
    sizes: Sizes,
    panels: Panels,
    policies: Mapping[str, RecordedPolicy],
    manifest: Manifest,
    findings: Findings,
) -> Mapping[str, Row]:
    """Recompute every ruling by the rules. Returns image -> the ruling in force."""
    numbers: dict[str, int] = {}
    newest, derived = RowIndex(rows, numbers), 0
    for at, row in enumerate(rows):
        image_id = row["image_id"]
        derived += row["decided_by"] == DecidedBy.RULES
        if image_id not in sizes:
            continue  # found by check_bounds
        number = int(newest[image_id]["number"]) + 1 if image_id in newest else 1
        if int(row["number"]) != number:
            findings.add(form.RULINGS, row, f"number {row['number']}", f"number {number}")
        numbers[intern(image_id)] = at
        _check_ruling(row, sizes[image_id], panels, policies, findings)
    ruled = check_counted(rows, panels, manifest, findings)
    check_panels(panels, ruled, {policy.policy.panel_size for policy in policies.values()}, manifest, findings)
    _check_none_missing(sizes, newest, panels, policies, manifest, findings)
    findings.figures.append(f"rulings: {len(rows):,} read, {derived:,} of them derived again")
    return newest


def _check_ruling(
    row: Row, size: tuple[int, int], panels: Panels, policies: Mapping[str, RecordedPolicy], findings: Findings
) -> None:
    policy = policies.get(row["policy_version"])
    if policy is None:
        findings.add(form.RULINGS, row, f"policy {row['policy_version']}", "a policy of the manifest")
    elif row["decided_by"] == DecidedBy.RULES:
        ids = frozenset(counted_ids(row, panels))
        if "response_ids" not in row:
            _check_size(row, len(ids), policy, policies, findings)
        opinions = panels.opinions(row["image_id"], int(row["panel"]), ids)
        _check_decision(row, size, opinions, policy.rules, findings)
    else:
        _check_board(row, findings)


def _check_size(
    row: Row,
    counted: int,
    policy: RecordedPolicy,
    policies: Mapping[str, RecordedPolicy],
    findings: Findings,
) -> None:
    """Check that the panel is full: its size is that of this policy, or of one in force when it was dealt (R7)."""
    if counted != policy.policy.panel_size and counted not in {each.policy.panel_size for each in policies.values()}:
        findings.add(
            form.RULINGS, row, f"{counted} counted responses on panel {row['panel']}", f"{policy.policy.panel_size}"
        )


def _check_decision(
    row: Row, size: tuple[int, int], opinions: Sequence[CountedOpinion], policy: VerdictPolicy, findings: Findings
) -> None:
    width, height = size
    if not opinions or not width or not height:
        return
    decision = adjudicate(opinions, policy, width=width, height=height)
    follows = (
        decision.verdict.value,
        decision.label.value if decision.label else "",
        cells.listed(decision.reasons),
        cells.share(decision.smallest_box),
    )
    recorded = row.cells(_DERIVED)
    if recorded != follows:
        for column, one, other in zip(_DERIVED, recorded, follows, strict=True):
            findings.compare(form.RULINGS, row, one, other, column=column)


def _check_board(row: Row, findings: Findings) -> None:
    """Check that a ruling of the board has an explanation (R20), and a class exactly when it is valid."""
    if not row["explanation"]:
        findings.add(form.RULINGS, row, "no explanation", "a public explanation of the board")
    if bool(row["label"]) != (row["verdict"] == Verdict.VALID):
        findings.add(form.RULINGS, row, f"{row['verdict']} {row['label']}", "a label exactly when valid")


def _check_none_missing(
    images: Iterable[str],
    newest: Mapping[str, Row],
    panels: Panels,
    policies: Mapping[str, RecordedPolicy],
    manifest: Manifest,
    findings: Findings,
) -> None:
    """Check that every image and every full panel has a ruling, except as many as were waiting or kept out.

    Releases before the third revision do not give the size of a panel. Where their policies have different sizes, a
    panel with fewer responses than the largest size may be full or kept out: both counts together limit their number.
    """
    sizes = [policy.policy.panel_size for policy in policies.values()]
    least, most = min(sizes, default=MIN_PANEL_SIZE), max(sizes, default=MAX_PANEL_SIZE)
    unruled = [image_id for image_id in images if image_id not in newest]
    full, perhaps = (sum(_is_full(panels, image_id, size) for image_id in unruled) for size in (most, least))
    to_rule = manifest.waiting("ruling")
    excepted = manifest.waiting("panel", "answers", "report", "ruling") + manifest.kept_out
    if len(unruled) > excepted or full > to_rule or perhaps > to_rule + manifest.kept_out:
        for image_id in unruled:
            findings.add(form.RULINGS, f"row {image_id}", "no ruling", "a ruling on every image")
    for image_id, number, counted in panels.sizes():
        size = _size(panels, image_id, number, most)
        if counted > size:
            row = f"row {panels.ids(image_id, number)[size]}"
            findings.add(form.RESPONSES, row, f"counted on {image_id} panel {number}", "the panel was full")


def _is_full(panels: Panels, image_id: str, otherwise: int) -> bool:
    return any(
        panels.counted(image_id, number) >= _size(panels, image_id, number, otherwise)
        for number in panels.numbers(image_id)
    )


def _size(panels: Panels, image_id: str, number: int, otherwise: int) -> int:
    """Return how many places a panel has (R7); `otherwise` where the release does not say."""
    seats = panels.seats_of(image_id, number)
    return otherwise if seats is None else seats.size
