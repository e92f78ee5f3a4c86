"""The readiness probe: whether this process reaches what it needs."""

import socket
from collections.abc import Callable
from urllib.parse import urlparse

import structlog
from django.conf import settings
from django.db import connection

from common import clock
from common.database.pending_migrations import migrations_missing
from common.outages import outages
from labeling.models import Image
from picture_files.store import picture_key, picture_store

logger = structlog.get_logger(__name__)
BROKER_SECONDS = 2
# A key without a file: looking it up reaches a store that has no pictures yet.
_NO_PICTURE = "0" * 64


def readiness() -> dict[str, str]:
    """Return each check by name: `ok`, `not used`, or what is wrong."""
    checks = {
        "database": _database,
        "clock": _clock,
        "migrations": _migrations,
        "picture_store": _picture_store,
        "broker": _broker,
    }
    return {name: _result(name, check) for name, check in checks.items()}


def is_ready(results: dict[str, str]) -> bool:
    """Say whether no check of `readiness` failed."""
    return all(result in ("ok", "not used") for result in results.values())


def _result(name: str, check: Callable[[], str]) -> str:
    """Return what a check says. Why it failed goes to the log: an error's text may name hosts and accounts."""
    try:
        said = check()
    except Exception as error:  # any error means that this check failed
        if not outages.failed(f"check of {name}", error):
            logger.exception("not_ready", check=name)
        return "failed"
    outages.succeeded(f"check of {name}")
    return said


def _database() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return "ok"


def _clock() -> str:
    """Weeks and leases depend on the clock of the machine that records a time, so all clocks must agree."""
    apart = clock.clock_difference()
    return clock.clock_difference_words(apart) if clock.is_apart(apart) else "ok"


def _migrations() -> str:
    missing = migrations_missing()
    return f"{missing} not applied: run ./unanimous migrate" if missing else "ok"


def _picture_store() -> str:
    """Look for the newest picture: an empty store that answers, such as an unmounted disk, is not the right store."""
    newest = Image.objects.order_by("-pk").values_list("pixels_sha256", flat=True).first()
    found = picture_store().exists(picture_key(newest or _NO_PICTURE))
    return "ok" if found or newest is None else "the newest picture is missing"


def _broker() -> str:
    """Connect to the broker's port; the workers check the rest."""
    if not settings.CELERY_BROKER_URL:
        return "not used"
    address = urlparse(settings.CELERY_BROKER_URL)
    with socket.create_connection((address.hostname or "localhost", address.port or 6379), timeout=BROKER_SECONDS):
        return "ok"
