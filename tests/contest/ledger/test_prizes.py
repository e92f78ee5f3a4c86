"""Every clause of R35 and R36 as facts and cents; what is posted: the difference alone, none below zero, once."""

from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudication.rules import equal_shares
from contest.prizes.differences import MoneyFlows, MoneyPosition, flows
from contest.prizes.shares import (
    BreakInput,
    StakeInput,
    StakeOutcome,
    attacker_shares,
    defender_shares,
    stake_due,
)
from tests import tables
from tests.contest.ledger.cast import MONDAY

RED, BLUE, GREEN = 1, 2, 3
W46, W47, W48 = "2026-W46", "2026-W47", "2026-W48"


def sent(team: int | None, days: float = 0, week: str = W47, **more: bool) -> BreakInput:
    return BreakInput(team, MONDAY + timedelta(days=days), week, **more)


def stake(cents: int = 100, **changes: object) -> StakeInput:
    facts = {"cents": cents, "week": W47, "until": None, "over": True, "broken": True, "back_to": None}
    return StakeInput(**(facts | changes))  # type: ignore[arg-type]


@tables.cases(
    "breaks shares why",
    ([sent(RED)], {RED: 100}, "one team takes all"),
    ([sent(RED), sent(BLUE, 1)], {RED: 50, BLUE: 50}, "two teams the same week share equally"),
    ([sent(RED), sent(RED, 1), sent(BLUE, 2)], {RED: 50, BLUE: 50}, "per team, not per picture"),
    ([sent(RED, 3), sent(BLUE, 1)], {BLUE: 50, RED: 50}, "who broke it later in the week shares as well"),
    ([sent(RED, 5, W48), sent(BLUE)], {BLUE: 100}, "the earliest week alone"),
    ([sent(RED, -7, W46), sent(BLUE)], {RED: 100}, "an earlier week found later outranks"),
    ([sent(RED, paid=False), sent(BLUE)], {BLUE: 100}, "an unpaid team does not dilute (R27)"),
    ([sent(RED, paid=False)], {}, "only unpaid breakers: nobody is due"),
    ([sent(RED, -7, W46, paid=False), sent(BLUE)], {}, "unpaid in the earlier week: the later one comes too late"),
    ([sent(RED, own=True), sent(BLUE)], {BLUE: 100}, "its own staked defense: no share, no dilution"),
    ([sent(RED, own=True)], {}, "its own staked defense alone: nobody is due"),
    ([sent(None), sent(BLUE)], {BLUE: 100}, "a picture that no team sent takes no share"),
    ([sent(None, -7, W46), sent(BLUE)], {}, "broken in an earlier week by a picture that no team sent"),
    ([sent(RED, -0.3), sent(BLUE)], {RED: 50, BLUE: 50}, "of its week and before the stake: counts too"),
    ([], {}, "no break, no share"),
)
def test_who_shares_the_attacker_prize(breaks: list[BreakInput], shares: dict[int, int], why: str) -> None:
    for order in permutations(breaks):
        assert attacker_shares(100, order) == shares, why


@tables.cases(
    "cents breaks shares why",
    (101, [sent(RED, 1), sent(BLUE)], {BLUE: 51, RED: 50}, "the odd cent goes to the first receipt"),
    (101, [sent(BLUE, 1), sent(RED)], {RED: 51, BLUE: 50}, "whatever the teams' numbers are"),
    (101, [sent(RED), sent(RED, 2), sent(BLUE, 1)], {RED: 51, BLUE: 50}, "a team's first picture counts"),
    (2, [sent(RED), sent(BLUE, 1), sent(GREEN, 2)], {RED: 1, BLUE: 1, GREEN: 0}, "less than a cent each"),
    (101, [sent(BLUE), sent(RED)], {RED: 51, BLUE: 50}, "at one instant: the lower number"),
)
def test_odd_cents_go_one_each_in_the_order_of_receipt(
    cents: int, breaks: list[BreakInput], shares: dict[int, int], why: str
) -> None:
    assert attacker_shares(cents, breaks) == shares, why


UNTIL = MONDAY + timedelta(days=30)


@tables.cases(
    "facts breaks outcome teams held why",
    (stake(over=False), [], StakeOutcome.HELD, {}, 100, "in force"),
    (stake(over=False), [sent(RED)], StakeOutcome.HELD, {}, 100, "in force, whatever was found: its end comes first"),
    (stake(), [sent(RED)], StakeOutcome.BROKEN, {RED: 100}, 0, "broken by a paid team"),
    (stake(), [sent(RED, paid=False)], StakeOutcome.BROKEN, {}, 0, "only unpaid: to the attackers' half"),
    (
        stake(back_to=RED),
        [sent(BLUE)],
        StakeOutcome.BROKEN,
        {BLUE: 100},
        0,
        "self-staked, broken: the attackers have it",
    ),
    (
        stake(back_to=RED),
        [sent(BLUE, paid=False)],
        StakeOutcome.BROKEN,
        {},
        0,
        "self-staked, only unpaid: not returned",
    ),
    (
        stake(back_to=RED, broken=False),
        [],
        StakeOutcome.RETURNED,
        {RED: 100},
        0,
        "self-staked and unbroken: returned",
    ),
    (stake(broken=False), [], StakeOutcome.RETURNED, {}, 0, "the board's and unbroken: to the attackers' half"),
    (stake(), [], StakeOutcome.HELD, {}, 100, "ended as broken, and no break holds any more"),
    (
        stake(back_to=RED),
        [sent(BLUE, -7, W46)],
        StakeOutcome.BEFORE,
        {RED: 100},
        0,
        "broken in an earlier week",
    ),
    (
        stake(),
        [sent(RED), sent(BLUE, -7, W46)],
        StakeOutcome.BEFORE,
        {},
        0,
        "before it: later ones do not count",
    ),
    (stake(back_to=RED), [sent(BLUE, -0.3)], StakeOutcome.BROKEN, {BLUE: 100}, 0, "of its own week, sent before it"),
    (stake(broken=False, until=UNTIL), [sent(RED, 30)], StakeOutcome.RETURNED, {}, 0, "sent when the time was over"),
    (
        stake(broken=False, until=UNTIL),
        [sent(RED, 29.99)],
        StakeOutcome.BROKEN,
        {RED: 100},
        0,
        "found late, sent in time",
    ),
)
def test_what_becomes_of_a_stake(
    facts: StakeInput, breaks: list[BreakInput], outcome: StakeOutcome, teams: dict[int, int], held: int, why: str
) -> None:
    due = stake_due(facts, breaks)
    assert (due.outcome, due.teams, due.held) == (outcome, teams, held), why


def test_the_defenders_share_in_the_order_of_receipt_of_their_entries() -> None:
    assert list(defender_shares(101, {7: MONDAY + timedelta(1), 8: MONDAY}).items()) == [(8, 51), (7, 50)]


@tables.cases(
    "had shares why",
    ({}, {RED: 40, BLUE: 40, GREEN: 39}, "nothing was forfeited"),
    ({BLUE: 30}, {RED: 45, BLUE: 30, GREEN: 44}, "what it had, and the others share the rest"),
    ({BLUE: 100}, {RED: 40, BLUE: 40, GREEN: 39}, "it had more than a share is now, as another is back"),
    ({GREEN: 30, RED: 50}, {RED: 45, BLUE: 44, GREEN: 30}, "one after the other, the first forfeited first"),
    ({RED: 30, BLUE: 30, GREEN: 30}, {RED: 30, BLUE: 30, GREEN: 30}, "nobody stands: the rest is the half's"),
    ({4: 30}, {RED: 40, BLUE: 40, GREEN: 39}, "it forfeited, and lost as well"),
)
def test_what_was_forfeited_shares_nothing_that_others_lose(
    had: dict[int, int], shares: dict[int, int], why: str
) -> None:
    received = {team: MONDAY + timedelta(team) for team in (RED, BLUE, GREEN)}
    assert defender_shares(119, received, had) == shares, why


@given(st.integers(0, 10**6), st.integers(1, 6), st.dictionaries(st.integers(0, 6), st.integers(0, 10**6)))
def test_the_half_is_shared_whole_among_those_that_stand(cents: int, stakes: int, had: dict[int, int]) -> None:
    received = {each: MONDAY + timedelta(each) for each in range(stakes)}
    found = defender_shares(cents, received, had)
    assert list(found) == list(received) and min(found.values()) >= 0
    assert all(found[each] <= had.get(each, cents) for each in received)
    assert sum(found.values()) == cents or (sum(found.values()) < cents and received.keys() <= had.keys())
    standing = [each for stake, each in found.items() if stake not in had]
    assert not standing or max(standing) - min(standing) <= 1


facts = st.builds(
    BreakInput,
    team=st.none() | st.integers(1, 5),
    received_at=st.integers(0, 40).map(lambda hours: MONDAY + timedelta(hours=hours)),
    week=st.sampled_from([W46, W47, W48]),
    paid=st.booleans(),
    own=st.booleans(),
)


@given(st.integers(0, 10**12), st.lists(st.integers(), unique=True, max_size=9))
def test_a_split_loses_no_cent_and_is_even(cents: int, order: list[int]) -> None:
    shares = equal_shares(cents, order)
    assert sum(shares.values()) == (cents if order else 0)
    assert not shares or max(shares.values()) - min(shares.values()) <= 1
    assert list(shares.values()) == sorted(shares.values(), reverse=True), "odd cents to the first"


@given(st.integers(0, 10**9), st.lists(facts, max_size=8), st.randoms())
def test_shares_do_not_depend_on_the_order_in_which_facts_are_read(
    cents: int, rows: list[BreakInput], rng: object
) -> None:
    shares, shuffled = attacker_shares(cents, rows), list(rows)
    rng.shuffle(shuffled)  # type: ignore[attr-defined]
    assert attacker_shares(cents, shuffled) == shares
    assert sum(shares.values()) in (0, cents) and all(each >= 0 for each in shares.values())


@given(st.integers(0, 10**9), st.lists(facts, max_size=8), st.booleans(), st.booleans(), st.none() | st.integers(1, 5))
def test_what_is_due_and_held_is_never_more_than_the_stake(
    cents: int, rows: list[BreakInput], over: bool, broken: bool, back_to: int | None
) -> None:
    due = stake_due(stake(cents, over=over, broken=broken, back_to=back_to), rows)
    assert 0 <= sum(due.teams.values()) + due.held <= cents and min([*due.teams.values(), 0]) == 0


def at(got: dict[int, int] | None = None, *, hub: int = 0, **more: object) -> MoneyPosition:
    facts = {"cents": 100, "got": got or {}, "there": got or {}, "hub": hub, "withheld": 0, "lendable": 1000} | more
    return MoneyPosition(**facts)  # type: ignore[arg-type]


@tables.cases(
    "position due held expected why",
    (at(hub=100), {RED: 100}, 0, MoneyFlows({}, 0, {RED: 100}, 0, {}), "first posting"),
    (at({RED: 100}), {RED: 100}, 0, MoneyFlows({}, 0, {}, 0, {}), "posted: nothing left"),
    (
        at({RED: 100}),
        {RED: 50, BLUE: 50},
        0,
        MoneyFlows({RED: 50}, 0, {BLUE: 50}, 0, {}),
        "another team of the same week",
    ),
    (at({RED: 100}), {BLUE: 100}, 0, MoneyFlows({RED: 100}, 0, {BLUE: 100}, 0, {}), "an earlier week"),
    (at({RED: 100}), {}, 100, MoneyFlows({RED: 100}, 0, {}, 0, {}), "overruled: back on the stake"),
    (at({RED: 100}), {}, 0, MoneyFlows({RED: 100}, 0, {}, 100, {}), "not paid after all: to the half"),
    (at(hub=100), {}, 0, MoneyFlows({}, 0, {}, 100, {}), "only unpaid breakers"),
    (
        at({RED: 100}, there={RED: 30}),
        {BLUE: 100},
        0,
        MoneyFlows({RED: 30}, 70, {BLUE: 100}, 0, {RED: 70}),
        "paid out: the half advances what is owed to it",
    ),
    (
        at({RED: 100}, there={}, lendable=20),
        {BLUE: 100},
        0,
        MoneyFlows({}, 20, {BLUE: 20}, 0, {RED: 100}),
        "the half advances what it has",
    ),
    (
        at({RED: 70, BLUE: 100}, there={RED: 10, BLUE: 100}),
        {BLUE: 100},
        0,
        MoneyFlows({RED: 10}, 0, {}, 10, {RED: 60}),
        "what comes in later repays the half",
    ),
    (
        at(),
        {RED: 100},
        0,
        MoneyFlows({}, 100, {RED: 100}, 0, {}),
        "returned to the half before: it comes back from there",
    ),
    (at(), {}, 100, MoneyFlows({}, 100, {}, 0, {}), "returned to the half before, and in force again"),
    (at(hub=0, withheld=100), {RED: 100}, 0, MoneyFlows({}, 0, {}, 0, {}), "withheld by the board: it waits"),
    (at(hub=40, withheld=60), {}, 100, MoneyFlows({}, 0, {}, 0, {}), "in force and withheld in part"),
    (
        at(hub=40, withheld=60),
        {RED: 100},
        0,
        MoneyFlows({}, 0, {RED: 40}, 0, {}),
        "withheld in part: the rest is given",
    ),
    (at(cents=0, lendable=1000), {RED: 100}, 0, MoneyFlows({}, 0, {}, 0, {}), "never funded: nothing is given"),
    (at(hub=40), {RED: 50}, 0, MoneyFlows({}, 10, {RED: 50}, 0, {}), "the half adds what the stake lacks"),
    (at({RED: 100}), {RED: 100, BLUE: 20}, 0, MoneyFlows({}, 0, {}, 0, {}), "the half lends no money of other stakes"),
    (at(hub=30, lendable=0), {RED: 20, BLUE: 80}, 0, MoneyFlows({}, 0, {RED: 20, BLUE: 10}, 0, {}), "served in order"),
    (
        at(hub=100, decided={RED: 20}),
        {RED: 50},
        0,
        MoneyFlows({}, 0, {RED: 30}, 50, {}, {}, {RED: 20}),
        "withheld of one: what is left over goes to the half",
    ),
    (
        at(hub=50, lendable=0, decided={RED: 60}),
        {RED: 100},
        0,
        MoneyFlows({}, 0, {RED: 40}, 0, {}, {}, {RED: 10}),
        "too little: given first, withheld of the rest",
    ),
)
def test_what_is_posted(
    position: MoneyPosition, due: dict[int, int], held: int, expected: MoneyFlows, why: str
) -> None:
    assert flows(due, held, position) == expected, why


@pytest.mark.parametrize("kind", ["taken", "released", "advanced", "given", "withheld", "returned"])
def test_each_kind_of_flow_is_something_to_post_and_a_debt_is_not(kind: str) -> None:
    nothing = MoneyFlows({}, 0, {}, 0, {RED: 5})
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

    def position(self) -> MoneyPosition:
        there = {team: max(min(got, self.teams[team]), 0) for team, got in self.got.items()}
        return MoneyPosition(100, dict(self.got), there, self.hub, 0, self.half)

    def post(self, asked: MoneyFlows) -> None:
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


def shares(teams: list[int], stake: int = 100) -> dict[int, int]:
    """Equal shares, the odd cents to the first."""
    each, odd = divmod(stake, len(teams)) if teams else (0, 0)
    return {team: each + (place < odd) for place, team in enumerate(teams)}


DECIDED = st.dictionaries(st.integers(1, 3), st.integers(1, 150))


@given(st.lists(st.tuples(st.lists(st.integers(1, 3), unique=True, max_size=3), DECIDED), min_size=1, max_size=6))
def test_whoever_is_not_withheld_has_exactly_the_share_whatever_the_order(
    steps: list[tuple[list[int], dict[int, int]]],
) -> None:
    hub, half, got, aside = 100, 500, dict[int, int](), dict[int, int]()
    for teams, decided in steps:
        due = shares(teams)
        lies = MoneyPosition(100, got, got, hub, sum(aside.values()), half, aside, decided)
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
        after = MoneyPosition(100, got, got, hub, sum(aside.values()), half, aside, decided)
        assert not flows(due, 0, after), "posted: nothing is left to post"


def test_what_is_withheld_stays_while_nobody_is_due() -> None:
    lies = MoneyPosition(100, {}, {}, 40, 60, 1000, {RED: 60}, {RED: 60})
    assert not flows({}, 100, lies), "in force"
    assert flows({}, 0, lies) == MoneyFlows({}, 0, {}, 100, {}, {RED: 60}, {}), "over, and red has no share of it"
