"""Notifies attackers of verdicts, and teams whose defense is or was at stake of valid pictures against it (R18)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef
from django.urls import reverse

from adjudication.enums import Verdict
from adjudication.models import Ruling
from adjudication.selectors import newest_rulings
from adjudication.wording import reasons_words
from common.times import absolute
from contest.appeals.grounds import AppealGround, appealable
from contest.core.appeal_window import window_closes_for_sender
from contest.core.enums import AppealSide, MessageKind
from contest.core.models import Attack, Stake, Team
from contest.core.teams import teams_counted_together
from contest.defenses.selectors import owner_of
from contest.outbox.grouped_facts import (
    GROUPING_DELAY,
    MAX_FACT_AGE,
    MAX_NAMED,
    attacks_by_team_and_week,
    notified_facts,
    notify_facts,
    senders_may_know,
)
from contest.outbox.models import NotifiedFact
from contest.teams.letters import link_to
from policy.selectors import policy_at

# To senders ----------------------------------------------------------------------------------------------------------


def notify_verdicts(*, now: datetime) -> int:
    """Tell senders the verdicts on their pictures, once, those of a team and week together; return how many messages.

    They are sent when no picture of the team's week waits for a verdict, or the oldest verdict has waited for
    GROUPING_DELAY. The service that changes a verdict later sends its own message.
    """
    lately = Ruling.objects.filter(image=OuterRef("image"), decided_at__gte=now - MAX_FACT_AGE)
    is_new = ~notified_facts(MessageKind.ATTACK_VERDICTS, fact="image_id", team=OuterRef("team_id"))
    rows = Attack.objects.filter(senders_may_know(now=now), Exists(lately), is_new).select_related("image", "team")
    groups = attacks_by_team_and_week(rows.order_by("received_at", "pk"))
    return sum(_notify_verdicts(team, week, attacks, now) for (team, week), attacks in groups.items())


def _notify_verdicts(team: Team, week: str, attacks: Sequence[Attack], now: datetime) -> int:
    rulings = newest_rulings(attack.image_id for attack in attacks)
    oldest = min(ruling.decided_at for ruling in rulings.values())
    if oldest > now - GROUPING_DELAY and _has_picture_without_verdict(team, week, now):
        return 0
    return notify_facts(
        team,
        MessageKind.ATTACK_VERDICTS,
        [(attack.team_id, attack.image_id) for attack in attacks],
        about=reverse("attacks"),
        now=now,
        week=week,
        rows=[_verdict(attack, rulings[attack.image_id]) for attack in attacks[:MAX_NAMED]],
        more=max(len(attacks) - MAX_NAMED, 0),
    )


def _has_picture_without_verdict(team: Team, week: str, now: datetime) -> bool:
    """Say whether a picture of the team's week has no verdict yet."""
    mine = Attack.objects.filter(senders_may_know(now=now), team__in=teams_counted_together(team), week=week)
    return mine.filter(image__rulings__isnull=True).exists()


def _verdict(attack: Attack, ruling: Ruling) -> dict[str, Any]:
    valid = ruling.verdict == Verdict.VALID
    until = window_closes_for_sender(attack, ruling)
    return {
        "valid": valid,
        "words": f"a {ruling.label}" if valid else reasons_words(ruling.reasons),
        "receipt": attack.public_id,
        "file_name": attack.file_name,
        "link": link_to("attack", attack.public_id),
        "until": "" if valid or until is None else in_contest_time(until),
    }


def in_contest_time(moment: datetime) -> str:
    """Return a moment in the zone of the contest."""
    return absolute(moment, policy_at(moment).time_zone)


# To defenders --------------------------------------------------------------------------------------------------------


def notify_valid(*, now: datetime) -> int:
    """Tell the teams whose defense is or was at stake which pictures were ruled valid that count for the stake (R18),
    with the last moment to appeal; return how many messages.

    The message selects pictures whether or not they break the defense, and names the first MAX_NAMED: it must not
    reveal earlier than the release which of them break it.
    """
    return sum(_notify_valid(team, now) for team in defending_teams())


def _notify_valid(team: Team, now: datetime) -> int:
    fresh = grounds_not_notified(MessageKind.PICTURES_VALID, team, appealable(team, now, sides=[AppealSide.DEFENDER]))
    if not fresh or min(each.ruling.decided_at for each in fresh) > now - GROUPING_DELAY:
        return 0
    return notify_facts(
        team,
        MessageKind.PICTURES_VALID,
        [(team.pk, each.ruling.pk) for each in fresh],
        about=reverse("appeals"),
        now=now,
        defenses=sorted({each.defense.name for each in fresh if each.defense}),
        rows=[_valid(each) for each in fresh[:MAX_NAMED]],
        more=max(len(fresh) - MAX_NAMED, 0),
        last_day=in_contest_time(max(each.until for each in fresh)),
    )


def _valid(ground: AppealGround) -> dict[str, str]:
    image = ground.ruling.image.public_id
    return {
        "words": f"a {ground.ruling.label}",
        "picture": image,
        "link": link_to("appeal-new", image),
        "until": in_contest_time(ground.until),
    }


def defending_teams() -> list[Team]:
    """Return the teams with a defense that is or was at stake: a ruling of long after may count for its stake (R37)."""
    begun = Stake.objects.filter(staked_at__isnull=False).select_related("defense__entry__team")
    owners = (owner_of(stake.defense) for stake in begun.order_by("pk"))
    return list({owner.pk: owner for owner in owners if owner is not None}.values())


def grounds_not_notified(kind: MessageKind, team: Team, grounds: Sequence[AppealGround]) -> list[AppealGround]:
    """Return those of whose rulings the team was not told."""
    known = NotifiedFact.objects.filter(kind=kind, team=team, fact__in=[each.ruling.pk for each in grounds])
    before = set(known.values_list("fact", flat=True))
    return [each for each in grounds if each.ruling.pk not in before]
