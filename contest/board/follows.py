"""What a decision on a picture would change, found by doing it and taking it back (R22).

The contest's own services derive it, in a transaction that is always rolled back: what is shown before a decision is
what will follow from it, by the facts of that moment.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from django.db import transaction

from adjudication.counting import Ballot
from adjudication.enums import Verdict
from common.deadlocks import again_after_deadlock
from contest.awards.services import awards_settle
from contest.board.deciding import overrule, taskers_asked
from contest.breaks import breaks_derive, standing_breaks
from contest.enums import VoteChoice
from contest.models import Account, Case, LedgerEntry, Release, Stake
from contest.money.ledger import hold
from contest.money.settlement import prizes_settle
from contest.stakes.ends import defenses_locked, stakes_end, stakes_locked
from contest.weeks import week_at
from labeling.models import Image
from labeling.selectors import policy_in_force
from scoring.models import Defense
from scoring.selectors import defenses_in_force, predictions_in_force

# Nobody reads this: the ruling it stands in is taken back before anybody could.
_TRIED = "This explanation stands in a ruling that is tried and taken back again, never kept or published."


@dataclass(frozen=True, slots=True)
class StakeTurn:
    """A stake that would stand otherwise: how it had ended, and how it would have; empty is in force."""

    stake: Stake
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Follows:
    """What would follow. `to_run` are the published defenses that never answered to the picture; `entries` what the
    ledger would gain at once; `released` the last part published of the picture's week, which errata would correct."""

    broken: tuple[Defense, ...] = ()
    unbroken: tuple[Defense, ...] = ()
    to_run: tuple[Defense, ...] = ()
    stakes: tuple[StakeTurn, ...] = ()
    entries: tuple[LedgerEntry, ...] = ()
    released: Release | None = None
    asked: int = 0
    joins: bool = False
    changes: bool = field(default=True)


NOTHING = Follows(changes=False)


def what_follows(case: Case, ballot: Ballot, *, now: datetime) -> Follows:
    """Return what would follow at once if `ballot` were decided on a picture's case; nothing is kept."""
    if case.image is None or case.ruling is None or ballot.choice is VoteChoice.UPHOLD:
        return NOTHING
    if ballot.choice is VoteChoice.MORE_TASKERS:
        joins = case.ruling.verdict == Verdict.VALID
        return Follows(asked=taskers_asked(case.ruling, policy_in_force(now).policy), joins=joins)
    return _tried_and_taken_back(case.image, ballot, now)


@again_after_deadlock
def _tried_and_taken_back(image: Image, ballot: Ballot, now: datetime) -> Follows:
    with transaction.atomic():
        found = _tried(image, ballot, now)
        transaction.set_rollback(True)
    return found


def _tried(image: Image, ballot: Ballot, now: datetime) -> Follows:
    # All that it may touch, in the one order: who awards or settles meanwhile waits, and never crosses it.
    defenses_locked(Defense.objects.values_list("pk", flat=True))
    stakes_locked(Stake.objects.values_list("pk", flat=True))
    hold(Account.objects.all())
    broken_before, stakes_before = _broken(image), _stakes()
    newest = LedgerEntry.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    overrule(image, ballot, _TRIED, now=now)
    breaks_derive(now=now, image=image)
    stakes_end(now=now)
    prizes_settle(now=now)
    awards_settle(now=now)
    broken_after = _broken(image)
    return Follows(
        broken=tuple(_defenses(broken_after - broken_before)),
        unbroken=tuple(_defenses(broken_before - broken_after)),
        to_run=tuple(_never_run(image)) if ballot.label else (),
        stakes=tuple(_turns(stakes_before, _stakes())),
        entries=tuple(_entries(newest, broken_before | broken_after)),
        released=Release.objects.filter(week=week_at(image.received_at).name).order_by("-part").first(),
    )


def _broken(image: Image) -> set[int]:
    rows = standing_breaks().filter(image=image, defense__published_at__isnull=False)
    return set(rows.values_list("defense", flat=True))


def _stakes() -> dict[int, str]:
    return dict(Stake.objects.filter(staked_at__isnull=False).values_list("pk", "end"))


def _turns(before: dict[int, str], after: dict[int, str]) -> Iterator[StakeTurn]:
    turned = [pk for pk, end in after.items() if before.get(pk) != end]
    rows = Stake.objects.filter(pk__in=turned).select_related("defense").order_by("pk")
    yield from (StakeTurn(stake, before.get(stake.pk, ""), after[stake.pk]) for stake in rows)


def _entries(newest: int, defenses: set[int]) -> Iterator[LedgerEntry]:
    """Yield the entries made since, but what was due for other defenses all the same."""
    stakes = set(Stake.objects.filter(defense__in=defenses).values_list("pk", flat=True))
    related = ("source__team", "source__stake__defense", "target__team", "target__stake__defense")
    for entry in LedgerEntry.objects.filter(pk__gt=newest).select_related(*related).order_by("pk"):
        if not stakes.isdisjoint(entry.causes.get("stake", stakes)):
            yield entry


def _defenses(numbers: set[int]) -> list[Defense]:
    return list(Defense.objects.filter(pk__in=numbers).order_by("name", "pk"))


def _never_run(image: Image) -> list[Defense]:
    answered = set(predictions_in_force().filter(image=image).values_list("defense", flat=True))
    return [each for each in defenses_in_force() if each.pk not in answered]
