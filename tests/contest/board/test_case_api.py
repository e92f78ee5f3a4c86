"""The call by which members vote on an appeal and confirm the decision (R19-R21); two at one moment are in
test_at_once."""

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from contest.board.cases import count_of
from contest.enums import AppealSide, VoteChoice
from contest.models import Appeal, CaseDecision, Vote
from tests.contest.board import case_cast, cast
from tests.contest.board.cast import WHY, Scene

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def shared_scene(module_world: Path) -> Scene:
    made = Scene.make(valid=False)
    case = made.opened()
    for member in made.members:
        cast.tell(case, member)
    case_cast.appealed(case, made.red, side=AppealSide.ATTACKER)
    return made


@pytest.fixture
def appeal(scene: Scene) -> Appeal:
    return Appeal.objects.get()


def send(client: Client, appeal: Appeal, **body: Any) -> Any:
    return client.post(f"/api/v1/appeals/{appeal.public_id}/decisions/", body, content_type="application/json")


OF_BIRD = {"choice": "overrule", "label": "bird", "reasons": []}
UPHELD = {"choice": "uphold", "label": "", "reasons": []}


def test_votes_are_cast_changed_and_confirmed_by_their_mark(appeal: Appeal, scene: Scene, signed_in: Any) -> None:
    first, second = (signed_in(member) for member in scene.members[:2])
    answer = send(first, appeal, **OF_BIRD, words="All of it is a bird.", public=True)
    assert answer.status_code == 201
    body = answer.json()
    assert (body["case"], body["state"], body["quorum"], body["outcome"]) == (appeal.case.public_id, "open", 2, "")
    assert body["vote"] == OF_BIRD
    assert send(first, appeal, choice="uphold").json()["votes"] == [UPHELD]
    assert Vote.objects.filter(member=scene.members[0]).count() == 2
    send(first, appeal, **OF_BIRD)
    mark = send(second, appeal, **OF_BIRD).json()["mark"]
    answer = send(second, appeal, seen=mark, explanation=WHY)
    assert answer.status_code == 201
    assert (answer.json()["state"], answer.json()["outcome"]) == ("closed", "overrule")
    assert send(first, appeal, choice="uphold").json()["code"] == "decided"


REFUSED: list[tuple[dict[str, Any], int, str, set[str]]] = [
    ({}, 400, "invalid", {"choice"}),
    ({"choice": "uphold", "seen": "1"}, 400, "invalid", {"choice"}),
    ({"choice": "in_favour"}, 400, "invalid", {"choice"}),
    ({"choice": "overrule"}, 400, "invalid", {"outcome"}),
    ({"choice": "overrule", "label": "cat"}, 400, "invalid", {"label"}),
    ({"choice": "overrule", "reasons": ["ugly"]}, 400, "invalid", {"reasons"}),
    ({"choice": "uphold", "votes": 3}, 400, "invalid", {"votes"}),
    ({"seen": "none"}, 403, "no_vote", set()),
]


def test_what_is_refused(appeal: Appeal, scene: Scene, signed_in: Any) -> None:
    client = signed_in(scene.members[0])
    for body, status, code, fields in REFUSED:
        answer = send(client, appeal, **body)
        assert (answer.status_code, answer.json()["code"]) == (status, code), body
        assert set(answer.json().get("fields", {})) == fields, body
    untold = send(signed_in(cast.member("nan")), appeal, choice="uphold")
    assert (untold.status_code, untold.json()["code"]) == (409, "disclose_first"), "they are told where to disclose"
    assert not Vote.objects.exists() and not CaseDecision.objects.exists()


def test_who_steps_aside_finds_no_such_appeal_and_their_vote_counts_for_nothing(
    appeal: Appeal, scene: Scene, signed_in: Any
) -> None:
    """R21."""
    first, second, third = (signed_in(member) for member in scene.members)
    for client in (first, second):
        send(client, appeal, **OF_BIRD)
    cast.conflict(scene.members[1], scene.red)
    nowhere = second.post("/api/v1/appeals/L-000000/decisions/", {}, content_type="application/json")
    hidden = send(second, appeal, choice="uphold")
    assert (hidden.status_code, hidden.json()) == (404, nowhere.json())
    body = send(third, appeal, choice="uphold").json()
    assert body["votes"] == [OF_BIRD, UPHELD]
    assert body["decides"]["choice"] == VoteChoice.UPHOLD


def test_a_member_who_left_the_board_has_no_vote(appeal: Appeal, scene: Scene, signed_in: Any) -> None:
    first: User = scene.members[0]
    send(signed_in(first), appeal, choice="uphold")
    first.groups.clear()
    assert send(signed_in(first), appeal, choice="uphold").status_code == 404
    assert count_of(appeal.case).votes == ()
