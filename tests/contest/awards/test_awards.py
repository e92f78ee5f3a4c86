"""From 90 days unbroken to the award, and what a break found late makes of it (R33, R36-R38)."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, transaction

from contest.awards.conditions import checklist, contenders, own_conditions, ready
from contest.awards.examinations import Share, examined_share, queue_of
from contest.awards.services import award_give, change_of, rerun_begin
from contest.awards.settling import prizes_settle
from contest.board.moves import award_move
from contest.enums import AccountKind, DefenseStanding, StakeEnd
from contest.models import Association, Attack, Award, Break, Examination, LedgerEntry, Member, Stake, Team
from contest.money.due import payable
from contest.money.figures import debts, money_figures
from contest.money.ledger import account, check, move
from contest.stakes.selectors import standing_of, standings, unbroken_until
from labeling.policy import Policy
from scoring.enums import RerunState
from scoring.models import Defense, Prediction, Rerun, Superseded
from tests import factories
from tests.contest.awards.cast import confirm
from tests.contest.money import cast
from tests.contest.money.cast import BEFORE, MONDAY, PRIZE, balance
from tests.factories import mandate
from tests.refusals import refused

pytestmark = pytest.mark.django_db
POLICY = Policy()
OVER = MONDAY + timedelta(hours=90 * 24)
NOW = OVER + timedelta(30)
HALF = 50_001


@pytest.fixture(autouse=True)
def nothing_is_lost(db: None) -> object:
    yield
    assert check().wrong == ()


@pytest.fixture
def makers(olga: User) -> Team:
    factories.policy_version()
    cast.deposit(2 * HALF, olga)
    return cast.team("makers")


@pytest.fixture
def stake(makers: Team) -> Stake:
    return cast.staked(cast.defense("net", makers))


def run_again(stake: Stake, answer: int = 1, *, state: RerunState = RerunState.APPLIED) -> Rerun:
    """A re-run of all its answers begun when its time was over."""
    began = unbroken_until(stake) or OVER
    rerun = Rerun.objects.create(defense=stake.defense, reason="All.", state=state, asked_at=began)
    for old in stake.defense.predictions.filter(rerun=None, superseded=None).order_by("image", "round"):
        if old.round == 1:
            cast.answered(stake.defense, old.image, answer, at=began, rerun=rerun)
        new = Prediction.objects.get(rerun=rerun, image=old.image, round=old.round)
        Superseded.objects.create(prediction=old, by=new, rerun=rerun)
    return rerun


def all_met(stake: Stake) -> Stake:
    run_again(stake)
    return stake


def lines(stake: Stake) -> dict[str, bool]:
    stake = Stake.objects.select_related("defense__entry__team", "paid_by").get(pk=stake.pk)
    return {each.name: each.passed for each in checklist(stake, policy=POLICY, now=NOW)}


def unmet(stake: Stake) -> set[str]:
    return {name for name, passed in lines(stake).items() if not passed}


def give(stake: Stake, by: User) -> list[Award]:
    fresh = Stake.objects.get(pk=stake.pk)
    return award_give(
        stake=fresh, statement="Unbroken.", reason="All is met.", policy=POLICY, by=mandate("award", by, NOW), now=NOW
    )


# The checklist --------------------------------------------------------------------------------------------------------


def test_every_condition_is_met_and_its_fourteen_weeks_are_looked_over_at_once(
    stake: Stake, django_assert_max_num_queries: Any
) -> None:
    all_met(stake)
    with django_assert_max_num_queries(30):
        assert unmet(stake) == set()


def associated(stake: Stake) -> None:
    team = stake.defense.entry.team
    Association.objects.create(team=team, reason="Works here.", since=BEFORE, declared_at=BEFORE)


def valid_and_not_run_again(stake: Stake) -> None:
    sent = cast.attack(cast.team("red"))
    cast.ruled(sent.image)
    cast.caught_up(stake.defense)


def mistaken_in_the_rerun(stake: Stake) -> None:
    Rerun.objects.all().update(state=RerunState.CANCELLED)
    valid_and_not_run_again(stake)
    run_again(stake, answer=0)


def begun_too_early(stake: Stake) -> None:
    valid_and_not_run_again(stake)
    run_again(stake)
    Rerun.objects.update(asked_at=OVER - timedelta(microseconds=1))


def closed_source(stake: Stake) -> None:
    stake.defense.entry.opened_at = None
    stake.defense.entry.save()


def opened_later(stake: Stake) -> None:
    Stake.objects.filter(pk=stake.pk).update(clock_from=MONDAY + timedelta(40))


def rejected(stake: Stake) -> None:
    cast.ruled(cast.attack(cast.team("red")).image, "")


def rejected_and_run_again(stake: Stake) -> None:
    rejected(stake)
    cast.ruled(cast.attack(cast.team("blue"), days=2).image)
    cast.caught_up(stake.defense)
    run_again(stake)


def answered_again(stake: Stake) -> None:
    valid_and_not_run_again(stake)
    run_again(stake, state=RerunState.RUNNING)


def staked_by_its_team(stake: Stake) -> None:
    Stake.objects.filter(pk=stake.pk).update(kind="team", paid_by=stake.defense.entry.team, batch=None)
    emptied(stake)


def unruled(stake: Stake) -> None:
    cast.attack(cast.team("red"), days=89.9)


def just_ruled(stake: Stake) -> None:
    sent = cast.attack(cast.team("red"))
    cast.ruled(sent.image, "", at=NOW - timedelta(6))
    confirm(sent.image, stake.defense, factories.user("bea", "review board"), NOW)


def broken(stake: Stake) -> None:
    Rerun.objects.update(state=RerunState.CANCELLED)
    cast.broken(stake.defense, cast.attack(cast.team("red")))
    run_again(stake)


def emptied(stake: Stake) -> None:
    half = account(AccountKind.DEFENDERS)
    move(half, account(AccountKind.POOL), HALF, rule="R34", why="A test.", causes={}, now=NOW)


def another_before(stake: Stake) -> None:
    cast.staked(cast.defense("older", cast.team("older")), at=MONDAY - timedelta(1))


FIGURES: list[tuple[Callable[[Stake], None], dict[str, str], str]] = [
    (rejected_and_run_again, {
        "unbroken": "Its time was over on Sun 14 Feb 2027 09:00:00 UTC.",
        "weeks": "14 of 14.",
        "appeals": "14 of 14.",
        "run_again": "1 of 1 pictures run again, 0 of them now taken for the other class.",
        "examined": "0 of 1 rejected pictures examined and confirmed as invalid.",
        "half": "USD 500.01 in the defenders' half."}, "a valid and a rejected picture"),
    (lambda stake: unruled(all_met(stake)), {
        "appeals": "13 of 14. When the others close is known once they are settled.",
        "examined": "No picture of its time was rejected."}, "of appeals only what is known"),
    (answered_again, {"run_again": "is finished, not applied: an organizer applies it."}, "a re-run that is answered"),
    (staked_by_its_team, {"half": "USD 0.00 in the defenders' half. The captain of its team can ask the board"},
     "nothing is left to win, and the board ends no stake that a team paid"),
]  # fmt: skip


@pytest.mark.parametrize(("story", "words", "why"), FIGURES, ids=[row[2] for row in FIGURES])
def test_its_lines_say_their_figures(
    story: Callable[[Stake], None], words: dict[str, str], why: str, stake: Stake
) -> None:
    story(stake)
    fresh = Stake.objects.select_related("defense__entry__team", "paid_by").get(pk=stake.pk)
    figures = {each.name: each.figures for each in checklist(fresh, policy=POLICY, now=NOW)}
    assert {name: text for name, text in words.items() if text not in figures[name]} == {}, why


MISSING: list[tuple[Callable[[Stake], None], set[str], str]] = [
    (closed_source, {"unbroken", "source", "weeks", "appeals"}, "closed source cannot win (R33)"),
    (opened_later, {"unbroken", "weeks", "appeals"}, "opened later: new 90 days (R33)"),
    (associated, {"team"}, "associated with the contest (R27)"),
    (unruled, {"weeks", "appeals"}, "a week of its time is not settled"),
    (just_ruled, {"appeals"}, "settled, and its appeals are open"),
    (begun_too_early, {"run_again"}, "run again before its time was over"),
    (valid_and_not_run_again, {"run_again"}, "a valid attack was not run again"),
    (mistaken_in_the_rerun, {"run_again"}, "the other class in the re-run"),
    (rejected, {"examined"}, "a rejected picture that nobody examined"),
    (broken, {"no_break"}, "a break that holds, and the re-run is right now"),
    (another_before, {"first"}, "another is unbroken for longer"),
    (emptied, {"half"}, "nothing to give"),
]


@pytest.mark.parametrize(("story", "lines_unmet", "why"), MISSING, ids=[row[2] for row in MISSING])
def test_what_keeps_an_award_back(
    story: Callable[[Stake], None], lines_unmet: set[str], why: str, stake: Stake, rita: User
) -> None:
    all_met(stake)
    story(stake)
    assert unmet(stake) == lines_unmet, why
    refused("not_yet", give, stake, rita)
    assert not Award.objects.exists() and balance(AccountKind.DEFENDERS) == (0 if story is emptied else HALF)


@pytest.mark.both("a trigger refuses it")
def test_a_member_of_the_board_never_wins(stake: Stake, makers: Team) -> None:
    """The database does not let anybody write such a row."""
    all_met(stake)
    Member.objects.create(team=makers, user=factories.user("both"))
    assert lines(stake)["team"]
    with pytest.raises(DatabaseError), transaction.atomic():
        Member.objects.bulk_create([Member(team=makers, user=factories.user("rob", "review board"))])


def test_at_the_very_end_of_the_90_days_its_time_is_over(stake: Stake) -> None:
    assert contenders(now=OVER) == [stake]
    assert contenders(now=OVER - timedelta(microseconds=1)) == []


# The decision ---------------------------------------------------------------------------------------------------------


def test_the_first_unbroken_defense_wins_the_defenders_half(stake: Stake, makers: Team, rita: User) -> None:
    (award,) = give(all_met(stake), rita)
    stake.refresh_from_db()
    assert (award.cents, award.statement, stake.end) == (HALF, "Unbroken.", StakeEnd.WON)
    assert all(each["passed"] for each in award.conditions) and len(award.conditions) == 11
    assert (balance(makers), balance(AccountKind.DEFENDERS)) == (HALF, 0)
    assert balance(AccountKind.ATTACKERS) == HALF, "the board's stake returns"
    entry = LedgerEntry.objects.get(source__kind="defenders")
    assert (entry.rule, entry.causes, entry.decision) == ("R36", {"award": [award.pk]}, award.decision)
    assert award.decision.subject == {"stake": [stake.pk], "defense": [stake.defense_id]}


def test_only_the_board_awards_and_never_without_words_or_twice(stake: Stake, olga: User, rita: User) -> None:
    all_met(stake)
    refused("not_on_board", award_move, stake, statement="Unbroken.", reason="Every line is met.", by=olga, now=NOW)
    for statement, reason in (("", "Why."), ("Unbroken.", " ")):
        told = {"statement": statement, "reason": reason, "policy": POLICY, "by": mandate("award", rita, NOW)}
        refused("invalid", award_give, stake=stake, now=NOW, **told)
    assert not Award.objects.exists()
    give(stake, rita)
    refused("stake_over", give, stake, rita)


@pytest.fixture
def two(makers: Team) -> tuple[Stake, Stake]:
    """Two defenses of one batch, the second handed in earlier."""
    both = cast.batch()
    late = cast.staked(cast.defense("late", makers, received=BEFORE + timedelta(1)), of=both)
    early = cast.staked(cast.defense("early", cast.team("others")), of=both)
    return late, early


def test_two_of_one_batch_share_odd_cents_to_the_first_received(two: tuple[Stake, Stake], rita: User) -> None:
    late, early = two
    cast.ruled(cast.attack(cast.team("red")).image)
    for each in two:
        cast.caught_up(each.defense)
    all_met(late)
    assert unmet(late) == {"batch"}, "the other one is not ready"
    all_met(early)
    given = {award.stake: award.cents for award in give(late, rita)}
    assert given == {late: HALF // 2, early: HALF // 2 + 1}
    assert balance(AccountKind.DEFENDERS) == 0 and balance(AccountKind.ATTACKERS) == HALF
    assert set(Stake.objects.values_list("end", flat=True)) == {"won"}


def test_one_of_the_batch_that_is_broken_does_not_share(two: tuple[Stake, Stake], makers: Team, rita: User) -> None:
    late, early = two
    cast.broken(early.defense, cast.attack(cast.team("red")))
    cast.ended(early)
    cast.caught_up(late.defense)
    (award,) = give(all_met(late), rita)
    assert (award.cents, balance(makers)) == (HALF, HALF)


def test_stakes_of_other_batches_go_on(stake: Stake, rita: User) -> None:
    other = cast.staked(cast.defense("other", cast.team("others")), at=MONDAY + timedelta(1))
    give(all_met(stake), rita)
    other.refresh_from_db()
    assert (other.end, balance(other)) == ("", PRIZE)
    run_again(other)
    assert unmet(other) == {"half"}


# Found late -----------------------------------------------------------------------------------------------------------


def found_late(stake: Stake, by: Team, days: float = 50) -> None:
    """A picture of its time that was rejected, and is ruled valid after the award."""
    sent = cast.attack(by, days=days)
    cast.ruled(sent.image, "")
    cast.overruled(sent.image, at=NOW + timedelta(1), label="bird")
    cast.broken(stake.defense, sent)


def test_what_was_won_waits_while_a_late_break_may_still_take_it(stake: Stake, makers: Team, rita: User) -> None:
    red, blue = cast.team("red"), cast.team("blue")
    cast.attack(red, days=90.1)
    give(all_met(stake), rita)
    assert payable(makers, now=NOW).due == balance(makers) == HALF, "what came too late holds back nothing"
    undecided = cast.attack(blue, days=50.1)
    assert payable(makers, now=NOW).due == 0
    found_late(stake, red)
    assert sweep() == 0, "a verdict of that week is missing"
    found = payable(makers, now=NOW + timedelta(2))
    assert (found.due, found.waiting, found.weeks) == (0, HALF, (undecided.week,))


def sweep() -> int:
    later = NOW + timedelta(2)
    return prizes_settle(now=later)


def test_a_break_found_late_takes_the_award_back_and_pays_the_attackers(stake: Stake, makers: Team, rita: User) -> None:
    (award,) = give(all_met(stake), rita)
    red = cast.team("red")
    found_late(stake, red)
    change = change_of(award.decision)
    assert ([row.stake for row in change.lost], change.kept) == ([stake], ())
    assert sweep() == 2 and sweep() == 0
    assert (balance(makers), balance(red)) == (0, PRIZE)
    assert (balance(AccountKind.DEFENDERS), balance(AccountKind.ATTACKERS)) == (HALF, HALF - PRIZE)
    back = LedgerEntry.objects.get(corrects__source__kind="defenders")
    assert (back.rule, back.cents, back.decision) == ("R37", HALF, award.decision)
    assert standing_of(stake.defense, now=factories.NOW) is DefenseStanding.BROKEN
    untold = standings([stake.defense], breaks=Break.objects.none(), now=factories.NOW)
    assert untold[stake.defense_id] is DefenseStanding.WON, "the week of the break is not released"


def test_a_break_sent_when_its_time_was_over_takes_no_award(stake: Stake, makers: Team, rita: User) -> None:
    give(all_met(stake), rita)
    cast.broken(stake.defense, cast.attack(cast.team("red"), days=90))
    assert sweep() == 0 and balance(makers) == HALF
    assert standing_of(stake.defense, now=factories.NOW) is DefenseStanding.WON


def test_what_was_paid_out_of_a_lost_award_is_owed_and_told_with_the_break(
    stake: Stake, makers: Team, rita: User
) -> None:
    (award,) = give(all_met(stake), rita)
    pay(makers, HALF - 5)
    assert list(debts()) == []
    found_late(stake, cast.team("red"))
    sweep()
    assert (balance(makers), balance(AccountKind.DEFENDERS)) == (0, 5)
    assert change_of(award.decision).flows.owed == {makers.pk: HALF - 5}
    assert [(each.team, each.stake, each.cents) for each in debts()] == [(makers, stake, HALF - 5)]
    assert money_figures(told_at=NOW).debts == (), "the late break is of a week that is not released"
    cast.released(*{each.week for each in Attack.objects.all()})
    assert money_figures(told_at=NOW).debts == tuple(debts())


def pay(team: Team, cents: int) -> LedgerEntry:
    own, outside = account(AccountKind.TEAM, team=team), account(AccountKind.OUTSIDE)
    return move(own, outside, cents, rule="R34", why="Paid.", causes={}, now=NOW)


def broken_late(early: Stake) -> None:
    found_late(early, cast.team("red"))


@pytest.mark.parametrize("lose", [broken_late, associated], ids=["broken (R37)", "not paid (R27)"])
def test_the_other_of_the_batch_gets_all_of_it(
    lose: Callable[[Stake], None], two: tuple[Stake, Stake], makers: Team, rita: User
) -> None:
    late, early = two
    all_met(early)
    give(all_met(late), rita)
    lose(early)
    sweep()
    assert (balance(makers), balance(Team.objects.get(name="others"))) == (HALF, 0)


def test_a_self_staker_gets_the_stake_back_and_loses_it_as_well(makers: Team, rita: User) -> None:
    stake = cast.staked(cast.defense("own", makers), by=makers)
    give(all_met(stake), rita)
    assert balance(makers) == HALF + PRIZE
    red = cast.team("red")
    found_late(stake, red)
    sweep()
    assert (balance(makers), balance(red), balance(AccountKind.DEFENDERS)) == (0, PRIZE, HALF)


# The pictures and the re-run ------------------------------------------------------------------------------------------


def test_every_rejected_picture_of_its_time_is_examined_whatever_it_was_aimed_at(stake: Stake, rita: User) -> None:
    red = cast.team("red")
    inside = [cast.attack(red, days=days) for days in (-1.5, 10, 89.99)]
    for sent in (*inside, cast.attack(red, days=-3), cast.attack(red, days=90)):
        cast.ruled(sent.image, "")
    cast.ruled(cast.attack(red, days=11).image)
    taken_back = cast.attack(red, days=12, withdrawn_at=MONDAY + timedelta(12.5))
    cast.ruled(taken_back.image, "")
    assert set(queue_of(stake.defense, rita, now=NOW).mine) == {each.image for each in inside}
    for sent in inside:
        confirm(sent.image, stake.defense, rita, NOW)
        confirm(sent.image, stake.defense, rita, NOW)
    assert examined_share(stake.defense, now=NOW) == Share(3, 3) and Examination.objects.count() == 3


def test_who_confirms_is_on_the_board_and_what_is_rejected(stake: Stake, olga: User, rita: User) -> None:
    sent = cast.attack(cast.team("red"))
    cast.ruled(sent.image)
    refused("not_on_board", confirm, sent.image, stake.defense, olga, NOW)
    refused("not_rejected", confirm, sent.image, stake.defense, rita, NOW)


@pytest.mark.both("a trigger refuses it")
def test_an_examination_is_never_changed(stake: Stake, rita: User) -> None:
    rejected(stake)
    made = confirm(queue_of(stake.defense, rita, now=NOW).mine[0], stake.defense, rita, NOW)
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        Examination.objects.filter(pk=made.pk).update(at=MONDAY)
    rita.delete()
    made.refresh_from_db()
    assert made.confirmed_by is None


def test_the_re_run_of_all_attacks_begins_when_its_time_is_over(stake: Stake, olga: User) -> None:
    valid_and_not_run_again(stake)
    refused("not_due", rerun_begin, stake=stake, by=olga, now=OVER - timedelta(1))
    rerun = rerun_begin(stake=stake, by=olga, now=NOW)
    assert (rerun.defense, rerun.state, rerun.asked_at) == (stake.defense, RerunState.PREPARING, NOW)
    assert sum(kind[-1] for kind in rerun.kinds) == 3


def test_without_an_owner_nobody_wins(makers: Team) -> None:
    stake = cast.staked(Defense.objects.create(name="x", digest="sha256:x", created_at=BEFORE, published_at=BEFORE))
    assert contenders(now=NOW) == [] and not ready(own_conditions(stake, policy=POLICY, now=NOW))
