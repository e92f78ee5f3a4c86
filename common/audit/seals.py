"""Seals entries of the audit trail, and checks that none was changed since."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

import structlog
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from common.audit.chain import ChainEnd, ChainRow, digest, private_part, problem, public_part, sealed
from common.models import AuditCheck, AuditEntry, AuditSeal, AuditUnsealed

BATCH_SIZE = 1_000
CHECK_EVERY = timedelta(days=1)
log = structlog.get_logger(__name__)
_CHUNK = 2_000


def seal_entries() -> int:
    """Seal the first unsealed rows, at most BATCH_SIZE, in the order of their numbers; returns how many.

    If two sweeps run at once, only one seals: numbers and rows of seals are unique, and the other changes nothing.
    """
    if not AuditUnsealed.objects.exists():
        return 0
    end = chain_end()
    try:
        with transaction.atomic():
            return _seal_after(end)
    except IntegrityError:
        if chain_end() == end:
            raise  # no other sweep sealed it: something else is wrong
        return 0


def _seal_after(end: ChainEnd) -> int:
    entries = [row.entry for row in AuditUnsealed.objects.select_related("entry").order_by("entry")[:BATCH_SIZE]]
    AuditSeal.objects.bulk_create(_seals(end, entries))
    AuditUnsealed.objects.filter(entry__in=[entry.pk for entry in entries]).delete()
    return len(entries)


def _seals(end: ChainEnd, entries: list[AuditEntry]) -> Iterator[AuditSeal]:
    for entry in entries:
        link = sealed(end, public_of(entry), digest(private_of(entry)))
        end = ChainEnd(link.number, link.sha256)
        yield AuditSeal(
            number=link.number,
            entry=entry,
            private_sha256=link.private_sha256,
            previous=link.previous,
            sha256=link.sha256,
        )


def chain_end() -> ChainEnd:
    """Return the end of the chain."""
    last = AuditSeal.objects.order_by("-number").first()
    return ChainEnd(last.number, last.sha256) if last else ChainEnd()


def public_of(entry: AuditEntry) -> dict[str, object]:
    """Return the public part of a row."""
    return public_part(
        at=entry.at,
        role=entry.role,
        action=entry.action,
        facts=entry.public,
        subject=entry.subject if entry.published else None,
        why=entry.why,
    )


def private_of(entry: AuditEntry) -> dict[str, object]:
    """Return the private part of a row."""
    return private_part(
        salt=entry.salt,
        origin=entry.origin,
        facts=entry.private,
        subject=None if entry.published else entry.subject,
        why=entry.why,
    )


def chain_link_of_seal(seal: AuditSeal) -> ChainRow:
    """Return a sealed row as the chain sees it, its public part as it is now."""
    return ChainRow(seal.number, public_of(seal.entry), seal.private_sha256, seal.previous, seal.sha256)


def chain_check(*, now: datetime) -> AuditCheck:
    """Check the whole trail, row by row, until the first that differs; the result is stored.

    The last row of an earlier check must exist with the same hash: a chain that was truncated, or rebuilt with other
    rows, is consistent in itself.
    """
    end, alone, wrong = ChainEnd(), 0, ""
    reached = dict(AuditCheck.objects.filter(through__gt=0).values_list("through", "sha256"))
    for seal in seals().iterator(chunk_size=_CHUNK):
        if wrong := _problem(end, seal, reached.get(seal.number, seal.sha256)):
            break
        end, alone = ChainEnd(seal.number, seal.sha256), alone + (not seal.entry.salt)
    wrong = wrong or _lost() or _cut_off(end, reached)
    found = {"through": end.number, "sha256": end.sha256, "by_hash_alone": alone, "wrong": wrong}
    return AuditCheck.objects.create(checked_at=now, **found)


def chain_check_periodically(*, now: datetime) -> int:
    """Check the trail if the last check is older than CHECK_EVERY; returns whether something is wrong."""
    last = newest_chain_check()
    if last is not None and last.checked_at <= now < last.checked_at + CHECK_EVERY:
        return 0
    found = chain_check(now=now)
    if found.wrong:
        log.error("audit_trail_differs", wrong=found.wrong)
    return int(bool(found.wrong))


def newest_chain_check() -> AuditCheck | None:
    """Return the result of the last check."""
    return AuditCheck.objects.order_by("-checked_at", "-pk").first()


def _problem(end: ChainEnd, seal: AuditSeal, sha256: str) -> str:
    wrong = problem(end, chain_link_of_seal(seal)) or _private_problem(seal)
    if not wrong and seal.sha256 != sha256:
        wrong = f"had the hash {sha256} when it was checked before, and now another one that fits"
    return f"Row {seal.number:,} {wrong}." if wrong else ""


def _cut_off(end: ChainEnd, reached: Mapping[int, str]) -> str:
    last = max(reached, default=0)
    return f"The trail ends with row {end.number:,}, and had {last:,} rows before." if last > end.number else ""


def _private_problem(seal: AuditSeal) -> str:
    if not seal.entry.salt or digest(private_of(seal.entry)) == seal.private_sha256:
        return ""
    return "has a private part that is not the sealed one"


def _lost() -> str:
    """Return in words which row is neither sealed nor waiting for its seal: it was inserted by hand."""
    lost = AuditEntry.objects.filter(seal__isnull=True, unsealed__isnull=True).order_by("pk").first()
    return f"The row of {lost.at:%Y-%m-%d %H:%M} UTC, {lost.action}, has no seal and waits for none." if lost else ""


def seals() -> QuerySet[AuditSeal]:
    """Return the sealed rows in the order of the chain."""
    return AuditSeal.objects.select_related("entry").order_by("number")
