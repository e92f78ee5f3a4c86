"""Derives the rulings of a release again from its raw responses (R13-R16).

Pure: standard library only.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from adjudication.enums import DecidedBy, Verdict
from adjudication.rules import CountedOpinion, VerdictPolicy, adjudicate
from adjudication.schema import cells
from adjudication.schema import release_format as form
from adjudication.verifier.derived import CountedResponse, outline_box
from adjudication.verifier.findings import Findings
from adjudication.verifier.panels import Panels, check_counted, check_panels, counted_ids
from adjudication.verifier.policies import PolicyVersion
from adjudication.verifier.release_reader import Manifest
from adjudication.verifier.rows import Row
from labeling.enums import Answer
from labeling.geometry import HUNDREDTHS_PER_PIXEL, Box
from policy.numbers import LARGEST_PANEL, SMALLEST_PANEL

_BOX = ("box_xmin", "box_ymin", "box_xmax", "box_ymax")
_DERIVED = ("verdict", "label", "reasons", "smallest_box_fraction")


def read_responses(rows: Sequence[Row], images: Mapping[str, Row], findings: Findings) -> Panels:
    """Check every response by itself and gather those that count. `rows` come by their ids."""
    panels = Panels()
    asked: set[tuple[str, str]] = set()
    for row in rows:
        if row["image_id"] not in images:
            findings.add(form.RESPONSES, row, f"image {row['image_id']}", "an image of this release")
            continue
        pair = (row["image_id"], row["tasker_id"])
        if pair in asked:
            findings.add(form.RESPONSES, row, f"{pair[1]} on {pair[0]} again", "one response each")
        asked.add(pair)
        response = _response(row, images[row["image_id"]], findings)
        if row["counted"] == "true":
            _gather(response, row["image_id"], panels, findings)
    counted = sum(map(len, panels.counted.values()))
    findings.figures.append(f"responses: {len(rows):,} read, {counted:,} of them counted")
    return panels


def _gather(response: CountedResponse, image_id: str, panels: Panels, findings: Findings) -> None:
    """Add a response to its panel, unless no panel has so many places: each ruling reads the whole of its panel."""
    if not panels.add(image_id, response):
        row = f"row {response.response_id}"
        findings.add(form.RESPONSES, row, f"counted on {image_id} panel {response.panel}", "the panel was full")


class _ResponseOfRow(CountedResponse):
    """A counted response whose outline stays in its row: there are hundreds of thousands."""

    __slots__ = ()

    @property
    def outline(self) -> str:
        """Return the published text."""
        row: Any = self[-1]
        return str(row["outline"])


def _response(row: Row, image: Row, findings: Findings) -> CountedResponse:
    return _ResponseOfRow(
        int(row["response_id"]),
        int(row["panel"]),
        row["tasker_id"],
        row["contains_bird"],
        row["contains_bicycle"],
        _box(row, image, findings),
        cells.boolean_from(row["complete"]),
        cells.boolean_from(row["unoccluded"]),
        cells.boolean_from(row["real"]),
        cast(Any, row),
    )


def _box(row: Row, image: Row, findings: Findings) -> Box | None:
    """The box that follows from the outline, whatever box is recorded beside it."""
    box = outline_box(row["outline"]) if row["outline"] else None
    sides = ("",) * 4 if box is None else tuple(map(cells.pixels, (box.xmin, box.ymin, box.xmax, box.ymax)))
    recorded = tuple(row[side] for side in _BOX)
    if recorded != sides:
        findings.add(form.RESPONSES, row, f"box {' '.join(recorded)}", f"box {' '.join(sides)}")
    width, height = (int(image[side]) * HUNDREDTHS_PER_PIXEL for side in ("width", "height"))
    if box is not None and (box.xmax > width or box.ymax > height):
        findings.add(form.RESPONSES, row, f"box {' '.join(sides)}", "an outline inside the image")
    return box


def check_rulings(
    rows: Sequence[Row],
    images: Mapping[str, Row],
    panels: Panels,
    policies: Mapping[str, PolicyVersion],
    manifest: Manifest,
    findings: Findings,
) -> dict[str, Row]:
    """Derive every ruling of the rules again. Returns image -> the ruling that holds."""
    newest: dict[str, Row] = {}
    for row in rows:
        if row["image_id"] not in images:
            findings.add(form.RULINGS, row, "a ruling", "no such image")
            continue
        number = int(newest[row["image_id"]]["number"]) + 1 if row["image_id"] in newest else 1
        if int(row["number"]) != number:
            findings.add(form.RULINGS, row, f"number {row['number']}", f"number {number}")
        newest[row["image_id"]] = row
        _check_ruling(row, images[row["image_id"]], panels, policies, findings)
    ruled = check_counted(rows, panels, manifest, findings)
    check_panels(panels, ruled, {policy.policy.panel_size for policy in policies.values()}, manifest, findings)
    _check_none_missing(images, newest, panels, policies, manifest, findings)
    derived = sum(row["decided_by"] == DecidedBy.RULES for row in rows)
    findings.figures.append(f"rulings: {len(rows):,} read, {derived:,} of them derived again")
    return newest


def _check_ruling(
    row: Row, image: Row, panels: Panels, policies: Mapping[str, PolicyVersion], findings: Findings
) -> None:
    policy = policies.get(row["policy_version"])
    if policy is None:
        findings.add(form.RULINGS, row, f"policy {row['policy_version']}", "a policy of the manifest")
    elif row["decided_by"] == DecidedBy.RULES:
        ids = frozenset(counted_ids(row, panels))
        if "response_ids" not in row:
            _check_size(row, len(ids), policy, policies, findings)
        counted = [each for each in panels.panel(row["image_id"], int(row["panel"])) if each.response_id in ids]
        _check_decision(row, image, counted, policy.rules, findings)
    else:
        _check_board(row, findings)


def _check_size(
    row: Row,
    counted: int,
    policy: PolicyVersion,
    policies: Mapping[str, PolicyVersion],
    findings: Findings,
) -> None:
    """The panel is full: as many counted as this policy, or one in force when the panel was dealt, asks for (R7)."""
    if counted != policy.policy.panel_size and counted not in {each.policy.panel_size for each in policies.values()}:
        findings.add(
            form.RULINGS, row, f"{counted} counted responses on panel {row['panel']}", f"{policy.policy.panel_size}"
        )


def _check_decision(
    row: Row, image: Row, counted: Sequence[CountedResponse], policy: VerdictPolicy, findings: Findings
) -> None:
    if not counted or image["width"] == "0" or image["height"] == "0":
        return
    opinions = [_opinion(each) for each in counted]
    decision = adjudicate(opinions, policy, width=int(image["width"]), height=int(image["height"]))
    follows = (
        decision.verdict.value,
        decision.label.value if decision.label else "",
        cells.listed(decision.reasons),
        cells.share(decision.smallest_box),
    )
    for column, value in zip(_DERIVED, follows, strict=True):
        findings.compare(form.RULINGS, row, row[column], value, column=column)


def _opinion(response: CountedResponse) -> CountedOpinion:
    return CountedOpinion(
        Answer(response.bird),
        Answer(response.bicycle),
        response.box,
        response.complete,
        response.unoccluded,
        response.real,
    )


def _check_board(row: Row, findings: Findings) -> None:
    """A decision of the board explains itself (R20) and names a class exactly when it says valid."""
    if not row["explanation"]:
        findings.add(form.RULINGS, row, "no explanation", "a public explanation of the board")
    if bool(row["label"]) != (row["verdict"] == Verdict.VALID):
        findings.add(form.RULINGS, row, f"{row['verdict']} {row['label']}", "a label exactly when valid")


def _check_none_missing(
    images: Mapping[str, Row],
    newest: Mapping[str, Row],
    panels: Panels,
    policies: Mapping[str, PolicyVersion],
    manifest: Manifest,
    findings: Findings,
) -> None:
    """Every image has a ruling, save as many as the release says were waiting or kept out; so has every full panel.

    Releases of before the third revision do not say how large a panel is. Where their policies ask for different
    numbers of taskers, one with fewer answers than the most may be full or kept out: no more are there than both.
    """
    sizes = [policy.policy.panel_size for policy in policies.values()]
    least, most = min(sizes, default=SMALLEST_PANEL), max(sizes, default=LARGEST_PANEL)
    unruled = [image_id for image_id in images if image_id not in newest]
    full, perhaps = (sum(_is_full(panels, image_id, size) for image_id in unruled) for size in (most, least))
    to_rule = manifest.waiting("ruling")
    excepted = manifest.waiting("panel", "answers", "report", "ruling") + manifest.kept_out
    if len(unruled) > excepted or full > to_rule or perhaps > to_rule + manifest.kept_out:
        for image_id in unruled:
            findings.add(form.RULINGS, f"row {image_id}", "no ruling", "a ruling on every image")
    for (image_id, number), counted in panels.counted.items():
        size = _size(panels, image_id, number, most)
        if len(counted) > size:
            row = f"row {counted[size].response_id}"
            findings.add(form.RESPONSES, row, f"counted on {image_id} panel {number}", "the panel was full")


def _is_full(panels: Panels, image_id: str, otherwise: int) -> bool:
    return any(
        len(panels.panel(image_id, number)) >= _size(panels, image_id, number, otherwise)
        for number in panels.numbers(image_id)
    )


def _size(panels: Panels, image_id: str, number: int, otherwise: int) -> int:
    """Return how many places a panel has (R7); `otherwise` where the release does not say."""
    seats = panels.seats_of(image_id, number)
    return otherwise if seats is None else seats.size
