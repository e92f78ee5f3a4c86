"""Releases at the same moment, what can be read while one is written, and what a process holds meanwhile (R39)."""

import gc
import hashlib
import threading
import tracemalloc
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from common.errors import Conflict
from contest import releases
from contest.enums import BuildState
from contest.exports import archive, folders, tables
from contest.models import Release, ReleaseBuild
from contest.record import builds
from contest.rules import week_named
from labeling.models import Image
from labeling.png import encode_png
from labeling.store import picture_key, picture_store
from tests import factories
from tests.contest import release_fixtures as cast
from tests.processes import wait_for

pytestmark = pytest.mark.django_db(transaction=True)
WEEK = week_named("2026-W47", "UTC")


@pytest.mark.postgres("two releases beside each other: SQLite has one writer")
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
        assert tables.images_of(WEEK).count() == 1
        if connection.vendor == "postgresql":  # the other database lies in this process's memory during tests
            other = threading.Thread(target=meanwhile)
            other.start()
            other.join()
        assert tables.images_of(WEEK).count() == 1
    assert Image.objects.count() == (2 if connection.vendor == "postgresql" else 1)


@pytest.mark.both("the sign of life is written from a thread of its own, beside the transaction that builds")
def test_how_far_it_is_can_be_read_while_it_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    cast.a_week()
    seen: list[tuple[str, str, int, int]] = []

    def copied(workplace: Path, content: Any, progress: Any) -> None:
        progress("images", 4, 9)
        wait_for(lambda: ReleaseBuild.objects.get().stage == "images", "the sign of life")
        seen.extend(ReleaseBuild.objects.values_list("state", "stage", "done", "total"))
        original(workplace, content, progress)

    original = releases.copy_pictures
    monkeypatch.setattr("contest.releases.copy_pictures", copied)
    monkeypatch.setattr(builds, "SIGN_SECONDS", 0.05)
    assert builds.due_weeks_release(clock=lambda: cast.AFTER) == 1
    assert seen == [(BuildState.RUNNING, "images", 4, 9)]


# Memory --------------------------------------------------------------------------------------------------------------


def _many_pictures(number: int, received: datetime) -> None:
    """Tiny pictures that nobody was asked about yet."""
    template = factories.image(origin="gold")
    fields = {field.attname: getattr(template, field.attname) for field in Image._meta.concrete_fields}
    fields |= {"id": None, "origin": "dataset", "received_at": received, "label_from": received}
    day = received.strftime("%m%d")
    hashes = [hashlib.sha256(f"{day} {at}".encode()).hexdigest() for at in range(number)]
    made = ({"public_id": f"P-{day}{at:04}", "pixels_sha256": sha, "source_id": sha} for at, sha in enumerate(hashes))
    Image.objects.bulk_create(Image(**(fields | own)) for own in made)
    picture = encode_png(1, 1, b"rgb")
    for sha in hashes:
        picture_store().put(picture_key(sha), picture)


def _peak(name: str, out: Path) -> int:
    """Return the most bytes Python held while a week was released, found unchanged, and copied."""
    week = week_named(name, "UTC")
    # A whole collection waits for a quarter of all that lives, which in a process of many tests is more than a release.
    gc.collect()
    gc.freeze()
    gc.collect()
    tracemalloc.start()
    try:
        for _ in range(2):
            released = releases.release_week(week, out=out, now=cast.AFTER, incomplete=True)
        releases.release_copy(released, out / "copy")
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        gc.unfreeze()


@pytest.mark.long("memory at size")
def test_memory_does_not_grow_with_the_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Buffers as in a release of a hundred thousand pictures would hide what a few hundred of them take.
    for module, name, size in ((tables, "CHUNK", 50), (folders, "_NAMES", 50), (archive, "_CHUNK", 1 << 12)):
        monkeypatch.setattr(module, name, size)
    factories.policy_version()
    for number, weeks in ((1, 3), (50, 2), (350, 1), (350, 0)):
        _many_pictures(number, cast.MONDAY - timedelta(weeks=weeks))
    _, few, first, second = (_peak(f"2026-W{week}", tmp_path / "out") for week in (44, 45, 46, 47))
    assert len(list((tmp_path / "out").rglob("*.png"))) == 2 * 751, "released and copied"
    # The rows of the pictures, held as a list, take more than 100,000 bytes. After a week that loads what is loaded
    # once, and twice, because threads that other tests left behind may just then be busy.
    assert min(first, second) - few < 60_000
