"""Researchers and their teams. Carl leads red, in which Rosa is too; Bea leads blue; Fay is in no team."""

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.core.mail import EmailMessage

from accounts.roles import TEAMS
from common.mail import wait_until_sent
from contest.core.models import Team
from contest.outbox.sending import messages_send
from contest.teams.entitlements import entitlement_request
from contest.teams.models import Entitlement
from contest.teams.services import member_add, team_create
from tests import factories

PAPER = "1809.08352"


def researcher(name: str, email: str = "") -> User:
    """An account that competes, with a confirmed address."""
    User.objects.filter(pk=factories.user(name, TEAMS).pk).update(email=email or f"{name}@example.org")
    return User.objects.get(username=name)


@pytest.fixture(autouse=True)
def policy(db: None) -> None:
    factories.policy_version()


@pytest.fixture
def carl(db: None) -> User:
    return researcher("carl")


@pytest.fixture
def rosa(db: None) -> User:
    return researcher("rosa")


@pytest.fixture
def bea(db: None) -> User:
    return researcher("bea")


@pytest.fixture
def fay(db: None) -> User:
    return researcher("fay")


@pytest.fixture
def red(carl: User, rosa: User, now: datetime) -> Team:
    team = team_create(name="red", captain=carl, now=now)
    member_add(team=team, user=rosa, now=now)
    return team


@pytest.fixture
def blue(bea: User, now: datetime) -> Team:
    return team_create(name="blue", captain=bea, now=now)


@pytest.fixture
def sent(django_capture_on_commit_callbacks: Any) -> Callable[[Callable[[], Any]], list[EmailMessage]]:
    """Return a function that does something and returns the letters it sent, those of the next sweep with them."""

    def letters(do: Callable[[], Any]) -> list[EmailMessage]:
        messages_send(clock=lambda: factories.NOW)
        mail.outbox.clear()
        with django_capture_on_commit_callbacks(execute=True):
            do()
        wait_until_sent()
        messages_send(clock=lambda: factories.NOW)
        return list(mail.outbox)

    return letters


def link_in(letter: EmailMessage) -> str:
    """Return the first address of this site in a letter, without its host."""
    return re.findall(r"http://localhost:8000(/\S+)", str(letter.body))[0]  # type: ignore[no-any-return]


def asked(by: User, now: datetime, email: str = "rosa@example.org", paper: str = PAPER) -> Entitlement:
    """What a team asks of the organizers: that it may attack, for a paper of Rosa's."""
    return entitlement_request(by=by, arxiv_id=paper, paper_email=email, now=now)
