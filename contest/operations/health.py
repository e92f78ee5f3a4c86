"""Whether this process can do its work, and what Prometheus is told."""

import hmac
import socket
from collections.abc import Callable, Iterable
from datetime import datetime
from ipaddress import ip_address
from urllib.parse import urlparse

import structlog
from django.conf import settings
from django.core.cache import cache
from django.db import connection
from django.http import HttpRequest, HttpResponse, HttpResponseForbidden, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from adjudication.enums import Verdict
from common import clock
from common.domain_clock import domain_now
from common.migrated import migrations_missing
from common.outages import outages
from contest.core.stuck_panels import stuck_groups
from contest.models import Digest, Message, ReleaseLetter
from contest.operations import stages
from contest.outbox.posting import failing, given_up
from labeling.enums import PanelState, StuckCause
from labeling.models import Image, Panel
from labeling.pictures.store import picture_key, picture_store
from scoring.enums import RunState

logger = structlog.get_logger(__name__)
BROKER_SECONDS = 2
_FRESH_SECONDS = 5
# Asking for it reaches a store that has no pictures yet.
_NO_PICTURE = "0" * 64


@require_safe
@never_cache
def readyz(request: HttpRequest) -> HttpResponse:
    """Answer 200 when everything this process needs can be reached, else 503; JSON with each check by name."""
    checks = {
        "database": _database,
        "clock": _clock,
        "migrations": _migrations,
        "picture_store": _picture_store,
        "broker": _broker,
    }
    results = {name: _result(name, check) for name, check in checks.items()}
    ready = all(result in ("ok", "not used") for result in results.values())
    body = {"status": "ready" if ready else "not ready", "checks": results}
    return JsonResponse(body, status=200 if ready else 503)


def _result(name: str, check: Callable[[], str]) -> str:
    """Return what a check says. Why it failed goes to the log: an error's text may name hosts and accounts."""
    try:
        said = check()
    except Exception as error:  # whatever it is, the answer is that this check failed
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
    """Weeks and leases hang on the clock of whoever notes a time, so that all machines need the same one."""
    apart = clock.apart()
    return clock.words(apart) if clock.is_apart(apart) else "ok"


def _migrations() -> str:
    missing = migrations_missing()
    return f"{missing} not applied: run ./unanimous migrate" if missing else "ok"


def _picture_store() -> str:
    """Look for the newest picture: a store that answers and is empty, an unmounted disk, is not the store."""
    newest = Image.objects.order_by("-pk").values_list("pixels_sha256", flat=True).first()
    found = picture_store().exists(picture_key(newest or _NO_PICTURE))
    return "ok" if found or newest is None else "the newest picture is missing"


def _broker() -> str:
    """Ask the broker's port for a connection; what it says then is the workers' business."""
    if not settings.CELERY_BROKER_URL:
        return "not used"
    address = urlparse(settings.CELERY_BROKER_URL)
    with socket.create_connection((address.hostname or "localhost", address.port or 6379), timeout=BROKER_SECONDS):
        return "ok"


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """Answer Prometheus's text: to who sends METRICS_TOKEN, or, where none is set, to this machine alone."""
    if not _may_read_metrics(request):
        return HttpResponseForbidden(
            "Send the METRICS_TOKEN as a Bearer token. Without one set, only this machine is answered.\n",
            content_type="text/plain",
        )
    pipeline = CollectorRegistry()
    pipeline.register(PipelineCollector())
    # The second half is about the one process that answers; the first about the database, whoever answers.
    return HttpResponse(generate_latest(pipeline) + generate_latest(REGISTRY), content_type=CONTENT_TYPE_LATEST)


def _may_read_metrics(request: HttpRequest) -> bool:
    if settings.METRICS_TOKEN:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        return scheme == "Bearer" and hmac.compare_digest(token.encode(), settings.METRICS_TOKEN.encode())
    # A request that a proxy passed on comes from the proxy's address, which may be this machine's.
    forwarded = "X-Forwarded-For" in request.headers or "Forwarded" in request.headers
    return not forwarded and _is_loopback(request.META.get("REMOTE_ADDR", ""))


def _is_loopback(address: str) -> bool:
    # A server on a UNIX socket knows no address; who may open the socket is decided by the file system.
    return address == "" or ip_address(address).is_loopback


class PipelineCollector(Collector):
    """The state of the pipeline, read from the database when asked and remembered for a few seconds."""

    def collect(self) -> Iterable[Metric]:
        """Return the gauges."""
        found: list[Metric] | None = cache.get("pipeline-metrics")
        if found is None:
            found = pipeline_metrics(now=domain_now())
            cache.set("pipeline-metrics", found, _FRESH_SECONDS)
        return found


def pipeline_metrics(*, now: datetime) -> list[Metric]:
    """Return the gauges of the pipeline at `now`; ages are seconds, 0 where nothing waits."""
    return [*_images(now), *_panels(now), _stuck_panels(now), _leases(now), *_runs(now), _rulings(), _letters()]


def _images(now: datetime) -> list[Metric]:
    waiting = stages.waiting_for_panel(now)
    return [
        _gauge("unanimous_images_waiting", "Pictures that are due and have no panel.", waiting.count),
        _gauge(
            "unanimous_images_waiting_oldest_seconds",
            "How long the oldest picture has waited for a panel.",
            _age(waiting.oldest, now),
        ),
    ]


def _stuck_panels(now: datetime) -> Metric:
    found = dict.fromkeys((cause.value for cause in StuckCause), 0)
    found |= {group.cause.value: len(group.panels) for group in stuck_groups(now=now)}
    words = "Panels that nobody left may finish, by cause, counted up to some hundreds."
    return _by_state("unanimous_panels_stuck", words, found, label="cause")


def _panels(now: datetime) -> list[Metric]:
    opened, full = stages.open_panels(), stages.full_panels()
    settled = Panel.objects.filter(state=PanelState.SETTLED).count()
    counts = {"open": sum(stage.count for stage in opened.values()), "full": full.count, "settled": settled}
    oldest = min((stage.oldest for stage in opened.values() if stage.oldest), default=None)
    ages = {"open": _age(oldest, now), "full": _age(full.oldest, now)}
    return [
        _by_state("unanimous_panels", "Panels by state.", counts),
        _by_state("unanimous_panels_oldest_seconds", "How long the oldest panel has been in its state.", ages),
    ]


def _leases(now: datetime) -> Metric:
    live, overdue = stages.leases(now)
    return _by_state("unanimous_leases", "Pictures held by taskers.", {"live": live, "overdue": overdue})


def _runs(now: datetime) -> list[Metric]:
    counts = {state.value: 0 for state in RunState}
    oldest: dict[str, datetime] = {}
    for group in stages.run_groups():
        counts[group.state] += group.runs
        oldest[group.state] = min(group.oldest, oldest.get(group.state, now))
    waiting = (RunState.QUEUED, RunState.RUNNING, RunState.FINISHED)
    ages = {state.value: _age(oldest.get(state), now) for state in waiting}
    return [
        _by_state("unanimous_runs", "Scoring runs by state.", counts),
        _by_state("unanimous_runs_oldest_seconds", "Age of the oldest run in its state.", ages),
    ]


def _rulings() -> Metric:
    standing = stages.rulings()
    counts = {verdict.value: standing.of(verdict) for verdict in Verdict}
    return _by_state("unanimous_rulings", "Pictures by the verdict that holds.", counts, label="verdict")


def _letters() -> Metric:
    kinds = (Message.objects.all(), Digest.objects.all(), ReleaseLetter.objects.all())
    failed, lost = (sum(of(rows).count() for rows in kinds) for of in (failing, given_up))
    counts = {"due_again": failed - lost, "given_up": lost}
    return _by_state("unanimous_letters_not_sent", "Letters that could not be sent.", counts)


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, text, value=value)


def _by_state(name: str, text: str, values: dict[str, float] | dict[str, int], label: str = "state") -> Metric:
    gauge = GaugeMetricFamily(name, text, labels=[label])
    for state, value in values.items():
        gauge.add_metric([state], value)
    return gauge


def _age(since: datetime | None, now: datetime) -> float:
    return max((now - since).total_seconds(), 0.0) if since else 0.0
