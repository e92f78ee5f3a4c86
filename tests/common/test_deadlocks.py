"""A transaction that gave way in a deadlock is done again, and nothing else is."""

from threading import Barrier, Thread

import pytest
from django.db import OperationalError, connection, connections, transaction

from common.deadlocks import again_after_deadlock
from labeling.models import Tasker
from tests import factories


@pytest.mark.postgres("several at once: SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_two_that_lock_the_other_way_round_both_come_through() -> None:
    ids = [factories.tasker(name).pk for name in ("tara", "otto")]
    met, tries, done = Barrier(2), [], []

    def locking(order: list[int]) -> None:
        @again_after_deadlock
        @transaction.atomic
        def change() -> None:
            tries.append(1)
            first, second = order
            Tasker.objects.filter(pk=first).update(left_at=None)
            if len(tries) <= 2:
                met.wait(10)
            Tasker.objects.filter(pk=second).update(left_at=None)
            done.append(1)

        try:
            change()
        finally:
            connections.close_all()

    threads = [Thread(target=locking, args=(order,)) for order in (ids, ids[::-1])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    # One is ended and tries again, once or, where it is the faster one again, more often.
    assert len(done) == 2 and len(tries) >= 3


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
