"""Team red, its captain at the pages, and the clock."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from django.test import Client

from contest.core.models import Team
from tests.contest.attacks import cast


@pytest.fixture
def red(now: datetime) -> Team:
    cast.policy()
    return cast.team("red", email="red@example.org")


@pytest.fixture
def blue(red: Team) -> Team:
    return cast.team("blue")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch, now: datetime) -> Callable[[datetime], None]:
    """Set what every view takes for now; it is Wednesday noon at first."""

    def set_to(moment: datetime) -> None:
        monkeypatch.setattr("django.utils.timezone.now", lambda: moment)

    set_to(now)
    return set_to


@pytest.fixture
def captain(red: Team, clock: Any, signed_in: Any) -> Client:
    client: Client = signed_in(cast.captain(red))
    return client
