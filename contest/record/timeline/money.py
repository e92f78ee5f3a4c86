"""Timeline events about money that moved because a picture broke defenses."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from django.db.models import Q
from django.urls import reverse

from contest.core.models import Break
from contest.ledger.amounts import money
from contest.ledger.models import LedgerEntry
from contest.ledger.visibility import HIDDEN, EntryVisibility, LedgerView, are_whole
from contest.payments.statements import entry_words
from contest.record.timeline.events import Event, EvidenceLink
from policy.selectors import policy_in_force


def money_events(mistakes: Sequence[Break], now: datetime) -> Iterator[Event]:
    """Yield what moved because of these mistakes, as far as the public page of money tells of it."""
    entries = _entries_of(mistakes)
    if not entries:
        return
    telling = None if are_whole(entries) else LedgerView.now()
    currency = policy_in_force(now).policy.currency
    for each in entries:
        told = telling.of(each) if telling is not None else EntryVisibility.WHOLE
        if told not in HIDDEN:
            yield _ledger_entry_event(each, entry_words(each, told), currency)


def _entries_of(mistakes: Sequence[Break]) -> list[LedgerEntry]:
    """Return the entries that follow from mistakes, and those that set them right, in their order."""
    numbers = {each.pk for each in mistakes}
    defenses = {each.defense_id for each in mistakes}
    of = Q(source__stake__defense__in=defenses) | Q(target__stake__defense__in=defenses)
    of |= Q(corrects__source__stake__defense__in=defenses)
    rows = LedgerEntry.objects.filter(of).select_related(
        "source__team", "source__stake__defense", "target__team", "target__stake__defense", "decision__decided_by"
    )
    found: dict[int, LedgerEntry] = {}
    for each in rows.order_by("pk") if numbers else ():
        if not numbers.isdisjoint(each.causes.get("break", ())) or each.corrects_id in found:
            found[each.pk] = each
    return list(found.values())


def _ledger_entry_event(entry: LedgerEntry, words: tuple[str, str, str], currency: str) -> Event:
    source, target, why = words
    link = EvidenceLink(f"entry {entry.pk}", f"{reverse('money')}?before={entry.pk + 1}#entry-{entry.pk}")
    moved = f"{money(entry.cents, currency)} from {source} to {target}: {why}"
    return Event(entry.made_at, "money", f"entry-{entry.pk}", moved, links=(link,))
