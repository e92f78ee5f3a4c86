"""Notifies attackers of their breaks after GROUPING_DELAY, owners of defenses with the week's release (R24, R29)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet
from django.urls import reverse

from common.database.grouping import grouped
from contest.core.breaks import breaks_in_force
from contest.core.enums import MessageKind
from contest.core.models import Attack, Break, Team
from contest.core.publication import released
from contest.core.weeks import week_at
from contest.defenses.selectors import first_sent_at, owner_of
from contest.outbox.grouped_facts import (
    GROUPING_DELAY,
    MAX_FACT_AGE,
    MAX_NAMED,
    attacks_by_team_and_week,
    notified_facts,
    notify_facts,
    receipts_of,
    senders_may_know,
)
from contest.outbox.models import NotifiedFact
from contest.teams.letters import link_to
from scoring.models import Defense


def _news(now: datetime) -> QuerySet[Break]:
    """Return the breaks in force that are recent enough to report, each picture and defense once."""
    same = breaks_in_force().filter(defense=OuterRef("defense"), image=OuterRef("image"), pk__lt=OuterRef("pk"))
    rows = breaks_in_force().filter(
        ~Exists(same), found_at__gte=now - MAX_FACT_AGE, defense__published_at__isnull=False
    )
    return rows.select_related("defense__entry__team", "image").order_by("found_at", "pk")


# To senders ----------------------------------------------------------------------------------------------------------


def notify_broke(*, now: datetime) -> int:
    """Tell senders what their pictures broke, one message per team and week; return how many messages."""
    breaks = grouped((each.image_id, each) for each in _news(now))
    sent = Attack.objects.filter(senders_may_know(now=now), image__in=breaks).select_related("team")
    groups = attacks_by_team_and_week(sent.order_by("received_at", "pk"))
    return sum(_notify_broke(team, week, attacks, breaks, now) for (team, week), attacks in groups.items())


def _notify_broke(
    team: Team, week: str, attacks: Sequence[Attack], breaks: dict[int, list[Break]], now: datetime
) -> int:
    pairs = [(attack, each) for attack in attacks for each in breaks[attack.image_id]]
    known = NotifiedFact.objects.filter(kind=MessageKind.ATTACK_BROKE, fact__in=[each.pk for _, each in pairs])
    before = set(known.values_list("team", "fact"))
    fresh = [(attack, each) for attack, each in pairs if (attack.team_id, each.pk) not in before]
    if not fresh or min(each.found_at for _, each in fresh) > now - GROUPING_DELAY:
        return 0
    return notify_facts(
        team,
        MessageKind.ATTACK_BROKE,
        [(attack.team_id, each.pk) for attack, each in fresh],
        about=reverse("attacks"),
        now=now,
        week=week,
        rows=[_broke(attack, each.defense) for attack, each in fresh[:MAX_NAMED]],
        more=max(len(fresh) - MAX_NAMED, 0),
    )


def _broke(attack: Attack, defense: Defense) -> dict[str, Any]:
    return {"defense": defense.name, "receipt": attack.public_id, "link": link_to("attack", attack.public_id)}


# To makers -----------------------------------------------------------------------------------------------------------


def notify_broken(*, now: datetime) -> int:
    """Tell the makers of a defense by whose pictures it was broken, with the release of those; return how many
    messages."""
    rows = _news(now).filter(released("image__")).annotate(sent_at=first_sent_at())
    by_defense = grouped((each.defense, each) for each in rows)
    return sum(_notify_broken(defense, breaks, now) for defense, breaks in by_defense.items())


def _notify_broken(defense: Defense, breaks: Sequence[Break], now: datetime) -> int:
    owner = owner_of(defense)
    if owner is None:
        return 0
    not_notified = breaks_in_force().filter(~notified_facts(MessageKind.DEFENSE_BROKEN, fact="pk", team=owner))
    wanted = set(not_notified.filter(pk__in=[each.pk for each in breaks]).values_list("pk", flat=True))
    receipts = receipts_of((each.image_id for each in breaks), now=now)
    fresh = [each for each in breaks if each.pk in wanted and each.image_id in receipts]
    if not fresh:
        return 0
    named = fresh[:MAX_NAMED]
    return notify_facts(
        owner,
        MessageKind.DEFENSE_BROKEN,
        [(owner.pk, each.pk) for each in fresh],
        about=reverse("team-defense", args=[defense.public_id]),
        now=now,
        defense=defense.name,
        rows=[_by(each, receipts[each.image_id]) for each in named],
        more=len(fresh) - len(named),
        own=link_to("team-defense", defense.public_id),
    )


def _by(found: Break, attack: Attack) -> dict[str, str]:
    return {
        "week": week_at(found.sent_at).name,  # type: ignore[attr-defined]  # annotated above
        "team": attack.team.name,
        "receipt": attack.public_id,
        "link": link_to("attack", attack.public_id),
    }
