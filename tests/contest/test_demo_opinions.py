"""What the taskers of the demo say of its photographs: readable as answers, and with the verdicts that are promised."""

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import shapely

import contest
from adjudication.enums import Reason, Verdict
from adjudication.rules import Opinion, Policy, adjudicate
from labeling.answers import Answers, read_answers
from labeling.enums import Label, OutlineGate

SIDE = 299
PANEL_SIZE = 3
DEMO = Path(contest.__file__).parent / "demo"
PHOTOS = sorted(path.name for path in (DEMO / "photos").glob("*.[jp][pn]g"))
OPINIONS: dict[str, dict[str, Any]] = json.loads((DEMO / "opinions.json").read_text(encoding="utf-8"))
SETTLED = [name for name, row in OPINIONS.items() if row["expected"] != "open"]
OPEN = [name for name, row in OPINIONS.items() if row["expected"] == "open"]
# What each tasker says of a picture, with those who answer when the demo's clock is moved.
ALL: dict[str, list[dict[str, Any]]] = {name: row["panel"] + row.get("later", []) for name, row in OPINIONS.items()}
SEVERAL_OUTLINES = [name for name, panel in ALL.items() if sum(said["outline"] is not None for said in panel) > 1]
# R15; the last two reasons belong to the rule set of the original dataset (R17).
REASONS = [reason for reason in Reason if reason not in (Reason.KNOWN_BAD, Reason.AMBIGUOUS)]


def answers_of(said: dict[str, Any]) -> Answers:
    """The form as the application reads it."""
    return read_answers(said, width=SIDE, height=SIDE, gate=OutlineGate.BEST_GUESS_YES)


def opinion_of(answers: Answers) -> Opinion:
    """The answers as the rules see them."""
    box = answers.outline.box if answers.outline else None
    return Opinion(answers.bird, answers.bicycle, box, answers.complete, answers.unoccluded, answers.real)


def verdict_of(said: list[dict[str, Any]]) -> str:
    """What the rules make of a panel, written as the file writes it."""
    panel = [answers_of(each) for each in said]
    if len(panel) < PANEL_SIZE:
        return "open"
    decision = adjudicate([opinion_of(each) for each in panel], Policy(), width=SIDE, height=SIDE)
    if decision.verdict is Verdict.VALID:
        return f"valid:{decision.label}"
    return f"rejected:{','.join(decision.reasons)}"


def test_every_photo_has_a_row_and_every_row_a_photo() -> None:
    assert sorted(OPINIONS) == PHOTOS


@pytest.mark.parametrize("name", sorted(OPINIONS))
def test_the_rules_give_the_promised_verdict(name: str) -> None:
    assert verdict_of(OPINIONS[name]["panel"]) == OPINIONS[name]["expected"]


AFTER = {
    "bird-025.jpg": ("valid:bird", "the one whole bird"),
}


@pytest.mark.parametrize("name", OPEN)
def test_what_is_open_is_settled_when_the_clock_is_moved(name: str) -> None:
    verdict, why = AFTER.get(name, ("rejected:truncated", "part of the bird is outside of the picture"))
    assert len(ALL[name]) == PANEL_SIZE
    assert verdict_of(ALL[name]) == verdict, why


def test_there_is_enough_of_everything() -> None:
    verdicts = {name: verdict_of(OPINIONS[name]["panel"]) for name in SETTLED}
    shown = {part for verdict in verdicts.values() for part in verdict.removeprefix("rejected:").split(",")}
    assert set(REASONS) <= shown, "every reason of R15"
    valid = [name for name, verdict in verdicts.items() if verdict in {f"valid:{label}" for label in Label}]
    attacks = {OPINIONS[name]["sent_by"] for name in valid} - {None}
    assert (len(valid) >= 8, len(OPEN) >= 8, attacks) == (True, True, {"red", "blue"})


@pytest.mark.parametrize("name", sorted(OPINIONS))
def test_what_is_settled_is_of_last_week_and_what_is_open_of_this_one(name: str) -> None:
    under_embargo = name == "bird-001-turned.png"  # an attack of this week is labeled when the week is over (R24)
    assert OPINIONS[name]["week"] == ("this" if name in OPEN or under_embargo else "last")
    assert OPINIONS[name]["note"]


@pytest.mark.parametrize("name", SEVERAL_OUTLINES)
def test_the_taskers_of_a_panel_outline_the_same_object_each_in_their_own_way(name: str) -> None:
    outlines = [said["outline"] for said in ALL[name] if said["outline"] is not None]
    for one, other in combinations(outlines, 2):
        first, second = (shapely.MultiPolygon([shapely.Polygon(ring) for ring in rings]) for rings in (one, other))
        overlap = first.intersection(second).area / first.union(second).area
        assert 0.7 < overlap < 1, name
