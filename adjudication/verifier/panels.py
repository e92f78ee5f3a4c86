"""Derives which responses each ruling counted (R16, R19): a full panel, the same panel after more taskers joined, or a
fresh panel.

Pure: standard library only.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from adjudication.enums import DecidedBy
from adjudication.schema import release_format as form
from adjudication.verifier.derived import CountedResponse
from adjudication.verifier.findings import Findings
from adjudication.verifier.release_reader import Manifest
from adjudication.verifier.rows import Row
from labeling.enums import PanelState
from policy.numbers import LARGEST_PANEL, SMALLEST_PANEL

# The revision of the format up to which a ruling names no responses: then each panel was ruled upon once.
_WITHOUT_IDS = 2
_ASKED = (PanelState.OPEN, PanelState.HELD)
# image, panel -> the newest ruling of the rules on it
Ruled = dict[tuple[str, int], Row]


class PanelPlaces(NamedTuple):
    """What a release says of a panel: how many places it has, how many of them joined later, since when, its state."""

    size: int
    joined: int
    joined_at: str
    state: str

    @property
    def dealt(self) -> int:
        """How many places it had at first."""
        return self.size - self.joined


@dataclass
class Panels:
    """Counted responses by image and panel, by their ids; and, since the third revision, the panels themselves."""

    counted: dict[tuple[str, int], list[CountedResponse]] = field(default_factory=dict)
    seats: dict[tuple[str, int], PanelPlaces] = field(default_factory=dict)
    # Few pictures have another panel than the first.
    _others: dict[str, list[int]] = field(default_factory=dict)

    def add(self, image_id: str, response: CountedResponse) -> bool:
        """Add a counted response to its panel; False where no panel has so many places."""
        panel = self.counted.get((image_id, response.panel))
        if panel is None:
            panel = self.counted[image_id, response.panel] = []
            if response.panel != 1:
                self._others.setdefault(image_id, []).append(response.panel)
        if len(panel) == LARGEST_PANEL:
            return False
        panel.append(response)
        return True

    def of(self, image_id: str) -> list[CountedResponse]:
        """Every counted response of an image, by id."""
        every = (response for number in self.numbers(image_id) for response in self.panel(image_id, number))
        return sorted(every, key=lambda response: response.response_id)

    def panel(self, image_id: str, panel: int) -> list[CountedResponse]:
        """The counted responses of one panel, by id: the order in which its places were filled."""
        return self.counted.get((image_id, panel), [])

    def numbers(self, image_id: str) -> list[int]:
        """Return the panels of an image that may have counted responses."""
        return [1, *self._others.get(image_id, ())]

    def seats_of(self, image_id: str, panel: int) -> PanelPlaces | None:
        """What the release says of a panel; None where it does not, as before the third revision."""
        return self.seats.get((image_id, panel))

    def withheld(self, image_id: str, panel: int) -> bool:
        """Say whether the answers of a panel stay out because more taskers are being asked on it (R8)."""
        seats = self.seats_of(image_id, panel)
        waits = seats is not None and seats.joined > 0 and seats.state in _ASKED
        return waits and not self.panel(image_id, panel)


def read_panels(rows: Sequence[Row], manifest: Manifest, panels: Panels) -> None:
    """Note what the release says of each panel."""
    if manifest.revision > _WITHOUT_IDS:
        for row in rows:
            seats = PanelPlaces(int(row["size"]), int(row["joined"]), row["joined_at"], row["state"])
            panels.seats[row["image_id"], int(row["panel"])] = seats


def counted_ids(ruling: Row, panels: Panels) -> list[int]:
    """Return the responses that a ruling counted: those it names, or before the third revision all of its panel."""
    named = ruling.get("response_ids")
    if named is None:
        return [each.response_id for each in panels.panel(ruling["image_id"], int(ruling["panel"]))]
    return [int(each) for each in named.split(";") if each]


def check_counted(rulings: Sequence[Row], panels: Panels, manifest: Manifest, findings: Findings) -> Ruled:
    """Every ruling names the answers that it had to count. Returns the newest of the rules on each panel."""
    ruled: Ruled = {}
    before: Mapping[str, str] = {}
    for row in rulings if manifest.revision > _WITHOUT_IDS else ():
        previous = before if before.get("image_id") == row["image_id"] else {}
        if row["decided_by"] == DecidedBy.RULES:
            _check_of_rules(row, previous, ruled, panels, findings)
        else:
            _check_of_board(row, previous, findings)
        before = row
    return ruled


def _check_of_rules(row: Row, previous: Mapping[str, str], ruled: Ruled, panels: Panels, findings: Findings) -> None:
    key = (row["image_id"], int(row["panel"]))
    seats, earlier = panels.seats_of(*key), ruled.get(key)
    if seats is None:
        return  # there is no such panel, which is found elsewhere
    _differs(row, "panel", row["panel"], str(max(int(row["panel"]), int(previous.get("panel", 1)))), findings)
    number = len(counted_ids(row, panels))
    least = seats.dealt if earlier is None else len(counted_ids(earlier, panels)) + 1
    most = seats.dealt if earlier is None else seats.size
    if not least <= number <= most:
        findings.add(form.RULINGS, row, f"{number} responses counted", f"{_from_to(least, most)} of panel {key[1]}")
    if earlier is not None:
        _differs(row, "policy_version", row["policy_version"], earlier["policy_version"], findings)
    if not panels.withheld(*key):
        first = (str(each.response_id) for each in panels.panel(*key)[:number])
        _differs(row, "response_ids", row["response_ids"], ";".join(first), findings)
    ruled[key] = row


def _check_of_board(row: Row, previous: Mapping[str, str], findings: Findings) -> None:
    """The board rules on what taskers said: its ruling names the answers and the panel of the one before it (R20)."""
    for column in ("panel", "response_ids", "smallest_box_fraction"):
        _differs(row, column, row[column], previous.get(column, "a ruling of the rules before it"), findings)


def _differs(row: Row, column: str, recorded: str, follows: str, findings: Findings) -> None:
    findings.compare(form.RULINGS, row, recorded, follows, column=column)


def _from_to(least: int, most: int) -> str:
    return str(least) if least >= most else f"{least} to {most}"


def check_panels(panels: Panels, ruled: Ruled, sizes: Collection[int], manifest: Manifest, findings: Findings) -> None:
    """Every panel has a possible size, and a ruling over all its answers unless the release says that it waits.

    `sizes` are those that the policies name: a picture's first panel has one of them, the board chooses for later ones.
    """
    newest: dict[str, int] = {}
    for image_id, number in panels.seats:
        newest[image_id] = max(number, newest.get(image_id, number))
    for image_id, number, seats in _all(panels):
        asked_for = sizes if number == 1 else range(SMALLEST_PANEL, LARGEST_PANEL + 1)
        if (image_id, number) in ruled and (seats.dealt not in asked_for or seats.size > LARGEST_PANEL):
            recorded = f"{seats.size} places, {seats.joined} of them later"
            findings.add(form.PANELS, _row(image_id, number), recorded, "as many as the policy or the board asks for")
        for recorded, follows in _impossible(panels, (image_id, number, seats), newest[image_id]):
            findings.add(form.PANELS, _row(image_id, number), recorded, follows)
    _check_waiting(panels, ruled, manifest, findings)


_Panel = tuple[str, int, PanelPlaces]


def _all(panels: Panels) -> Iterator[_Panel]:
    for (image_id, number), seats in panels.seats.items():
        yield image_id, number, seats


def _row(image_id: str, number: int) -> str:
    return f"row {image_id} panel {number}"


def _impossible(panels: Panels, panel: _Panel, newest: int) -> Iterator[tuple[str, str]]:
    """Yield what no panel can be, and what it would have to be; `newest` is the last panel of the same picture."""
    image_id, number, seats = panel
    if (seats.joined > 0) != bool(seats.joined_at):
        yield f"{seats.joined} joined at {seats.joined_at or 'no time'}", "a time exactly when others joined"
    if number != newest and seats.state != PanelState.SETTLED:
        yield f"state {seats.state}", f"settled, as panel {newest} follows"
    answers = len(panels.panel(image_id, number))
    if (answers >= seats.size) == (seats.state in _ASKED):
        yield f"state {seats.state}", f"another one with {answers} of {seats.size} answers"


def _check_waiting(panels: Panels, ruled: Ruled, manifest: Manifest, findings: Findings) -> None:
    """No more panels are without answers, or without their ruling, than the manifest says."""
    asked = [each for each in _all(panels) if each[2].state in _ASKED]
    if len(asked) > manifest.waiting("answers", "report") + manifest.kept_out:
        _add(findings, asked, "taskers being asked", "as many as the manifest says")
    late = [each for each in _all(panels) if each[2].state == PanelState.FULL]
    if len(late) > manifest.waiting("ruling"):
        _add(findings, late, "no ruling over all its answers", "one, or as many as the manifest says")
    ready = [each for each in late if _count_of_counted(each, ruled, panels) >= each[2].size]
    _add(findings, ready, "a ruling to come", "settled, as all its answers are ruled upon")
    others = [
        each
        for each in _all(panels)
        if each[2].state != PanelState.FULL and _count_of_counted(each, ruled, panels) < _to_count(each[2])
    ]
    _add(findings, others, "no ruling", "a ruling over all its answers")
    withheld = [each for each in asked if each[:2] in ruled and panels.withheld(*each[:2])]
    if len(withheld) > manifest.waiting("answers", "report"):
        _add(findings, withheld, "no answers", "the answers that were ruled upon")


def _add(findings: Findings, found: list[_Panel], recorded: str, follows: str) -> None:
    for image_id, number, _ in found:
        findings.add(form.PANELS, _row(image_id, number), recorded, follows)


def _count_of_counted(panel: _Panel, ruled: Ruled, panels: Panels) -> int:
    ruling = ruled.get(panel[:2])
    return len(counted_ids(ruling, panels)) if ruling is not None else 0


def _to_count(seats: PanelPlaces) -> int:
    """How many answers its newest ruling counted: all, or while others who joined are asked, those before them."""
    if seats.state not in _ASKED:
        return seats.size
    return seats.dealt if seats.joined else 0
