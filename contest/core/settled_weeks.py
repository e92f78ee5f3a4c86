"""Decides when a week is final for prizes: all rulings made, all runs done, no appeal possible (R22, R37).

Only attacks break a defense (R29), so money waits for the pictures of attacks and for no others: pictures that
organizers add to be labeled hold back a release, but never an award or a prize. Nor does an attack that came after a
stake's time was over (R36): callers that ask about the last week of a stake pass that moment as `before`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Count, Exists, Max, Min, OuterRef, Q, QuerySet
from django.db.models.functions import TruncDay

from adjudication.enums import Verdict
from adjudication.models import Ruling
from adjudication.selectors import rulings_in_force
from contest.core.appeal_window import copies_close_at, longest_window, window_closes_after
from contest.core.breaks import SupposedRuling, was_unknown
from contest.core.enums import RELEASED_ORIGINS, CaseState
from contest.core.models import Attack, Case
from contest.core.publication import released
from contest.core.week_pictures import count_waiting_for_verdict, images_of_week, releasable_images
from contest.core.weeks import week_at, week_called
from labeling.enums import Origin, PanelState
from labeling.models import Image, Panel, Report
from policy.calendar import Week
from policy.selectors import policies_between
from scoring.models import Defense
from scoring.selectors import ITEM_SETTLED, places_in_force

_ASKED = (PanelState.OPEN, PanelState.FULL)
_INSTANT = timedelta(microseconds=1)
_DAY = timedelta(days=1)
_BEGINNING = datetime.min.replace(tzinfo=UTC)


class Weeks:
    """What is settled in which week at `now`, for questions about many weeks or defenses: everything is read once.

    Answers are as old as the first question: make an instance for each page or step, and keep none. With `supposed` it
    answers what is settled under a hypothetical ruling; its answers about appeals are then of no use.
    """

    def __init__(self, now: datetime, supposed: SupposedRuling | None = None) -> None:
        self._now = now
        self._supposed = supposed
        self._verdicts: dict[_WeekUntil, datetime | None] = {}
        self._runs: dict[_WeekUntil, _AnswersDue] = {}
        self._cases: dict[_WeekUntil, bool] = {}
        self._closings: dict[_WeekUntil, datetime | None] = {}
        self._pictures: _Pictures | None = None

    def look_over(self, weeks: Iterable[Week]) -> None:
        """Find in two queries which of many weeks have no picture: such a week is settled and closed when it ends, and
        needs no further query."""
        parts = {week.name: _part(week) for week in weeks if week.end <= self._now}
        unread = [part.week for part in parts.values() if part not in self._verdicts]
        kept = _with_pictures(unread) if unread else set()
        for week in unread:
            if week.name not in kept:
                part = parts[week.name]
                self._verdicts[part] = self._closings[part] = week.end
                self._runs[part] = _AnswersDue(0, frozenset())
                self._cases[part] = False

    def settled(self, week: Week, *, of: Defense, before: datetime | None = None) -> bool:
        """Say whether nothing of `week` is open for a defense: every picture has a ruling, every valid one was run.

        Only its own runs count: a defense published later is still being run over all earlier weeks.
        """
        return self.rulings_close_at(week, before) is not None and not self._waits_for_runs(_part(week, before), of)

    def waiting(self, week: Week, *, of: Defense, before: datetime | None = None) -> dict[str, int]:
        """Return how many pictures a week that is not settled for a defense waits for, by the keys of WAITING_WORDS."""
        part = _part(week, before)
        runs = {"runs": _misses_runs(part, of, self._now) if self._waits_for_runs(part, of) else 0}
        return count_waiting_for_verdict(_received_in(part)) | runs

    def appeals_close_at(self, week: Week, *, of: Defense, before: datetime | None = None) -> datetime | None:
        """Return when the time to appeal anything of `week` ends; None while that is unknown: the week is not settled
        for the defense, a case about one of its pictures is open (R22), or a team that sent a copy of a rejected
        picture does not know of the ruling yet (R24)."""
        part = _part(week, before)
        verdicts = self.rulings_close_at(week, before)
        if verdicts is None or self._waits_for_runs(part, of) or self.has_cases(week, before):
            return None
        if part not in self._closings:
            self._closings[part] = _with_copies(part, verdicts)
        return self._closings[part]

    def appeals_closed(self, week: Week, *, of: Defense, before: datetime | None = None) -> bool:
        """Say whether `week` is over and settled, and the time to appeal has ended for every team."""
        closing = self.appeals_close_at(week, of=of, before=before) if week.end <= self._now else None
        return closing is not None and closing <= self._now

    def open_before(self, moment: datetime, *, of: Defense) -> list[Week]:
        """Return the weeks before that of `moment` that are not past their appeals for a defense, oldest first.

        It checks only weeks in which something may be open, not every week of the contest.
        """
        if self._pictures is None:
            self._pictures = _Pictures(_weeks_to_rule_on(self._now), dict(_by_day(_valid(), pictures=Count("pk"))))
        until = week_at(moment).start
        maybe = self._pictures.to_rule_on | _weeks_to_run(of, self._pictures.valid, self._now)
        weeks = sorted((week for week in maybe if week.start < until), key=lambda each: each.start)
        return [week for week in weeks if not self.appeals_closed(week, of=of)]

    def rulings_close_at(self, week: Week, before: datetime | None = None) -> datetime | None:
        """Return when the time to appeal the verdicts of `week` ends; None while a verdict is missing."""
        part = _part(week, before)
        if part not in self._verdicts:
            self._verdicts[part] = None if _misses_verdicts(part) else _rulings_close_at(part)
        return self._verdicts[part]

    def has_cases(self, week: Week, before: datetime | None = None) -> bool:
        """Say whether a case about a picture of `week` is not closed."""
        part = _part(week, before)
        if part not in self._cases:
            self._cases[part] = open_cases().filter(image__in=_pictures_of(part).values("pk")).exists()
        return self._cases[part]

    def _waits_for_runs(self, part: "_WeekUntil", of: Defense) -> bool:
        """Say whether predictions of the defense are missing; never for a retired one, which gets no new runs."""
        if of.retired_at is not None or of.published_at is None:
            return False
        if part not in self._runs:
            self._runs[part] = _runs_of(part, self._now, self._supposed)
        return of.pk not in self._runs[part].complete and self._runs[part].wanted > 0


@dataclass(frozen=True, slots=True)
class _WeekUntil:
    """The part of a week before `until`: the end of the week, or the moment at which a stake's time was over."""

    week: Week
    until: datetime


def _part(week: Week, before: datetime | None = None) -> _WeekUntil:
    return _WeekUntil(week, week.end if before is None else min(before, week.end))


@dataclass(frozen=True, slots=True)
class _AnswersDue:
    """How many predictions on the pictures of a week each defense is to give, and which defenses gave all of them."""

    wanted: int
    complete: frozenset[int]


def open_cases() -> QuerySet[Case]:
    """Return the cases about pictures that are not closed: they may change a verdict."""
    return Case.objects.filter(image__isnull=False).exclude(state=CaseState.CLOSED)


def _with_pictures(weeks: Sequence[Week]) -> set[str]:
    """Return the names of the weeks that have pictures as of `_pictures_of`. The week beside such a week may be among
    them, if a picture came on a day that belongs to both."""
    first, last = min(week.start for week in weeks), max(week.end for week in weeks)
    came = releasable_images().filter(origin=Origin.ATTACK, received_at__gte=first, received_at__lt=last).order_by()
    days = list(came.datetimes("received_at", "day", tzinfo=UTC))
    received = {week.name for week in weeks if any(week.start - _DAY < day < week.end for day in days)}
    sent = Attack.objects.filter(week__in={week.name for week in weeks}, withdrawn_at__isnull=True).order_by()
    return received.union(sent.values_list("week", flat=True).distinct())


def _misses_verdicts(part: _WeekUntil) -> bool:
    unruled = _without_a_ruling() & _sent_in(part)
    return any(count_waiting_for_verdict(_received_in(part)).values()) or unruled.exists()


def _rulings_close_at(part: _WeekUntil) -> datetime:
    """Each ruling may be appealed for the days of the policy under which it was made."""
    week, rulings = part.week, Ruling.objects.filter(image__in=_pictures_of(part).values("pk"))
    made = rulings.aggregate(first=Min("decided_at"), last=Max("decided_at"))
    if made["last"] is None:
        return week.end
    newest: list[datetime] = [made["last"]]
    for since, _ in policies_between(made["first"], made["last"])[:-1]:
        newest.append(rulings.filter(decided_at__lt=since).aggregate(at=Max("decided_at"))["at"])
    return max([week.end, *(window_closes_after(at) for at in newest)])


def _with_copies(part: _WeekUntil, verdicts: datetime) -> datetime | None:
    """Teams that sent a copy of a rejected picture have days of their own, from its release on."""
    closing = [verdicts]
    rejected = rulings_in_force().filter(_rejected_copies(), image__in=_pictures_of(part).values("pk"))
    for ruling in rejected.select_related("image"):
        at = copies_close_at(ruling)
        if at is None:
            return None
        closing.append(at)
    return max(closing)


def _rejected_copies() -> Q:
    """Condition for rejections of pictures that releases contain and that somebody sent a copy of."""
    copies = Attack.objects.filter(copy_of__isnull=False, withdrawn_at=None, image__origin__in=RELEASED_ORIGINS)
    return Q(verdict=Verdict.REJECTED, image__label_from__isnull=False, image__in=copies.values("image"))


def _rounds(since: datetime, now: datetime) -> int:
    """Return how many rounds of runs are due for pictures received since then: by the policy of the day on which the
    runs are planned, which may be later than that of the week."""
    return min(policy.evaluation_runs for _, policy in policies_between(since, now))


def _valid_of(part: _WeekUntil) -> QuerySet[Any, Any]:
    """Return the pictures of a week that have to be run."""
    return rulings_in_force().filter(verdict=Verdict.VALID, image__in=_pictures_of(part).values("pk")).values("image")


def _misses_runs(part: _WeekUntil, of: Defense, now: datetime) -> int:
    """Count the pictures that still need predictions of a defense."""
    rounds, valid = _rounds(part.week.start, now), _valid_of(part)
    places = places_in_force().filter(defense=of, image__in=valid).order_by().values("image")
    settled, to_come = Count("pk", filter=ITEM_SETTLED & Q(round__lte=rounds)), Count("pk", filter=~ITEM_SETTLED)
    done = places.annotate(answered=settled, to_come=to_come).filter(answered__gte=rounds, to_come=0)
    return valid.count() - done.count()


def _runs_of(part: _WeekUntil, now: datetime, supposed: SupposedRuling | None) -> _AnswersDue:
    rounds, valid = _rounds(part.week.start, now), _valid_of(part)
    count, of_valid = valid.count(), Q(image__in=valid)
    if supposed is not None:
        others = valid.exclude(image=supposed.image)
        more = bool(supposed.label) and _pictures_of(part).filter(pk=supposed.image.pk).exists()
        count, of_valid = others.count() + more, Q(image__in=others)
        of_valid |= Q(image=supposed.image) if more else Q(pk__in=())
    wanted = count * rounds
    by_defense = places_in_force().filter(of_valid).order_by().values_list("defense")
    counted = by_defense.annotate(
        answered=Count("pk", filter=ITEM_SETTLED & Q(round__lte=rounds)), to_come=Count("pk", filter=~ITEM_SETTLED)
    )
    return _AnswersDue(wanted, frozenset(of for of, answered, to_come in counted if answered >= wanted and not to_come))


def _without_a_ruling() -> QuerySet[Attack]:
    """Return the attacks whose picture waits for a verdict, or for another one by more taskers (R19), also if the
    picture came earlier from another source. A picture that an organizer kept out gets no ruling and does not count.
    """
    ruled = Exists(Ruling.objects.filter(image=OuterRef("image")))
    panels = Panel.objects.filter(image=OuterRef("image"))
    held = Exists(panels.filter(state=PanelState.HELD))
    asked = Exists(panels.filter(state__in=_ASKED))
    return Attack.objects.filter(~ruled & ~held | asked, withdrawn_at__isnull=True)


def _sent_in(part: _WeekUntil) -> QuerySet[Attack]:
    """Return the attacks of a week that may break a defense (R29)."""
    in_time = {"week": part.week.name, "received_at__lt": part.until}
    return Attack.objects.filter(was_unknown(), withdrawn_at__isnull=True, **in_time)


def _received_in(part: _WeekUntil) -> QuerySet[Image]:
    """Return the pictures that came in a week as attacks."""
    attacks = Q(origin=Origin.ATTACK) | Q(pk__in=_sent_in(part).values("image"))
    return images_of_week(part.week).filter(attacks, received_at__lt=part.until)


def _pictures_of(part: _WeekUntil) -> QuerySet[Image]:
    """Return the pictures of a week that may break a defense (R29): those received in it as attacks, and those received
    earlier from another source and sent as attacks in it."""
    sent = Q(pk__in=_sent_in(part).values("image"))
    return Image.objects.filter(Q(pk__in=_received_in(part).values("pk")) | sent)


# Where something may be open -----------------------------------------------------------------------------------------
#
# Weeks are found by the days on which their pictures came: every week with something open is found, and maybe others;
# `appeals_closed` decides for each.


@dataclass(frozen=True, slots=True)
class _Pictures:
    """The weeks in which verdicts may still change, and the number of valid pictures by day of receipt."""

    to_rule_on: set[Week]
    valid: Mapping[datetime, int]


def _weeks_to_rule_on(now: datetime) -> set[Week]:
    """Return the weeks with a picture that waits for a verdict, whose ruling may be appealed now or after its release,
    or that has an open case."""
    since, cases = now - longest_window(now), open_cases()
    recent = Ruling.objects.filter(Q(decided_at__gt=since) | (_rejected_copies() & ~released("image__", by=since)))
    waiting: list[QuerySet[Any]] = [
        Image.objects.filter(dealt_at__isnull=True, label_from__isnull=False),
        Panel.objects.filter(state__in=_ASKED),
        Report.objects.filter(decided_at__isnull=True),
        recent,
        cases,
    ]
    found = {week for rows in waiting for week in _weeks_of_receipt(rows)}
    changing = Q(image__in=recent.values("image")) | Q(image__in=cases.values("image"))
    sent = [_without_a_ruling(), Attack.objects.filter(changing, withdrawn_at__isnull=True)]
    names = {name for rows in sent for name in rows.order_by().values_list("week", flat=True).distinct()}
    return found | {week_called(name) for name in names}


def _weeks_of_receipt(rows: QuerySet[Any]) -> Iterator[Week]:
    path = "received_at" if rows.model is Image else "image__received_at"
    for day in rows.order_by().datetimes(path, "day", tzinfo=UTC):
        yield from _weeks_on(day)


def _weeks_on(day: datetime) -> tuple[Week, Week]:
    """Return the one or two weeks that a day of UTC belongs to: in the contest's zone, a week may end within it."""
    return week_at(day), week_at(day + _DAY - _INSTANT)


def _weeks_to_run(of: Defense, valid: Mapping[datetime, int], now: datetime) -> set[Week]:
    """Return the weeks with a valid picture that still needs predictions of a defense; `valid` counts them by day."""
    if of.retired_at is not None or of.published_at is None:
        return set()
    places = places_in_force().filter(defense=of, image__in=_valid().values("image"))
    answered, to_come = dict[datetime, int](), set[datetime]()
    for day, number, done, planned in _by_day(
        places, "round", done=Count("pk", filter=ITEM_SETTLED), planned=Count("pk")
    ):
        if number <= _rounds(day, now):
            answered[day] = answered.get(day, 0) + done
        if done < planned:
            to_come.add(day)
    missing = {day for day, pictures in valid.items() if answered.get(day, 0) < pictures * _rounds(day, now)}
    return {week for day in missing | to_come for week in _weeks_on(day)}


def _valid() -> QuerySet[Ruling]:
    """Return the valid rulings in force on pictures whose runs may lead to a break."""
    return rulings_in_force().filter(verdict=Verdict.VALID, image__origin__in=RELEASED_ORIGINS)


def _by_day(rows: QuerySet[Any], *keys: str, **counts: Count) -> Iterable[tuple[Any, ...]]:
    """Count rows by the day on which their picture came, and by `keys`."""
    days = rows.order_by().annotate(day=TruncDay("image__received_at", tzinfo=UTC))
    counted: Iterable[tuple[Any, ...]] = days.values_list("day", *keys).annotate(**counts)
    return counted


def weeks_between(first: datetime, last: datetime) -> Iterator[Week]:
    """Yield the weeks from that of `first` to that of `last`, both included."""
    week = week_at(first)
    while week.start <= last:
        yield week
        week = week_at(week.end + _INSTANT)
