"""Computes until when a ruling may be appealed (R18), by the policy at the time of the ruling.

Only this module computes it: pages, API calls, letters, the appeal service and the settlement of weeks use it.
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
    """Return when the time to appeal a ruling ends, for all teams but those that sent a copy of the picture."""
    return window_closes_after(ruling.decided_at)


def window_closes_after(decided_at: datetime) -> datetime:
    """Return when the time to appeal a ruling made at `decided_at` ends; copies as for `window_closes_at`."""
    return decided_at + _days(decided_at)


def window_closes_for_sender(attack: Attack, ruling: Ruling) -> datetime | None:
    """Return when the time of the team that sent `attack` to appeal the rejection of its picture ends.

    A team that sent only a copy knows of the ruling from the release of the picture's week on, and its days count from
    then (R24): None while the week is not released.
    """
    return window_closes_for_senders(ruling, sent_first=attack.copy_of_id is None or _sent_first(attack))


def window_closes_for_senders(ruling: Ruling, *, sent_first: bool) -> datetime | None:
    """Return the same for teams that count as one; `sent_first`: one of them has the first receipt of the picture."""
    return window_closes_at(ruling) if sent_first else copies_close_at(ruling)


def first_receipts_of_teams(teams: Iterable[int]) -> QuerySet[Attack]:
    """Return the attacks of these teams that have the first receipt of their picture (R26)."""
    return Attack.objects.filter(team__in=list(teams), copy_of=None, withdrawn_at=None)


def _sent_first(copy: Attack) -> bool:
    """Say whether a team that sent a copy, or a team merged with it, has the first receipt of the picture as well."""
    teams = teams_counted_together(final_team(copy.team))
    return first_receipts_of_teams(each.pk for each in teams).filter(image=copy.image_id).exists()


def copies_close_at(ruling: Ruling) -> datetime | None:
    """Return when the time to appeal ends for teams that sent a copy; None while the picture's week is not released."""
    release = Release.objects.filter(week=week_at(ruling.image.received_at).name, part=0).first()
    return None if release is None else max(ruling.decided_at, release.released_at) + _days(ruling.decided_at)


def longest_window(now: datetime) -> timedelta:
    """Return the most days that any policy up to `now` gave for an appeal."""
    return timedelta(days=max(policy.appeal_days for _, policy in policies_between(_BEGINNING, now)))


def with_open_window(rulings: QuerySet[Ruling], now: datetime) -> Iterator[QuerySet[Ruling]]:
    """Yield the rulings that can be appealed now, without the longer time of copies: one query set for each policy.
    Within a query set, the window of an earlier ruling closes first."""
    under = Q()
    for begin, policy in policies_between(now - longest_window(now), now):
        yield rulings.filter(under, decided_at__gte=begin, decided_at__gt=now - timedelta(days=policy.appeal_days))
        under = Q(decided_at__lt=begin)


def _days(decided_at: datetime) -> timedelta:
    return timedelta(days=policy_at(decided_at).appeal_days)
