"""Every clause of R35 and R36, as facts and cents."""

from datetime import UTC, datetime, timedelta
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contest.money.prizes import (
    BreakFact,
    Outcome,
    StakeFact,
    attacker_shares,
    defender_shares,
    split,
    stake_due,
)

RED, BLUE, GREEN = 1, 2, 3
MONDAY = datetime(2026, 11, 16, 9, 0, tzinfo=UTC)
W46, W47, W48 = "2026-W46", "2026-W47", "2026-W48"


def sent(team: int | None, days: float = 0, week: str = W47, **more: bool) -> BreakFact:
    return BreakFact(team, MONDAY + timedelta(days=days), week, **more)


def stake(cents: int = 100, **changes: object) -> StakeFact:
    facts = {"cents": cents, "week": W47, "until": None, "over": True, "broken": True, "back_to": None}
    return StakeFact(**(facts | changes))  # type: ignore[arg-type]


SHARES = [
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
]


@pytest.mark.parametrize(("breaks", "shares", "why"), SHARES, ids=[row[2] for row in SHARES])
def test_who_shares_the_attacker_prize(breaks: list[BreakFact], shares: dict[int, int], why: str) -> None:
    for order in permutations(breaks):
        assert attacker_shares(100, order) == shares, why


ODD = [
    (101, [sent(RED, 1), sent(BLUE)], {BLUE: 51, RED: 50}, "the odd cent goes to the first receipt"),
    (101, [sent(BLUE, 1), sent(RED)], {RED: 51, BLUE: 50}, "whatever the teams' numbers are"),
    (101, [sent(RED), sent(RED, 2), sent(BLUE, 1)], {RED: 51, BLUE: 50}, "a team's first picture counts"),
    (2, [sent(RED), sent(BLUE, 1), sent(GREEN, 2)], {RED: 1, BLUE: 1, GREEN: 0}, "less than a cent each"),
    (101, [sent(BLUE), sent(RED)], {RED: 51, BLUE: 50}, "at one instant: the lower number"),
]


@pytest.mark.parametrize(("cents", "breaks", "shares", "why"), ODD, ids=[row[3] for row in ODD])
def test_odd_cents_go_one_each_in_the_order_of_receipt(
    cents: int, breaks: list[BreakFact], shares: dict[int, int], why: str
) -> None:
    assert attacker_shares(cents, breaks) == shares, why


UNTIL = MONDAY + timedelta(days=30)
DUE = [
    (stake(over=False), [], Outcome.HELD, {}, 100, "in force"),
    (stake(over=False), [sent(RED)], Outcome.HELD, {}, 100, "in force, whatever was found: its end comes first"),
    (stake(), [sent(RED)], Outcome.BROKEN, {RED: 100}, 0, "broken by a paid team"),
    (stake(), [sent(RED, paid=False)], Outcome.BROKEN, {}, 0, "only unpaid: to the attackers' half"),
    (stake(back_to=RED), [sent(BLUE)], Outcome.BROKEN, {BLUE: 100}, 0, "self-staked and broken: the attackers have it"),
    (stake(back_to=RED), [sent(BLUE, paid=False)], Outcome.BROKEN, {}, 0, "self-staked, only unpaid: not given back"),
    (stake(back_to=RED, broken=False), [], Outcome.RETURNED, {RED: 100}, 0, "self-staked and unbroken: given back"),
    (stake(broken=False), [], Outcome.RETURNED, {}, 0, "the board's and unbroken: to the attackers' half"),
    (stake(), [], Outcome.HELD, {}, 100, "ended as broken, and no break holds any more"),
    (stake(back_to=RED), [sent(BLUE, -7, W46)], Outcome.BEFORE, {RED: 100}, 0, "broken in a week before the stake"),
    (stake(), [sent(RED), sent(BLUE, -7, W46)], Outcome.BEFORE, {}, 0, "before it: later ones broke nothing staked"),
    (stake(back_to=RED), [sent(BLUE, -0.3)], Outcome.BROKEN, {BLUE: 100}, 0, "of its own week, sent before it"),
    (stake(broken=False, until=UNTIL), [sent(RED, 30)], Outcome.RETURNED, {}, 0, "sent when the time was over"),
    (stake(broken=False, until=UNTIL), [sent(RED, 29.99)], Outcome.BROKEN, {RED: 100}, 0, "found late, sent in time"),
]


@pytest.mark.parametrize(("facts", "breaks", "outcome", "teams", "held", "why"), DUE, ids=[row[5] for row in DUE])
def test_what_becomes_of_a_stake(
    facts: StakeFact, breaks: list[BreakFact], outcome: Outcome, teams: dict[int, int], held: int, why: str
) -> None:
    due = stake_due(facts, breaks)
    assert (due.outcome, due.teams, due.held) == (outcome, teams, held), why


def test_the_defenders_share_in_the_order_of_receipt_of_their_entries() -> None:
    received = {7: MONDAY + timedelta(1), 8: MONDAY}
    assert list(defender_shares(101, received).items()) == [(8, 51), (7, 50)]


facts = st.builds(
    BreakFact,
    team=st.none() | st.integers(1, 5),
    received_at=st.integers(0, 40).map(lambda hours: MONDAY + timedelta(hours=hours)),
    week=st.sampled_from([W46, W47, W48]),
    paid=st.booleans(),
    own=st.booleans(),
)


@given(st.integers(0, 10**12), st.lists(st.integers(), unique=True, max_size=9))
def test_a_split_loses_no_cent_and_is_even(cents: int, order: list[int]) -> None:
    shares = split(cents, order)
    assert sum(shares.values()) == (cents if order else 0)
    assert not shares or max(shares.values()) - min(shares.values()) <= 1
    assert list(shares.values()) == sorted(shares.values(), reverse=True), "odd cents to the first"


@given(st.integers(0, 10**9), st.lists(facts, max_size=8), st.randoms())
def test_shares_do_not_depend_on_the_order_in_which_facts_are_read(
    cents: int, rows: list[BreakFact], rng: object
) -> None:
    shares = attacker_shares(cents, rows)
    shuffled = list(rows)
    rng.shuffle(shuffled)  # type: ignore[attr-defined]
    assert attacker_shares(cents, shuffled) == shares
    assert sum(shares.values()) in (0, cents) and all(each >= 0 for each in shares.values())


@given(st.integers(0, 10**9), st.lists(facts, max_size=8), st.booleans(), st.booleans(), st.none() | st.integers(1, 5))
def test_what_is_due_and_held_is_never_more_than_the_stake(
    cents: int, rows: list[BreakFact], over: bool, broken: bool, back_to: int | None
) -> None:
    due = stake_due(stake(cents, over=over, broken=broken, back_to=back_to), rows)
    assert 0 <= sum(due.teams.values()) + due.held <= cents
    assert min([*due.teams.values(), 0]) == 0
