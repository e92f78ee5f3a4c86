"""When a week is over for money: every verdict there, and nobody may appeal any more (R22, R37)."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.db.models import Count, Exists, Max, OuterRef, Q, QuerySet

from adjudication.enums import Verdict
from adjudication.models import Ruling
from contest.exports.tables import images_of, newest_ruling, settled_items
from contest.models import Attack
from contest.releases import waiting
from contest.rules import Week
from contest.weeks import week_at
from labeling.enums import PanelState
from labeling.models import Image, Panel
from labeling.selectors import policy_at
from scoring.models import Defense

_INSTANT = timedelta(microseconds=1)


def week_settled(week: Week, *, of: Defense | None = None) -> bool:
    """Say whether nothing of `week` is open: every picture is ruled upon, and every valid one was run.

    For what concerns one defense alone its runs alone count: another one, published since, is still being run over all
    the weeks before it.
    """
    waits = waiting(week)
    if of is not None:
        waits |= {"runs": _waiting_for_runs_of(of, week)}
    return not any(waits.values()) and not _attacks_without_a_ruling(week).exists()


def _waiting_for_runs_of(defense: Defense, week: Week) -> int:
    """Count the valid pictures of `week` that a defense has not answered in every round; one that is retired is let
    alone, as nothing new is run against it."""
    if defense.retired_at is not None or defense.published_at is None:
        return 0
    rounds = min(policy_at(at).evaluation_runs for at in (week.start, week.end))
    images = pictures_of(week).values("pk")
    valid = newest_ruling().filter(verdict=Verdict.VALID, image__in=images).values("image")
    settled = settled_items().filter(image__in=valid, round__lte=rounds, defense=defense)
    complete = settled.values("image").annotate(items=Count("pk")).filter(items__gte=rounds)
    return valid.count() - complete.count()


def _attacks_without_a_ruling(week: Week) -> QuerySet[Attack]:
    """Return the attacks on pictures that came earlier, for something else, and that wait for their verdict still.

    What an organizer kept out is never ruled upon, and so not waited for.
    """
    ruled = Exists(Ruling.objects.filter(image=OuterRef("image")))
    held = Exists(Panel.objects.filter(image=OuterRef("image"), state=PanelState.HELD))
    return Attack.objects.filter(~ruled, ~held, week=week.name, withdrawn_at__isnull=True)


def pictures_of(week: Week) -> QuerySet[Image]:
    """Return the pictures whose verdicts `week` depends on: those received in it, and those that it sent again."""
    sent = Attack.objects.filter(week=week.name, withdrawn_at__isnull=True).values("image")
    return Image.objects.filter(Q(pk__in=images_of(week).values("pk")) | Q(pk__in=sent))


def appeals_close_at(week: Week, *, of: Defense | None = None) -> datetime | None:
    """Return from when on nothing of `week` can be appealed; None while a verdict of it is missing, or a run (of the
    defense `of`, where one is given)."""
    if not week_settled(week, of=of):
        return None
    rulings = Ruling.objects.filter(image__in=pictures_of(week).values("pk"))
    last = rulings.aggregate(at=Max("decided_at"))["at"]
    return max(last + timedelta(days=policy_at(last).appeal_days), week.end) if last else week.end


def appeals_closed(week: Week, *, now: datetime, of: Defense | None = None) -> bool:
    """Say whether `week` is over, settled, and past its appeals at `now`: every ruling is older than `appeal_days`."""
    closing = appeals_close_at(week, of=of) if week.end <= now else None
    return closing is not None and closing <= now


def weeks_between(first: datetime, last: datetime) -> Iterator[Week]:
    """Yield the weeks from the one of `first` to the one of `last`, both with them."""
    week = week_at(first)
    while week.start <= last:
        yield week
        week = week_at(week.end + _INSTANT)
