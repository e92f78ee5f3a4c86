"""Notifies a team of several facts in one message, each fact once (R18, R24)."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q

from common.database.grouping import grouped
from contest.core.embargo import public_attack_condition, public_attacks
from contest.core.enums import MessageKind
from contest.core.models import Attack, Team
from contest.core.publication import released
from contest.core.teams import final_team
from contest.outbox.models import NotifiedFact
from contest.outbox.writing import notify

# Facts of one kind wait so long for others, so that ten verdicts are one message.
PATIENCE = timedelta(hours=6)
# What is older than this is no news: it was never told, and is not told by a sweep that begins today.
NEWS = timedelta(days=60)
# A message names so many.
MOST_NAMED = 60

# A team by its number, and the number of a fact that it is told of.
Fact = tuple[int, int]


def notified_facts(kind: MessageKind, *, fact: str, team: Team | OuterRef) -> Exists:
    """Return whether a team was told of a fact, as a condition on rows of which `fact` is the number of it."""
    return Exists(NotifiedFact.objects.filter(kind=kind, fact=OuterRef(fact), team=team))


def notify_facts(
    team: Team, kind: MessageKind, facts: Iterable[Fact], *, about: str, now: datetime, **said: Any
) -> int:
    """Tell a team of facts; returns 0 where another sweep did so at the same moment."""
    rows = [NotifiedFact(kind=kind, team_id=number, fact=fact, told_at=now) for number, fact in sorted(set(facts))]
    try:
        with transaction.atomic():
            NotifiedFact.objects.bulk_create(rows)
            notify(team, kind, about=about, now=now, **said)
    except IntegrityError:
        return 0
    return 1


def senders_notified(*, now: datetime) -> Q:
    """The attacks whose senders may know what came of them: their week has ended, and they are no copy of a picture
    that is not released (R24)."""
    return public_attack_condition(now=now) & (Q(copy_of__isnull=True) | released("image__"))


def attacks_by_team_and_week(attacks: Iterable[Attack]) -> dict[tuple[Team, str], list[Attack]]:
    """Return team and week -> its attacks, by the team that each sender is part of now."""
    return grouped(((final_team(attack.team), attack.week), attack) for attack in attacks)


def receipts_of(images: Iterable[int], *, now: datetime) -> dict[int, Attack]:
    """Return picture -> the first attack with it that everybody may know of."""
    rows = public_attacks(now=now).filter(image__in=list(images)).select_related("team")
    return {attack.image_id: attack for attack in rows.order_by("-received_at", "-pk")}
