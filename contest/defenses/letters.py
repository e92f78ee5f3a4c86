"""Sends messages to a team about its defenses (R32, R33, R35, R36)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from django.urls import reverse

from common.times import absolute, to_the_second
from contest.core.embargo import public_attacks
from contest.core.enums import AccountKind, MessageKind, StakeEnd, StakeKind
from contest.core.models import Attack, Stake
from contest.core.publication import released
from contest.core.weeks import week_at
from contest.defenses.eligibility import ConditionFailure, failures, next_step
from contest.defenses.models import DefenseEntry
from contest.defenses.selectors import breaks_of_stake, entries_unpublished, owner_of, unbroken_until
from contest.ledger.amounts import money
from contest.ledger.models import Correction, LedgerEntry
from contest.outbox.writing import notify, was_notified
from contest.teams.letters import link_to
from labeling.models import Image
from policy.numbers import Policy
from policy.selectors import policy_in_force
from scoring.models import Defense

# The most pictures that broke a defense that a message names.
MAX_NAMED = 10


def notify_not_eligible(*, now: datetime) -> int:
    """Tell teams that their defense failed a condition of publication, of each failure once; return how many people get
    the message."""
    entries = {entry.defense_id: entry for entry in entries_unpublished()}
    failed = failures((entry.defense for entry in entries.values()), now=now)
    return sum(_notify_not_eligible(entries[defense], found, now) for defense, found in failed.items())


def _notify_not_eligible(entry: DefenseEntry, failed: Sequence[ConditionFailure], now: datetime) -> int:
    newest = max(each.at for each in failed if each.at is not None)
    key = f"{entry.defense.public_id} {newest.isoformat()}"
    if was_notified(entry.team, MessageKind.NOT_ELIGIBLE, key):
        return 0
    return notify(
        entry.team,
        MessageKind.NOT_ELIGIBLE,
        about=_about(entry.defense),
        now=now,
        key=key,
        failed=[{"title": each.title, "words": each.words, "advice": each.advice} for each in failed],
        next_step=next_step(failed),
        **_pages(entry.defense),
    )


def notify_published(entry: DefenseEntry, *, policy: Policy, now: datetime) -> None:
    """Tell a team that its defense is published, and what staking it costs."""
    notify(
        entry.team,
        MessageKind.PUBLISHED,
        about=_about(entry.defense),
        now=now,
        at=to_the_second(now, policy.time_zone),
        price=money(policy.attacker_prize_cents, policy.currency),
        **_pages(entry.defense),
    )


def _about(defense: Defense) -> str:
    return reverse("team-defense", args=[defense.public_id])


def _pages(defense: Defense) -> dict[str, str]:
    own = link_to("team-defense", defense.public_id)
    return {"defense": defense.name, "page": link_to("defense", defense.public_id), "own": own}


def notify_staked(stake: Stake, *, now: datetime) -> None:
    """Tell a team that its defense is at stake from now on: by whom, for how much, and until when."""
    owner, policy, until = owner_of(stake.defense), policy_in_force(now).policy, unbroken_until(stake)
    if owner is None:
        return
    notify(
        owner,
        MessageKind.STAKED,
        about=_about(stake.defense),
        now=now,
        paid=stake.kind == StakeKind.TEAM,
        amount=money(stake.cents, policy.currency),
        at=to_the_second(now, policy.time_zone),
        until=absolute(until, policy.time_zone) if until else "",
        batch=stake.batch.public_id if stake.batch else "",
        criteria=stake.batch.criteria if stake.batch else "",
        **_pages(stake.defense),
    )


def notify_stake_changed(stake: Stake, *, now: datetime, reason: str = "") -> None:
    """Tell a team how the stake on its defense ended, or that it is in force again.

    `reason` is what the board published with its decision. The message names who broke it only once the picture's week
    is released (R24, R39).
    """
    owner, policy = owner_of(stake.defense), policy_in_force(now).policy
    if owner is None:
        return
    broke = _Broke.read(stake, now) if stake.end in (StakeEnd.BROKEN, StakeEnd.VOID) else _Broke()
    why, words = _why(stake, reason)
    notify(
        owner,
        MessageKind.STAKE_CHANGED,
        about=_about(stake.defense),
        now=now,
        end=stake.end,
        why=why,
        begun=stake.staked_at is not None,
        paid=stake.kind == StakeKind.TEAM,
        amount=money(stake.cents, policy.currency),
        at=to_the_second(stake.ended_at or now, policy.time_zone),
        week=broke.week,
        by=[_attack_context(attack) for attack in broke.attacks[:MAX_NAMED]],
        more=max(len(broke.attacks) - MAX_NAMED, 0),
        told_with=broke.told_with,
        reason=words,
        **_pages(stake.defense),
    )


def _why(stake: Stake, reason: str) -> tuple[str, str]:
    """Return what ended a stake (`board`, `correction`, `retired`, or empty for others), and the public reason."""
    if reason or stake.end != StakeEnd.WITHDRAWN or stake.staked_at is None:
        return "board" if reason else "", reason
    correction = _correction_of(stake)
    if correction is not None:
        return "correction", correction.reason
    return ("retired" if stake.defense.retired_at == stake.ended_at else ""), ""


def _correction_of(stake: Stake) -> Correction | None:
    """Return the correction that took a payment off the wrong stake; None without one."""
    back = LedgerEntry.objects.filter(source__stake=stake, target__kind=AccountKind.OUTSIDE, corrects__isnull=False)
    entry = back.order_by("-pk").first()
    return Correction.objects.filter(pk__in=entry.causes.get("correction", ())).first() if entry else None


def _attack_context(attack: Attack) -> dict[str, str]:
    return {"team": attack.team.name, "receipt": attack.public_id, "link": link_to("attack", attack.public_id)}


@dataclass(frozen=True, slots=True)
class _Broke:
    """The public facts about who broke a stake: the earliest week with a public break, and the attacks of that week in
    the order of receipt; `told_with` is the week whose release makes an earlier break, or the first one, public."""

    week: str = ""
    attacks: Sequence[Attack] = ()
    told_with: str = ""

    @classmethod
    def read(cls, stake: Stake, now: datetime) -> Self:
        """Read it. Even of a public picture, an attack of the present week is under embargo: it may be a copy."""
        images = {each.fact.image_id: each.fact.image for each in breaks_of_stake(stake)}
        told = Image.objects.filter(released(), pk__in=images).in_bulk()
        sent = public_attacks(now=now).filter(image__in=told).select_related("team").order_by("-received_at", "-pk")
        first = {attack.image_id: attack for attack in sent}
        moments = {pk: first[pk].received_at if pk in first else image.received_at for pk, image in told.items()}
        week = week_at(min(moments.values())).name if moments else ""
        unreleased = [week_at(image.received_at).name for pk, image in images.items() if pk not in told]
        earliest = min(unreleased, default="")
        found = [attack for attack in first.values() if attack.week == week]
        by_receipt = sorted(found, key=lambda attack: (attack.received_at, attack.pk))
        return cls(week, by_receipt, earliest if not week or earliest <= week else "")
