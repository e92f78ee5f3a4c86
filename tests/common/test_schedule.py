"""The beat's schedule: every sweep is in it, and an outage leaves no heap of stale messages."""

import pytest

from config.celery import app
from contest.pipeline import QUEUES

ENTRIES = app.conf.beat_schedule


@pytest.mark.parametrize("name", sorted(ENTRIES))
def test_an_entry_names_a_task_and_its_message_is_over_when_the_next_ones_are_there(name: str) -> None:
    app.loader.import_default_modules()
    assert ENTRIES[name]["task"] in app.tasks
    expires, period = ENTRIES[name]["options"]["expires"], ENTRIES[name]["schedule"]
    assert expires >= period  # or the sweep might never run
    assert expires <= max(period, 60)  # so that at most a minute's worth waits


def test_with_a_broker_as_many_sweeps_run_as_without() -> None:
    assert len(ENTRIES) == sum(len(sweeps) for sweeps in QUEUES.values())
