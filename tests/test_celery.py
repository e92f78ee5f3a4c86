"""The multi-process form: a real Celery worker on a real Redis."""

import json
import os
import sys
import time
from pathlib import Path

import pytest

from tests.processes import Deployment, deployment, wait_for

pytestmark = [pytest.mark.postgres("tasks run as in a contest")]
PREPARE = """
from tests import factories
result = [factories.tasker(f"tasker-{n}").pk for n in range(3)], factories.panel().pk
"""
# A submit in a process of its own, as the web server does it: the hint goes out when the transaction commits.
SUBMIT = """
from random import Random
from django.utils import timezone
from labeling import services
from labeling.models import Tasker
from labeling.policy import Policy
now, policy = timezone.now(), Policy()
for tasker in Tasker.objects.all():
    held = services.assignment_next(tasker=tasker, holding=(), policy=policy, now=now, rng=Random(1))
    services.response_submit(
        tasker=tasker, assignment_id=held.public_id, lease_token=held.lease_token, policy_at=lambda moment: policy,
        now=timezone.now(), data={"contains_bird": "definitely_no", "contains_bicycle": "definitely_no"},
    )
result = str(timezone.now())
"""
RULING = """
from adjudication.models import Ruling
from labeling.models import Panel
result = [[str(r.decided_at), str(r.panel.full_at), r.reasons] for r in Ruling.objects.select_related("panel")]
"""


def start_worker(site: Deployment, *options: str) -> None:
    celery = [sys.executable, "-m", "celery", "-A", "config", "worker", "-l", "INFO", "-Q", "quick", "-c", "1"]
    site.start(*celery, *options, log="celery.log")
    wait_for(lambda: b"ready." in (site.folder / "celery.log").read_bytes(), "the Celery worker")


@pytest.fixture
def broker() -> str:
    if not os.environ.get("TEST_REDIS_URL"):
        pytest.skip("needs a Redis server: TEST_REDIS_URL=redis://127.0.0.1:6379/0")
    # A number of its own for each worker of the test run, so that two of them do not take each other's tasks.
    base = os.environ["TEST_REDIS_URL"].rsplit("/", 1)[0]
    return f"{base}/{int(os.environ.get('PYTEST_XDIST_WORKER', 'gw0')[2:]) + 1}"


def test_a_ruling_is_there_within_two_seconds_of_the_last_answer(tmp_path: Path, broker: str) -> None:
    with deployment(tmp_path) as site:
        site.environment["CELERY_BROKER_URL"] = broker
        site.run(PREPARE)
        start_worker(site)  # no beat: only the hint can have woken it
        site.run(SUBMIT)
        [[decided_at, full_at, reasons]] = wait_for(lambda: site.run(RULING), "the ruling", 10)
        from datetime import datetime

        assert (datetime.fromisoformat(decided_at) - datetime.fromisoformat(full_at)).total_seconds() < 2
        assert reasons == ["neither_class"]
        _task_ids_are_logged(site)


@pytest.mark.long("a broker goes away and comes back")
def test_submitting_works_while_the_broker_is_away_and_a_lost_hint_costs_one_sweep(tmp_path: Path, broker: str) -> None:
    with deployment(tmp_path) as site:
        site.run(PREPARE)
        site.environment["CELERY_BROKER_URL"] = "redis://127.0.0.1:9/0"
        site.run(SUBMIT)
        assert site.run(RULING) == []
        site.environment["CELERY_BROKER_URL"] = broker
        start_worker(site, "-B", "-s", str(tmp_path / "beat"))
        started = time.monotonic()
        wait_for(lambda: site.run(RULING), "the ruling", 20)
        assert time.monotonic() - started < 15


def _task_ids_are_logged(site: Deployment) -> None:
    lines = [line for line in (site.folder / "celery.log").read_text().splitlines() if line.startswith("{")]
    assert any(record.get("task_id") for record in [json.loads(line) for line in lines]), lines[-5:]
