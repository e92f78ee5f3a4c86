"""Sending an appeal, answering one, who is told, and what is counted of them (R18)."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, transaction

from common.errors import DomainError, InvalidInput, NotFound
from contest.board import appeals
from contest.board.deciding import cases_close
from contest.board.recusal import teams_of
from contest.enums import AppealSide, CaseState, MessageKind, VoteChoice
from contest.models import Appeal, Case, Member, Message, Statement, Team
from contest.settled import Weeks
from contest.teams.merging import teams_merge
from contest.weeks import week_at
from tests import factories
from tests.contest.board import cast as board
from tests.contest.board.cast import LATER, RULED, SURE, UNSURE, Scene
from tests.contest.money import cast

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
ARGUMENT = "The wing in the middle is a part of the branch behind it: see the mark."
ANSWER = "It is a wing: the branch ends where the feathers begin."
MARK = {"x": 120, "y": 88, "width": 40, "height": 36, "words": "the branch"}


@pytest.fixture(scope="module")
def shared_scene(module_world: Path) -> Scene:
    """With green, a third team."""
    made = Scene.make()
    for team in (made.red, made.blue, cast.team("green")):
        joins(team)
    return made


@pytest.fixture
def green() -> Team:
    return Team.objects.get(name="green")


@pytest.fixture
def staked(green: Team) -> Team:
    """Green, whose defense was at stake too."""
    cast.deposit(cast.PRIZE * 4, factories.user("a sponsor", "organizers"))
    cast.staked(cast.defense("hold", green))
    return green


def joins(team: Team) -> User:
    user = factories.user(f"captain of {team.name}")
    Member.objects.create(team=team, user=user, captain=True, joined_at=cast.BEFORE)
    return user


def captain(team: Team) -> User:
    return User.objects.get(membership__team=team, membership__captain=True)


def send(scene: Scene, team: Team | None = None, now: datetime = LATER, **told: Any) -> Appeal:
    team = team or scene.blue
    given = {"argument": ARGUMENT, "marks": []} | told
    return appeals.appeal_send(image=scene.image, team=team, by=captain(team), now=now, **given)


def answer(scene: Scene, case: Case, team: Team | None = None, words: str = ANSWER, **told: Any) -> Statement:
    team = team or scene.red
    by, now = captain(team), told.pop("now", LATER)
    return appeals.statement_send(case=case, team=team, words=words, by=by, now=now)


def refused(code: str, call: Any, *args: Any, **told: Any) -> DomainError:
    with pytest.raises(DomainError) as found:
        call(*args, **told)
    assert found.value.code == code
    return found.value


# Sending --------------------------------------------------------------------------------------------------------------


def test_an_appeal_opens_the_case_of_its_picture_with_both_teams(scene: Scene) -> None:
    appeal = send(scene, argument=f"  {ARGUMENT}\r\nAnd more.\x00 ", marks=[MARK])
    assert (appeal.side, appeal.defense) == (AppealSide.DEFENDER, scene.stake.defense)
    assert (appeal.ruling, appeal.argument, appeal.marks) == (scene.ruling, f"{ARGUMENT}\nAnd more.", [MARK])
    case = appeal.case
    assert (case.state, case.ruling, case.due_at) == (CaseState.OPEN, scene.ruling, LATER + 14 * DAY)
    assert set(teams_of(case)) == {scene.red, scene.blue}


def test_a_second_team_joins_the_case(scene: Scene, staked: Team) -> None:
    """The other side is told again, and the board once; who has a conflict with the team forgets the case (R21)."""
    torn, first = scene.members[0], send(scene)
    board.conflict(torn, staked)
    second = send(scene, staked, LATER + DAY)
    assert first.case == second.case and Case.objects.count() == 1
    assert set(teams_of(first.case)) == {scene.red, scene.blue, staked}
    assert refused("appealed", send, scene, staked).appeal == second  # type: ignore[attr-defined]  # of Appealed
    against = Message.objects.filter(kind=MessageKind.APPEAL_AGAINST).order_by("pk")
    assert [each.user.username.removeprefix("captain of ") for each in against] == ["red", "green", "red"]
    opened = Message.objects.filter(kind=MessageKind.CASE_OPENED).values_list("user", flat=True)
    assert sorted(opened) == [member.pk for member in scene.members[1:]]


SHORTEST = "The wing in front is that of a toy bird."
WRONG = [
    ({"argument": ""}, "argument", "Write why the ruling is wrong"),
    ({"argument": " " * 50}, "argument", "Write why the ruling is wrong"),
    ({"argument": SHORTEST[:-1]}, "argument", "There are 39 and 10."),
    ({"argument": f"   {SHORTEST[:-1]}   "}, "argument", "There are 39 and 10."),
    ({"argument": "wing " * 20}, "argument", "There are 99 and 1."),
    ({"argument": "x" * 8_001}, "argument", "at most 8,000"),
    ({"marks": [MARK] * 21}, "marks", "at most 20 marks; there are 21"),
    ({"marks": [MARK, {**MARK, "x": 260}]}, "marks", "Mark 2 is not inside the picture, which has 299 times 299"),
    ({"marks": [{**MARK, "y": -1}]}, "marks", "Mark 1 is not inside"),
    ({"marks": [{**MARK, "height": 0}]}, "marks", "Mark 1 is not inside"),
    ({"marks": [{**MARK, "width": 10**30}]}, "marks", "Mark 1 is not inside"),
    ({"marks": [{**MARK, "x": 1.5}]}, "marks", "whole pixels"),
    ({"marks": [{**MARK, "x": "12a"}]}, "marks", "whole pixels"),
    ({"marks": [{**MARK, "x": True}]}, "marks", "whole pixels"),
    ({"marks": [{"x": 1, "y": 1}]}, "marks", "whole pixels"),
    ({"marks": [{**MARK, "colour": "red"}]}, "marks", "Mark 1 is not one"),
    ({"marks": ["here"]}, "marks", "Mark 1 is not one"),
    ({"marks": [{**MARK, "words": "w" * 201}]}, "marks", "at most 200"),
    ({"marks": [{**MARK, "words": 7}]}, "marks", "at most 200"),
]


def test_what_cannot_be_sent_is_refused_at_its_field(scene: Scene) -> None:
    for told, field, words in WRONG:
        with pytest.raises(InvalidInput, match=words) as found:
            send(scene, **told)
        assert found.value.field == field, told
    assert not Case.objects.exists()


@pytest.mark.parametrize(
    "told",
    [
        {"argument": SHORTEST, "marks": [{"x": 0, "y": 0, "width": 299, "height": 299}]},
        {"argument": (ARGUMENT * 200)[:8_000], "marks": [{**MARK, "words": "w" * 200}] * 20},
    ],
)
def test_what_is_just_within_the_bounds_is_taken(told: Any, scene: Scene) -> None:
    assert send(scene, **told).pk


@pytest.mark.both("triggers keep appeals and answers as they are")
def test_the_database_refuses_to_change_an_appeal_or_a_statement(scene: Scene) -> None:
    appeal = send(scene)
    statement = answer(scene, appeal.case)
    for row, column in ((appeal, "argument"), (statement, "words")):
        with pytest.raises(DatabaseError), transaction.atomic():
            type(row).objects.filter(pk=row.pk).update(**{column: "otherwise"})
        with pytest.raises(DatabaseError), transaction.atomic():
            row.delete()


# Who is told ----------------------------------------------------------------------------------------------------------


def told(kind: MessageKind) -> dict[str, Message]:
    return {each.user.username: each for each in Message.objects.filter(kind=kind).select_related("user")}


def test_both_teams_and_the_members_who_may_judge_are_told_at_once(scene: Scene) -> None:
    board.conflict(scene.members[2], scene.red)
    appeal = send(scene)
    receipt, against = told(MessageKind.APPEAL_RECEIVED), told(MessageKind.APPEAL_AGAINST)
    assert set(receipt) == {"captain of blue"} and set(against) == {"captain of red"}
    assert receipt["captain of blue"].about == f"/appeals/{appeal.public_id}/"
    assert against["captain of red"].about == f"/appeals/case/{appeal.case.public_id}/"
    assert "blue" not in str(against["captain of red"].facts), "who appealed is not named before the release"
    assert set(told(MessageKind.CASE_OPENED)) == {"member0", "member1"}, "nobody who steps aside"


# The other side -------------------------------------------------------------------------------------------------------


def test_the_other_side_answers_once_while_the_board_votes(scene: Scene, green: Team) -> None:
    case = send(scene).case
    assert answer(scene, case, words=f"  {ANSWER}  ").words == ANSWER
    refused("stated", answer, scene, case)
    refused("appealed", answer, scene, case, scene.blue)
    with pytest.raises(NotFound):
        answer(scene, case, green)
    assert Statement.objects.count() == 1


EMPTY_WORDS = [
    ("invalid", "  \x00 ", "nothing that could be read"),
    ("invalid", "It is a wing of a bird. " * 400, "more than anybody reads"),
    ("says_too_little", SHORTEST[:-1], "one character less than an argument has"),
    ("says_too_little", "no " * 30, "one word over and over"),
]


def test_an_answer_says_something_as_an_argument_does_and_comes_before_the_decision(scene: Scene) -> None:
    case = send(scene).case
    for code, words, why in EMPTY_WORDS:
        assert refused(code, answer, scene, case, words=words).field == "words", why
    for state, closed in ((CaseState.PANEL, None), (CaseState.CLOSED, LATER)):
        Case.objects.filter(pk=case.pk).update(state=state, closed_at=closed)
        refused("decided", answer, scene, case)


# Reading --------------------------------------------------------------------------------------------------------------


def test_a_team_reads_its_own_appeals_and_those_of_what_was_merged_into_it(scene: Scene) -> None:
    appeal, big = send(scene), cast.team("big")
    with pytest.raises(NotFound):
        appeals.appeal_seen_by(appeal.public_id, big)
    with pytest.raises(NotFound):
        appeals.appeal_seen_by("L-0000\x00", scene.blue)
    joins(big)
    teams_merge(team=scene.blue, into=big, reason="One.", by=factories.user("otto", "organizers"), now=LATER)
    assert list(appeals.appeals_of(big)) == [appeal]
    assert appeals.appeal_seen_by(appeal.public_id, big) == appeal


def test_the_clock_runs_until_the_board_decided(scene: Scene) -> None:
    case = send(scene).case
    assert appeals.clock_of(case, LATER).due_at == LATER + 14 * DAY
    assert not appeals.clock_of(case, case.due_at - timedelta(microseconds=1)).late
    assert appeals.clock_of(case, case.due_at).late
    board.votes(case, scene.members[:2], VoteChoice.UPHOLD)
    decision = board.decide(case, scene.members[0], explanation="")
    clock = appeals.clock_of(Case.objects.get(pk=case.pk), case.due_at + DAY)
    assert (clock.state, clock.late, clock.decided_at) == (CaseState.CLOSED, False, decision.decided_at)


def decided(scene: Scene, case: Case, ballot: Any, now: datetime = LATER + DAY) -> None:
    board.votes(case, scene.members[:2], ballot, now)
    board.decide(case, scene.members[0], now)


def test_an_appeal_changed_something_where_another_outcome_holds(scene: Scene) -> None:
    """And waits for the taskers that it led to."""
    appeal, changed = send(scene), []
    for ballot in (VoteChoice.UPHOLD, board.OVERRULE_REJECTED):
        with transaction.atomic():
            decided(scene, appeal.case, ballot)
            changed.append(appeals.is_changed(appeals.appeals_of(scene.blue).get()))
            transaction.set_rollback(True)
    decided(scene, appeal.case, VoteChoice.MORE_TASKERS)
    scene.panel.refresh_from_db()
    board.answers(scene.panel, SURE, SURE, UNSURE, now=LATER + 2 * DAY)
    changed.append(appeals.is_changed(appeals.appeals_of(scene.blue).get()))
    board.rule(scene.panel, now=LATER + 2 * DAY)
    assert cases_close(now=LATER + 2 * DAY) == 1
    changed.append(appeals.is_changed(appeals.appeals_of(scene.blue).get()))
    assert [bool(each) for each in changed] == [False, True, False, True]


# Payments wait --------------------------------------------------------------------------------------------------------


def test_a_week_is_not_past_its_appeals_while_a_case_of_it_is_not_closed(scene: Scene) -> None:
    late = RULED + 6 * DAY
    week, of, after = week_at(scene.image.received_at), scene.stake.defense, late + 30 * DAY
    cast.answered(of, scene.image, 1, at=RULED)
    assert Weeks(after).appeals_closed(week, of=of)
    case = send(scene, now=late).case
    for state, closed in ((CaseState.OPEN, False), (CaseState.PANEL, False), (CaseState.CLOSED, True)):
        Case.objects.filter(pk=case.pk).update(state=state, closed_at=late if closed else None)
        known = Weeks(after)
        assert known.settled(week, of=of), "what is due is posted; payments alone wait"
        assert known.appeals_closed(week, of=of) is closed
        assert (known.appeals_close_at(week, of=of) is None) is not closed
        assert (week in known.open_before(after, of=of)) is not closed


def test_a_case_keeps_the_week_open_that_sent_the_picture_again(scene: Scene, green: Team) -> None:
    again = cast.attack(green, days=20, image=scene.image, copy_of=scene.attack)
    case = send(scene).case
    after, of = LATER + 60 * DAY, scene.stake.defense
    cast.answered(of, scene.image, 1, at=RULED)
    names = [week.name for week in Weeks(after).open_before(after, of=of)]
    assert names == [scene.attack.week, again.week]
    Case.objects.filter(pk=case.pk).update(state=CaseState.CLOSED, closed_at=LATER)
    assert Weeks(after).open_before(after, of=of) == []
