"""Whether background work goes on: noted by whoever runs a sweep, and read by organizers and by Prometheus."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
import structlog
from django.db import InterfaceError, OperationalError
from django.utils import timezone

from common import sweep_runs
from common.models import SweepRun
from common.outages import OutageLog
from common.queues import Sweep, sweep
from common.sweep_runs import SweepLog, seconds_since_sweeps
from contest.operations.metrics import pipeline_metrics
from contest.operations.overview import read_overview
from contest.operations.pipeline import SWEEPS
from contest.operations.sweep_health import SweepHealth, SweepState, sweep_health, sweeps_in_trouble
from tests.contest.operations.sweeps import sweeps_ran

pytestmark = pytest.mark.django_db
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


@pytest.fixture(autouse=True)
def log(monkeypatch: pytest.MonkeyPatch) -> Iterator[SweepLog]:
    """A process that has noted nothing."""
    monkeypatch.setattr(sweep_runs, "sweep_log", SweepLog())
    yield sweep_runs.sweep_log


def probe(result: int | Exception) -> Sweep:
    @sweep("probe", every=1.0)
    def run() -> int:
        """Do what the test says."""
        if isinstance(result, Exception):
            raise result
        return result

    return run


def test_every_sweep_says_what_it_does() -> None:
    assert [each.name for each in SWEEPS if not each.words.endswith((".", ")"))] == []
    assert len({each.name for each in SWEEPS}) == len(SWEEPS)
    longest = SweepRun._meta.get_field("name").max_length
    assert longest is not None and max(len(each.name) for each in SWEEPS) <= longest, "SQLite takes longer ones"


def test_a_run_is_noted_by_worker_and_task() -> None:
    assert probe(3).run() == 3
    first = SweepRun.objects.get()
    assert (first.name, first.failing_since) == ("probe", None)
    SweepRun.objects.all().delete()
    sweep_runs.sweep_log.__init__()  # type: ignore[misc]
    probe(0).task.apply(throw=True)
    assert SweepRun.objects.get().name == "probe"


def test_while_nothing_changes_a_process_writes_every_five_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each commit wakes the workers of other processes."""
    seconds = [1000.0]
    monkeypatch.setattr("common.sweep_runs.time.monotonic", lambda: seconds[0])
    quiet = probe(0)
    quiet.run()
    SweepRun.objects.all().delete()
    seconds[0] += sweep_runs.SECONDS_BETWEEN_NOTES - 1
    quiet.run()
    assert not SweepRun.objects.exists()
    seconds[0] += 1
    quiet.run()
    assert SweepRun.objects.exists()


def test_a_failure_is_noted_at_once_and_its_end_too() -> None:
    probe(0).run()
    with pytest.raises(ValueError, match="broken"):
        probe(ValueError("broken")).run()
    began = SweepRun.objects.get().failing_since
    with pytest.raises(ValueError, match="again"), SweepLog().running("probe"):
        raise ValueError("again")
    assert began is not None and SweepRun.objects.get().failing_since == began, "another process keeps since when"
    probe(0).run()
    assert seconds_since_sweeps()["probe"].failing is None


@pytest.mark.parametrize("error", [OperationalError("the server closed the connection"), InterfaceError("closed")])
def test_a_database_that_is_away_takes_nothing_from_the_sweep(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object, **__: object) -> None:
        raise error

    outages = OutageLog()
    monkeypatch.setattr(sweep_runs, "outages", outages)
    monkeypatch.setattr(sweep_runs, "_write", away)
    with structlog.testing.capture_logs() as logged:
        assert probe(2).run() == 2
    assert [(line["event"], line["work"]) for line in logged] == [("outage", "noting sweeps")]


# What an organizer reads ----------------------------------------------------------------------------------------------

BUT_ONE = tuple(each.name for each in SWEEPS if each.name != "letters sent")
SLOW = tuple(each.name for each in SWEEPS if each.queue == "slow")
NOT_SLOW = tuple(each.name for each in SWEEPS if each.queue != "slow")
HOURLY = next(each for each in SWEEPS if each.every == 3600.0).name
ROWS = [
    ("nothing ever ran", [], ["no sweep runs: start a worker with ./unanimous work"]),
    ("all on time", [{}], []),
    ("all stopped", [{"ago": 10 * HOUR}], ["no sweep runs: start a worker with ./unanimous work"]),
    ("within a quarter of an hour", [{"ago": 14 * MINUTE}], []),
    ("one queue has no worker", [{"but": SLOW}, {"but": NOT_SLOW, "ago": 10 * HOUR}],
     ["no sweep of the queue slow runs: start a worker with ./unanimous work --queue slow"]),
    ("one is late", [{"but": ("letters sent",)}, {"but": BUT_ONE, "ago": 70 * MINUTE}],
     ["late in the background: letters sent"]),
    ("one fails", [{"but": ("letters sent",)}, {"but": BUT_ONE, "failing": 3 * MINUTE}],
     ["failing in the background: letters sent"]),
    ("one never ran", [{"but": ("letters sent",)}], ["late in the background: letters sent"]),
    ("one is new", [{"but": ("letters sent",), "begun": 59 * MINUTE}], []),
]  # fmt: skip


@pytest.mark.parametrize(("name", "runs", "told"), ROWS, ids=[row[0] for row in ROWS])
def test_what_is_told(name: str, runs: list[dict[str, object]], told: list[str], now: datetime) -> None:
    for each in runs:
        sweeps_ran(**each)  # type: ignore[arg-type]
    assert [each.words for each in sweeps_in_trouble(sweep_health(now=now))] == told


def test_with_a_broker_the_beat_is_named(settings: Any, now: datetime) -> None:
    settings.CELERY_BROKER_URL = "redis://localhost"
    assert [each.words for each in sweeps_in_trouble(sweep_health(now=now))] == [
        "no sweep runs: look at the beat, and at the workers"
    ]


def test_an_hourly_sweep_is_late_after_three_hours(now: datetime) -> None:
    def state() -> SweepState:
        return {each.name: each for each in sweep_health(now=now)}[HOURLY].state

    sweeps_ran(ago=179 * MINUTE)
    assert state() == SweepState.ON_TIME
    SweepRun.objects.update(ran_at=timezone.now() - 181 * MINUTE)
    assert state() == SweepState.LATE


def test_ages_are_shown_on_the_contest_s_clock(now: datetime) -> None:
    """The demo's clock may be weeks ahead of the machine's."""
    sweeps_ran(ago=2 * MINUTE, failing=5 * MINUTE)
    shown: SweepHealth = sweep_health(now=now + timedelta(days=30))[0]
    assert shown.ran_at is not None and shown.failing_since is not None
    assert round((now + timedelta(days=30) - shown.ran_at) / MINUTE) == 2
    assert round((now + timedelta(days=30) - shown.failing_since) / MINUTE) == 5


def test_overview_and_metrics_count_them(now: datetime) -> None:
    sweeps_ran(failing=2 * MINUTE)
    page = read_overview(now=now)
    assert page["sweeps_wrong"] == len(SWEEPS) and "failing in the background" in page["waits"][0].words
    found = {metric.name: metric.samples for metric in pipeline_metrics(now=now)}
    for name in ("unanimous_sweeps_late", "unanimous_sweeps_failing_seconds"):
        assert {sample.labels["sweep"] for sample in found[name]} == {each.name for each in SWEEPS}
    assert all(100 < sample.value < 200 for sample in found["unanimous_sweeps_failing_seconds"])
