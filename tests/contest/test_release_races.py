"""Releases at the same moment, and what happens while one is written (R39)."""

import threading
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection

from common.errors import Conflict
from contest import releases
from contest.exports import tables
from contest.models import Release
from contest.rules import week_named
from labeling.models import Image
from tests import factories
from tests.contest import release_fixtures as cast

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.postgres("a snapshot is an isolation level of its own")
def test_only_one_of_two_at_the_same_moment_joins_the_chain(tmp_path: Path) -> None:
    """Both have decided to be the first one when either begins to record itself."""
    cast.a_week()
    both, ended = threading.Barrier(2), []

    def wait(what: str, done: int, total: int | None) -> None:
        if what.endswith(".zip") and done == total:
            both.wait(timeout=60)

    def release(name: str) -> None:
        week = week_named(name, "UTC")
        try:
            releases.release_week(week, out=tmp_path / name, now=week.end + timedelta(weeks=2), progress=wait)
            ended.append("released")
        except Conflict as conflict:
            ended.append(conflict.code)
        finally:
            connection.close()

    threads = [threading.Thread(target=release, args=(name,)) for name in ("2026-W47", "2026-W48")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(ended) == ["release_overtaken", "released"]
    assert Release.objects.count() == 1


@pytest.mark.both("a snapshot is a level of isolation there, and a reader that writes nothing on SQLite")
def test_a_snapshot_does_not_see_what_happens_meanwhile() -> None:
    factories.policy_version()
    factories.image(received_at=cast.MONDAY)

    def meanwhile() -> None:
        try:
            factories.image(received_at=cast.MONDAY)
        finally:
            connection.close()

    with tables.snapshot():
        assert tables.images_of(week_named("2026-W47", "UTC")).count() == 1
        if connection.vendor == "postgresql":  # the other database lies in this process's memory during tests
            other = threading.Thread(target=meanwhile)
            other.start()
            other.join()
        assert tables.images_of(week_named("2026-W47", "UTC")).count() == 1
    assert Image.objects.count() == (2 if connection.vendor == "postgresql" else 1)
