"""The organizers' page of the audit trail and its file: who sees what, filters, pages, and the state of the chain."""

import csv
import io
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from common.audit import audit
from common.audit_origin import acting_from, place_of
from common.audit_seals import chain_check, entries_seal
from contest.audit.selectors import COLUMNS
from contest.audit.views import ON_A_PAGE
from labeling.models import Tasker
from tests import factories

pytestmark = pytest.mark.django_db
PAGE, FILE = "/organizer/audit/", "/organizer/audit.csv"
# The last minute of the day before, in the contest's zone.
NIGHT = datetime(2026, 11, 17, 23, 59, tzinfo=UTC)
SignIn = Callable[[Any], Client]


@pytest.fixture
def trail(olga: User, now: datetime) -> None:
    factories.policy_version()
    with acting_from("page", "192.0.2.7"):
        audit("tasker.pause", by=olga, subject={"tasker": ["T-12345"]}, why="Too <quick> & wrong.", now=now)
    with acting_from("command add_user"):
        audit("role.give", by=None, subject={"account": [olga.pk]}, now=now, private={"role": "organizer"})
    with acting_from("sweep taskers watched"):
        audit("tasker.warn", by=None, subject={"tasker": ["T-67890"]}, why="Slowly.", now=NIGHT)


def _file(client: Client, query: str = "") -> str:
    answer = client.get(f"{FILE}?{query}")
    assert (answer.status_code, answer["Content-Type"]) == (200, "text/csv; charset=utf-8")
    return b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]


def test_strangers_are_sent_to_sign_in_and_others_are_refused(
    client: Client, signed_in: SignIn, rita: User, tara: Tasker
) -> None:
    clients = [client, signed_in(rita), signed_in(tara)]
    for ask in (lambda c: c.get(PAGE), lambda c: c.get(FILE), lambda c: c.post(PAGE)):
        assert [ask(each).status_code for each in clients] == [302, 403, 403]


def test_without_a_row_the_page_says_so(signed_in: SignIn, olga: User) -> None:
    factories.policy_version()
    text = signed_in(olga).get(PAGE).content.decode()
    assert "Nothing was done by hand yet." in text and "It was not checked yet." in text
    assert f'href="{PAGE}"' in signed_in(olga).get("/organizer/").content.decode(), "the overview leads to it"
    assert _file(signed_in(olga)).strip() == ",".join(COLUMNS)


def test_a_row_says_who_did_what_when_why_and_from_where(signed_in: SignIn, olga: User, trail: None) -> None:
    text = signed_in(olga).get(PAGE).content.decode()
    said = " ".join(text.split())
    for words in (
        '<strong>olga</strong> <span class="muted">(organizer)</span> paused tasker',
        '<a href="/organizer/taskers/T-12345/">T-12345</a>.',
        "Too &lt;quick&gt; &amp; wrong.",
        f"from page, place <code>{place_of('192.0.2.7')}</code> · waits for its seal",
        "<strong>Somebody on the server</strong> gave a role to account olga.",
        "<strong>The platform</strong> warned tasker",
    ):
        assert words in said
    assert "192.0.2.7" not in text
    User.objects.filter(pk=olga.pk).delete()
    text = signed_in(factories.user("olaf", "organizers")).get(PAGE).content.decode()
    assert "<strong>Somebody whose account is deleted</strong>" in text and f"account {olga.pk} (deleted)" in text


FILTERS = [
    ("", ["tasker.warn", "role.give", "tasker.pause"], "all, newest first"),
    ("action=tasker.pause", ["tasker.pause"], "what"),
    ("action=gold.add", [], "what nobody did"),
    ("who=OLGA", ["tasker.pause"], "who, in any case"),
    ("who=platform", ["tasker.warn", "role.give"], "the platform"),
    ("who=nobody", [], "somebody else"),
    ("day=2026-11-18", ["role.give", "tasker.pause"], "a day"),
    ("day=2026-11-17", ["tasker.warn"], "the day before"),
    ("day=yesterday", [], "no day"),
    ("words=QUICK", ["tasker.pause"], "words of the reason"),
    ("words=t-678", ["tasker.warn"], "part of an ID"),
    ("words=organizer", ["role.give"], "words of what is private"),
    ("words=add_user", ["role.give"], "from where"),
    (f"words={place_of('192.0.2.7')}", ["tasker.pause"], "a place"),
    ("words=%00&who=%00", ["tasker.warn", "role.give", "tasker.pause"], "nothing that can be looked for"),
    ("action=tasker.pause&who=platform", [], "both at once"),
]


@pytest.mark.parametrize(("query", "actions", "why"), FILTERS, ids=[row[2] for row in FILTERS])
def test_what_is_asked_for_is_shown_on_the_page_and_in_the_file(
    query: str, actions: list[str], why: str, signed_in: SignIn, olga: User, trail: None
) -> None:
    client = signed_in(olga)
    assert [row["action"] for row in csv.DictReader(io.StringIO(_file(client, query)))] == actions, why
    answer = client.get(f"{PAGE}?{query}")
    assert [row.entry.action for row in answer.context["rows"]] == actions, why
    assert ("No row fits." in answer.content.decode()) == (not actions)


def test_pages_keep_what_is_asked_for(signed_in: SignIn, olga: User, now: datetime) -> None:
    factories.policy_version()
    for number in range(ON_A_PAGE + 1):
        audit("stake.receive", by=olga, subject={"stake": [number]}, why="a & b", now=now + timedelta(number))
    client = signed_in(olga)
    first = client.get(f"{PAGE}?words=a+%26+b")
    assert len(first.context["rows"]) == ON_A_PAGE
    assert 'href="?words=a+%26+b&amp;page=2"' in first.content.decode()
    second = client.get(f"{PAGE}?words=a+%26+b&page=2")
    assert [row.entry.subject for row in second.context["rows"]] == [{"stake": [0]}]
    assert client.get(f"{PAGE}?page=x").status_code == 200
    assert "Write the day as 2026-11-20." in client.get(f"{PAGE}?day=18.11.2026").content.decode()


def test_the_file_says_all_and_nothing_in_it_is_a_formula(signed_in: SignIn, olga: User, now: datetime) -> None:
    factories.policy_version()
    audit("pool.deposit", by=olga, subject={"ledger_entry": [3]}, why="=1+1", now=now, private={"cents": 5})
    entries_seal()
    (row,) = csv.DictReader(io.StringIO(_file(signed_in(olga))))
    told = {"number": "1", "who": "olga", "role": "organizer", "why": "'=1+1", "origin": "shell"}
    told |= {"subject": '{"ledger_entry":[3]}', "private": '{"cents":5}'}
    assert row.items() >= told.items() and len(row["sha256"]) == 64


def test_the_state_of_the_chain_is_shown_checked_when_asked_for_and_an_alarm(
    signed_in: SignIn, olga: User, now: datetime, trail: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries_seal()
    chain_check(now=now)
    audit("tasker.warn", by=olga, subject={}, now=now)
    client = signed_in(olga)
    text = client.get(PAGE).content.decode()
    assert "Checked through row <strong>3</strong>" in text and "1 row since then." in text
    text = client.post(PAGE, follow=True).content.decode()
    assert "The chain holds through row 4." in text and "since then" not in text
    monkeypatch.setattr("common.audit_seals._private_problem", lambda _: "has another private part")
    text = client.post(PAGE, follow=True).content.decode()
    assert '<span class="state state-rejected">differs</span>' in text and "Row 1 has another private part." in text
