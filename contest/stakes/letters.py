"""What is written to a team about its defenses: published, at stake, and how a stake ended (R32, R33, R35, R36)."""

from collections.abc import Sequence
from datetime import datetime

from common.times import absolute, to_the_second
from contest.embargo import public_attacks
from contest.enums import LetterKind, StakeEnd, StakeKind
from contest.letters import team_write
from contest.models import Attack, Entry, Stake
from contest.money.words import money
from contest.stakes.selectors import breaks_of_stake, owner_of, unbroken_until
from contest.teams.letters import link_to
from contest.weeks import week_at
from labeling.policy import Policy
from labeling.selectors import policy_in_force
from scoring.models import Defense

# A letter names so many of the pictures that broke a defense.
MOST_NAMED = 10


def published_tell(entry: Entry, *, policy: Policy, now: datetime) -> None:
    """Tell a team that its defense is published, and what staking it costs."""
    team_write(
        entry.team,
        LetterKind.PUBLISHED,
        now=now,
        at=to_the_second(now, policy.time_zone),
        price=money(policy.attacker_prize_cents, policy.currency),
        **_pages(entry.defense),
    )


def _pages(defense: Defense) -> dict[str, str]:
    own = link_to("team-defense", defense.public_id)
    return {"defense": defense.name, "page": link_to("defense", defense.public_id), "own": own}


def staked_tell(stake: Stake, *, now: datetime) -> None:
    """Tell a team that its defense is at stake from now on: by whom, for how much, and until when."""
    owner, policy, until = owner_of(stake.defense), policy_in_force(now).policy, unbroken_until(stake)
    if owner is None:
        return
    team_write(
        owner,
        LetterKind.STAKED,
        now=now,
        paid=stake.kind == StakeKind.TEAM,
        amount=money(stake.cents, policy.currency),
        at=to_the_second(now, policy.time_zone),
        until=absolute(until, policy.time_zone) if until else "",
        batch=stake.batch.public_id if stake.batch else "",
        criteria=stake.batch.criteria if stake.batch else "",
        **_pages(stake.defense),
    )


def stake_changed_tell(stake: Stake, *, now: datetime, reason: str = "") -> None:
    """Tell a team how the stake on its defense ended, or that it is in force again.

    `reason` is what the board published with its decision. Of who broke it only what everybody may know is told (R24).
    """
    owner, policy = owner_of(stake.defense), policy_in_force(now).policy
    if owner is None:
        return
    week, attacks = _broken_by(stake, now) if stake.end in (StakeEnd.BROKEN, StakeEnd.VOID) else ("", [])
    team_write(
        owner,
        LetterKind.STAKE_CHANGED,
        now=now,
        end=stake.end,
        begun=stake.staked_at is not None,
        paid=stake.kind == StakeKind.TEAM,
        amount=money(stake.cents, policy.currency),
        at=to_the_second(stake.ended_at or now, policy.time_zone),
        week=week,
        by=[_named(attack) for attack in attacks[:MOST_NAMED]],
        more=max(len(attacks) - MOST_NAMED, 0),
        reason=reason,
        **_pages(stake.defense),
    )


def _named(attack: Attack) -> dict[str, str]:
    return {"team": attack.team.name, "receipt": attack.public_id, "link": link_to("attack", attack.public_id)}


def _broken_by(stake: Stake, now: datetime) -> tuple[str, Sequence[Attack]]:
    """Return the earliest week whose pictures break it, and the attacks of that week, in the order of receipt.

    Both by what is public alone: the same pixels may be under embargo as somebody's attack of this week.
    """
    images = {each.fact.image_id: each.fact.image for each in breaks_of_stake(stake)}
    sent = public_attacks(now=now).filter(image__in=images).select_related("team").order_by("-received_at", "-pk")
    first = {attack.image_id: attack for attack in sent}
    moments = {pk: first[pk].received_at if pk in first else image.received_at for pk, image in images.items()}
    week = week_at(min(moments.values())).name if moments else ""
    found = [attack for attack in first.values() if attack.week == week]
    return week, sorted(found, key=lambda attack: (attack.received_at, attack.pk))
