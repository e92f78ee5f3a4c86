"""When the worker without a broker runs its sweeps: soon after every change, and seldom while nothing happens."""

import threading

import pytest
from django.contrib.auth.models import Group
from django.db import connection

from contest.management.commands.work import MOST_SECONDS_BETWEEN_ROUNDS, Rounds

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both]


class Clock:
    """A clock turned by hand."""

    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def _write_elsewhere() -> None:
    def run() -> None:
        try:
            Group.objects.create(name="new")
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()


def test_sweeps_run_after_changes_work_failures_and_fifteen_seconds() -> None:
    clock = Clock()
    rounds = Rounds(clock)
    assert rounds.is_due(), "the first round, whatever happened before"
    rounds.ended(again=False)
    assert not rounds.is_due(), "nothing was written"

    _write_elsewhere()
    assert rounds.is_due(), "somebody wrote"
    rounds.ended(again=True)
    assert rounds.is_due(), "the round itself did something or failed: there may be more"
    rounds.ended(again=False)
    assert not rounds.is_due(), "that round found nothing"

    clock.seconds += MOST_SECONDS_BETWEEN_ROUNDS
    assert rounds.is_due(), "leases and weeks end without anybody writing"


def test_what_is_written_during_a_round_makes_the_next_one_due() -> None:
    rounds = Rounds(Clock())
    assert rounds.is_due()
    _write_elsewhere()
    rounds.ended(again=False)
    assert rounds.is_due()
