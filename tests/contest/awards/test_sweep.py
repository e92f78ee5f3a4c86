"""The sweep before an award: every rejected picture, under the ruling that holds, by members enough (R37)."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from contest.awards.conditions import own_conditions
from contest.awards.examinations import Share, examined_share, picture_confirm, queue_of
from contest.board.cases import case_open
from contest.enums import VoteChoice
from contest.models import Case, CaseParty, Examination, Stake
from labeling.models import Image, PolicyVersion
from labeling.policy import Policy
from labeling.selectors import forget_versions
from tests import factories
from tests.contest.awards.cast import confirm
from tests.contest.board import cast as board
from tests.contest.money import cast
from tests.contest.money.cast import MONDAY
from tests.refusals import refused

pytestmark = pytest.mark.django_db
NOW = MONDAY + timedelta(days=120)
SignIn = Callable[[Any], Client]


@pytest.fixture
def stake(olga: User) -> Stake:
    factories.policy_version()
    cast.deposit(4 * cast.PRIZE, olga)
    return cast.staked(cast.defense("net", cast.team("makers")))


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
    assert Share(done, all).percent == percent


def test_two_members_where_the_policy_asks_for_two(stake: Stake, pictures: list[Image], rita: User) -> None:
    members_needed(2)
    ben = board.member("ben")
    confirm(pictures[0], stake.defense, rita, NOW)
    confirm(pictures[0], stake.defense, rita, NOW)
    assert examined_share(stake.defense, now=NOW).done == 0, "the same member twice is one"
    assert left(stake, rita) == pictures[1:] and left(stake, ben) == pictures
    assert queue_of(stake.defense, rita, now=NOW).by_others == 1
    confirm(pictures[0], stake.defense, ben, NOW)
    assert examined_share(stake.defense, now=NOW).done == 1
    assert queue_of(stake.defense, rita, now=NOW).by_others == 0


@pytest.mark.both("a confirmation locks the picture")
def test_another_ruling_is_looked_at_anew(stake: Stake, pictures: list[Image], rita: User) -> None:
    first = pictures[0]
    seen = first.rulings.get().pk
    confirm(first, stake.defense, rita, NOW)
    cast.overruled(first, label="bird")
    assert examined_share(stake.defense, now=NOW) == Share(0, 2), "a valid picture is none of the rejected"
    cast.overruled(first)
    assert examined_share(stake.defense, now=NOW) == Share(0, 3) and first in left(stake, rita)
    refused("ruling_changed", picture_confirm, image=first, defense=stake.defense, ruling=seen, by=rita, now=NOW)
    confirm(first, stake.defense, rita, NOW)
    assert examined_share(stake.defense, now=NOW) == Share(1, 3)


def test_what_is_in_a_case_waits_for_it(stake: Stake, pictures: list[Image], rita: User) -> None:
    case_open(image=pictures[1], by=rita, now=NOW)
    assert left(stake, rita) == [pictures[0], pictures[2]]
    assert queue_of(stake.defense, rita, now=NOW).in_cases == 1
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
    choice: board.Ballot, again: int, why: str, stake: Stake, pictures: list[Image], rita: User, signed_in: SignIn
) -> None:
    for image in pictures:
        confirm(image, stake.defense, rita, NOW)
    assert lines(stake)["examined"] and lines(stake)["appeals"]
    ben = board.member("ben")
    case = case_open(image=pictures[1], by=rita, now=NOW)
    assert examined_share(stake.defense, now=NOW) == Share(2, 3)
    assert not lines(stake)["examined"] and not lines(stake)["appeals"], "nothing is awarded meanwhile"
    queue = queue_of(stake.defense, ben, now=NOW)
    assert (list(queue.mine), queue.by_others, queue.in_cases) == ([], 0, 1)
    page = signed_in(ben).get(address(stake)).content.decode()
    assert "2 of 3 confirmed, 66 %" in page and "1 waits for a case" in page
    board.votes(case, [rita, ben], choice, NOW)
    board.decide(case, ben, NOW)
    assert examined_share(stake.defense, now=NOW) == Share(again, 3), why
    assert len(left(stake, ben)) == 3 - again


def lines(stake: Stake) -> dict[str, bool]:
    found = own_conditions(Stake.objects.get(pk=stake.pk), policy=Policy(), now=NOW)
    return {each.name: each.passed for each in found}


@pytest.mark.parametrize("tied_to", ["makers", "red"])
def test_who_steps_aside_confirms_nothing_and_what_they_confirmed_counts_no_more(
    stake: Stake, pictures: list[Image], rita: User, tied_to: str
) -> None:
    for number, image in enumerate(pictures):
        assert left(stake, rita) == pictures[number:]
        confirm(image, stake.defense, rita, NOW)
        assert examined_share(stake.defense, now=NOW) == Share(number + 1, 3)
    team = stake.defense.entry.team if tied_to == "makers" else pictures[0].attacks.get().team
    board.conflict(rita, team)
    assert examined_share(stake.defense, now=NOW) == Share(0, 3)
    refused("recused", confirm, pictures[0], stake.defense, rita, NOW)
    queue, ben = queue_of(stake.defense, rita, now=NOW), board.member("ben")
    assert tied_to == "makers" or (list(queue.mine), queue.by_others) == ([], 3)
    for image in pictures:
        confirm(image, stake.defense, ben, NOW)
    assert examined_share(stake.defense, now=NOW) == Share(3, 3)


def test_a_conflict_that_was_over_before_they_looked_takes_nothing_away(
    stake: Stake, pictures: list[Image], rita: User
) -> None:
    confirm(pictures[0], stake.defense, rita, NOW)
    board.conflict(rita, stake.defense.entry.team, until=NOW - timedelta(days=1))
    assert examined_share(stake.defense, now=NOW) == Share(1, 3)


def test_a_case_that_a_member_steps_aside_from_is_not_told_by_the_sweep(
    stake: Stake, pictures: list[Image], rita: User
) -> None:
    other = cast.staked(cast.defense("other", cast.team("others")))
    board.conflict(rita, other.defense.entry.team)
    case_open(image=pictures[0], by=board.member("ben"), now=NOW)
    queue = queue_of(stake.defense, rita, now=NOW)
    assert (queue.in_cases, queue.by_others, queue.mine.count()) == (0, 1, 2)
    unconfirmed("recused", pictures[0], stake, rita)


# The page -------------------------------------------------------------------------------------------------------------


def address(stake: Stake) -> str:
    return f"/board/examinations/{stake.defense.public_id}/"


def test_the_page_goes_from_picture_to_picture_and_opens_a_case(
    stake: Stake, pictures: list[Image], rita: User, signed_in: SignIn
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
    told: dict[str, str], status: int, why: str, stake: Stake, pictures: list[Image], rita: User, signed_in: SignIn
) -> None:
    first = {"image": pictures[0].public_id, "ruling": str(pictures[0].rulings.get().pk)}
    sent = {name: first[name] if value == "first" else value for name, value in told.items()}
    answer = signed_in(rita).post(address(stake), sent)
    assert answer.status_code == status or (status == 303 and answer.status_code == 302), why


def test_the_page_asks_no_more_for_more_pictures(
    stake: Stake, pictures: list[Image], rita: User, signed_in: SignIn, django_assert_max_num_queries: Any
) -> None:
    client = signed_in(rita)
    with django_assert_max_num_queries(60) as few:
        client.get(address(stake))
    for days in range(4, 10):
        cast.ruled(cast.attack(cast.team(f"team{days}"), days=days).image, "")
    with django_assert_max_num_queries(len(few) + 1):
        client.get(address(stake))
