"""Releases are built behind the pages: one row tells how far, one process builds, a dead one leaves nothing (R39)."""

import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import structlog
from django.contrib.auth.models import User
from django.db import OperationalError

from adjudication.verify import verify
from common import outages
from common.errors import Conflict
from contest.enums import BuildState
from contest.models import Release, ReleaseBuild
from contest.record import builds
from contest.rules import Week
from labeling.models import Image
from labeling.store import PictureMissing
from tests import factories
from tests.contest import release_fixtures
from tests.contest.record import cast
from tests.processes import deployment, kill, wait_for

pytestmark = pytest.mark.django_db


class Clock:
    """A clock that a test moves."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock(cast.NOW)


@pytest.fixture(scope="module")
def week(module_world: Path) -> Week:
    """A week that is over, of which nothing is released."""
    release_fixtures.a_week()
    return cast.W47


def _build() -> ReleaseBuild:
    return ReleaseBuild.objects.get()


def test_a_due_week_gets_a_build_that_ends_with_its_release(week: Week, clock: Clock) -> None:
    assert builds.due_weeks_release(clock=clock) == 1
    build = _build()
    assert (build.week, build.state, build.error) == ("2026-W47", BuildState.DONE, "")
    assert build.release == Release.objects.get() and build.asked_by is None
    assert build.asked_at == build.started_at == build.ended_at == cast.NOW
    assert builds.due_weeks_release(clock=clock) == 0
    assert ReleaseBuild.objects.count() == 1, "with nothing to do no build is begun"


def test_an_organizer_may_publish_a_week_as_it_stands(week: Week, clock: Clock, olga: User) -> None:
    factories.panel(release_fixtures.picture(50), dealt_at=release_fixtures.MONDAY)
    assert builds.due_weeks_release(clock=clock) == 0
    assert _refused(week, olga, cast.NOW) == "week_under_way"
    builds.build_ask(week, by=olga, now=cast.NOW, incomplete=True)
    assert builds.due_weeks_release(clock=clock) == 1
    assert (_build().asked_by, _build().incomplete, _build().state) == (olga, True, BuildState.DONE)


def _refused(week: Week, by: User, now: datetime) -> str:
    with pytest.raises(Conflict) as refused:
        builds.build_ask(week, by=by, now=now)
    return refused.value.code


def test_a_week_is_built_when_it_is_over_and_once_at_a_time(week: Week, olga: User) -> None:
    assert _refused(week, olga, week.end - timedelta(microseconds=1)) == "week_not_over"
    assert not ReleaseBuild.objects.exists()
    builds.build_ask(week, by=olga, now=cast.NOW)
    assert _refused(week, olga, cast.NOW) == "release_running"


def test_what_changed_is_published_as_errata_and_where_nothing_did_nothing_is(
    week: Week, clock: Clock, olga: User, settings: Any
) -> None:
    builds.due_weeks_release(clock=clock)
    builds.build_ask(week, by=olga, now=cast.NOW)
    assert builds.due_weeks_release(clock=clock) == 0
    newest = ReleaseBuild.objects.latest("pk")
    assert (newest.state, newest.release) == (BuildState.DONE, Release.objects.get())
    Image.objects.filter(origin="dataset").update(author="somebody else")
    builds.build_ask(week, by=olga, now=cast.NOW)
    assert builds.due_weeks_release(clock=clock) == 1
    assert [each.name for each in Release.objects.order_by("pk")] == ["release-2026-W47", "release-2026-W47-errata-1"]
    assert verify(settings.RELEASE_DIR / "release-2026-W47-errata-1").differences == []


FAILURES: list[tuple[Exception, str]] = [
    (PictureMissing("pictures/00.png"), "The store has no pictures/00.png. Restore it from a backup of the store."),
    (OSError(28, "No space left on device"), "No space left on device. Nothing was published"),
]


@pytest.mark.parametrize(("error", "words"), FAILURES, ids=["a picture is missing", "the disk is full"])
def test_why_a_build_failed_is_told_in_words_and_it_is_tried_again_later(
    error: Exception, words: str, week: Week, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise error

    with monkeypatch.context() as broken:
        broken.setattr("contest.releases.copy_pictures", fails)
        assert builds.due_weeks_release(clock=clock) == 0
        assert builds.due_weeks_release(clock=clock) == 0
    assert (_build().state, _build().release) == (BuildState.FAILED, None)
    assert words in _build().error
    clock.now += builds.PAUSE
    assert builds.due_weeks_release(clock=clock) == 1


@pytest.mark.parametrize(
    ("silent", "released", "why"),
    [
        (timedelta(seconds=59), 0, "whoever builds may be slow to give a sign"),
        (timedelta(seconds=61), 1, "after a minute without any it is dead"),
    ],
)
def test_a_build_without_a_sign_of_life_is_taken_up_again(
    silent: timedelta, released: int, why: str, week: Week, clock: Clock
) -> None:
    begun = cast.NOW - silent
    ReleaseBuild.objects.create(
        week=week.name, state=BuildState.RUNNING, asked_at=begun, started_at=begun, seen_at=begun
    )
    assert builds.due_weeks_release(clock=clock) == released, why
    assert ReleaseBuild.objects.count() == 1


SIGNS = [
    (lambda: OperationalError("the server closed the connection"), ["outage", "outage_over"], "the database is away"),
    (lambda: ValueError("a mistake"), ["sign_of_life_failed"] * 3, "a mistake of ours: each time, with its trace"),
]


@pytest.mark.parametrize(("error", "events", "why"), SIGNS, ids=[row[2] for row in SIGNS])
def test_an_outage_is_logged_once_however_many_signs_of_life_fail(
    error: Callable[[], Exception], events: list[str], why: str, week: Week, monkeypatch: pytest.MonkeyPatch
) -> None:
    build = ReleaseBuild.objects.create(week=week.name, state=BuildState.RUNNING, asked_at=cast.NOW)
    outcomes = [*[error] * 3, None]

    class Rows:
        """The row of the build, in a database that comes back at the fourth sign."""

        def update(self, **values: Any) -> int:
            if (failing := outcomes.pop(0)) is not None:
                raise failing()
            return ReleaseBuild.objects.filter(pk=build.pk).update(**values)

    monkeypatch.setattr(builds, "log", structlog.get_logger("builds"))
    monkeypatch.setattr(outages, "log", structlog.get_logger("outages"))
    monkeypatch.setattr(builds.connection, "close", lambda: None)  # this test's own
    with structlog.testing.capture_logs() as logged:
        for _ in range(4):
            builds._sign(Rows(), builds.Stage("images", 4, 9), cast.NOW)  # type: ignore[arg-type]
    assert [line["event"] for line in logged] == events, why
    build.refresh_from_db()
    assert (build.stage, build.seen_at) == ("images", cast.NOW), "and it goes on"


# A build that waits for ever at one of its steps, and says that it is there.
_STUCK = """
import time
from pathlib import Path
import django; django.setup()
from django.conf import settings
from django.core.management import call_command
from contest import releases
from contest.record import builds
from tests.contest import release_fixtures
from tests.contest.record import cast
call_command("collectstatic", interactive=False, verbosity=0)
release_fixtures.a_week()
def stuck(*_, **__):
    (settings.RELEASE_DIR.parent / "stuck").touch()
    time.sleep(600)
releases.{step} = stuck
builds.due_weeks_release(clock=lambda: cast.NOW)
"""
# What a stranger gets after it was killed; what the next one does; what a stranger gets then.
_AFTERWARDS = """
from django.test import Client
from contest.models import Release, ReleaseBuild
from contest.record import builds
from tests.contest.record import cast
def public():
    site = Client(SERVER_NAME="localhost")
    return [site.get("/api/v1/releases/").json(), site.get("/releases/release-2026-W47.zip").status_code,
        site.get("/releases/release-2026-W47/manifest.json").status_code]
later = cast.NOW + 2 * builds.DEAD_AFTER
before = public()
again = [builds.due_weeks_release(clock=lambda: later), Release.objects.count(), ReleaseBuild.objects.get().state]
result = [before, again, public()[1:]]
"""


@pytest.mark.long("kills processes; `test_releases.py` ends a build at each of its steps, and takes over what it left")
@pytest.mark.parametrize(
    ("step", "why"),
    [
        ("copy_pictures", "the tables are written, the pictures are not"),
        ("sync_folder", "folder and zip are in their place, and the record of them is not committed"),
    ],
)
def test_a_build_that_is_killed_leaves_nothing_half_published(step: str, why: str, tmp_path: Path) -> None:
    with deployment(tmp_path) as site:
        process = site.start(sys.executable, "-c", _STUCK.format(step=step), log="build.log")
        wait_for((tmp_path / "stuck").exists, "the build")
        kill(process)
        before, again, public = site.run(_AFTERWARDS)
        assert before == [{"releases": []}, 404, 404], why
        assert (again, public) == ([1, 1, "done"], [200, 200])
        assert verify(tmp_path / "releases" / "release-2026-W47").differences == []
        assert not (tmp_path / "releases" / ".release.partial").exists()
