"""The Celery application and the whole beat schedule."""

import os
from typing import Any

from celery import Celery
from celery.signals import setup_logging
from django_structlog.celery.steps import DjangoStructLogInitStep

from common.queues import route

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

# Every period's message would wait through an outage otherwise. Not less than a minute: hosts' clocks differ.
SHORTEST_EXPIRY = 60.0

app = Celery("unanimous")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.steps["worker"].add(DjangoStructLogInitStep)
app.autodiscover_tasks()
app.autodiscover_tasks(["contest.operations"])
app.conf.update(
    task_default_queue="quick",
    task_routes=(route,),
    task_ignore_result=True,
    worker_prefetch_multiplier=1,
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,  # for ever: a worker outlives an outage of any length
    broker_transport_options={
        "visibility_timeout": 3600,
        "socket_timeout": 5,
        "socket_connect_timeout": 2,
        "max_retries": 1,
        "interval_start": 0,
    },
)


def keep_our_logs(**_: Any) -> None:
    """Leave logging as the settings made it: Celery's own handlers would write lines without the mask."""


setup_logging.connect(keep_our_logs)


def _every(seconds: float, task: str) -> dict[str, Any]:
    return {"task": task, "schedule": seconds, "options": {"expires": max(seconds, SHORTEST_EXPIRY)}}


app.conf.beat_schedule = {
    "leases": _every(5.0, "labeling.tasks.lapse_leases"),
    "panels": _every(2.0, "labeling.tasks.deal_panels"),
    "rulings": _every(1.0, "adjudication.tasks.settle_panels"),
    "runs": _every(5.0, "scoring.tasks.plan_runs"),
    "lost runs": _every(15.0, "scoring.tasks.reclaim_runs"),
    "re-runs": _every(5.0, "scoring.tasks.prepare_reruns"),
    "trials": _every(5.0, "scoring.tasks.plan_trials"),
    "lost trials": _every(15.0, "scoring.tasks.reclaim_trials"),
    "copied defenses": _every(600.0, "scoring.tasks.look_for_copied_defenses"),
    "scoring": _every(15.0, "scoring.tasks.work_runs"),
    "breaks": _every(5.0, "contest.operations.tasks.record_breaks"),
    "stakes": _every(5.0, "contest.operations.tasks.end_stakes"),
    "prizes": _every(30.0, "contest.operations.tasks.settle_prizes"),
    "check of the ledger": _every(600.0, "contest.operations.tasks.check_ledger"),
    "cases": _every(15.0, "contest.operations.tasks.tend_cases"),
    "conflicts": _every(300.0, "contest.operations.tasks.find_conflicts"),
    "publication of defenses": _every(30.0, "contest.operations.tasks.publish_defenses"),
    "messages": _every(300.0, "contest.operations.tasks.tell_messages"),
    "letters": _every(15.0, "contest.operations.tasks.send_letters"),
    "releases": _every(60.0, "contest.operations.tasks.release_due_weeks"),
    "leaderboards": _every(60.0, "contest.operations.tasks.make_leaderboards"),
    "check of the leaderboards": _every(600.0, "contest.operations.tasks.check_leaderboards"),
    "monitoring": _every(5.0, "monitoring.tasks.watch_taskers"),
    "near duplicates": _every(60.0, "contest.operations.tasks.look_for_near_duplicates"),
    "copies": _every(600.0, "monitoring.tasks.look_for_copies"),
    "same persons": _every(3600.0, "contest.operations.tasks.look_for_same_persons"),
    "audit trail": _every(5.0, "common.tasks.seal_audit_trail"),
    "check of the audit trail": _every(600.0, "common.tasks.check_audit_trail"),
    "credentials": _every(3600.0, "accounts.tasks.purge_credentials"),
}
