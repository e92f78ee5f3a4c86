"""Builds the organizers' checklist for an ended week: its steps in order, and how far each is (docs/operations.md)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from contest.core.models import Release
from contest.core.settled_weeks import Weeks
from contest.core.week_pictures import WAITING_WORDS
from contest.core.weeks import week_at
from contest.payments.payable import payables
from contest.releases.builds import is_being_built
from contest.releases.contest_tables import first_moment
from contest.releases.selectors import changed_since, parts_of
from contest.releases.services import waiting_pictures
from policy.calendar import Week
from scoring.selectors import defenses_in_force


class StepState(StrEnum):
    """How far a step is."""

    DONE = "done"
    WAITS = "waits"
    LATER = "later"


@dataclass(frozen=True, slots=True)
class WeekStep:
    """A step, what it waits for in words, until when where that is known, and the page and place where it is done."""

    title: str
    state: StepState
    words: str = ""
    page: str = ""
    fragment: str = ""
    until: datetime | None = None


def week_checklist(week: Week, *, now: datetime) -> tuple[WeekStep, ...]:
    """Return the steps of a week; NotFound (`unknown_week`) where no policy was in force in it."""
    waiting = waiting_pictures(week)
    return (*_pictures(waiting), *_release(week, waiting, now), _appeals(week, now), _money(week, now))


def _pictures(waiting: Mapping[str, int]) -> Iterator[WeekStep]:
    """Yield the steps of pictures; one is not done while pictures wait in a step before it."""
    before = False
    for title, names, page in (
        ("Reports", ("report",), "reports"),
        ("Labeling", ("panel", "answers"), "organizer-taskers"),
        ("Rulings", ("ruling",), "overview"),
        ("Scoring", ("runs", "gave_up"), "scoring-queue"),
    ):
        waits = [f"{waiting[name]:,} {WAITING_WORDS[name]}" for name in names if waiting[name]]
        words = f"Pictures waiting: {', '.join(waits)}." if waits else ""
        done = StepState.LATER if before else StepState.DONE
        yield WeekStep(title, StepState.WAITS if waits else done, words, page if waits else "")
        before = before or bool(waits)


def _release(week: Week, waiting: Mapping[str, int], now: datetime) -> Iterator[WeekStep]:
    parts = parts_of(week.name)
    if parts:
        names = ", ".join(part.name for part in parts)
        words = f"{names}. Check a copy with python3 verify.pyz {parts[-1].name}.zip."
        yield WeekStep("Release", StepState.DONE, words)
        yield _errata(week, parts[-1])
        return
    first = first_moment(week.start)
    if week.end > now:
        state, words = StepState.LATER, "After the week's end, when no picture waits."
    elif first is None or first >= week.end:
        yield WeekStep("Release", StepState.DONE, "Nothing happened in this week, so it has none.")
        yield WeekStep("Corrections", StepState.DONE)
        return
    elif is_being_built(week):
        state, words = StepState.WAITS, "It is being built."
    elif any(waiting.values()):
        state, words = StepState.LATER, "By itself, when no picture waits."
    else:
        state, words = StepState.WAITS, "It is due, and is built by itself after those of the weeks before."
    yield WeekStep("Release", state, words, "organizer-releases", "ended")
    yield WeekStep("Corrections", StepState.LATER, "After the release, when something was added.")


def _errata(week: Week, newest: Release) -> WeekStep:
    added = changed_since(week, newest.released_at)
    if not added:
        return WeekStep("Corrections", StepState.DONE)
    words = f"Added since {newest.name}: {', '.join(added)}."
    return WeekStep("Corrections", StepState.WAITS, words, "organizer-releases", "published")


def _appeals(week: Week, now: datetime) -> WeekStep:
    """Return the step of appeals: done when none is possible for any defense that is being run (R18, R22)."""
    title, known = "Appeals", Weeks(now)
    if week.end > now:
        return WeekStep(title, StepState.LATER, "After the week's end.")
    if known.has_cases(week):
        return WeekStep(
            title, StepState.WAITS, "The board has an open case about one of its pictures.", "overview", "board-cases"
        )
    closings = [known.rulings_close_at(week)]
    closings += [known.appeals_close_at(week, of=each) for each in defenses_in_force()]
    ends = [each for each in closings if each is not None]
    if len(ends) < len(closings):
        return WeekStep(title, StepState.LATER, "After the last verdict and the last answer of a defense.")
    last = max(ends)
    return WeekStep(title, StepState.DONE if last <= now else StepState.WAITS, "", until=last)


def _money(week: Week, now: datetime) -> WeekStep:
    """What can be paid is a step of the week that ended last: money belongs to no week once its appeals are over."""
    title = "Payments"
    if week.end > now:
        return WeekStep(title, StepState.LATER, "After the appeals.")
    rows = payables(now=now)
    waits = sum(week.name in each.weeks for each in rows)
    if waits:
        words = f"The money of {waits:,} team{'' if waits == 1 else 's'} waits for the appeals of this week."
        return WeekStep(title, StepState.LATER, words, "organizer-money")
    due = sum(each.due > 0 for each in rows) if week == ended_last(now) else 0
    if due:
        words = f"{due:,} team{' has' if due == 1 else 's have'} money that can be paid."
        return WeekStep(title, StepState.WAITS, words, "organizer-money")
    return WeekStep(title, StepState.DONE)


def ended_last(now: datetime) -> Week:
    """Return the week before the present one."""
    return week_at(week_at(now).start - timedelta(seconds=1))
