"""Queries for attacks, restricted to those that a reader may see."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet

from common.errors import NotFound, required
from contest.core.embargo import public_attack_condition, public_attacks
from contest.core.models import Attack, Stake, Team
from contest.core.teams import teams_counted_together
from contest.defenses.selectors import is_due, stakes_in_force
from labeling.models import Image
from policy.calendar import Week
from scoring.models import Defense

# How many pixel hashes of a team the upload page gets, to recognize pictures sent before.
MAX_KNOWN_HASHES = 2_000


def attacks_by_team(team: Team) -> QuerySet[Attack]:
    """Return the attacks of the team and of teams merged into it; newest first."""
    rows = Attack.objects.filter(team__in=teams_counted_together(team)).select_related("image", "team")
    return rows.order_by("-received_at", "-pk")


def attacks_of_pictures(team: Team, images: Iterable[int]) -> QuerySet[Attack]:
    """Return the attacks, not withdrawn, of the team and of teams merged into it with these pictures, in the order of
    receipt."""
    return attacks_by_team(team).filter(image__in=images, withdrawn_at=None).order_by("received_at", "pk")


def attacks_received(week: str = "") -> QuerySet[Attack]:
    """Return the attacks of all teams in the week of this name, or of all weeks; newest first."""
    rows = Attack.objects.select_related("image", "team", "copy_of", "sent_by").order_by("-received_at", "-pk")
    return rows.filter(week=week) if week else rows


def weeks_of_attacks() -> QuerySet[Attack, str]:
    """Return the names of the weeks in which anything was sent, the newest first."""
    return Attack.objects.order_by("-week").values_list("week", flat=True).distinct()


def attack_seen_by(public_id: str, *, team: Team | None, organizer: bool, now: datetime) -> Attack:
    """Return the attack with this ID if the reader may know of it (R24): their team's own, any for an organizer, a
    public one for everybody. NotFound with the same message for one under embargo and one that does not exist."""
    may_see = public_attack_condition(now=now)
    if team is not None:
        may_see |= Q(team__in=teams_counted_together(team))
    rows = Attack.objects.all() if organizer else Attack.objects.filter(may_see)
    return required(
        rows.select_related("image", "team", "copy_of", "copy_of__team").filter(public_id=public_id).first(),
        NotFound("There is no public attack with this ID.", "not_found"),
    )


def public_attacks_with(image: Image, *, now: datetime) -> list[Attack]:
    """Return who sent a picture and what they aimed at, as far as it is public (R3, R24), in the order of
    receipt."""
    rows = Attack.objects.filter(public_attack_condition(now=now), image=image).select_related("team")
    return list(rows.prefetch_related("targets").order_by("received_at", "pk"))


def picture_sent(public_id: str) -> Image | None:
    """Return the picture with this ID that was sent as an attack, None when there is none."""
    return Image.objects.filter(public_id=public_id, attacks__isnull=False).first()


def attacks_of_week(week: Week, *, now: datetime) -> QuerySet[Attack]:
    """Return the public attacks of a week, in the order of receipt: none before the week ended."""
    rows = public_attacks(now=now).filter(received_at__gte=week.start, received_at__lt=week.end)
    return rows.select_related("image", "team", "copy_of").order_by("received_at", "pk")


def waiting_for_board(now: datetime) -> list[Defense]:
    """Return the defenses with a stake whose time is over: a picture sent now wins nothing of it (R36).

    Together with contest.defenses.selectors.staked these are all defenses with a stake in force.
    """
    waiting = (stake.defense for stake in stakes_in_force() if is_due(stake, now))
    return sorted(waiting, key=lambda defense: (defense.name, defense.pk))


def any_at_stake(moment: datetime) -> bool:
    """Say whether a picture sent at `moment` could win anything, by the stakes of that time."""
    begun = Stake.objects.filter(staked_at__lte=moment).select_related("defense__entry")
    in_force = begun.filter(Q(ended_at__isnull=True) | Q(ended_at__gt=moment))
    return any(not is_due(stake, moment) for stake in in_force)


def against_all(attack: Attack) -> str:
    """Return the words of a receipt that names no defense: against which defenses it could win when received."""
    if any_at_stake(attack.received_at):
        return "all defenses that were at stake then"
    return "every published defense; no prize could be won then"


def known_pixels(team: Team) -> list[str]:
    """Return the pixel hashes of what the team sent, the newest."""
    newest: Any = attacks_by_team(team).values_list("image__pixels_sha256", flat=True)[:MAX_KNOWN_HASHES]
    return list(newest)


def is_own(attack: Attack, team: Team | None) -> bool:
    """Say whether the attack was sent by the team, or by one that became part of it."""
    return team is not None and attack.team_id in {each.pk for each in teams_counted_together(team)}
