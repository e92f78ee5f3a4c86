"""How simulated taskers answer (R9-R12). Pure; each has its own random generator."""

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from enum import StrEnum
from random import Random
from typing import Any

from contest.simulation.pictures import SIDE, PictureTruth

Form = dict[str, Any]
YES, MAYBE_YES, MAYBE_NO, NO = "definitely_yes", "unsure_yes", "unsure_no", "definitely_no"
STATEMENTS = ("complete", "unoccluded", "real")
QUICKEST_SECONDS = 0.8


class Personality(StrEnum):
    """What somebody is like."""

    HONEST = "honest"
    CARELESS = "careless"
    RANDOM = "random"
    COPYING = "copying"


@dataclass(frozen=True, slots=True)
class Habits:
    """How somebody works.

    `slip` is the chance of a slip on a usual picture; `blind` that of not noticing that a thing is cut off or covered;
    `sloppy` that of an outline that is far off. `hand` is how far a corner is off, in pixels. `seconds` is the median
    time of an answer with an outline, `spread` the standard deviation of its logarithm. `trusting` is the chance of
    believing a picture that asks to be called good.
    """

    slip: float
    blind: float
    sloppy: float
    hand: float
    corners: int
    seconds: float
    spread: float
    trusting: float = 0.0


@dataclass(slots=True)
class SimulatedPerson:
    """Somebody who labels. Those who copy share a `notebook`, by picture: whoever comes second looks it up."""

    name: str
    kind: Personality
    habits: Habits
    rng: Random
    notebook: dict[Hashable, Form] | None = None

    def answer(self, truth: PictureTruth, picture: Hashable) -> Form:
        """Return the filled-in form, with the seconds it took."""
        if self.kind is Personality.RANDOM:
            return self._at_random()
        if self.notebook is None:
            return self._look(truth)
        if picture in self.notebook:
            return self._copy(self.notebook[picture])
        return self.notebook.setdefault(picture, self._look(truth))

    def _look(self, truth: PictureTruth) -> Form:
        habits, rng = self.habits, self.rng
        if truth.plea and rng.random() < habits.trusting:
            truth = replace(truth, complete=True, unoccluded=True, real=True)
        form: Form = {
            "contains_bird": YES if truth.bird else NO,
            "contains_bicycle": YES if truth.bicycle else NO,
            "seconds": self._seconds(truth, outlined=truth.label is not None),
        }
        if truth.label is not None:
            form |= {name: getattr(truth, name) or rng.random() < habits.blind for name in STATEMENTS}
            form["outline"] = self._outline(truth, sloppy=rng.random() < habits.sloppy)
        if rng.random() < habits.slip * truth.hard:
            self._slip(form, truth)
        return form

    def _slip(self, form: Form, truth: PictureTruth) -> None:
        """Err as people do: mostly about a statement, sometimes unsure, seldom the class."""
        choice = self.rng.random()
        if truth.label is None or choice < 0.25:
            question = self.rng.choice(("contains_bird", "contains_bicycle"))
            form[question] = MAYBE_YES if form[question] == YES else MAYBE_NO
            if form[question] == MAYBE_NO or truth.label is None:  # then nothing more is asked
                for name in ("outline", *STATEMENTS):
                    form.pop(name, None)
        else:
            name = self.rng.choices(STATEMENTS, (5, 4, 1))[0]
            form[name] = not form[name]

    def _seconds(self, truth: PictureTruth, *, outlined: bool) -> float:
        usual = self.habits.seconds * (1 if outlined else 0.35) * math.sqrt(truth.hard)
        return round(max(QUICKEST_SECONDS, self.rng.lognormvariate(math.log(usual), self.habits.spread)), 1)

    def _outline(self, truth: PictureTruth, *, sloppy: bool) -> list[list[list[float]]]:
        """Draw around the thing, beginning anywhere, with corners about evenly apart; sloppily around half of it."""
        shape, rng, habits = truth.shape, self.rng, self.habits
        assert shape is not None
        corners = max(5, habits.corners + rng.randint(-2, 2)) if not sloppy else 4
        begin, size = rng.uniform(0, 2 * math.pi), rng.uniform(0.55, 0.75) if sloppy else 1.0
        ring = []
        for step in range(corners):
            x, y = shape.at(begin + 2 * math.pi * (step + rng.uniform(-0.25, 0.25)) / corners)
            x, y = shape.x + size * (x - shape.x), shape.y + size * (y - shape.y)
            ring.append(_corner(x + rng.gauss(0, habits.hand), y + rng.gauss(0, habits.hand)))
        # In the order of their directions, so that no trembling makes the outline cross itself.
        ring.sort(key=lambda corner: math.atan2(corner[1] - shape.y, corner[0] - shape.x))
        return [ring]

    def _copy(self, form: Form) -> Form:
        """Take over what the other said, move the corners a little so that it is not the very same, and be quick."""
        copied = dict(form)
        if form.get("outline"):
            copied["outline"] = [
                [_corner(x + self.rng.gauss(0, 0.25), y + self.rng.gauss(0, 0.25)) for x, y in ring]
                for ring in form["outline"]
            ]
        copied["seconds"] = round(max(QUICKEST_SECONDS, form["seconds"] * self.rng.uniform(0.3, 0.6)), 1)
        return copied

    def _at_random(self) -> Form:
        """Press anything, and draw a triangle where one is asked for."""
        rng = self.rng
        bird, bicycle = (rng.choice((YES, MAYBE_YES, MAYBE_NO, NO)) for _ in range(2))
        form: Form = {"contains_bird": bird, "contains_bicycle": bicycle, "seconds": round(rng.uniform(1.0, 3.0), 1)}
        if sorted((bird == NO, bicycle == NO)) == [False, True] and MAYBE_NO not in (bird, bicycle):
            form |= {name: rng.random() < 0.5 for name in STATEMENTS}
            form["outline"] = [[_corner(*(rng.uniform(0, SIDE) for _ in range(2))) for _ in range(3)]]
        return form


def _corner(x: float, y: float) -> list[float]:
    return [round(min(SIDE, max(0, x)), 2), round(min(SIDE, max(0, y)), 2)]


def draw_people(*, honest: int, careless: int, random: int, copying: int, seed: str) -> list[SimulatedPerson]:
    """Make up the people, each with habits and a generator of their own."""
    counts = {
        Personality.HONEST: honest,
        Personality.CARELESS: careless,
        Personality.RANDOM: random,
        Personality.COPYING: copying,
    }
    notebook: dict[Hashable, Form] = {}
    people = []
    for kind, number in ((kind, number) for kind, count in counts.items() for number in range(1, count + 1)):
        rng = Random(f"{seed}:{kind}:{number}")
        own = notebook if kind is Personality.COPYING else None
        people.append(SimulatedPerson(f"{kind} {number}", kind, _habits(kind, rng), rng, own))
    return people


def _habits(kind: Personality, rng: Random) -> Habits:
    if kind is Personality.CARELESS:
        return Habits(
            slip=rng.uniform(0.08, 0.14),
            blind=rng.uniform(0.40, 0.60),
            sloppy=rng.uniform(0.12, 0.22),
            hand=rng.uniform(3.0, 6.0),
            corners=rng.randint(6, 8),
            seconds=rng.uniform(5.0, 7.0),
            spread=rng.uniform(0.3, 0.5),
            trusting=0.7,
        )
    return Habits(
        slip=rng.uniform(0.015, 0.065),
        blind=rng.uniform(0.0, 0.06),
        sloppy=rng.uniform(0.0, 0.01),
        hand=rng.uniform(0.8, 2.5),
        corners=rng.randint(8, 16),
        seconds=rng.uniform(11.0, 24.0),
        spread=rng.uniform(0.3, 0.55),
        trusting=0.03,
    )
