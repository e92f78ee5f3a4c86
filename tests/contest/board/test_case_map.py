"""The whole map of who may do what with a case: every route as every role against every state (R21). The table is
written out, so that a permission that is not in it fails."""

from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.test import Client

from contest.enums import CaseState, VoteChoice
from contest.models import Appeal, Case, Stake
from labeling.models import Tasker
from labeling.people import REVIEW_BOARD
from tests import factories
from tests.contest.board import case_cast, cast
from tests.contest.board.cast import Scene
from tests.contest.money import cast as money
from tests.test_pages import addresses

pytestmark = pytest.mark.django_db

# What else is under /board/ is of motions, and of awards, which tests.contest.awards.test_map has a map of;
# tests.test_pages has who may open it.
ELSEWHERE = {
    "/board/awards/",
    "/board/awards/0/",
    "/board/examinations/T-00000/",
    "/board/frameworks/",
    "/board/grants/",
    "/board/stakes/",
    "/board/withheld/",
}
HERE = {
    "/board/",
    "/board/conflicts/",
    "/organizer/conflicts/",
    *(f"/board/cases/T-00000/{part}" for part in ("", "disclose/", "vote/", "decide/", "drop/")),
    "/api/v1/appeals/T-00000/decisions/",
}
ROLES = (
    "stranger",
    "no role",
    "tasker",
    "sender",
    "defender",
    "other team",
    "organizer",
    "member",
    "undisclosed",
    "recused",
    "past member",
)
STATES = ("open", "panel", "closed", "motion open", "motion closed")
# Of every case alike: what is nobody's but the board's.
OUTSIDE = {
    "stranger": 302,
    "no role": 404,
    "tasker": 403,
    "sender": 403,
    "defender": 403,
    "other team": 403,
    "organizer": 403,
    "past member": 404,
}
VOTE = {"choice": "uphold"}
IN_FAVOUR = {"choice": "in_favour"}


def of_board(member: int, undisclosed: int, recused: int = 404) -> dict[str, int]:
    return OUTSIDE | {"member": member, "undisclosed": undisclosed, "recused": recused}


OF_API = OUTSIDE | {"stranger": 401}
# (method, what of the case) -> role -> status, by state; `*` is every state.
MAP: dict[tuple[str, str, str], dict[str, int]] = {
    ("*", "GET", ""): of_board(200, 302),
    ("*", "GET", "disclose/"): of_board(302, 200),
    ("*", "GET", "decide/"): of_board(302, 302),
    # Who is sent here after signing in again is led to the case.
    ("*", "GET", "vote/"): of_board(302, 302),
    ("*", "GET", "drop/"): of_board(302, 302),
    ("*", "POST", ""): dict.fromkeys(ROLES, 405) | {"stranger": 302, "tasker": 403},
    # Nothing is left to say for who said it; the other one said nothing.
    ("*", "POST", "disclose/"): of_board(303, 400),
    ("open", "POST", "vote/"): of_board(303, 409),
    ("panel", "POST", "vote/"): of_board(409, 409),
    ("closed", "POST", "vote/"): of_board(409, 409),
    ("motion open", "POST", "vote/"): of_board(303, 409),
    ("motion closed", "POST", "vote/"): of_board(409, 409),
    # Who did not vote confirms nothing.
    ("open", "POST", "decide/"): of_board(403, 409),
    ("panel", "POST", "decide/"): of_board(409, 409),
    ("closed", "POST", "decide/"): of_board(409, 409),
    ("motion open", "POST", "decide/"): of_board(403, 409),
    ("motion closed", "POST", "decide/"): of_board(409, 409),
    # It is another member's motion.
    ("open", "POST", "drop/"): of_board(403, 409),
    ("panel", "POST", "drop/"): of_board(409, 409),
    ("closed", "POST", "drop/"): of_board(409, 409),
    ("motion open", "POST", "drop/"): of_board(403, 409),
    ("motion closed", "POST", "drop/"): of_board(409, 409),
    ("open", "API", ""): OF_API | {"member": 201, "undisclosed": 409, "recused": 404},
    ("panel", "API", ""): OF_API | {"member": 409, "undisclosed": 409, "recused": 404},
    ("closed", "API", ""): OF_API | {"member": 409, "undisclosed": 409, "recused": 404},
    # A motion has no appeal: the call finds none for anybody of the board.
    ("motion open", "API", ""): OF_API | {"member": 404, "undisclosed": 404, "recused": 404},
    ("motion closed", "API", ""): OF_API | {"member": 404, "undisclosed": 404, "recused": 404},
}
ON_THE_BOARD = {"member": 200, "undisclosed": 200, "recused": 200}
PAGES = {
    "/board/": OUTSIDE | ON_THE_BOARD,
    "/board/conflicts/": OUTSIDE | ON_THE_BOARD,
    "/organizer/conflicts/": OUTSIDE | {"organizer": 200} | dict.fromkeys(ON_THE_BOARD, 403),
}


class People:
    """Everybody of the map, and a case in a state."""

    def __init__(self, state: str) -> None:
        self.scene = Scene.make(members=2)
        green = money.team("green")
        self.people: dict[str, User | Tasker | None] = {
            "stranger": None,
            "no role": factories.user("nora"),
            "tasker": factories.tasker("tara"),
            "sender": case_cast.joins(self.scene.red, "rob"),
            "defender": case_cast.joins(self.scene.blue, "bea"),
            "other team": case_cast.joins(green, "gus"),
            "organizer": factories.user("olga", "organizers"),
            "member": cast.member("mia"),
            "undisclosed": cast.member("uma"),
            "recused": cast.member("rex"),
            "past member": cast.member("pat"),
        }
        self.case = self._case(state)
        self.appeal = Appeal.objects.filter(case=self.case).first()
        cast.tell(self.case, self.user("member"))
        cast.tell(self.case, self.user("past member"))
        cast.conflict(self.user("recused"), self.scene.red)
        self.user("past member").groups.remove(Group.objects.get(name=REVIEW_BOARD))

    def user(self, role: str) -> User:
        found = self.people[role]
        assert isinstance(found, User)
        return found

    def _case(self, state: str) -> Case:
        first, second = self.scene.members
        if state.startswith("motion"):
            case = case_cast.motion(self.scene, first)
            if state == "motion closed":
                cast.votes(case, [first, second], VoteChoice.AGAINST)
                cast.decide(case, second, explanation="")
        else:
            case, _ = case_cast.picture(self.scene)
            if state != "open":
                choice = {"panel": VoteChoice.MORE_TASKERS, "closed": VoteChoice.UPHOLD}[state]
                cast.votes(case, [first, second], choice)
                cast.decide(case, first)
        case.refresh_from_db()
        return case

    def client(self, role: str, signed_in: Any) -> Client:
        who = self.people[role]
        return Client() if who is None else signed_in(who)

    def status(self, client: Client, method: str, part: str) -> int:
        """The answer, with what it did taken back."""
        base = f"/board/cases/{self.case.public_id}/"
        with transaction.atomic():
            if method == "API":
                name = self.appeal.public_id if self.appeal else self.case.public_id
                address = f"/api/v1/appeals/{name}/decisions/"
                answer = client.post(address, VOTE, content_type="application/json")
            elif method == "POST":
                vote = IN_FAVOUR if self.case.kind == "motion" else VOTE
                told = vote if part == "vote/" else {"explanation": "", "previewed": "", "seen": "none"}
                answer = client.post(base + part, told if part in ("vote/", "decide/") else {})
            else:
                answer = client.get(base + part)
            transaction.set_rollback(True)
        return answer.status_code


def test_every_route_of_the_board_is_in_the_map() -> None:
    found = {each for each in addresses() if each.startswith("/board/")} - ELSEWHERE
    assert found == {each for each in HERE if each.startswith("/board/")}
    assert set(addresses()) >= HERE
    parts = {part for _, method, part in MAP if method != "API"}
    assert {f"/board/cases/T-00000/{part}" for part in parts} < HERE
    for state in STATES:
        told = {(method, part) for at, method, part in MAP if at in ("*", state)}
        assert told == {(method, part) for _, method, part in MAP}, state


@pytest.mark.parametrize("state", STATES)
def test_who_may_do_what_with_a_case(state: str, signed_in: Any) -> None:
    people = People(state)
    clients = {role: people.client(role, signed_in) for role in ROLES}
    found, expected = {}, {}
    for (at, method, part), answers in MAP.items():
        if at in ("*", state):
            assert set(answers) == set(ROLES)
            for role in ROLES:
                key = (method, part, role)
                found[key] = people.status(clients[role], method, part)
                expected[key] = answers[role]
    assert found == expected


def test_who_may_open_the_other_pages(signed_in: Any) -> None:
    people = People("open")
    clients = {role: people.client(role, signed_in) for role in ROLES}
    found = {(page, role): client.get(page).status_code for page in PAGES for role, client in clients.items()}
    assert found == {(page, role): answers[role] for page, answers in PAGES.items() for role in ROLES}


@pytest.mark.parametrize("state", STATES)
def test_nothing_names_a_case_to_who_steps_aside(state: str, signed_in: Any) -> None:
    people = People(state)
    scene, case = people.scene, people.case
    client = signed_in(people.user("recused"))
    names = [case.public_id, scene.image.public_id, scene.red.public_id, scene.red.name]
    names += [people.appeal.public_id] if people.appeal else []
    for asked in ("open", "panel", "closed", "all"):
        for name in ["", *names]:
            page = client.get("/board/", {"state": asked, "find": name})
            listed = page.content.decode().partition("<table")[2]
            assert case.public_id not in listed, (asked, name)
            assert set(page.context["counts"].values()) == {0}, (asked, name)
            assert (page.context["to_vote"], len(page.context["rows"])) == (0, 0), (asked, name)
    assert case.public_id not in client.get("/").content.decode()
    # The same addresses do tell who may know.
    seen = signed_in(people.user("member")).get("/board/", {"state": "all", "find": names[0]})
    assert seen.context["counts"]["all"] == 1


def test_another_case_leads_nowhere_to_one_that_the_reader_steps_aside_from(signed_in: Any) -> None:
    people = People("closed")
    rex, mia = people.user("recused"), people.user("member")
    grey = money.team("grey")
    mine = case_cast.another(people.scene, sender=grey)
    # Nothing of the picture is blue's or red's: nothing was at stake when it was sent.
    Stake.objects.update(staked_at=cast.RULED, clock_from=cast.RULED)
    mine.parties.exclude(team=grey).delete()
    waiting = case_cast.motion(people.scene, people.scene.members[1])
    for who in (rex, mia):
        cast.tell(mine, who)
    hidden = {people.case.public_id, waiting.public_id}
    pages = {who: signed_in(who).get(f"/board/cases/{mine.public_id}/").content.decode() for who in (rex, mia)}
    assert [name for name in hidden if name in pages[rex]] == []
    assert {name for name in hidden if name in pages[mia]} == hidden


@pytest.mark.parametrize("page", ["/organizer/", "/organizer/conflicts/", "/organizer/attacks/", "/organizer/now/"])
def test_organizers_read_no_arguments(page: str, signed_in: Any) -> None:
    people = People("open")
    cast.vote(people.case, people.user("member"), VoteChoice.UPHOLD, words="Words of a member of it.", public=True)
    answer = signed_in(people.user("organizer")).get(page)
    assert answer.status_code == 200
    words = answer.content.decode()
    assert [each for each in (case_cast.ARGUMENT, case_cast.ANSWER, "Words of a member of it.") if each in words] == []


def test_a_case_that_is_not_there_is_answered_like_one_stepped_aside_from(signed_in: Any) -> None:
    people = People("open")
    rex = signed_in(people.user("recused"))
    for part in ("", "disclose/", "decide/"):
        hidden = rex.get(f"/board/cases/{people.case.public_id}/{part}")
        nowhere = rex.get(f"/board/cases/C-000000/{part}")
        assert (hidden.status_code, nowhere.status_code) == (404, 404)
        assert main_of(hidden) == main_of(nowhere)
    assert rex.get("/board/cases/\x00/").status_code == 404
    assert Case.objects.get(pk=people.case.pk).state == CaseState.OPEN


def main_of(answer: Any) -> str:
    page: str = answer.content.decode()
    return page.partition("<main")[2].partition("</main>")[0]
