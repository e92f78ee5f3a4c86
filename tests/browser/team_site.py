"""Teams as they ask, are asked, associated, merged and granted: a site whose pages are looked at."""

import re
from datetime import timedelta

from django.contrib.auth.models import User
from django.core import mail
from django.utils import timezone
from playwright.sync_api import Page

from accounts.roles import TEAMS
from common.mail import wait_until_sent
from contest.core.models import Team
from contest.teams.associations import association_declare
from contest.teams.entitlements import entitlement_grant, entitlement_question, entitlement_request
from contest.teams.invitations import team_invite
from contest.teams.models import Entitlement
from contest.teams.same_person import same_persons_find
from contest.teams.services import member_add, team_create, teams_merge
from tests import factories
from tests.browser.looking import Look, organizer, push, shows
from tests.factories import mandate


def newest_link(address: str) -> str:
    """The link in the newest letter to an address."""
    wait_until_sent()
    letter = [str(each.body) for each in mail.outbox if each.to == [address]][-1]
    return re.findall(r"http://localhost:8000(/\S+)", letter)[0]


def researcher(name: str, email: str) -> User:
    User.objects.filter(pk=factories.user(name, TEAMS).pk).update(email=email)
    return User.objects.get(username=name)


def made() -> Team:
    """Red waits with a question, is associated and took another team in; blue is granted."""
    now = timezone.now() - timedelta(hours=3)
    olga, rita = organizer(), factories.user("rita", "review board")
    carl = researcher("carl", "carl.with.a.long.name@institute.example.org")
    red = team_create(name="Robust Vision at the Institute of Birds", captain=carl, now=now)
    member_add(team=red, user=researcher("rosa", "ro.sa@gmail.com"), now=now)
    blue = team_create(name="blue", captain=researcher("bea", "rosa+contest@gmail.com"), now=now)
    gone = team_create(name="gone", captain=researcher("gus", "gus@example.org"), now=now)
    entitlement_grant(team=blue, reason="A lab without papers on arXiv.", by=mandate("grant", rita, now), now=now)
    row = entitlement_request(by=carl, arxiv_id="hep-th/9901001", paper_email="ro.sa@gmail.com", now=now)
    entitlement_question(number=row.pk, words="Whose address is on the paper?", by=olga, now=now)
    team_invite(by=carl, email="somebody.with.a.long.name@example.org", now=now)
    association_declare(team=red, since=now, until=None, reason="An organizer works there.", by=olga, now=now)
    teams_merge(team=gone, into=red, reason="One lab with two names.", by=olga, now=now)
    same_persons_find(now=now)
    researcher("fay", "fay@example.org")
    return red


def pages(red: Team) -> list[Look]:
    """Each page with somebody who sees it, those behind links in letters as well."""
    number, sent = Entitlement.objects.get(kind="paper").pk, newest_link("somebody.with.a.long.name@example.org")

    def register(page: Page) -> None:
        page.fill("#email", "ann@example.org")
        push(page, "Send the link")
        shows(page, {"h1": "Look into your mail"})

    def follow(page: Page) -> None:
        register(page)
        page.goto(page.url.partition("/register/")[0] + newest_link("ann@example.org"))

    return [
        ("", "/register/"),
        ("", f"/teams/{red.public_id}/"),
        *((name, "/team/") for name in ("carl", "rosa", "bea", "fay")),
        *(("olga", address) for address in ("/organizer/teams/", "/organizer/teams/same-person/")),
        ("olga", f"/organizer/teams/{red.public_id}/"),
        ("olga", f"/organizer/teams/requests/{number}/"),
        ("rita", "/board/grants/"),
        ("", sent),
        ("", "/register/", register),
        ("", "/register/", follow),
    ]
