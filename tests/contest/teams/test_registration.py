"""A researcher's account: an address is written to, and only its link makes one. One account has one role (R8): whoever
organizes, judges or competes never labels, and the other way round."""

import re
import time
from datetime import datetime, timedelta
from random import Random
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from common import guessing
from common.errors import Conflict
from common.guessing import MOST_LETTERS_TO_ONE
from contest.models import Team
from contest.teams.services import member_add, team_create
from labeling.accounts.passwords import CONFIRM_WITHIN
from labeling.enums import TaskerState
from labeling.models import AccountRole, Tasker
from labeling.people import ORGANIZERS, REVIEW_BOARD, role_give, tasker_register
from tests import factories
from tests.contest.teams.conftest import link_in, refused

pytestmark = pytest.mark.django_db
NEW = "correct horse battery"


def form(name: str = "nora", **fields: str) -> dict[str, str]:
    return {"username": name, "new_password": NEW, "new_password_again": NEW} | fields


@pytest.fixture
def link(sent: Any) -> str:
    [letter] = sent(lambda: Client().post("/register/", {"email": "Nora@Example.org"}))
    assert letter.to == ["nora@example.org"]
    return link_in(letter)


def test_the_link_makes_one_account_that_competes(link: str, now: datetime) -> None:
    """Who competes never labels (R8)."""
    page, client = Client().get(link), Client()
    assert (page.status_code, User.objects.exists()) == (200, False), "mail programs open links by themselves"
    assert "nora@example.org" in page.content.decode()
    assert Client().get(link.replace("/register/", "/register/x")).status_code == 404, "a forged one opens nothing"
    answer = client.post(link, form())
    assert (answer.status_code, answer["Location"]) == (303, "/team/")
    nora = User.objects.get()
    assert (nora.email, AccountRole.objects.get(user=nora).role) == ("nora@example.org", "team")
    assert "You are in no team" in client.get("/team/").content.decode()
    refused(Conflict, tasker_register, user=nora, state=TaskerState.LEARNING, now=now, rng=Random(1))
    assert Client().post("/sign-in/", {"username": "nora", "password": NEW}).status_code == 302
    for answer in (Client().get(link), Client().post(link, form("other"))):
        assert (answer.status_code, "This link is over" in answer.content.decode()) == (404, True)
    assert User.objects.count() == 1


@pytest.mark.parametrize(("late", "status"), [(timedelta(seconds=-5), 200), (timedelta(seconds=5), 404)])
def test_the_link_ends(link: str, late: timedelta, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    then = time.time() + (CONFIRM_WITHIN + late).total_seconds()
    monkeypatch.setattr("django.core.signing.time.time", lambda: then)
    assert Client().get(link).status_code == status


WRONG = [
    ({"new_password_again": "other"}, "not the same"),
    ({"new_password": "short", "new_password_again": "short"}, "at least 12 characters"),
    ({"username": "no blanks"}, "letters, digits"),
    ({"username": "CARL"}, "Somebody has this user name"),
]


def test_what_will_not_do_is_said_and_makes_nothing(link: str, carl: User) -> None:
    for fields, words in WRONG:
        answer = Client().post(link, form(**fields))
        assert (answer.status_code, words in answer.content.decode()) == (400, True), words
    assert User.objects.get() == carl


def _page(address: str) -> str:
    page = Client(REMOTE_ADDR=f"192.0.2.{len(address)}").post("/register/", {"email": address}).content.decode()
    return re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", page).replace(address, "ADDRESS")


def test_the_answer_tells_nobody_who_has_an_account(carl: User, tara: Any, sent: Any) -> None:
    tara.user.email = "tara@example.org"
    tara.user.save()
    pages: list[str] = []
    addresses = ["carl@example.org", "CARL@example.org ", "tara@example.org", "nobody@example.org"]
    letters = sent(lambda: pages.extend(_page(address.strip()) for address in addresses))
    assert len(set(pages)) == 1
    subjects = [letter.subject for letter in letters]
    assert subjects == ["You have an account at Unanimous already"] * 3 + ["Make your account at Unanimous"]
    assert "/register/" not in letters[0].body


def test_no_address_is_said(sent: Any) -> None:
    answers: list[Any] = []
    assert sent(lambda: answers.append(Client().post("/register/", {"email": "nora"}))) == []
    assert (answers[0].status_code, "e-mail address such as" in answers[0].content.decode()) == (400, True)


def test_nobody_is_flooded_with_letters() -> None:
    client = Client()
    answers = [client.post("/register/", {"email": "Nora@example.org"}) for _ in range(MOST_LETTERS_TO_ONE + 2)]
    assert [each.status_code for each in answers] == [200] * MOST_LETTERS_TO_ONE + [429] * 2
    assert "Those that were sent stay good" in answers[-1].content.decode()
    assert client.post("/register/", {"email": " nora@example.org"}).status_code == 429, "the same recipient"
    assert client.post("/register/", {"email": "fay@example.org"}).status_code == 200, "another one of the same house"
    assert Client(REMOTE_ADDR="192.0.2.9").post("/register/", {"email": "nora@example.org"}).status_code == 200


def test_one_address_asks_for_so_many_letters_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guessing, "MOST_LETTERS", 12)
    client = Client()
    statuses = [client.post("/register/", {"email": f"n{number}@example.org"}).status_code for number in range(14)]
    assert statuses == [200] * 12 + [429] * 2


def test_asking_for_letters_closes_no_link(sent: Any) -> None:
    client = Client()
    (letter,) = sent(lambda: client.post("/register/", {"email": "nora@example.org"}))
    for _ in range(MOST_LETTERS_TO_ONE + 5):
        client.post("/register/", {"email": "fay@example.org"})
    for number in range(12):
        client.get(f"/register/guess{number}/")
    address = letter.body.partition("/register/")[2].split()[0]
    assert client.get(f"/register/{address}").status_code == 200


# One account, one role ------------------------------------------------------------------------------------------------


def become_tasker(user: User, now: datetime) -> None:
    tasker_register(user=user, state=TaskerState.QUALIFIED, now=now, rng=Random(1))


def test_a_tasker_gets_no_other_role(tara: Tasker, now: datetime) -> None:
    for role in (ORGANIZERS, REVIEW_BOARD):
        refused(Conflict, role_give, user=tara.user, role=role)
    refused(Conflict, team_create, name="red", captain=tara.user, now=now)
    assert not Team.objects.exists(), "a refused captain leaves no team behind"


def test_an_organizer_or_board_member_never_labels_nor_competes(olga: User, rita: User, now: datetime) -> None:
    team = Team.objects.create(name="red", created_at=now)
    for person in (olga, rita):
        refused(Conflict, become_tasker, person, now)
        refused(Conflict, member_add, team=team, user=person, now=now)


def test_a_team_member_never_labels(now: datetime) -> None:
    rival = factories.user("rival")
    assert team_create(name="red", captain=rival, now=now).members.get().captain
    refused(Conflict, become_tasker, rival, now)
