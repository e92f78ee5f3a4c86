"""Known pictures and people who learn, for the tests of learning; no file is needed."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from random import Random
from typing import Any

from labeling.enums import KnownUse, Topic
from labeling.learning.services import MarkedAnswer, attempt_start, item_answer
from labeling.models import KnownPicture, QualificationAttempt, QualificationItem, Tasker
from policy.numbers import Policy
from tests import factories

POLICY = Policy()
SQUARE = [[50, 50], [250, 50], [250, 250], [50, 250]]
SQUARE_JSON = "[[[50,50],[250,50],[250,250],[50,250]]]"
RIGHT = {
    "contains_bird": "definitely_yes",
    "contains_bicycle": "definitely_no",
    "outline": [SQUARE],
    "complete": True,
    "unoccluded": True,
    "real": True,
}
UNSURE = {"contains_bird": "unsure_no", "contains_bicycle": "unsure_no"}
_TOPICS = [topic for topic in Topic if topic is not Topic.UNCERTAIN]


def known(use: KnownUse, *, position: int = 1, topic: str = Topic.CLEAR, **values: Any) -> KnownPicture:
    """A picture of a bird that is whole, free and real, whose outline is the square."""
    defaults: dict[str, Any] = {
        "accepts_bird": ["definitely_yes"],
        "accepts_bicycle": ["definitely_no"],
        "outline": SQUARE_JSON,
        "complete": True,
        "unoccluded": True,
        "real": True,
        "reasons": {"en": {"title": f"Example {position}", "complete": "All of it is there."}},
    }
    return KnownPicture.objects.create(
        image=factories.image(origin="example", label_from=None),
        use=use,
        topic=topic,
        position=position,
        created_at=factories.NOW,
        **(defaults | values),
    )


def lessons(count: int = 2) -> list[KnownPicture]:
    """The worked examples of a short tutorial."""
    return [known(KnownUse.TUTORIAL, position=number) for number in range(1, count + 1)]


def pool(count: int) -> list[KnownPicture]:
    """Pictures for tries, topic after topic."""
    return [
        known(KnownUse.QUALIFICATION, position=number, topic=_TOPICS[number % len(_TOPICS)]) for number in range(count)
    ]


def ready(tasker: Tasker) -> Tasker:
    """Somebody who has gone through the tutorial."""
    Tasker.objects.filter(pk=tasker.pk).update(tutorial_done_at=factories.NOW)
    tasker.refresh_from_db()
    return tasker


def begin(tasker: Tasker, now: datetime, seed: int = 1) -> QualificationAttempt:
    tasker.refresh_from_db()
    return attempt_start(tasker=tasker, policy=POLICY, now=now, rng=Random(seed))


def answer(item: QualificationItem, now: datetime, form: Mapping[str, Any] = RIGHT) -> MarkedAnswer:
    return item_answer(
        tasker=item.tasker, item_id=item.public_id, data=dict(form), policy_at=lambda moment: POLICY, now=now
    )


def take(tasker: Tasker, now: datetime, *, right: int, seed: int = 1) -> QualificationAttempt:
    """A whole try, one second a picture, with so many fully right."""
    attempt = begin(tasker, now, seed)
    for number, item in enumerate(attempt.items.order_by("position")):
        answer(item, now + timedelta(seconds=number), RIGHT if number < right else UNSURE)
    attempt.refresh_from_db()
    tasker.refresh_from_db()
    return attempt
