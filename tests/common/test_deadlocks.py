"""A transaction that gave way in a deadlock is done again, and nothing else is."""

from threading import Barrier

import pytest
from django.db import OperationalError, connection, transaction

from common.deadlocks import again_after_deadlock
from labeling.models import Tasker
from tests import factories
from tests.at_once import at_once


@pytest.mark.postgres("several at once: SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_two_that_lock_the_other_way_round_both_come_through() -> None:
    ids = [factories.tasker(name).pk for name in ("tara", "otto")]
    met, tries = Barrier(2), list[int]()

    @again_after_deadlock
    @transaction.atomic
    def change(first: int, second: int) -> int:
        tries.append(first)
        Tasker.objects.filter(pk=first).update(left_at=None)
        if len(tries) <= 2:
            met.wait(10)
        return Tasker.objects.filter(pk=second).update(left_at=None)

    assert at_once(lambda: change(*ids), lambda: change(*reversed(ids))) == [1, 1]
    # One is ended and tries again, once or, where it is the faster one again, more often.
    assert len(tries) >= 3


@pytest.mark.django_db(transaction=True)
def test_another_error_is_raised_at_once() -> None:
    tries: list[int] = []

    @again_after_deadlock
    def change() -> None:
        tries.append(1)
        raise OperationalError("disk I/O error")

    with pytest.raises(OperationalError, match="disk"):
        change()
    assert len(tries) == 1 and not connection.in_atomic_block
