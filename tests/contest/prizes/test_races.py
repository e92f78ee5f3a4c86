"""Stakes that lost the race or can never win it, prizes withheld for good, and the board's pages (R36, R38)."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from contest.board.motions import award_move, award_withhold_move, end_move
from contest.core.enums import AccountKind, DefenseStanding, StakeEnd
from contest.core.models import Award, BoardDecision, Case, Stake, Team
from contest.core.teams import final_team
from contest.defenses.models import StakeChange
from contest.defenses.selectors import defense_state_of, staked
from contest.defenses.stake_rows import stake_row
from contest.ledger.models import Account, LedgerEntry
from contest.ledger.services import check_ledger_sums, ledger_account, move
from contest.ledger.withholding import forfeited_of, forfeited_of_award, withholdings
from contest.payments.payable import payable
from contest.payments.statements import debts
from contest.prizes import awards as services
from contest.prizes import checklist
from contest.prizes.awards import awards_in_force, race_close, race_ending
from contest.prizes.forfeits import award_forfeit, award_withhold, forfeitable, withholdable
from contest.prizes.shares import defender_shares
from contest.prizes.sweeps import prizes_settle
from contest.record.leaderboard.fact_reader import read_facts
from contest.record.leaderboard.tables import tables as leaderboard
from contest.teams.models import Association, AssociationMistake
from scoring.models import Rerun
from tests import factories, tables
from tests.contest.ledger import cast
from tests.contest.ledger.cast import BEFORE, MONDAY, PRIZE, balance
from tests.contest.pages import one_line, plain
from tests.contest.prizes.conftest import HALF
from tests.contest.prizes.test_awards import (
    NOW,
    all_met,
    associated,
    found_late,
    give,
    nothing_is_lost,
    run_again,
    sweep,
    unmet,
    valid_and_not_run_again,
)
from tests.refusals import refused

pytestmark = pytest.mark.django_db
__all__ = ["nothing_is_lost"]
DAY = timedelta(1)
MOVE = {"do": "move"}
CHEATED = "It looked at the private set."
Winners = dict[str, Award]


@pytest.fixture
def other(makers: Team) -> Stake:
    """Another one at stake, of another batch, begun a day later."""
    return cast.staked(cast.defense("other", cast.team("others")), at=MONDAY + DAY)


def withhold(award: Award, rita: User, reason: str = CHEATED) -> LedgerEntry | None:
    return award_withhold(award=award, reason=reason, by=factories.mandate("withhold", rita, NOW), now=NOW)


def forfeit(award: Award, rita: User, now: datetime = NOW) -> list[LedgerEntry]:
    return award_forfeit(award=award, reason="Disqualified.", by=factories.mandate("forfeit", rita, now), now=now)


def end_race(of: Stake, rita: User, *, now: datetime = NOW, reason: str = "The race is over.") -> Stake:
    return race_close(stake=of, reason=reason, by=factories.mandate("end", rita, now), now=now)


# The race -------------------------------------------------------------------------------------------------------------


def test_what_lost_the_race_is_ended(stake: Stake, other: Stake, rita: User) -> None:
    assert race_ending(other, now=NOW) is None, "it may still win"
    give(all_met(stake), rita)
    ended = end_race(other, rita)
    assert (ended.end, ended.ended_at, StakeChange.objects.get(stake=other).end) == ("overtaken", NOW, "overtaken")
    decision = BoardDecision.objects.get(kind="end")
    assert (decision.reason, decision.details) == ("The race is over.", {"end": "overtaken"})
    assert decision.subject == {"stake": [other.pk], "defense": [other.defense_id]}
    assert balance(other) == PRIZE, "until the week of its end is settled"
    assert defense_state_of(other.defense, now=factories.NOW) is DefenseStanding.PUBLISHED


def test_the_money_of_what_lost_the_race_returns_and_a_picture_from_before_is_paid(other: Stake, rita: User) -> None:
    sent = cast.attack(cast.team("red"), days=60)
    cast.ended(other, StakeEnd.OVERTAKEN, at=NOW)
    prizes_settle(now=NOW + 8 * DAY)
    assert (balance(other), balance(AccountKind.ATTACKERS)) == (0, HALF)
    cast.broken(other.defense, sent)
    prizes_settle(now=NOW + 9 * DAY)
    assert balance(sent.team) == PRIZE


def test_what_can_never_win_is_taken_back(other: Stake, rita: User) -> None:
    Association.objects.create(team=Team.objects.get(name="others"), reason="x", since=BEFORE, declared_at=BEFORE)
    assert other.defense in staked(MONDAY + 2 * DAY)
    ended = end_race(other, rita, now=MONDAY + 2 * DAY)
    assert (ended.end, balance(other), balance(AccountKind.ATTACKERS)) == (StakeEnd.WITHDRAWN, 0, HALF)
    assert other.defense not in staked(MONDAY + 2 * DAY)


def test_only_the_board_ends_its_own_stakes_and_gives_a_reason(
    stake: Stake, other: Stake, makers: Team, rita: User, olga: User
) -> None:
    paid = cast.staked(cast.defense("paid", cast.team("payers")), by=Team.objects.get(name="payers"))
    refused("may_win", end_race, other, rita)
    award = give(all_met(stake), rita)[0]
    refused("not_on_board", end_move, other, reason="It can win no more now.", by=olga, now=NOW)
    refused("not_on_board", award_withhold_move, award, reason=CHEATED, by=olga, now=NOW)
    refused("invalid", end_race, other, rita, reason=" ")
    refused("invalid", withhold, award, rita, " ")
    for each in (paid, stake):
        refused("may_win", end_race, each, rita)
    assert not BoardDecision.objects.filter(kind="end").exists() and not paid.ended_at and withholdings() == []
    later = cast.staked(cast.defense("later", makers), at=NOW + DAY)
    assert race_ending(later, now=NOW + 2 * DAY) is None, "an award from before the stake ends no race"


def lost_and_settled(award: Award, rita: User) -> None:
    found_late(award.stake, cast.team("red"))
    sweep()


def forfeited(award: Award, rita: User) -> None:
    withhold(award, rita)
    forfeit(award, rita)


@tables.cases(
    "then over why",
    (lambda award, rita: None, True, "it stands"),
    (lambda award, rita: found_late(award.stake, cast.team("red")), False, "lost by a break, not settled yet"),
    (lost_and_settled, False, "lost by a break, and the half is there again"),
    (lambda award, rita: associated(award.stake.defense.entry.team), False, "its team is not paid"),
    (withhold, True, "it may be given back"),
    (forfeited, False, "taken for good"),
)
def test_the_race_is_over_while_the_award_stands(
    then: Callable[[Award, User], object], over: bool, why: str, stake: Stake, other: Stake, rita: User
) -> None:
    (award,) = give(all_met(stake), rita)
    then(award, rita)
    later = NOW + 2 * DAY
    assert (race_ending(Stake.objects.get(pk=other.pk), now=later) is not None) is over, why
    assert [each.pk for each in awards_in_force(Award.objects.all())] == ([award.pk] if over else []), why
    if not over:
        refused("may_win", end_race, other, rita, now=later)


def test_the_race_is_over_while_one_of_the_batch_has_the_prize(two: tuple[Stake, Stake], rita: User) -> None:
    late, early = two
    all_met(early)
    third = cast.staked(cast.defense("third", cast.team("third")), at=MONDAY + DAY)
    give(all_met(late), rita)
    found_late(early, cast.team("red"))
    assert race_ending(third, now=NOW + 2 * DAY).why == "late was awarded the prize while this was at stake."


@pytest.fixture
def board(rita: User, signed_in: Any, monkeypatch: pytest.MonkeyPatch) -> Client:
    """A member, who reads the pages when the time is over."""
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW)
    return signed_in(rita)


def read(client: Client, address: str) -> str:
    return one_line(client.get(address).content.decode())


def rosa() -> User:
    return factories.user("rosa", "review board")


def test_the_board_moves_by_the_page_to_end_it(stake: Stake, other: Stake, rita: User, board: Client) -> None:
    address, form = f"/board/awards/{other.pk}/", {"action": "end", "reason": "The race is over for it."}
    assert "End this stake" not in read(board, address)
    give(all_met(stake), rita)
    refusals = [board.post(address, wrong) for wrong in (form | {"reason": ""}, {"action": "forfeit", "reason": "x"})]
    assert [each.status_code for each in refusals] == [400, 404]
    assert "net was awarded the prize while this was at stake" in plain(refusals[0])
    done = plain(board.post(address, form | MOVE, follow=True))
    case = Case.objects.get(motion="end", state="open")
    assert f"Moved as case {case.public_id}" in done and "A motion to end a stake: other. Moved by you, 1 of 2" in done
    assert "End this stake" not in done and Stake.objects.get(pk=other.pk).ended_at is None, "one vote is no decision"


def test_a_stake_that_was_ended_says_so_on_its_page(stake: Stake, other: Stake, rita: User, board: Client) -> None:
    give(all_met(stake), rita)
    factories.carried(end_move(other, reason="The race is over for it.", by=rita, now=NOW), rosa(), NOW)
    assert Stake.objects.get(pk=other.pk).end == StakeEnd.OVERTAKEN
    address = f"/board/awards/{other.pk}/"
    assert "The stake is over: overtaken." in read(board, address)
    assert board.post(address, {"action": "end", "reason": "The race is over for it."}).status_code == 409


# Withheld for good ----------------------------------------------------------------------------------------------------


@pytest.fixture
def withheld(stake: Stake, other: Stake, makers: Team, rita: User) -> Award:
    (award,) = give(all_met(stake), rita)
    withhold(award, rita)
    return award


def test_a_withheld_prize_goes_back_and_the_next_is_awarded(
    withheld: Award, other: Stake, makers: Team, rita: User
) -> None:
    run_again(other)
    assert (unmet(other), forfeitable(withheld)) == ({"half"}, HALF)
    (entry,) = forfeit(withheld, rita)
    assert (entry.rule, entry.cents, entry.target.kind) == ("R38", HALF, AccountKind.DEFENDERS)
    assert entry.decision and (entry.decision.kind, entry.decision.reason) == ("forfeit", "Disqualified.")
    assert (balance(AccountKind.WITHHELD), balance(AccountKind.DEFENDERS)) == (0, HALF)
    assert withholdings() == [] and forfeitable(withheld) == 0
    refused("nothing_withheld", cast.given_back, makers, rita, award=withheld, now=NOW)
    refused("nothing_withheld", forfeit, withheld, rita)
    assert prizes_settle(now=NOW) == 0, "the winner is not paid out of the half again"
    assert checklist.contenders(now=NOW) == [other] and unmet(other) == set()
    give(other, rita)
    assert (balance(Team.objects.get(name="others")), prizes_settle(now=NOW)) == (HALF, 0)


def test_what_else_is_withheld_of_the_team_is_not_the_halfs(stake: Stake, makers: Team, rita: User) -> None:
    (award,) = give(all_met(stake), rita)
    cast.ended(cast.staked(cast.defense("second", makers), by=makers, at=NOW), StakeEnd.WITHDRAWN, at=NOW + DAY)
    cast.withheld(makers, PRIZE, rita, now=NOW)
    assert (forfeitable(award), withholdable(award)) == (0, HALF)
    refused("nothing_withheld", forfeit, award, rita)
    withhold(award, rita)
    assert [(each.award, each.cents) for each in withholdings()] == [(None, PRIZE), (award, HALF)]
    forfeit(award, rita)
    assert (balance(AccountKind.WITHHELD), balance(AccountKind.DEFENDERS)) == (PRIZE, HALF)
    assert [(each.award, each.cents) for each in withholdings()] == [(None, PRIZE)], "its own stake is not the half's"
    cast.given_back(makers, rita, now=NOW)
    assert balance(makers) == PRIZE


def taken_back(paid: LedgerEntry) -> None:
    move(paid.target, paid.source, paid.cents, corrects=paid, rule="R34", why="It came back.", causes={}, now=NOW)


@tables.cases(
    "then left why",
    (lambda makers: None, HALF, "all of it"),
    (lambda makers: cast.paid_out(makers, HALF, now=NOW), 0, "paid out, and what lies there is of an attack"),
    (lambda makers: cast.paid_out(makers, HALF - 5, now=NOW), 5, "paid out in part"),
    (lambda makers: cast.paid_out(makers, HALF + 7, now=NOW), 0, "paid out with a part of the other prize"),
    (lambda makers: taken_back(cast.paid_out(makers, HALF, now=NOW)), HALF, "the payment came back"),
)
def test_only_what_is_left_of_the_award_is_withheld_and_taken(
    then: Callable[[Team], object], left: int, why: str, stake: Stake, makers: Team, rita: User
) -> None:
    (award,) = give(all_met(stake), rita)
    attackers_share(makers)
    then(makers)
    there, attackers = balance(makers), balance(AccountKind.ATTACKERS)
    assert (withholdable(award), forfeitable(award)) == (left, 0), why
    if not left:
        refused("nothing_left", withhold, award, rita)
        return
    withhold(award, rita)
    assert (withholdable(award), forfeitable(award), balance(makers)) == (0, left, there - left)
    forfeit(award, rita)
    assert (balance(AccountKind.DEFENDERS), balance(AccountKind.ATTACKERS)) == (left, attackers), why
    assert (balance(makers), withholdable(award), forfeitable(award)) == (there - left, 0, 0)


def attackers_share(team: Team) -> None:
    """A prize of an attack, which has come to the team's account after the award."""
    other = cast.staked(cast.defense("its prey", cast.team("prey")), at=NOW)
    cast.broken(other.defense, cast.attack(team, days=(NOW - MONDAY) / DAY + 1))
    cast.ended(other, at=NOW + 7 * DAY)
    before = balance(team)
    prizes_settle(now=NOW + 30 * DAY)
    assert balance(team) == before + PRIZE


def test_of_two_winners_of_a_team_one_is_withheld(makers: Team, rita: User) -> None:
    both = cast.batch()
    first, second = (cast.staked(cast.defense(name, makers), of=both) for name in ("first", "second"))
    all_met(second)
    awards = {each.stake: each for each in give(all_met(first), rita)}
    withhold(awards[first], rita)
    assert [withholdable(awards[each]) for each in (first, second)] == [0, HALF // 2]
    forfeit(awards[first], rita)
    assert (prizes_settle(now=NOW), balance(makers), balance(AccountKind.DEFENDERS)) == (0, HALF // 2, HALF // 2 + 1)
    standing = [defense_state_of(each.defense, now=factories.NOW) for each in (first, second)]
    assert standing == [DefenseStanding.PUBLISHED, DefenseStanding.WON]


def winners(rita: User) -> Winners:
    """Three winners of one batch and one award, by the names of their teams; `thirds` was received last."""
    both, stakes = cast.batch(), []
    for days, name in enumerate(("others", "makers", "thirds")):
        entry = cast.defense(
            f"of {name}", Team.objects.filter(name=name).first() or cast.team(name), received=BEFORE + days * DAY
        )
        stakes.append(all_met(cast.staked(entry, of=both)))
    return {each.stake.defense.entry.team.name: each for each in give(stakes[0], rita)}


@pytest.fixture
def three(makers: Team, rita: User) -> Winners:
    return winners(rita)


THIRD = HALF // 3


def team_of(award: Award) -> Team:
    return Team.objects.get(pk=award.stake.defense.entry.team_id)


def loses(award: Award) -> None:
    associated(team_of(award))
    prizes_settle(now=NOW)


def is_back(award: Award) -> None:
    """Its association was declared in error."""
    for each in Association.objects.filter(team=team_of(award)):
        AssociationMistake.objects.create(association=each, reason="Another team.", declared_at=NOW)
    prizes_settle(now=NOW)


def gives_back(award: Award, cents: int) -> None:
    outside, own = ledger_account(AccountKind.OUTSIDE), cast.account_of(team_of(award))
    move(outside, own, cents, rule="R34", why="It gave back what it owes.", causes={}, now=NOW)
    prizes_settle(now=NOW)


def has_forfeited(award: Award, rita: User, *, paid: int = 0) -> None:
    if paid:
        cast.paid_out(team_of(award), paid, now=NOW)
    forfeited(award, rita)


@tables.cases(
    "story has half why",
    (lambda w, r: (has_forfeited(w["makers"], r), loses(w["others"])), {"thirds": 2 * THIRD}, THIRD,
     "who stands takes the lost share, and the half keeps what was forfeited"),
    (lambda w, r: (has_forfeited(w["makers"], r), loses(w["others"]), loses(w["thirds"])), {}, HALF,
     "nobody is left: all of it is in the half"),
    (lambda w, r: (loses(w["others"]), has_forfeited(w["makers"], r)), {"thirds": HALF // 2}, HALF // 2 + 1,
     "what was forfeited had grown before, and stays in the half"),
    (lambda w, r: (loses(w["others"]), has_forfeited(w["makers"], r, paid=20_000)), {"thirds": HALF // 2},
     HALF // 2 + 1 - 20_000, "what it was paid of a grown share is no debt"),
    (lambda w, r: (loses(w["others"]), has_forfeited(w["makers"], r), is_back(w["others"])),
     {"others": THIRD, "thirds": THIRD}, THIRD, "who is back has a third again, of the half"),
    (lambda w, r: (has_forfeited(w["makers"], r, paid=6_000), loses(w["makers"]), gives_back(w["makers"], 6_000)),
     {"thirds": HALF // 2, "others": HALF // 2 + 1}, 0, "it lost as well: the others share all of it"),
    (lambda w, r: (has_forfeited(w["makers"], r), has_forfeited(w["thirds"], r), loses(w["others"])), {}, HALF,
     "two forfeited"),
)  # fmt: skip
def test_who_forfeits_gets_no_share_that_another_loses(
    story: Callable[[Winners, User], object],
    has: dict[str, int],
    half: int,
    why: str,
    three: Winners,
    rita: User,
) -> None:
    story(three, rita)
    assert {name: balance(team_of(each)) for name, each in three.items() if balance(team_of(each))} == has, why
    assert (balance(AccountKind.DEFENDERS), balance(AccountKind.WITHHELD)) == (half, 0), why
    change = services.award_change(three["makers"].decision)
    assert (prizes_settle(now=NOW), dict(change.flows.owed)) == (0, {}), why


def test_who_forfeited_a_part_and_is_back_is_among_those_that_its_entry_names(three: Winners, rita: User) -> None:
    has_forfeited(three["makers"], rita, paid=6_000)
    loses(three["makers"]), gives_back(three["makers"], 6_000)
    is_back(three["makers"])
    given = LedgerEntry.objects.filter(rule="R36", corrects=None).latest("pk")
    assert (given.target, given.cents) == (cast.account_of(team_of(three["makers"])), 6_000)
    assert "of makers" in given.why


class AwardBooks:
    """Three winners, what each was paid and what the one that cheats had when it was disqualified."""

    def __init__(self) -> None:
        cast.deposit(2 * HALF, factories.user(f"o{User.objects.count()}", "organizers"))
        self.rita = factories.user(f"r{User.objects.count()}", "review board")
        self.awards = winners(self.rita)
        self.cheat, self.teams = self.awards["makers"], {name: team_of(each) for name, each in self.awards.items()}
        self.paid, self.had, self.lost = dict.fromkeys(self.awards, 0), dict[int, int](), set[str]()

    def lose(self, name: str) -> None:
        associated(self.teams[name])
        self.lost.add(name)

    def restore(self, name: str) -> None:
        for each in Association.objects.filter(team=self.teams[name]):
            AssociationMistake.objects.create(association=each, reason="Another team.", declared_at=NOW)
        self.lost.discard(name)

    def pay(self, name: str) -> None:
        self.paid[name] += balance(self.teams[name])
        cast.paid_out(self.teams[name], now=NOW)

    def withhold(self, name: str) -> None:
        if withholdable(self.cheat):
            withhold(self.cheat, self.rita)

    def forfeit(self, name: str) -> None:
        if aside := forfeitable(self.cheat):
            kept, left = self.paid[name] + aside, balance(self.teams[name])
            self.had[self.cheat.stake_id] = max(kept, min(self.shares()[self.cheat.stake_id], kept + left))
            forfeit(self.cheat, self.rita)

    def sweep(self, name: str = "") -> None:
        prizes_settle(now=NOW)
        if balance(AccountKind.WITHHELD):
            assert balance(self.teams["makers"]) == 0, "what comes to an award that is withheld is withheld too"

    def shares(self) -> dict[int, int]:
        kept = [each.stake for name, each in self.awards.items() if name not in self.lost]
        return defender_shares(HALF, {each.pk: each.defense.entry.received_at for each in kept}, self.had)

    def check(self) -> None:
        """What each winner has and owes follows from the facts and from what it was paid; the rest is in the half."""
        owed = {each.team.name: each.cents for each in debts()}
        for name, award in self.awards.items():
            has, aside = balance(self.teams[name]), forfeitable(award)
            due = max(self.shares().get(award.stake_id, 0) - forfeited_of_award(award), 0)
            got = has + aside + self.paid[name]
            assert got >= due or balance(AccountKind.DEFENDERS) == 0, "the half pays while it has anything"
            assert got <= due or has == 0, "what is not due is taken"
            assert owed.get(name, 0) == max(got - due - aside, 0)
        assert (prizes_settle(now=NOW), check_ledger_sums().wrong) == (0, ())


def assert_the_award_follows(story: list[str]) -> None:
    books = AwardBooks()
    for step in story:
        what, name = step.split()
        getattr(books, what)(name)
    books.sweep()
    books.check()


STEPS = (
    "lose others, restore others, lose thirds, withhold makers, forfeit makers, "
    "pay makers, pay thirds, sweep 1, sweep 2"
)


@tables.cases(
    "story why",
    ("withhold makers, lose others, sweep 1, forfeit makers, pay thirds, restore others", "it grew while withheld"),
    ("lose others, sweep 1, restore others, withhold makers, forfeit makers, sweep 2, lose thirds", "it had too much"),
)
def test_an_award_follows_the_facts(story: str, why: str) -> None:
    assert_the_award_follows(story.split(", "))


@pytest.mark.long("twenty drawn orders of what three winners lose, are paid and forfeit")
class AnyOrderOfAnAward(TestCase):
    """Winners lose and are restored, are paid and disqualified, in whatever order."""

    @settings(max_examples=20)
    @given(st.permutations(STEPS.split(", ")))
    def test_an_award_follows_the_facts(self, story: list[str]) -> None:
        assert_the_award_follows(story)


@tables.cases(
    "story aside has why",
    (lambda a: (breaks(a[1]), sweep(), withhold_by(a[0]), stands_again(a[1])), HALF // 2 + 1, 2 * THIRD - HALF // 2 - 1,
     "its share fell, and what comes is of the other"),
    (lambda a: (withhold_by(a[0]), breaks(a[2])), HALF // 2 + 1, HALF // 2, "both grow"),
)  # fmt: skip
def test_of_what_two_winners_of_a_team_get_only_what_the_withheld_one_misses_is_withheld(
    story: Callable[[tuple[Award, Award, Award]], object], aside: int, has: int, why: str, makers: Team, rita: User
) -> None:
    story(of_three(makers, rita))
    sweep()
    assert (balance(AccountKind.WITHHELD), balance(makers)) == (aside, has), why


@tables.cases(
    "merged why",
    (False, "its own account"),
    (True, "its team was merged since: what is withheld stays one sum"),
)
def test_what_a_withheld_winner_gets_more_is_withheld_too(
    merged: bool, why: str, two: tuple[Stake, Stake], makers: Team, rita: User
) -> None:
    late, early = two
    all_met(early)
    award, other = sorted(give(all_met(late), rita), key=lambda each: each.stake_id)
    withhold(award, rita)
    if merged:
        Team.objects.filter(pk=makers.pk).update(merged_into=cast.team("whole"), merged_at=NOW)
    loses(other)
    award = Award.objects.get(pk=award.pk)
    assert [(each.award, each.cents) for each in withholdings()] == [(award, HALF)], why
    assert (balance(AccountKind.WITHHELD), payable(final_team(makers), now=NOW + 60 * DAY).balance) == (HALF, 0)
    assert (withholdable(award), forfeitable(award)) == (0, HALF)
    back = LedgerEntry.objects.filter(rule="R38").latest("pk")
    assert (back.cents, back.why) == (HALF // 2 + 1, "Correction: what is withheld of the award for late follows it.")
    forfeit(award, rita)
    assert (withholdings(), balance(AccountKind.DEFENDERS), prizes_settle(now=NOW)) == ([], HALF, 0)


def test_of_two_winners_of_a_team_the_one_that_stands_gets_more(makers: Team, rita: User, board: Client) -> None:
    both = cast.batch()
    first, second = (cast.staked(cast.defense(name, makers), of=both) for name in ("first", "second"))
    third = cast.staked(cast.defense("third", cast.team("thirds")), of=both)
    all_met(first), all_met(second)
    awards = {each.stake: each for each in give(all_met(third), rita)}
    withhold(awards[first], rita)
    forfeit(awards[first], rita)
    loses(awards[third])
    assert (balance(makers), balance(AccountKind.DEFENDERS)) == (2 * THIRD, THIRD), "the other has all of the rest"
    found = read(board, f"/board/awards/{first.pk}/")
    assert "first was withheld for good, and gets nothing of what others lose" in found and "second stands" in found
    found_late(first, cast.team("red"))
    sweep()
    assert (balance(makers), balance(AccountKind.DEFENDERS)) == (HALF, 0), "what it forfeited was no part of the other"


def of_three(makers: Team, rita: User) -> tuple[Award, Award, Award]:
    """Two winners of a team, the first of them received before the other, and one of another team."""
    both, stakes = cast.batch(), []
    for days, (name, team) in enumerate((("first", makers), ("second", makers), ("third", cast.team("thirds")))):
        stakes.append(all_met(cast.staked(cast.defense(name, team, received=BEFORE + days * DAY), of=both)))
    first, second, third = sorted(give(stakes[0], rita), key=lambda each: each.stake_id)
    return first, second, third


def breaks(award: Award) -> None:
    found_late(award.stake, cast.team("red"))


def withhold_by(award: Award) -> None:
    withhold(award, factories.user("by", "review board"))


def stands_again(award: Award) -> None:
    cast.overruled(award.stake.defense.breaks.get().image)


@tables.cases(
    "story has half why",
    ("break second, sweep, forfeit first", (0, HALF // 2), HALF // 2 + 1, "the other had lost before"),
    ("withhold first, break second, forfeit first", (0, HALF // 2), HALF // 2 + 1, "nothing was swept before"),
    ("forfeit first, break second", (0, 2 * THIRD), THIRD, "the other lost after it"),
    ("break second, sweep, forfeit first, restore second", (THIRD, THIRD), THIRD, "the other is back since"),
    ("forfeit first, break third, sweep, restore third", (THIRD, THIRD), THIRD, "what came after it went back"),
)
def test_what_was_forfeited_of_two_winners_of_a_team_is_the_halfs(
    story: str, has: tuple[int, int], half: int, why: str, makers: Team, rita: User
) -> None:
    awards = dict(zip(("first", "second", "third"), of_three(makers, rita), strict=True))
    steps = {"break": breaks, "restore": stands_again, "withhold": lambda award: withhold(award, rita)}
    for step in story.split(", "):
        what, *names = step.split()
        if what == "sweep":
            sweep()
        elif what == "forfeit":
            forfeited(awards["first"], rita) if withholdable(awards["first"]) else forfeit(awards["first"], rita)
        else:
            steps[what](awards[names[0]])
    sweep()
    found = (balance(makers), balance(team_of(awards["third"])), balance(AccountKind.DEFENDERS))
    assert (*has, half) == found, why


def test_an_award_of_a_team_that_was_merged_is_withheld(stake: Stake, makers: Team, rita: User) -> None:
    (award,) = give(all_met(stake), rita)
    Team.objects.filter(pk=makers.pk).update(merged_into=cast.team("whole"), merged_at=NOW)
    award = Award.objects.get(pk=award.pk)
    withhold(award, rita)
    (entry,) = forfeit(award, rita)
    assert (entry.cents, balance(makers), balance(AccountKind.DEFENDERS), prizes_settle(now=NOW)) == (HALF, 0, HALF, 0)


def test_what_is_withheld_of_one_award_is_no_part_of_another(
    stake: Stake, makers: Team, rita: User, olga: User
) -> None:
    second = cast.staked(cast.defense("second", makers), at=MONDAY + DAY)
    (award,) = give(all_met(stake), rita)
    cast.paid_out(makers, HALF, now=NOW)
    cast.deposit(2 * HALF, olga)
    (other,) = give(all_met(second), rita)
    withhold(other, rita)
    assert (withholdable(award), forfeitable(award)) == (0, 0)
    associated(makers)
    assert services.award_change(award.decision).flows.owed == {makers.pk: HALF}, "it was paid out, and is owed whole"
    assert services.award_change(other.decision).flows.owed == {}, "it was not"


def test_who_forfeits_an_award_has_not_won(withheld: Award, stake: Stake, rita: User) -> None:
    assert defense_state_of(stake.defense, now=factories.NOW) is DefenseStanding.WON, "it may be given back"
    forfeit(withheld, rita, NOW + DAY)
    assert defense_state_of(stake.defense, now=factories.NOW) is DefenseStanding.PUBLISHED
    ended = stake_row(Stake.objects.get(pk=stake.pk), NOW + DAY)
    assert ended.end_words == "awarded the prize, which the board took back"
    states = [leaderboard(read_facts(), at).defenses for at in (NOW + DAY / 2, NOW + DAY)]
    told = [{each.name: each.state for each in rows}["net"] for rows in states]
    assert told == [DefenseStanding.WON, DefenseStanding.PUBLISHED]


def test_a_break_found_after_it_makes_no_debt(withheld: Award, stake: Stake, rita: User) -> None:
    forfeit(withheld, rita)
    found_late(stake, cast.team("red"))
    sweep()
    change = services.award_change(withheld.decision)
    assert (change.flows.owed, forfeited_of(withheld.decision)) == (
        {},
        {stake.defense.entry.team_id: HALF},
    )
    assert balance(AccountKind.DEFENDERS) == HALF


def test_what_is_withheld_of_a_lost_award_is_no_debt(withheld: Award, stake: Stake, makers: Team, rita: User) -> None:
    found_late(stake, cast.team("red"))
    sweep()
    assert services.award_change(withheld.decision).flows.owed == {}, "it was not paid out"
    cast.given_back(makers, rita, award=withheld, now=NOW)
    sweep()
    assert (balance(makers), balance(AccountKind.DEFENDERS)) == (0, HALF)


def test_the_board_takes_it_for_good_by_the_page(withheld: Award, board: Client) -> None:
    address, form = f"/board/awards/{withheld.stake_id}/", {"action": "forfeit", "reason": CHEATED}
    shown = read(board, address)
    assert "Withheld for good" in shown and "Withhold it" not in shown, "all of it is withheld"
    assert board.post(address, form | {"reason": ""}).status_code == 400
    done = board.post(address, form | MOVE, follow=True).content.decode()
    assert "A motion to take a prize for good: net. Moved by you, 1 of 2 votes" in done
    assert 'name="forfeit"' not in done and forfeited_of(withheld.decision) == {}
    factories.carried(Case.objects.get(motion="forfeit", state="open"), rosa(), NOW)
    done = read(board, address)
    assert "USD 500.01 of this award were withheld for good" in done and "the defense has not won" in done
    assert "It looked at the private set." in done and "team makers" in done, "its entries are all there"
    assert "taken back since" in read(board, "/board/awards/")


def test_the_board_withholds_it_by_the_page(stake: Stake, makers: Team, rita: User, board: Client) -> None:
    (award,) = give(all_met(stake), rita)
    cast.withheld(makers, 1, rita, now=NOW)
    address, form = f"/board/awards/{stake.pk}/", {"action": "withhold", "reason": CHEATED}
    wrong = board.post(address, form | {"reason": ""})
    assert wrong.status_code == 400 and "USD 500.00 of this award are on the team" in plain(wrong)
    done = board.post(address, form | MOVE, follow=True).content.decode()
    assert "A motion to withhold money: net. Moved by you, 1 of 2 votes" in done and 'name="withhold"' not in done
    assert withholdable(award) == 50_000
    factories.carried(Case.objects.get(motion="withhold", state="open"), rosa(), NOW)
    assert (withholdable(award), board.post(address, form).status_code) == (0, 409)


def test_the_board_gives_a_withheld_award_back_by_the_page(
    withheld: Award, makers: Team, rita: User, board: Client
) -> None:
    share = {"rule": "R35", "why": "A share.", "causes": {}, "now": NOW}
    move(ledger_account(AccountKind.ATTACKERS), cast.account_of(makers), 1, **share)
    cast.withheld(makers, 1, rita, now=NOW)  # another matter
    listed = read(board, "/board/withheld/")
    assert (
        "Team makers, its award for net: USD 500.01" in listed
        and "Team makers: USD 0.01" in listed
        and "its award for" in read(board, "/money/")
    )
    assert "taken back since" not in read(board, "/board/awards/")
    given = {
        "account": Account.objects.get(team=makers).pk,
        "award": withheld.pk,
        "action": "return",
        "reason": CHEATED,
    }
    listed = board.post("/board/withheld/", given | MOVE, follow=True).content.decode()
    assert "A motion about what is returned: team makers, net. Moved by you" in listed
    assert listed.count('value="return"') == 1 and "It is moved to give this back." in listed
    factories.carried(Case.objects.get(motion="return", state="open"), rosa(), NOW)
    assert [(each.award, each.cents) for each in withholdings()] == [(None, 1)]


def test_the_checklist_says_what_is_not_met_and_it_is_refused(stake: Stake, board: Client) -> None:
    valid_and_not_run_again(stake)
    address = f"/board/awards/{stake.pk}/"
    found = read(board, address)
    assert found.count(">met<") == 10 and found.count(">not yet<") == 1
    assert "Run all attacks again" in found and "An award can be decided when every condition is met" in found
    told = {"statement": "Unbroken.", "reason": "Every condition is met."}
    assert board.post(address, told).status_code == 409 and not Award.objects.exists()


def test_the_re_run_is_begun_by_the_page(stake: Stake, rita: User, board: Client) -> None:
    valid_and_not_run_again(stake)
    done = board.post(f"/board/awards/{stake.pk}/", {"action": "rerun"}, follow=True)
    assert "is being prepared" in plain(done) and Rerun.objects.get().asked_by == rita
    assert board.post(f"/board/awards/{stake.pk}/", {"action": "rerun"}).status_code == 409


def test_the_award_by_the_page(stake: Stake, olga: User, signed_in: Any, board: Client) -> None:
    all_met(stake)
    address = f"/board/awards/{stake.pk}/"
    form = {"statement": "Unbroken for 90 days.", "reason": "Every condition is met.", "do": "move"}
    assert "Only members of the review board decide this" in read(signed_in(olga), address)
    assert board.post(address, form | {"statement": ""}).status_code == 400
    moved = board.post(address, form, follow=True).content.decode()
    assert "A motion to award the prize: net. Moved by you, 1 of 2 votes" in moved and 'name="statement"' not in moved
    assert "The award is moved, and is before the board, above." in moved and not Award.objects.exists()


def test_an_award_and_what_a_late_break_makes_of_it_are_told_by_the_pages(
    stake: Stake, rita: User, board: Client
) -> None:
    told = {"statement": "Unbroken <90> days.", "reason": "Every condition is met."}
    factories.carried(award_move(all_met(stake), **told, by=rita, now=NOW), rosa(), NOW)
    public = read(Client(), "/money/")
    assert "Unbroken &lt;90&gt; days." in public and "Every condition is met." in public
    found_late(stake, cast.team("red"))
    assert "A break found late changes this award" in read(board, f"/board/awards/{stake.pk}/")
    sweep()
    found = read(board, f"/board/awards/{stake.pk}/")
    assert "net was broken in week 2027-W01, within its time" in found and "it has not won" in found
    assert "Correction: net lost the award" in found
