"""Organizers remind the board of a case past its clock: who did not vote, once a day, and never who steps aside (R19,
R21)."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from common.errors import DomainError
from common.models import AuditEntry
from contest.board.reminding import case_remind
from contest.board.telling import messages_take_back
from contest.enums import MessageKind, VoteChoice
from contest.models import Case, Message
from tests import factories
from tests.contest.board import case_cast, cast
from tests.contest.board.cast import Scene

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
SignIn = Callable[[Any], Client]


def reachable(scene: Scene) -> list[User]:
    for each in scene.members:
        User.objects.filter(pk=each.pk).update(email=f"{each.username}@example.org")
    return scene.members


def reminders() -> list[tuple[str, str]]:
    rows = Message.objects.filter(kind=MessageKind.CASE_DUE).order_by("made_at", "user__username")
    return [(each.user.username, each.facts["reminder"]) for each in rows]


def refused(case: Case, by: User, now: datetime) -> str:
    with pytest.raises(DomainError) as found:
        case_remind(public_id=case.public_id, by=by, now=now)
    return found.value.code


def test_who_has_not_voted_is_reminded_and_who_steps_aside_is_not(organizer: User) -> None:
    scene = Scene.make(members=4)
    voted, waits, also, aside = reachable(scene)
    case = scene.opened()
    cast.vote(case, voted, VoteChoice.UPHOLD)
    cast.conflict(aside, scene.blue)
    told = case_remind(public_id=case.public_id, by=organizer, now=case.due_at + DAY)
    assert told == [waits, also]
    assert reminders() == [(waits.username, "vote"), (also.username, "vote")]
    entry = AuditEntry.objects.get(action="case.remind")
    assert (entry.user, entry.subject, entry.public, entry.published) == (
        organizer,
        {"case": [case.public_id]},
        {},
        False,
    )
    cast.conflict(waits, scene.red)
    messages_take_back(case)
    assert reminders() == [(also.username, "vote")], "a conflict that comes later takes it back"


def test_where_all_have_voted_they_are_reminded_to_confirm_the_count(organizer: User) -> None:
    scene = Scene.make(members=2)
    first, second = reachable(scene)
    case = scene.opened()
    cast.votes(case, [first, second], VoteChoice.UPHOLD)
    assert case_remind(public_id=case.public_id, by=organizer, now=case.due_at) == [first, second]
    assert reminders() == [(first.username, "confirm"), (second.username, "confirm")]


@pytest.mark.parametrize(
    ("after", "code", "why"),
    [
        (-DAY - timedelta(seconds=1), "not_due", "more than a day is left"),
        (-DAY, "", "a day is left: it is close"),
        (timedelta(0), "", "its clock ends now"),
        (30 * DAY, "", "long past it"),
    ],
)
def test_a_case_is_reminded_of_when_it_is_due_within_a_day(
    after: timedelta, code: str, why: str, organizer: User
) -> None:
    scene = Scene.make()
    reachable(scene)
    case = scene.opened()
    if code:
        assert refused(case, organizer, case.due_at + after) == code, why
        assert reminders() == []
    else:
        assert len(case_remind(public_id=case.public_id, by=organizer, now=case.due_at + after)) == 3, why


def test_once_a_day_for_each_case(organizer: User) -> None:
    scene = Scene.make()
    reachable(scene)
    case, other = scene.opened(), case_cast.another(scene)
    at = max(case.due_at, other.due_at)
    case_remind(public_id=case.public_id, by=organizer, now=at)
    assert refused(case, organizer, at + DAY - timedelta(seconds=1)) == "reminded"
    case_remind(public_id=other.public_id, by=organizer, now=at + timedelta(hours=1))
    case_remind(public_id=case.public_id, by=organizer, now=at + DAY)
    assert len(reminders()) == 9 and AuditEntry.objects.filter(action="case.remind").count() == 3


def test_nobody_is_reminded_of_what_is_decided_or_has_no_member_left(organizer: User) -> None:
    scene = Scene.make(members=2)
    case, other = scene.opened(), case_cast.another(scene)
    cast.votes(case, scene.members, VoteChoice.UPHOLD)
    cast.decide(case, scene.members[0])
    assert refused(case, organizer, case.due_at) == "decided"
    for each in scene.members:
        cast.conflict(each, scene.red)
    assert refused(other, organizer, other.due_at) == "nobody"
    assert refused(other, scene.members[0], other.due_at) == "not_an_organizer"
    other.public_id = "C-000000"
    assert refused(other, organizer, other.due_at) == "not_found"
    assert reminders() == [] and not AuditEntry.objects.filter(action="case.remind").exists()


# The button -----------------------------------------------------------------------------------------------------------


def test_the_cockpit_reminds_and_says_when_it_did(
    organizer: User, signed_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = Scene.make(members=3)
    reachable(scene)
    case = scene.opened()
    now = case.due_at + timedelta(hours=1)
    monkeypatch.setattr("django.utils.timezone.now", lambda: now)
    client, address = signed_in(organizer), f"/organizer/cases/{case.public_id}/remind/"
    assert f'action="{address}"' in client.get("/organizer/").content.decode()
    done = client.post(address, follow=True)
    page = done.content.decode()
    assert done.redirect_chain[-1][0] == "/organizer/#board-cases"
    assert f"3 members are reminded of case {case.public_id}." in page
    assert re.search("reminded <time[^>]*>0 s ago</time>", page)
    assert f'action="{address}"' not in page
    again = client.post(address, follow=True).content.decode()
    assert "were reminded of this case within the last day" in again and len(reminders()) == 3


def test_who_may_press_the_button(
    organizer: User, stan: User, client: Client, signed_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = Scene.make(members=2)
    reachable(scene)
    case = scene.opened()
    monkeypatch.setattr("django.utils.timezone.now", lambda: case.due_at)
    people: dict[str, Any] = {
        "no role": stan,
        "tasker": factories.tasker("tara"),
        "sender": case_cast.joins(scene.red, "rob"),
        "member": scene.members[0],
    }
    address = f"/organizer/cases/{case.public_id}/remind/"
    found = {role: signed_in(who).post(address).status_code for role, who in people.items()}
    found["stranger"] = client.post(address).status_code
    assert found == {"stranger": 302, "no role": 404, "tasker": 403, "sender": 403, "member": 403}
    assert reminders() == []
    assert signed_in(organizer).post("/organizer/cases/C-000000/remind/").status_code == 404
    assert signed_in(organizer).get(address).status_code == 405


@pytest.fixture
def organizer() -> User:
    """An organizer, apart from the one who paid the prizes in."""
    return factories.user("olympia", "organizers")
