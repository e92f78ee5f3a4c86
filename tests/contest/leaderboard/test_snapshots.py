"""The stored tables: made by a sweep, kept for ever for a past week, compared with the facts every night."""

from datetime import datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, transaction

from contest.enums import DefenseStanding
from contest.leaderboard import snapshots
from contest.models import Attack, Break, Leaderboard, LeaderboardCheck, Release, Stake, StakeChange, Team
from contest.overview import read_overview
from contest.stakes.ends import stakes_end
from contest.weeks import week_called
from labeling.models import Image
from tests import factories
from tests.contest import release_fixtures as fixtures
from tests.contest.money import cast as money
from tests.refusals import refused

pytestmark = pytest.mark.django_db
W47 = "2026-W47"
AFTER = fixtures.AFTER
MINUTE = timedelta(minutes=1)


@pytest.fixture(autouse=True)
def a_week() -> None:
    """Team `=red` sent a valid picture in week 2026-W47, which is over and not released. The first defense is older."""
    fixtures.a_week()
    Attack.objects.update(week=W47)
    Image.objects.filter(attacks__isnull=False).update(origin="attack")


def release(at: datetime = AFTER) -> None:
    Release.objects.create(week=W47, manifest_sha256="0" * 64, counts={}, bytes=1, released_at=at)


def test_a_sweep_makes_every_week_that_is_over_and_the_present_and_then_nothing() -> None:
    """What no sweep has made is made at once, and the same. The defenses were published nine days before MONDAY."""
    at_once = {week: snapshots.shown(week, now=AFTER).tables for week in ("", W47)}
    assert snapshots.boards_make(now=AFTER) == 3
    assert set(Leaderboard.objects.values_list("week", flat=True)) == {"2026-W46", W47, ""}
    assert snapshots.boards_make(now=AFTER + MINUTE) == 0
    assert {week: snapshots.shown(week, now=AFTER).tables for week in ("", W47)} == at_once


def test_the_present_is_made_again_when_it_is_old() -> None:
    snapshots.boards_make(now=AFTER)
    assert snapshots.boards_make(now=AFTER + snapshots.FRESH - timedelta(seconds=1)) == 0
    assert snapshots.boards_make(now=AFTER + snapshots.FRESH) == 1
    assert snapshots.shown("", now=AFTER + snapshots.FRESH).made_at == AFTER + snapshots.FRESH


@pytest.mark.parametrize(
    ("made", "recorded", "why"),
    [
        (AFTER, AFTER + MINUTE, "released since"),
        (AFTER + MINUTE, AFTER, "a build takes minutes, and says when it began: recorded since"),
    ],
)
def test_the_present_is_made_again_at_once_when_a_week_is_released(
    made: datetime, recorded: datetime, why: str
) -> None:
    snapshots.boards_make(now=made)
    release(recorded)
    now = AFTER + 2 * MINUTE
    assert snapshots.shown("", now=now).tables.attackers[0].valid == 0
    assert snapshots.boards_make(now=now) == 1, why
    assert snapshots.shown("", now=now).tables.attackers[0].valid == 1
    found = snapshots.board_check(now=now)
    assert (found.compared, found.differences, snapshots.open_differences()) == (3, [], 0)
    assert snapshots.boards_make(now=now + MINUTE) == 0


def test_a_sweep_that_comes_oftener_looks_now_and_then() -> None:
    assert snapshots.boards_make_now_and_then(now=AFTER) == 3
    Leaderboard.objects.all().delete()
    assert snapshots.boards_make_now_and_then(now=AFTER + snapshots.LOOK_EVERY - timedelta(microseconds=1)) == 0
    assert snapshots.boards_make_now_and_then(now=AFTER + snapshots.LOOK_EVERY) == 3


def test_the_table_of_a_past_week_is_never_made_again() -> None:
    snapshots.boards_make(now=AFTER)
    release(AFTER + MINUTE)
    snapshots.boards_make(now=AFTER + 30 * MINUTE)
    past = snapshots.shown(W47, now=AFTER + 30 * MINUTE)
    assert (past.made_at, past.tables.at) == (AFTER, week_called(W47).end)
    assert past.tables.attackers[0].valid == 0, "the release came later"


@pytest.mark.parametrize(
    "week",
    ["2026-W48", "2027-W01", "2026-W45", "2026-W99", "nonsense", "2026-w47", "2026-W47 ", "٢٠٢٦-W٤٧", "2०26-W47"],
    ids=["present", "future", "before the contest", "no week", "no name", "small", "blank", "arabic", "mixed"],
)
def test_only_weeks_that_are_over_have_a_table(week: str) -> None:
    refused("unknown_week", snapshots.shown, week, now=AFTER)
    end = week_called(W47).end
    refused("unknown_week", snapshots.shown, W47, now=end - timedelta(microseconds=1))
    assert snapshots.shown(W47, now=end).week == W47, "from the moment it is over"


def test_without_a_fact_there_is_no_week() -> None:
    Attack.objects.all().delete()
    fixtures.Defense.objects.update(published_at=None)
    assert (snapshots.weeks_over(now=AFTER), snapshots.boards_make(now=AFTER)) == ([], 1)
    assert snapshots.shown("", now=AFTER).tables.defenses == ()


# The check ------------------------------------------------------------------------------------------------------------


def test_what_differs_from_the_facts_is_told_to_the_organizers() -> None:
    snapshots.boards_make(now=AFTER)
    red = Team.objects.get(name="=red")
    Team.objects.update(name="crimson")  # which is no difference
    past, present = Leaderboard.objects.get(week=W47), Leaderboard.objects.get(week="")
    past.tables["attackers"][0]["breaks"] = 7
    past.save()
    assert snapshots.boards_check_nightly(now=AFTER) == 1
    changed = f"2026-W47: team {red.public_id}, breaks: shown 7, by the facts 0"
    assert snapshots.newest_check().differences == [changed]  # type: ignore[union-attr]
    waits = [(each.page, each.words) for each in read_overview(now=AFTER).attention]
    assert ("leaderboard-check", "1 difference in the leaderboard") in waits
    present.tables["defenses"][0]["id"] = "D-NONE"
    present.save()
    sent = fixtures.MONDAY + timedelta(hours=3)
    Attack.objects.create(team=red, image=factories.image(), received_at=sent, week=W47)
    words = snapshots.board_check(now=AFTER).differences
    assert "Now: defense D-NONE is shown, and by the facts it is not there" in words
    assert any(each.endswith(" is missing") for each in words)
    assert f"2026-W47: team {red.public_id}, sent: shown 1, by the facts 2" in words, "a fact written with an old time"


def overrule(at: datetime) -> None:
    money.overruled(Break.objects.get().image, at=at)
    assert stakes_end(now=at) == 1


@pytest.fixture
def stake(olga: User) -> Stake:
    """A stake of the board on the defense that took the bird for a bicycle, which that ended within W47."""
    money.deposit(10**6, olga)
    made = money.staked(Break.objects.get().defense, at=fixtures.MONDAY - timedelta(days=3))
    assert stakes_end(now=week_called(W47).end - timedelta(hours=1)) == 1
    return made


def standing(week: str, now: datetime) -> DefenseStanding:
    return next(row for row in snapshots.shown(week, now=now).tables.defenses if row.staked_since).state


@pytest.mark.parametrize("made_before", [True, False], ids=["made before the overrule", "made after it"])
def test_an_overrule_is_no_difference_of_a_past_week(made_before: bool, stake: Stake) -> None:
    later = AFTER + timedelta(days=8)
    if made_before:
        snapshots.boards_make(now=AFTER)
        snapshots.boards_make(now=later)
    overrule(later + MINUTE)
    stake.refresh_from_db()
    assert stake.ended_at is None
    assert snapshots.boards_make(now=later + 2 * MINUTE) == (1 if made_before else 4), "the present is made at once"
    assert snapshots.board_check(now=later + 2 * MINUTE).differences == []
    assert standing(W47, later) is DefenseStanding.BROKEN, "what was known in it"
    assert standing("", later) is DefenseStanding.STAKED


def test_a_stake_that_was_tampered_with_is_found(stake: Stake) -> None:
    snapshots.boards_make(now=AFTER)
    assert snapshots.board_check(now=AFTER).differences == []
    Stake.objects.filter(pk=stake.pk).update(end="", ended_at=None)
    (words,) = snapshots.board_check(now=AFTER).differences
    assert f"defense {stake.defense.public_id}, the stake says in force, its changes say broken" in words
    StakeChange.objects.create(stake=stake, end="", ended_at=None, known_at=week_called(W47).end - timedelta(hours=1))
    words = " ".join(snapshots.board_check(now=AFTER).differences)
    assert "2026-W47: defense" in words and "state: shown broken, by the facts staked" in words


@pytest.mark.both("a trigger refuses it")
def test_a_change_of_a_stake_is_never_changed(stake: Stake) -> None:
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        StakeChange.objects.update(end="won")


def test_the_check_runs_once_a_day_of_the_contest_s_zone() -> None:
    snapshots.boards_make(now=AFTER)
    assert snapshots.boards_check_nightly(now=AFTER) == 1
    assert snapshots.boards_check_nightly(now=AFTER + timedelta(hours=15, minutes=59)) == 0
    assert snapshots.boards_check_nightly(now=AFTER + timedelta(hours=16)) == 1, "AFTER is 8 o'clock"
    assert LeaderboardCheck.objects.count() == 2


def test_making_all_anew_ends_the_alarm() -> None:
    snapshots.boards_make(now=AFTER)
    Leaderboard.objects.filter(week=W47).update(
        tables={"at": week_called(W47).end.isoformat(), "defenses": [], "attackers": []}
    )
    assert snapshots.board_check(now=AFTER).differences
    assert snapshots.boards_make_anew(by=factories.user("olga", "organizers"), now=AFTER + MINUTE) == 3
    assert snapshots.open_differences() == 0
    assert snapshots.shown(W47, now=AFTER + MINUTE).tables.attackers
