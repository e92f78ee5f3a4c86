"""Finds hints that two accounts belong to one person, for organizers only (R25).

Only data that is stored anyway is compared, and no hint holds an address: data deleted elsewhere is not kept here.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from itertools import combinations
from typing import Any

from axes.models import AccessLog
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import transaction
from django.db.models import QuerySet

from accounts.enums import Role
from accounts.models import AccountRole
from common.audit.trail import audit
from common.database.grouping import grouped
from contest.core.enums import EntitlementKind, SamePersonBy
from contest.core.teams import final_team
from contest.teams.inboxes import inbox
from contest.teams.models import Entitlement, SamePersonHint

# More accounts than this behind one client address mean an institute or a proxy, which is no hint.
MAX_ACCOUNTS_PER_ADDRESS = 4
LOOK_EVERY = timedelta(hours=1)
_LAST_LOOK = "same-persons-last-look"
Pair = tuple[int, int]
Key = tuple[int, int, str]


@transaction.atomic
def same_persons_find(*, now: datetime, by: User | None = None) -> int:
    """Record the pairs of accounts, one of which competes, that look like one person. Returns how many are new.

    `by` is the organizer who started it; None: the periodic sweep.
    """
    competing = set(AccountRole.objects.filter(role=Role.TEAM).values_list("user_id", flat=True))
    known: set[Key] = set(SamePersonHint.objects.values_list("first_id", "second_id", "by"))
    found = {
        (*pair, by.value): figures
        for by, pairs in _LOOKS
        for pair, figures in pairs()
        if not competing.isdisjoint(pair)
    }
    new = [
        SamePersonHint(first_id=first, second_id=second, by=look, figures=figures, found_at=now)
        for (first, second, look), figures in found.items()
        if (first, second, look) not in known
    ]
    SamePersonHint.objects.bulk_create(new, ignore_conflicts=True)
    if by is not None:
        audit("same_person.look", by=by, subject={}, now=now, private={"new": len(new)})
    return len(new)


def same_persons_find_periodically(*, now: datetime) -> int:
    """Search at most once per LOOK_EVERY, for sweeps that run more often; if the cache loses the time, once more."""
    return same_persons_find(now=now) if cache.add(_LAST_LOOK, now, LOOK_EVERY.total_seconds()) else 0


def same_persons() -> QuerySet[SamePersonHint]:
    """Return what was found, newest first, with both accounts and what they are."""
    roles = [f"{side}__{row}" for side in ("first", "second") for row in ("account_role", "membership__team", "tasker")]
    return SamePersonHint.objects.select_related(*roles).order_by("-found_at", "-pk")


def _pairs(accounts: Iterable[int]) -> Iterator[Pair]:
    return combinations(sorted(set(accounts)), 2)


def _by_email() -> Iterator[tuple[Pair, dict[str, Any]]]:
    """Yield the accounts whose addresses lead to one inbox, spelled with other dots or another word after the +."""
    rows = User.objects.exclude(email="").values_list("pk", "email")
    for address, accounts in grouped((inbox(email), number) for number, email in rows).items():
        for pair in _pairs(accounts):
            yield pair, {"provider": address.rpartition("@")[2], "accounts": len(accounts)}


def _by_paper() -> Iterator[tuple[Pair, dict[str, Any]]]:
    """Yield the accounts that named one author's address in two teams."""
    papers = Entitlement.objects.filter(kind=EntitlementKind.PAPER).exclude(email="")
    for rows in grouped((inbox(row.email), row) for row in papers.select_related("team").order_by("pk")).values():
        for one, other in combinations(rows, 2):
            yield from _of_two_teams(one, other)


def _of_two_teams(one: Entitlement, other: Entitlement) -> Iterator[tuple[Pair, dict[str, Any]]]:
    teams = {final_team(each.team).public_id for each in (one, other)}
    accounts = {one.author_id, other.author_id}
    if accounts == {one.author_id}:
        # The author may have changed teams: the hint is about the two accounts that made the requests.
        accounts = {one.asked_by_id, other.asked_by_id}
    if len(teams) == 2 and None not in accounts and len(accounts) == 2:
        named = {"papers": sorted({one.arxiv_id, other.arxiv_id}), "teams": sorted(teams)}
        yield from ((pair, named) for pair in _pairs(each for each in accounts if each is not None))


def _by_address() -> Iterator[tuple[Pair, dict[str, Any]]]:
    """Yield the accounts that signed in from one client address, in the time for which sign-ins are kept."""
    names = dict(User.objects.values_list("username", "pk"))
    signed_in: dict[str, dict[int, datetime]] = defaultdict(dict)
    rows = AccessLog.objects.exclude(ip_address=None).order_by("attempt_time")
    for address, username, at in rows.values_list("ip_address", "username", "attempt_time"):
        if username in names:
            signed_in[str(address)][names[username]] = at
    yield from _shared(accounts for accounts in signed_in.values() if 2 <= len(accounts) <= MAX_ACCOUNTS_PER_ADDRESS)


def _shared(by_address: Iterable[dict[int, datetime]]) -> Iterator[tuple[Pair, dict[str, Any]]]:
    shared = grouped(
        (pair, min(accounts[pair[0]], accounts[pair[1]]).date().isoformat())
        for accounts in by_address
        for pair in _pairs(accounts)
    )
    for pair, days in shared.items():
        yield pair, {"addresses": len(days), "last": max(days)}


_LOOKS = ((SamePersonBy.EMAIL, _by_email), (SamePersonBy.PAPER, _by_paper), (SamePersonBy.ADDRESS, _by_address))
