"""Several sweeps at once do what one does (R6)."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from threading import Barrier

import pytest
from django.db import connections

from labeling.enums import TaskerState
from labeling.models import GoldFlag, KnownPicture, Notice, StateChange, Tasker, WatchEvent, WatchRule
from labeling.policy import Policy
from labeling.watching.leaks import gold_flag_leaks
from labeling.watching.watch import watch
from tests import factories
from tests.labeling.watching.rows import gold_answer, gold_answers

pytestmark = [pytest.mark.postgres("several at once: SQLite has one writer"), pytest.mark.django_db(transaction=True)]
SWEEPS = 6


def test_of_several_sweeps_at_once_one_acts(now: datetime) -> None:
    factories.policy_version()
    WatchRule.objects.create(
        name="gold",
        collector="gold_doubt",
        window=50,
        minimum=1,
        comparison="<",
        threshold=1,
        action="pause",
        words="Too many differ.",
        created_at=now,
    )
    taskers = [factories.tasker(f"tasker{number}") for number in range(4)]
    for tasker in taskers:
        gold_answers(tasker, right=0, wrong=10)
    leaked = factories.gold()
    crowd = [factories.tasker(f"crowd{number}") for number in range(35)]
    for number, tasker in enumerate(crowd):
        gold_answer(tasker, right=number >= 20, known=leaked, now=now + timedelta(seconds=number))
    for tasker in crowd[:20]:
        gold_answer(tasker, right=True, now=now)
    trusting = Policy(gold_pass_percent=1)
    ready = Barrier(SWEEPS)

    def sweep(_: int) -> tuple[int, int]:
        try:
            ready.wait()
            later = now + timedelta(hours=1)
            return watch(policy=Policy(), now=later), gold_flag_leaks(policy=trusting, now=later)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(SWEEPS) as pool:
        done = list(pool.map(sweep, range(SWEEPS)))
    assert [sum(counts) for counts in zip(*done, strict=True)] == [len(taskers), 1]
    assert Tasker.objects.filter(state=TaskerState.PAUSED).count() == len(taskers)
    rows = (WatchEvent, StateChange, Notice)
    assert [model.objects.count() for model in rows] == [len(taskers)] * 3
    assert list(KnownPicture.objects.filter(held_at__isnull=False)) == [flag.known for flag in GoldFlag.objects.all()]
