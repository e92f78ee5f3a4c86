"""The sweep that checks taskers' latest answers against the rules (R6)."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.core.cache import cache
from django.db import transaction
from django.db.models import Max, QuerySet

from common.database.deadlocks import retry_on_deadlock
from labeling.enums import AssignmentState, MonitoringAction, TaskerState
from labeling.models import Assignment, MonitoringEvent, MonitoringRule, Response, StateChange, Tasker
from monitoring.actions import action_take
from monitoring.answer_rows import answer_rows, company, counted_on_complete_panels
from monitoring.gold_leaks import gold_flag_leaks
from monitoring.rules import (
    COLLECTORS,
    CollectorSource,
    CollectorValue,
    HandedPicture,
    RuleTerms,
    TaskerHistory,
    fires,
)
from policy.numbers import Policy

# Taskers without new answers for this long are not checked.
ACTIVE = timedelta(days=1)
LOOK_EVERY = timedelta(minutes=1)
# An answer may be submitted before a check and committed after it.
_OPEN = timedelta(minutes=1)
_LAST_LOOK = "watching-last-look"
# How many times the widest window is read, for collectors that skip answers (no outline, no majority).
_ROOM = 2


def check_taskers(*, policy: Policy, now: datetime, since: datetime | None = None) -> int:
    """Check all labeling taskers concerned by an answer since `since` (None: within ACTIVE) against the rules in force;
    returns how many rules fired.

    A rule uses only what came after it last fired for a tasker, and after the tasker last began or resumed work. So it
    fires once until enough new answers have come, and running the sweep again changes nothing.
    """
    rules = list(MonitoringRule.objects.filter(retired_at__isnull=True, created_at__lte=now).order_by("pk"))
    concerned = _concerned(since or now - ACTIVE) if rules else []
    return sum(_watch_one(tasker, rules, policy, now) for tasker in concerned)


def check_taskers_periodically(*, policy: Policy, now: datetime) -> int:
    """Check what is new since this process's last check, then gold, at most once in LOOK_EVERY: for sweeps that run
    more often. Returns how many rules fired and gold pictures were flagged.

    A restart forgets the last check: the next one covers a whole day, and no event is lost.
    """
    last: datetime | None = cache.get(_LAST_LOOK)
    if last is not None and last <= now < last + LOOK_EVERY:
        return 0
    fired = check_taskers(policy=policy, now=now, since=last - _OPEN if last is not None and last <= now else None)
    flagged = gold_flag_leaks(policy=policy, now=now)
    cache.set(_LAST_LOOK, now, ACTIVE.total_seconds())
    return fired + flagged


def _concerned(since: datetime) -> list[int]:
    """Return the taskers who answered, and those on whose panels others answered, as that may have filled the panel."""
    panels = Response.objects.filter(submitted_at__gte=since).values("panel")
    members = Response.objects.filter(panel__in=panels, tasker__state=TaskerState.QUALIFIED)
    return list(members.order_by("tasker").values_list("tasker", flat=True).distinct())


@retry_on_deadlock
@transaction.atomic
def _watch_one(tasker_id: int, rules: Sequence[MonitoringRule], policy: Policy, now: datetime) -> int:
    """Check one tasker, whose row is locked: of two sweeps at once, the second sees the events of the first.

    The lock is `no_key`, so that inserting an answer that refers to the tasker does not wait.
    """
    locked = Tasker.objects.select_for_update(no_key=True, of=("self",))
    tasker = locked.filter(pk=tasker_id, state=TaskerState.QUALIFIED).first()
    if tasker is None:
        return 0
    seen, last = history_by_tasker(tasker, rules), _last_events(tasker)
    fired = 0
    for rule in rules:
        reading = fires(_as_rule(rule), seen[rule.pk].since(last.get(rule.pk)), policy)
        if reading is not None:
            _fire(rule, tasker, reading, now)
            fired += 1
        if tasker.state != TaskerState.QUALIFIED:
            break
    return fired


def _as_rule(rule: MonitoringRule) -> RuleTerms:
    return RuleTerms(rule.collector, rule.window, rule.minimum, rule.comparison, rule.threshold)


def _last_events(tasker: Tasker) -> dict[int, datetime]:
    fired = MonitoringEvent.objects.filter(tasker=tasker).values("rule").annotate(last=Max("fired_at"))
    return {row["rule"]: row["last"] for row in fired}


def at_work_since(tasker: Tasker) -> datetime | None:
    """Return when the tasker last began or resumed work; None without a recorded change to QUALIFIED."""
    changes = StateChange.objects.filter(tasker=tasker, after=TaskerState.QUALIFIED)
    return changes.order_by("-changed_at").values_list("changed_at", flat=True).first()


def trusted_since(tasker: Tasker) -> datetime | None:
    """Return when an organizer last ended a pause, with a short qualification or without; None when none ever did.

    Gold answers count from then on. A short qualification by itself resets nothing: it shows that the tasker knows the
    rules, not that they followed them.
    """
    # No rule changes who is paused, so each end of a pause is an organizer's decision.
    ends = StateChange.objects.filter(tasker=tasker, before=TaskerState.PAUSED)
    return ends.order_by("-changed_at").values_list("changed_at", flat=True).first()


def history_by_tasker(tasker: Tasker, rules: Sequence[MonitoringRule]) -> dict[int, TaskerHistory]:
    """Return the rule's primary key -> the history by which it may judge the tasker."""
    on_gold = [rule for rule in rules if COLLECTORS[rule.collector].source == CollectorSource.GOLD]
    others = [rule for rule in rules if rule not in on_gold]
    seen, gold = history_of(tasker, others, at_work_since(tasker)), history_of(tasker, on_gold, trusted_since(tasker))
    return {rule.pk: gold if rule in on_gold else seen for rule in rules}


def history_of(tasker: Tasker, rules: Sequence[MonitoringRule], since: datetime | None) -> TaskerHistory:
    """Return the history by which rules may judge the tasker: the latest answers, those on complete panels, and those
    on gold, as far back as the windows reach, and not before `since`."""
    windows = _windows(rules)
    sources = {
        CollectorSource.ANSWERS: Response.objects.filter(tasker=tasker),
        CollectorSource.PANELS: counted_on_complete_panels().filter(tasker=tasker),
        CollectorSource.GOLD: Response.objects.filter(tasker=tasker, gold_mark__isnull=False),
    }
    wanted = [_latest(rows, since, windows[source]) for source, rows in sources.items() if source in windows]
    found = {row.pk: row for responses in wanted for row in answer_rows(responses)}
    together = company(row.panel_id for row in found.values() if row.counts and row.panel_complete)
    looks = [together.look(row) for row in sorted(found.values(), key=lambda row: (row.at, row.pk))]
    return TaskerHistory(looks, _handovers(tasker, since, windows.get(CollectorSource.GIVEN, 0)))


def _windows(rules: Sequence[MonitoringRule]) -> dict[CollectorSource, int]:
    """How far back to read: the widest window of each source."""
    widest: dict[CollectorSource, int] = {}
    for rule in rules:
        source = COLLECTORS[rule.collector].source
        window = rule.window * (_ROOM if source == CollectorSource.PANELS else 1)
        widest[source] = max(widest.get(source, 0), window)
    return widest


def _latest(responses: QuerySet[Response], since: datetime | None, limit: int) -> QuerySet[Response]:
    newer = responses.filter(submitted_at__gt=since) if since else responses
    return newer.order_by("-submitted_at", "-pk")[:limit]


_HANDED_BACK = (AssignmentState.ANSWERED, AssignmentState.RELEASED)


def _handovers(tasker: Tasker, since: datetime | None, limit: int) -> list[HandedPicture]:
    """Return the pictures that were answered or released; an expired lease says nothing about the tasker."""
    ended = Assignment.objects.filter(tasker=tasker, state__in=_HANDED_BACK, ended_at__isnull=False)
    newer = ended.filter(ended_at__gt=since) if since else ended
    latest = newer.order_by("-ended_at", "-pk").values_list("ended_at", "state")[:limit]
    return [HandedPicture(at, state == AssignmentState.ANSWERED) for at, state in reversed(latest) if at]


def _fire(rule: MonitoringRule, tasker: Tasker, reading: CollectorValue, now: datetime) -> None:
    """Record the event with its figures, and do what the rule says."""
    figures = {"value": round(reading.value, 6), "n": reading.n, **reading.figures}
    event = MonitoringEvent.objects.create(rule=rule, tasker=tasker, action=rule.action, figures=figures, fired_at=now)
    action_take(tasker=tasker, action=MonitoringAction(rule.action), reason=rule.words, now=now, event=event)
