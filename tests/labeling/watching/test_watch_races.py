"""Several sweeps at once do what one does (R6)."""

from datetime import datetime, timedelta

import pytest

from labeling.enums import TaskerState
from labeling.models import GoldFlag, KnownPicture, Notice, StateChange, Tasker, WatchEvent, WatchRule
from labeling.policy import Policy
from labeling.watching.leaks import gold_flag_leaks
from labeling.watching.watch import watch
from tests import factories
from tests.labeling.cast import at_once, people
from tests.labeling.watching.rows import gold_answer, gold_answers

pytestmark = [
    pytest.mark.postgres("sweeps at once, with row locks"),
    pytest.mark.slow("six sweeps at once of what forty taskers answered"),
    pytest.mark.django_db(transaction=True),
]
SWEEPS = 6


def test_of_several_sweeps_at_once_one_acts(now: datetime) -> None:
    factories.policy_version()
    judged = {"collector": "gold_doubt", "window": 50, "minimum": 1, "comparison": "<", "threshold": 1}
    WatchRule.objects.create(name="gold", action="pause", words="Too many differ.", created_at=now, **judged)
    taskers = people(*"abcd")
    for tasker in taskers:
        gold_answers(tasker, right=0, wrong=10)
    leaked, crowd = factories.gold(), people(*(f"crowd{number}" for number in range(35)))
    for number, tasker in enumerate(crowd):
        gold_answer(tasker, right=number >= 20, known=leaked, now=now + timedelta(seconds=number))
    for tasker in crowd[:20]:
        gold_answer(tasker, right=True, now=now)
    later, trusting = now + timedelta(hours=1), Policy(gold_pass_percent=1)

    def sweep() -> tuple[int, int]:
        return watch(policy=Policy(), now=later), gold_flag_leaks(policy=trusting, now=later)

    done = at_once(*[sweep] * SWEEPS)
    assert [sum(counts) for counts in zip(*done, strict=True)] == [len(taskers), 1]
    assert Tasker.objects.filter(state=TaskerState.PAUSED).count() == len(taskers)
    assert [model.objects.count() for model in (WatchEvent, StateChange, Notice)] == [len(taskers)] * 3
    assert list(KnownPicture.objects.filter(held_at__isnull=False)) == [flag.known for flag in GoldFlag.objects.all()]
