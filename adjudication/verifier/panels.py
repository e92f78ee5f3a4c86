"""Derives which responses each ruling counted (R16, R19): a full panel, the same panel after more taskers joined, or a
fresh panel.

Pure: standard library only.
"""

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from struct import Struct
from sys import intern
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

from adjudication.enums import DecidedBy
from adjudication.rules import CountedOpinion
from adjudication.schema import cells
from adjudication.schema import release_format as form
from adjudication.verifier.derived import CountedResponse
from adjudication.verifier.findings import Findings
from adjudication.verifier.release_reader import Manifest
from adjudication.verifier.rows import Row
from labeling.enums import Answer, PanelState
from labeling.geometry import Box
from policy.numbers import MAX_PANEL_SIZE, MIN_PANEL_SIZE

# The last revision of the format in which a ruling names no responses: each panel had one ruling then.
_WITHOUT_IDS = 2
_ASKED = (PanelState.OPEN, PanelState.HELD)
# The key of a panel: its image if it is the image's first panel, otherwise image and panel number.
PanelKey: TypeAlias = str | tuple[str, int]
# Panel -> how many responses its newest ruling by the rules (not the board) counted, and under which policy.
Ruled: TypeAlias = dict[PanelKey, tuple[int, str]]
Shared = TypeVar("Shared", bound=Hashable)


class PanelPlaces(NamedTuple):
    """A panel's row in a release: how many places it has, how many of them were added later, since when, its state."""

    size: int
    joined: int
    joined_at: str
    state: str

    @property
    def dealt(self) -> int:
        """The number of places with which it was dealt."""
        return self.size - self.joined


BOX = ("box_xmin", "box_ymin", "box_xmax", "box_ymax")
_CELLS = ("contains_bird", "contains_bicycle", "complete", "unoccluded", "real")
# A response of a panel in memory: its id, its box, the numbers of its row and its tasker, and its cells below.
_HELD = Struct("<Q4q2I5s")
_ID = Struct(f"<Q{_HELD.size - 8}x")
_NO_BOX = (-1, -1, -1, -1)
_ADDED = ("response_id", "image_id", "panel", "tasker_id", *_CELLS)
_ANSWERS, _STATEMENTS = tuple(Answer), (None, False, True)


class _HeldResponse(CountedResponse):
    """A counted response whose outline is read from its row."""

    __slots__ = ()

    @property
    def outline(self) -> str:
        """Return the published text."""
        rows, number = cast(Any, self[-1])
        return str(rows[number]["outline"])


class Panels:
    """Counted responses by image and panel, by their ids; and, since the third revision, the panels themselves."""

    def __init__(self, responses: Sequence[Row]) -> None:
        """Begin without any panel; `responses` are the rows to which row numbers refer."""
        self._responses = responses
        # Most panels are the first of their image: the image is their key.
        self._counted: dict[PanelKey, bytes] = {}
        self._seats: dict[PanelKey, PanelPlaces] = {}
        self._taskers: dict[str, int] = {}
        self._tasker_ids: list[str] = []
        # Few pictures have more than one panel.
        self._others: dict[str, list[int]] = {}

    def tasker_number(self, tasker_id: str) -> int:
        """Return a number that stands for a tasker."""
        number = self._taskers.setdefault(intern(tasker_id), len(self._taskers))
        if number == len(self._tasker_ids):
            self._tasker_ids.append(tasker_id)
        return number

    def add(self, number: int, row: Row, sides: Sequence[int] | None) -> bool:
        """Add a counted response, the row of this number, to its panel, with the sides of its box in hundredths of a
        pixel. False where no panel has so many places."""
        response_id, image_id, number_of_panel, tasker_id, *answers = row.cells(_ADDED)
        panel = int(number_of_panel)
        key = panel_key(image_id, panel)
        before = self._counted.get(key)
        if before is None:
            before = b""
            if panel != 1:
                self._others.setdefault(image_id, []).append(panel)
        if len(before) == MAX_PANEL_SIZE * _HELD.size:
            return False
        self._counted[key] = before + _HELD.pack(
            int(response_id), *(sides or _NO_BOX), number, self.tasker_number(tasker_id), _packed(*answers)
        )
        return True

    def of(self, image_id: str) -> list[CountedResponse]:
        """Every counted response of an image, by id."""
        found: list[CountedResponse] = []
        for panel in self.numbers(image_id):
            for pk, xmin, ymin, xmax, ymax, row, tasker, packed in self._held(image_id, panel):
                bird, bicycle, *statements = _unpacked(packed)
                box = Box(xmin, ymin, xmax, ymax) if xmin >= 0 else None
                rest = cast(Any, (*statements, (self._responses, row)))
                found.append(_HeldResponse(pk, panel, self._tasker_ids[tasker], bird, bicycle, box, *rest))
        return sorted(found, key=itemgetter(0))

    def opinions(self, image_id: str, panel: int, ids: Collection[int]) -> list[CountedOpinion]:
        """Return those of a panel's counted responses that have one of these ids, as input of the rules."""
        found: list[CountedOpinion] = []
        for pk, xmin, ymin, xmax, ymax, _, _, packed in self._held(image_id, panel):
            if pk in ids:
                bird, bicycle, *statements = _unpacked(packed)
                box = Box(xmin, ymin, xmax, ymax) if xmin >= 0 else None
                found.append(CountedOpinion(bird, bicycle, box, *statements))
        return found

    def _held(self, image_id: str, panel: int) -> Iterator[tuple[Any, ...]]:
        return _HELD.iter_unpack(self._counted.get(panel_key(image_id, panel), b""))

    def counted(self, image_id: str, panel: int) -> int:
        """Return how many responses of a panel are counted."""
        return len(self._counted.get(panel_key(image_id, panel), b"")) // _HELD.size

    def ids(self, image_id: str, panel: int) -> list[int]:
        """Return the ids of the counted responses of one panel, in their order."""
        return [each for (each,) in _ID.iter_unpack(self._counted.get(panel_key(image_id, panel), b""))]

    def numbers(self, image_id: str) -> list[int]:
        """Return the panels of an image that may have counted responses."""
        return [1, *self._others.get(image_id, ())]

    def sizes(self) -> Iterator[tuple[str, int, int]]:
        """Yield image, panel, and how many of its responses are counted, in the order of the file."""
        for key, held in self._counted.items():
            yield *_named(key), len(held) // _HELD.size

    def seat(self, image_id: str, panel: int, seats: PanelPlaces) -> None:
        """Store a panel's row."""
        self._seats[panel_key(image_id, panel)] = _shared(seats)

    def seats(self) -> Iterator[tuple[str, int, PanelPlaces]]:
        """Yield image, panel number, and the panel's row."""
        for key, seats in self._seats.items():
            yield *_named(key), seats

    def seats_of(self, image_id: str, panel: int) -> PanelPlaces | None:
        """Return a panel's row; None without one, as before the third revision."""
        return self._seats.get(panel_key(image_id, panel))

    def withheld(self, image_id: str, panel: int) -> bool:
        """Say whether a panel's responses are not published because more taskers are answering on it (R8)."""
        seats = self.seats_of(image_id, panel)
        waits = seats is not None and seats.joined > 0 and seats.state in _ASKED
        return waits and not self.counted(image_id, panel)


@lru_cache(1 << 10)  # there cannot be so many different ones
def _packed(bird: str, bicycle: str, *statements: str) -> bytes:
    """Return the cells of the four questions in packed form."""
    answers = (_ANSWERS.index(Answer(each)) for each in (bird, bicycle))
    return bytes([*answers, *(_STATEMENTS.index(cells.boolean_from(each)) for each in statements)])


@lru_cache(1 << 10)
def _unpacked(packed: bytes) -> tuple[Answer, Answer, bool | None, bool | None, bool | None]:
    """Return the answers in packed cells."""
    bird, bicycle, complete, unoccluded, real = packed
    return _ANSWERS[bird], _ANSWERS[bicycle], _STATEMENTS[complete], _STATEMENTS[unoccluded], _STATEMENTS[real]


@lru_cache(1 << 10)
def _shared(value: Shared) -> Shared:
    """Return the same object for all equal values, to save memory: few values differ, and many panels hold them."""
    return value


def panel_key(image_id: str, panel: int) -> PanelKey:
    """Return the key of a panel."""
    image_id = intern(image_id)
    return image_id if panel == 1 else (image_id, panel)


def _named(key: PanelKey) -> tuple[str, int]:
    return (key, 1) if isinstance(key, str) else key


def read_panels(rows: Sequence[Row], manifest: Manifest, panels: Panels) -> None:
    """Store each panel's row."""
    if manifest.revision > _WITHOUT_IDS:
        for row in rows:
            seats = PanelPlaces(int(row["size"]), int(row["joined"]), row["joined_at"], row["state"])
            panels.seat(row["image_id"], int(row["panel"]), seats)


def counted_ids(ruling: Row, panels: Panels) -> list[int]:
    """Return the responses that a ruling counted: those it names, or before the third revision all of its panel."""
    named = ruling.get("response_ids")
    if named is None:
        return panels.ids(ruling["image_id"], int(ruling["panel"]))
    return [int(each) for each in named.split(";") if each]


def check_counted(rulings: Sequence[Row], panels: Panels, manifest: Manifest, findings: Findings) -> Ruled:
    """Check that every ruling names the responses it has to count. Returns each panel's newest ruling by the rules."""
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
    seats, earlier = panels.seats_of(*key), ruled.get(panel_key(*key))
    if seats is None:
        return  # there is no such panel, which another check reports
    findings.compare_cells(form.RULINGS, row, {"panel": str(max(int(row["panel"]), int(previous.get("panel", 1))))})
    number = len(counted_ids(row, panels))
    least = seats.dealt if earlier is None else earlier[0] + 1
    most = seats.dealt if earlier is None else seats.size
    if not least <= number <= most:
        wanted = str(least) if least >= most else f"{least} to {most}"
        findings.add(form.RULINGS, row, f"{number} responses counted", f"{wanted} of panel {key[1]}")
    if earlier is not None:
        findings.compare_cells(form.RULINGS, row, {"policy_version": earlier[1]})
    if not panels.withheld(*key):
        first = map(str, panels.ids(*key)[:number])
        findings.compare_cells(form.RULINGS, row, {"response_ids": ";".join(first)})
    ruled[panel_key(*key)] = _shared((number, row["policy_version"]))


def _check_of_board(row: Row, previous: Mapping[str, str], findings: Findings) -> None:
    """Check that a ruling of the board names the same responses and panel as the ruling before it (R20)."""
    columns = ("panel", "response_ids", "smallest_box_fraction")
    follows = {column: previous.get(column, "a ruling of the rules before it") for column in columns}
    findings.compare_cells(form.RULINGS, row, follows)


def check_panels(panels: Panels, ruled: Ruled, sizes: Collection[int], manifest: Manifest, findings: Findings) -> None:
    """Check that every panel has a possible size, and a ruling over all its responses unless the release says it waits.

    `sizes` are those of the policies: a picture's first panel has one of them; the board chooses later ones' size.
    """
    newest: dict[str, int] = {}
    for image_id, number, _ in panels.seats():
        newest[image_id] = max(number, newest.get(image_id, number))
    for image_id, number, seats in panels.seats():
        asked_for = sizes if number == 1 else range(MIN_PANEL_SIZE, MAX_PANEL_SIZE + 1)
        if panel_key(image_id, number) in ruled and (seats.dealt not in asked_for or seats.size > MAX_PANEL_SIZE):
            recorded = f"{seats.size} places, {seats.joined} of them later"
            findings.add(form.PANELS, _row(image_id, number), recorded, "as many as the policy or the board asks for")
        for recorded, follows in _impossible(panels, (image_id, number, seats), newest[image_id]):
            findings.add(form.PANELS, _row(image_id, number), recorded, follows)
    _check_waiting(panels, ruled, manifest, findings)


_Panel = tuple[str, int, PanelPlaces]


def _row(image_id: str, number: int) -> str:
    return f"row {image_id} panel {number}"


def _impossible(panels: Panels, panel: _Panel, newest: int) -> Iterator[tuple[str, str]]:
    """Yield impossible values of a panel and what they should be; `newest` is the last panel of the same picture."""
    image_id, number, seats = panel
    if (seats.joined > 0) != bool(seats.joined_at):
        yield f"{seats.joined} joined at {seats.joined_at or 'no time'}", "a time exactly when others joined"
    if number != newest and seats.state != PanelState.SETTLED:
        yield f"state {seats.state}", f"settled, as panel {newest} follows"
    answers = panels.counted(image_id, number)
    if (answers >= seats.size) == (seats.state in _ASKED):
        yield f"state {seats.state}", f"another one with {answers} of {seats.size} answers"


def _check_waiting(panels: Panels, ruled: Ruled, manifest: Manifest, findings: Findings) -> None:
    """Check that no more panels lack responses, or their ruling, than the manifest says."""
    asked = [each for each in panels.seats() if each[2].state in _ASKED]
    late = [each for each in panels.seats() if each[2].state == PanelState.FULL]
    ready = [each for each in late if _counted(each, ruled) >= each[2].size]
    others = [
        each
        for each in panels.seats()
        if each[2].state != PanelState.FULL and _counted(each, ruled) < _to_count(each[2])
    ]
    withheld = [each for each in asked if panel_key(*each[:2]) in ruled and panels.withheld(*each[:2])]
    waiting = manifest.waiting("answers", "report")
    for found, most, recorded, follows in (
        (asked, waiting + manifest.kept_out, "taskers being asked", "as many as the manifest says"),
        (late, manifest.waiting("ruling"), "no ruling over all its answers", "one, or as many as the manifest says"),
        (ready, 0, "a ruling to come", "settled, as all its answers are ruled upon"),
        (others, 0, "no ruling", "a ruling over all its answers"),
        (withheld, waiting, "no answers", "the answers that were ruled upon"),
    ):
        for image_id, number, _ in found if len(found) > most else ():
            findings.add(form.PANELS, _row(image_id, number), recorded, follows)


def _counted(panel: _Panel, ruled: Ruled) -> int:
    return ruled.get(panel_key(*panel[:2]), (0, ""))[0]


def _to_count(seats: PanelPlaces) -> int:
    """Return how many responses the newest ruling has to count: all, or those before the taskers who are joining."""
    if seats.state not in _ASKED:
        return seats.size
    return seats.dealt if seats.joined else 0
