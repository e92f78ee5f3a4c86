"""Moves the demo's clock forward and runs all sweeps that become due.

The row of the clock holds the target of a move, and each step is one commit. A killed move can be continued.
"""

import fcntl
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from common.audit.trail import audit
from common.domain_clock import demo_ahead, domain_now
from common.errors import Conflict, InvalidInput, NotAllowed
from common.models import DemoClock
from common.times import absolute
from contest.core.enums import BuildState
from contest.core.weeks import week_at
from contest.demo import people
from contest.demo.changes_since import ChangesSince
from contest.operations import pipeline
from contest.releases.models import ReleaseBuild
from scoring.enums import RunState
from scoring.leases import waiting
from scoring.models import Run, Trial

Say = Callable[[str], object]

ZONE = "UTC"
DAY = timedelta(days=1)
# The longest move: a stake takes 90 days.
MAX_SPAN = timedelta(days=100)
NEXT_WEEK = "next-week"
# Work that is under way may take this long; after that the clock moves on without waiting any more.
PATIENCE_SECONDS = 60.0
_LOOK_AGAIN_SECONDS = 0.5
# A remainder this short, from time that passed meanwhile, gets no step of its own.
_CRUMB = timedelta(minutes=10)
_UNITS = {"h": timedelta(hours=1), "d": DAY, "w": timedelta(weeks=1)}
_AMOUNT = re.compile(r"\+?(\d{1,6})([hdw])")
_HOW = "Write how far, for example +12h, +5d, +2w or next-week."


def clock_in_words() -> str:
    """Return the demo's time in words, and the target of an unfinished move."""
    refuse_outside_demo()
    words = _time_words()
    row = DemoClock.objects.first()
    if row is None or row.target_seconds is None:
        return words
    left = timedelta(seconds=row.target_seconds - row.ahead_seconds)
    return f"{words} A move is not finished: {left} are left. Move the clock by any amount, and it is finished first."


def clock_move(amount: str, *, say: Say) -> None:
    """Move the demo's time forward by `amount`, or finish the move that was begun before.

    Raises NotAllowed outside demo mode, InvalidInput for an amount that is invalid, negative or over 100 days,
    Conflict (`clock_moving`) while another move is under way.
    """
    refuse_outside_demo()
    with _alone():
        begun = DemoClock.objects.filter(target_seconds__isnull=False).exists()
        if begun:
            say(f"An earlier move was not finished. It is finished now; {amount} is not added to it.")
        else:
            _begin(amount)
        patience = PATIENCE_SECONDS
        refused: dict[str, None] = {}  # each sentence once, in the order of occurrence
        while True:
            before = ChangesSince()
            if not _let_happen(patience, refused) and patience:
                say("  Some work is still under way. The clock moves on; what it interrupts is begun again.")
                patience = 0.0
            for line in before.lines():
                say(f"  {line}")
            if not _step():
                break
            say(absolute(domain_now(), ZONE))
        for words in refused:
            say(f"The demo's people could not do everything: {words}")
        say(_time_words())


def refuse_outside_demo() -> None:
    """Raise NotAllowed where this is a real contest: its time is everybody's."""
    if not settings.DEMO:
        raise NotAllowed("This is no demo: the clock of a real contest cannot be moved.", "no_demo")


def _time_words() -> str:
    ahead = demo_ahead()
    words = f"{ahead.days} d {ahead.seconds // 3600} h ahead" if ahead else "not moved"
    return f"It is {absolute(domain_now(), ZONE)} in the demo; its clock is {words}."


@contextmanager
def _alone() -> Iterator[None]:
    """Hold the lock of the clock, which ends with this process however it ends."""
    folder = Path(settings.DATA_DIR)
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "demo-clock.lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Conflict("The clock is being moved already: wait until that is done.", "clock_moving") from None
        yield


def _begin(amount: str) -> None:
    ahead = demo_ahead()
    target = int((ahead + parse_span(amount, domain_now())).total_seconds())
    DemoClock.objects.update_or_create(pk=1, defaults={"target_seconds": target})


def parse_span(amount: str, now: datetime) -> timedelta:
    """Return how far `amount` is from `now`, in whole seconds; InvalidInput for an invalid amount."""
    if amount == NEXT_WEEK:
        return _seconds_up(week_at(now).end - now)
    if amount.startswith("-"):
        raise InvalidInput(f"The clock goes forward only. {_HOW}", "wrong_amount")
    found = _AMOUNT.fullmatch(amount)
    if found is None or not int(found[1]):
        raise InvalidInput(f"{amount!r} is no amount of time. {_HOW}", "wrong_amount")
    span = int(found[1]) * _UNITS[found[2]]
    if span > MAX_SPAN:
        raise InvalidInput(f"The clock moves by {MAX_SPAN.days} days at most. Move it several times.", "wrong_amount")
    return span


def _seconds_up(span: timedelta) -> timedelta:
    return timedelta(seconds=-(-span // timedelta(seconds=1)))


@transaction.atomic
def _step() -> bool:
    """Move to the next day, or to the end of the week if that comes first; False when the move has reached its end."""
    row = DemoClock.objects.select_for_update().get(pk=1)
    if row.target_seconds is None or row.target_seconds == row.ahead_seconds:
        DemoClock.objects.update(target_seconds=None)
        return False
    before = timezone.now() + timedelta(seconds=row.ahead_seconds)
    left = timedelta(seconds=row.target_seconds - row.ahead_seconds)
    span = min(left, DAY, _seconds_up(week_at(before).end - before))
    span = left if left - span < _CRUMB else span
    row.ahead_seconds += int(span.total_seconds())
    row.save(update_fields=["ahead_seconds"])
    told = {"seconds": int(span.total_seconds()), "ahead_seconds": row.ahead_seconds}
    audit("demo_clock.move", by=None, subject={}, now=before + span, private=told)
    return True


def _let_happen(patience: float, refused: dict[str, None]) -> bool:
    """Let the demo's people and the sweeps do all that is due; wait `patience` seconds for what is under way elsewhere.

    Returns False when that was not enough. Refusals that the people get are added to `refused`.
    """
    deadline = time.monotonic() + patience
    while True:
        acted = people.act_as_people(domain_now(), refused=refused.setdefault)
        settled = sum(1 for _ in pipeline.run_all_sweeps())
        if acted or settled:
            continue
        if not _is_under_way():
            return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(_LOOK_AGAIN_SECONDS)


def _is_under_way() -> bool:
    """Say whether runs, trials or a release are being worked on, or could be now: a jump would end their leases."""
    now = domain_now()
    return (
        any(waiting(kind, now=now).exists() for kind in (Run, Trial))
        or any(kind.objects.filter(state=RunState.RUNNING).exists() for kind in (Run, Trial))
        or ReleaseBuild.objects.filter(Q(state=BuildState.WAITING) | Q(state=BuildState.RUNNING)).exists()
    )
