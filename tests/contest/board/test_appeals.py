"""Sending an appeal, answering one, who is told, and what is counted of them (R18)."""

from datetime import datetime, timedelta
from threading import Barrier, Thread
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, connection, connections, transaction

from common.errors import DomainError, InvalidInput, NotFound
from contest.board import appeals
from contest.board.deciding import cases_close
from contest.board.recusal import teams_of
from contest.enums import AppealSide, CaseState, MessageKind, PartyRole, VoteChoice
from contest.models import Appeal, Case, Member, Message, Stake, Statement, Team
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


@pytest.fixture
def scene(db: None) -> Scene:
    made = Scene.make()
    for team in (made.red, made.blue):
        joins(team)
    return made


def joins(team: Team, name: str = "") -> User:
    user = factories.user(name or f"captain of {team.name}")
    Member.objects.create(team=team, user=user, captain=not name, joined_at=cast.BEFORE)
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


def test_a_second_team_joins_the_case(scene: Scene) -> None:
    green = cast.team("green")
    joins(green)
    cast.deposit(cast.PRIZE * 4, factories.user("a sponsor", "organizers"))
    cast.staked(cast.defense("hold", green))
    first, second = send(scene), send(scene, green, LATER + DAY)
    assert first.case == second.case and Case.objects.count() == 1
    assert set(teams_of(first.case)) == {scene.red, scene.blue, green}
    assert refused("appealed", send, scene, green).appeal == second  # type: ignore[attr-defined]  # of Appealed


def test_who_has_a_conflict_with_a_team_that_joins_forgets_the_case(scene: Scene) -> None:
    green, torn = cast.team("green"), scene.members[0]
    joins(green)
    case = send(scene).case
    assert Message.objects.filter(kind=MessageKind.CASE_OPENED, user=torn).exists()
    board.conflict(torn, green)
    cast.deposit(cast.PRIZE * 4, factories.user("a sponsor", "organizers"))
    cast.staked(cast.defense("hold", green), at=cast.MONDAY + 2 * DAY)
    send(scene, green)
    assert teams_of(case)[-1] == green
    told = Message.objects.filter(kind=MessageKind.CASE_OPENED).values_list("user", flat=True)
    assert set(told) == {member.pk for member in scene.members[1:]}


def test_whoever_appeals_is_a_party_though_the_facts_do_not_make_it_one(scene: Scene) -> None:
    """A defense that was staked after the picture was sent is not one that it was aimed at."""
    Stake.objects.filter(pk=scene.stake.pk).update(staked_at=RULED - DAY)
    appeal = send(scene)
    roles = dict(appeal.case.parties.values_list("team__name", "role"))
    assert roles == {"red": PartyRole.SENDER, "blue": PartyRole.APPELLANT}


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


@pytest.mark.parametrize(("told", "field", "words"), WRONG)
def test_what_cannot_be_sent_is_refused_at_its_field(told: Any, field: str, words: str, scene: Scene) -> None:
    with pytest.raises(InvalidInput, match=words) as found:
        send(scene, **told)
    assert found.value.field == field and not Case.objects.exists()


@pytest.mark.parametrize(
    "told",
    [
        {"argument": SHORTEST},
        {"argument": (ARGUMENT * 200)[:8_000]},
        {"marks": [MARK] * 20},
        {"marks": [{"x": 0, "y": 0, "width": 299, "height": 299}]},
        {"marks": [{**MARK, "words": "w" * 200}]},
    ],
)
def test_what_is_just_within_the_bounds_is_taken(told: Any, scene: Scene) -> None:
    assert send(scene, **told).pk


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


def test_a_second_appeal_tells_the_other_side_again_and_the_board_once(scene: Scene) -> None:
    green = cast.team("green")
    joins(green)
    cast.deposit(cast.PRIZE * 4, factories.user("a sponsor", "organizers"))
    cast.staked(cast.defense("hold", green))
    send(scene)
    send(scene, green)
    who = (
        Message.objects.filter(kind=MessageKind.APPEAL_AGAINST).order_by("pk").values_list("user__username", flat=True)
    )
    assert list(who) == ["captain of red", "captain of green", "captain of red"]
    assert Message.objects.filter(kind=MessageKind.CASE_OPENED).count() == len(scene.members)


def test_a_refused_appeal_tells_nobody(scene: Scene) -> None:
    send(scene)
    Message.objects.all().delete()
    refused("appealed", send, scene)
    assert not Message.objects.exists()


# The other side -------------------------------------------------------------------------------------------------------


def test_the_other_side_answers_once_while_the_board_votes(scene: Scene) -> None:
    case = send(scene).case
    assert answer(scene, case, words=f"  {ANSWER}  ").words == ANSWER
    refused("stated", answer, scene, case)
    refused("appealed", answer, scene, case, scene.blue)
    green = cast.team("green")
    joins(green)
    with pytest.raises(NotFound):
        answer(scene, case, green)
    assert Statement.objects.count() == 1


@pytest.mark.parametrize(
    ("code", "words", "why"),
    [
        ("invalid", "", "nothing"),
        ("invalid", "  \x00 ", "nothing that could be read"),
        ("invalid", "It is a wing of a bird. " * 400, "more than anybody reads"),
        ("says_too_little", SHORTEST[:-1], "one character less than an argument has"),
        ("says_too_little", "no " * 30, "one word over and over"),
    ],
)
def test_an_answer_says_something_as_an_argument_does(code: str, words: str, why: str, scene: Scene) -> None:
    case = send(scene).case
    assert refused(code, answer, scene, case, words=words).field == "words", why


@pytest.mark.parametrize("state", [CaseState.PANEL, CaseState.CLOSED])
def test_nothing_is_answered_once_the_board_decided(state: CaseState, scene: Scene) -> None:
    case = send(scene).case
    Case.objects.filter(pk=case.pk).update(state=state, closed_at=LATER if state is CaseState.CLOSED else None)
    refused("decided", answer, scene, case)


def test_a_case_that_nobody_appealed_is_the_boards_alone(scene: Scene) -> None:
    case = scene.opened(by=scene.members[0])
    assert scene.red in teams_of(case)
    with pytest.raises(NotFound):
        appeals.case_of_party(case.public_id, scene.red, now=LATER)
    send(scene)
    assert appeals.case_of_party(case.public_id, scene.red, now=LATER) == case


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


@pytest.mark.parametrize(("ballot", "changed"), [(board.OVERRULE_REJECTED, True), (VoteChoice.UPHOLD, False)])
def test_an_appeal_changed_something_where_another_outcome_holds(ballot: Any, changed: bool, scene: Scene) -> None:
    appeal = send(scene)
    decided(scene, appeal.case, ballot)
    assert appeals.is_changed(appeals.appeals_of(scene.blue).get()) is changed


@pytest.mark.parametrize(("said", "changed"), [([SURE] * 3, False), ([SURE, SURE, UNSURE], True)])
def test_an_appeal_waits_for_the_taskers_that_it_led_to(said: Any, changed: bool, scene: Scene) -> None:
    appeal = send(scene)
    decided(scene, appeal.case, VoteChoice.MORE_TASKERS)
    assert appeal.case.decision.outcome == "more_taskers"
    scene.panel.refresh_from_db()
    board.answers(scene.panel, *said, now=LATER + 2 * DAY)
    board.rule(scene.panel, now=LATER + 2 * DAY)
    assert cases_close(now=LATER + 2 * DAY) == 1
    assert appeals.is_changed(appeals.appeals_of(scene.blue).get()) is changed


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


def test_a_case_keeps_the_week_open_that_sent_the_picture_again(scene: Scene) -> None:
    again = cast.attack(cast.team("green"), days=20, image=scene.image, copy_of=scene.attack)
    case = send(scene).case
    after, of = LATER + 60 * DAY, scene.stake.defense
    cast.answered(of, scene.image, 1, at=RULED)
    names = [week.name for week in Weeks(after).open_before(after, of=of)]
    assert names == [scene.attack.week, again.week]
    Case.objects.filter(pk=case.pk).update(state=CaseState.CLOSED, closed_at=LATER)
    assert Weeks(after).open_before(after, of=of) == []


# At once --------------------------------------------------------------------------------------------------------------


def at_once(*calls: Any) -> list[Any]:
    """Run the calls in threads of their own that begin together; what each returned or raised."""
    together, found = Barrier(len(calls)), [None] * len(calls)

    def run(place: int, call: Any) -> None:
        try:
            together.wait()
            found[place] = call()
        except DomainError as error:
            found[place] = error.code
        finally:
            connections.close_all()

    threads = [Thread(target=run, args=(place, call)) for place, call in enumerate(calls)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return found


@pytest.mark.postgres("several at once: SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_two_teams_at_once_are_in_one_case() -> None:
    scene, green = Scene.make(), cast.team("green")
    for team in (scene.blue, green):
        joins(team)
    cast.deposit(cast.PRIZE * 4, factories.user("a sponsor", "organizers"))
    cast.staked(cast.defense("hold", green))
    found = at_once(lambda: send(scene).case_id, lambda: send(scene, green).case_id)
    assert found == [Case.objects.get().pk] * 2 and Appeal.objects.count() == 2
    assert connection.vendor == "postgresql"


@pytest.mark.postgres("several at once: SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_a_team_that_appeals_twice_at_once_has_one_appeal() -> None:
    scene = Scene.make()
    joins(scene.blue)
    found = at_once(*[lambda: send(scene).pk] * 4)
    assert sorted(map(str, found)) == sorted([str(Appeal.objects.get().pk), *["appealed"] * 3])


@pytest.mark.postgres("several at once: SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_a_team_that_answers_twice_at_once_has_one_answer() -> None:
    scene = Scene.make()
    for team in (scene.red, scene.blue):
        joins(team)
    case = send(scene).case
    found = at_once(*[lambda: answer(scene, case).pk] * 4)
    assert sorted(map(str, found)) == sorted([str(Statement.objects.get().pk), *["stated"] * 3])
