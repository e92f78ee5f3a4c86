"""What of a team's money can be paid, and what waits for which weeks (R22, R35, R37)."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from contest.awards.settling import prizes_settle
from contest.enums import AccountKind, StakeEnd
from contest.models import Association, Attack, Member, Stake, Team
from contest.money.correcting import owed
from contest.money.due import payable, payables, payables_of
from contest.money.ledger import account, move
from contest.money.payments import payment_ask, payment_cancel, payment_pay
from contest.stakes.ends import stakes_end
from tests import factories
from tests.contest.money import cast
from tests.contest.money.cast import CLOSED, MONDAY, PRIZE, SETTLED
from tests.refusals import refused

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


def test_what_waits_of_merged_teams_is_held_back_once_and_listed_as_the_action_does(makers: Team, olga: User) -> None:
    """Their names and their numbers sort differently."""
    zed, abe = cast.team("zed"), cast.team("abe")
    _broken_by([zed], makers, "first")
    prizes_settle(now=SETTLED)
    late = CLOSED + 3 * DAY
    _broken_by([abe], makers, "second", days=(late - MONDAY) / DAY)
    for stake in Stake.objects.all():
        cast.caught_up(stake.defense)
    now = late + 8 * DAY
    prizes_settle(now=now)
    assert (payable(zed, now=now).due, payable(abe, now=now).due) == (PRIZE, 0)
    zed.merged_into, zed.merged_at = abe, now
    zed.save()
    listed = payables(now=now)
    assert [row.team.name for row in listed] == ["abe", "zed"]
    assert sorted(listed, key=lambda row: row.team.pk) == sorted(payables_of(abe, now=now), key=lambda row: row.team.pk)
    assert sorted((row.due, row.waiting) for row in listed) == [(0, PRIZE), (PRIZE, 0)]
    for row in listed:
        if row.due:
            assert payment_ask(team=row.team, by=olga, now=now).cents == row.due
        else:
            refused("nothing_due", payment_ask, team=row.team, by=olga, now=now)


# What is not due any more ---------------------------------------------------------------------------------------------


def _overruled(sent: Attack) -> None:
    cast.overruled(sent.image, at=CLOSED)


def _overruled_and_in_force_again(sent: Attack) -> None:
    _overruled(sent)
    stakes_end(now=CLOSED)
    assert Stake.objects.get().ended_at is None


def _associated(sent: Attack) -> None:
    Association.objects.create(team=sent.team, since=MONDAY, reason="Works here.", declared_at=CLOSED)


CHANGES = [
    (_overruled, "the break was overruled, and no sweep has seen it"),
    (_overruled_and_in_force_again, "the stake is in force again"),
    (_associated, "the team turned out to be unpaid"),
]
Change = Callable[[Attack], None]
each_change = pytest.mark.parametrize(("change", "why"), CHANGES, ids=[row[1] for row in CHANGES])


@pytest.fixture
def sent(makers: Team) -> Attack:
    """A break of the week after that of the stake, whose prize can be paid."""
    red = cast.team("red")
    stake = cast.staked(cast.defense("net", makers))
    found = cast.attack(red, days=8)
    cast.broken(stake.defense, found)
    stakes_end(now=SETTLED + 3 * DAY)
    prizes_settle(now=CLOSED)
    assert payable(red, now=CLOSED).due == PRIZE
    return found


@each_change
def test_what_is_not_due_any_more_is_neither_asked_for_nor_paid(
    change: Change, why: str, sent: Attack, olga: User
) -> None:
    asked = payment_ask(team=sent.team, by=olga, now=CLOSED)
    change(sent)
    olaf = factories.user("olaf", "organizers")
    refused("less_due", payment_pay, payment_id=asked.pk, reference="SEPA 7", by=olaf, now=CLOSED)
    payment_cancel(payment_id=asked.pk, by=olaf, now=CLOSED)
    assert refused("nothing_due", payment_ask, team=sent.team, by=olga, now=CLOSED), why
    later = payable(sent.team, now=CLOSED + 60 * DAY)
    assert (later.balance, later.due) == (PRIZE, 0), "whenever"
    assert prizes_settle(now=CLOSED) == 1 and owed() == []


def test_a_part_that_is_not_due_any_more_waits_alone(sent: Attack) -> None:
    """Another team shares it since; its week is closed again when nobody has swept."""
    stake, blue = Stake.objects.get(), cast.team("blue")
    cast.broken(stake.defense, cast.attack(blue, days=8.5))
    found = payable(sent.team, now=CLOSED)
    assert (found.balance, found.due, found.waiting, found.weeks) == (PRIZE, 5_001, 5_000, ())
    own, half = account(AccountKind.TEAM, team=sent.team), account(AccountKind.ATTACKERS)
    move(half, own, 100, rule="R35", why="Another share.", causes={}, now=CLOSED)
    assert payable(sent.team, now=CLOSED).due == 5_101


def test_the_pages_say_that_it_goes_back(
    sent: Attack, olga: User, signed_in: Callable[[User], Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    Member.objects.create(team=sent.team, user=factories.user("carl"), captain=True)
    _overruled_and_in_force_again(sent)
    monkeypatch.setattr("django.utils.timezone.now", lambda: CLOSED)
    listed = signed_in(olga).get("/organizer/money/").content.decode()
    assert "USD 100.01, not due any more: it goes back" in listed and "Ask for payment" not in listed
    own = signed_in(User.objects.get(username="carl")).get("/team/money/").content.decode()
    assert "which is not due any more and goes back" in own


# Weeks before the stake -----------------------------------------------------------------------------------------------


def test_a_prize_waits_for_a_picture_of_before_the_stake_that_may_void_it(makers: Team) -> None:
    red, stake = cast.team("red"), cast.staked(cast.defense("net", makers))
    own = cast.staked(cast.defense("own", makers), by=makers)
    early = cast.attack(cast.team("blue"), days=-20)
    cast.broken(stake.defense, cast.attack(red, days=1))
    cast.ended(own, StakeEnd.WITHDRAWN)
    stakes_end(now=SETTLED), prizes_settle(now=SETTLED)
    found = payable(red, now=CLOSED)
    assert (found.balance, found.due, found.weeks) == (PRIZE, 0, (early.week,))
    assert payable(makers, now=CLOSED).due == PRIZE, "what goes back to who paid it waits for nothing of before"
    cast.ruled(early.image, at=CLOSED)
    assert payable(red, now=CLOSED + 8 * DAY).due == 0, "it is not run yet"
    cast.answered(stake.defense, early.image, 1, at=CLOSED)
    assert payable(red, now=CLOSED + 7 * DAY - DAY / 24).due == 0, "it can be appealed"
    assert payable(red, now=CLOSED + 7 * DAY).due == PRIZE


def _questions(team: Team) -> int:
    with CaptureQueriesContext(connection) as asked:
        payable(team, now=CLOSED)
    return len(asked)


def test_a_defense_more_asks_two_questions_more_however_many_weeks_there_are(makers: Team, olga: User) -> None:
    red, blue = cast.team("red"), cast.team("blue")
    assert (payable(red, now=CLOSED).due, payables(now=CLOSED)) == (0, []), "a team without money"
    _broken_by([red], makers, "net 0")
    prizes_settle(now=SETTLED)
    one = _questions(red)
    for week in range(3):
        cast.ruled(cast.attack(blue, days=-7 * week - 5).image)
    cast.caught_up(Stake.objects.get().defense)
    assert payable(red, now=CLOSED).due == PRIZE and _questions(red) == one, "weeks before the stake ask nothing more"
    for number in range(1, 4):
        _broken_by([red], makers, f"net {number}")
    for stake in Stake.objects.all():
        cast.caught_up(stake.defense)
    prizes_settle(now=SETTLED)
    assert payable(red, now=CLOSED).due == 4 * PRIZE
    assert _questions(red) <= one + 2 * 3
    asked = payment_ask(team=red, by=olga, now=CLOSED)
    payment_pay(payment_id=asked.pk, reference="SEPA 7", by=factories.user("olaf", "organizers"), now=CLOSED)
    assert _questions(red) < one / 2, "nothing is asked of weeks whose money is paid out"


def test_each_share_names_what_it_waits_for(makers: Team) -> None:
    """A share of a later week waits for the earlier weeks of its own stake: a picture of those would outrank it."""
    red = cast.team("red")
    _broken_by([red], makers, "first")
    _broken_by([red], makers, "second", days=8)
    for stake in Stake.objects.all():
        cast.caught_up(stake.defense)
    prizes_settle(now=SETTLED)
    found = payable(red, now=SETTLED)
    assert {each.defense: each.weeks for each in found.shares} == {
        "first": ("2026-W47",),
        "second": ("2026-W47", "2026-W48"),
    }
    assert sum(each.cents for each in found.shares) == found.waiting == 2 * PRIZE
