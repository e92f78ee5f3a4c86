"""People who are told things: Carl and Rosa of team red, Bea of blue, Olga who organizes, Rita of the board."""

from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.core import mail
from django.core.mail import EmailMessage

from accounts.roles import ORGANIZERS, REVIEW_BOARD, TEAMS
from contest.core.enums import MessageKind
from contest.core.models import Member, Team
from contest.outbox.models import Message
from contest.outbox.sending import messages_send
from contest.outbox.writing import notify
from tests import factories

NOW = factories.NOW
CASE = {"case": "C-1", "what": "an appeal", "due": "Friday"}


def person(name: str, *groups: str) -> User:
    factories.user(name, *groups)
    User.objects.filter(username=name).update(email=f"{name}@example.org")
    return User.objects.get(username=name)


def team(name: str, *people: str) -> Team:
    made = Team.objects.create(name=name, created_at=NOW)
    for number, each in enumerate(people):
        Member.objects.create(team=made, user=person(each, TEAMS), captain=number == 0)
    return made


def organizer(name: str = "olga") -> User:
    return person(name, ORGANIZERS)


def reviewer(name: str = "rita") -> User:
    return person(name, REVIEW_BOARD)


def told(to: Any, kind: MessageKind = MessageKind.CASE_OPENED, *, now: datetime = NOW, **more: Any) -> int:
    facts = {"week": "2026-W47", "at": "now", "error": "full"} if kind == MessageKind.RELEASE_FAILED else CASE
    return notify(to, kind, about=more.pop("about", "/board/"), now=now, **{**facts, **more})


def news(to: Any, *, now: datetime = NOW) -> int:
    return notify(to, MessageKind.TEAM_NEWS, about="/team/", now=now, what="left", who="gus", team={"name": "red"})


def sent(now: datetime = NOW) -> list[EmailMessage]:
    mail.outbox.clear()
    assert messages_send(clock=lambda: now) == len(mail.outbox)
    return list(mail.outbox)


def readers(kind: MessageKind) -> list[str]:
    return list(Message.objects.filter(kind=kind).order_by("user__username").values_list("user__username", flat=True))
