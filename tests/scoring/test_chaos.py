"""Scorers that are killed again and again find what an undisturbed one finds. `make bench` does it at full size."""

from pathlib import Path

import pytest

from bench import chaos
from tests.scoring.databases import fresh_database


@pytest.mark.postgres
def test_killed_scorers_lose_and_double_nothing(tmp_path: Path) -> None:
    plan = chaos.Plan(pictures=150, kills=4, after=1.0)
    with fresh_database(tmp_path) as calm, fresh_database(tmp_path) as wild:
        expected = chaos.undisturbed(chaos.site(tmp_path / "calm", calm.url), plan)
        found, attempts = chaos.disturbed(chaos.site(tmp_path / "wild", wild.url), plan, seed=1)
    assert len(expected) == 150 * 3 * 3
    assert sorted(found) == sorted(expected) and chaos.twice(found) == 0
    assert set(attempts) > {"1"}, "somebody was killed in the middle of a run"
