"""Queries for the public winnings of teams: shares of stakes and awards, less what was taken back."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from contest.core.enums import AccountKind
from contest.core.models import Attack, Team
from contest.ledger.models import LedgerEntry
from contest.ledger.visibility import HIDDEN, LedgerView
from contest.payments.statements import LedgerEntryRow, with_causes

_AWARD_RULES = ("R36", "R37")


@dataclass(frozen=True, slots=True)
class Won:
    """An entry that gave a team a prize, or took back a part of one: then `cents` are negative."""

    row: LedgerEntryRow
    cents: int


def winnings_of(teams: Collection[Team], *, now: datetime) -> list[Won]:
    """Return what these teams won by what everybody may know at `now`, newest first (R24, R39).

    A stake that returns to its payer is no prize. Money that the board withholds (R38) counts as taken back until it is
    returned.
    """
    found = dict(_public_winnings(teams))
    return [Won(row, found[row.entry]) for row in with_causes(list(found), told_at=now)]


def winnings_with(attack: Attack, teams: Collection[Team], *, now: datetime) -> list[Won]:
    """Return what `teams`, those of the attack, won for breaks to which this attack contributed, and what of that was
    taken back or withheld."""
    known = winnings_of(teams, now=now)
    shares = [each.row.entry for each in known if attack.pk in each.row.entry.causes.get("attack", ())]
    numbers, stakes = {each.pk for each in shares}, {pk for each in shares for pk in each.causes.get("stake", ())}
    return [each for each in known if _is_about(each.row.entry, numbers, stakes)]


def _is_about(entry: LedgerEntry, shares: set[int], stakes: set[int]) -> bool:
    aside = entry.rule == "R38" and not stakes.isdisjoint(entry.causes.get("stake", ()))
    return entry.pk in shares or entry.corrects_id in shares or aside


def _public_winnings(teams: Collection[Team]) -> Iterator[tuple[LedgerEntry, int]]:
    of = Q(source__team__in=teams) | Q(target__team__in=teams)
    rows = LedgerEntry.objects.filter(of).select_related(
        "source__team", "source__stake__defense", "target__team", "target__stake__defense", "decision__decided_by"
    )
    entries = list(rows.order_by("-pk"))
    if not entries:
        return
    telling = LedgerView.now()
    prizes = {entry.pk for entry in entries if _is_prize(entry)}
    for entry in entries:
        if telling.of(entry) in HIDDEN:
            continue
        if entry.pk in prizes:
            yield entry, entry.cents
        elif entry.source.team_id is not None and (entry.rule == "R38" or entry.corrects_id in prizes):
            yield entry, -entry.cents


def _is_prize(entry: LedgerEntry) -> bool:
    given = entry.corrects_id is None and entry.target.team_id is not None
    award = entry.source.kind == AccountKind.DEFENDERS and entry.rule in _AWARD_RULES
    return given and (entry.rule in ("R35", "R38") or award)
