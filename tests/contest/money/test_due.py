"""What of a team's money can be paid, and what waits for which weeks (R22, R35, R37)."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from contest.enums import StakeEnd
from contest.models import Stake, Team
from contest.money.due import payable, payables, payables_of
from contest.money.payments import payment_ask, payment_pay
from contest.money.settlement import prizes_settle
from contest.stakes.ends import stakes_end
from tests import factories
from tests.contest.money import cast
from tests.contest.money.cast import CLOSED, MONDAY, PRIZE, SETTLED

pytestmark = pytest.mark.django_db
DAY = timedelta(1)


@pytest.fixture
def makers(olga: User) -> Team:
    factories.policy_version()
    cast.deposit(20 * PRIZE, olga)
    return cast.team("makers")


def _broken_by(teams: list[Team], makers: Team, name: str = "net", days: float = 1) -> None:
    stake = cast.staked(cast.defense(name, makers))
    for number, team in enumerate(teams):
        cast.broken(stake.defense, cast.attack(team, days=days + number / 10))
    cast.ended(stake)


def test_the_refund_of_a_void_stake_waits_for_the_appeals_on_the_break_that_voids_it(makers: Team) -> None:
    """Or its makers, whose own picture it may be, have the money back before they appeal that very picture."""
    stake = cast.staked(cast.defense("own", makers), by=makers)
    early = cast.attack(makers, days=-7)
    cast.ruled(early.image, at=MONDAY + DAY)
    cast.broken(stake.defense, early)
    stakes_end(now=MONDAY + DAY)
    stake.refresh_from_db()
    assert stake.end == StakeEnd.VOID and prizes_settle(now=MONDAY + DAY) == 1
    found = payable(makers, now=MONDAY + DAY)
    assert (found.balance, found.due, found.weeks) == (PRIZE, 0, (early.week,))
    assert payable(makers, now=MONDAY + 8 * DAY).due == PRIZE


def test_what_waits_of_merged_teams_is_held_back_once(makers: Team) -> None:
    red, blue = cast.team("red"), cast.team("blue")
    _broken_by([red], makers, "first")
    prizes_settle(now=SETTLED)
    late = CLOSED + 3 * DAY
    _broken_by([blue], makers, "second", days=(late - MONDAY) / DAY)
    for stake in Stake.objects.all():
        cast.caught_up(stake.defense)
    now = late + 8 * DAY
    prizes_settle(now=now)
    assert (payable(red, now=now).due, payable(blue, now=now).due) == (PRIZE, 0)
    red.merged_into, red.merged_at = blue, now
    red.save()
    rows = payables_of(blue, now=now)
    assert sum(row.balance for row in rows) == 2 * PRIZE
    assert (sum(row.due for row in rows), sum(row.waiting for row in rows)) == (PRIZE, PRIZE)
    assert rows[0].team == blue and payable(red, now=now) in rows


def test_a_team_without_money_is_told_so(makers: Team) -> None:
    found = payable(makers, now=CLOSED)
    assert (found.balance, found.due, found.weeks) == (0, 0, ()) and payables(now=CLOSED) == []


def _questions(team: Team) -> int:
    with CaptureQueriesContext(connection) as asked:
        payable(team, now=CLOSED)
    return len(asked)


def test_a_defense_more_asks_one_question_more_however_many_weeks_there_are(makers: Team) -> None:
    red = cast.team("red")
    _broken_by([red], makers, "net 0")
    prizes_settle(now=SETTLED)
    one = _questions(red)
    for number in range(1, 4):
        _broken_by([red], makers, f"net {number}")
    for stake in Stake.objects.all():
        cast.caught_up(stake.defense)
    prizes_settle(now=SETTLED)
    assert payable(red, now=CLOSED).due == 4 * PRIZE
    assert _questions(red) <= one + 3


def test_nothing_is_asked_of_weeks_whose_money_is_paid_out(makers: Team, olga: User) -> None:
    red = cast.team("red")
    _broken_by([red], makers)
    prizes_settle(now=SETTLED)
    before = _questions(red)
    asked = payment_ask(team=red, by=olga, now=CLOSED)
    payment_pay(payment_id=asked.pk, reference="SEPA 7", by=factories.user("olaf", "organizers"), now=CLOSED)
    assert _questions(red) < before / 2
