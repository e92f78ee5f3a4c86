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
from tests.labeling.cast import kept, shows

URL = "/api/v1/preferences/"
pytestmark = pytest.mark.django_db


def change(client: Client, **values: Any) -> Any:
    return client.post(URL, values, content_type="application/json")


# Keys.


def test_every_action_has_a_key_of_its_own() -> None:
    assert len({action.key for action in ACTIONS}) == len({action.name for action in ACTIONS}) == len(ACTIONS)


def test_a_key_is_kept_for_every_device_until_it_is_the_usual_one_again(signed_in: Any, tara: Tasker) -> None:
    factories.policy_version()
    factories.panel()
    client = signed_in(tara)
    answer = change(client, keys={"report": "X", "undo": "Delete", "remove_corner": "u"})
    assert (answer.status_code, answer.json()["keys"]["report"]) == (200, "x")
    assert kept(tara, "preferences")["keys"] == {"report": "x", "undo": "Delete", "remove_corner": "u"}
    shows(
        signed_in(tara).get("/label/"),
        '<kbd aria-hidden="true" data-key="report">X</kbd>',
        'data-shortcut="undo" aria-keyshortcuts="Del"',
    )
    assert change(client, keys={}).json()["keys"]["report"] == "r"
    assert kept(tara, "preferences")["keys"] == {}


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
    assert kept(tara, "preferences") == {}


# The rest.


@pytest.mark.parametrize(
    ("name", "value"),
    [("smoothing", "off"), ("simplify", 0), ("simplify", True), ("instructions", 0), ("instructions", "2"), ("x", 1)],
)
def test_what_no_page_would_send_is_refused(name: str, value: Any, signed_in: Any, tara: Tasker) -> None:
    answer = change(signed_in(tara), **{name: value})
    assert answer.status_code == 400
    assert name in answer.json()["fields"]


@pytest.mark.both("locks the row of the tasker; JSON")
def test_one_change_leaves_the_others(signed_in: Any, tara: Tasker) -> None:
    """Instructions once read stay read."""
    client = signed_in(tara)
    change(client, smoothing=False, keys={"report": "x"}, instructions=4)
    found = change(client, simplify=2.5, instructions=2).json()
    assert (found["smoothing"], found["simplify"], found["keys"]["report"]) == (False, 2.5, "x")
    assert found["instructions"] == 4
    assert client.get(URL).json() == found


def test_who_was_qualified_under_a_version_has_read_it(tara: Tasker) -> None:
    tara.instructions = 3
    assert instructions_read(tara) == 3


def test_nobody_in_particular_has_the_usual_keys() -> None:
    assert keys_of(None)["submit"] == "Enter"


@pytest.mark.parametrize("address", [URL, "/api/v1/notices/"])
def test_preferences_and_notices_are_a_taskers(
    address: str, olga: User, rita: User, stan: User, signed_in: Any, client: Client
) -> None:
    assert client.get(address).status_code == 401
    answers = [signed_in(who).get(address) for who in (olga, rita, stan)]
    assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [(403, "not_a_tasker")] * 3


# Notices.


def notice(to: Tasker, text: str = "An organizer writes.") -> Notice:
    return Notice.objects.create(tasker=to, code="test", text=text, told_at=factories.NOW)


def test_a_notice_is_told_until_its_tasker_puts_it_away(signed_in: Any, tara: Tasker, otto: Tasker) -> None:
    mine, ottos = notice(tara), notice(otto, "Not for Tara.")
    client = signed_in(tara)
    told = client.get("/api/v1/notices/").json()
    assert told == [{"id": str(mine.public_id), "text": "An organizer writes.", "told_at": "2026-11-18T12:00:00Z"}]
    put_away = [client.post(f"/api/v1/notices/{each.public_id}/seen/").status_code for each in (mine, mine, ottos)]
    assert put_away == [204, 204, 404]
    assert client.get("/api/v1/notices/").json() == []
    assert kept(mine, "seen_at") and not kept(ottos, "seen_at")


def test_without_a_script_a_notice_is_put_away_with_a_button(signed_in: Any, tara: Tasker) -> None:
    factories.policy_version()
    mine, client = notice(tara), signed_in(tara)
    assert client.post("/label/", {"action": "seen", "notice": "²"}).status_code == 404
    assert "An organizer writes." in client.get("/label/").content.decode()
    assert client.post("/label/", {"action": "seen", "notice": str(mine.public_id)}).status_code == 303
    assert "An organizer writes." not in client.get("/label/").content.decode()


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


def test_what_changed_since_a_version_is_told_newest_first(
    signed_in: Any, tara: Tasker, stan: User, client: Client, versions: None
) -> None:
    """To taskers; the instructions carry their version and all clarifications."""
    factories.policy_version()
    tasker, address = signed_in(tara), "/label/instructions/news/"
    assert [client.get(address).status_code, signed_in(stan).get(address).status_code] == [302, 403]
    news = [tasker.get(address, {"since": since}).json() for since in (1, 2, 3)]
    assert [[each["version"] for each in told] for told in news] == [[3, 2], [3], []]
    assert (news[1][0]["summary"], news[1][0]["clarification"]) == ("Shadows.", "A shadow alone is no bird.")
    page = tasker.get("/label/instructions/").content.decode()
    assert "Version 3, in force since" in page and "Tomorrow." not in page
    assert page.index("A shadow alone is no bird.") < page.index("A toy bird is a depiction.")
