"""Organizers remind the board of a case past its clock: who did not vote, once a day, and never who steps aside (R19,
R21)."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
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
DAY, SECOND = timedelta(days=1), timedelta(seconds=1)
SignIn = Callable[[Any], Client]


@pytest.fixture(scope="module")
def shared_scene(module_world: Path) -> Scene:
    """Four members who can be written to."""
    made = Scene.make(members=4)
    for each in made.members:
        User.objects.filter(pk=each.pk).update(email=f"{each.username}@example.org")
    return made


@pytest.fixture
def organizer(db: None) -> User:
    """An organizer, apart from the one who paid the prizes in."""
    return factories.user("olympia", "organizers")


def reminders() -> list[tuple[str, str]]:
    rows = Message.objects.filter(kind=MessageKind.CASE_DUE).order_by("made_at", "user__username")
    return [(each.user.username, each.facts["reminder"]) for each in rows]


def refused(case: Case, by: User, now: datetime) -> str:
    with pytest.raises(DomainError) as found:
        case_remind(public_id=case.public_id, by=by, now=now)
    return found.value.code


@pytest.mark.both("the case is locked while its members are looked for")
def test_who_has_not_voted_is_reminded_and_who_steps_aside_is_not(case: Case, scene: Scene, organizer: User) -> None:
    """R21."""
    voted, waits, also, aside = scene.members
    cast.vote(case, voted, VoteChoice.UPHOLD)
    cast.conflict(aside, scene.blue)
    told = case_remind(public_id=case.public_id, by=organizer, now=case.due_at + DAY)
    assert told == [waits, also]
    assert reminders() == [(waits.username, "vote"), (also.username, "vote")]
    entry = AuditEntry.objects.get(action="case.remind")
    assert (entry.user, entry.subject, entry.public) == (organizer, {"case": [case.public_id]}, {})
    assert not entry.published
    cast.conflict(waits, scene.red)
    messages_take_back(case)
    assert reminders() == [(also.username, "vote")], "a conflict that comes later takes it back"


def test_where_all_have_voted_they_are_reminded_to_confirm_the_count(case: Case, scene: Scene, organizer: User) -> None:
    cast.votes(case, scene.members, VoteChoice.UPHOLD)
    assert case_remind(public_id=case.public_id, by=organizer, now=case.due_at) == scene.members
    assert reminders() == [(each.username, "confirm") for each in scene.members]


def test_a_case_is_reminded_of_when_it_is_due_within_a_day_and_once_a_day(
    case: Case, scene: Scene, organizer: User
) -> None:
    other = case_cast.another(scene)
    assert refused(case, organizer, case.due_at - DAY - SECOND) == "not_due", "more than a day is left"
    for after in (timedelta(0), DAY, 30 * DAY):
        at = case.due_at - DAY + after
        assert len(case_remind(public_id=case.public_id, by=organizer, now=at)) == 4
        assert refused(case, organizer, at + DAY - SECOND) == "reminded"
        assert len(case_remind(public_id=other.public_id, by=organizer, now=at)) == 4, "each case by itself"
    assert len(reminders()) == 24 and AuditEntry.objects.filter(action="case.remind").count() == 6


def test_nobody_is_reminded_of_what_is_decided_or_has_no_member_left(case: Case, scene: Scene, organizer: User) -> None:
    other = case_cast.another(scene)
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
    case: Case, scene: Scene, organizer: User, signed_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = case.due_at + timedelta(hours=1)
    monkeypatch.setattr("django.utils.timezone.now", lambda: now)
    client, address = signed_in(organizer), f"/organizer/cases/{case.public_id}/remind/"
    assert f'action="{address}"' in client.get("/organizer/").content.decode()
    done = client.post(address, follow=True)
    page = done.content.decode()
    assert done.redirect_chain[-1][0] == "/organizer/#board-cases"
    assert f"4 members are reminded of case {case.public_id}." in page
    assert re.search("reminded <time[^>]*>0 s ago</time>", page)
    assert f'action="{address}"' not in page
    again = client.post(address, follow=True).content.decode()
    assert "were reminded of this case within the last day" in again and len(reminders()) == 4


def test_who_may_press_the_button(
    case: Case,
    scene: Scene,
    organizer: User,
    stan: User,
    client: Client,
    signed_in: SignIn,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
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
