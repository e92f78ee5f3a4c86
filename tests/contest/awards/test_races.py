"""Stakes that lost the race or can never win it, and prizes that are withheld for good (R36, R38)."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client

from common.errors import Conflict, InvalidInput, NotAllowed
from contest.awards.conditions import contenders
from contest.awards.forfeits import award_forfeit, forfeitable, forfeited_of
from contest.awards.races import ending_of, race_end
from contest.awards.services import awards_settle, change_of
from contest.enums import AccountKind, DefenseStanding, StakeEnd
from contest.models import Account, Association, Award, BoardDecision, LedgerEntry, Stake, StakeChange, Team
from contest.money.settlement import prizes_settle
from contest.money.withholding import money_return, money_withhold, withholdings
from contest.stakes.selectors import staked, standing_of
from tests.contest.awards.test_awards import (
    HALF,
    NOW,
    all_met,
    found_late,
    give,
    makers,
    nothing_is_lost,
    run_again,
    stake,
    sweep,
    unmet,
)
from tests.contest.money import cast
from tests.contest.money.cast import BEFORE, MONDAY, PRIZE, balance

__all__ = ["makers", "nothing_is_lost", "stake"]
pytestmark = pytest.mark.django_db
SignIn = Callable[[User], Client]
DAY = timedelta(1)


@pytest.fixture
def other(makers: Team) -> Stake:
    """Another one at stake, of another batch, begun a day later."""
    return cast.staked(cast.defense("other", cast.team("others")), at=MONDAY + DAY)


# The race -------------------------------------------------------------------------------------------------------------


def test_what_lost_the_race_is_ended_and_its_money_returns(stake: Stake, other: Stake, rita: User) -> None:
    assert ending_of(other, now=NOW) is None, "it may still win"
    give(all_met(stake), rita)
    ended = race_end(stake=other, reason="The race is over.", by=rita, now=NOW)
    assert (ended.end, ended.ended_at) == (StakeEnd.OVERTAKEN, NOW)
    decision = BoardDecision.objects.get(kind="end")
    assert (decision.reason, decision.details) == ("The race is over.", {"end": "overtaken"})
    assert decision.subject == {"stake": [other.pk], "defense": [other.defense_id]}
    assert StakeChange.objects.get(stake=other).end == StakeEnd.OVERTAKEN
    assert balance(other) == PRIZE, "until the week of its end is settled"
    prizes_settle(now=NOW + 8 * DAY)
    assert (balance(other), balance(AccountKind.ATTACKERS)) == (0, HALF)
    assert standing_of(other.defense) is DefenseStanding.PUBLISHED


def test_a_picture_sent_before_the_end_still_pays_who_broke_it(stake: Stake, other: Stake, rita: User) -> None:
    give(all_met(stake), rita)
    red = cast.team("red")
    sent = cast.attack(red, days=60)
    race_end(stake=other, reason="The race is over.", by=rita, now=NOW)
    prizes_settle(now=NOW + 8 * DAY)
    cast.broken(other.defense, sent)
    prizes_settle(now=NOW + 9 * DAY)
    assert balance(red) == PRIZE


def test_what_can_never_win_is_taken_back(other: Stake, rita: User) -> None:
    Association.objects.create(team=Team.objects.get(name="others"), reason="x", since=BEFORE, declared_at=BEFORE)
    assert other.defense in staked(MONDAY + 2 * DAY)
    ended = race_end(stake=other, reason="It can never win.", by=rita, now=MONDAY + 2 * DAY)
    assert (ended.end, balance(other), balance(AccountKind.ATTACKERS)) == (StakeEnd.WITHDRAWN, 0, HALF)
    assert other.defense not in staked(MONDAY + 2 * DAY)


def test_only_the_board_ends_its_own_stakes_and_gives_a_reason(
    stake: Stake, other: Stake, rita: User, olga: User
) -> None:
    paid = cast.staked(cast.defense("paid", cast.team("payers")), by=Team.objects.get(name="payers"))
    with pytest.raises(Conflict) as refused:
        race_end(stake=other, reason="Why not.", by=rita, now=NOW)
    assert refused.value.code == "may_win"
    give(all_met(stake), rita)
    with pytest.raises(NotAllowed):
        race_end(stake=other, reason="Over.", by=olga, now=NOW)
    with pytest.raises(InvalidInput):
        race_end(stake=other, reason=" ", by=rita, now=NOW)
    for each in (paid, stake):
        with pytest.raises(Conflict):
            race_end(stake=each, reason="Over.", by=rita, now=NOW)
    assert not BoardDecision.objects.filter(kind="end").exists() and not paid.ended_at


def test_an_award_from_before_the_stake_ends_no_race(stake: Stake, makers: Team, rita: User) -> None:
    give(all_met(stake), rita)
    later = cast.staked(cast.defense("later", makers), at=NOW + DAY)
    assert ending_of(later, now=NOW + 2 * DAY) is None


def test_the_board_ends_it_by_the_page(
    stake: Stake, other: Stake, rita: User, olga: User, signed_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contest.awards.views.timezone.now", lambda: NOW)
    address, board = f"/board/awards/{other.pk}/", signed_in(rita)
    assert "End this stake" not in board.get(address).content.decode()
    give(all_met(stake), rita)
    assert "net was awarded the prize while this was at stake" in board.get(address).content.decode()
    assert "End this stake" not in signed_in(olga).get(address).content.decode()
    assert signed_in(olga).post(address, {"end": "1", "reason": "Over."}).status_code == 403
    assert board.post(address, {"end": "1", "reason": ""}).status_code == 400
    assert board.post(address, {"forfeit": "1", "reason": "x"}).status_code == 404
    done = board.post(address, {"end": "1", "reason": "The race is over."}, follow=True).content.decode()
    assert "The stake on other is over: overtaken." in done
    assert board.post(address, {"end": "1", "reason": "Again."}).status_code == 409


# Withheld for good ----------------------------------------------------------------------------------------------------


@pytest.fixture
def withheld(stake: Stake, other: Stake, makers: Team, rita: User) -> Award:
    """The award of makers, all of it withheld."""
    (award,) = give(all_met(stake), rita)
    of = Account.objects.get(team=makers)
    money_withhold(of=of, cents=HALF, reason="It looked at the private set.", by=rita, now=NOW)
    return award


def test_a_withheld_prize_goes_back_and_the_next_is_awarded(withheld: Award, other: Stake, rita: User) -> None:
    run_again(other)
    assert unmet(other) == {"half"}
    assert forfeitable(withheld) == HALF
    (entry,) = award_forfeit(award=withheld, reason="Disqualified.", by=rita, now=NOW)
    assert (entry.rule, entry.cents, entry.target.kind) == ("R38", HALF, AccountKind.DEFENDERS)
    assert entry.decision and (entry.decision.kind, entry.decision.reason) == ("forfeit", "Disqualified.")
    assert (balance(AccountKind.WITHHELD), balance(AccountKind.DEFENDERS)) == (0, HALF)
    assert withholdings() == [] and forfeitable(withheld) == 0
    assert awards_settle(now=NOW) == 0, "the winner is not paid out of the half again"
    assert contenders(now=NOW) == [other] and unmet(other) == set()
    give(other, rita)
    assert balance(Team.objects.get(name="others")) == HALF
    assert awards_settle(now=NOW) == 0


def test_what_is_withheld_for_good_is_not_given_back(withheld: Award, makers: Team, rita: User) -> None:
    award_forfeit(award=withheld, reason="Disqualified.", by=rita, now=NOW)
    with pytest.raises(Conflict):
        money_return(of=Account.objects.get(team=makers), reason="Sorry.", by=rita, now=NOW)
    with pytest.raises(Conflict) as refused:
        award_forfeit(award=withheld, reason="Again.", by=rita, now=NOW)
    assert refused.value.code == "nothing_withheld"


def test_at_most_the_share_of_the_award_is_taken(stake: Stake, makers: Team, rita: User, olga: User) -> None:
    (award,) = give(all_met(stake), rita)
    own = cast.staked(cast.defense("second", makers), by=makers, at=NOW)
    cast.ended(own, StakeEnd.WITHDRAWN, at=NOW + DAY)
    of = Account.objects.get(team=makers)
    money_withhold(of=of, cents=HALF + PRIZE, reason="All of it.", by=rita, now=NOW)
    award_forfeit(award=award, reason="Disqualified.", by=rita, now=NOW)
    assert (balance(AccountKind.WITHHELD), balance(AccountKind.DEFENDERS)) == (PRIZE, HALF)
    assert [each.cents for each in withholdings()] == [PRIZE], "its own stake is not the half's"


def test_a_break_found_after_it_makes_no_debt(withheld: Award, stake: Stake, rita: User) -> None:
    award_forfeit(award=withheld, reason="Disqualified.", by=rita, now=NOW)
    found_late(stake, cast.team("red"))
    sweep()
    change = change_of(withheld.decision)
    assert (change.flows.owed, forfeited_of(withheld.decision)) == ({}, {stake.defense.entry.team_id: HALF})
    assert balance(AccountKind.DEFENDERS) == HALF


def test_what_is_withheld_of_a_lost_award_is_no_debt(withheld: Award, stake: Stake, makers: Team, rita: User) -> None:
    found_late(stake, cast.team("red"))
    sweep()
    assert change_of(withheld.decision).flows.owed == {}, "it was not paid out"
    money_return(of=Account.objects.get(team=makers), reason="Nothing is left to withhold.", by=rita, now=NOW)
    sweep()
    assert (balance(makers), balance(AccountKind.DEFENDERS)) == (0, HALF)


def test_the_board_takes_it_for_good_by_the_page(
    withheld: Award, rita: User, olga: User, signed_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contest.awards.views.timezone.now", lambda: NOW)
    address, board = f"/board/awards/{withheld.stake_id}/", signed_in(rita)
    assert "Withheld for good" in board.get(address).content.decode()
    assert signed_in(olga).post(address, {"forfeit": "1", "reason": "x"}).status_code == 403
    assert board.post(address, {"forfeit": "1", "reason": ""}).status_code == 400
    done = board.post(address, {"forfeit": "1", "reason": "Disqualified."}, follow=True).content.decode()
    assert "USD 500.01 went back to the defenders&#x27; half." in done
    assert "USD 500.01 of this award were withheld for good" in done
    assert LedgerEntry.objects.filter(decision__kind="forfeit").count() == 1
