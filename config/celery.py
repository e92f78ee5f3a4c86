"""The Celery application and the whole beat schedule."""

import os

from celery import Celery
from django_structlog.celery.steps import DjangoStructLogInitStep

from common.queues import route

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("unanimous")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.steps["worker"].add(DjangoStructLogInitStep)
app.autodiscover_tasks()
app.conf.update(
    task_default_queue="quick",
    task_routes=(route,),
    task_ignore_result=True,
    worker_prefetch_multiplier=1,
    broker_connection_retry_on_startup=True,
    broker_transport_options={
        "visibility_timeout": 3600,
        "socket_timeout": 5,
        "socket_connect_timeout": 2,
        "max_retries": 1,
    },
    worker_hijack_root_logger=False,
)
app.conf.beat_schedule = {
    "leases": {"task": "labeling.tasks.lapse_leases", "schedule": 5.0},
    "panels": {"task": "labeling.tasks.deal_panels", "schedule": 2.0},
    "rulings": {"task": "adjudication.tasks.settle_panels", "schedule": 1.0},
    "runs": {"task": "scoring.tasks.plan_runs", "schedule": 5.0},
    "lost runs": {"task": "scoring.tasks.reclaim_runs", "schedule": 15.0},
    "scoring": {"task": "scoring.tasks.work_runs", "schedule": 15.0},
    "breaks": {"task": "contest.tasks.record_breaks", "schedule": 5.0},
    "releases": {"task": "contest.tasks.release_due_weeks", "schedule": 60.0},
}
