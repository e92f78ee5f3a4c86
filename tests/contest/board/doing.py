"""What follows from an overrule, found by doing it and taking it back: what is derived has to be the same."""

from datetime import datetime
from typing import Any

from django.db import transaction

from adjudication.counting import Ballot
from contest.board.decisions import overrule
from contest.board.impact_preview import Impact
from contest.core.breaks import breaks_derive, breaks_in_force
from contest.core.models import Stake
from contest.defenses.stake_ends import stakes_end
from contest.ledger.models import LedgerEntry
from contest.prizes.sweeps import prizes_settle
from labeling.models import Image

Followed = tuple[set[int], set[int], dict[int, tuple[str, str]], list[tuple[Any, ...]]]


def by_doing(image: Image, ballot: Ballot, now: datetime) -> Followed:
    """Return the defenses that break and break no more, the stakes that turn, and the entries about those defenses."""
    with transaction.atomic():
        before, ends = _broken(image), _ends()
        newest = LedgerEntry.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
        overrule(image, ballot, "This explanation stands in a ruling that is taken back again.", now=now)
        breaks_derive(now=now)
        stakes_end(now=now)
        prizes_settle(now=now)
        after, turned = _broken(image), _ends()
        about = set(Stake.objects.filter(defense__in=before | after).values_list("pk", flat=True))
        rows = LedgerEntry.objects.filter(pk__gt=newest).select_related("source", "target").order_by("pk")
        entries = [_entry(row) for row in rows if not about.isdisjoint(row.causes.get("stake", about))]
        transaction.set_rollback(True)
    turns = {pk: (ends[pk], end) for pk, end in turned.items() if ends[pk] != end}
    return after - before, before - after, turns, entries


def as_derived(found: Impact) -> Followed:
    """Return what was derived in the same form."""
    turns = {each.stake.pk: (each.before, each.after) for each in found.stakes}
    broken, unbroken = ({each.pk for each in rows} for rows in (found.broken, found.unbroken))
    return broken, unbroken, turns, [_entry(row) for row in found.entries]


def _entry(row: LedgerEntry) -> tuple[Any, ...]:
    sides = [(side.kind, side.team_id, side.stake_id) for side in (row.source, row.target)]
    return (*sides, row.cents, row.rule, row.why, row.corrects is not None)


def _broken(image: Image) -> set[int]:
    rows = breaks_in_force().filter(image=image, defense__published_at__isnull=False)
    return set(rows.values_list("defense", flat=True))


def _ends() -> dict[int, str]:
    return dict(Stake.objects.filter(staked_at__isnull=False).values_list("pk", "end"))
