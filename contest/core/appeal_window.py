"""Until when a ruling may be appealed (R18), by the policy at the time of the ruling.

The one place that knows: pages, calls, letters, the service and the weeks' settlement read it here.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

from django.db.models import Q, QuerySet

from adjudication.models import Ruling
from contest.core.models import Attack, Release
from contest.core.teams import final_team, teams_counted_together
from contest.core.weeks import week_at
from policy.selectors import policies_between, policy_at

_BEGINNING = datetime.min.replace(tzinfo=UTC)


def window_closes_at(ruling: Ruling) -> datetime:
    """Return from when on a ruling cannot be appealed any more, but by who sent a copy."""
    return window_closes_after(ruling.decided_at)


def window_closes_after(decided_at: datetime) -> datetime:
    """Return the same for a ruling made at `decided_at`."""
    return decided_at + _days(decided_at)


def window_closes_for_sender(attack: Attack, ruling: Ruling) -> datetime | None:
    """Return from when on the team that sent `attack` cannot appeal the rejection of its picture any more.

    A team that sent a copy alone knows of the ruling since the release of the picture's week, and its days count from
    then (R24): None while it is not released.
    """
    return window_closes_for_senders(ruling, sent_first=attack.copy_of_id is None or _sent_first(attack))


def window_closes_for_senders(ruling: Ruling, *, sent_first: bool) -> datetime | None:
    """Return the same for teams that count as one; whether they have the picture's first receipt is given."""
    return window_closes_at(ruling) if sent_first else copies_close_at(ruling)


def first_receipts_of_teams(teams: Iterable[int]) -> QuerySet[Attack]:
    """Return the attacks of these teams that have the first receipt of their picture (R26)."""
    return Attack.objects.filter(team__in=list(teams), copy_of=None, withdrawn_at=None)


def _sent_first(copy: Attack) -> bool:
    """Say whether a team that sent a copy, or one merged with it, has the first receipt as well."""
    teams = teams_counted_together(final_team(copy.team))
    return first_receipts_of_teams(each.pk for each in teams).filter(image=copy.image_id).exists()


def copies_close_at(ruling: Ruling) -> datetime | None:
    """Return from when on who sent a copy of the picture cannot appeal; None while its week is not released."""
    release = Release.objects.filter(week=week_at(ruling.image.received_at).name, part=0).first()
    return None if release is None else max(ruling.decided_at, release.released_at) + _days(ruling.decided_at)


def longest_window(now: datetime) -> timedelta:
    """Return the most days that any policy up to `now` gave for an appeal."""
    return timedelta(days=max(policy.appeal_days for _, policy in policies_between(_BEGINNING, now)))


def with_open_window(rulings: QuerySet[Ruling], now: datetime) -> Iterator[QuerySet[Ruling]]:
    """Yield the rulings that can be appealed by others than who sent a copy, those under each policy apart: among
    these, the window of an earlier ruling closes first."""
    under = Q()
    for begin, policy in policies_between(now - longest_window(now), now):
        yield rulings.filter(under, decided_at__gte=begin, decided_at__gt=now - timedelta(days=policy.appeal_days))
        under = Q(decided_at__lt=begin)


def _days(decided_at: datetime) -> timedelta:
    return timedelta(days=policy_at(decided_at).appeal_days)
