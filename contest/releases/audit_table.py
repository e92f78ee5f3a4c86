"""The audit table of a release: public parts, and hashes of the private parts (R39).

A release takes the chain up from where that of the week before it left off, so that the releases hold all of it.
"""

from collections.abc import Iterator

from django.db.models import Max

from common.audit.seals import public_of, seals
from common.models import AuditSeal
from contest.core.calendar import Week
from contest.core.models import Release
from contest.core.weeks import week_called
from contest.releases.tables import Row


def audit_rows(week: Week) -> Iterator[Row]:
    """Yield the rows sealed after those of the last released week before, up to the last of this week."""
    found = seals().filter(number__gt=_last_before(week), number__lte=_last_until(week))
    for seal in found.iterator(chunk_size=1_000):
        entry = seal.entry
        yield (
            seal.number,
            entry.at,
            entry.role,
            entry.action,
            entry.subject if entry.published else None,
            entry.why if entry.published else None,
            public_of(entry)["facts"],
            seal.private_sha256,
            seal.previous,
            seal.sha256,
        )


def _last_before(week: Week) -> int:
    names = Release.objects.filter(week__lt=week.name).order_by("-week").values_list("week", flat=True)
    earlier = names.first()
    return _last_until(week_called(earlier)) if earlier else 0


def _last_until(week: Week) -> int:
    last: int | None = AuditSeal.objects.filter(entry__at__lt=week.end).aggregate(last=Max("number"))["last"]
    return last or 0
