"""The story of a team in a real browser: register, confirm, make it, invite, ask, be accepted."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.utils import timezone
from playwright.sync_api import Page, expect

from common.mail import wait_until_sent
from contest.messages.sending import messages_send
from contest.models import Entitlement, Team
from contest.teams.associations import association_declare
from contest.teams.entitlements import entitlement_ask, entitlement_grant, entitlement_question
from contest.teams.invitations import team_invite
from contest.teams.merging import teams_merge
from contest.teams.same_person import same_persons_find
from contest.teams.services import member_add, team_create
from labeling.people import TEAMS
from tests import factories
from tests.browser.looking import SCREENS, signed_in, too_wide, violations
from tests.factories import mandate

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
NEW = "correct horse battery"


def newest_link(address: str) -> str:
    """The link in the newest letter to an address."""
    wait_until_sent()
    letter = [each for each in mail.outbox if each.to == [address]][-1]
    found = re.search(r"http://127\.0\.0\.1:8000(/\S+)", str(letter.body))
    assert found is not None
    return found[1]


def new_account(page: Page, name: str) -> None:
    page.fill("#id_username", name)
    page.fill("#id_new_password", NEW)
    page.fill("#id_new_password_again", NEW)
    page.click("main button[type=submit]")


def test_from_registering_to_being_entitled(browser: Any) -> None:
    factories.user("olga", "organizers")
    ann = browser().new_page()
    ann.goto("/sign-in/")
    ann.get_by_role("link", name="Make an account as a researcher").click()
    ann.fill("#id_email", "ann@example.org")
    ann.get_by_role("button", name="Send the link").click()
    expect(ann.locator("h1")).to_have_text("Look into your mail")
    ann.goto(newest_link("ann@example.org"))
    new_account(ann, "ann")
    expect(ann.locator("h1")).to_have_text("You are in no team")
    ann.fill("#id_name", "Vision Lab")
    ann.get_by_role("button", name="Make the team").click()
    expect(ann.locator("h1")).to_have_text("Team Vision Lab")
    ann.get_by_label("E-mail address", exact=True).fill("ben@example.org")
    ann.get_by_role("button", name="Send the invitation").click()
    expect(ann.get_by_role("status")).to_contain_text("on its way to ben@example.org")

    ben = browser().new_page()
    ben.goto(newest_link("ben@example.org"))
    expect(ben.locator("h1")).to_have_text("Join team Vision Lab")
    new_account(ben, "ben")
    expect(ben.get_by_role("status")).to_contain_text("You are in team Vision Lab now.")
    expect(ben.get_by_text("Your captain asks for it")).to_be_visible()

    ann.reload()
    expect(ann.get_by_role("row", name="ben")).to_contain_text("member")
    ann.get_by_label("arXiv identifier").fill("https://arxiv.org/abs/1809.08352v2")
    ann.get_by_label("Author's e-mail address on the paper").fill("ben@example.org")
    ann.get_by_role("button", name="Ask the organizers").click()
    expect(ann.get_by_role("status")).to_contain_text("Your request is on the organizers' list.")

    olga = signed_in(browser(), "olga")
    olga.goto("/organizer/")
    olga.get_by_role("link", name="Teams").click()
    olga.get_by_role("link", name="Vision Lab").first.click()
    expect(olga.get_by_text("ben@example.org")).to_be_visible()
    olga.get_by_label("A question, or the reason").fill("Is Ben the second author?")
    olga.get_by_role("button", name="Ask the team").click()

    ann.reload()
    ann.get_by_label("Your answer to the organizers' question").fill("Yes.")
    ann.get_by_role("button", name="Send the answer").click()
    olga.get_by_role("link", name="Vision Lab").first.click()
    olga.get_by_role("button", name="Accept: team Vision Lab may attack").click()
    expect(olga.get_by_role("status")).to_contain_text("is entitled now")
    ann.reload()
    expect(ann.get_by_text("may be sent")).to_be_visible()
    ann.get_by_role("link", name=Team.objects.get().public_id).click()
    expect(ann.get_by_text("entitled", exact=True)).to_be_visible()
    messages_send(clock=timezone.now)
    assert mail.outbox[-1].subject == "Team Vision Lab may attack"


def researcher(name: str, email: str) -> User:
    user = factories.user(name, TEAMS)
    user.email = email
    user.save()
    return user


@pytest.fixture
def teams(browser: Any) -> dict[str, Team]:
    """Red waits with a question, is associated and took another team in; blue is granted."""
    now = timezone.now() - timedelta(hours=3)
    olga, rita = factories.user("olga", "organizers"), factories.user("rita", "review board")
    carl = researcher("carl", "carl.with.a.long.name@institute.example.org")
    red = team_create(name="Robust Vision at the Institute of Birds", captain=carl, now=now)
    member_add(team=red, user=researcher("rosa", "ro.sa@gmail.com"), now=now)
    bea = researcher("bea", "rosa+contest@gmail.com")
    blue = team_create(name="blue", captain=bea, now=now)
    gone = team_create(name="gone", captain=researcher("gus", "gus@example.org"), now=now)
    entitlement_grant(team=blue, reason="A lab without papers on arXiv.", by=mandate("grant", rita, now), now=now)
    row = entitlement_ask(by=carl, arxiv_id="hep-th/9901001", paper_email="ro.sa@gmail.com", now=now)
    entitlement_question(number=row.pk, words="Whose address is on the paper?", by=olga, now=now)
    team_invite(by=carl, email="somebody.with.a.long.name@example.org", now=now)
    association_declare(team=red, since=now, until=None, reason="An organizer works there.", by=olga, now=now)
    teams_merge(team=gone, into=red, reason="One lab with two names.", by=olga, now=now)
    same_persons_find(now=now)
    researcher("fay", "fay@example.org")
    return {"red": red, "blue": blue}


def pages(teams: dict[str, Team]) -> list[tuple[str, str]]:
    """Each page with somebody who sees it."""
    number = Entitlement.objects.get(kind="paper").pk
    return [
        ("", "/register/"),
        ("", f"/teams/{teams['red'].public_id}/"),
        ("carl", "/team/"),
        ("rosa", "/team/"),
        ("bea", "/team/"),
        ("fay", "/team/"),
        ("olga", "/organizer/teams/"),
        ("olga", f"/organizer/teams/{teams['red'].public_id}/"),
        ("olga", f"/organizer/teams/requests/{number}/"),
        ("olga", "/organizer/teams/same-person/"),
        ("rita", "/board/grants/"),
    ]


@pytest.mark.parametrize("screen", SCREENS)
def test_every_page_is_accessible_and_fits(screen: str, teams: dict[str, Team], browser: Any) -> None:
    context, who = browser(viewport=SCREENS[screen]), ""
    page = context.new_page()
    for name, address in pages(teams):
        if name != who:
            context.clear_cookies()
            page, who = signed_in(context, name), name
        page.goto(address)
        for summary in page.locator("main summary").all():
            summary.click()
        assert (name, address, violations(page), too_wide(page)) == (name, address, [], [])


@pytest.mark.parametrize("screen", SCREENS)
def test_the_pages_behind_links_are_accessible_and_fit(screen: str, teams: dict[str, Team], browser: Any) -> None:
    page = browser(viewport=SCREENS[screen]).new_page()
    page.goto("/register/")
    page.fill("#id_email", "ann@example.org")
    page.get_by_role("button", name="Send the link").click()
    assert (violations(page), too_wide(page)) == ([], [])
    for link in (newest_link("ann@example.org"), newest_link("somebody.with.a.long.name@example.org")):
        page.goto(link)
        assert (link, violations(page), too_wide(page)) == (link, [], [])
