"""What the labeling page remembers for a tasker, and what it tells them: preferences, notices, news."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from labeling.models import InstructionVersion, Notice, Tasker
from labeling.preferences import ACTIONS, instructions_read, keys_of
from tests import factories

URL = "/api/v1/preferences/"
pytestmark = pytest.mark.django_db


def change(client: Client, **values: Any) -> Any:
    return client.post(URL, values, content_type="application/json")


# Keys.


def test_every_action_has_a_key_of_its_own() -> None:
    assert len({action.key for action in ACTIONS}) == len({action.name for action in ACTIONS}) == len(ACTIONS)


def test_a_key_is_kept_for_every_device_and_shown_on_the_page(signed_in: Any, tara: Tasker) -> None:
    factories.policy_version()
    factories.panel()
    client = signed_in(tara)
    answer = change(client, keys={"report": "X", "undo": "Delete", "remove_corner": "u"})
    assert answer.status_code == 200
    assert answer.json()["keys"]["report"] == "x"
    tara.refresh_from_db()
    assert tara.preferences["keys"] == {"report": "x", "undo": "Delete", "remove_corner": "u"}
    page = signed_in(tara).get("/label/").content.decode()
    assert '<kbd aria-hidden="true" data-key="report">X</kbd>' in page
    assert 'data-shortcut="undo" aria-keyshortcuts="Del"' in page


def test_what_is_the_usual_key_again_is_not_kept(signed_in: Any, tara: Tasker) -> None:
    client = signed_in(tara)
    change(client, keys={"report": "x"})
    assert change(client, keys={}).json()["keys"]["report"] == "r"
    tara.refresh_from_db()
    assert tara.preferences["keys"] == {}


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"report": "u"}, "The key U is chosen twice"),
        ({"report": "x", "ask": "X"}, "The key X is chosen twice"),
        ({"dance": "x"}, "knows no action 'dance'"),
        ({"report": ""}, "Choose a key"),
        ({"report": "xy"}, "Choose a key"),
        ({"report": " "}, "Choose a key"),
        ({"report": "\n"}, "Choose a key"),
        ({"report": "Escape"}, "Choose a key"),
        ({"report": 7}, "Choose a key"),
        (["report", "x"], "as an object"),
    ],
    ids=["taken", "twice", "no such action", "none", "two", "space", "not printable", "named", "number", "list"],
)
def test_a_key_that_cannot_be_is_refused_in_words(keys: Any, words: str, signed_in: Any, tara: Tasker) -> None:
    answer = change(signed_in(tara), keys=keys)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
    assert words in answer.json()["fields"]["keys"][0]
    tara.refresh_from_db()
    assert tara.preferences == {}


# The rest.


@pytest.mark.parametrize(
    ("name", "value"),
    [("smoothing", "off"), ("simplify", 0), ("simplify", True), ("instructions", 0), ("instructions", "2"), ("x", 1)],
)
def test_what_no_page_would_send_is_refused(name: str, value: Any, signed_in: Any, tara: Tasker) -> None:
    answer = change(signed_in(tara), **{name: value})
    assert answer.status_code == 400
    assert name in answer.json()["fields"]


def test_one_change_leaves_the_others(signed_in: Any, tara: Tasker) -> None:
    client = signed_in(tara)
    change(client, smoothing=False, keys={"report": "x"})
    found = change(client, simplify=2.5).json()
    assert (found["smoothing"], found["simplify"], found["keys"]["report"]) == (False, 2.5, "x")
    assert client.get(URL).json() == found


def test_instructions_once_read_stay_read(signed_in: Any, tara: Tasker) -> None:
    client = signed_in(tara)
    assert change(client, instructions=4).json()["instructions"] == 4
    assert change(client, instructions=2).json()["instructions"] == 4


def test_who_was_qualified_under_a_version_has_read_it(tara: Tasker) -> None:
    tara.instructions = 3
    assert instructions_read(tara) == 3


def test_nobody_in_particular_has_the_usual_keys() -> None:
    assert keys_of(None)["submit"] == "Enter"


@pytest.mark.parametrize("who", ["olga", "rita", "stan"])
def test_other_roles_have_no_preferences_and_no_notices(
    who: str, request: pytest.FixtureRequest, signed_in: Any
) -> None:
    user: User = request.getfixturevalue(who)
    for address in (URL, "/api/v1/notices/"):
        answer = signed_in(user).get(address)
        assert (answer.status_code, answer.json()["code"]) == (403, "not_a_tasker")


def test_a_stranger_has_none(client: Client) -> None:
    assert [client.get(each).status_code for each in (URL, "/api/v1/notices/")] == [401, 401]


# Notices.


def notice(to: Tasker, text: str = "An organizer writes.") -> Notice:
    return Notice.objects.create(tasker=to, code="test", text=text, told_at=factories.NOW)


def test_a_notice_is_told_until_it_is_put_away(signed_in: Any, tara: Tasker, otto: Tasker) -> None:
    mine, _ = notice(tara), notice(otto, "Not for Tara.")
    client = signed_in(tara)
    told = client.get("/api/v1/notices/").json()
    assert told == [{"id": str(mine.public_id), "text": "An organizer writes.", "told_at": "2026-11-18T12:00:00Z"}]
    for _ in range(2):
        assert client.post(f"/api/v1/notices/{mine.public_id}/seen/").status_code == 204
    assert client.get("/api/v1/notices/").json() == []
    mine.refresh_from_db()
    assert mine.seen_at is not None


def test_nobody_puts_away_what_another_is_told(signed_in: Any, tara: Tasker, otto: Tasker) -> None:
    ottos = notice(otto)
    assert signed_in(tara).post(f"/api/v1/notices/{ottos.public_id}/seen/").status_code == 404
    ottos.refresh_from_db()
    assert ottos.seen_at is None


def test_without_a_script_a_notice_is_put_away_with_a_button(signed_in: Any, tara: Tasker) -> None:
    factories.policy_version()
    mine = notice(tara)
    client = signed_in(tara)
    assert "An organizer writes." in client.get("/label/").content.decode()
    assert client.post("/label/", {"action": "seen", "notice": str(mine.public_id)}).status_code == 303
    assert "An organizer writes." not in client.get("/label/").content.decode()


def test_nothing_is_put_away_by_what_is_no_number(signed_in: Any, tara: Tasker) -> None:
    factories.policy_version()
    mine = notice(tara)
    assert signed_in(tara).post("/label/", {"action": "seen", "notice": "²"}).status_code == 404
    mine.refresh_from_db()
    assert mine.seen_at is None


# News of the instructions.


@pytest.fixture
def versions(db: None) -> None:
    now = timezone.now()
    rows = [
        (2, "Toys.", "A toy bird is a depiction.", now - timedelta(days=2)),
        (3, "Shadows.", "A shadow alone is no bird.", now - timedelta(days=1)),
        (4, "Not yet.", "Tomorrow.", now + timedelta(days=1)),
    ]
    for version, summary, clarification, since in rows:
        InstructionVersion.objects.create(
            version=version, summary=summary, clarification=clarification, in_force_from=since
        )


def test_what_changed_since_a_version_is_told_newest_first(signed_in: Any, tara: Tasker, versions: None) -> None:
    client = signed_in(tara)
    address = "/label/instructions/news/"
    assert [each["version"] for each in client.get(address, {"since": 1}).json()] == [3, 2]
    assert [each["version"] for each in client.get(address, {"since": 2}).json()] == [3]
    assert client.get(address, {"since": 3}).json() == []
    newest = client.get(address, {"since": 2}).json()[0]
    assert (newest["summary"], newest["clarification"]) == ("Shadows.", "A shadow alone is no bird.")


def test_the_news_are_for_taskers(client: Client, signed_in: Any, stan: User) -> None:
    address = "/label/instructions/news/"
    assert client.get(address).status_code == 302
    assert signed_in(stan).get(address).status_code == 403


def test_the_instructions_carry_their_version_and_clarifications_newest_first(
    signed_in: Any, tara: Tasker, versions: None
) -> None:
    factories.policy_version()
    page = signed_in(tara).get("/label/instructions/").content.decode()
    assert "Version 3, in force since" in page
    assert page.index("A shadow alone is no bird.") < page.index("A toy bird is a depiction.")
    assert "Tomorrow." not in page
