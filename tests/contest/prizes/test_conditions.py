"""What an award waits for: whose time was over first, what came too late, faults, and the sweep of every rejected
picture (R30, R36, R37).
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from hypothesis import given
from hypothesis import strategies as st

from accounts.leaving import account_delete
from contest.board.cases import case_open
from contest.board.examinations import members_for, picture_confirm, queue_of
from contest.board.models import CaseParty
from contest.core.enums import VoteChoice
from contest.core.models import Case, Stake, Team
from contest.core.weeks import week_at
from contest.defenses.models import DefenseEntry
from contest.defenses.stake_ends import stakes_end
from contest.prizes.award_order import StakeTime, prize_groups, waits_for
from contest.prizes.checklist import award_checklist, contenders
from contest.prizes.examined_pictures import ExaminedShare, examined_share
from contest.prizes.models import Examination
from labeling.enums import PanelState, ReportKind
from labeling.models import Image, Panel, Report
from labeling.selectors import forget_versions
from policy.models import PolicyVersion
from policy.numbers import Policy
from scoring.enums import Fault, RunState
from scoring.models import Prediction, Rerun, Run, RunItem
from tests import factories, tables
from tests.contest.board import cast as board
from tests.contest.ledger import cast
from tests.contest.ledger.cast import BEFORE, CLOSED, MONDAY
from tests.contest.pages import main
from tests.contest.prizes.cast import confirm
from tests.contest.prizes.test_awards import (
    NOW,
    OVER,
    answered_again,
    emptied,
    give,
    lines,
    rejected,
    run_again,
    unmet,
    unruled,
    valid_and_not_run_again,
)
from tests.refusals import refused

pytestmark = pytest.mark.django_db


def faulted(of: Stake, sent: cast.Attack, fault: Fault, *, rerun: Rerun | None = None) -> None:
    """Runs on a picture, in every round, that ended in a fault."""
    for round in (1, 2, 3):
        run = Run.objects.create(
            defense=of.defense, round=round, seed=1, batch_size=16, state=RunState.DEAD, fault=fault, rerun=rerun,
            created_at=CLOSED, finished_at=CLOSED,
        )  # fmt: skip
        RunItem.objects.create(run=run, defense=of.defense, round=round, image=sent.image, position=0, rerun=rerun)


@tables.cases(
    "days end lacks why",
    (90, "", set(), "sent when the time was over: its mistakes count neither as breaks nor in the re-run"),
    (90 - 1e-9, "broken", {"no_break", "run_again"}, "sent in the last moment"),
)
def test_only_a_picture_of_its_time_breaks_it(days: float, end: str, lacks: set[str], why: str, stake: Stake) -> None:
    cast.broken(stake.defense, cast.attack(cast.team("red"), days=days))
    run_again(stake, answer=0)
    assert unmet(stake) == lacks, why
    stakes_end(now=NOW)
    assert Stake.objects.get().end == end


def dataset(days: float) -> Image:
    """A picture that the organizers add, to be labeled at once."""
    at = MONDAY + timedelta(days=days)
    return factories.image(received_at=at, label_from=at)


def unlabeled_sent(days: float) -> None:
    """An attack sends a picture of a data set that was not meant to be labeled: it is labeled for the attack."""
    at = MONDAY + timedelta(days=days)
    cast.attack(cast.team("red"), days=days, image=factories.image(received_at=at, label_from=week_at(at).end))


def held_unlabeled_sent(days: float) -> None:
    unlabeled_sent(days)
    asked = factories.assignment(factories.tasker("ada"), factories.panel(Image.objects.get()))
    Panel.objects.update(state=PanelState.HELD)
    Report.objects.create(
        assignment=asked, image=asked.panel.image, tasker=asked.tasker, kind=ReportKind.OFFENSIVE, reported_at=NOW
    )


OPEN = {"weeks", "appeals"}


@tables.cases(
    "send waits why",
    (lambda: cast.attack(cast.team("red"), days=-1), OPEN, "sent earlier in the week of the stake: it may break it"),
    (lambda: cast.attack(cast.team("red"), days=40), OPEN, "sent in its time"),
    (lambda: cast.attack(cast.team("red"), days=90 - 1e-9), OPEN, "sent in the last moment of its time"),
    (lambda: cast.attack(cast.team("red"), days=90), set(), "sent when its time was over, in the same week"),
    (lambda: unlabeled_sent(40), OPEN, "an attack, though the picture is of a data set"),
    (lambda: held_unlabeled_sent(40), OPEN, "an attack that is reported, and nobody decided"),
    (lambda: dataset(-1), set(), "of the contest's own, in the week of the stake"),
    (lambda: dataset(40), set(), "of the contest's own: only attacks break"),
    (lambda: dataset(89), set(), "of the contest's own, in the last week"),
    (lambda: dataset(90.5), set(), "of the contest's own, when its time was over"),
    (lambda: cast.ruled(dataset(40)), set(), "of the contest's own, valid, and not run"),
    (lambda: cast.ruled(dataset(89), "", at=NOW), set(), "of the contest's own, and its ruling may be appealed"),
    (lambda: cast.attack(cast.team("red"), days=41, image=dataset(40)), set(), "known when it was sent"),
    (lambda: cast.ruled(cast.attack(cast.team("red"), days=90).image, at=NOW), set(), "too late, and may be appealed"),
)  # fmt: skip
def test_an_award_waits_for_the_pictures_that_may_break_the_stake(
    send: Callable[[], object], waits: set[str], why: str, stake: Stake
) -> None:
    send()
    assert unmet(stake) == waits, why


def test_the_page_counts_the_pictures_that_the_award_waits_for(stake: Stake) -> None:
    for days in (88, 89, 90.5):
        dataset(days)
    late = cast.attack(cast.team("red"), days=89)
    cast.attack(cast.team("blue"), days=90.5)
    assert week_at(late.received_at) == week_at(OVER)
    assert _figures(stake, "weeks").endswith(f"Open: {late.week} waits: 1 for a panel.")
    cast.ruled(late.image)
    cast.ruled(dataset(89.5))
    assert _figures(stake, "weeks").endswith(f"Open: {late.week} waits: 1 for runs.")


def _figures(stake: Stake, name: str) -> str:
    return next(each.figures for each in award_checklist(stake, policy=Policy(), now=NOW) if each.name == name)


def test_a_picture_first_sent_in_time_counts_though_it_was_sent_again_later(stake: Stake) -> None:
    sent = cast.attack(cast.team("red"), days=80)
    cast.attack(cast.team("blue"), days=95, image=sent.image)
    cast.broken(stake.defense, sent)
    run_again(stake)
    assert unmet(stake) == {"no_break"}


@pytest.mark.parametrize(
    ("fault", "waits", "why"),
    [(Fault.BATCH_TIMEOUT, False, "of the defense: final"), (Fault.PLATFORM, True, "of the platform: run once more")],
)
def test_a_fault_of_the_defense_is_final_and_one_of_the_platform_is_waited_for(
    fault: Fault, waits: bool, why: str, stake: Stake
) -> None:
    sent, answered = two_valid(stake)
    cast.answered(stake.defense, answered.image, 1, at=CLOSED)
    faulted(stake, sent, fault)
    run_again(stake)
    assert ("run_again" in unmet(stake)) is waits, why


def two_valid(stake: Stake) -> tuple[cast.Attack, cast.Attack]:
    red = cast.team("red")
    first, second = cast.attack(red, days=3), cast.attack(red, days=4)
    for each in (first, second):
        cast.ruled(each.image)
    return first, second


def test_a_fault_in_the_re_run_ends_it_and_an_answer_left_out_does_not(stake: Stake) -> None:
    sent, other = two_valid(stake)
    for each in (sent, other):
        cast.answered(stake.defense, each.image, 1, at=CLOSED)
    rerun = Rerun.objects.create(defense=stake.defense, reason="All.", state="applied", asked_at=OVER)
    cast.answered(stake.defense, other.image, 1, at=OVER, rerun=rerun)
    for new in Prediction.objects.filter(rerun=rerun, image=other.image):
        old = Prediction.objects.get(rerun=None, image=other.image, round=new.round, defense=new.defense)
        rerun.superseded.create(prediction=old, by=new)
    assert not lines(stake)["run_again"], "one was not run again"
    faulted(stake, sent, Fault.OUT_OF_MEMORY, rerun=rerun)
    assert lines(stake)["run_again"]


def test_first_is_whose_time_was_over_first_though_its_clock_began_later(stake: Stake) -> None:
    numbers = replace(Policy(), stake_hours=30 * 24)
    PolicyVersion.objects.create(
        version=2, numbers=numbers.to_json(), in_force_from=MONDAY + timedelta(5), reason="Shorter."
    )
    forget_versions()
    quick = cast.staked(cast.defense("quick", cast.team("others")), at=MONDAY + timedelta(10))
    for each in (stake, quick):
        run_again(each)
    assert [each.defense.name for each in contenders(now=NOW)] == ["quick", "net"]
    assert (unmet(quick), unmet(stake)) == (set(), {"first"})


@pytest.fixture(autouse=True)
def fresh_policies() -> object:
    yield
    forget_versions()


# Who waits for whom ---------------------------------------------------------------------------------------------------


def batch_with_one_that_began_again() -> tuple[Stake, Stake, Stake]:
    """Two of a batch, one of them opened a week later, and another's stake in between: all three are due."""
    both = cast.batch()
    first, again = (cast.staked(cast.defense(name, cast.team(name)), of=both) for name in ("first", "again"))
    between = cast.staked(cast.defense("between", cast.team("neighbours")), at=MONDAY + timedelta(2))
    Stake.objects.filter(pk=again.pk).update(clock_from=MONDAY + timedelta(7))
    again.refresh_from_db()
    return first, between, again


def test_a_time_that_began_again_leaves_its_batch_and_each_is_awarded_in_turn(makers: Team, rita: User) -> None:
    stakes = batch_with_one_that_began_again()
    for each in stakes:
        run_again(each)
    assert [unmet(each) for each in stakes] == [set(), {"first"}, {"first"}], "the earliest waits for no other"
    for number, each in enumerate(stakes):
        if number:
            cast.deposit(2_000, factories.user(f"olga{number}", "organizers"))
        (award,) = give(each, rita)
        assert award.stake == each and award.cents > 0


def test_equal_instants_of_two_batches_share_and_a_closed_one_is_behind(makers: Team, rita: User) -> None:
    cast.staked(cast.defense("closed", cast.team("hidden"), opened=False), at=BEFORE + timedelta(1))
    both = [cast.staked(cast.defense(name, of)) for name, of in (("alone", makers), ("other", cast.team("others")))]
    for each in both:
        run_again(each)
    assert [unmet(each) for each in both] == [set(), set()]
    assert {award.stake for award in give(both[0], rita)} == set(both)


@tables.cases(
    "story name who why",
    (
        lambda s: Stake.objects.filter(pk=s.pk).update(clock_from=NOW - timedelta(1)),
        "unbroken",
        ("time",),
        "its 90 days",
    ),
    (
        lambda s: DefenseEntry.objects.filter(defense=s.defense).update(opened_at=None),
        "source",
        ("team",),
        "the source",
    ),
    (
        lambda s: DefenseEntry.objects.filter(defense=s.defense).update(opened_at=None),
        "unbroken",
        ("team",),
        "the clock begins with the source",
    ),
    (unruled, "weeks", ("organizers",), "a picture waits for a panel"),
    (unruled, "appeals", ("organizers",), "so that nobody knows when appeals close"),
    (valid_and_not_run_again, "run_again", ("organizers", "board"), "the re-run is not begun"),
    (answered_again, "run_again", ("organizers",), "the re-run is answered and waits to be applied"),
    (rejected, "examined", ("board",), "a rejected picture"),
    (
        lambda s: rejected(cast.staked(cast.defense("early", cast.team("others")), at=MONDAY - timedelta(1))),
        "first",
        ("board",),
        "what the earliest lacks: nobody examined its rejected picture",
    ),
    (
        lambda s: (
            valid_and_not_run_again(cast.staked(cast.defense("mate", cast.team("others")))),
            cast.caught_up(s.defense),
            run_again(s),
        ),
        "batch",
        ("organizers", "board"),
        "what the other one lacks: its re-run",
    ),
    (emptied, "half", ("organizers",), "a deposit"),
)
def test_what_is_not_met_names_who_can_meet_it(
    story: Callable[[Stake], object], name: str, who: tuple[str, ...], why: str, stake: Stake
) -> None:
    story(stake)
    fresh = Stake.objects.select_related("defense__entry__team", "paid_by").get(pk=stake.pk)
    found = {each.name: each for each in award_checklist(fresh, policy=Policy(), now=NOW)}
    assert not found[name].passed and found[name].who == who, why
    assert all(each.who for each in found.values() if not each.passed), "nothing waits for nobody"
    assert not any(each.who for each in found.values() if each.passed)


TIME, LATE = timedelta(days=90), MONDAY + timedelta(days=400)


def at_stake(
    number: int, *, day: int = 0, batch: int | None = None, again: int | None = None, **more: bool
) -> StakeTime:
    """A stake begun on a day after MONDAY; its time began again on the day `again`."""
    begun = MONDAY + timedelta(day)
    clock = begun if again is None else MONDAY + timedelta(again)
    return StakeTime(number, batch, begun, clock, clock + TIME, **more)


def closed_one(number: int, batch: int | None = None) -> StakeTime:
    return StakeTime(number, batch, MONDAY, MONDAY, None)


@tables.cases(
    "stakes expected why",
    ([], [], "nothing is at stake"),
    ([at_stake(1), at_stake(2, day=1)], [(1,), (2,)], "the first unbroken to the end of its time wins"),
    ([at_stake(2, day=1), at_stake(1)], [(1,), (2,)], "in whatever order they are read"),
    ([at_stake(1, batch=7), at_stake(2, batch=7)], [(1, 2)], "those of a batch share"),
    (
        [at_stake(1, batch=7, can_win=False), at_stake(2, batch=7)],
        [(2,)],
        "one that cannot win neither shares nor is first",
    ),
    ([closed_one(1, 7), at_stake(2, batch=7)], [(2,)], "a closed source has no time that could be over"),
    ([at_stake(1, batch=7), at_stake(2, batch=7, again=20)], [(1,), (2,)], "a time that began again leaves the batch"),
    (
        [at_stake(1, batch=7), at_stake(2, batch=7, again=20), at_stake(3, day=10)],
        [(1,), (3,), (2,)],
        "one in between waits for the batch, and not for the one that left it",
    ),
    (
        [at_stake(1, batch=7, again=5), at_stake(2, batch=7, again=5)],
        [(1, 2)],
        "two that began again at one instant share as equals",
    ),
    ([at_stake(1, day=3), at_stake(2, day=3)], [(1, 2)], "equal instants share, whoever staked"),
    (
        [at_stake(1, batch=7, again=10), at_stake(2, day=10)],
        [(1, 2)],
        "also one that began again, with another's beginning",
    ),
)
def test_the_order(stakes: list[StakeTime], expected: list[tuple[int, ...]], why: str) -> None:
    assert [group.stakes for group in prize_groups(stakes, now=LATE)] == expected, why


def test_a_time_is_over_exactly_at_its_end() -> None:
    end = MONDAY + TIME
    assert [group.stakes for group in prize_groups([at_stake(1)], now=end)] == [(1,)]
    assert prize_groups([at_stake(1)], now=end - timedelta(microseconds=1)) == []


days = st.integers(0, 6)  # few, so that instants are often equal
batches = st.none() | st.integers(1, 3)


@st.composite
def contests(draw: st.DrawFn) -> list[StakeTime]:
    """Stakes of a few batches and teams, some of them with a time that began again; a batch begins at one instant."""
    begins, found = {each: draw(days) for each in (1, 2, 3)}, []
    for number in range(draw(st.integers(0, 9))):
        batch = draw(batches)
        day = draw(days) if batch is None else begins[batch]
        again = day + draw(st.integers(1, 4)) if draw(st.booleans()) else None
        found.append(at_stake(number, day=day, batch=batch, again=again, can_win=draw(st.booleans())))
    return found


@given(contests(), st.integers(86, 104))
def test_waiting_never_forms_a_cycle(stakes: list[StakeTime], after: int) -> None:
    now = MONDAY + timedelta(after)
    groups = prize_groups(stakes, now=now)
    due = {each.stake: each for each in stakes if each.is_due(now)}

    assert sorted(number for group in groups for number in group.stakes) == sorted(due), "the groups part the stakes"
    assert [group.at for group in groups] == sorted({group.at for group in groups}), "no two have one instant"

    waits = waits_for(groups)
    assert waits.keys() == due.keys()
    if groups:
        assert all(not waits[number] for number in groups[0].stakes), "the earliest waits for no other"
    done: set[int] = set()
    while len(done) < len(due):  # whoever waits for nobody that is left is served: somebody always is
        served = {number for number in due.keys() - done if done.issuperset(waits[number])}
        assert served, "a cycle"
        done |= served

    for group in groups:
        for number in group.stakes:
            assert number not in waits[number]
            mates = {each.until for each in (due[other] for other in group.stakes)}
            assert mates == {group.at}, "all of a group are unbroken at one instant"
    for each in due.values():
        if each.shares_with_batch:
            mates = {other.stake for other in due.values() if other.shares_with_batch and other.batch == each.batch}
            assert any(mates <= set(group.stakes) for group in groups), "a batch shares"


@pytest.fixture
def pictures(stake: Stake) -> list[Image]:
    """Three rejected pictures of team red, in the order in which they came."""
    red = cast.team("red")
    sent = [cast.attack(red, days=days).image for days in (1, 2, 3)]
    for image in sent:
        cast.ruled(image, "")
    return sent


def left(stake: Stake, member: User) -> list[Image]:
    return list(queue_of(stake.defense, member, now=NOW).mine)


def unconfirmed(code: str, image: Image, stake: Stake, by: User) -> None:
    refused(code, confirm, image, stake.defense, by, NOW)
    assert not Examination.objects.filter(image=image, confirmed_by=by).exists()


def members_needed(members: int) -> None:
    numbers = Policy(examination_members=members).to_json()
    PolicyVersion.objects.create(version=2, numbers=numbers, in_force_from=NOW - timedelta(1), reason="Two see more.")
    forget_versions()


@pytest.mark.parametrize(("done", "all", "percent"), [(0, 0, 100), (199, 200, 99), (200, 200, 100), (0, 3, 0)])
def test_a_hundred_percent_is_all_of_them(done: int, all: int, percent: int) -> None:
    assert ExaminedShare(done, all).percent == percent


def test_two_members_where_the_policy_asks_for_two(stake: Stake, pictures: list[Image], rita: User) -> None:
    members_needed(2)
    ben = board.member("ben")
    confirm(pictures[0], stake.defense, rita, NOW)
    confirm(pictures[0], stake.defense, rita, NOW)
    assert examined_share(stake.defense, now=NOW).done == 0, "the same member twice is one"
    assert left(stake, rita) == pictures[1:] and left(stake, ben) == pictures
    assert queue_of(stake.defense, rita, now=NOW).by_others == 1
    confirm(pictures[0], stake.defense, ben, NOW)
    assert (examined_share(stake.defense, now=NOW).done, queue_of(stake.defense, rita, now=NOW).by_others) == (1, 0)


@pytest.mark.both("a confirmation locks the picture")
def test_another_ruling_is_looked_at_anew(stake: Stake, pictures: list[Image], rita: User) -> None:
    first = pictures[0]
    seen = first.rulings.get().pk
    confirm(first, stake.defense, rita, NOW)
    cast.overruled(first, label="bird")
    assert examined_share(stake.defense, now=NOW) == ExaminedShare(0, 2), "a valid picture is none of the rejected"
    cast.overruled(first)
    assert examined_share(stake.defense, now=NOW) == ExaminedShare(0, 3) and first in left(stake, rita)
    refused("ruling_changed", picture_confirm, image=first, defense=stake.defense, ruling=seen, by=rita, now=NOW)
    confirm(first, stake.defense, rita, NOW)
    assert examined_share(stake.defense, now=NOW) == ExaminedShare(1, 3)


def test_what_is_in_a_case_waits_for_it(stake: Stake, pictures: list[Image], rita: User) -> None:
    case_open(image=pictures[1], by=rita, now=NOW)
    assert (left(stake, rita), queue_of(stake.defense, rita, now=NOW).in_cases) == ([pictures[0], pictures[2]], 1)
    unconfirmed("in_case", pictures[1], stake, board.member("ben"))
    Case.objects.update(state="closed", closed_at=NOW)
    assert left(stake, rita) == pictures


@pytest.mark.parametrize(
    ("choice", "again", "why"),
    [
        (board.Ballot(VoteChoice.UPHOLD), 3, "the ruling that was confirmed still holds"),
        (board.OVERRULE_REJECTED, 2, "rejected by another ruling: it is looked at anew"),
    ],
)
def test_what_was_confirmed_counts_not_while_the_board_has_a_case_of_it(
    choice: board.Ballot, again: int, why: str, stake: Stake, pictures: list[Image], rita: User, signed_in: Any
) -> None:
    for image in pictures:
        confirm(image, stake.defense, rita, NOW)
    assert lines(stake)["examined"] and lines(stake)["appeals"]
    ben, case = board.member("ben"), case_open(image=pictures[1], by=rita, now=NOW)
    assert examined_share(stake.defense, now=NOW) == ExaminedShare(2, 3)
    assert not lines(stake)["examined"] and not lines(stake)["appeals"], "nothing is awarded meanwhile"
    queue = queue_of(stake.defense, ben, now=NOW)
    assert (list(queue.mine), queue.by_others, queue.in_cases) == ([], 0, 1)
    page = main(signed_in(ben), address(stake))
    assert "2 of 3 confirmed, 66 %" in page and "1 waits for a case" in page
    board.votes(case, [rita, ben], choice, NOW)
    board.decide(case, ben, NOW)
    assert examined_share(stake.defense, now=NOW) == ExaminedShare(again, 3), why
    assert len(left(stake, ben)) == 3 - again


@pytest.mark.parametrize("tied_to", ["makers", "red"])
def test_who_steps_aside_confirms_nothing_and_what_they_confirmed_counts_no_more(
    stake: Stake, pictures: list[Image], rita: User, tied_to: str
) -> None:
    for number, image in enumerate(pictures):
        assert left(stake, rita) == pictures[number:]
        confirm(image, stake.defense, rita, NOW)
        assert examined_share(stake.defense, now=NOW) == ExaminedShare(number + 1, 3)
    team = stake.defense.entry.team if tied_to == "makers" else pictures[0].attacks.get().team
    board.conflict(rita, team)
    assert examined_share(stake.defense, now=NOW) == ExaminedShare(0, 3)
    refused("recused", confirm, pictures[0], stake.defense, rita, NOW)
    queue, ben = queue_of(stake.defense, rita, now=NOW), board.member("ben")
    assert tied_to == "makers" or (list(queue.mine), queue.by_others) == ([], 3)
    for image in pictures:
        confirm(image, stake.defense, ben, NOW)
    assert examined_share(stake.defense, now=NOW) == ExaminedShare(3, 3)


GONE: list[tuple[Callable[[User], object], bool, int, str]] = [
    (lambda rita: rita.groups.clear(), False, 1, "off the board: what they confirmed before stays"),
    (lambda rita: rita.groups.clear(), True, 0, "off the board, with a conflict"),
    (lambda rita: User.objects.filter(pk=rita.pk).update(is_active=False), True, 0, "locked out, with a conflict"),
    (lambda rita: account_delete(user=rita, now=NOW), True, 0, "the account is deleted, and the conflict with it"),
    (lambda rita: account_delete(user=rita, now=NOW), False, 0, "whether there was one cannot be known then"),
]


@pytest.mark.parametrize(("goes", "tied", "counts", "why"), GONE, ids=[row[3] for row in GONE])
def test_whose_confirmations_count_after_they_left(
    goes: Callable[[User], object],
    tied: bool,
    counts: int,
    why: str,
    stake: Stake,
    pictures: list[Image],
    rita: User,
) -> None:
    """R21, R37; others confirm the picture then."""
    confirm(pictures[0], stake.defense, rita, NOW)
    if tied:
        board.conflict(rita, stake.defense.entry.team)
    goes(rita)
    assert examined_share(stake.defense, now=NOW) == ExaminedShare(counts, 3), why
    assert members_for(pictures[0], stake.defense) == counts
    assert left(stake, board.member("ben")) == pictures[counts:]


def test_a_conflict_that_was_over_before_they_looked_takes_nothing_away(
    stake: Stake, pictures: list[Image], rita: User
) -> None:
    confirm(pictures[0], stake.defense, rita, NOW)
    board.conflict(rita, stake.defense.entry.team, until=NOW - timedelta(days=1))
    assert examined_share(stake.defense, now=NOW) == ExaminedShare(1, 3)


def test_a_case_that_a_member_steps_aside_from_is_not_told_by_the_sweep(
    stake: Stake, pictures: list[Image], rita: User
) -> None:
    board.conflict(rita, cast.staked(cast.defense("other", cast.team("others"))).defense.entry.team)
    case_open(image=pictures[0], by=board.member("ben"), now=NOW)
    queue = queue_of(stake.defense, rita, now=NOW)
    assert (queue.in_cases, queue.by_others, queue.mine.count()) == (0, 1, 2)
    unconfirmed("recused", pictures[0], stake, rita)


# The page -------------------------------------------------------------------------------------------------------------


def address(stake: Stake) -> str:
    return f"/board/examinations/{stake.defense.public_id}/"


def test_the_page_goes_from_picture_to_picture_and_opens_a_case(
    stake: Stake, pictures: list[Image], rita: User, signed_in: Any
) -> None:
    client = signed_in(rita)
    page = client.get(address(stake)).content.decode()
    assert "0 of 3 confirmed, 0 %" in page and pictures[0].public_id in page and "a tasker was not sure" in page
    later = client.get(address(stake) + "?at=2").content.decode()
    assert pictures[2].public_id in later and pictures[0].public_id not in later
    for image, at in ((pictures[2], "2"), (pictures[1], "0"), (pictures[0], "0")):
        told = {"image": image.public_id, "ruling": image.rulings.get().pk, "at": at, "confirm": "1"}
        done = client.post(address(stake), told, follow=True).content.decode()
        assert at == "0" or pictures[0].public_id in done, "behind the last it begins again"
    assert "Every rejected picture is confirmed" in done
    answer = client.post(address(stake), {"image": pictures[0].public_id, "case": "1"})
    case = Case.objects.get(image=pictures[0])
    assert answer.status_code in (302, 303) and case.public_id in answer["Location"]
    assert CaseParty.objects.filter(case=case, role="sender").exists() and case.opened_by == rita


@pytest.mark.parametrize(
    ("told", "status", "why"),
    [
        ({}, 400, "no picture is named"),
        ({"image": "P-00000000"}, 400, "there is no such picture"),
        ({"image": "first"}, 409, "no ruling is named"),
        ({"image": "first", "ruling": "9" * 30}, 409, "no number of a row"),
        ({"image": "first", "ruling": "-1"}, 409, "no number of a row"),
        ({"image": "first", "ruling": "first", "at": "x"}, 303, "a place that is none is the first"),
    ],
)
def test_what_the_page_is_sent(
    told: dict[str, str], status: int, why: str, stake: Stake, pictures: list[Image], rita: User, signed_in: Any
) -> None:
    first = {"image": pictures[0].public_id, "ruling": str(pictures[0].rulings.get().pk)}
    sent = {name: first[name] if value == "first" else value for name, value in told.items()}
    answer = signed_in(rita).post(address(stake), sent)
    assert answer.status_code == status or (status == 303 and answer.status_code == 302), why


def test_the_page_asks_no_more_for_more_pictures(
    stake: Stake, pictures: list[Image], rita: User, signed_in: Any, django_assert_max_num_queries: Any
) -> None:
    client = signed_in(rita)
    with django_assert_max_num_queries(60) as few:
        client.get(address(stake))
    for days in range(4, 10):
        cast.ruled(cast.attack(cast.team(f"team{days}"), days=days).image, "")
    with django_assert_max_num_queries(len(few) + 1):
        client.get(address(stake))
