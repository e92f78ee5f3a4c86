"""Only the difference is posted, no account goes below zero, and twice changes nothing."""

from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contest.money.corrections import Flows, Position, flows

RED, BLUE = 1, 2


def at(got: dict[int, int] | None = None, *, hub: int = 0, **more: object) -> Position:
    facts = {"cents": 100, "got": got or {}, "there": got or {}, "hub": hub, "withheld": 0, "lendable": 1000} | more
    return Position(**facts)  # type: ignore[arg-type]


CASES = [
    (at(hub=100), {RED: 100}, 0, Flows({}, 0, {RED: 100}, 0, {}), "first posting"),
    (at({RED: 100}), {RED: 100}, 0, Flows({}, 0, {}, 0, {}), "posted: nothing left"),
    (at({RED: 100}), {RED: 50, BLUE: 50}, 0, Flows({RED: 50}, 0, {BLUE: 50}, 0, {}), "another team of the same week"),
    (at({RED: 100}), {BLUE: 100}, 0, Flows({RED: 100}, 0, {BLUE: 100}, 0, {}), "an earlier week"),
    (at({RED: 100}), {}, 100, Flows({RED: 100}, 0, {}, 0, {}), "overruled: back on the stake"),
    (at({RED: 100}), {}, 0, Flows({RED: 100}, 0, {}, 100, {}), "not paid after all: to the half"),
    (at(hub=100), {}, 0, Flows({}, 0, {}, 100, {}), "only unpaid breakers"),
    (
        at({RED: 100}, there={RED: 30}),
        {BLUE: 100},
        0,
        Flows({RED: 30}, 70, {BLUE: 100}, 0, {RED: 70}),
        "paid out: the half advances what is owed to it",
    ),
    (
        at({RED: 100}, there={}, lendable=20),
        {BLUE: 100},
        0,
        Flows({}, 20, {BLUE: 20}, 0, {RED: 100}),
        "the half advances what it has",
    ),
    (
        at({RED: 70, BLUE: 100}, there={RED: 10, BLUE: 100}),
        {BLUE: 100},
        0,
        Flows({RED: 10}, 0, {}, 10, {RED: 60}),
        "what comes in later repays the half",
    ),
    (at(), {RED: 100}, 0, Flows({}, 100, {RED: 100}, 0, {}), "returned to the half before: it comes back from there"),
    (at(hub=0, withheld=100), {RED: 100}, 0, Flows({}, 0, {}, 0, {}), "withheld by the board: it waits"),
    (at(hub=40, withheld=60), {}, 100, Flows({}, 0, {}, 0, {}), "in force and withheld in part"),
    (at(hub=40, withheld=60), {RED: 100}, 0, Flows({}, 0, {RED: 40}, 0, {}), "withheld in part: the rest is given"),
    (at(cents=0, lendable=1000), {RED: 100}, 0, Flows({}, 0, {}, 0, {}), "never funded: nothing is given"),
    (at(hub=40), {RED: 50}, 0, Flows({}, 10, {RED: 50}, 0, {}), "the half adds what the stake lacks"),
    (at({RED: 100}), {RED: 100, BLUE: 20}, 0, Flows({}, 0, {}, 0, {}), "the half lends no money of other stakes"),
    (at(hub=30, lendable=0), {RED: 20, BLUE: 80}, 0, Flows({}, 0, {RED: 20, BLUE: 10}, 0, {}), "served in order"),
    (
        at(hub=100, decided={RED: 20}),
        {RED: 50},
        0,
        Flows({}, 0, {RED: 30}, 50, {}, {}, {RED: 20}),
        "withheld of one: what is left over goes to the half",
    ),
    (
        at(hub=50, lendable=0, decided={RED: 60}),
        {RED: 100},
        0,
        Flows({}, 0, {RED: 40}, 0, {}, {}, {RED: 10}),
        "too little: given first, withheld of the rest",
    ),
]


@pytest.mark.parametrize(("position", "due", "held", "expected", "why"), CASES, ids=[row[4] for row in CASES])
def test_what_is_posted(position: Position, due: dict[int, int], held: int, expected: Flows, why: str) -> None:
    assert flows(due, held, position) == expected, why


@pytest.mark.parametrize("kind", ["taken", "released", "advanced", "given", "withheld", "returned"])
def test_each_kind_of_flow_is_something_to_post_and_a_debt_is_not(kind: str) -> None:
    nothing = Flows({}, 0, {}, 0, {RED: 5})
    assert not nothing
    assert replace(nothing, **{kind: 5 if kind in ("advanced", "returned") else {RED: 5}})


@dataclass
class Books:
    """A stake of 100 cents, three teams with other money, and the half; what flows ask for is done to the letter."""

    hub: int = 100
    half: int = 500
    teams: dict[int, int] = field(default_factory=lambda: {1: 5, 2: 0, 3: 40})
    got: dict[int, int] = field(default_factory=dict)
    outside: int = 0

    def position(self) -> Position:
        there = {team: max(min(got, self.teams[team]), 0) for team, got in self.got.items()}
        return Position(100, dict(self.got), there, self.hub, 0, self.half)

    def post(self, asked: Flows) -> None:
        for team, cents in asked.taken.items():
            self.move(team, -cents)
        self.half, self.hub = self.half - asked.advanced, self.hub + asked.advanced
        for team, cents in asked.given.items():
            self.move(team, cents)
        self.half, self.hub = self.half + asked.returned, self.hub - asked.returned

    def move(self, team: int, cents: int) -> None:
        self.teams[team] += cents
        self.got[team] = self.got.get(team, 0) + cents
        self.hub -= cents

    def all(self) -> list[int]:
        return [self.hub, self.half, self.outside, *self.teams.values()]


def dues() -> st.SearchStrategy[tuple[dict[int, int], int]]:
    """A distribution of the stake: shares of some teams, or held."""
    shared = st.lists(st.integers(1, 3), unique=True, max_size=3).map(
        lambda teams: ({team: 100 // len(teams) for team in teams}, 0) if teams else ({}, 0)
    )
    return shared | st.just(({}, 100))


@given(st.lists(st.tuples(dues(), st.integers(1, 3), st.integers(0, 60)), max_size=8))
def test_whatever_comes_no_cent_is_lost_nobody_overdrawn_and_twice_is_once(
    steps: list[tuple[tuple[dict[int, int], int], int, int]],
) -> None:
    books = Books()
    for (due, held), team, paid in steps:
        asked = flows(due, held, books.position())
        books.post(asked)
        assert sum(books.all()) == 645 and min(books.all()) >= 0
        again = flows(due, held, books.position())
        assert not again, "posted: nothing is left to post"
        assert again.owed == asked.owed
        # Somebody is paid, and the money is gone.
        out = min(paid, books.teams[team])
        books.teams[team], books.outside = books.teams[team] - out, books.outside + out


@given(dues(), dues())
def test_with_nothing_paid_out_the_end_does_not_depend_on_the_way(
    first: tuple[dict[int, int], int], last: tuple[dict[int, int], int]
) -> None:
    straight, around = Books(), Books()
    straight.post(flows(*last, straight.position()))
    for due in (first, last):
        around.post(flows(*due, around.position()))
    assert around.all() == straight.all()


def shares(teams: list[int], stake: int = 100) -> dict[int, int]:
    """Equal shares, the odd cents to the first."""
    each, odd = divmod(stake, len(teams)) if teams else (0, 0)
    return {team: each + (place < odd) for place, team in enumerate(teams)}


TEAMS = st.lists(st.integers(1, 3), unique=True, max_size=3)
DECIDED = st.dictionaries(st.integers(1, 3), st.integers(1, 150))


@given(st.lists(st.tuples(TEAMS, DECIDED), min_size=1, max_size=6))
def test_whoever_is_not_withheld_has_exactly_the_share_whatever_the_order(
    steps: list[tuple[list[int], dict[int, int]]],
) -> None:
    hub, half, got, aside = 100, 500, dict[int, int](), dict[int, int]()
    for teams, decided in steps:
        due = shares(teams)
        lies = Position(100, got, got, hub, sum(aside.values()), half, aside, decided)
        asked = flows(due, 0, lies)
        for team in (1, 2, 3):
            got[team] = got.get(team, 0) + asked.given.get(team, 0) - asked.taken.get(team, 0)
            aside[team] = aside.get(team, 0) + asked.withheld.get(team, 0) - asked.released.get(team, 0)
        half += asked.returned - asked.advanced
        hub = 100 - sum(got.values()) - sum(aside.values()) - (half - 500)
        for team in (1, 2, 3):
            kept = min(decided.get(team, 0), due.get(team, 0))
            assert (got[team], aside[team]) == (due.get(team, 0) - kept, kept)
        assert hub == 0 and asked.owed == {}
        after = Position(100, got, got, hub, sum(aside.values()), half, aside, decided)
        assert not flows(due, 0, after), "posted: nothing is left to post"


def test_what_is_withheld_stays_while_nobody_is_due() -> None:
    lies = Position(100, {}, {}, 40, 60, 1000, {RED: 60}, {RED: 60})
    assert not flows({}, 100, lies), "in force"
    assert flows({}, 0, lies) == Flows({}, 0, {}, 100, {}, {RED: 60}, {}), "over, and red has no share of it"
