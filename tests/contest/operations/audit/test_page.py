"""The organizers' page of the audit trail and its file: who sees what, filters, pages, and the state of the chain."""

import csv
import io
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from common.audit.origin import audit_origin, place_of
from common.audit.seals import chain_check, seal_entries
from common.audit.trail import audit
from contest.operations.audit_trail import COLUMNS
from contest.pages.organizer.audit_views import ROWS_PER_PAGE
from labeling.models import Tasker
from tests import factories
from tests.contest.pages import shows
from tests.tables import cases

pytestmark = pytest.mark.django_db
PAGE, FILE = "/organizer/audit/", "/organizer/audit.csv"
# The last minute of the day before, in the contest's zone.
NIGHT = datetime(2026, 11, 17, 23, 59, tzinfo=UTC)
SignIn = Callable[[Any], Client]


@pytest.fixture
def trail(olga: User, now: datetime) -> None:
    with audit_origin("page", "192.0.2.7"):
        audit("tasker.pause", by=olga, subject={"tasker": ["T-12345"]}, why="Too <quick> & wrong.", now=now)
    with audit_origin("command add_user"):
        audit("role.give", by=None, subject={"account": [olga.pk]}, now=now, private={"role": "organizer"})
    with audit_origin("sweep taskers watched"):
        audit("tasker.warn", by=None, subject={"tasker": ["T-67890"]}, why="Slowly.", now=NIGHT)


@pytest.fixture
def olgas(olga: User, signed_in: SignIn) -> Client:
    factories.policy_version()
    return signed_in(olga)


def _file(client: Client, query: str = "") -> str:
    answer = client.get(f"{FILE}?{query}")
    assert (answer.status_code, answer["Content-Type"]) == (200, "text/csv; charset=utf-8")
    return b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]


def _page(client: Client, query: str = "") -> str:
    return " ".join(client.get(f"{PAGE}?{query}").content.decode().split())


def _checked(client: Client) -> str:
    return str(client.post(PAGE, follow=True).content.decode())


def test_strangers_are_sent_to_sign_in_and_others_are_refused(
    client: Client, signed_in: SignIn, rita: User, tara: Tasker
) -> None:
    for who, status in ((client, 302), (signed_in(rita), 403), (signed_in(tara), 403)):
        assert [ask.status_code for ask in (who.get(PAGE), who.get(FILE), who.post(PAGE))] == [status] * 3


def test_without_a_row_the_page_says_so(olgas: Client) -> None:
    shows(_page(olgas), "Nothing was done by hand yet.", "It was not checked yet.")
    shows(olgas.get("/organizer/").content.decode(), f'href="{PAGE}"')  # the overview leads to it
    assert _file(olgas).strip() == ",".join(COLUMNS)


def test_a_row_says_who_did_what_when_why_and_from_where(
    signed_in: SignIn, olga: User, olgas: Client, trail: None
) -> None:
    shows(
        _page(olgas),
        '<strong>olga</strong> <span class="muted">(organizer)</span> paused tasker',
        '<a href="/organizer/taskers/T-12345/">T-12345</a>.',
        "Too &lt;quick&gt; &amp; wrong.",
        f"from page, place <code>{place_of('192.0.2.7')}</code> · waits for its seal",
        "<strong>Somebody on the server</strong> gave a role to account olga.",
        "<strong>The platform</strong> warned tasker",
        but=["192.0.2.7"],
    )
    number = olga.pk
    olga.delete()
    shows(
        _page(signed_in(factories.user("olaf", "organizers"))),
        "<strong>Somebody whose account is deleted</strong>",
        f"account {number} (deleted)",
    )


@cases(
    "query actions why",
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
    ("words=%00", [], "no text"),
    ("action=tasker.pause&who=platform", [], "both at once"),
)
def test_what_is_asked_for_is_shown_on_the_page_and_in_the_file(
    query: str, actions: list[str], why: str, olgas: Client, trail: None
) -> None:
    answer = olgas.get(f"{PAGE}?{query}")
    assert [row["action"] for row in csv.DictReader(io.StringIO(_file(olgas, query)))] == actions, why
    assert [row.entry.action for row in answer.context["rows"]] == actions, why
    assert ("No row matches." in answer.content.decode()) == (not actions)


def test_pages_keep_what_is_asked_for(olga: User, olgas: Client, now: datetime) -> None:
    for number in range(ROWS_PER_PAGE + 1):
        audit("stake.receive", by=olga, subject={"stake": [number]}, why="a & b", now=now + timedelta(number))
    first, second = (olgas.get(f"{PAGE}?words=a+%26+b&page={page}") for page in (1, 2))
    assert len(first.context["rows"]) == ROWS_PER_PAGE
    shows(first.content.decode(), 'href="?words=a+%26+b&amp;page=2"')
    assert [row.entry.subject for row in second.context["rows"]] == [{"stake": [0]}]
    assert olgas.get(f"{PAGE}?page=x").status_code == 200
    shows(_page(olgas, "day=18.11.2026"), "Write the day as 2026-11-20.")


def test_the_file_says_all_and_nothing_in_it_is_a_formula(olga: User, olgas: Client, now: datetime) -> None:
    audit("pool.deposit", by=olga, subject={"ledger_entry": [3]}, why="=1+1", now=now, private={"cents": 5})
    seal_entries()
    (row,) = csv.DictReader(io.StringIO(_file(olgas)))
    told = {"number": "1", "who": "olga", "role": "organizer", "why": "'=1+1", "origin": "shell"}
    told |= {"subject": '{"ledger_entry":[3]}', "private": '{"cents":5}'}
    assert row.items() >= told.items() and len(row["sha256"]) == 64


def test_the_state_of_the_chain_is_shown_checked_when_asked_for_and_an_alarm(
    olga: User, olgas: Client, now: datetime, trail: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    seal_entries()
    chain_check(now=now)
    audit("tasker.warn", by=olga, subject={}, now=now)
    shows(_page(olgas), "Checked through row <strong>3</strong>", "1 row since then.")
    shows(_checked(olgas), "The chain holds through row 4.", but=["since then"])
    monkeypatch.setattr("common.audit.seals._private_problem", lambda _: "has another private part")
    shows(_checked(olgas), '<span class="state state-rejected">differs</span>', "Row 1 has another private part.")
