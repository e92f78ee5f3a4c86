"""A worker killed with SIGKILL in the middle of a run: nothing is lost, nothing is there twice.

Real processes on a real database of their own: a file, or a fresh PostgreSQL database beside the suite's.
"""

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from tests.scoring.databases import fresh_database

PICTURES, ROUNDS = 10, 3


class Site:
    """An installation of its own: database, picture store and array cache."""

    def __init__(self, database_url: str, folder: Path, connect: Any) -> None:
        # On the processor: to look for another device, each process would import torch.
        own = {"DATABASE_URL": database_url, "DATA_DIR": str(folder), "SCORING_DEVICE": "cpu"}
        self.environment = os.environ | own
        self.connect = connect

    def start(self, *arguments: str) -> int:
        """Run python with `arguments` and return its exit status, negative for a signal."""
        done = subprocess.run(
            [sys.executable, *arguments], env=self.environment, cwd=settings.BASE_DIR, capture_output=True, check=False
        )
        if done.returncode > 0:
            raise AssertionError(done.stderr.decode()[-3000:])
        return done.returncode

    def step(self, *arguments: str) -> int:
        return self.start("-m", "tests.scoring.worker_process", *arguments)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        held = self.connect()
        try:
            cursor = held.cursor()
            cursor.execute(sql)
            return list(cursor.fetchall())
        finally:
            held.close()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with fresh_database(tmp_path) as database:
        yield _migrated(Site(database.url, tmp_path, database.connect))


def _migrated(site: Site) -> Site:
    site.start("manage.py", "migrate", "--verbosity", "0")
    return site


@pytest.mark.parametrize("kill", ["claimed", "batch", "writing"])
def test_a_killed_worker_loses_and_doubles_nothing(kill: str, site: Site, now: datetime) -> None:
    assert site.step("prepare", now.isoformat(), "work", now.isoformat(), kill) == -signal.SIGKILL
    assert site.rows("SELECT count(*) FROM scoring_prediction") == [(0,)]
    assert Counter(state for (state,) in site.rows("SELECT state FROM scoring_run")) == {"running": 1, "queued": 2}

    site.step("work", (now + timedelta(seconds=30)).isoformat())
    assert _answered(site) == PICTURES * (ROUNDS - 1)  # the lease still holds: nobody else touches that run

    later = (now + timedelta(seconds=61)).isoformat()
    site.step("reclaim", later, "work", later)
    assert _answered(site) == PICTURES * ROUNDS
    assert sorted(site.rows("SELECT state, attempt FROM scoring_run")) == [
        ("finished", 1),
        ("finished", 1),
        ("finished", 2),
    ]


def _answered(site: Site) -> int:
    """Count the answers, each picture at most once a round."""
    rows = site.rows("SELECT image_id, round FROM scoring_prediction")
    assert len(set(rows)) == len(rows)
    return len(rows)
