"""The pages behind the cockpit, and the cockpit's own links: who enters, and that each line leads somewhere."""

import re
from datetime import datetime, timedelta
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from contest.weeks import week_at
from labeling.models import Panel, Tasker
from tests import factories
from tests.contest.cockpit.test_deadlines import waiting, worked
from tests.contest.cockpit.test_parts import HALF, SQUARE, case, leased, ruled
from tests.contest.pages import ORGANIZERS_ALONE, codes, lacking, main, outsiders, words

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def in_force() -> None:
    factories.policy_version()


@pytest.fixture
def organizer(olga: User, signed_in: Any) -> Any:
    return signed_in(olga)


@pytest.fixture
def last_week() -> datetime:
    """An hour before the present week began: its pictures are labeled now."""
    return week_at(timezone.now()).start - timedelta(hours=1)


def test_only_organizers_enter(signed_in: Any) -> None:
    people = outsiders(signed_in)
    for address in ("/organizer/weeks/2026-W46/", "/organizer/differing/"):
        assert codes(people, address) == ORGANIZERS_ALONE, address


def test_what_is_no_week_is_not_found(organizer: Client) -> None:
    for name in ("2026-W60", "W46", "46", "2026-w46", "1999-W01"):
        assert organizer.get(f"/organizer/weeks/{name}/").status_code == 404, name


def test_an_empty_contest_has_quiet_pages(organizer: Client) -> None:
    assert "No picture of this week misses an answer." in words(organizer, "/organizer/weeks/2026-W46/")
    assert "did taskers differ" in words(organizer, "/organizer/differing/")
    assert not lacking(
        words(organizer, "/organizer/"),
        "No picture waits for an answer.",
        "No panel is open.",
        "None: no lease is past its end",
        "There is no gold",
        "No panel was ruled on in the last 2 weeks.",
        "Nobody is paused, and no rule fired in the last 7 days.",
        "No case waits for the board.",
    )


def test_without_answers_the_deadline_is_told_without_a_forecast(organizer: Client, last_week: datetime) -> None:
    waiting(2, received=last_week)
    name = week_at(last_week).name
    page = words(organizer, "/organizer/")
    assert not lacking(page, f"{name} 2 2 in ", "No answer in the last 24 hours: no forecast.")
    assert "How this is reached" not in page
    assert "2 pictures, 2 of them to finish, 6 answers missing." in words(organizer, f"/organizer/weeks/{name}/")


def test_pictures_at_risk_are_shown_with_their_chance(
    organizer: Client, tara: Tasker, otto: Tasker, uma: Tasker, last_week: datetime
) -> None:
    worked([tara, otto, uma], timezone.now())
    hopeless = waiting(40, received=last_week)[-1].image.public_id
    name = week_at(last_week).name
    page = organizer.get("/organizer/").content.decode()
    assert f'href="/organizer/weeks/{name}/#at-risk"' in page
    assert "How this is reached" in page and tara.public_id in page
    shown = words(organizer, f"/organizer/weeks/{name}/")
    assert "at risk." in shown and "under 1 %" in shown and "Invite taskers" in shown
    assert hopeless in shown, "the last of the queue is at risk"


def test_the_pictures_taskers_differ_on_are_shown_with_their_answers_and_no_names(
    organizer: Client, tara: Tasker, otto: Tasker, uma: Tasker
) -> None:
    at = timezone.now() - timedelta(hours=1)
    split = factories.panel()
    for tasker, outline in ((tara, SQUARE), (otto, HALF), (uma, SQUARE)):
        factories.response(tasker, split, outline=outline, complete=tasker is not uma)
    name = ruled(split, at)
    page = words(organizer, "/organizer/differing/")
    assert name in page and "Differed on complete, outline; the outline that fits least overlaps 50 %." in page
    assert "not complete, unoccluded, real" in page
    assert not any(tasker.public_id in page for tasker in (tara, otto, uma))
    assert 'href="/organizer/differing/"' in organizer.get("/organizer/").content.decode()


BESIDE = {
    "/organizer/policy/": "Policy: the numbers in force",
    "/organizer/what-if/": "What if: try other numbers",
    "/organizer/audit/": "Audit trail: who did what",
    "/organizer/conflicts/": "Conflicts of the board",
}


def test_every_line_of_the_cockpit_leads_to_a_page(
    organizer: Client, tara: Tasker, otto: Tasker, uma: Tasker, last_week: datetime
) -> None:
    now = timezone.now()
    worked([tara, otto, uma], now, days=2)
    waiting(2, received=last_week)
    held = waiting(1, received=last_week)[0]
    Panel.objects.filter(pk=held.pk).update(state="held")
    leased(tara, since=now - timedelta(hours=5), until=now + timedelta(hours=1))
    factories.gold()
    Tasker.objects.filter(pk=factories.tasker("pat").pk).update(state="paused")
    case(now - timedelta(days=9), now - timedelta(days=1), reason="The secret argument.")
    again = factories.panel(size=9)
    Panel.objects.filter(pk=again.pk).update(urgent=True)
    week = f"/organizer/weeks/{week_at(last_week).name}/"
    markup = main(organizer, "/organizer/") + main(organizer, week)
    found = {unescape(link) for link in re.findall(r'<a [^>]*href="(/[^"#]*)', markup)}
    alike = {f"/organizer/taskers/{each.public_id}/" for each in (otto, uma)}
    assert alike | {f"/organizer/taskers/{tara.public_id}/", "/organizer/reports/", "/organizer/conflicts/"} <= found
    for link in sorted(found - alike - set(BESIDE)):
        assert organizer.get(link).status_code == 200, link
    page = words(organizer, "/organizer/")
    assert "secret" not in page
    assert not lacking(
        page,
        "1 case to be decided, 1 past its time",
        f"{again.image.public_id} (asked about again for the board)",
        "9 answers missing that nobody is giving, and 3 people may still be asked",
        "1 reported picture is held and not counted in this. Decide",
    )


def test_what_organizers_decide_by_is_one_step_from_the_cockpit(organizer: Client) -> None:
    page = organizer.get("/organizer/").content.decode()
    beside = re.search(r'<nav class="more-pages.*?</nav>', page, re.DOTALL)
    assert beside is not None
    assert dict(re.findall(r'<a href="([^"]+)">([^<]+)</a>', beside[0])) == BESIDE
    for address in BESIDE:
        answer = organizer.get(address)
        assert answer.status_code == 200 and '<a href="/organizer/"' in answer.content.decode(), "and back"


def test_a_member_of_the_board_finds_their_conflicts_from_every_page(signed_in: Any) -> None:
    client = signed_in(factories.user("rita", "review board"))
    for address in ("/", "/board/", "/board/awards/", "/board/withheld/"):
        assert 'href="/board/conflicts/"' in client.get(address).content.decode(), address
    assert "Your conflicts: the teams that you do not judge" in client.get("/board/").content.decode()
