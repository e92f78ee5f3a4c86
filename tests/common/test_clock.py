"""How far a machine's clock is from the database's."""

from datetime import timedelta

import pytest
from django.utils import timezone

from common import clock


@pytest.mark.django_db
def test_the_database_beside_us_has_the_same_clock() -> None:
    assert not clock.is_apart(clock.apart())


@pytest.mark.postgres("the database's own clock")
@pytest.mark.django_db
@pytest.mark.parametrize("minutes", [10, -10])
def test_another_clock_is_noticed(minutes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    real = timezone.now
    monkeypatch.setattr(timezone, "now", lambda: real() + timedelta(minutes=minutes))
    apart = clock.apart()
    assert clock.is_apart(apart) and abs(apart - timedelta(minutes=minutes)) < timedelta(seconds=2)
    assert ("ahead of" in clock.words(apart)) is (minutes > 0) and "600 seconds" in clock.words(apart)
