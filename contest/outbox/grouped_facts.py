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

# Facts of one kind wait this long for others, so that ten verdicts are one message.
GROUPING_DELAY = timedelta(hours=6)
# Facts older than this are no news: no sweep reports them, even if no message did.
MAX_FACT_AGE = timedelta(days=60)
# The most facts that a message names.
MAX_NAMED = 60

# The number of a team, and the number of a fact that it is notified of.
Fact = tuple[int, int]


def notified_facts(kind: MessageKind, *, fact: str, team: Team | OuterRef) -> Exists:
    """Return a condition on rows: a team was notified of the fact whose number is in the column `fact`."""
    return Exists(NotifiedFact.objects.filter(kind=kind, fact=OuterRef(fact), team=team))


def notify_facts(
    team: Team, kind: MessageKind, facts: Iterable[Fact], *, about: str, now: datetime, **said: Any
) -> int:
    """Notify a team of facts in one message; returns 0 if another sweep did so at the same moment."""
    rows = [NotifiedFact(kind=kind, team_id=number, fact=fact, told_at=now) for number, fact in sorted(set(facts))]
    try:
        with transaction.atomic():
            NotifiedFact.objects.bulk_create(rows)
            notify(team, kind, about=about, now=now, **said)
    except IntegrityError:
        return 0
    return 1


def senders_may_know(*, now: datetime) -> Q:
    """Condition for attacks whose senders may know the result: their week has ended, and they are no copy of a picture
    that is not released (R24)."""
    return public_attack_condition(now=now) & (Q(copy_of__isnull=True) | released("image__"))


def attacks_by_team_and_week(attacks: Iterable[Attack]) -> dict[tuple[Team, str], list[Attack]]:
    """Return team and week -> its attacks, by the team that each sender is part of now."""
    return grouped(((final_team(attack.team), attack.week), attack) for attack in attacks)


def receipts_of(images: Iterable[int], *, now: datetime) -> dict[int, Attack]:
    """Return picture -> the first attack with it that everybody may know of."""
    rows = public_attacks(now=now).filter(image__in=list(images)).select_related("team")
    return {attack.image_id: attack for attack in rows.order_by("-received_at", "-pk")}
