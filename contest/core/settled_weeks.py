"""When a week is final for prizes: all rulings made and no appeal possible any more (R22, R37).

Only attacks break a defense (R29), so money waits for the pictures that attacks sent, and for no others: what the
organizers add to be labeled holds back a release, but never an award or a prize. Nor does an attack that came when a
stake's time was over (R36): who asks about the last week of a stake gives that moment as `before`.
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
    """Weeks as money sees them at `now`, for whom asks about many of them or of many defenses: each thing is read once.

    What it says is as old as its first question: make one for each page or step, and keep none. With `supposed` it
    says what is settled under a ruling that nobody made; of appeals it then says nothing that is of use.
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
        """Find out at once which of many weeks have no picture: each of those is settled, and closed with its end, and
        nothing more is asked about it."""
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
        """Say whether nothing of `week` is open for a defense: every picture is ruled upon, every valid one was run.

        Its runs alone count: another defense, published since, is still being run over all the weeks before it.
        """
        return self.rulings_close_at(week, before) is not None and not self._waits_for_runs(_part(week, before), of)

    def waiting(self, week: Week, *, of: Defense, before: datetime | None = None) -> dict[str, int]:
        """Return how many pictures a week that is not settled for a defense waits for, by the keys of WAITING_WORDS."""
        part = _part(week, before)
        runs = {"runs": _misses_runs(part, of, self._now) if self._waits_for_runs(part, of) else 0}
        return count_waiting_for_verdict(_received_in(part)) | runs

    def appeals_close_at(self, week: Week, *, of: Defense, before: datetime | None = None) -> datetime | None:
        """Return from when on nothing of `week` can be appealed; None while that cannot be said: it is not settled for
        the defense, the board has a case of one of its pictures (R22), or who sent a copy of a rejected one does not
        know of that yet (R24)."""
        part = _part(week, before)
        verdicts = self.rulings_close_at(week, before)
        if verdicts is None or self._waits_for_runs(part, of) or self.has_cases(week, before):
            return None
        if part not in self._closings:
            self._closings[part] = _with_copies(part, verdicts)
        return self._closings[part]

    def appeals_closed(self, week: Week, *, of: Defense, before: datetime | None = None) -> bool:
        """Say whether `week` is over, settled, and past its appeals: nobody has any of their `appeal_days` left."""
        closing = self.appeals_close_at(week, of=of, before=before) if week.end <= self._now else None
        return closing is not None and closing <= self._now

    def open_before(self, moment: datetime, *, of: Defense) -> list[Week]:
        """Return the weeks before the one of `moment` that are not past their appeals for a defense, the oldest first.

        It asks about those that something is open of, and never about each week there was.
        """
        if self._pictures is None:
            self._pictures = _Pictures(_weeks_to_rule_on(self._now), dict(_by_day(_valid(), pictures=Count("pk"))))
        until = week_at(moment).start
        maybe = self._pictures.to_rule_on | _weeks_to_run(of, self._pictures.valid, self._now)
        weeks = sorted((week for week in maybe if week.start < until), key=lambda each: each.start)
        return [week for week in weeks if not self.appeals_closed(week, of=of)]

    def rulings_close_at(self, week: Week, before: datetime | None = None) -> datetime | None:
        """Return from when on no verdict of `week` can be appealed; None while one is missing."""
        part = _part(week, before)
        if part not in self._verdicts:
            self._verdicts[part] = None if _misses_verdicts(part) else _rulings_close_at(part)
        return self._verdicts[part]

    def has_cases(self, week: Week, before: datetime | None = None) -> bool:
        """Say whether the board has a case of a picture of `week` that is not closed."""
        part = _part(week, before)
        if part not in self._cases:
            self._cases[part] = open_cases().filter(image__in=_pictures_of(part).values("pk")).exists()
        return self._cases[part]

    def _waits_for_runs(self, part: "_WeekUntil", of: Defense) -> bool:
        """Say whether the defense misses an answer; one that is retired is let alone, as nothing new is run against
        it."""
        if of.retired_at is not None or of.published_at is None:
            return False
        if part not in self._runs:
            self._runs[part] = _runs_of(part, self._now, self._supposed)
        return of.pk not in self._runs[part].complete and self._runs[part].wanted > 0


@dataclass(frozen=True, slots=True)
class _WeekUntil:
    """What was sent in a week before `until`: its end, or the moment at which a stake's time was over."""

    week: Week
    until: datetime


def _part(week: Week, before: datetime | None = None) -> _WeekUntil:
    return _WeekUntil(week, week.end if before is None else min(before, week.end))


@dataclass(frozen=True, slots=True)
class _AnswersDue:
    """How many answers each defense is to give to the pictures of a week, and which defenses gave them all."""

    wanted: int
    complete: frozenset[int]


def open_cases() -> QuerySet[Case]:
    """Return the cases of pictures that are not closed: what comes of them may change a verdict."""
    return Case.objects.filter(image__isnull=False).exclude(state=CaseState.CLOSED)


def _with_pictures(weeks: Sequence[Week]) -> set[str]:
    """Return the names of the weeks that an attack was received in or sent again: of all that have one, as of
    `_pictures_of`, and maybe of the one beside it, where the picture came on a day of both."""
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
    """Each ruling may be appealed for the days of the policy that it was made under."""
    week, rulings = part.week, Ruling.objects.filter(image__in=_pictures_of(part).values("pk"))
    made = rulings.aggregate(first=Min("decided_at"), last=Max("decided_at"))
    if made["last"] is None:
        return week.end
    newest: list[datetime] = [made["last"]]
    for since, _ in policies_between(made["first"], made["last"])[:-1]:
        newest.append(rulings.filter(decided_at__lt=since).aggregate(at=Max("decided_at"))["at"])
    return max([week.end, *(window_closes_after(at) for at in newest)])


def _with_copies(part: _WeekUntil, verdicts: datetime) -> datetime | None:
    """Who sent a copy of a rejected picture has days of their own, from its release on."""
    closing = [verdicts]
    rejected = rulings_in_force().filter(_rejected_copies(), image__in=_pictures_of(part).values("pk"))
    for ruling in rejected.select_related("image"):
        at = copies_close_at(ruling)
        if at is None:
            return None
        closing.append(at)
    return max(closing)


def _rejected_copies() -> Q:
    """The rejections of what somebody sent a copy of, of those pictures that a release tells of."""
    copies = Attack.objects.filter(copy_of__isnull=False, withdrawn_at=None, image__origin__in=RELEASED_ORIGINS)
    return Q(verdict=Verdict.REJECTED, image__label_from__isnull=False, image__in=copies.values("image"))


def _rounds(since: datetime, now: datetime) -> int:
    """Return how many rounds are waited for of pictures that came since then: they are planned as of the policy of
    their day, which may be a later one than that of the week."""
    return min(policy.evaluation_runs for _, policy in policies_between(since, now))


def _valid_of(part: _WeekUntil) -> QuerySet[Any, Any]:
    """Return the pictures of a week that have to be run."""
    return rulings_in_force().filter(verdict=Verdict.VALID, image__in=_pictures_of(part).values("pk")).values("image")


def _misses_runs(part: _WeekUntil, of: Defense, now: datetime) -> int:
    """Count the pictures that a defense is still to answer."""
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
    """Return the attacks on pictures that wait for their verdict still, or for another one of more taskers (R19): those
    that came earlier for something else, too. What an organizer kept out is never ruled upon, and so not waited for.
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
    """Return the pictures that may break a defense as of a week (R29): those that came in it as attacks, and those that
    came earlier for something else and were sent in it."""
    sent = Q(pk__in=_sent_in(part).values("image"))
    return Image.objects.filter(Q(pk__in=_received_in(part).values("pk")) | sent)


# Where something may be open -----------------------------------------------------------------------------------------
#
# Weeks of pictures by the days they came on: no week is missed that something is open of, and of each that is named
# `appeals_closed` says whether it is.


@dataclass(frozen=True, slots=True)
class _Pictures:
    """The weeks that verdicts may come of, and how many valid pictures came on which day."""

    to_rule_on: set[Week]
    valid: Mapping[datetime, int]


def _weeks_to_rule_on(now: datetime) -> set[Week]:
    """Return the weeks with a picture that waits for a verdict, whose ruling may be appealed now or with its release,
    or that the board has."""
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
    """Return the weeks that a day of UTC may be of: in the contest's zone it may end within it."""
    return week_at(day), week_at(day + _DAY - _INSTANT)


def _weeks_to_run(of: Defense, valid: Mapping[datetime, int], now: datetime) -> set[Week]:
    """Return the weeks with a valid picture that a defense is still to answer, given how many came on which day."""
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
    """Return the rulings that hold and ask for runs that a break may follow from."""
    return rulings_in_force().filter(verdict=Verdict.VALID, image__origin__in=RELEASED_ORIGINS)


def _by_day(rows: QuerySet[Any], *keys: str, **counts: Count) -> Iterable[tuple[Any, ...]]:
    """Count rows by the day on which their picture came, and by `keys`."""
    days = rows.order_by().annotate(day=TruncDay("image__received_at", tzinfo=UTC))
    counted: Iterable[tuple[Any, ...]] = days.values_list("day", *keys).annotate(**counts)
    return counted


def weeks_between(first: datetime, last: datetime) -> Iterator[Week]:
    """Yield the weeks from the one of `first` to the one of `last`, both with them."""
    week = week_at(first)
    while week.start <= last:
        yield week
        week = week_at(week.end + _INSTANT)
