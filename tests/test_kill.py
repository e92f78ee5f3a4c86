"""Workers killed with SIGKILL in the middle: nothing is lost and nothing is there twice."""

import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg2
import pytest

from tests.processes import Deployment, deployment, kill, wait_for

PANELS = 300
KILLS = 3
FILL = f"""
from tests import factories
from django.db import transaction
with transaction.atomic():
    people = [factories.tasker(f"tasker-{{n}}") for n in range(3)]
    for n in range({PANELS}):
        panel = factories.panel()
        for person in people:
            factories.response(person, panel, real=n % 2 == 0)
result = True
"""
COUNT = """
from adjudication.models import Ruling
from labeling.models import Panel
result = {
    "rulings": Ruling.objects.count(),
    "images": Ruling.objects.values("image").distinct().count(),
    "settled": Panel.objects.filter(state="settled").count(),
    "valid": Ruling.objects.filter(verdict="valid").count(),
}
"""


@pytest.mark.postgres
def test_adjudication_survives_killed_workers(tmp_path: Path) -> None:
    with deployment(tmp_path) as site:
        site.run(FILL)
        settled = 0
        for _ in range(KILLS):
            worker = site.start(sys.executable, "manage.py", "work", "--queue", "quick", log="work.log")
            wait_for_more_than(settled, site)
            kill(worker)
            now = site.run(COUNT)
            assert now["rulings"] == now["settled"], "a ruling and its panel's end commit together"
            assert settled < now["settled"] < PANELS, "the kill fell in the middle"
            settled = now["settled"]
        site.start(sys.executable, "manage.py", "work", "--queue", "quick", log="work.log")
        wait_for(lambda: site.run(COUNT)["settled"] == PANELS, "every ruling")
        assert site.run(COUNT) == {
            "rulings": PANELS, "images": PANELS, "settled": PANELS, "valid": PANELS // 2,
        }  # fmt: skip


def wait_for_more_than(settled: int, site: Deployment) -> None:
    """Wait until a worker has begun; asked over a connection of its own, because work is over in a second."""
    address = site.environment["DATABASE_URL"]
    opened: Any = (
        psycopg2.connect(address) if address.startswith("postgres") else sqlite3.connect(site.folder / "db.sqlite3")
    )
    with closing(opened) as connection:
        if address.startswith("postgres"):
            connection.autocommit = True
        cursor, deadline = connection.cursor(), time.monotonic() + 60
        while time.monotonic() < deadline:
            cursor.execute("SELECT count(*) FROM labeling_panel WHERE state = 'settled'")
            if cursor.fetchone()[0] > settled:
                return
            time.sleep(0.005)
    raise AssertionError("the worker did not begin")
