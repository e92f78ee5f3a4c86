"""Two organizers who pay, and a team that can be paid."""

import pytest
from django.contrib.auth.models import User

from contest.core.models import Member, Team
from tests import factories
from tests.contest.ledger import cast


@pytest.fixture
def olaf(db: None) -> User:
    return factories.user("olaf", "organizers")


@pytest.fixture
def red(olga: User) -> Team:
    """Team red with a share of a week that is settled; the appeals of the week are closed at CLOSED."""
    cast.deposit(4 * cast.PRIZE, olga)
    red = cast.team("red")
    cast.broken_stake(red, cast.team("makers"))
    assert cast.swept(cast.SETTLED) == 1
    return red


@pytest.fixture
def captain(red: Team) -> User:
    """The captain of team red, whom a letter reaches."""
    carl = factories.user("carl")
    User.objects.filter(pk=carl.pk).update(email="carl@example.org")
    Member.objects.create(team=red, user=carl, captain=True)
    return carl
