"""Metrics for Prometheus."""

from collections.abc import Iterable
from datetime import datetime

from prometheus_client import REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from adjudication.enums import Verdict
from common.domain_clock import domain_now
from common.remembered import remembered
from contest.core.stuck_panels import stuck_groups
from contest.operations import stages
from contest.operations.sweep_health import SweepState, sweep_health
from contest.outbox.models import Digest, Message
from contest.outbox.posting import failing_letters, given_up_letters, lost_letters
from contest.releases.models import ReleaseLetter
from labeling.enums import PanelState, StuckCause
from labeling.models import Panel
from scoring.enums import RunState

_FRESH_SECONDS = 5


def prometheus_text() -> bytes:
    """Return the gauges in Prometheus's text format.

    The first half describes the database, the same from every process; the second only the process that answers.
    """
    pipeline = CollectorRegistry()
    pipeline.register(PipelineCollector())
    return generate_latest(pipeline) + generate_latest(REGISTRY)


class PipelineCollector(Collector):
    """The state of the pipeline, read from the database when scraped, and cached for a few seconds."""

    def collect(self) -> Iterable[Metric]:
        """Return the gauges."""
        return remembered("pipeline-metrics", _FRESH_SECONDS, lambda: pipeline_metrics(now=domain_now()))


def pipeline_metrics(*, now: datetime) -> list[Metric]:
    """Return the gauges of the pipeline at `now`; ages are seconds, 0 where nothing waits."""
    return [
        *_images(now),
        *_panels(now),
        _stuck_panels(now),
        _leases(now),
        *_runs(now),
        _rulings(),
        _letters(now),
        *_sweeps(now),
    ]


def _images(now: datetime) -> list[Metric]:
    waiting = stages.waiting_for_panel(now)
    return [
        GaugeMetricFamily("unanimous_images_waiting", "Pictures that are due and have no panel.", value=waiting.count),
        GaugeMetricFamily(
            "unanimous_images_waiting_oldest_seconds",
            "How long the oldest picture has waited for a panel.",
            value=_age(waiting.oldest, now),
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


def _letters(now: datetime) -> Metric:
    kinds = (Message.objects.all(), Digest.objects.all(), ReleaseLetter.objects.all())
    failed, given_up = (sum(of(rows).count() for rows in kinds) for of in (failing_letters, given_up_letters))
    lost = sum(lost_letters(rows, now=now).count() for rows in kinds)
    counts = {"due_again": failed - given_up, "given_up": given_up, "lost_under_way": lost}
    return _by_state("unanimous_letters_not_sent", "Letters that could not be sent, or maybe not.", counts)


def _sweeps(now: datetime) -> list[Metric]:
    found = sweep_health(now=now)
    late = {each.name: int(each.state == SweepState.LATE) for each in found}
    failing = {each.name: _age(each.failing_since, now) for each in found}
    return [
        _by_state("unanimous_sweeps_late", "1 for a sweep that has not run for too long.", late, label="sweep"),
        _by_state("unanimous_sweeps_failing_seconds", "For how long a sweep has failed.", failing, label="sweep"),
    ]


def _by_state(name: str, text: str, values: dict[str, float] | dict[str, int], label: str = "state") -> Metric:
    gauge = GaugeMetricFamily(name, text, labels=[label])
    for state, value in values.items():
        gauge.add_metric([state], value)
    return gauge


def _age(since: datetime | None, now: datetime) -> float:
    return max((now - since).total_seconds(), 0.0) if since else 0.0
