"""From 90 days unbroken to the award, and what is found late makes of it (R22, R27, R33, R36-R38)."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, transaction

from contest.board.examinations import queue_of
from contest.board.motions import award_move
from contest.core.enums import AccountKind, DefenseStanding, StakeEnd
from contest.core.models import Attack, Award, Break, Member, Stake, Team
from contest.defenses.models import DefenseEntry
from contest.defenses.selectors import defense_state_of, defense_states, unbroken_until
from contest.ledger import services as ledger
from contest.ledger.models import LedgerEntry
from contest.payments import payable
from contest.payments.statements import debts, money_overview
from contest.prizes.awards import award_change, award_give, rerun_begin
from contest.prizes.checklist import award_checklist, contenders, is_ready_for_award, never_reason, own_conditions
from contest.prizes.examined_pictures import ExaminedShare, examined_share
from contest.prizes.models import Examination
from contest.prizes.sweeps import prizes_settle
from contest.record.leaderboard.fact_reader import read_facts
from contest.record.leaderboard.tables import tables as leaderboard
from contest.teams.models import Association, TeamMerge
from contest.teams.selectors import is_paid_throughout
from labeling.models import Image
from policy.numbers import Policy
from scoring.enums import RerunState
from scoring.models import Defense, Prediction, Rerun, SupersededPrediction
from tests import factories, tables
from tests.contest.ledger import cast
from tests.contest.ledger.cast import BEFORE, MONDAY, PRIZE, balance
from tests.contest.prizes.cast import confirm
from tests.contest.prizes.conftest import HALF
from tests.refusals import refused

pytestmark = pytest.mark.django_db
POLICY = Policy()
OVER = MONDAY + timedelta(hours=90 * 24)
NOW = OVER + timedelta(30)


@pytest.fixture(autouse=True)
def nothing_is_lost(db: None) -> object:
    yield
    assert ledger.check_ledger_sums().wrong == ()


def run_again(stake: Stake, answer: int = 1, *, state: RerunState = RerunState.APPLIED) -> Rerun:
    """A re-run of all its answers begun when its time was over."""
    began = unbroken_until(stake) or OVER
    rerun = Rerun.objects.create(defense=stake.defense, reason="All.", state=state, asked_at=began)
    for old in stake.defense.predictions.filter(rerun=None, superseded=None).order_by("image", "round"):
        if old.round == 1:
            cast.answered(stake.defense, old.image, answer, at=began, rerun=rerun)
        new = Prediction.objects.get(rerun=rerun, image=old.image, round=old.round)
        SupersededPrediction.objects.create(prediction=old, by=new, rerun=rerun)
    return rerun


def all_met(stake: Stake) -> Stake:
    run_again(stake)
    return stake


def lines(stake: Stake) -> dict[str, bool]:
    stake = Stake.objects.select_related("defense__entry__team", "paid_by").get(pk=stake.pk)
    return {each.name: each.passed for each in award_checklist(stake, policy=POLICY, now=NOW)}


def unmet(stake: Stake) -> set[str]:
    return {name for name, passed in lines(stake).items() if not passed}


def give(stake: Stake, by: User) -> list[Award]:
    fresh = Stake.objects.get(pk=stake.pk)
    return award_give(
        stake=fresh,
        statement="Unbroken.",
        reason="All is met.",
        policy=POLICY,
        by=factories.mandate("award", by, NOW),
        now=NOW,
    )


# The checklist --------------------------------------------------------------------------------------------------------


def test_every_condition_is_met_and_its_fourteen_weeks_are_looked_over_at_once(
    stake: Stake, django_assert_max_num_queries: Any
) -> None:
    all_met(stake)
    with django_assert_max_num_queries(30):
        assert unmet(stake) == set()


def associated(
    team: Team, since: datetime = BEFORE, until: datetime | None = None, declared: datetime = NOW
) -> Association:
    return Association.objects.create(team=team, reason="Works here.", since=since, until=until, declared_at=declared)


def disqualified(stake: Stake) -> None:
    associated(stake.defense.entry.team, declared=BEFORE)


def valid_and_not_run_again(stake: Stake, by: str = "red") -> None:
    cast.ruled(cast.attack(cast.team(by)).image)
    cast.caught_up(stake.defense)


def cancelled(stake: Stake) -> None:
    Rerun.objects.update(state=RerunState.CANCELLED)


def rejected(stake: Stake, *, at: datetime | None = None) -> Image:
    return cast.ruled(cast.attack(cast.team("red")).image, "", at=at).image


def answered_again(stake: Stake) -> None:
    valid_and_not_run_again(stake)
    run_again(stake, state=RerunState.RUNNING)


def unruled(stake: Stake) -> None:
    cast.attack(cast.team("red"), days=89.9)


def emptied(stake: Stake) -> None:
    half, pool = (ledger.ledger_account(kind) for kind in (AccountKind.DEFENDERS, AccountKind.POOL))
    ledger.move(half, pool, HALF, rule="R34", why="A test.", causes={}, now=NOW)


@tables.cases(
    "story words why",
    (lambda s: (rejected(s), valid_and_not_run_again(s, "blue"), run_again(s)), {
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
    (lambda s: (Stake.objects.update(kind="team", paid_by=s.defense.entry.team, batch=None), emptied(s)),
     {"half": "USD 0.00 in the defenders' half. The captain of its team can ask the board"},
     "nothing is left to win, and the board ends no stake that a team paid"),
)  # fmt: skip
def test_its_lines_say_their_figures(
    story: Callable[[Stake], object], words: dict[str, str], why: str, stake: Stake
) -> None:
    story(stake)
    fresh = Stake.objects.select_related("defense__entry__team", "paid_by").get(pk=stake.pk)
    figures = {each.name: each.figures for each in award_checklist(fresh, policy=POLICY, now=NOW)}
    assert {name: text for name, text in words.items() if text not in figures[name]} == {}, why


@tables.cases(
    "story lines_unmet why",
    (
        lambda s: DefenseEntry.objects.filter(defense=s.defense).update(opened_at=None),
        {"unbroken", "source", "weeks", "appeals"},
        "closed source cannot win (R33)",
    ),
    (
        lambda s: Stake.objects.filter(pk=s.pk).update(clock_from=MONDAY + timedelta(40)),
        {"unbroken", "weeks", "appeals"},
        "opened later: new 90 days (R33)",
    ),
    (disqualified, {"team"}, "associated with the contest (R27)"),
    (unruled, {"weeks", "appeals"}, "a week of its time is not settled"),
    (
        lambda s: confirm(rejected(s, at=NOW - timedelta(6)), s.defense, factories.user("bea", "review board"), NOW),
        {"appeals"},
        "settled, and its appeals are open",
    ),
    (
        lambda s: (
            valid_and_not_run_again(s),
            run_again(s),
            Rerun.objects.update(asked_at=OVER - timedelta(microseconds=1)),
        ),
        {"run_again"},
        "run again before its time was over",
    ),
    (valid_and_not_run_again, {"run_again"}, "a valid attack was not run again"),
    (
        lambda s: (cancelled(s), valid_and_not_run_again(s), run_again(s, answer=0)),
        {"run_again"},
        "the other class in the re-run",
    ),
    (rejected, {"examined"}, "a rejected picture that nobody examined"),
    (
        lambda s: (cancelled(s), cast.broken(s.defense, cast.attack(cast.team("red"))), run_again(s)),
        {"no_break"},
        "a break that holds, and the re-run is right now",
    ),
    (
        lambda s: cast.staked(cast.defense("older", cast.team("older")), at=MONDAY - timedelta(1)),
        {"first"},
        "another is unbroken for longer",
    ),
    (emptied, {"half"}, "nothing to give"),
)
def test_what_keeps_an_award_back(
    story: Callable[[Stake], object], lines_unmet: set[str], why: str, stake: Stake, rita: User
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
    assert (contenders(now=OVER), contenders(now=OVER - timedelta(microseconds=1))) == ([stake], [])


# The decision ---------------------------------------------------------------------------------------------------------


def test_the_first_unbroken_defense_wins_the_defenders_half(stake: Stake, makers: Team, rita: User) -> None:
    (award,) = give(all_met(stake), rita)
    stake.refresh_from_db()
    assert (award.cents, award.statement, stake.end) == (HALF, "Unbroken.", StakeEnd.WON)
    assert all(each["passed"] for each in award.conditions) and len(award.conditions) == 11
    accounts = (makers, AccountKind.DEFENDERS, AccountKind.ATTACKERS)
    assert [balance(each) for each in accounts] == [HALF, 0, HALF], "the board's stake returns"
    entry = LedgerEntry.objects.get(source__kind="defenders")
    assert (entry.rule, entry.causes, entry.decision) == ("R36", {"award": [award.pk]}, award.decision)
    assert award.decision.subject == {"stake": [stake.pk], "defense": [stake.defense_id]}


def test_only_the_board_awards_and_never_without_words_or_twice(stake: Stake, olga: User, rita: User) -> None:
    all_met(stake)
    refused("not_on_board", award_move, stake, statement="Unbroken.", reason="Every line is met.", by=olga, now=NOW)
    for statement, reason in (("", "Why."), ("Unbroken.", " ")):
        told = {"statement": statement, "reason": reason, "policy": POLICY, "by": factories.mandate("award", rita, NOW)}
        refused("invalid", award_give, stake=stake, now=NOW, **told)
    assert not Award.objects.exists()
    give(stake, rita)
    refused("stake_over", give, stake, rita)


def test_two_of_one_batch_share_odd_cents_to_the_first_received(two: tuple[Stake, Stake], rita: User) -> None:
    late, early = two
    cast.ruled(cast.attack(cast.team("red")).image)
    cast.all_caught_up()
    all_met(late)
    assert unmet(late) == {"batch"}, "the other one is not ready"
    all_met(early)
    assert {award.stake: award.cents for award in give(late, rita)} == {late: HALF // 2, early: HALF // 2 + 1}
    assert balance(AccountKind.DEFENDERS) == 0 and balance(AccountKind.ATTACKERS) == HALF
    assert set(Stake.objects.values_list("end", flat=True)) == {"won"}


def test_one_of_the_batch_that_is_broken_does_not_share(two: tuple[Stake, Stake], makers: Team, rita: User) -> None:
    late, early = two
    cast.broken(early.defense, cast.attack(cast.team("red")))
    cast.ended(early)
    cast.caught_up(late.defense)
    (award,) = give(all_met(late), rita)
    assert (award.cents, balance(makers)) == (HALF, HALF)


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
    assert payable.payable(makers, now=NOW).due == balance(makers) == HALF, "what came too late holds back nothing"
    undecided = cast.attack(blue, days=50.1)
    assert payable.payable(makers, now=NOW).due == 0
    found_late(stake, red)
    assert sweep() == 0, "a verdict of that week is missing"
    found = payable.payable(makers, now=NOW + timedelta(2))
    assert (found.due, found.waiting, found.weeks) == (0, HALF, (undecided.week,))


def sweep() -> int:
    return prizes_settle(now=(NOW + timedelta(2)))


def test_a_break_found_late_takes_the_award_back_and_pays_the_attackers(stake: Stake, makers: Team, rita: User) -> None:
    (award,) = give(all_met(stake), rita)
    red = cast.team("red")
    found_late(stake, red)
    change = award_change(award.decision)
    assert ([row.stake for row in change.lost], change.kept) == ([stake], ()) and sweep() == 2 and sweep() == 0
    accounts = (makers, red, AccountKind.DEFENDERS, AccountKind.ATTACKERS)
    assert [balance(each) for each in accounts] == [0, PRIZE, HALF, HALF - PRIZE]
    back = LedgerEntry.objects.get(corrects__source__kind="defenders")
    assert (back.rule, back.cents, back.decision) == ("R37", HALF, award.decision)
    assert defense_state_of(stake.defense, now=factories.NOW) is DefenseStanding.BROKEN
    untold = defense_states([stake.defense], breaks=Break.objects.none(), now=factories.NOW)
    assert untold[stake.defense_id] is DefenseStanding.WON, "the week of the break is not released"


def test_a_break_sent_when_its_time_was_over_takes_no_award(stake: Stake, makers: Team, rita: User) -> None:
    give(all_met(stake), rita)
    cast.broken(stake.defense, cast.attack(cast.team("red"), days=90))
    assert sweep() == 0 and balance(makers) == HALF
    assert defense_state_of(stake.defense, now=factories.NOW) is DefenseStanding.WON


def test_what_was_paid_out_of_a_lost_award_is_owed_and_told_with_the_break(
    stake: Stake, makers: Team, rita: User
) -> None:
    (award,) = give(all_met(stake), rita)
    cast.paid_out(makers, HALF - 5, now=NOW)
    assert list(debts()) == []
    found_late(stake, cast.team("red"))
    sweep()
    assert (balance(makers), balance(AccountKind.DEFENDERS)) == (0, 5)
    assert award_change(award.decision).flows.owed == {makers.pk: HALF - 5}
    assert [(each.team, each.stake, each.cents) for each in debts()] == [(makers, stake, HALF - 5)]
    assert money_overview(told_at=NOW).debts == (), "the late break is of a week that is not released"
    cast.released(*{each.week for each in Attack.objects.all()})
    assert money_overview(told_at=NOW).debts == tuple(debts())


def test_a_self_staker_that_was_paid_both_owes_both_by_the_public_page(makers: Team, rita: User) -> None:
    stake = cast.staked(cast.defense("own", makers), by=makers)
    give(all_met(stake), rita)
    cast.paid_out(makers, now=NOW)
    found_late(stake, cast.team("red"))
    sweep()
    assert sorted(each.cents for each in debts()) == [PRIZE, HALF]
    assert money_overview(told_at=NOW).debts == (), "the late break is of a week that is not released"
    cast.released(*{each.week for each in Attack.objects.all()})
    owed = [(each.team, each.stake, each.cents) for each in money_overview(told_at=NOW).debts]
    assert owed == [(makers, stake, PRIZE + HALF)]


@pytest.mark.parametrize(
    "lose", [lambda early: found_late(early, cast.team("red")), disqualified], ids=["broken (R37)", "not paid (R27)"]
)
def test_the_other_of_the_batch_gets_all_of_it(
    lose: Callable[[Stake], object], two: tuple[Stake, Stake], makers: Team, rita: User
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
    cast.ruled(cast.attack(red, days=12, withdrawn_at=MONDAY + timedelta(12.5)).image, "")
    assert set(queue_of(stake.defense, rita, now=NOW).mine) == {each.image for each in inside}
    for sent in inside:
        confirm(sent.image, stake.defense, rita, NOW)
        confirm(sent.image, stake.defense, rita, NOW)
    assert examined_share(stake.defense, now=NOW) == ExaminedShare(3, 3) and Examination.objects.count() == 3


def test_who_confirms_is_on_the_board_and_what_is_rejected(stake: Stake, olga: User, rita: User) -> None:
    image = cast.ruled(cast.attack(cast.team("red")).image).image
    refused("not_on_board", confirm, image, stake.defense, olga, NOW)
    refused("not_rejected", confirm, image, stake.defense, rita, NOW)


@pytest.mark.both("a trigger refuses it")
def test_an_examination_is_never_changed(stake: Stake, rita: User) -> None:
    rejected(stake)
    made = confirm(queue_of(stake.defense, rita, now=NOW).mine[0], stake.defense, rita, NOW)
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        Examination.objects.filter(pk=made.pk).update(at=MONDAY)
    rita.delete()
    assert Examination.objects.get(pk=made.pk).confirmed_by is None


def test_the_re_run_of_all_attacks_begins_when_its_time_is_over(stake: Stake, olga: User) -> None:
    valid_and_not_run_again(stake)
    refused("not_due", rerun_begin, stake=stake, by=olga, now=OVER - timedelta(1))
    rerun = rerun_begin(stake=stake, by=olga, now=NOW)
    assert (rerun.defense, rerun.state, rerun.asked_at) == (stake.defense, RerunState.PREPARING, NOW)
    assert sum(kind[-1] for kind in rerun.kinds) == 3


def test_without_an_owner_nobody_wins(makers: Team) -> None:
    stake = cast.staked(Defense.objects.create(name="x", digest="sha256:x", created_at=BEFORE, published_at=BEFORE))
    assert contenders(now=NOW) == [] and not is_ready_for_award(own_conditions(stake, policy=POLICY, now=NOW))


DAY = timedelta(1)


@pytest.mark.parametrize(
    ("since", "until", "paid", "why"),
    [
        (MONDAY + DAY, MONDAY + 2 * DAY, False, "in the middle of its time"),
        (BEFORE, MONDAY, True, "over when its clock began: the end is not in it"),
        (BEFORE, MONDAY + timedelta(microseconds=1), False, "over just after its clock began"),
        (NOW, None, False, "from the award on"),
        (NOW + timedelta(microseconds=1), None, True, "after the award"),
    ],
)
def test_an_association_anywhere_in_its_time_makes_it_unpaid(
    since: datetime, until: datetime | None, paid: bool, why: str, stake: Stake, makers: Team
) -> None:
    all_met(stake)
    associated(makers, since, until, BEFORE)
    assert lines(stake)["team"] is paid, why
    assert contenders(now=NOW) == ([stake] if paid else []) and bool(never_reason(stake, now=NOW)) is not paid


def test_of_a_merged_team_counts_what_it_was_part_of_at_the_time(makers: Team) -> None:
    other = cast.team("other")
    Team.objects.filter(pk=other.pk).update(merged_into=makers, merged_at=MONDAY + 10 * DAY)
    associated(other, MONDAY + DAY, MONDAY + 2 * DAY)
    assert is_paid_throughout(makers, MONDAY, NOW), "it was not part of them yet"
    assert not is_paid_throughout(Team.objects.get(pk=other.pk), MONDAY, NOW)
    associated(other, BEFORE)
    assert not is_paid_throughout(makers, MONDAY, NOW), "from the merge on it is"
    assert is_paid_throughout(makers, MONDAY, MONDAY + 9 * DAY)


def test_one_declared_after_the_award_takes_it_back(stake: Stake, makers: Team, rita: User) -> None:
    (award,) = give(all_met(stake), rita)
    associated(makers, NOW + DAY, declared=NOW + DAY)
    assert prizes_settle(now=NOW + DAY) == 0 and balance(makers) == HALF, "one from after the award changes nothing"
    made, change = associated(makers, BEFORE, declared=NOW + DAY), award_change(award.decision)
    assert ([row.stake for row in change.unpaid], change.lost, change.kept) == ([stake], (), ())
    later = NOW + 2 * DAY
    assert prizes_settle(now=later) == 1 and prizes_settle(now=later) == 0
    assert (balance(makers), balance(AccountKind.DEFENDERS)) == (0, HALF)
    back = LedgerEntry.objects.get(corrects__source__kind="defenders")
    assert (back.rule, back.causes) == ("R27", {"award": [award.pk], "team": [makers.pk]})
    assert defense_state_of(stake.defense, now=factories.NOW) is DefenseStanding.PUBLISHED
    made.until = BEFORE + DAY
    made.save()
    assert prizes_settle(now=later) == 1 and balance(makers) == HALF, "declared wrongly, and corrected"
    assert defense_state_of(stake.defense, now=factories.NOW) is DefenseStanding.WON


def test_the_leaderboard_tells_it_from_the_day_on_which_it_was_declared(stake: Stake, makers: Team, rita: User) -> None:
    give(all_met(stake), rita)
    other = cast.team("other")
    associated(other, BEFORE, declared=NOW + DAY)
    TeamMerge.objects.create(team=other, into=makers, reason="One.", merged_at=MONDAY + DAY)
    Team.objects.filter(pk=other.pk).update(merged_into=makers, merged_at=MONDAY + DAY)
    facts = read_facts()
    states = [leaderboard(facts, at).defenses[0].state for at in (NOW, NOW + DAY)]
    assert states == [DefenseStanding.WON, DefenseStanding.PUBLISHED]
    assert defense_state_of(stake.defense, now=factories.NOW) is DefenseStanding.PUBLISHED


def test_a_self_staker_keeps_the_own_stake(makers: Team, rita: User) -> None:
    give(all_met(cast.staked(cast.defense("own", makers), by=makers)), rita)
    associated(makers, BEFORE)
    prizes_settle(now=NOW)
    assert balance(makers) == PRIZE, "what it paid itself is no prize"
