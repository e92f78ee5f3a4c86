"""Previews what a decision of the board on a picture would change: breaks, stakes and money (R22).

The functions that derive breaks, stakes and money from rulings get a ruling that is only supposed and a dry run of
the ledger, so the preview is what the next sweeps will do. Nothing is written, and nothing is locked that another
request waits for.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Q

from adjudication.counting import Ballot
from adjudication.enums import Verdict
from contest.board.decisions import overrule_check, taskers_to_ask
from contest.core.breaks import breaks_in_force, suppose_ruling
from contest.core.enums import VoteChoice
from contest.core.models import Case, Release, Stake
from contest.core.settled_weeks import Weeks
from contest.core.weeks import week_at
from contest.defenses.stake_ends import stakes_under_supposition
from contest.ledger.dry_run import DryRun
from contest.ledger.models import LedgerEntry
from contest.prizes.sweeps import Settlement
from labeling.models import Image
from policy.selectors import policy_in_force
from scoring.models import Defense
from scoring.selectors import defenses_in_force, predictions_in_force


@dataclass(frozen=True, slots=True)
class ChangedStake:
    """A stake that would change: how it ended before and would have ended after the decision; empty if in force."""

    stake: Stake
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Impact:
    """The consequences of a decision.

    `to_run` are the published defenses without predictions on the picture, `entries` the new ledger entries,
    `unposted` the defenses whose money cannot be settled, `released` the newest release of the picture's week,
    which errata would correct, and `taskers` the number of additional taskers; with `joins` they join the panel.
    """

    broken: tuple[Defense, ...] = ()
    unbroken: tuple[Defense, ...] = ()
    to_run: tuple[Defense, ...] = ()
    stakes: tuple[ChangedStake, ...] = ()
    entries: tuple[LedgerEntry, ...] = ()
    unposted: tuple[Defense, ...] = ()
    released: Release | None = None
    taskers: int = 0
    joins: bool = False
    changes: bool = field(default=True)


NOTHING = Impact(changes=False)


def preview_impact(case: Case, ballot: Ballot, *, now: datetime) -> Impact:
    """Return what deciding a picture's case by `ballot` would change at once; nothing is stored."""
    if case.image is None or case.ruling is None or ballot.choice is VoteChoice.UPHOLD:
        return NOTHING
    if ballot.choice is VoteChoice.MORE_TASKERS:
        joins = case.ruling.verdict == Verdict.VALID
        return Impact(taskers=taskers_to_ask(case.ruling, policy_in_force(now).policy), joins=joins)
    return overrule_impact(case.image, ballot, now)


def overrule_impact(image: Image, ballot: Ballot, now: datetime) -> Impact:
    """Return what overruling a picture's ruling would change at once; errors as of `overrule`."""
    overrule_check(image, ballot)
    supposed = suppose_ruling(image, ballot.label, now=now)
    broken_before = _broken(image)
    stakes_before = dict(Stake.objects.filter(staked_at__isnull=False).values_list("pk", "end"))
    stakes = [each for each in stakes_under_supposition(supposed, now=now) if each.staked_at is not None]
    book = DryRun()
    settlement = Settlement(book, stakes, weeks=Weeks(now, supposed), now=now, supposed=supposed)
    settlement.settle()
    published = Defense.objects.filter(published_at__isnull=False)
    broken_after = set(
        published.filter(pk__in={each.defense_id for each in supposed.breaks}).values_list("pk", flat=True)
    )
    concerned = broken_before | broken_after
    return Impact(
        broken=tuple(_defenses(broken_after - broken_before)),
        unbroken=tuple(_defenses(broken_before - broken_after)),
        to_run=tuple(_never_run(image)) if ballot.label else (),
        stakes=tuple(_turns(stakes_before, stakes)),
        entries=tuple(_entries(book.planned, stakes, concerned)),
        unposted=tuple(_unposted(settlement, concerned)),
        released=Release.objects.filter(week=week_at(image.received_at).name).order_by("-part").first(),
    )


def _broken(image: Image) -> set[int]:
    rows = breaks_in_force().filter(image=image, defense__published_at__isnull=False)
    return set(rows.values_list("defense", flat=True))


def _turns(before: Mapping[int, str], stakes: Iterable[Stake]) -> Iterator[ChangedStake]:
    for stake in sorted(stakes, key=lambda each: each.pk):
        if before.get(stake.pk, "") != stake.end:
            yield ChangedStake(stake, before.get(stake.pk, ""), stake.end)


def _entries(planned: Iterable[LedgerEntry], stakes: Iterable[Stake], defenses: set[int]) -> Iterator[LedgerEntry]:
    """Yield the new ledger entries, without those due for other defenses anyway."""
    related = {each.pk for each in stakes if each.defense_id in defenses}
    for entry in planned:
        if not related.isdisjoint(entry.causes.get("stake", related)):
            yield entry


def _unposted(settlement: Settlement, defenses: set[int]) -> list[Defense]:
    """Return those of these defenses with a stake, or a part in an award, whose money could not be settled."""
    failed = Q(stakes__in=settlement.stakes.failed) | Q(stakes__award__decision__in=settlement.failed)
    return list(Defense.objects.filter(failed, pk__in=defenses).distinct().order_by("name", "pk"))


def _defenses(numbers: set[int]) -> list[Defense]:
    return list(Defense.objects.filter(pk__in=numbers).order_by("name", "pk"))


def _never_run(image: Image) -> list[Defense]:
    answered = set(predictions_in_force().filter(image=image).values_list("defense", flat=True))
    return [each for each in defenses_in_force() if each.pk not in answered]
