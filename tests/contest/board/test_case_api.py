"""The call by which members vote on an appeal and confirm the decision; two at one moment."""

from threading import Barrier, Thread
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connections
from django.test import Client

from contest.board.cases import count_of
from contest.enums import AppealSide, CaseState, VoteChoice
from contest.models import Appeal, Case, CaseDecision, Vote
from tests.contest.board import case_cast, cast
from tests.contest.board.cast import WHY, Scene

pytestmark = pytest.mark.django_db


@pytest.fixture
def scene() -> Scene:
    return Scene.make(valid=False)


@pytest.fixture
def appeal(scene: Scene) -> Appeal:
    case = scene.opened()
    for member in scene.members:
        cast.tell(case, member)
    return case_cast.appealed(case, scene.red, side=AppealSide.ATTACKER)


def send(client: Client, appeal: Appeal, **body: Any) -> Any:
    return client.post(f"/api/v1/appeals/{appeal.public_id}/decisions/", body, content_type="application/json")


def test_a_vote_is_cast_and_changed(appeal: Appeal, scene: Scene, signed_in: Any) -> None:
    client = signed_in(scene.members[0])
    answer = send(client, appeal, choice="overrule", label="bird", words="All of it is a bird.", public=True)
    assert answer.status_code == 201
    body = answer.json()
    assert (body["case"], body["state"], body["quorum"], body["outcome"]) == (appeal.case.public_id, "open", 2, "")
    assert body["vote"] == {"choice": "overrule", "label": "bird", "reasons": []}
    changed = send(client, appeal, choice="uphold").json()
    assert changed["votes"] == [{"choice": "uphold", "label": "", "reasons": []}]
    assert Vote.objects.filter(member=scene.members[0]).count() == 2


def test_the_votes_are_confirmed_by_their_mark(appeal: Appeal, scene: Scene, signed_in: Any) -> None:
    first, second = (signed_in(member) for member in scene.members[:2])
    send(first, appeal, choice="overrule", label="bird")
    mark = send(second, appeal, choice="overrule", label="bird").json()["mark"]
    answer = send(second, appeal, seen=mark, explanation=WHY)
    assert answer.status_code == 201
    assert (answer.json()["state"], answer.json()["outcome"]) == ("closed", "overrule")
    assert send(first, appeal, choice="uphold").json()["code"] == "decided"


@pytest.mark.parametrize(
    ("body", "status", "code", "fields"),
    [
        ({}, 400, "invalid", {"choice"}),
        ({"choice": "uphold", "seen": "1"}, 400, "invalid", {"choice"}),
        ({"choice": "in_favour"}, 400, "invalid", {"choice"}),
        ({"choice": "overrule"}, 400, "invalid", {"outcome"}),
        ({"choice": "overrule", "label": "cat"}, 400, "invalid", {"label"}),
        ({"choice": "overrule", "reasons": ["ugly"]}, 400, "invalid", {"reasons"}),
        ({"choice": "uphold", "votes": 3}, 400, "invalid", {"votes"}),
        ({"seen": "none"}, 403, "no_vote", set()),
    ],
)
def test_what_is_refused(
    body: dict[str, Any], status: int, code: str, fields: set[str], appeal: Appeal, scene: Scene, signed_in: Any
) -> None:
    answer = send(signed_in(scene.members[0]), appeal, **body)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert set(answer.json().get("fields", {})) == fields
    assert not Vote.objects.exists() and not CaseDecision.objects.exists()


def test_who_has_not_said_what_ties_them_is_told_where(appeal: Appeal, signed_in: Any) -> None:
    answer = send(signed_in(cast.member("nan")), appeal, choice="uphold")
    assert (answer.status_code, answer.json()["code"]) == (409, "disclose_first")


def test_who_steps_aside_finds_no_such_appeal(appeal: Appeal, scene: Scene, signed_in: Any) -> None:
    client = signed_in(scene.members[0])
    cast.conflict(scene.members[0], scene.blue)
    nowhere = client.post("/api/v1/appeals/L-000000/decisions/", {}, content_type="application/json")
    hidden = send(client, appeal, choice="uphold")
    assert (hidden.status_code, hidden.json()) == (404, nowhere.json())


@pytest.mark.postgres("several at once: SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_two_members_voting_and_confirming_at_one_moment_decide_once(signed_in: Any) -> None:
    scene = Scene.make(valid=False)
    case = scene.opened()
    appeal = case_cast.appealed(case, scene.red, side=AppealSide.ATTACKER)
    for member in scene.members:
        cast.tell(case, member)
    clients = [signed_in(member) for member in scene.members]
    answers = at_once(lambda number: send(clients[number], appeal, choice="overrule", label="bird"), len(clients))
    assert [each.status_code for each in answers] == [201, 201, 201]
    # Nobody's vote is lost, whoever saw whose.
    assert len(count_of(Case.objects.get(pk=case.pk)).votes) == 3
    mark = count_of(case).mark
    answers = at_once(lambda number: send(clients[number], appeal, seen=mark, explanation=WHY), len(clients))
    assert sorted(each.status_code for each in answers) == [201, 409, 409]
    assert {each.json().get("code") for each in answers} == {None, "decided"}
    assert (CaseDecision.objects.count(), scene.image.rulings.count()) == (1, 2)
    assert Case.objects.get(pk=case.pk).state == CaseState.CLOSED


@pytest.mark.postgres("several at once: SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_a_vote_and_the_confirmation_at_one_moment_never_decide_what_was_not_seen(signed_in: Any) -> None:
    scene = Scene.make(valid=False)
    case = scene.opened()
    appeal = case_cast.appealed(case, scene.red, side=AppealSide.ATTACKER)
    for member in scene.members:
        cast.tell(case, member)
    for member in scene.members[:2]:
        cast.vote(case, member, cast.OVERRULE_BIRD)
    seen = count_of(case).mark
    clients = [signed_in(member) for member in scene.members]
    bodies: list[dict[str, Any]] = [{"seen": seen, "explanation": WHY}, {"choice": "uphold"}]
    confirmed, voted = at_once(lambda number: send(clients[2 * number], appeal, **bodies[number]), 2)
    # Either order is right: the vote came too late, or the confirmation was of other votes.
    codes = (confirmed.json().get("code"), voted.json().get("code"))
    assert codes in {(None, "decided"), ("votes_changed", None)}
    assert CaseDecision.objects.count() == (codes[0] is None)


def at_once(call: Any, times: int) -> list[Any]:
    """Run a call in as many threads, all begun together."""
    answers: list[Any] = [None] * times
    ready = Barrier(times)

    def run(number: int) -> None:
        ready.wait(timeout=30)
        try:
            answers[number] = call(number)
        finally:
            connections.close_all()

    threads = [Thread(target=run, args=[number]) for number in range(times)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    return answers


def test_a_vote_of_who_steps_aside_later_counts_for_nothing(appeal: Appeal, scene: Scene, signed_in: Any) -> None:
    first, second, third = scene.members
    for member in (first, second):
        send(signed_in(member), appeal, choice="overrule", label="bird")
    cast.conflict(second, scene.red)
    body = send(signed_in(third), appeal, choice="uphold").json()
    assert body["votes"] == [
        {"choice": "overrule", "label": "bird", "reasons": []},
        {"choice": "uphold", "label": "", "reasons": []},
    ]
    assert body["decides"]["choice"] == VoteChoice.UPHOLD


def test_a_member_who_left_the_board_has_no_vote(appeal: Appeal, scene: Scene, signed_in: Any) -> None:
    first: User = scene.members[0]
    send(signed_in(first), appeal, choice="uphold")
    first.groups.clear()
    assert send(signed_in(first), appeal, choice="uphold").status_code == 404
    assert count_of(appeal.case).votes == ()
