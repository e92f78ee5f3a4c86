"""Who steps aside for whom, and what they may know of (R21)."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from django.contrib.auth.models import User

from contest.board.case_list import Asked, cases_asked, rows_of
from contest.board.cases import count_of, parties_add
from contest.board.conflicts import conflict_declare, conflict_end
from contest.board.recusal import DISCLOSURE_STANDS, cases_seen_by, judges_of, recused_from, undisclosed
from contest.enums import ConflictKind, VoteChoice
from contest.models import Attack, Case, CaseParty, Conflict, Disclosure, Team
from contest.teams.merging import teams_merge
from tests import factories
from tests.contest.board import case_cast, cast
from tests.contest.board.cast import LATER, Scene
from tests.contest.money import cast as money

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
OPENED = LATER
CLOSED = LATER + timedelta(days=3)


@pytest.mark.parametrize(
    ("since", "until", "closed", "aside", "why"),
    [
        (OPENED - HOUR, None, False, True, "in force when it was opened"),
        (OPENED - 2 * HOUR, OPENED - HOUR, False, False, "over before it was opened"),
        (OPENED - 2 * HOUR, OPENED, False, False, "over at the very moment it was opened"),
        (OPENED - 2 * HOUR, OPENED + HOUR, False, True, "in force when it was opened: its end does not give it back"),
        (OPENED + HOUR, None, False, True, "began while it is open"),
        (OPENED + HOUR, OPENED + 2 * HOUR, False, True, "began and ended while it is open"),
        (CLOSED + HOUR, None, True, False, "began after it was closed"),
        (CLOSED, None, True, True, "began when it was closed"),
        (OPENED - HOUR, None, True, True, "a closed case stays closed to them"),
    ],
)
def test_for_which_time_a_conflict_counts(
    since: datetime, until: datetime | None, closed: bool, aside: bool, why: str, case: Case, scene: Scene
) -> None:
    if closed:
        case.state, case.closed_at = "closed", CLOSED
        case.save()
    cast.conflict(scene.members[0], scene.blue, since, until)
    assert (scene.members[0].pk in recused_from(case)) is aside, why
    assert cases_seen_by(scene.members[0]).filter(pk=case.pk).exists() is not aside, why
    assert (scene.members[0] in judges_of(case)) is not aside, why
    assert scene.members[1] in judges_of(case) and cases_seen_by(scene.members[1]).count() == 1


def test_a_dismissed_conflict_and_one_with_another_team_count_for_nothing(case: Case, scene: Scene) -> None:
    cast.conflict(scene.members[0], money.team("green"))
    made = cast.conflict(scene.members[0], scene.red)
    Conflict.objects.filter(pk=made.pk).update(found=True, dismissed_at=LATER, dismissed_reason="Another person.")
    assert recused_from(case) == set() and cases_seen_by(scene.members[0]).count() == 1


@pytest.mark.parametrize("merged", ["before", "after"])
def test_a_merged_team_is_the_same_one(merged: str, scene: Scene, olga: User) -> None:
    green, told = money.team("green"), {"reason": "One group.", "by": olga, "now": LATER}
    cast.conflict(scene.members[0], green)
    if merged == "before":
        teams_merge(team=scene.blue, into=green, **told)
    case = scene.opened()
    if merged == "after":
        assert recused_from(case) == set()
        teams_merge(team=scene.blue, into=green, **told)
    assert recused_from(case) == {scene.members[0].pk}
    assert not cases_seen_by(scene.members[0]).exists()


# Which teams a case is about ------------------------------------------------------------------------------------------


def parties(scene: Scene) -> dict[str, str]:
    return dict(CaseParty.objects.filter(case=scene.opened()).values_list("team__name", "role"))


def test_it_is_about_who_sent_the_picture_and_whose_defense_was_at_stake(scene: Scene) -> None:
    """A copy under embargo makes nobody a party (R24)."""
    copy = {"received_at": LATER, "week": "2026-W48", "copy_of": scene.attack}
    Attack.objects.create(team=money.team("green"), image=scene.image, **copy)
    assert parties(scene) == {"red": "sender", "blue": "defender"}


def test_a_picture_that_names_its_targets_is_about_their_teams_alone(scene: Scene) -> None:
    other = money.staked(money.defense("tower", money.team("green")))
    scene.attack.targets.add(other.defense)
    assert parties(scene) == {"red": "sender", "green": "defender"}


def test_who_staked_in_a_later_week_is_no_party_unless_it_breaks_them(scene: Scene) -> None:
    late = money.staked(money.defense("late", money.team("green")), at=scene.attack.received_at + 168 * HOUR)
    assert "green" not in parties(scene)
    money.broken(late.defense, scene.attack)
    case = scene.opened()
    assert (parties_add(case, now=LATER), parties_add(case, now=LATER)) == (1, 0)
    assert parties(scene)["green"] == "defender"


# Whose word stands --------------------------------------------------------------------------------------------------


def asked(scene: Scene, team: Team, now: datetime) -> list[str]:
    """Of which teams a new motion about `team` asks the first member, who says nothing more."""
    case = case_cast.motion(scene, scene.members[2], team)
    Case.objects.filter(pk=case.pk).update(opened_at=now)
    case.refresh_from_db()
    found = [each.name for each in undisclosed(case, scene.members[0])]
    row = next(each for each in rows_of([_as_listed(case, scene.members[0])], scene.members[0], now=now))
    assert row.disclosed is not bool(found), "the list says the same"
    return found


def _as_listed(case: Case, member: User) -> Case:
    return cases_asked(member, Asked(state="all")).get(pk=case.pk)


WORDS: list[tuple[timedelta, list[str], str]] = [
    (timedelta(0), [], "said of another case at the same time"),
    (DISCLOSURE_STANDS, [], "said just within the time for which it stands"),
    (DISCLOSURE_STANDS + timedelta(microseconds=1), ["red"], "said too long before the case was opened"),
    (-10 * DISCLOSURE_STANDS, [], "said after the case was opened, of another one"),
]


@pytest.mark.parametrize(("after", "teams", "why"), WORDS, ids=[row[2] for row in WORDS])
def test_what_a_member_said_of_a_team_stands_for_a_time(
    after: timedelta, teams: list[str], why: str, scene: Scene
) -> None:
    cast.tell(scene.opened(), scene.members[0], LATER)
    assert asked(scene, scene.red, LATER + after) == teams, why


def _declared(scene: Scene) -> None:
    member, kind = scene.members[0], ConflictKind.OTHER
    told = {"member": member, "team": scene.red, "since": LATER, "by": member, "now": LATER + HOUR}
    made = conflict_declare(kind=kind, words="", **told)
    conflict_end(conflict_id=made.pk, reason="We fell out.", by=member, now=LATER + 2 * HOUR)


def _found(scene: Scene) -> None:
    told = {"found": True, "dismissed_at": LATER + 2 * HOUR, "dismissed_reason": "A namesake."}
    made = cast.conflict(scene.members[0], scene.red)
    Conflict.objects.filter(pk=made.pk).update(declared_at=LATER + HOUR, **told)


def _of_before(scene: Scene) -> None:
    cast.conflict(scene.members[0], scene.red, OPENED - 2 * HOUR, OPENED - HOUR)


def _of_another(scene: Scene) -> None:
    made = cast.conflict(scene.members[1], scene.red)
    Conflict.objects.filter(pk=made.pk).update(declared_at=LATER + HOUR, until=LATER + 2 * HOUR)


def _merged(scene: Scene) -> None:
    told = {"reason": "One group.", "by": factories.user("olga", "organizers"), "now": LATER + HOUR}
    teams_merge(team=scene.red, into=money.team("green"), **told)


SINCE: list[tuple[Callable[[Scene], None], str, list[str], str]] = [
    (_declared, "red", ["red"], "a conflict was declared since, though it is over"),
    (_found, "red", ["red"], "one was found since, though it was dismissed"),
    (_of_before, "red", [], "one that was on record before they spoke"),
    (_of_another, "red", [], "one of another member"),
    (_merged, "green", ["green"], "of the team that it was merged into they said nothing"),
    (lambda scene: None, "green", ["green"], "of a team that they were never asked about"),
    (lambda scene: None, "blue", [], "of every team of the case"),
]


@pytest.mark.parametrize(("happens", "about", "teams", "why"), SINCE, ids=[row[3] for row in SINCE])
def test_what_takes_their_word_back(
    happens: Callable[[Scene], None], about: str, teams: list[str], why: str, scene: Scene
) -> None:
    cast.tell(scene.opened(), scene.members[0], LATER)
    happens(scene)
    team = Team.objects.filter(name=about).first() or money.team(about)
    assert asked(scene, team, LATER + 3 * HOUR) == teams, why


def test_who_is_asked_again_speaks_again_and_their_vote_counts_then(case: Case, scene: Scene) -> None:
    member = scene.members[0]
    cast.vote(case, member, VoteChoice.UPHOLD)
    _found(scene)
    assert [team.name for team in undisclosed(case, member)] == ["red"] and count_of(case).waiting == 1
    cast.tell(case, member, LATER + 3 * HOUR)
    assert undisclosed(case, member) == [] and len(count_of(case).votes) == 1
    assert Disclosure.objects.get(case=case, member=member, team=scene.red).made_at == LATER + 3 * HOUR
