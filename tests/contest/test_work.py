"""When the worker without a broker runs its sweeps: soon after every change, and seldom while nothing happens."""

import os
import signal
import time
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group
from django.core.management import call_command

from contest.management.commands import work
from contest.management.commands.work import MOST_SECONDS_BETWEEN_ROUNDS, Rounds
from tests.at_once import at_once

pytestmark = pytest.mark.django_db(transaction=True)


class Clock:
    """A clock turned by hand."""

    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def _write_elsewhere() -> None:
    at_once(lambda: Group.objects.create(name=str(uuid4())))


@pytest.mark.both("commits are heard of by a mark in the database")
def test_sweeps_run_after_changes_work_failures_and_fifteen_seconds() -> None:
    clock = Clock()
    rounds = Rounds(clock)
    assert rounds.is_due(), "the first round, whatever happened before"
    rounds.ended(again=False)
    assert not rounds.is_due(), "nothing was written"

    _write_elsewhere()
    assert rounds.is_due(), "somebody wrote"
    _write_elsewhere()
    rounds.ended(again=False)
    assert rounds.is_due(), "somebody wrote during the round"
    rounds.ended(again=True)
    assert rounds.is_due(), "the round itself did something or failed: there may be more"
    rounds.ended(again=False)
    assert not rounds.is_due(), "that round found nothing"

    clock.seconds += MOST_SECONDS_BETWEEN_ROUNDS
    assert rounds.is_due(), "leases and weeks end without anybody writing"


def test_the_worker_notices_what_others_commit_from_one_round_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite counts the commits that a connection sees: a worker that reconnects each time would wait for the clock."""
    begun: list[float] = []

    def sweep() -> int:
        begun.append(time.monotonic())
        if len(begun) == 1:
            _write_elsewhere()
        else:
            os.kill(os.getpid(), signal.SIGTERM)
        return 0

    monkeypatch.setattr(work, "QUEUES", {"quick": {"probe": sweep}})
    before = [(number, signal.getsignal(number)) for number in (signal.SIGTERM, signal.SIGINT)]
    try:
        call_command("work", queue=["quick"])
    finally:
        for number, handler in before:
            signal.signal(number, handler)
    first, second = begun
    assert second - first < MOST_SECONDS_BETWEEN_ROUNDS / 3
