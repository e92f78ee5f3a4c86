"""The worker, `settle`, and the health of the site: what waits, for whom, and what Prometheus is told."""

import json
import os
import signal
import socket
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from adjudication.models import Ruling
from common.errors import Conflict
from common.queues import sweep
from contest.management.commands import work
from contest.management.commands.work import MAX_SECONDS_BETWEEN_ROUNDS, SweepRounds
from contest.operations import pipeline
from contest.operations.metrics import pipeline_metrics
from labeling.models import Assignment, Tasker
from picture_files.store import picture_key, picture_store
from scoring import services as scoring
from scoring.enums import TrialKind
from scoring.models import Defense, Run
from scoring.trials import services as trials
from tests import factories
from tests.at_once import at_once
from tests.contest.operations.sweeps import sweeps_ran
from tests.scoring import cast as scoring_cast
from tests.scoring.trials import cast

pytestmark = pytest.mark.django_db


def _is_quiet(rounds: SweepRounds) -> bool:
    """Whether no round is due. PostgreSQL's mark also changes with commits of tests beside this one, which use another
    database of the same server: not between each two of a hundred looks."""
    return any(not rounds.is_due() for _ in range(100))


def _write_elsewhere() -> None:
    at_once(lambda: Group.objects.create(name=str(uuid4())))


@pytest.mark.django_db(transaction=True)
@pytest.mark.both("commits are heard of by a mark in the database")
def test_sweeps_run_after_changes_work_failures_and_fifteen_seconds() -> None:
    seconds = [0.0]
    rounds = SweepRounds(lambda: seconds[0])
    assert rounds.is_due(), "the first round, whatever happened before"
    rounds.ended(again=False)
    assert _is_quiet(rounds), "nothing was written"

    _write_elsewhere()
    assert rounds.is_due(), "somebody wrote"
    _write_elsewhere()
    rounds.ended(again=False)
    assert rounds.is_due(), "somebody wrote during the round"
    rounds.ended(again=True)
    assert rounds.is_due(), "the round itself did something or failed: there may be more"
    rounds.ended(again=False)
    assert _is_quiet(rounds), "that round found nothing"

    seconds[0] += MAX_SECONDS_BETWEEN_ROUNDS
    assert rounds.is_due(), "leases and weeks end without anybody writing"


@pytest.mark.django_db(transaction=True)
def test_the_worker_notices_what_others_commit_from_one_round_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite counts the commits that a connection sees: a worker that reconnects each time would wait for the clock."""
    begun: list[float] = []

    @sweep("probe", every=1.0)
    def probe() -> int:
        begun.append(time.monotonic())
        if len(begun) == 1:
            _write_elsewhere()
        else:
            os.kill(os.getpid(), signal.SIGTERM)
        return 0

    monkeypatch.setattr(work, "SWEEPS", [probe])
    before = [(number, signal.getsignal(number)) for number in (signal.SIGTERM, signal.SIGINT)]
    try:
        call_command("work", queue=["quick"])
    finally:
        for number, handler in before:
            signal.signal(number, handler)
    first, second = begun
    assert second - first < MAX_SECONDS_BETWEEN_ROUNDS / 3


# `settle` by hand says what it cannot do ------------------------------------------------------------------------------


def test_what_another_scorer_holds_is_said_with_its_end(now: datetime) -> None:
    assert pipeline.is_locked_elsewhere(now=now) == ""
    scoring_cast.publish(now, "always-abstain")
    scoring_cast.valid_pictures(1)
    scoring_cast.plan(now)
    assert pipeline.is_locked_elsewhere(now=now) == "", "what waits is held by nobody"
    run = scoring.run_claim(worker="other", now=now)
    assert run is not None and (until := run.lease_until) is not None
    said = pipeline.is_locked_elsewhere(now=now)
    assert said.startswith(f"1 run held by another scorer until {until:%a} {until.day}")
    assert f"{until:%H:%M:%S} UTC at the latest" in said and "settle again then" in said
    cast.ask(cast.container(), TrialKind.SMOKE, now)
    assert trials.trial_claim(worker="other", now=now) is not None
    assert pipeline.is_locked_elsewhere(now=now).startswith("1 run and 1 trial held by another scorer")
    assert pipeline.is_locked_elsewhere(now=until + timedelta(days=1)) == "", "silence is no lease"


def _unapplied() -> None:
    ((app, newest),) = MigrationLoader(connection).graph.leaf_nodes("record")
    MigrationRecorder(connection).record_unapplied(app, newest)


NOT_MIGRATED: list[tuple[Callable[[], object], tuple[str, ...], str, type[Exception]]] = [
    (_unapplied, ("settle",), "1 migration", Conflict),
    (_unapplied, ("rebuild_from_releases", "/nowhere"), "1 migration", CommandError),
    (lambda: MigrationRecorder(connection).migration_qs.all().delete(), ("settle",), r"\d+ migrations", Conflict),
]


@pytest.mark.parametrize(("change", "command", "missing", "error"), NOT_MIGRATED, ids=["settle", "rebuild", "no table"])
def test_a_database_that_is_not_migrated_is_one_sentence(
    change: Callable[[], object], command: tuple[str, ...], missing: str, error: type[Exception]
) -> None:
    change()
    with pytest.raises(error, match=rf"^The database misses {missing}\. Run \./unanimous migrate first\.$"):
        call_command(*command)


# Alive, ready, and what Prometheus is told ----------------------------------------------------------------------------


def ready(client: Client) -> tuple[int, dict[str, str]]:
    answer = client.get("/readyz")
    return answer.status_code, json.loads(answer.content)["checks"]


def test_it_is_alive_without_asking_anybody(client: Client, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        assert client.get("/healthz").json() == {"status": "ok"}


def test_it_is_ready_when_everything_can_be_reached(client: Client) -> None:
    assert ready(client)[0] == 200, "before the first picture"
    image = factories.image()
    # The row is there, and its file is not: an unmounted disk looks like this.
    status, checks = ready(client)
    assert (status, checks["picture_store"]) == (503, "the newest picture is missing")
    picture_store().put(picture_key(image.pixels_sha256), b"a picture")
    names = ("database", "clock", "migrations", "picture_store")
    assert ready(client) == (200, {**dict.fromkeys(names, "ok"), "broker": "not used"})


def test_it_is_not_ready_when_the_store_fails(client: Client, settings: Any) -> None:
    factories.image()
    settings.IMAGE_STORE_URL = "s3://bucket/prefix"
    settings.S3_ENDPOINT_URL = "http://127.0.0.1:9"
    status, checks = ready(client)
    assert (status, checks["picture_store"]) == (503, "failed")


def test_it_is_not_ready_before_the_migrations(client: Client) -> None:
    _unapplied()
    status, checks = ready(client)
    assert (status, checks["migrations"]) == (503, "1 not applied: run ./unanimous migrate")


def test_the_broker_is_asked_when_there_is_one(client: Client, settings: Any) -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        settings.CELERY_BROKER_URL = f"redis://127.0.0.1:{listening.getsockname()[1]}/0"
        assert ready(client)[1]["broker"] == "ok"
    status, checks = ready(client)
    assert (status, checks["broker"]) == (503, "failed")


def test_metrics_without_a_token_are_for_this_machine_alone(client: Client) -> None:
    # A proxy on this machine passes on what strangers ask.
    asked: list[dict[str, Any]] = [
        {}, {"REMOTE_ADDR": "::1"}, {"REMOTE_ADDR": "192.0.2.7"}, {"headers": {"X-Forwarded-For": "192.0.2.7"}},
    ]  # fmt: skip
    assert [client.get("/metrics", **each).status_code for each in asked] == [200, 200, 403, 403]


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ("Bearer right", 200),
        ("Bearer wrong", 403),
        ("Token right", 403),
        ("Bearer ", 403),
        ("", 403),
        ("Bearer é", 403),
    ],
)
def test_metrics_with_a_token_are_for_who_sends_it(header: str, status: int, client: Client, settings: Any) -> None:
    settings.METRICS_TOKEN = "right"
    headers = {"Authorization": header} if header else {}
    assert client.get("/metrics", headers=headers, REMOTE_ADDR="192.0.2.7").status_code == status


@pytest.mark.both("it counts with statements of its own")
def test_what_waits_and_since_when(tara: Tasker, otto: Tasker, uma: Tasker, now: datetime) -> None:
    sweeps_ran()
    factories.image(label_from=now - timedelta(minutes=5))
    factories.image(label_from=now + timedelta(hours=1))  # not due yet
    waiting = factories.panel(dealt_at=now - timedelta(minutes=3))
    full = factories.panel(dealt_at=now - timedelta(hours=2))
    for tasker in (tara, otto, uma):
        factories.response(tasker, full, now=now - timedelta(minutes=2))
    settled = factories.settle(factories.panel())
    Ruling.objects.create(
        image=settled.image,
        number=1,
        panel=settled,
        verdict="rejected",
        reasons=["uncertain"],
        response_ids=[],
        policy=factories.policy_version(),
        decided_at=now,
        decided_by="rules",
    )
    for tasker, minutes in ((tara, 10), (otto, -1)):
        held = factories.assignment(tasker, waiting, state="leased")
        Assignment.objects.filter(pk=held.pk).update(expires_at=now + timedelta(minutes=minutes))
    defense = Defense.objects.create(name="d", digest="x", created_at=now, published_at=now)
    Run.objects.create(defense=defense, round=1, seed=1, batch_size=16, created_at=now - timedelta(seconds=90))
    found = {
        (sample.name, *sample.labels.values()): sample.value
        for metric in pipeline_metrics(now=now)
        for sample in metric.samples
    }
    assert {key: value for key, value in found.items() if value} == {
        ("unanimous_images_waiting",): 1,
        ("unanimous_images_waiting_oldest_seconds",): 300,
        ("unanimous_panels", "open"): 1,
        ("unanimous_panels", "full"): 1,
        ("unanimous_panels", "settled"): 1,
        ("unanimous_panels_oldest_seconds", "open"): 180,
        ("unanimous_panels_oldest_seconds", "full"): 120,
        ("unanimous_leases", "live"): 1,
        ("unanimous_leases", "overdue"): 1,
        ("unanimous_runs", "queued"): 1,
        ("unanimous_runs_oldest_seconds", "queued"): 90,
        ("unanimous_rulings", "rejected"): 1,
    }


def test_metrics_are_prometheus_text_and_two_scrapes_ask_the_database_once(
    client: Client, django_assert_num_queries: Any
) -> None:
    names = {family.name for family in text_string_to_metric_families(client.get("/metrics").content.decode())}
    assert {"unanimous_panels", "unanimous_runs", "process_resident_memory_bytes"} <= names
    with django_assert_num_queries(0):
        client.get("/metrics")
