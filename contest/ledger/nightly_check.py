"""The nightly check of the ledger, logged and shown to organizers."""

from datetime import datetime, timedelta

import structlog
from django.core.cache import cache

from contest.ledger.services import check_ledger_sums

CHECK_EVERY = timedelta(days=1)
_LAST_CHECK = "ledger-last-check"
log = structlog.get_logger(__name__)


def ledger_check_periodically(*, now: datetime) -> int:
    """Check when nobody has for CHECK_EVERY; return how many things are wrong, 0 when it is not time yet.

    Forgetting when that was costs a check.
    """
    last: datetime | None = cache.get(_LAST_CHECK)
    if last is not None and last <= now < last + CHECK_EVERY:
        return 0
    found = check_ledger_sums()
    cache.set(_LAST_CHECK, now, CHECK_EVERY.total_seconds())
    for line in found.wrong:
        log.error("ledger_does_not_add_up", what=line)
    return len(found.wrong)
