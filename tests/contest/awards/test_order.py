"""Who wins first, who shares, and who waits for whom (R36)."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contest.awards.order import StakeTime, groups_in_order, waits_for

MONDAY = datetime(2026, 11, 16, 9, 0, tzinfo=UTC)
TIME = timedelta(days=90)
LATE = MONDAY + timedelta(days=400)


def stake(number: int, *, day: int = 0, batch: int | None = None, again: int | None = None, **more: bool) -> StakeTime:
    """A stake begun on a day after MONDAY; its time began again on the day `again`."""
    begun = MONDAY + timedelta(day)
    clock = begun if again is None else MONDAY + timedelta(again)
    return StakeTime(number, batch, begun, clock, clock + TIME, **more)


def closed(number: int, batch: int | None = None) -> StakeTime:
    return StakeTime(number, batch, MONDAY, MONDAY, None)


ORDERS: list[tuple[list[StakeTime], list[tuple[int, ...]], str]] = [
    ([], [], "nothing is at stake"),
    ([stake(1), stake(2, day=1)], [(1,), (2,)], "the first unbroken to the end of its time wins"),
    ([stake(2, day=1), stake(1)], [(1,), (2,)], "in whatever order they are read"),
    ([stake(1, batch=7), stake(2, batch=7)], [(1, 2)], "those of a batch share"),
    ([stake(1, batch=7, can_win=False), stake(2, batch=7)], [(2,)], "one that cannot win neither shares nor is first"),
    ([closed(1, 7), stake(2, batch=7)], [(2,)], "a closed source has no time that could be over"),
    ([stake(1, batch=7), stake(2, batch=7, again=20)], [(1,), (2,)], "a time that began again leaves the batch"),
    (
        [stake(1, batch=7), stake(2, batch=7, again=20), stake(3, day=10)],
        [(1,), (3,), (2,)],
        "one in between waits for the batch, and not for the one that left it",
    ),
    (
        [stake(1, batch=7, again=5), stake(2, batch=7, again=5)],
        [(1, 2)],
        "two that began again at one instant share as equals",
    ),
    ([stake(1, day=3), stake(2, day=3)], [(1, 2)], "equal instants share, whoever staked"),
    ([stake(1, batch=7, again=10), stake(2, day=10)], [(1, 2)], "also one that began again, with another's beginning"),
]


@pytest.mark.parametrize(("stakes", "expected", "why"), ORDERS, ids=[row[2] for row in ORDERS])
def test_the_order(stakes: list[StakeTime], expected: list[tuple[int, ...]], why: str) -> None:
    assert [group.stakes for group in groups_in_order(stakes, now=LATE)] == expected, why


def test_a_time_is_over_exactly_at_its_end() -> None:
    end = MONDAY + TIME
    assert [group.stakes for group in groups_in_order([stake(1)], now=end)] == [(1,)]
    assert groups_in_order([stake(1)], now=end - timedelta(microseconds=1)) == []


days = st.integers(0, 6)  # few, so that instants are often equal
batches = st.none() | st.integers(1, 3)


@st.composite
def contests(draw: st.DrawFn) -> list[StakeTime]:
    """Stakes of a few batches and teams, some of them with a time that began again; a batch begins at one instant."""
    begins = {each: draw(days) for each in (1, 2, 3)}
    found = []
    for number in range(draw(st.integers(0, 9))):
        batch = draw(batches)
        day = draw(days) if batch is None else begins[batch]
        again = day + draw(st.integers(1, 4)) if draw(st.booleans()) else None
        found.append(stake(number, day=day, batch=batch, again=again, can_win=draw(st.booleans())))
    return found


@given(contests(), st.integers(86, 104))
def test_waiting_never_forms_a_cycle(stakes: list[StakeTime], after: int) -> None:
    now = MONDAY + timedelta(after)
    groups = groups_in_order(stakes, now=now)
    due = {each.stake: each for each in stakes if each.is_due(now)}

    assert sorted(number for group in groups for number in group.stakes) == sorted(due), "the groups part the stakes"
    assert [group.at for group in groups] == sorted({group.at for group in groups}), "no two have one instant"

    waits = waits_for(groups)
    assert waits.keys() == due.keys()
    if groups:
        assert all(not waits[number] for number in groups[0].stakes), "the earliest waits for no other"
    done: set[int] = set()
    while len(done) < len(due):  # whoever waits for nobody that is left is served: somebody always is
        served = {number for number in due.keys() - done if done.issuperset(waits[number])}
        assert served, "a cycle"
        done |= served

    for group in groups:
        for number in group.stakes:
            assert number not in waits[number]
            mates = {each.until for each in (due[other] for other in group.stakes)}
            assert mates == {group.at}, "all of a group are unbroken at one instant"
    for each in due.values():
        if each.shares_with_batch:
            mates = {other.stake for other in due.values() if other.shares_with_batch and other.batch == each.batch}
            assert any(mates <= set(group.stakes) for group in groups), "a batch shares"
