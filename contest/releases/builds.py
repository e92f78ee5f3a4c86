"""Builds releases in the background (R39): progress in one row, one process at a time.

The release itself is put in its place in one step (`contest.releases.services`), so a build that dies
publishes nothing; a later sweep finds its row without signs of life and builds again.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Event, Thread

import structlog
from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, connection, transaction
from django.db.models import Q, QuerySet

from common.audit.trail import audit
from common.errors import Conflict, DomainError
from common.outages import outages
from contest.core.enums import BuildState
from contest.core.models import Release
from contest.core.weeks import week_called
from contest.releases.models import ReleaseBuild
from contest.releases.selectors import unreleased_weeks
from contest.releases.services import release_week, waiting_pictures
from contest.releases.signatures import sign_left_releases
from policy.calendar import Week

# A building process gives a sign of life this often; after that many missed signs it is taken for dead.
SIGN_SECONDS = 2.0
DEAD_AFTER = timedelta(seconds=60)
# After a build that failed the sweep begins the next one for the same week this much later.
PAUSE = timedelta(minutes=10)
_SIGN = "sign of life of a release"  # what the log of outages calls it
_OPEN = (BuildState.WAITING, BuildState.RUNNING)

Clock = Callable[[], datetime]
log = structlog.get_logger(__name__)


def builds_newest_first() -> QuerySet[ReleaseBuild]:
    """Return the builds, over or not, with who asked for them and what came of them."""
    return ReleaseBuild.objects.select_related("release", "asked_by").order_by("-pk")


def is_being_built(week: Week) -> bool:
    """Say whether a build of the week waits or runs."""
    return ReleaseBuild.objects.filter(week=week.name, state__in=_OPEN).exists()


@transaction.atomic
def build_request(week: Week, *, by: User | None, now: datetime, incomplete: bool = False) -> ReleaseBuild:
    """Ask for a release of `week`, or for the next part of it where something changed.

    Raises Conflict while the week runs (`week_not_over`), while a build of it is open (`release_running`), and while
    pictures of it wait, unless `incomplete` (`week_under_way`).
    """
    if week.end > now:
        raise Conflict(f"Week {week.name} is not over. It can be released afterwards.", "week_not_over")
    if any(waiting_pictures(week).values()) and not incomplete:
        raise Conflict(f"Pictures of week {week.name} still wait. Say so to release it without them.", "week_under_way")
    try:
        with transaction.atomic():
            build = ReleaseBuild.objects.create(week=week.name, asked_at=now, asked_by=by, incomplete=incomplete)
            if by is not None:  # a build that is due by the calendar has no requester
                subject, told = {"week": [week.name]}, {"incomplete": incomplete}
                audit("release.build", by=by, subject=subject, now=now, private=told)
            return build
    except IntegrityError:
        raise Conflict(f"The release of week {week.name} is being built already.", "release_running") from None


def due_weeks_release(*, clock: Clock) -> int:
    """Build what was asked for, what a dead process left, and every ended week that is due, oldest first; returns how
    many releases came of it.

    The chain of manifests follows the calendar, so a week that still waits holds back the ones after it; an organizer
    may publish it as it stands.
    """
    sign_left_releases()
    left = list(ReleaseBuild.objects.filter(_free(clock())).order_by("pk"))
    released = sum(_build(build, clock) for build in left)
    for week in unreleased_weeks(clock()):
        if any(waiting_pictures(week).values()) or _rests(week, clock()):
            break
        if not _build(build_request(week, by=None, now=clock()), clock):
            break
        released += 1
    return released


def _free(now: datetime) -> Q:
    """Condition for builds that no process works on: new ones, and those without a sign of life for too long."""
    return Q(state=BuildState.WAITING) | Q(state=BuildState.RUNNING, seen_at__lt=now - DEAD_AFTER)


def _rests(week: Week, now: datetime) -> bool:
    """Say whether a build of the week is open elsewhere, or failed a moment ago."""
    rows = ReleaseBuild.objects.filter(week=week.name)
    return rows.filter(Q(state__in=_OPEN) | Q(state=BuildState.FAILED, ended_at__gt=now - PAUSE)).exists()


def _build(build: ReleaseBuild, clock: Clock) -> int:
    """Take a build and carry it to its end; returns 1 where a release was published by it."""
    now = clock()
    begun = {"state": BuildState.RUNNING, "started_at": now, "seen_at": now, "stage": "", "done": 0, "total": 0}
    if not ReleaseBuild.objects.filter(_free(now), pk=build.pk).update(**begun):
        return 0  # somebody else was quicker
    stage = BuildStage()
    try:
        with _signs_of_life(build, stage, clock):
            released = release_week(
                week_called(build.week),
                out=settings.RELEASE_DIR,
                now=clock(),
                incomplete=build.incomplete,
                progress=stage.told,
            )
    except Exception as error:
        _fail(build, error, clock())
        return 0
    _end(build, BuildState.DONE, clock(), release=released.release)
    return int(released.new)


@dataclass
class BuildStage:
    """How far a build is, as the release tells it."""

    words: str = ""
    done: int = 0
    total: int = 0

    def told(self, words: str, done: int, total: int | None) -> None:
        """Record the progress that `release_week` reports."""
        self.words, self.done, self.total = words, done, total or 0


@contextmanager
def _signs_of_life(build: ReleaseBuild, stage: BuildStage, clock: Clock) -> Iterator[None]:
    """Store the progress from a thread with its own database connection, as the build reads in a transaction."""
    over = Event()
    thread = Thread(target=_show, args=(build.pk, stage, clock, over), name=f"signs of {build}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _show(pk: int, stage: BuildStage, clock: Clock, over: Event) -> None:
    rows = ReleaseBuild.objects.filter(pk=pk, state=BuildState.RUNNING)
    try:
        while not over.wait(SIGN_SECONDS):
            _sign(rows, stage, clock())
    finally:
        connection.close()  # a thread's connection is its own


def _sign(rows: QuerySet[ReleaseBuild], stage: BuildStage, now: datetime) -> None:
    try:
        rows.update(seen_at=now, stage=stage.words, done=stage.done, total=stage.total)
        outages.succeeded(_SIGN)
    except Exception as error:
        # The database may be unreachable for a moment: the next sign tries again, and signs may fail for a minute.
        if not outages.failed(_SIGN, error):
            log.exception("sign_of_life_failed")
        connection.close()


def _fail(build: ReleaseBuild, error: Exception, now: datetime) -> None:
    """Store in words why there is no release. An unexpected error is logged with its traceback."""
    if isinstance(error, DomainError):
        words = error.message
    else:
        log.exception("release_failed", week=build.week)
        words = f"{type(error).__name__}: {error}. Nothing was published. The log has the rest."
    _end(build, BuildState.FAILED, now, error=words)


def _end(build: ReleaseBuild, state: BuildState, now: datetime, **how: Release | str) -> None:
    rows = ReleaseBuild.objects.filter(pk=build.pk, state=BuildState.RUNNING)
    rows.update(state=state, ended_at=now, seen_at=now, **how)
