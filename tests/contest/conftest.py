"""Who opens the pages, and when."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache


@pytest.fixture
def organizer(olga: User, signed_in: Any) -> Any:
    return signed_in(olga)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[datetime], None]:
    """Set the clock of the site, and forget what it remembers for a while."""

    def set_to(moment: datetime) -> None:
        cache.clear()
        monkeypatch.setattr("django.utils.timezone.now", lambda: moment)

    return set_to
