"""The Celery application; its beat runs the sweeps (periodic jobs) of contest.operations.pipeline."""

import os
from typing import Any

from celery import Celery
from celery.signals import setup_logging
from django_structlog.celery.steps import DjangoStructLogInitStep

from common.queues import route

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

# Every period's message would wait through an outage otherwise. Not less than a minute: hosts' clocks differ.
MIN_EXPIRY_SECONDS = 60.0

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


def schedule(sender: Celery, **_: Any) -> None:
    """Let the beat ask for every sweep."""
    from contest.operations.pipeline import SWEEPS

    for each in SWEEPS:
        sender.add_periodic_task(each.every, each.task.s(), name=each.name, expires=max(each.every, MIN_EXPIRY_SECONDS))


app.on_after_finalize.connect(schedule)
