"""The whole map of who may do what with a case: every route as every role against every state (R21). The table is
written out, so that a permission that is not in it fails."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from contest.board.models import Appeal
from contest.core.enums import VoteChoice
from contest.core.models import Case, Stake
from tests import factories
from tests.contest.attacks.cast import main_of
from tests.contest.board import case_cast, cast
from tests.contest.board.cast import Scene
from tests.contest.ledger import cast as money
from tests.contest.pages import answers, main, shows
from tests.test_pages import addresses

pytestmark = pytest.mark.django_db

# What else is under /board/ is of motions, and of awards, which tests.contest.prizes.test_map has a map of;
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
    """Everybody of the map, and a case in each state."""

    def __init__(self) -> None:
        self.scene = Scene.make(members=2)
        self.people: dict[str, Any] = {
            "stranger": None,
            "no role": factories.user("nora"),
            "tasker": factories.tasker("tara"),
            "sender": case_cast.joins(self.scene.red, "rob"),
            "defender": case_cast.joins(self.scene.blue, "bea"),
            "other team": case_cast.joins(money.team("green"), "gus"),
            "organizer": factories.user("olga", "organizers"),
            "member": cast.member("mia"),
            "undisclosed": cast.member("uma"),
            "recused": cast.member("rex"),
            "past member": cast.member("pat"),
        }
        self.cases = {
            "open": case_cast.picture(self.scene)[0],
            "panel": self._decided(VoteChoice.MORE_TASKERS),
            "closed": self._decided(VoteChoice.UPHOLD),
            "motion closed": self._decided(VoteChoice.AGAINST, case_cast.motion(self.scene, self.scene.members[0])),
            "motion open": case_cast.motion(self.scene, self.scene.members[0]),
        }
        for case in self.cases.values():
            for role in ("member", "past member"):
                cast.tell(case, self.people[role])
        cast.conflict(self.people["recused"], self.scene.red)
        self.people["past member"].groups.clear()

    def _decided(self, choice: VoteChoice, case: Case | None = None) -> Case:
        case = case or case_cast.picture(self.scene.beside())[0]
        return cast.decided(case, self.scene.members, choice, explanation="").case

    def status(self, client: Client, state: str, method: str, part: str) -> int:
        """The answer, with what it did taken back."""
        case = self.cases[state]
        address = f"/board/cases/{case.public_id}/{part}"
        call = f"/api/v1/appeals/{(Appeal.objects.filter(case=case).first() or case).public_id}/decisions/"
        told = {
            "vote/": {"choice": "in_favour" if case.kind == "motion" else "uphold"},
            "decide/": {"explanation": "", "previewed": "", "seen": "none"},
        }
        with transaction.atomic():
            answer = {
                "GET": lambda: client.get(address),
                "POST": lambda: client.post(address, told.get(part, {})),
                "API": lambda: client.post(call, {"choice": "uphold"}, content_type="application/json"),
            }[method]()
            transaction.set_rollback(True)
        return answer.status_code


@pytest.fixture(scope="module")
def people(module_world: Path) -> People:
    return People()


@pytest.fixture
def clients(people: People, signed_in: Any) -> Callable[[str], Client]:
    return lambda role: signed_in(people.people[role]) if people.people[role] else Client()


# Whom the board's pages are closed to is turned away before the case is looked at: asked in two states.
ASKED = [(state, role) for state in STATES for role in (ROLES if state in ("open", "motion open") else ON_THE_BOARD)]


def test_every_route_of_the_board_is_in_the_map() -> None:
    found = {each for each in addresses() if each.startswith("/board/")} - ELSEWHERE
    assert found == {each for each in HERE if each.startswith("/board/")}
    assert set(addresses()) >= HERE
    assert {f"/board/cases/T-00000/{part}" for part in {part for _, method, part in MAP if method != "API"}} < HERE
    assert all(set(answers) == set(ROLES) for answers in MAP.values())
    for state in STATES:
        told = {(method, part) for at, method, part in MAP if at in ("*", state)}
        assert told == {(method, part) for _, method, part in MAP}, state


@pytest.mark.parametrize(("state", "role"), ASKED)
def test_who_may_do_what_with_a_case(state: str, role: str, people: People, clients: Callable[[str], Client]) -> None:
    asked = {key[1:]: answers for key, answers in MAP.items() if key[0] in ("*", state)}
    client = clients(role)
    found = {key: people.status(client, state, *key) for key in asked}
    assert found == {key: answers[role] for key, answers in asked.items()}


def test_who_may_open_the_other_pages(clients: Callable[[str], Client]) -> None:
    found = {(page, role): clients(role).get(page).status_code for page in PAGES for role in ROLES}
    assert found == {(page, role): answers[role] for page, answers in PAGES.items() for role in ROLES}


def test_nothing_names_a_case_to_who_steps_aside(people: People, clients: Callable[[str], Client]) -> None:
    scene, client, ids = people.scene, clients("recused"), [each.public_id for each in people.cases.values()]
    names = (
        "",
        scene.image.public_id,
        scene.red.public_id,
        scene.red.name,
        Appeal.objects.get(case=people.cases["open"]).public_id,
        *ids,
    )
    for asked, name in [("open", ""), ("panel", ""), ("closed", ""), *(("all", name) for name in names)]:
        page = client.get("/board/", {"state": asked, "find": name})
        shown = (set(page.context["counts"].values()), page.context["to_vote"], len(page.context["rows"]))
        assert shown == ({0}, 0, 0), (asked, name)
        shows(page.content.decode().partition("<table")[2], but=ids)
    shows(client.get("/").content.decode(), but=ids)
    # The same addresses do tell who may know.
    assert clients("member").get("/board/", {"state": "all", "find": ""}).context["counts"]["all"] == len(ids)


def test_another_case_leads_nowhere_to_one_that_the_reader_steps_aside_from(
    people: People, clients: Callable[[str], Client]
) -> None:
    grey = money.team("grey")
    mine = case_cast.another(people.scene, sender=grey)
    # Nothing of the picture is blue's or red's: nothing was at stake when it was sent.
    Stake.objects.update(staked_at=cast.RULED, clock_from=cast.RULED)
    mine.parties.exclude(team=grey).delete()
    others = [people.cases["closed"].public_id, people.cases["motion open"].public_id]
    for role, shown, hidden in (("recused", [], others), ("member", others, [])):
        cast.tell(mine, people.people[role])
        shows(main(clients(role), f"/board/cases/{mine.public_id}/"), *shown, but=hidden)


def test_organizers_read_no_arguments(people: People, clients: Callable[[str], Client]) -> None:
    said = "Words of a member of it."
    cast.vote(people.cases["open"], people.people["member"], VoteChoice.UPHOLD, words=said, public=True)
    for page in ("/organizer/", "/organizer/conflicts/", "/organizer/attacks/", "/organizer/now/"):
        answers(clients("organizer").get(page), 200, but=[case_cast.ARGUMENT, case_cast.ANSWER, said])


def test_a_case_that_is_not_there_is_answered_like_one_stepped_aside_from(
    people: People, clients: Callable[[str], Client]
) -> None:
    rex, case = clients("recused"), people.cases["open"]
    for part in ("", "disclose/", "decide/"):
        hidden, nowhere = (rex.get(f"/board/cases/{name}/{part}") for name in (case.public_id, "C-000000"))
        assert (hidden.status_code, nowhere.status_code, main_of(hidden)) == (404, 404, main_of(nowhere))
    assert rex.get("/board/cases/\x00/").status_code == 404
