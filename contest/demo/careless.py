"""A careless tasker of the demo, who gives organizers' monitoring pages something to show (R6)."""

from datetime import datetime, timedelta
from random import Random
from typing import Any

from contest.demo.answers import answer
from labeling import leases
from labeling.models import Assignment, Tasker
from policy.numbers import Policy

CARELESS = "hasty"
SECONDS = 1.1
SAID: dict[str, Any] = {
    "contains_bird": "definitely_no",
    "contains_bicycle": "definitely_no",
    "outline": None,
    "complete": None,
    "unoccluded": None,
    "real": None,
    "seconds": SECONDS,
}


class _Gold(Random):
    """Draws gold wherever there is some: the lowest number is below every percentage."""

    def randrange(self, *_: Any, **__: Any) -> int:
        return 0


def gold_play(tasker: Tasker, *, policy: Policy, until: datetime, count: int) -> None:
    """Let the careless tasker answer `count` gold pictures in the last minutes before `until`."""
    for number in range(count, 0, -1):
        at = until - number * timedelta(minutes=1)
        found = leases.assignment_next(tasker=tasker, holding=(), policy=policy, now=at, rng=_Gold())
        if not isinstance(found, Assignment):
            return
        answer(tasker, found, SAID, at + timedelta(seconds=SECONDS))
