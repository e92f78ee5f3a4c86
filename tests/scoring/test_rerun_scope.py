"""What a re-run means: written down and read again, and held still while answers come in."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from threading import Event
from zoneinfo import ZoneInfo

import pytest
from django.contrib.auth.models import User
from django.db import connections, transaction

from scoring import reruns, selectors, services
from scoring.models import Defense, Prediction, Run, RunItem
from scoring.rerun_scope import Kind, Scope, held_still, images_of, items_in_scope, kinds
from tests import factories
from tests.scoring import cast

NAME = "numpy-statistics"
TOKYO = datetime(2026, 11, 20, 10, 0, tzinfo=ZoneInfo("Asia/Tokyo"))
WIDE = (factories.NOW - timedelta(days=99), factories.NOW + timedelta(days=99))
RECORDS = [
    (Scope("All answers."), "nothing narrows it"),
    (Scope("x", received=(TOKYO, TOKYO + timedelta(days=7))), "a week in the contest's zone"),
    (Scope("x", answered=(TOKYO, TOKYO + timedelta(microseconds=1))), "to the microsecond"),
    (Scope("x", device="NVIDIA <1>"), "a device"),
    (Scope("x", run=7), "a run"),
    (Scope("x", newest=0, unfinished=(3, 4)), "held still"),
]


@pytest.mark.parametrize(("scope", "why"), RECORDS, ids=[row[1] for row in RECORDS])
def test_a_scope_is_read_as_it_was_written(scope: Scope, why: str) -> None:
    assert Scope.from_record(json.loads(json.dumps(scope.to_record()))) == scope, why


def answered(now: datetime, count: int = 3) -> Defense:
    (defense,) = cast.publish(now, NAME)
    cast.valid_pictures(count)
    cast.plan(now)
    cast.work_all(now)
    return defense


def asked(defense: Defense, scope: Scope) -> set[int]:
    return set(items_in_scope(defense, scope).values_list("pk", flat=True))


DRIFTING = [
    (lambda _: Scope("x"), "all"),
    (lambda _: Scope("x", received=WIDE), "pictures of a span"),
    (lambda now: Scope("x", answered=(now, now + timedelta(days=9))), "answers of a span that is not over"),
    (lambda _: Scope("x", device=Prediction.objects.values_list("device", flat=True)[0]), "a device that goes on"),
]


@pytest.mark.django_db
@pytest.mark.parametrize(("scope", "why"), DRIFTING, ids=[row[1] for row in DRIFTING])
def test_what_is_answered_later_is_not_meant(scope: object, why: str, now: datetime) -> None:
    defense = answered(now)
    meant: Scope = scope(now)  # type: ignore[operator]
    still = held_still(defense, meant)
    before = asked(defense, still)
    cast.valid_pictures(2, seed=8)
    cast.plan(now)
    cast.work_all(now)
    assert (len(before), len(asked(defense, meant))) == (9, 15), why
    assert asked(defense, still) == before, why


@pytest.mark.django_db
def test_kinds_part_rounds_and_sizes(now: datetime) -> None:
    defense = answered(now)
    cast.valid_pictures(1, seed=8, size=100)
    cast.plan(now)
    cast.work_all(now)
    items = items_in_scope(defense, Scope("x"))
    assert kinds(items) == {
        Kind(number, 4, number == 3, width): {75: 3, 100: 1}[width] for number in (1, 2, 3) for width in (75, 100)
    }
    first, second, third = images_of(items, Kind(2, 4, False, 75), after=0)
    assert images_of(items, Kind(2, 4, False, 75), after=first) == [second, third]
    assert images_of(items, Kind(2, 4, False, 75), after=third) == []


@pytest.mark.postgres("several at once: SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_answers_with_lower_numbers_that_are_on_their_way_are_not_meant(olga: User, now: datetime) -> None:
    (defense,) = cast.publish(now, NAME)
    for count, seed in ((3, 7), (2, 8)):  # two runs in each round
        cast.valid_pictures(count, seed=seed)
        cast.plan(now)
    slow, written, go = services.run_claim(worker="slow", now=now), Event(), Event()
    assert slow is not None

    def finish_slowly() -> None:
        try:
            with transaction.atomic():
                services.run_finish(slow, _answers(slow, now), device="cpu", now=now)
                written.set()
                assert go.wait(timeout=30)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        finishing = pool.submit(finish_slowly)
        assert written.wait(timeout=30)
        cast.work_all(now)
        rerun = reruns.rerun_start(defense=defense, scope=Scope("x"), reason="why", by=olga, now=now)
        go.set()
        finishing.result()
    late = Prediction.objects.filter(item__run=slow)
    assert late.count() == 3 and max(late.values_list("pk", flat=True)) < rerun.scope["newest"]
    assert sum(answers for *_, answers in rerun.kinds) == 12
    cast.prepare(now)
    asked_again = set(RunItem.objects.filter(rerun=rerun).values_list("image", "round"))
    assert len(asked_again) == 12
    assert asked_again.isdisjoint(late.values_list("image", "round"))


def _answers(run: Run, now: datetime) -> list[services.Answered]:
    return [
        services.Answered(item.pk, item.image_id, 1, 0.5, 0.5, item.pixels_sha256, 0, row, 1, now)
        for row, item in enumerate(selectors.run_items(run))
    ]
