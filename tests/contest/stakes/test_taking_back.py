"""What was at stake is taken back only when nothing can change what becomes of the prize (R22, R29, R35)."""

import random
from datetime import datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client

from contest.awards.settling import prizes_settle
from contest.enums import DefenseStanding, StakeEnd
from contest.models import Member, Stake
from contest.stakes import services
from contest.stakes.ends import not_final, stakes_end
from contest.stakes.entries import entry_withdraw
from contest.stakes.selectors import standing_of
from labeling.policy import Policy
from scoring.models import Defense, RunItem
from scoring.services import runs_plan
from tests import factories
from tests.contest.money import cast
from tests.contest.money.cast import CLOSED, MONDAY, PRIZE, SETTLED, balance
from tests.factories import mandate
from tests.refusals import refused

pytestmark = pytest.mark.django_db


@pytest.fixture
def captain(db: None) -> User:
    return factories.user("cap")


@pytest.fixture
def stake(olga: User, captain: User) -> Stake:
    """A defense at stake since MONDAY."""
    factories.policy_version()
    cast.deposit(100_000, olga)
    makers = cast.team("makers")
    Member.objects.create(team=makers, user=captain, captain=True)
    return cast.staked(cast.defense("net", makers))


def withdrawn(stake: Stake, by: User, now: datetime) -> Defense:
    entry_withdraw(stake.defense.entry, by=by, now=now)
    return Defense.objects.get(pk=stake.defense_id)


def stays(stake: Stake, by: User, now: datetime) -> str:
    error = refused("not_final", withdrawn, stake, by, now)
    assert Defense.objects.get(pk=stake.defense_id).retired_at is None
    return error.message


def test_a_broken_defense_stays_until_the_earlier_week_is_run_too(stake: Stake, captain: User) -> None:
    red, blue = cast.team("red"), cast.team("blue")
    cast.broken(stake.defense, cast.attack(red, days=6))
    earlier = cast.attack(blue, days=1)
    stakes_end(now=SETTLED)
    assert "it waits for 2026-W47, 2026-W48. It can be taken back when the pictures" in stays(stake, captain, SETTLED)
    cast.ruled(earlier.image, at=SETTLED)
    runs_plan(policy=Policy(), now=SETTLED, rng=random.Random(1))
    assert RunItem.objects.filter(defense=stake.defense, image=earlier.image).exists(), "it is run all the same"
    RunItem.objects.filter(image=earlier.image).delete()
    assert prizes_settle(now=SETTLED) == 1 and balance(red) == PRIZE, "the week of the break alone is settled"
    cast.broken(stake.defense, earlier, found=SETTLED)
    for _ in range(2):
        stakes_end(now=CLOSED), prizes_settle(now=CLOSED)
    assert (balance(red), balance(blue)) == (0, PRIZE), "the earlier week has the prize"
    assert withdrawn(stake, captain, CLOSED).retired_at == CLOSED


def test_the_day_is_named_as_soon_as_it_is_known(stake: Stake, captain: User) -> None:
    cast.broken(stake.defense, cast.attack(cast.team("red"), days=1))
    ruled = MONDAY.replace(hour=0) + timedelta(7)  # two days after its week
    at = ruled + timedelta(7)
    assert "2026-W47" in stays(stake, captain, ruled), "no sweep has seen the break, and it is seen"
    stakes_end(now=ruled)
    words = stays(stake, captain, at - timedelta(microseconds=1))
    assert "it waits for 2026-W47. It can be taken back from Mon 30 Nov 2026 00:00:00 UTC on" in words
    assert withdrawn(stake, captain, at).retired_at == at


def test_a_void_stake_waits_for_the_week_of_its_break_alone(stake: Stake, captain: User) -> None:
    cast.broken(stake.defense, cast.attack(cast.team("red"), days=-6))
    cast.attack(cast.team("blue"), days=1)
    stakes_end(now=MONDAY + timedelta(1))
    waits = not_final(stake.defense, now=MONDAY + timedelta(1))
    assert waits is not None and [week.name for week in waits.weeks] == ["2026-W46"]
    assert not_final(stake.defense, now=CLOSED) is None


def test_a_broken_stake_waits_for_a_week_of_before_that_may_void_it(stake: Stake, captain: User) -> None:
    other = cast.staked(cast.defense("other", cast.team("others")))
    cast.broken(stake.defense, cast.attack(cast.team("red"), days=1))
    early = cast.attack(cast.team("blue"), days=-20)
    stakes_end(now=SETTLED)
    assert early.week in stays(stake, captain, CLOSED)
    cast.ended(other, StakeEnd.WITHDRAWN)
    assert not_final(other.defense, now=CLOSED) is None, "what was taken back unbroken waits for nothing of before"
    cast.ruled(early.image, "", at=SETTLED)
    assert withdrawn(stake, captain, CLOSED).retired_at == CLOSED


def test_no_stake_comes_back_into_force_on_a_defense_that_is_retired(stake: Stake, captain: User) -> None:
    sent = cast.attack(cast.team("red"), days=1)
    cast.broken(stake.defense, sent)
    stakes_end(now=SETTLED)
    withdrawn(stake, captain, CLOSED)
    cast.overruled(sent.image, at=CLOSED + timedelta(1))
    for _ in range(2):
        stakes_end(now=CLOSED + timedelta(1))
        stake.refresh_from_db()
        assert (stake.end, stake.ended_at) == (StakeEnd.WITHDRAWN, CLOSED)
    prizes_settle(now=CLOSED + timedelta(1))
    assert balance(stake) == 0, "the money is back where it came from"


def test_one_that_comes_back_into_force_is_at_stake_and_ends_where_its_defense_is_retired(
    stake: Stake, captain: User
) -> None:
    sent = cast.attack(cast.team("red"), days=1)
    cast.broken(stake.defense, sent)
    stakes_end(now=SETTLED)
    cast.overruled(sent.image)
    refused("staked", withdrawn, stake, captain, CLOSED + timedelta(30))
    Defense.objects.filter(pk=stake.defense_id).update(retired_at=CLOSED)
    stakes_end(now=CLOSED)
    stake.refresh_from_db()
    assert (stake.end, stake.ended_at) == (StakeEnd.WITHDRAWN, CLOSED)


def test_what_the_board_returns_is_broken_by_what_was_sent_before(stake: Stake, captain: User, rita: User) -> None:
    blue = cast.team("blue")
    sent = cast.attack(blue, days=1)
    returned = MONDAY + timedelta(2)
    services.return_ask(stake, "A mistake of ours.", by=captain, now=returned)
    services.return_decide(stake, granted=True, reason="Granted.", by=mandate("return", rita, returned), now=returned)
    assert balance(stake) == 0
    assert "2026-W47" in stays(stake, captain, returned)
    cast.broken(stake.defense, sent)
    stakes_end(now=SETTLED), prizes_settle(now=SETTLED)
    assert balance(blue) == PRIZE
    defense = withdrawn(stake, captain, CLOSED)
    assert standing_of(defense, now=factories.NOW) is DefenseStanding.WITHDRAWN


def test_its_page_says_when_instead_of_offering_it(
    stake: Stake, captain: User, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("django.utils.timezone.now", lambda: SETTLED)
    cast.broken(stake.defense, cast.attack(cast.team("red"), days=1))
    stakes_end(now=SETTLED)
    client.force_login(captain)
    address = f"/team/defenses/{stake.defense.public_id}/"
    shown = client.get(address).content.decode()
    assert "It can be taken back from Mon 30 Nov 2026" in shown and "Take net back for good" not in shown
    answer = client.post(f"{address}withdraw/", {"sure": "yes"})
    assert answer.status_code == 409 and "It can be taken back from" in answer.content.decode()
    monkeypatch.setattr("django.utils.timezone.now", lambda: CLOSED)
    client.force_login(captain)
    assert "Take net back for good" in client.get(address).content.decode()
