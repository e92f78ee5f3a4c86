"""Who steps aside for whom, and what they may know of (R21)."""

from datetime import datetime, timedelta

import pytest

from contest.board.recusal import cases_seen_by, judges_of, recused_from, undisclosed
from contest.models import Attack, CaseParty, Conflict
from contest.teams.merging import teams_merge
from tests import factories
from tests.contest.board import cast
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
    since: datetime, until: datetime | None, closed: bool, aside: bool, why: str
) -> None:
    scene = Scene.make()
    case = scene.opened(now=OPENED)
    if closed:
        case.state, case.closed_at = "closed", CLOSED
        case.save()
    cast.conflict(scene.members[0], scene.blue, since, until)
    assert (scene.members[0].pk in recused_from(case)) is aside, why
    assert cases_seen_by(scene.members[0]).filter(pk=case.pk).exists() is not aside, why
    assert (scene.members[0] in judges_of(case)) is not aside, why
    assert scene.members[1] in judges_of(case) and cases_seen_by(scene.members[1]).count() == 1


def test_a_dismissed_conflict_counts_for_nothing() -> None:
    scene = Scene.make()
    case = scene.opened()
    made = cast.conflict(scene.members[0], scene.red)
    Conflict.objects.filter(pk=made.pk).update(found=True, dismissed_at=LATER, dismissed_reason="Another person.")
    assert recused_from(case) == set() and cases_seen_by(scene.members[0]).count() == 1


def test_a_conflict_with_another_team_changes_nothing() -> None:
    scene = Scene.make()
    case = scene.opened()
    cast.conflict(scene.members[0], money.team("green"))
    assert recused_from(case) == set()


@pytest.mark.parametrize("merged", ["before", "after"])
def test_a_merged_team_is_the_same_one(merged: str) -> None:
    scene, olga = Scene.make(), factories.user("olga", "organizers")
    green = money.team("green")
    cast.conflict(scene.members[0], green)
    told = {"reason": "One group.", "by": olga, "now": LATER}
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
    case = scene.opened()
    return dict(CaseParty.objects.filter(case=case).values_list("team__name", "role"))


def test_it_is_about_who_sent_the_picture_and_whose_defense_was_at_stake() -> None:
    assert parties(Scene.make()) == {"red": "sender", "blue": "defender"}


def test_a_picture_that_names_its_targets_is_about_their_teams_alone() -> None:
    scene = Scene.make()
    other = money.staked(money.defense("tower", money.team("green")))
    scene.attack.targets.add(other.defense)
    assert parties(scene) == {"red": "sender", "green": "defender"}


def test_who_staked_after_it_was_sent_is_no_party_unless_it_breaks_them() -> None:
    scene = Scene.make()
    late = money.staked(money.defense("late", money.team("green")), at=scene.attack.received_at + HOUR)
    assert "green" not in parties(scene)
    money.broken(late.defense, scene.attack)
    case = scene.opened()
    from contest.board.cases import parties_add

    assert parties_add(case, now=LATER) == 1
    assert CaseParty.objects.get(case=case, team__name="green").role == "defender"
    assert parties_add(case, now=LATER) == 0


def test_a_copy_under_embargo_makes_nobody_a_party() -> None:
    scene = Scene.make()
    copy = Attack.objects.create(
        team=money.team("green"), image=scene.image, received_at=LATER, week="2026-W48", copy_of=scene.attack
    )
    assert parties(scene) == {"red": "sender", "blue": "defender"}
    assert copy.team.name == "green"


def test_its_content_waits_until_the_member_spoke_about_every_team() -> None:
    scene = Scene.make()
    case = scene.opened()
    assert {team.name for team in undisclosed(case, scene.members[0])} == {"red", "blue"}
    cast.tell(case, scene.members[0])
    assert undisclosed(case, scene.members[0]) == []
    CaseParty.objects.create(case=case, team=money.team("green"), role="appellant", added_at=LATER)
    assert [team.name for team in undisclosed(case, scene.members[0])] == ["green"]
