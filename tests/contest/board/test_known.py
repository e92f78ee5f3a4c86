"""Which of the teams that a case is about are told of it, see it and answer in it, and from when on (R24, R29)."""

from collections.abc import Callable
from datetime import datetime, timedelta

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


def made(*, valid: bool = True) -> Scene:
    scene = Scene.make(valid=valid)
    for team in (scene.red, scene.blue):
        joins(team, f"captain of {team.name}")
    return scene


def green(scene: Scene) -> Team:
    team = cast.team("green")
    joins(team, "captain of green")
    cast.deposit(10 * cast.PRIZE, factories.user("a sponsor", "organizers"))
    return team


def copied(scene: Scene) -> Team:
    """Green sent the same picture after red."""
    team = green(scene)
    cast.attack(team, days=2, image=scene.image, copy_of=scene.attack)
    return team


def copied_at_stake(scene: Scene) -> Team:
    """And had a defense at stake that it was aimed at."""
    team = copied(scene)
    cast.staked(cast.defense("hold", team))
    return team


def broken(scene: Scene) -> Team:
    """Green's defense is at stake since the picture was sent, and broken by it."""
    team = green(scene)
    hold = cast.defense("hold", team)
    cast.staked(hold, at=RULED - timedelta(hours=1))
    cast.broken(hold, scene.attack, found=LATER)
    return team


def named_another(scene: Scene) -> Team:
    """Red named blue's defense alone; green's was at stake too, and is broken."""
    team = green(scene)
    hold = cast.defense("hold", team)
    cast.staked(hold)
    AttackTarget.objects.create(attack=scene.attack, defense=scene.stake.defense)
    cast.broken(hold, scene.attack, found=LATER)
    return team


def aimed_at(scene: Scene) -> Team:
    """Green's defense was at stake when the picture was sent."""
    team = green(scene)
    cast.staked(cast.defense("hold", team))
    return team


def named(scene: Scene) -> Team:
    """Red named green's defense."""
    team = aimed_at(scene)
    AttackTarget.objects.create(attack=scene.attack, defense=Stake.objects.get(defense__name="hold").defense)
    return team


def sent_by_a_part(scene: Scene) -> Team:
    """Red was merged into green, which had sent a copy."""
    team = copied(scene)
    Team.objects.filter(pk=scene.red.pk).update(merged_into=team, merged_at=LATER)
    return team


TOLD_LATER = [copied, copied_at_stake, broken, named_another]
TOLD_AT_ONCE = [aimed_at, named, sent_by_a_part]
Makes = Callable[[Scene], Team]


def sent(scene: Scene) -> Appeal:
    by = User.objects.get(username="captain of blue")
    return appeal_send(image=scene.image, team=scene.blue, argument=ARGUMENT, marks=[], by=by, now=LATER)


def decided(scene: Scene, case: Case, ballot: object = board.OVERRULE_REJECTED) -> None:
    board.votes(case, scene.members[:2], ballot)  # type: ignore[arg-type]  # a ballot or a choice
    board.decide(case, scene.members[0])


def told(who: str) -> set[str]:
    return set(Message.objects.filter(user__username=f"captain of {who}").values_list("kind", flat=True))


def party_of(case: Case, team: Team) -> None:
    """A party all the same: who is tied to it steps aside."""
    assert team in teams_of(case)
    tied = board.member("tied")
    board.conflict(tied, team)
    assert tied.pk in recused_from(case)


@pytest.mark.parametrize("makes", TOLD_LATER)
def test_who_learns_of_the_ruling_with_the_release_learns_of_the_case_then(makes: Makes) -> None:
    scene = made()
    team = makes(scene)
    case = sent(scene).case
    party_of(case, team)
    by = User.objects.get(username="captain of green")
    with pytest.raises(NotFound):
        statement_send(case=case, team=team, words=ANSWER, by=by, now=LATER)
    decided(scene, case)
    assert told("green") == set() and told("red") == {"appeal_against", "case_decided", "ruling_changed"}
    assert cases_of(team, now=LATER) == [] and team not in teams_told(case, now=LATER)
    with pytest.raises(NotFound):
        case_of_party(case.public_id, team, now=LATER)
    cast.released(WEEK)
    assert cases_of(team, now=LATER) == [case] and team in teams_told(case, now=LATER)
    assert case_of_party(case.public_id, team, now=LATER) == case


@pytest.mark.parametrize("makes", TOLD_LATER)
def test_who_learns_of_it_with_the_release_is_told_of_what_happens_after_it(makes: Makes) -> None:
    scene = made()
    team = makes(scene)
    cast.released(WEEK)
    case = sent(scene).case
    by = User.objects.get(username="captain of green")
    assert statement_send(case=case, team=team, words=ANSWER, by=by, now=LATER).team == team
    decided(scene, case)
    assert told("green") == {"appeal_against", "case_decided", "ruling_changed"}


def letters(who: str) -> list[tuple[str, str]]:
    rows = Message.objects.filter(user__username=f"captain of {who}").order_by("pk")
    return [(each.kind, each.facts.get("outcome", each.facts.get("holds", ""))) for each in rows]


ASKED = ("case_decided", "more taskers are asked")
RULED_AGAIN = "the taskers who were asked in addition have answered, and the ruling is rejected: a tasker was not sure"
OVERRULED = [("case_decided", "the ruling is overruled"), ("ruling_changed", "rejected: the object is partly hidden")]


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
    (decided, OVERRULED, "an overrule, whose appeal is nothing to answer any more"),
    (
        lambda s, c: decided(s, c, VoteChoice.UPHOLD),
        [("case_decided", "the ruling is upheld")],
        "upheld changes nothing",
    ),
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
    happened: Callable[[Scene, Case], object], expected: list[tuple[str, str]], why: str
) -> None:
    scene = made()
    team = copied(scene)
    happened(scene, sent(scene).case)
    at_once = {who: letters(who) for who in ("red", "blue")}
    assert cases_tell(now=LATER) == 0 and letters("green") == [], "nothing before the release"
    cast.released(WEEK)
    assert cases_tell(now=LATER) == len(expected)
    assert letters("green") == expected, why
    Member.objects.create(team=team, user=factories.user("captain of late"), joined_at=LATER)
    assert cases_tell(now=LATER + DAY) == 0 and letters("late") == [], "twice tells nothing, nobody is told in arrears"
    assert {who: letters(who) for who in ("red", "blue")} == at_once, "who was told at once is not told again"
    User.objects.filter(username="captain of green").update(email="green@example.org")
    assert (messages_send(clock=lambda: LATER), messages_send(clock=lambda: LATER)) == (len(expected), 0)
    assert [each.to for each in mail.outbox] == [["green@example.org"]] * len(expected)


@pytest.mark.parametrize("makes", [copied_at_stake, broken, named_another])
def test_whose_defense_it_concerns_is_told_with_the_release_too(makes: Makes) -> None:
    scene = made()
    makes(scene)
    decided(scene, sent(scene).case)
    cast.released(WEEK)
    cases_tell(now=LATER)
    assert letters("green") == OVERRULED


def test_what_happens_after_the_release_is_told_at_once_and_not_again() -> None:
    scene = made()
    copied(scene)
    cast.released(WEEK)
    decided(scene, sent(scene).case)
    before = letters("green")
    assert sorted(kind for kind, _ in before) == ["appeal_against", "case_decided", "ruling_changed"]
    assert cases_tell(now=LATER) == 0 and letters("green") == before


def test_a_release_of_long_ago_is_no_news() -> None:
    scene = made()
    copied(scene)
    decided(scene, sent(scene).case)
    cast.released(WEEK)
    Release.objects.update(released_at=LATER - NEWS)
    assert cases_tell(now=LATER) == 0


@pytest.mark.parametrize("makes", TOLD_AT_ONCE)
def test_who_sent_it_and_at_whom_it_was_aimed_is_told_at_once(makes: Makes) -> None:
    scene = made()
    team = makes(scene)
    case = sent(scene).case
    assert cases_of(team, now=LATER) == [case]
    decided(scene, case)
    assert told("green") == {"appeal_against", "case_decided", "ruling_changed"}


def test_whose_defense_held_and_whose_was_broken_are_told_alike() -> None:
    """What they are told must not say which of them the picture broke."""
    scene = made()
    hold = cast.defense("safe", cast.team("safe"))
    joins(Team.objects.get(name="safe"), "captain of safe")
    broke = aimed_at(scene)
    cast.staked(hold)
    cast.broken(Stake.objects.get(defense__entry__team=broke).defense, scene.attack, found=LATER)
    decided(scene, sent(scene).case)
    assert told("safe") == told("green") == {"appeal_against", "case_decided", "ruling_changed"}


def test_whoever_appealed_reads_the_case_though_it_was_not_aimed_at_them() -> None:
    scene = made()
    team = broken(scene)
    sent(scene)
    by = User.objects.get(username="captain of green")
    appeal = appeal_send(image=scene.image, team=team, argument=ARGUMENT, marks=[], by=by, now=LATER)
    decided(scene, appeal.case)
    assert case_of_party(appeal.case.public_id, team, now=LATER) == appeal.case
    assert told("green") == {"appeal_received", "case_decided", "ruling_changed"}


# Decided without an appeal --------------------------------------------------------------------------------------------


def test_what_the_board_decided_on_its_own_is_read_where_the_message_leads(client: Client) -> None:
    scene = made(valid=False)
    later, stranger = copied(scene), joins(cast.team("other"), "captain of other")
    case = scene.opened(by=scene.members[0])
    page = f"/appeals/case/{case.public_id}/"
    client.force_login(User.objects.get(username="captain of red"))
    assert client.get(page).status_code == 404, "until then it is the board's alone"
    decided(scene, case, VoteChoice.UPHOLD)
    messages = Message.objects.filter(kind=MessageKind.CASE_DECIDED)
    assert {(each.user.username, each.about) for each in messages} == {
        ("captain of red", page),
        ("captain of blue", page),
    }
    for each in messages:
        client.force_login(each.user)
        answer = client.get(each.about).content.decode()
        assert "nobody appealed it" in answer and "The board upheld the ruling." in answer
        assert "The argument" not in answer and "Your team did not answer" not in answer
        assert page in client.get("/appeals/").content.decode()
        assert client.post(page, {"words": "It is a wing."}).status_code == 409
    for who in (stranger, User.objects.get(username="captain of green")):
        client.force_login(who)
        assert client.get(page).status_code == 404
    cast.released(WEEK)
    assert client.get(page).status_code == 200 and later in teams_told(case, now=LATER)


# The window of a copy -------------------------------------------------------------------------------------------------


def released(at: datetime) -> None:
    cast.released(WEEK)
    Release.objects.filter(week=WEEK).update(released_at=at)


@pytest.mark.parametrize(
    ("after", "open_"), [(timedelta(0), True), (7 * DAY - timedelta(microseconds=1), True), (7 * DAY, False)]
)
def test_who_sent_a_copy_has_its_days_from_the_release_on(after: timedelta, open_: bool) -> None:
    scene = made(valid=False)
    team = copied(scene)
    at = RULED + 20 * DAY
    released(at)
    assert rulings_seen_by(scene.image, reader_for(team), now=at).exists()
    found = appealable(team, at + after)
    assert [(each.side, each.until) for each in found] == ([(AppealSide.ATTACKER, at + 7 * DAY)] if open_ else [])
    assert appealable(scene.red, at + after) == [], "red knew it since it was made"


def test_a_ruling_that_is_newer_than_the_release_has_its_own_days() -> None:
    scene = made(valid=False)
    team = copied(scene)
    released(RULED + DAY)
    second = cast.overruled(scene.image, at=RULED + 30 * DAY)
    (found,) = appealable(team, RULED + 31 * DAY)
    assert (found.ruling, found.until) == (second, second.decided_at + 7 * DAY)
