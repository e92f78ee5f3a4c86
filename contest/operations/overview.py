"""Queries behind the organizers' overview page."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.cache import cache
from django.db.models import Count

from adjudication.enums import Verdict
from adjudication.wording import reason_name
from common import charts
from common.errors import NotFound
from common.remembered import remembered
from contest.core.breaks import breaks_in_force
from contest.core.models import Release
from contest.core.week_pictures import WAITING_WORDS
from contest.operations import stages, throughput
from contest.operations.deadlines import deadlines
from contest.operations.disagreement import disagreement
from contest.operations.flagged_taskers import flagged_taskers
from contest.operations.gold_supply import gold_supply
from contest.operations.hanging_leases import hanging_leases
from contest.operations.late_cases import case_backlog
from contest.operations.picture_ages import panel_ages
from contest.operations.scoring_figures import reruns_not_over
from contest.operations.sweep_health import SweepState, sweep_health, sweeps_in_trouble
from contest.operations.waiting_items import in_line, oldest_first, waiting_items
from contest.releases.selectors import unreleased_weeks
from contest.releases.services import waiting_pictures
from contest.releases.week_checklist import StepState, ended_last, week_checklist
from labeling.enums import AssignmentState, TaskerState
from labeling.models import Assignment, Image, Response, Tasker
from monitoring.tasker_rows import least_agreeing
from policy.calendar import Week
from policy.numbers import Policy
from policy.selectors import policy_in_force
from scoring.enums import DefenseAnswer, RunState
from scoring.models import Defense
from scoring.selectors import dead_runs, is_randomised, predictions_in_force

FRESH_SECONDS = 5
AT_WORK = timedelta(minutes=15)
MAX_LISTED = 20
LATEST_ANSWERS = 500
# Counting a week's waiting pictures reads each of them, so it is cached longer.
_WAITING_SECONDS = 60
# Reading the answers of a week takes seconds on a busy one.
_AGREEMENT_SECONDS = 900
_UNDER_WAY = (RunState.QUEUED, RunState.RUNNING)
_DONE = (RunState.FINISHED, RunState.ASSESSED)


@dataclass(frozen=True, slots=True)
class Step:
    """One row of the pipeline: number of pictures, since when the oldest waits, and the name of their state.

    `part` marks a row that is a part of the row above. `page` is the URL name of the page for this step, `fragment` the
    place on it.
    """

    name: str
    count: int
    oldest: datetime | None = None
    state: str = ""
    part: bool = False
    page: str = ""
    fragment: str = ""


def organizer_overview(*, now: datetime) -> dict[str, Any]:
    """Return the data of the organizers' overview, cached for FRESH_SECONDS."""
    return remembered("overview", FRESH_SECONDS, lambda: read_overview(now=now))


def overview_forget() -> None:
    """Clear the cached overview, after an action on it."""
    cache.delete("overview")


def read_overview(*, now: datetime) -> dict[str, Any]:
    """Return the data of the organizers' overview at `now`, uncached.

    `waits` lists work that waits for a person, a scorer, the board, or the release of an ended week, oldest first.
    """
    policy = policy_in_force(now).policy
    undealt, panels = stages.waiting_for_panel(now), stages.open_panels()
    groups, standing = stages.run_groups(), stages.rulings()
    figures = _defenses(groups, policy)
    days = throughput.throughput_by_day(now=now, zone=policy.time_zone)
    sweeps = sweep_health(now=now)
    reasons = [
        charts.ChartValue(reason_name(name), count, Verdict.REJECTED) for name, count in standing.reasons.items()
    ]
    dead, board, week = dead_runs(), case_backlog(now=now), next(unreleased_weeks(now), None)
    return {
        "now": now,
        "zone": policy.time_zone,
        "pictures": Image.objects.filter(label_from__isnull=False).exists(),
        "qualified": Tasker.objects.filter(state=TaskerState.QUALIFIED).count(),
        "steps": (
            *_steps_before_rulings(now, undealt, panels),
            Step("Ruled valid", standing.of(Verdict.VALID), state="valid"),
            Step("Ruled rejected", standing.of(Verdict.REJECTED), state="rejected"),
            *_steps_of_scoring(standing.of(Verdict.VALID), groups, figures),
        ),
        "verdicts": _verdict_chart(standing),
        "reasons": charts.bars("reasons", "Rejected pictures by reason", reasons),
        "ruled": sum(standing.verdicts.values()),
        "answers": _day_chart("answers", "Answers per day", [(day.start, day.answers) for day in days]),
        "rulings": _day_chart("rulings", "Rulings per day", [(day.start, day.rulings) for day in days]),
        "days": days,
        "any_day": any(day.answers or day.rulings for day in days),
        "missing": throughput.answers_missing(undealt, panels, policy.panel_size),
        "deadlines": deadlines(now=now),
        "ages": panel_ages(now=now),
        "at_work": _at_work(now, policy),
        "waits": oldest_first(
            (*sweeps_in_trouble(sweeps), *waiting_items(now=now), *in_line(to_release=week, board=board))
        ),
        "hanging": hanging_leases(now=now),
        "gold": gold_supply(policy, now=now),
        "disagreement": disagreement(now=now),
        "noticed": flagged_taskers(now=now),
        "least_agreeing": remembered(
            "least-agreeing", _AGREEMENT_SECONDS, lambda: (least_agreeing(now=now, zone=policy.time_zone),)
        )[0],
        "cases": board,
        "defenses": figures,
        "reruns": reruns_not_over(),
        "dead_runs": tuple(dead.select_related("defense").order_by("-finished_at", "-pk")[:MAX_LISTED]),
        "dead_count": dead.count(),
        "releases": _releases(),
        "next_release": _next_release(week),
        "ended": _ended_week(now),
        "sweeps": sweeps,
        "sweeps_wrong": sum(each.state in (SweepState.LATE, SweepState.FAILING) for each in sweeps),
    }


def _steps_before_rulings(
    now: datetime, undealt: stages.PipelineStage, panels: dict[int, stages.PipelineStage]
) -> list[Step]:
    later, full, held = stages.due_later(now), stages.full_panels(), stages.held_panels()
    oldest = min((stage.oldest for stage in panels.values() if stage.oldest), default=None)
    steps = [Step("Under embargo, due later", later.count, later.oldest, "embargo")] if later.count else []
    steps.append(Step("Waiting for a panel", undealt.count, undealt.oldest, "open"))
    in_panels = sum(stage.count for stage in panels.values())
    steps.append(Step("In panels", in_panels, oldest, "open", page="overview", fragment="deadlines"))
    for missing, stage in panels.items():
        words = f"{missing} answers missing" if missing > 1 else "1 answer missing"
        steps.append(Step(words, stage.count, stage.oldest, part=True))
    if held.count:
        steps.append(Step("Reported by taskers and held", held.count, held.oldest, "open", page="reports"))
    steps.append(Step("All answers given, waiting for a ruling", full.count, full.oldest, "open"))
    return steps


def _steps_of_scoring(valid: int, groups: Sequence[Any], figures: Sequence[dict[str, Any]]) -> list[Step]:
    scored = min((figure["scored"] for figure in figures), default=0)
    first = (group.oldest for group in groups if group.state in _UNDER_WAY and not group.again)
    oldest = min(first, default=None)
    return [
        Step("Valid, waiting for scoring", max(valid - scored, 0), oldest, "open", page="scoring-queue"),
        Step("Scored by every published defense", scored, state="unbroken"),
        Step("Broke a defense", breaks_in_force().values("image").distinct().count(), state="broken"),
    ]


def _defenses(groups: Sequence[Any], policy: Policy) -> list[dict[str, Any]]:
    """Return for each published defense the pictures answered in every round, those in runs under way, and those that
    break it.

    `abstained` is the whole percentage of abstentions in its latest answers, None before the first; `randomised` says
    that some picture got different answers in different rounds (R29).
    """
    published = Defense.objects.filter(published_at__isnull=False, retired_at__isnull=True)
    rows = breaks_in_force().values("defense").annotate(images=Count("image", distinct=True))
    breaks = {row["defense"]: row["images"] for row in rows}
    return [
        {
            "defense": defense,
            "scored": _scored(defense, groups, policy.evaluation_runs),
            "under_way": _largest_round(defense, groups),
            "breaks": breaks.get(defense.pk, 0),
            "abstained": _abstained(defense),
            "randomised": is_randomised(defense),
        }
        for defense in published.order_by("name", "pk")
    ]


def _scored(defense: Defense, groups: Sequence[Any], rounds: int) -> int:
    """Return how many pictures the defense has answered in each of its rounds (R29)."""
    done: Counter[int] = Counter()
    for group in groups:
        if group.defense == defense.pk and group.state in _DONE and not group.again:
            done[group.round] += group.pictures
    return min(done[number] for number in range(1, rounds + 1))


def _largest_round(defense: Defense, groups: Iterable[Any]) -> int:
    """Return how many pictures are in runs under way of the round that has most of them."""
    by_round: Counter[int] = Counter()
    for group in groups:
        if group.defense == defense.pk and group.state in _UNDER_WAY:
            by_round[group.round] += group.pictures
    return max(by_round.values(), default=0)


def _abstained(defense: Defense) -> int | None:
    latest = predictions_in_force().filter(defense=defense).order_by("-pk").values_list("answer", flat=True)
    answers = list(latest[:LATEST_ANSWERS])
    return round(100 * answers.count(DefenseAnswer.ABSTAIN) / len(answers)) if answers else None


def _verdict_chart(standing: stages.Rulings) -> charts.Chart:
    values = [
        charts.ChartValue(f"valid, {label}", count, Verdict.VALID)
        for (verdict, label), count in sorted(standing.verdicts.items())
        if verdict == Verdict.VALID
    ]
    rejected = charts.ChartValue("rejected", standing.of(Verdict.REJECTED), Verdict.REJECTED)
    return charts.bars("verdicts", "Pictures by verdict", [*values, rejected])


def _day_chart(key: str, title: str, days: Sequence[tuple[datetime, int]]) -> charts.Chart:
    values = [charts.ChartValue(f"{day:%a} {day.day} {day:%b}", count, short=str(day.day)) for day, count in days]
    return charts.columns(key, title, values)


def _at_work(now: datetime, policy: Policy) -> list[dict[str, Any]]:
    """Return the taskers who hold a lease renewed within AT_WORK, or answered in it, by public ID (R4), last seen
    first: pictures held, answers in that time, and the last activity."""
    since, lease = now - AT_WORK, timedelta(seconds=policy.lease_seconds)
    held = Assignment.objects.filter(state=AssignmentState.LEASED, expires_at__gt=max(since + lease, now))
    leased, answered = defaultdict[str, list[datetime]](list), defaultdict[str, list[datetime]](list)
    for tasker, expires_at in held.values_list("tasker__public_id", "expires_at"):
        leased[tasker].append(expires_at - lease)
    given = Response.objects.filter(submitted_at__gt=since)
    for tasker, submitted_at in given.values_list("tasker__public_id", "submitted_at"):
        answered[tasker].append(submitted_at)
    rows = [
        {
            "public_id": name,
            "held": len(leased[name]),
            "answers": len(answered[name]),
            "seen": max(leased[name] + answered[name]),
        }
        for name in leased.keys() | answered.keys()
    ]
    return sorted(rows, key=lambda row: (row["seen"], row["public_id"]), reverse=True)


def _releases() -> list[dict[str, Any]]:
    """Return the newest parts of the record; `here` says that its zip is in the release folder of this machine."""
    newest = Release.objects.order_by("-pk")[:MAX_LISTED]
    return [{"release": each, "here": (settings.RELEASE_DIR / f"{each.name}.zip").is_file()} for each in newest]


def _ended_week(now: datetime) -> dict[str, Any]:
    """Return the latest ended week, and in words what an organizer can do for it now."""
    week = ended_last(now)
    try:
        steps = remembered(f"week-checklist-{week.name}", _WAITING_SECONDS, lambda: week_checklist(week, now=now))
    except NotFound:  # the contest had not begun
        return {"week": week.name, "waits": []}
    return {"week": week.name, "waits": [each.words for each in steps if each.state is StepState.WAITS and each.words]}


def _next_release(week: Week | None) -> dict[str, Any] | None:
    """Return the oldest ended week without a release, and in words what it waits for."""
    if week is None:
        return None
    waits = remembered(f"waiting-{week.name}", _WAITING_SECONDS, lambda: waiting_pictures(week))
    return {
        "week": week.name,
        "waiting": [f"{number:,} {WAITING_WORDS[name]}" for name, number in waits.items() if number],
    }
