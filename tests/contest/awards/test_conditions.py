"""What an award waits for: what came too late, faults, and whose time was over first (R30, R36, R37)."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from contest.awards.conditions import checklist, contenders
from contest.models import Entry, Stake, Team
from contest.stakes.ends import stakes_end
from contest.weeks import week_at
from labeling.enums import PanelState, ReportKind
from labeling.models import Image, Panel, PolicyVersion, Report
from labeling.policy import Policy
from labeling.selectors import forget_versions
from scoring.enums import Fault, RunState
from scoring.models import Prediction, Rerun, Run, RunItem
from tests import factories
from tests.contest.awards.test_awards import (
    NOW,
    OVER,
    answered_again,
    emptied,
    give,
    lines,
    makers,
    rejected,
    run_again,
    stake,
    unmet,
    unruled,
    valid_and_not_run_again,
)
from tests.contest.money import cast
from tests.contest.money.cast import BEFORE, CLOSED, MONDAY

__all__ = ["makers", "stake"]
pytestmark = pytest.mark.django_db


def faulted(of: Stake, sent: cast.Attack, fault: Fault, *, rerun: Rerun | None = None) -> None:
    """Runs on a picture, in every round, that ended in a fault."""
    for round in (1, 2, 3):
        run = Run.objects.create(
            defense=of.defense, round=round, seed=1, batch_size=16, state=RunState.DEAD, fault=fault, rerun=rerun,
            created_at=CLOSED, finished_at=CLOSED,
        )  # fmt: skip
        RunItem.objects.create(run=run, defense=of.defense, round=round, image=sent.image, position=0, rerun=rerun)


def test_a_picture_sent_when_the_time_was_over_blocks_no_award(stake: Stake) -> None:
    late = cast.attack(cast.team("red"), days=90)
    cast.broken(stake.defense, late)
    run_again(stake, answer=0)
    stakes_end(now=NOW)
    stake.refresh_from_db()
    assert (stake.end, unmet(stake)) == ("", set()), "its mistakes count neither as breaks nor in the re-run"


def test_the_last_moment_of_the_time_still_breaks_it(stake: Stake) -> None:
    cast.broken(stake.defense, cast.attack(cast.team("red"), days=90 - 1e-9))
    run_again(stake, answer=0)
    assert unmet(stake) == {"no_break", "run_again"}


def dataset(days: float) -> Image:
    """A picture that the organizers add, to be labeled at once."""
    at = MONDAY + timedelta(days=days)
    return factories.image(received_at=at, label_from=at)


def unlabeled_sent(days: float) -> None:
    """An attack sends a picture of a data set that was not meant to be labeled: it is labeled for the attack."""
    at = MONDAY + timedelta(days=days)
    image = factories.image(received_at=at, label_from=week_at(at).end)
    cast.attack(cast.team("red"), days=days, image=image)


def held_unlabeled_sent(days: float) -> None:
    unlabeled_sent(days)
    asked = factories.assignment(factories.tasker("ada"), factories.panel(Image.objects.get()))
    Panel.objects.update(state=PanelState.HELD)
    Report.objects.create(
        assignment=asked, image=asked.panel.image, tasker=asked.tasker, kind=ReportKind.OFFENSIVE, reported_at=NOW
    )


OPEN = {"weeks", "appeals"}
SENT: list[tuple[Callable[[], object], set[str], str]] = [
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
]  # fmt: skip


@pytest.mark.parametrize(("send", "waits", "why"), SENT, ids=[row[2] for row in SENT])
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
    return next(each.figures for each in checklist(stake, policy=Policy(), now=NOW) if each.name == name)


def test_a_picture_first_sent_in_time_counts_though_it_was_sent_again_later(stake: Stake) -> None:
    red = cast.team("red")
    sent = cast.attack(red, days=80)
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
    """Two valid pictures of a team."""
    red = cast.team("red")
    first, second = cast.attack(red, days=3), cast.attack(red, days=4)
    cast.ruled(first.image)
    cast.ruled(second.image)
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


def test_a_closed_one_is_behind_all_whose_time_is_over(stake: Stake) -> None:
    closed = cast.staked(cast.defense("closed", cast.team("others"), opened=False), at=BEFORE + timedelta(1))
    run_again(stake)
    assert "first" in unmet(closed) and unmet(stake) == set()


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


def test_equal_instants_share(makers: Team, rita: User) -> None:
    alone = cast.staked(cast.defense("alone", makers))
    other = cast.staked(cast.defense("other", cast.team("others")))
    for each in (alone, other):
        run_again(each)
    assert {award.stake for award in give(alone, rita)} == {alone, other}


def on_time(stake: Stake) -> None:
    Stake.objects.filter(pk=stake.pk).update(clock_from=NOW - timedelta(1))


def closed(stake: Stake) -> None:
    Entry.objects.filter(defense=stake.defense).update(opened_at=None)


def behind_another(stake: Stake) -> None:
    rejected(cast.staked(cast.defense("early", cast.team("others")), at=MONDAY - timedelta(1)))


def beside_another(stake: Stake) -> None:
    valid_and_not_run_again(cast.staked(cast.defense("mate", cast.team("others"))))
    cast.caught_up(stake.defense)
    run_again(stake)


WHO: list[tuple[Callable[[Stake], None], str, tuple[str, ...], str]] = [
    (on_time, "unbroken", ("time",), "its 90 days"),
    (closed, "source", ("team",), "the source"),
    (closed, "unbroken", ("team",), "the clock begins with the source"),
    (unruled, "weeks", ("organizers",), "a picture waits for a panel"),
    (unruled, "appeals", ("organizers",), "so that nobody knows when appeals close"),
    (valid_and_not_run_again, "run_again", ("organizers", "board"), "the re-run is not begun"),
    (answered_again, "run_again", ("organizers",), "the re-run is answered and waits to be applied"),
    (rejected, "examined", ("board",), "a rejected picture"),
    (behind_another, "first", ("board",), "what the earliest lacks: nobody examined its rejected picture"),
    (beside_another, "batch", ("organizers", "board"), "what the other one lacks: its re-run"),
    (emptied, "half", ("organizers",), "a deposit"),
]


@pytest.mark.parametrize(("story", "name", "who", "why"), WHO, ids=[row[3] for row in WHO])
def test_what_is_not_met_names_who_can_meet_it(
    story: Callable[[Stake], None], name: str, who: tuple[str, ...], why: str, stake: Stake
) -> None:
    story(stake)
    fresh = Stake.objects.select_related("defense__entry__team", "paid_by").get(pk=stake.pk)
    found = {each.name: each for each in checklist(fresh, policy=Policy(), now=NOW)}
    assert not found[name].passed and found[name].who == who, why
    assert all(each.who for each in found.values() if not each.passed), "nothing waits for nobody"
    assert not any(each.who for each in found.values() if each.passed)
