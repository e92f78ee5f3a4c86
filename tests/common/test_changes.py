"""A worker without a broker learns from the database itself that something was written."""

import threading
from collections.abc import Callable

import pytest
from django.contrib.auth.models import Group
from django.db import connection, transaction

from common.changes import change_mark

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both("triggers count the commits")]


def _elsewhere(change: Callable[[], object]) -> threading.Thread:
    """Begin something on another connection."""

    def run() -> None:
        try:
            change()
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_a_commit_of_another_connection_gives_another_mark_and_reading_does_not() -> None:
    before = change_mark()
    _elsewhere(lambda: list(Group.objects.all())).join()
    list(Group.objects.all())
    assert change_mark() == before
    _elsewhere(lambda: Group.objects.create(name="new")).join()
    assert change_mark() != before


def test_a_commit_counts_when_it_is_made_not_when_its_transaction_began() -> None:
    """A worker that looked while the transaction was open saw nothing of it, and has to look again."""
    written, seen = threading.Event(), threading.Event()

    @transaction.atomic
    def change() -> None:
        Group.objects.create(name="slow")
        written.set()
        seen.wait(10)

    thread = _elsewhere(change)
    written.wait(10)
    while_open = change_mark()
    seen.set()
    thread.join()
    assert change_mark() != while_open
