"""What the board decided, for everybody: the list with its filters, its file and feeds, and the search."""

import csv
import io
import json
import re
from collections.abc import Callable
from copy import deepcopy
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlparse
from xml.etree import ElementTree

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import transaction
from django.test import Client, RequestFactory

from contest.pages.public.overrule_views import PAGE_SIZE, OverruleFilter
from tests import factories
from tests.contest.board.case_cast import joins
from tests.contest.board.cast import LATER, RULED, SURE, UNSURE, WHY
from tests.contest.ledger import cast as money
from tests.contest.pages import lacking, main, words
from tests.contest.record import decided
from tests.contest.record.decided import DISSENT, TODAY, Decided

pytestmark = pytest.mark.django_db
ATOM = "{http://www.w3.org/2005/Atom}"
FEEDS = ("/feeds/overrules.atom", "/feeds/overrules.json")
# What changes from answer to answer, and what a team counts in its header: it is told of its own case by messages.
_CHANGES = re.compile(
    rb'name="csrfmiddlewaretoken" value="\w+"|/pictures/[\w=-]+\.png|<updated>[^<]+</updated>|/record/[\w-]+/'
    rb'|<span class="unread-count">.*?</span></span>'
)


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user, backend="accounts.session_store.UserBackend")
    return client


def said_by_taskers(one: Decided, *last: dict[str, Any]) -> None:
    """Those whom the board asked are sure, but for the last ones."""
    assert one.case.decision.panel is not None
    missing = one.case.decision.panel.places.filter(response=None).count()
    one.answered(*[SURE] * (missing - len(last)), *last)


# What is asked for -> which decisions are listed, the newest first.
FILTERS = [
    ("", ["overruled"], "overrules alone"),
    ("outcome=all", ["asked", "upheld", "overruled"], "all that is decided"),
    ("outcome=uphold", ["upheld"], "upheld"),
    ("outcome=more_taskers", ["asked"], "more taskers"),
    ("outcome=dropped", [], "an outcome that no picture has"),
    ("outcome=all&before=valid", ["asked", "upheld", "overruled"], "all were valid"),
    ("outcome=all&before=rejected", [], "none was rejected"),
    ("outcome=all&after=rejected", ["asked", "overruled"], "two are rejected since"),
    ("outcome=all&after=valid", ["upheld"], "one is valid still"),
    ("outcome=all&label=bird", ["asked", "upheld", "overruled"], "birds"),
    ("outcome=all&label=bicycle", [], "no bicycle"),
    ("outcome=all&reason=occluded", ["overruled"], "the reason of the board"),
    ("outcome=all&reason=uncertain", ["asked"], "the reason that follows from an answer"),
    ("outcome=all&reason=ccl", [], "no such reason"),
    ("outcome=all&week=2026-W47", ["asked", "upheld", "overruled"], "the week of all"),
    ("outcome=all&week=2026-W46", [], "a week of none"),
    ("outcome=all&week=nonsense", [], "no week"),
    ("find=wing+that+is+hidden", ["overruled"], "words of an explanation"),
    ("outcome=all&find=BLUE", ["asked", "upheld", "overruled"], "the team that appealed"),
    ("outcome=all&find=red", [], "the team that answered appealed nothing"),
    ("outcome=all&find=%25", [], "a sign of the database's own is a sign"),
    ("outcome=all&find=nothing%00", [], "a zero byte"),
]


def listed(query: str = "") -> list[str]:
    return re.findall(r'<article class="decided" id="([^"]+)"', main(Client(), f"/overrules/?{query}"))


@pytest.fixture(scope="class")
def made(appealed: Decided, class_world: Path, today: None) -> dict[str, Decided]:
    first = deepcopy(appealed)
    rest = {name: decided.another(first, seed) for seed, name in enumerate(("upheld", "asked", "open"), start=20)}
    said_by_taskers(rest["asked"].asked(), UNSURE)
    rest["upheld"].upheld()
    decided.release()
    return {"overruled": first.overruled(), **rest}


@pytest.fixture
def several(made: dict[str, Decided], clock: Any) -> dict[str, Decided]:
    clock(TODAY)
    return deepcopy(made)


class TestSeveral:
    """An overrule, a ruling that was upheld, one after more taskers of whom one was not sure, and an open case."""

    @pytest.mark.both("words are looked for by the database, with its own signs and cases")
    def test_what_is_asked_for_is_found(self, several: dict[str, Decided]) -> None:
        names = {each.case.public_id: name for name, each in several.items()}

        def asked(query: str) -> list[str]:
            found = OverruleFilter(RequestFactory().get(f"/?{query}")).rows
            return sorted(names[each.case.public_id] for each in found)

        # Those of one moment stand in the order of their rows.
        assert {query: asked(query) for query, *_ in FILTERS} == {row[0]: sorted(row[1]) for row in FILTERS}
        for name in ("overruled", "upheld", "asked"):
            one = several[name]
            for each in (one.picture, one.case.public_id, one.appeal.public_id, one.appeal.public_id.lower()):
                assert asked(f"outcome=all&find={each}") == [name], each

    def test_the_list_turns_pages_and_keeps_what_was_asked(
        self, several: dict[str, Decided], client: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("contest.pages.public.overrule_views.PAGE_SIZE", 2)
        first, second = listed("outcome=all&find=blue"), listed("outcome=all&find=blue&page=2")
        assert (len(first), len(second), len({*first, *second})) == (2, 1, 3)
        assert listed("page=99") == [several["overruled"].case.public_id], "after the last page the last one"
        assert 'href="?outcome=all&amp;find=blue&amp;page=2"' in main(client, "/overrules/?outcome=all&find=blue")

    def test_the_file_has_the_same_rows_and_no_formula(self, several: dict[str, Decided]) -> None:
        assert Client().get("/overrules.csv?week=soon").status_code == 400, "no file looks whole that is not"
        answer = Client().get("/overrules.csv?outcome=all&after=rejected")
        assert answer["Content-Type"] == "text/csv; charset=utf-8"
        rows = {row["case"]: row for row in csv.DictReader(io.StringIO(answer.content.decode()))}
        one = several["overruled"]
        assert set(rows) == {one.case.public_id, several["asked"].case.public_id}
        assert rows[one.case.public_id].items() >= {
            "image": one.picture, "week": "2026-W47", "outcome": "overrule", "verdict_before": "valid",
            "label_before": "bird", "reasons_after": "occluded", "explanation": WHY, "dissents": DISSENT,
            "appeals": one.appeal.public_id,
            "votes": "2 x overrule (rejected: the object is partly hidden); 1 x uphold",
        }.items()  # fmt: skip

    def test_both_feeds_hold_to_their_standards_and_name_decisions_alike(
        self, several: dict[str, Decided], settings: Any
    ) -> None:
        feed = ElementTree.fromstring(Client().get(FEEDS[0]).content)
        told = json.loads(Client().get(FEEDS[1]).content)
        assert (feed.tag, told["version"]) == (f"{ATOM}feed", "https://jsonfeed.org/version/1.1")
        assert urlparse(feed.findtext(f"{ATOM}id")).scheme == "urn"
        links = {link.get("rel"): link.get("href") for link in feed.findall(f"{ATOM}link")}
        assert links["self"].endswith(FEEDS[0]) and links["alternate"].endswith("/overrules/")
        assert (told["feed_url"], told["home_page_url"]) == (links["self"].replace(*FEEDS), links["alternate"])
        entries, ids = feed.findall(f"{ATOM}entry"), [item["id"] for item in told["items"]]
        assert [entry.findtext(f"{ATOM}id") for entry in entries] == ids and len(entries) == 3 == len(set(ids))
        for entry, item in zip(entries, told["items"], strict=True):
            moment = datetime.fromisoformat(item["date_published"])
            assert datetime.fromisoformat(entry.findtext(f"{ATOM}updated") or "") == moment.replace(microsecond=0)
            assert moment == LATER + timedelta(days=2), "they became known with the release of their week"
            path = urlparse(item["url"])
            assert f'id="{path.fragment}"' in Client().get(path.path).content.decode()
        settings.PUBLIC_URL = "https://elsewhere.example"
        assert [item["id"] for item in json.loads(Client().get(FEEDS[1]).content)["items"]] == ids
        one = several["overruled"]
        (text,) = (i["content_text"] for i in told["items"] if i["title"] == f"Picture {one.picture}: overruled")
        assert lacking(text, WHY, DISSENT) == []


def test_a_decision_tells_before_and_after_and_why_and_what_followed(what: Decided, client: Client) -> None:
    decided.broken(what)
    what.overruled().released()
    page, keep = words(client, "/overrules/"), what.scene.stake.defense.name
    assert not lacking(
        page,
        "Before ruling 1 valid, a bird",
        "After ruling 2 rejected the object is partly hidden",
        f"Appealed by blue ( {what.appeal.public_id} )",
        f"The break of {keep} was taken back.",
        WHY,
        DISSENT,
        "2 × overrule (rejected: the object is partly hidden); 1 × uphold",
    )
    assert all(member.username not in page for member in what.scene.members)
    money.ruled(what.scene.image, "bird", at=LATER + timedelta(hours=1))
    assert "Ruled upon again since" in words(client, "/overrules/")


def test_nothing_decided_is_an_empty_list_with_a_next_step(what: Decided, client: Client) -> None:
    said = {
        "": "No ruling was overruled so far",
        "find=x": "No decision fits",
        "outcome=uphold": "No such decision is public",
        "week=2026": "There is no week of this name",
    }
    assert [query for query in said if said[query] not in words(client, f"/overrules/?{query}")] == []


def test_the_list_asks_as_often_for_many(what: Decided, django_assert_max_num_queries: Any) -> None:
    assert PAGE_SIZE > 1
    what.overruled().released()
    with django_assert_max_num_queries(25) as few:
        assert len(listed()) == 1
    decided.another(what, 30).overruled()
    with django_assert_max_num_queries(len(few)):
        assert len(listed()) == 2


def test_who_has_the_feed_is_told_that_nothing_is_new(what: Decided, clock: Any) -> None:
    what.overruled().released()
    known = {address: {"if-modified-since": Client().get(address)["Last-Modified"]} for address in FEEDS}

    def asked() -> list[int]:
        return [Client().get(address, headers=known[address]).status_code for address in FEEDS]

    assert asked() == [304, 304]
    other = decided.another(what, 9)
    clock(TODAY + timedelta(days=1))
    other.upheld()
    other.case.closed_at = TODAY + timedelta(days=1)
    other.case.save()
    assert asked() == [200, 200]


def test_the_call_of_a_picture_tells_the_appeals_that_are_public(what: Decided, client: Client) -> None:
    address = f"/api/v1/images/{what.picture}/"
    decided.release()
    assert client.get(address).json()["appeals"] == []
    what.overruled()
    (appeal,) = client.get(address).json()["appeals"]
    assert what.appeal.defense and appeal == {
        "id": what.appeal.public_id,
        "case": what.case.public_id,
        "team": {"id": what.scene.blue.public_id, "name": "blue"},
        "side": "defender",
        "defense": what.appeal.defense.public_id,
        "ruling": 1,
        "argument": what.appeal.argument,
        "marks": what.appeal.marks,
        "sent_at": what.appeal.sent_at.isoformat().replace("+00:00", "Z"),
        "outcome": "overrule",
        "explanation": WHY,
        "decided_at": what.case.decision.decided_at.isoformat().replace("+00:00", "Z"),
    }


# The search -----------------------------------------------------------------------------------------------------------


def test_an_id_leads_to_its_page(what: Decided, client: Client) -> None:
    what.overruled().released()
    page, keep, scene = f"/record/{what.picture}/", what.scene.stake.defense, what.scene
    table = {
        what.picture: page,
        f" {what.picture.lower()} ": page,
        f"{what.picture} 2": f"{page}#ruling-2",
        f"{what.picture}/1": f"{page}#ruling-1",
        f"{what.picture}#ruling-2": f"{page}#ruling-2",
        f"{what.picture} ruling 1": f"{page}#ruling-1",
        scene.attack.public_id: f"/attacks/{scene.attack.public_id}/",
        keep.public_id: f"/defenses/{keep.public_id}/",
        scene.red.public_id: f"/teams/{scene.red.public_id}/",
        what.case.public_id: f"{page}#case-{what.case.public_id}",
        what.appeal.public_id: f"{page}#appeal-{what.appeal.public_id}",
        "2026-W47": "/weeks/2026-W47/",
        "2026-w47": "/weeks/2026-W47/",
    }
    assert {asked: client.get("/search/", {"q": asked}).get("Location") for asked in table} == table
    pages = {address: main(client, address) for address in {url.partition("#")[0] for url in table.values()}}
    for address, _, anchor in (url.partition("#") for url in table.values()):
        assert not anchor or f'id="{anchor}"' in pages[address], anchor


NOT_THERE = [
    *("", " ", "P-00000000", "P-00000000 1", "C-000000", "L-000000", "P-", "x" * 500, "\x00", "%", "_"),
    *("2026-W60", "9999-W99", "0000-W00", "2027-W20"),
]


def test_what_is_not_there_is_not_found(what: Decided, client: Client) -> None:
    pages = {asked: client.get("/search/", {"q": asked}) for asked in NOT_THERE}
    assert {asked: page.status_code for asked, page in pages.items()} == dict.fromkeys(NOT_THERE, 200)
    assert [asked for asked, page in pages.items() if 'class="plain hits"' in page.content.decode()] == []


def test_words_find_teams_defenses_and_decisions(what: Decided, client: Client) -> None:
    what.overruled().released()
    money.defense("blue heron", what.scene.blue)
    unpublished = money.defense("blue whale", what.scene.blue)
    type(unpublished).objects.filter(pk=unpublished.pk).update(published_at=None)
    hits = main(client, "/search/?q=Blue").partition('class="plain hits"')[2]
    hits = re.findall(r"<li><a href=\"[^\"]+\">([^<]+)</a></li>", hits)
    assert hits[0] == "Team blue" and "Defense blue heron" in hits and "Defense blue whale" not in hits
    assert hits[-1] == "1 decision of the board with these words"


# Nothing too early (R24) ----------------------------------------------------------------------------------------------


def read(client: Client, one: Decided) -> dict[str, tuple[Any, ...]]:
    """All addresses of these pages, asked with everything that somebody could know or guess."""
    cache.clear()
    names = (one.picture, f"{one.picture}%202", one.case.public_id, one.appeal.public_id, "wing", "blue")
    addresses = [
        "/overrules/", "/overrules/?outcome=all", "/overrules.csv?outcome=all", *FEEDS, f"/record/{one.picture}/",
        f"/api/v1/images/{one.picture}/", f"/api/v1/rulings/?image={one.picture}",
        *(f"{page}{each}" for page in ("/overrules.csv?outcome=all&find=", "/search/?q=") for each in names),
    ]  # fmt: skip
    return {each: _said(client.get(each)) for each in addresses}


def _said(answer: Any) -> tuple[Any, ...]:
    kept = _CHANGES.sub(b"", answer.content)
    return answer.status_code, answer.get("Location"), answer.get("Last-Modified"), kept


# What is done with the case before its week is released; none of it shows.
STATES: dict[str, Callable[[Decided], object]] = {
    "more taskers are asked": Decided.asked,
    "it is upheld": Decided.upheld,
    "it is overruled": Decided.overruled,
    "more taskers have answered": lambda one: said_by_taskers(one.asked()),
}


@pytest.fixture(scope="class")
def readers(appealed: Decided, class_world: Path) -> dict[str, Client]:
    """Those who are not told: strangers, another team, and a team that has a defense, the one that appealed."""
    return {
        "stranger": Client(),
        "other team": client_of(joins(money.team("green"), "gina")),
        "defender": client_of(joins(appealed.scene.blue, "bert")),
        "tasker": client_of(factories.tasker("tara").user),
    }


@pytest.fixture(scope="class")
def opened(appealed: Decided, readers: dict[str, Client], today: None) -> dict[str, dict[str, tuple[Any, ...]]]:
    """What each reads while the case is open."""
    return {role: read(client, appealed) for role, client in readers.items()}


@pytest.mark.slow("each case reads every address about a case as several people")
class TestNothingTooEarly:
    @pytest.mark.parametrize("state", STATES)
    def test_before_its_release_no_state_of_a_case_shows(
        self, state: str, what: Decided, readers: dict[str, Client], opened: dict[str, Any]
    ) -> None:
        """No page, feed, count, file, search or call differs by a byte, whatever the board does with a case (R24)."""
        STATES[state](what)
        for role, client in readers.items():
            now = read(client, what)
            assert [each for each in now if now[each] != opened[role][each]] == [], role

    def test_an_open_case_on_a_released_picture_shows_to_nobody(
        self, what: Decided, readers: dict[str, Client]
    ) -> None:
        """Neither while members vote nor while more taskers are asked; once it is closed it does."""
        decided.release(at=RULED + timedelta(hours=1))
        for role in ("stranger", "tasker"):
            opened, point = read(readers[role], what), transaction.savepoint()
            what.asked()
            assert read(readers[role], what) == opened, role
            said_by_taskers(what)
            closed = read(readers[role], what)
            changed = {each for each in closed if closed[each] != opened[each]}
            assert changed == set() if role == "tasker" else set(FEEDS) <= changed, role
            transaction.savepoint_rollback(point)
            what.case = type(what.case).objects.get(pk=what.case.pk)

    def test_what_is_under_embargo_is_found_as_little_as_what_is_not_there(
        self, what: Decided, readers: dict[str, Client], clock: Any
    ) -> None:
        clock(what.scene.attack.received_at + timedelta(hours=1))
        hidden = {what.picture: "P-00000000", what.scene.attack.public_id: "A-00000000",
                  what.case.public_id: "C-000000", what.appeal.public_id: "L-000000",
                  f"{what.picture} 1": "P-00000000 1"}  # fmt: skip
        for role in ("stranger", "other team", "defender"):
            for name, nothing in hidden.items():
                mine, theirs = (
                    _CHANGES.sub(b"", readers[role].get("/search/", {"q": each}).content) for each in (name, nothing)
                )
                # The page says what it was asked for, as it was typed and in addresses.
                asked, instead = name.split()[0].encode(), nothing.split()[0].encode()
                assert mine.replace(asked, instead) == theirs, (role, name)
