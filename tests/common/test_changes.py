"""A worker without a broker learns from the database itself that something was written."""

import threading

import pytest
from django.contrib.auth.models import Group
from django.db import transaction

from common.changes import change_mark
from tests.at_once import at_once

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both("each database has a mark of its own")]


def test_a_commit_of_another_connection_gives_another_mark() -> None:
    before = change_mark()
    at_once(lambda: Group.objects.create(name="new"))
    assert change_mark() != before


def test_reading_gives_no_other_mark() -> None:
    """Other tests commit to other databases of the cluster meanwhile, but not every time."""

    def unchanged() -> bool:
        before = change_mark()
        at_once(lambda: list(Group.objects.all()))
        list(Group.objects.all())
        return change_mark() == before

    assert any(unchanged() for _ in range(100))


def test_a_commit_counts_when_it_is_made_not_when_its_transaction_began() -> None:
    """A worker that looked while the transaction was open saw nothing of it, and has to look again."""
    written, seen = threading.Event(), threading.Event()

    @transaction.atomic
    def change() -> None:
        Group.objects.create(name="slow")
        written.set()
        seen.wait(10)

    thread = threading.Thread(target=at_once, args=(change,))
    thread.start()
    written.wait(10)
    while_open = change_mark()
    seen.set()
    thread.join()
    assert change_mark() != while_open
