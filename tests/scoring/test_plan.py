"""The fixed batch plan (R29)."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from scoring.plan import Batch, batches, permuted

pictures = st.lists(st.integers(), unique=True, min_size=1, max_size=70)
sizes = st.integers(1, 20)
seeds = st.integers(0, 2**63 - 1)


def planned(pictures: Sequence[int], *, seed: int, batch_size: int) -> list[Batch[int]]:
    """The whole plan of a run."""
    return list(batches(permuted(pictures, seed=seed), batch_size=batch_size))


@given(pictures, seeds, sizes)
def test_every_batch_is_full_and_holds_pictures_of_the_run_alone(ids: list[int], seed: int, size: int) -> None:
    for batch in planned(ids, seed=seed, batch_size=size):
        assert len(batch.rows) == size
        assert 1 <= batch.real <= size
        assert set(batch.rows) <= set(ids)


@given(pictures, seeds, sizes)
def test_every_picture_is_asked_about_once_and_padding_is_not(ids: list[int], seed: int, size: int) -> None:
    plan = planned(ids, seed=seed, batch_size=size)
    asked = [row for batch in plan for row in batch.rows[: batch.real]]
    assert sorted(asked) == sorted(ids)
    assert all(batch.real == size for batch in plan[:-1])
    assert [batch.number for batch in plan] == list(range(len(plan)))


@given(pictures, seeds, sizes)
def test_the_same_seed_gives_the_same_plan(ids: list[int], seed: int, size: int) -> None:
    assert planned(ids, seed=seed, batch_size=size) == planned(list(ids), seed=seed, batch_size=size)


@given(pictures, seeds, sizes)
def test_the_recorded_order_is_enough_to_repeat_the_plan(ids: list[int], seed: int, size: int) -> None:
    recorded = permuted(ids, seed=seed)
    assert list(batches(recorded, batch_size=size)) == planned(ids, seed=seed, batch_size=size)


def test_other_seeds_give_a_picture_other_companions() -> None:
    plans = [planned(range(64), seed=seed, batch_size=8) for seed in (1, 2, 3)]
    companions = [next(set(batch.rows) for batch in plan if 0 in batch.rows) for plan in plans]
    assert companions[0] != companions[1] != companions[2]


def test_no_pictures_make_no_batch() -> None:
    assert planned([], seed=1, batch_size=4) == []
