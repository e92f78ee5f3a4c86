"""The page, the file and the call of the leaderboard: who may open them, and what they say in which order."""

import csv
import io
import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from contest.leaderboard import snapshots
from contest.leaderboard.columns import ATTACKERS, DEFENSES, sorting
from contest.models import Attack, Leaderboard, Release, Team
from labeling.models import Image, Tasker
from tests.contest import release_fixtures as fixtures

pytestmark = pytest.mark.django_db
PAGES = ["/leaderboard/", "/leaderboard.csv", "/api/v1/leaderboard/"]


@pytest.fixture
def week(db: None) -> fixtures.Contest:
    """A released week in which team `=red` broke the defense called `=SUM(A1)`."""
    found = fixtures.a_week()
    Attack.objects.update(week="2026-W47")
    Image.objects.filter(attacks__isnull=False).update(origin="attack")
    Release.objects.create(week="2026-W47", manifest_sha256="0" * 64, counts={}, bytes=1, released_at=fixtures.AFTER)
    return found


@pytest.fixture(autouse=True)
def tuesday(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the day after the release."""
    monkeypatch.setattr(timezone, "now", lambda: fixtures.AFTER + timedelta(days=1))


@pytest.mark.parametrize("page", PAGES)
def test_strangers_boards_and_organizers_may_read_it_and_taskers_may_not(
    page: str, rita: User, olga: User, tara: Tasker, nell: Tasker, signed_in: Any
) -> None:
    for client in (Client(), signed_in(rita), signed_in(olga)):
        assert client.get(page).status_code == 200
    for tasker in (tara, nell):
        refused = signed_in(tasker).get(page)
        assert (refused.status_code, b"not_for_taskers" in refused.content) == (403, True)


@pytest.mark.parametrize("page", PAGES)
def test_a_week_that_is_not_over_has_none(page: str, client: Client) -> None:
    for week in ("2026-W48", "nonsense", "2026-W47'"):
        refused = client.get(page, {"week": week})
        assert refused.status_code == 404
        assert b"unknown_week" in refused.content


def test_an_empty_contest_says_what_comes(client: Client) -> None:
    page = client.get("/leaderboard/").content.decode()
    assert "No defense is published yet." in page and "No attack is public yet" in page and "<table" not in page


def test_the_page_tells_both_tables_with_their_links(
    week: fixtures.Contest, client: Client, django_assert_max_num_queries: Any
) -> None:
    snapshots.boards_make(now=timezone.now() - timedelta(minutes=4))
    with django_assert_max_num_queries(4):
        page = client.get("/leaderboard/").content.decode()
    red = Team.objects.get(name="=red")
    assert page.count(f'href="/teams/{red.public_id}/"') == 2, "as an attacker, and as who broke a defense"
    assert 'href="/defenses/D-00002/"' in page and "state-broken" in page and "4 min ago" in page


def test_the_page_of_a_past_week_says_which_it_is(week: fixtures.Contest, client: Client) -> None:
    page = client.get("/leaderboard/", {"week": "2026-W47"}).content.decode()
    assert "when week 2026-W47 ended, on Sat 21 Nov 2026 00:00:00 UTC" in page
    assert "<option selected>2026-W47</option>" in page
    assert "state-broken" not in page, "its release came later"


# Sorting --------------------------------------------------------------------------------------------------------------


def sorted_heading(page: str, table: str) -> tuple[str, str]:
    part = page.partition(f'<h2 id="{table}">')[2].partition("</table>")[0]
    found = re.search(r'<th scope="col"[^>]* aria-sort="(\w+)"><a href="[^"]*">([^<]*)</a>', part)
    assert found
    return found[2], found[1]


HEADINGS = {
    "": ("Rank", "ascending"),
    "name": ("Defense", "ascending"),
    "-name": ("Defense", "descending"),
    "-days": ("Days unbroken", "descending"),
    "nothing": ("Rank", "ascending"),
    "--name": ("Rank", "ascending"),
}


def test_the_sorted_column_says_so(week: fixtures.Contest, client: Client) -> None:
    found: dict[str, tuple[str, str]] = {}
    for asked in HEADINGS:
        page = client.get("/leaderboard/", {"defenses": asked, "attackers": "-sent"}).content.decode()
        found[asked] = sorted_heading(page, "defenses")
        assert sorted_heading(page, "attackers") == ("Pictures sent", "descending"), asked
    assert found == HEADINGS


def test_a_heading_keeps_the_week_and_the_order_of_the_other_table(week: fixtures.Contest, client: Client) -> None:
    page = client.get("/leaderboard/", {"defenses": "-days", "attackers": "name", "week": "2026-W47"}).content.decode()
    assert 'href="?defenses=days&amp;attackers=name&amp;week=2026-W47#defenses">Days unbroken' in page
    assert 'href="?defenses=-days&amp;attackers=-breaks&amp;week=2026-W47#attackers">Breaks' in page


def test_every_column_of_defenses_sorts(week: fixtures.Contest, client: Client) -> None:
    for order in (sign + each.name for sign in ("", "-") for each in DEFENSES):
        assert client.get("/leaderboard/", {"defenses": order}).status_code == 200, order
        rows = snapshots.shown("", now=timezone.now()).tables.defenses
        assert sorted(row.id for row in sorting(DEFENSES, order).of(rows)) == sorted(row.id for row in rows), order


def test_every_column_of_attackers_sorts(week: fixtures.Contest, client: Client) -> None:
    blue = Team.objects.create(name="blue", created_at=fixtures.MONDAY)
    image = fixtures.picture(60, origin="attack")
    Attack.objects.create(team=blue, image=image, received_at=fixtures.MONDAY, week="2026-W47")
    for column in (each.name for each in ATTACKERS):
        up, down = (
            [row[2] for row in read_csv(client, {"table": "attackers", "sort": sign + column})] for sign in ("", "-")
        )
        assert sorted(up) == sorted(down) == ["'=red", "blue"], column
        if column not in ("sent", "prizes"):  # the same for both
            assert up == down[::-1], column


# Files and calls ------------------------------------------------------------------------------------------------------


def read_csv(client: Client, asked: dict[str, str]) -> list[list[str]]:
    answer = client.get("/leaderboard.csv", asked)
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    heading, *rows = csv.reader(io.StringIO(answer.content.decode()))
    assert heading[:3] == ["rank", "id", "name"]
    return rows


def test_the_file_of_defenses_is_no_formula_and_is_named_after_its_week(week: fixtures.Contest, client: Client) -> None:
    rows = {row[1]: row for row in read_csv(client, {})}
    assert (rows["D-00002"][2], rows["D-00002"][6]) == ("'=SUM(A1)", "broken")
    sent = fixtures.MONDAY.isoformat()
    assert rows["D-00002"][-4:] == [sent, "2026-W47", Team.objects.get().public_id, sent]
    assert rows["D-00001"][3] == "yes", "a demo"
    answer = client.get("/leaderboard.csv", {"week": "2026-W47", "table": "attackers"})
    assert 'filename="leaderboard-attackers-2026-W47.csv"' in answer["Content-Disposition"]


def test_the_call_tells_what_the_page_does(week: fixtures.Contest, client: Client) -> None:
    answer = client.get("/api/v1/leaderboard/").json()
    by_id = {row["id"]: row for row in answer["defenses"]}
    red = Team.objects.get(name="=red")
    assert by_id["D-00002"]["state"] == "broken"
    assert by_id["D-00002"]["broken_by"] == [{"id": red.public_id, "name": "=red", "at": "2026-11-16T09:30:00Z"}]
    assert answer["attackers"] == [
        {
            "rank": 1, "id": red.public_id, "name": "=red", "unpaid": False, "sent": 1, "valid": 1, "breaks": 1,
            "defenses": 1, "cents": 0,
        }
    ]  # fmt: skip
    assert (answer["week"], answer["currency"]) == ("", "USD")
    past = client.get("/api/v1/leaderboard/", {"week": "2026-W47"}).json()
    assert (past["week"], past["at"]) == ("2026-W47", "2026-11-21T00:00:00Z")


# The organizers' page -------------------------------------------------------------------------------------------------


def test_organizers_see_the_check_and_make_the_tables_anew(week: fixtures.Contest, olga: User, signed_in: Any) -> None:
    client = signed_in(olga)
    assert "No check has run yet" in client.get("/organizer/leaderboard/").content.decode()
    snapshots.boards_make(now=timezone.now())
    Leaderboard.objects.filter(week="").update(
        tables={"at": timezone.now().isoformat(), "defenses": [], "attackers": []}
    )
    snapshots.board_check(now=timezone.now())
    page = client.get("/organizer/leaderboard/").content.decode()
    assert "3 differences" in page and "Now: defense D-00001 is missing" in page
    answer = client.post("/organizer/leaderboard/", follow=True)
    assert answer.redirect_chain == [("/organizer/leaderboard/", 303)]
    assert "no difference" in answer.content.decode()


@pytest.mark.parametrize(("who", "status"), [("stan", 404), ("rita", 403), ("tara", 403)])
def test_nobody_else_sees_it(who: str, status: int, request: pytest.FixtureRequest, signed_in: Any) -> None:
    client, address = signed_in(request.getfixturevalue(who)), "/organizer/leaderboard/"
    assert (client.get(address).status_code, client.post(address).status_code) == (status, status)
    assert Client().get(address)["Location"].startswith("/sign-in/"), "a stranger is sent to sign in"
