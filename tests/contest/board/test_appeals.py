"""Sending an appeal and answering one; which teams are told of the case, see it and answer in it, and from when on
(R18, R24, R29)."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.db import DatabaseError, transaction
from django.test import Client

from common.errors import InvalidInput
from contest.appeals import services
from contest.appeals.services import case_of_party
from contest.board.decisions import cases_close
from contest.board.models import Appeal, AppealStatement
from contest.board.recusal import recused_from, teams_of_case
from contest.board.selectors import teams_informed
from contest.core.enums import AppealSide, CaseState, MessageKind, VoteChoice
from contest.core.models import AttackTarget, Case, Member, Release, Stake, Team
from contest.core.settled_weeks import Weeks
from contest.core.weeks import week_at
from contest.notifications.cases import notify_cases
from contest.outbox.grouped_facts import MAX_FACT_AGE
from contest.outbox.models import Message
from contest.outbox.sending import messages_send
from contest.pages.team.appeal_rows import cases_of
from contest.teams.services import teams_merge
from tests import factories
from tests.contest.attacks.cast import captain
from tests.contest.board import cast as board
from tests.contest.board.case_cast import ANSWER, ARGUMENT, joins
from tests.contest.board.cast import LATER, RULED, SURE, UNSURE, Scene, decided
from tests.contest.ledger import cast
from tests.contest.pages import shows
from tests.refusals import refused

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
WEEK = "2026-W47"
MARK = {"x": 120, "y": 88, "width": 40, "height": 36, "words": "the branch"}


@pytest.fixture(scope="module")
def shared_scene(module_world: Path) -> Scene:
    """With green, a third team that has money for a stake, and a captain of each."""
    made = Scene.make()
    cast.deposit(10 * cast.PRIZE, factories.user("a sponsor", "organizers"))
    for team in (made.red, made.blue, cast.team("green")):
        joins(team, f"captain of {team.name}")
    return made


@pytest.fixture
def green(scene: Scene) -> Team:
    return Team.objects.get(name="green")


def send(scene: Scene, team: Team | None = None, **told: Any) -> Appeal:
    team, given = team or scene.blue, {"argument": ARGUMENT, "marks": [], "now": LATER} | told
    return services.appeal_send(image=scene.image, team=team, by=captain(team), **given)


def answer(case: Case, team: Team, words: str = ANSWER) -> AppealStatement:
    return services.statement_send(case=case, team=team, words=words, by=captain(team), now=LATER)


# Sending --------------------------------------------------------------------------------------------------------------


def test_an_appeal_opens_the_case_of_its_picture_with_both_teams(scene: Scene) -> None:
    appeal = send(scene, argument=f"  {ARGUMENT}\r\nAnd more.\x00 ", marks=[MARK])
    assert (appeal.side, appeal.defense) == (AppealSide.DEFENDER, scene.stake.defense)
    assert (appeal.ruling, appeal.argument, appeal.marks) == (scene.ruling, f"{ARGUMENT}\nAnd more.", [MARK])
    case = appeal.case
    assert (case.state, case.ruling, case.due_at) == (CaseState.OPEN, scene.ruling, LATER + 14 * DAY)
    assert set(teams_of_case(case)) == {scene.red, scene.blue}


def test_a_second_team_joins_the_case(scene: Scene, green: Team) -> None:
    """The other side is told again, and the board once; who has a conflict with the team forgets the case (R21)."""
    cast.staked(cast.defense("hold", green))
    board.conflict(scene.members[0], green)
    first, second = send(scene), send(scene, green, now=LATER + DAY)
    assert first.case == second.case and Case.objects.count() == 1
    assert set(teams_of_case(first.case)) == {scene.red, scene.blue, green}
    assert refused("appealed", send, scene, green).appeal == second
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
    ids=["shortest", "longest"],
)
def test_what_is_just_within_the_bounds_is_taken(told: Any, scene: Scene) -> None:
    assert send(scene, **told).pk


@pytest.mark.both("triggers keep appeals and answers as they are")
def test_the_database_refuses_to_change_an_appeal_or_a_statement(scene: Scene) -> None:
    appeal = send(scene)
    for row, column in ((appeal, "argument"), (answer(appeal.case, scene.red), "words")):
        with pytest.raises(DatabaseError), transaction.atomic():
            type(row).objects.filter(pk=row.pk).update(**{column: "otherwise"})
        with pytest.raises(DatabaseError), transaction.atomic():
            row.delete()


def test_both_teams_and_the_members_who_may_judge_are_told_at_once(scene: Scene) -> None:
    board.conflict(scene.members[2], scene.red)
    appeal = send(scene)
    page, theirs = f"/appeals/{appeal.public_id}/", f"/appeals/case/{appeal.case.public_id}/"
    kinds = (MessageKind.APPEAL_RECEIVED, MessageKind.APPEAL_AGAINST)
    told = {(each.kind, each.user.username, each.about) for each in Message.objects.filter(kind__in=kinds)}
    assert told == {(kinds[0], "captain of blue", page), (kinds[1], "captain of red", theirs)}
    against, opened = (Message.objects.filter(kind=kind) for kind in (kinds[1], MessageKind.CASE_OPENED))
    assert "blue" not in str(against.get().facts), "who appealed is not named before the release"
    assert {each.user for each in opened} == set(scene.members[:2]), "nobody who steps aside"


# The other side -------------------------------------------------------------------------------------------------------


def test_the_other_side_answers_once_before_the_decision_and_says_something_as_an_argument_does(
    scene: Scene, green: Team
) -> None:
    case = send(scene).case
    for state, closed in ((CaseState.PANEL, None), (CaseState.CLOSED, LATER)):
        Case.objects.filter(pk=case.pk).update(state=state, closed_at=closed)
        refused("decided", answer, case, scene.red)
    Case.objects.filter(pk=case.pk).update(state=CaseState.OPEN, closed_at=None)
    for code, words, why in (
        ("invalid", "  \x00 ", "nothing that could be read"),
        ("invalid", "It is a wing of a bird. " * 400, "more than anybody reads"),
        ("says_too_little", SHORTEST[:-1], "one character less than an argument has"),
        ("says_too_little", "no " * 30, "one word over and over"),
    ):
        assert refused(code, answer, case, scene.red, words).field == "words", why
    refused("appealed", answer, case, scene.blue)
    refused("not_found", answer, case, green)
    assert answer(case, scene.red, f"  {ANSWER}  ").words == ANSWER
    refused("stated", answer, case, scene.red)
    assert AppealStatement.objects.count() == 1


# Reading --------------------------------------------------------------------------------------------------------------


def test_a_team_reads_its_own_appeals_and_those_of_what_was_merged_into_it(scene: Scene, green: Team) -> None:
    appeal = send(scene)
    for name, team in ((appeal.public_id, green), ("L-0000\x00", scene.blue)):
        refused("not_found", services.appeal_seen_by, name, team)
    teams_merge(team=scene.blue, into=green, reason="One.", by=factories.user("otto", "organizers"), now=LATER)
    assert list(services.appeals_of_team(green)) == [appeal]
    assert services.appeal_seen_by(appeal.public_id, green) == appeal


def test_the_clock_runs_until_the_board_decided(scene: Scene) -> None:
    case = send(scene).case
    for late, now in ((False, case.due_at - timedelta(microseconds=1)), (True, case.due_at)):
        assert (services.case_clock(case, now).due_at, services.case_clock(case, now).late) == (LATER + 14 * DAY, late)
    decision = decided(case, scene.members, VoteChoice.UPHOLD)
    clock = services.case_clock(Case.objects.get(pk=case.pk), case.due_at + DAY)
    assert (clock.state, clock.late, clock.decided_at) == (CaseState.CLOSED, False, decision.decided_at)


def test_an_appeal_changed_something_where_another_outcome_holds(scene: Scene) -> None:
    """And waits for the taskers that it led to."""
    case = send(scene).case
    for ballot, changed in ((VoteChoice.UPHOLD, False), (board.OVERRULE_REJECTED, True)):
        with transaction.atomic():
            decided(case, scene.members, ballot)
            assert services.is_changed(services.appeals_of_team(scene.blue).get()) is changed
            transaction.set_rollback(True)
    panel = decided(case, scene.members, VoteChoice.MORE_TASKERS).panel
    board.answers(panel, SURE, SURE, UNSURE, now=LATER + 2 * DAY)
    assert not services.is_changed(services.appeals_of_team(scene.blue).get())
    board.rule(panel, now=LATER + 2 * DAY)
    assert cases_close(now=LATER + 2 * DAY) == 1 and services.is_changed(services.appeals_of_team(scene.blue).get())


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
        waits = (known.appeals_close_at(week, of=of) is None, week in known.open_before(after, of=of))
        assert waits == (not closed, not closed)


def test_a_case_keeps_the_week_open_that_sent_the_picture_again(scene: Scene, green: Team) -> None:
    again = cast.attack(green, days=20, image=scene.image, copy_of=scene.attack)
    case, after, of = send(scene).case, LATER + 60 * DAY, scene.stake.defense
    cast.answered(of, scene.image, 1, at=RULED)
    assert [week.name for week in Weeks(after).open_before(after, of=of)] == [scene.attack.week, again.week]
    Case.objects.filter(pk=case.pk).update(state=CaseState.CLOSED, closed_at=LATER)
    assert Weeks(after).open_before(after, of=of) == []


# What makes green a party of the case. --------------------------------------------------------------------------------


def copied(scene: Scene, green: Team) -> None:
    """It sent the same picture after red."""
    cast.attack(green, days=3, image=scene.image, copy_of=scene.attack)


def copied_at_stake(scene: Scene, green: Team) -> None:
    """And had a defense at stake that it was aimed at."""
    copied(scene, green)
    aimed_at(scene, green)


def broken(scene: Scene, green: Team) -> None:
    """Its defense is at stake since the picture was sent, and broken by it."""
    cast.broken(
        cast.staked(cast.defense("hold", green), at=RULED - timedelta(hours=1)).defense, scene.attack, found=LATER
    )


def named_another(scene: Scene, green: Team) -> None:
    """Red named blue's defense alone; green's was at stake too, and is broken."""
    AttackTarget.objects.create(attack=scene.attack, defense=scene.stake.defense)
    cast.broken(aimed_at(scene, green).defense, scene.attack, found=LATER)


def aimed_at(scene: Scene, green: Team) -> Stake:
    """Its defense was at stake when the picture was sent."""
    return cast.staked(cast.defense("hold", green))


def named(scene: Scene, green: Team) -> None:
    """Red named its defense."""
    AttackTarget.objects.create(attack=scene.attack, defense=aimed_at(scene, green).defense)


def sent_by_a_part(scene: Scene, green: Team) -> None:
    """Red was merged into green, which had sent a copy."""
    copied(scene, green)
    Team.objects.filter(pk=scene.red.pk).update(merged_into=green, merged_at=LATER)


Makes = Callable[[Scene, Team], object]


def letters(who: str) -> list[tuple[str, str]]:
    return [
        (each.kind, each.facts.get("outcome", each.facts.get("holds", "")))
        for each in Message.objects.filter(user__username=f"captain of {who}").order_by("pk")
    ]


def told(who: str) -> set[str]:
    return {kind for kind, _ in letters(who)}


EVERYTHING = {"appeal_against", "case_decided", "ruling_changed"}
OVERRULED = [("case_decided", "the ruling is overruled"), ("ruling_changed", "rejected: the object is partly hidden")]


@pytest.mark.parametrize("makes", [copied, copied_at_stake, broken, named_another])
def test_who_learns_of_the_ruling_with_the_release_learns_of_the_case_then(
    makes: Makes, scene: Scene, green: Team
) -> None:
    makes(scene, green)
    case = send(scene).case
    board.conflict(scene.members[2], green)
    assert scene.members[2].pk in recused_from(case), (
        "green is a party all the same: who is tied to it steps aside (R21)"
    )
    refused("not_found", answer, case, green)
    decided(case, scene.members, board.OVERRULE_REJECTED)
    assert told("green") == set() and told("red") == EVERYTHING
    assert list(cases_of(green, now=LATER)) == [] and green not in teams_informed(case, now=LATER)
    refused("not_found", case_of_party, case.public_id, green, now=LATER)
    cast.released(WEEK)
    assert list(cases_of(green, now=LATER)) == [case] and green in teams_informed(case, now=LATER)
    assert case_of_party(case.public_id, green, now=LATER) == case
    assert notify_cases(now=LATER) and letters("green") == OVERRULED


@pytest.mark.parametrize("makes", [copied, broken])
def test_who_learns_of_it_with_the_release_is_told_of_what_happens_after_it(
    makes: Makes, scene: Scene, green: Team
) -> None:
    makes(scene, green)
    cast.released(WEEK)
    case = send(scene).case
    assert answer(case, green).team == green
    decided(case, scene.members, board.OVERRULE_REJECTED)
    before = letters("green")
    assert sorted(kind for kind, _ in before) == sorted(EVERYTHING), "at once"
    assert notify_cases(now=LATER) == 0 and letters("green") == before, "and not again"


ASKED = ("case_decided", "more taskers are asked")
RULED_AGAIN = "the taskers who were asked in addition have answered, and the ruling is rejected: a tasker was not sure"


def asked_and_ruled(scene: Scene, case: Case) -> None:
    panel = decided(case, scene.members, VoteChoice.MORE_TASKERS).panel
    board.rule(panel, SURE, UNSURE, SURE, now=LATER)
    assert cases_close(now=LATER) == 1


def overruled_twice(scene: Scene, case: Case) -> None:
    decided(case, scene.members, board.OVERRULE_REJECTED)
    decided(scene.opened(), scene.members, board.OVERRULE_BIRD)


# Each row: what happened before the release, and what it is told of with the release.
LATE: list[tuple[Callable[[Scene, Case], object], list[tuple[str, str]], str]] = [
    (lambda scene, case: None, [("appeal_against", "")], "an appeal that it may still answer"),
    (
        lambda scene, case: decided(case, scene.members, VoteChoice.MORE_TASKERS),
        *([ASKED], "more taskers are at it"),
    ),
    (
        asked_and_ruled,
        [ASKED, ("case_decided", RULED_AGAIN), ("ruling_changed", "rejected: a tasker was not sure")],
        "and were",
    ),
    (
        overruled_twice,
        [OVERRULED[0], OVERRULED[0], ("ruling_changed", "valid, a bird")],
        "of the rulings the one that holds, of the decisions each",
    ),
]


@pytest.mark.parametrize(("happened", "expected", "why"), LATE, ids=[row[2] for row in LATE])
def test_with_the_release_they_are_told_once_what_happened_before_it(
    happened: Callable[[Scene, Case], object], expected: list[tuple[str, str]], why: str, scene: Scene, green: Team
) -> None:
    copied(scene, green)
    happened(scene, send(scene).case)
    at_once = {who: letters(who) for who in ("red", "blue")}
    assert notify_cases(now=LATER) == 0 and letters("green") == [], "nothing before the release"
    cast.released(WEEK)
    assert (notify_cases(now=LATER), letters("green")) == (len(expected), expected), why
    Member.objects.create(team=green, user=factories.user("captain of late"), joined_at=LATER)
    assert notify_cases(now=LATER + DAY) == 0 and letters("late") == [], (
        "twice tells nothing, nobody is told in arrears"
    )
    assert {who: letters(who) for who in ("red", "blue")} == at_once, "who was told at once is not told again"
    User.objects.filter(username="captain of green").update(email="green@example.org")
    assert (messages_send(clock=lambda: LATER), messages_send(clock=lambda: LATER)) == (len(expected), 0)
    assert [each.to for each in mail.outbox] == [["green@example.org"]] * len(expected)


def test_a_release_of_long_ago_is_no_news(scene: Scene, green: Team) -> None:
    copied(scene, green)
    decided(send(scene).case, scene.members, VoteChoice.UPHOLD)
    cast.released(WEEK)
    Release.objects.update(released_at=LATER - MAX_FACT_AGE)
    assert notify_cases(now=LATER) == 0
    Release.objects.update(released_at=LATER)
    assert notify_cases(now=LATER) == 1 and letters("green") == [("case_decided", "the ruling is upheld")]


@pytest.mark.parametrize("makes", [aimed_at, named, sent_by_a_part])
def test_who_sent_it_and_at_whom_it_was_aimed_is_told_at_once(makes: Makes, scene: Scene, green: Team) -> None:
    """Whose defense held and whose was broken alike: what they are told must not say which of them it broke."""
    makes(scene, green)
    case = send(scene).case
    assert list(cases_of(green, now=LATER)) == [case]
    if makes is aimed_at:
        cast.broken(Stake.objects.get(defense__entry__team=green).defense, scene.attack, found=LATER)
    decided(case, scene.members, board.OVERRULE_REJECTED)
    assert told("green") == EVERYTHING


def test_whoever_appealed_reads_the_case_though_it_was_not_aimed_at_them(scene: Scene, green: Team) -> None:
    broken(scene, green)
    send(scene)
    case = send(scene, green).case
    decided(case, scene.members, board.OVERRULE_REJECTED)
    assert case_of_party(case.public_id, green, now=LATER) == case
    assert told("green") == EVERYTHING - {"appeal_against"} | {"appeal_received"}


def test_whoever_appealed_before_is_told_of_a_later_case_and_may_answer(scene: Scene, green: Team) -> None:
    """One appeal of each team on a picture: blue has none left, and the sender's may undo what it reached."""
    AttackTarget.objects.create(attack=scene.attack, defense=aimed_at(scene, green).defense)
    cast.broken(scene.stake.defense, scene.attack, found=LATER)
    decided(send(scene).case, scene.members, board.OVERRULE_REJECTED)
    case, rows = send(scene, scene.red).case, Message.objects.filter(user=captain(scene.blue))
    assert set(teams_of_case(case)) == {scene.red, scene.blue, green}
    about = rows.get(kind=MessageKind.APPEAL_AGAINST).about
    assert about == f"/appeals/case/{case.public_id}/" and answer(case, scene.blue).team == scene.blue
    decided(case, scene.members, board.OVERRULE_BIRD)
    assert rows.filter(kind=MessageKind.CASE_DECIDED).count() == 2


def test_what_the_board_decided_on_its_own_is_read_where_the_message_leads(
    rejected: Scene, green: Team, client: Client
) -> None:
    """And until then it is the board's alone."""
    copied(rejected, green)
    case, stranger = rejected.opened(by=rejected.members[0]), joins(cast.team("other"), "captain of other")
    page = f"/appeals/case/{case.public_id}/"
    client.force_login(captain(rejected.red))
    assert client.get(page).status_code == 404
    decided(case, rejected.members, VoteChoice.UPHOLD)
    messages = Message.objects.filter(kind=MessageKind.CASE_DECIDED)
    assert {each.user: each.about for each in messages} == {captain(rejected.red): page, captain(rejected.blue): page}
    not_said = ["The argument", "Your team did not answer"]
    for each in messages:
        client.force_login(each.user)
        shown = client.get(page).content.decode()
        shows(shown, "nobody appealed it", "The board upheld the ruling.", but=not_said)
        assert page in client.get("/appeals/").content.decode()
        assert client.post(page, {"words": "It is a wing."}).status_code == 409
    for who in (stranger, captain(green)):
        client.force_login(who)
        assert client.get(page).status_code == 404
    cast.released(WEEK)
    assert client.get(page).status_code == 200 and green in teams_informed(case, now=LATER)
