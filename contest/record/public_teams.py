"""Reads a team's public page: published defenses, attacks after their week, results after its release (R24, R39)."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, OuterRef, QuerySet, Subquery

from adjudication.enums import Verdict
from adjudication.models import Ruling
from adjudication.selectors import newest_rulings
from common.remembered import remembered
from contest.attacks.attack_states import AttackStatus
from contest.attacks.attack_states import attack_statuses as standings_of_attacks
from contest.core.breaks import breaks_in_force, broken_by
from contest.core.credit import has_credit
from contest.core.embargo import public_attack_condition
from contest.core.enums import DefenseStanding
from contest.core.models import Attack, Break, Team
from contest.core.publication import released
from contest.defenses.selectors import defense_states
from contest.defenses.stake_rows import StakeShown, newest_stake_rows
from contest.payments.winnings import Won, winnings_of
from labeling.models import Image
from labeling.pictures.addresses import picture_url
from scoring.models import Defense

# Which attacks the page lists: the word in the address, and the words on the page.
KINDS = {"": "All", "valid": "Valid", "rejected": "Rejected", "broke": "That broke a defense"}
MAX_BREAKS = 20
# How long the counts of a team are cached.
FRESH_SECONDS = 60


@dataclass(frozen=True, slots=True)
class TeamCounts:
    """What the team sent, what of it is valid and its own, and what that broke of others: as the leaderboard counts."""

    sent: int
    valid: int
    breaks: int
    defenses: int


@dataclass(frozen=True, slots=True)
class TeamAttackRow:
    """An attack on the page; how it stands and its ruling once the week of the picture is released."""

    attack: Attack
    url: str
    standing: AttackStatus | None
    ruling: Ruling | None
    broke: tuple[Defense, ...]


@dataclass(frozen=True, slots=True)
class TeamBreakRow:
    """A break with the attack that has the credit; `own` of a defense of the team itself, which wins nothing (R35)."""

    defense: Defense
    attack: Attack
    found_at: datetime
    own: bool


@dataclass(frozen=True, slots=True)
class TeamDefenseRow:
    """A published defense of the team, how far it is, and its newest stake."""

    defense: Defense
    standing: DefenseStanding
    stake: StakeShown | None


# Attacks --------------------------------------------------------------------------------------------------------------


def public_attacks_of(teams: Collection[Team], kind: str, *, now: datetime) -> QuerySet[Attack]:
    """Return the attacks of `kind` that everybody may know of, newest first."""
    rows = Attack.objects.filter(public_attack_condition(now=now), team__in=teams).select_related(
        "image", "team", "copy_of"
    )
    rows = rows.order_by("-received_at", "-pk")
    if not kind:
        return rows
    told = rows.filter(released("image__"))
    if kind == "broke":
        return told.filter(Exists(_public_breaks().filter(image=OuterRef("image"))))
    newest = Ruling.objects.filter(image=OuterRef("image")).order_by("-number").values("verdict")[:1]
    return told.alias(verdict=Subquery(newest)).filter(verdict=Verdict(kind))


def team_attacks(attacks: Sequence[Attack], *, now: datetime) -> list[TeamAttackRow]:
    """Return attacks as rows of the page, with as many queries for a page of them as for one."""
    images = [each.image_id for each in attacks]
    told = set(Image.objects.filter(released(), pk__in=images).values_list("pk", flat=True))
    shown, rulings, broke = (
        standings_of_attacks(attacks, unrestricted=False, now=now),
        newest_rulings(told),
        broken_by(told),
    )
    return [
        TeamAttackRow(
            each,
            picture_url(each.image, now=now),
            shown[each.pk] if each.image_id in told else None,
            rulings.get(each.image_id),
            broke.get(each.image_id, ()),
        )
        for each in attacks
    ]


def _public_breaks() -> QuerySet[Break]:
    """Return the breaks that hold, of published defenses, on pictures of released weeks."""
    return breaks_in_force().filter(released("image__"), defense__published_at__isnull=False)


# Breaks ---------------------------------------------------------------------------------------------------------------


def breaks_of_team(teams: Collection[Team], *, now: datetime) -> list[TeamBreakRow]:
    """Return the breaks that the team is credited with, each pair of picture and defense once, newest first."""
    sent = Attack.objects.filter(public_attack_condition(now=now), has_credit(), team__in=teams)
    credited = sent.filter(released("image__")).select_related("image", "team")
    attacks = {
        each.image_id: each for each in credited.filter(Exists(_public_breaks().filter(image=OuterRef("image"))))
    }
    own = set(Defense.objects.filter(entry__team__in=teams).values_list("pk", flat=True))
    rows = _public_breaks().filter(image__in=attacks).select_related("defense").order_by("found_at", "pk")
    found: dict[tuple[int, int], TeamBreakRow] = {}
    for each in rows:
        row = TeamBreakRow(each.defense, attacks[each.image_id], each.found_at, each.defense_id in own)
        found.setdefault((each.defense_id, each.image_id), row)
    return list(found.values())[::-1]


def team_counts(teams: Collection[Team], breaks: Iterable[TeamBreakRow], *, now: datetime) -> TeamCounts:
    """Return what is counted of the team, the same for FRESH_SECONDS; the breaks of its own defenses are not."""
    counted = [each.defense.pk for each in breaks if not each.own]
    key = f"team-counts-{'-'.join(str(pk) for pk in sorted(team.pk for team in teams))}"
    sent, valid = remembered(key, FRESH_SECONDS, lambda: _sent_and_valid(teams, now))
    return TeamCounts(sent, valid, len(counted), len(set(counted)))


def _sent_and_valid(teams: Collection[Team], now: datetime) -> tuple[int, int]:
    valid = public_attacks_of(teams, "valid", now=now).filter(has_credit())
    return public_attacks_of(teams, "", now=now).count(), valid.count()


# Defenses and prizes --------------------------------------------------------------------------------------------------


def defenses_of(teams: Collection[Team], *, now: datetime) -> list[TeamDefenseRow]:
    """Return the published defenses of the team, newest first, as far as everybody may know of what broke them."""
    rows = list(
        Defense.objects.filter(entry__team__in=teams, published_at__isnull=False)
        .select_related("entry__team")
        .order_by("-published_at", "-pk")
    )
    found, stakes = defense_states(rows, now=now, breaks=_public_breaks()), newest_stake_rows(rows, now)
    return [TeamDefenseRow(each, found[each.pk], stakes.get(each.pk)) for each in rows]


def prizes_of(teams: Collection[Team], *, now: datetime) -> tuple[list[Won], int]:
    """Return what the team won and gave back, and the sum of it in cents."""
    rows = winnings_of(teams, now=now)
    return rows, max(sum(each.cents for each in rows), 0)
