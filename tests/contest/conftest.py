"""Who opens the pages."""

from typing import Any

import pytest
from django.contrib.auth.models import User


@pytest.fixture
def organizer(olga: User, signed_in: Any) -> Any:
    return signed_in(olga)
