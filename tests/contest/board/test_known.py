"""Which of the teams that a case is about are told of it, see it and answer in it, and from when on (R24, R29)."""

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.test import Client

from common.errors import NotFound
from contest.board.appeals import appeal_send, case_of_party, statement_send
from contest.board.deciding import cases_close
from contest.board.grounds import appealable, reader_for
from contest.board.known import teams_told
from contest.board.recusal import recused_from, teams_of
from contest.board.team_shown import cases_of
from contest.enums import AppealSide, MessageKind, VoteChoice
from contest.messages.cases_told import cases_tell
from contest.messages.sending import messages_send
from contest.messages.telling import NEWS
from contest.models import Appeal, AttackTarget, Case, Member, Message, Release, Stake, Team
from contest.record.pictures import rulings_seen_by
from tests import factories
from tests.contest.board import cast as board
from tests.contest.board.case_cast import ANSWER, ARGUMENT, joins
from tests.contest.board.cast import LATER, RULED, Scene
from tests.contest.money import cast

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
WEEK = "2026-W47"


@pytest.fixture(scope="module")
def shared_scene(module_world: Path) -> Scene:
    """With green, a third team that has money for a stake."""
    made = Scene.make()
    cast.deposit(10 * cast.PRIZE, factories.user("a sponsor", "organizers"))
    for team in (made.red, made.blue, cast.team("green")):
        joins(team, f"captain of {team.name}")
    return made


@pytest.fixture
def green(scene: Scene) -> Team:
    return Team.objects.get(name="green")


def person(name: str) -> User:
    return User.objects.get(username=f"captain of {name}")


# What makes green a party of the case. --------------------------------------------------------------------------------


def copied(scene: Scene, green: Team) -> None:
    """It sent the same picture after red."""
    cast.attack(green, days=3, image=scene.image, copy_of=scene.attack)


def copied_at_stake(scene: Scene, green: Team) -> None:
    """And had a defense at stake that it was aimed at."""
    copied(scene, green)
    cast.staked(cast.defense("hold", green))


def broken(scene: Scene, green: Team) -> None:
    """Its defense is at stake since the picture was sent, and broken by it."""
    hold = cast.defense("hold", green)
    cast.staked(hold, at=RULED - timedelta(hours=1))
    cast.broken(hold, scene.attack, found=LATER)


def named_another(scene: Scene, green: Team) -> None:
    """Red named blue's defense alone; green's was at stake too, and is broken."""
    hold = cast.defense("hold", green)
    cast.staked(hold)
    AttackTarget.objects.create(attack=scene.attack, defense=scene.stake.defense)
    cast.broken(hold, scene.attack, found=LATER)


def aimed_at(scene: Scene, green: Team) -> None:
    """Its defense was at stake when the picture was sent."""
    cast.staked(cast.defense("hold", green))


def named(scene: Scene, green: Team) -> None:
    """Red named its defense."""
    aimed_at(scene, green)
    AttackTarget.objects.create(attack=scene.attack, defense=Stake.objects.get(defense__name="hold").defense)


def sent_by_a_part(scene: Scene, green: Team) -> None:
    """Red was merged into green, which had sent a copy."""
    copied(scene, green)
    Team.objects.filter(pk=scene.red.pk).update(merged_into=green, merged_at=LATER)


Makes = Callable[[Scene, Team], None]


def sent(scene: Scene, by: str = "blue") -> Appeal:
    team = Team.objects.get(name=by)
    return appeal_send(image=scene.image, team=team, argument=ARGUMENT, marks=[], by=person(by), now=LATER)


def decided(scene: Scene, case: Case, ballot: object = board.OVERRULE_REJECTED) -> None:
    board.votes(case, scene.members[:2], ballot)  # type: ignore[arg-type]  # a ballot or a choice
    board.decide(case, scene.members[0])


def letters(who: str) -> list[tuple[str, str]]:
    rows = Message.objects.filter(user=person(who)).order_by("pk")
    return [(each.kind, each.facts.get("outcome", each.facts.get("holds", ""))) for each in rows]


def told(who: str) -> set[str]:
    return {kind for kind, _ in letters(who)}


EVERYTHING = {"appeal_against", "case_decided", "ruling_changed"}
OVERRULED = [("case_decided", "the ruling is overruled"), ("ruling_changed", "rejected: the object is partly hidden")]


@pytest.mark.parametrize("makes", [copied, copied_at_stake, broken, named_another])
def test_who_learns_of_the_ruling_with_the_release_learns_of_the_case_then(
    makes: Makes, scene: Scene, green: Team
) -> None:
    makes(scene, green)
    case, tied = sent(scene).case, board.member("tied")
    assert green in teams_of(case), "it is a party all the same: who is tied to it steps aside (R21)"
    board.conflict(tied, green)
    assert tied.pk in recused_from(case)
    with pytest.raises(NotFound):
        statement_send(case=case, team=green, words=ANSWER, by=person("green"), now=LATER)
    decided(scene, case)
    assert told("green") == set() and told("red") == EVERYTHING
    assert cases_of(green, now=LATER) == [] and green not in teams_told(case, now=LATER)
    with pytest.raises(NotFound):
        case_of_party(case.public_id, green, now=LATER)
    cast.released(WEEK)
    assert cases_of(green, now=LATER) == [case] and green in teams_told(case, now=LATER)
    assert case_of_party(case.public_id, green, now=LATER) == case
    cases_tell(now=LATER)
    assert letters("green") == OVERRULED


@pytest.mark.parametrize("makes", [copied, broken])
def test_who_learns_of_it_with_the_release_is_told_of_what_happens_after_it(
    makes: Makes, scene: Scene, green: Team
) -> None:
    makes(scene, green)
    cast.released(WEEK)
    case = sent(scene).case
    assert statement_send(case=case, team=green, words=ANSWER, by=person("green"), now=LATER).team == green
    decided(scene, case)
    before = letters("green")
    assert sorted(kind for kind, _ in before) == sorted(EVERYTHING), "at once"
    assert cases_tell(now=LATER) == 0 and letters("green") == before, "and not again"


ASKED = ("case_decided", "more taskers are asked")
RULED_AGAIN = "the taskers who were asked in addition have answered, and the ruling is rejected: a tasker was not sure"


def asked(scene: Scene, case: Case) -> None:
    decided(scene, case, VoteChoice.MORE_TASKERS)


def asked_and_ruled(scene: Scene, case: Case) -> None:
    asked(scene, case)
    panel = case.decision.panel
    assert panel is not None
    panel.refresh_from_db()
    board.answers(panel, board.SURE, board.UNSURE, board.SURE, now=LATER)
    board.rule(panel, now=LATER)
    assert cases_close(now=LATER) == 1


def overruled_twice(scene: Scene, case: Case) -> None:
    decided(scene, case)
    decided(scene, scene.opened(), board.OVERRULE_BIRD)


# Each row: what happened before the release, and what it is told of with the release. ------------------------------

LATE: list[tuple[Callable[[Scene, Case], object], list[tuple[str, str]], str]] = [
    (lambda scene, case: None, [("appeal_against", "")], "an appeal that it may still answer"),
    (asked, [ASKED], "more taskers are at it"),
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
    happened(scene, sent(scene).case)
    at_once = {who: letters(who) for who in ("red", "blue")}
    assert cases_tell(now=LATER) == 0 and letters("green") == [], "nothing before the release"
    cast.released(WEEK)
    assert cases_tell(now=LATER) == len(expected)
    assert letters("green") == expected, why
    Member.objects.create(team=green, user=factories.user("captain of late"), joined_at=LATER)
    assert cases_tell(now=LATER + DAY) == 0 and letters("late") == [], "twice tells nothing, nobody is told in arrears"
    assert {who: letters(who) for who in ("red", "blue")} == at_once, "who was told at once is not told again"
    User.objects.filter(username="captain of green").update(email="green@example.org")
    assert (messages_send(clock=lambda: LATER), messages_send(clock=lambda: LATER)) == (len(expected), 0)
    assert [each.to for each in mail.outbox] == [["green@example.org"]] * len(expected)


def test_a_release_of_long_ago_is_no_news(scene: Scene, green: Team) -> None:
    copied(scene, green)
    decided(scene, sent(scene).case, VoteChoice.UPHOLD)
    cast.released(WEEK)
    Release.objects.update(released_at=LATER - NEWS)
    assert cases_tell(now=LATER) == 0
    Release.objects.update(released_at=LATER)
    assert cases_tell(now=LATER) == 1 and letters("green") == [("case_decided", "the ruling is upheld")]


@pytest.mark.parametrize("makes", [aimed_at, named, sent_by_a_part])
def test_who_sent_it_and_at_whom_it_was_aimed_is_told_at_once(makes: Makes, scene: Scene, green: Team) -> None:
    """Whose defense held and whose was broken alike: what they are told must not say which of them it broke."""
    makes(scene, green)
    case = sent(scene).case
    assert cases_of(green, now=LATER) == [case]
    if makes is aimed_at:
        cast.broken(Stake.objects.get(defense__entry__team=green).defense, scene.attack, found=LATER)
    decided(scene, case)
    assert told("green") == EVERYTHING


def test_whoever_appealed_reads_the_case_though_it_was_not_aimed_at_them(scene: Scene, green: Team) -> None:
    broken(scene, green)
    sent(scene)
    appeal = sent(scene, "green")
    decided(scene, appeal.case)
    assert case_of_party(appeal.case.public_id, green, now=LATER) == appeal.case
    assert told("green") == EVERYTHING - {"appeal_against"} | {"appeal_received"}


# Decided without an appeal --------------------------------------------------------------------------------------------


def test_what_the_board_decided_on_its_own_is_read_where_the_message_leads(
    rejected: Scene, green: Team, client: Client
) -> None:
    copied(rejected, green)
    case, stranger = rejected.opened(by=rejected.members[0]), joins(cast.team("other"), "captain of other")
    page = f"/appeals/case/{case.public_id}/"
    client.force_login(person("red"))
    assert client.get(page).status_code == 404, "until then it is the board's alone"
    decided(rejected, case, VoteChoice.UPHOLD)
    messages = Message.objects.filter(kind=MessageKind.CASE_DECIDED)
    assert {(each.user, each.about) for each in messages} == {(person(name), page) for name in ("red", "blue")}
    for each in messages:
        client.force_login(each.user)
        answer = client.get(each.about).content.decode()
        assert "nobody appealed it" in answer and "The board upheld the ruling." in answer
        assert "The argument" not in answer and "Your team did not answer" not in answer
        assert page in client.get("/appeals/").content.decode()
        assert client.post(page, {"words": "It is a wing."}).status_code == 409
    for who in (stranger, person("green")):
        client.force_login(who)
        assert client.get(page).status_code == 404
    cast.released(WEEK)
    assert client.get(page).status_code == 200 and green in teams_told(case, now=LATER)


# The window of a copy -------------------------------------------------------------------------------------------------


def released(at: datetime) -> None:
    cast.released(WEEK)
    Release.objects.filter(week=WEEK).update(released_at=at)


def test_who_sent_a_copy_has_its_days_from_the_release_on(rejected: Scene, green: Team) -> None:
    """R18."""
    copied(rejected, green)
    at = RULED + 20 * DAY
    released(at)
    assert rulings_seen_by(rejected.image, reader_for(green), now=at).exists()
    for moment in (at, at + 7 * DAY - timedelta(microseconds=1)):
        assert [(each.side, each.until) for each in appealable(green, moment)] == [(AppealSide.ATTACKER, at + 7 * DAY)]
        assert appealable(rejected.red, moment) == [], "red knew it since it was made"
    assert appealable(green, at + 7 * DAY) == []


def test_a_ruling_that_is_newer_than_the_release_has_its_own_days(rejected: Scene, green: Team) -> None:
    """R18."""
    copied(rejected, green)
    released(RULED + DAY)
    second = cast.overruled(rejected.image, at=RULED + 30 * DAY)
    (found,) = appealable(green, RULED + 31 * DAY)
    assert (found.ruling, found.until) == (second, second.decided_at + 7 * DAY)
