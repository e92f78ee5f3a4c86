"""A team with a defense at stake, and two that share."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from contest.core.models import Stake, Team
from tests.contest.ledger import cast

HALF = 50_001


@pytest.fixture
def makers(olga: User) -> Team:
    cast.deposit(2 * HALF, olga)
    return cast.team("makers")


@pytest.fixture
def stake(makers: Team) -> Stake:
    return cast.staked(cast.defense("net", makers))


@pytest.fixture
def two(makers: Team) -> tuple[Stake, Stake]:
    """Two defenses of one batch, the second handed in earlier."""
    both = cast.batch()
    late = cast.staked(cast.defense("late", makers, received=cast.BEFORE + timedelta(1)), of=both)
    return late, cast.staked(cast.defense("early", cast.team("others")), of=both)
