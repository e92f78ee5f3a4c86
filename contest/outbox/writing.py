"""Stores messages to people, in the transaction of the fact that they report.

Taskers never get these messages: they get the notices of labeling.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet

from contest.core.enums import MessageKind, MessageRate
from contest.core.models import Team
from contest.core.teams import final_team, teams_counted_together
from contest.outbox.kinds import KINDS
from contest.outbox.models import Message, MessagePreference

# One person, the members of a team, everybody of a role by its name (labeling.taskers), or the people themselves.
Recipients = User | Team | str | Iterable[User]


def notify(to: Recipients, kind: MessageKind, *, about: str, now: datetime, key: str = "", **facts: Any) -> int:
    """Store a message for each of these people; return how many get it by this call.

    `about` is the address of the page it leads to, inside the site; `facts`, as JSON, are what its text is made of.
    With a `key` nobody gets the same message twice. Raises TypeError if a fact for the text is missing.

    Members recused from a case must not get messages about it (R21): there the caller passes the people.
    """
    if missing := [name for name in KINDS[kind].facts if name not in facts]:
        raise TypeError(f"{kind} lacks {', '.join(missing)}")
    people = _people(to)
    if key:
        people = people.exclude(messages__in=Message.objects.filter(kind=kind, key=key))
    readers = list(people.order_by("pk"))
    rates = _rates(readers, kind)
    team = final_team(to) if isinstance(to, Team) else None
    rows = [
        Message(
            user=each, team=team, kind=kind, key=key, about=about, facts=facts, rate=rates[each.pk], made_at=now
        )
        for each in readers
    ]  # fmt: skip
    Message.objects.bulk_create(rows, ignore_conflicts=bool(key))
    return len(rows)


def was_notified(team: Team, kind: MessageKind, key: str) -> bool:
    """Say whether a team, or one merged into it, got a message of this kind and key."""
    return Message.objects.filter(team__in=teams_counted_together(team), kind=kind, key=key).exists()


def retract(about: str, *, users: Iterable[User]) -> int:
    """Delete these people's messages about a page, sent or not: they may no longer know of it (R21)."""
    return Message.objects.filter(about=about, user__in=list(users)).delete()[0]


def person_forget(user: User) -> None:
    """Delete the messages to others that name a person whose account is deleted."""
    named = Q(kind=MessageKind.TEAM_NEWS, facts__who=user.username)
    named |= Q(kind=MessageKind.ATTACK_WITHDRAWN, facts__by=user.username)
    Message.objects.filter(named).delete()


def unsent_drop() -> None:
    """Delete the messages whose e-mails were not sent, so that nobody gets them."""
    Message.objects.filter(taken_at__isnull=True, digest__isnull=True).delete()


def _people(to: Recipients) -> QuerySet[User]:
    reachable = User.objects.filter(is_active=True, tasker__isnull=True)
    if isinstance(to, Team):
        return reachable.filter(membership__team=final_team(to))
    if isinstance(to, str):
        return reachable.filter(groups__name=to)
    people = [to] if isinstance(to, User) else list(to)
    return reachable.filter(pk__in=[each.pk for each in people])


def _rates(readers: list[User], kind: MessageKind) -> dict[int, MessageRate]:
    made = KINDS[kind]
    rates = dict.fromkeys((each.pk for each in readers), MessageRate.AT_ONCE)
    if not made.urgent:
        wished = MessagePreference.objects.filter(user__in=readers, group=made.group)
        rates |= {user: MessageRate(rate) for user, rate in wished.values_list("user", "rate")}
    return rates
