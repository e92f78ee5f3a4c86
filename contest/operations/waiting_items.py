"""Lists work that waits for a person or a scorer: since when, and the page that handles it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import Count, Min, QuerySet

from contest.core.scoring_words import reruns_to_apply, stuck
from contest.core.stuck_panels import stuck_groups
from contest.outbox.models import Digest, Message
from contest.outbox.posting import failing_letters
from contest.record.leaderboard.snapshots import open_differences
from contest.releases.models import ReleaseLetter
from contest.releases.signatures import signing_trouble
from contest.teams.selectors import pending_requests
from labeling.enums import KnownUse, LinkKind, TaskerState
from labeling.models import KnownPicture, Question, Tasker
from labeling.questions.selectors import open_reports
from monitoring.models import TaskerLink
from policy.calendar import Week
from scoring.enums import RunState
from scoring.models import Run, Trial
from scoring.selectors import dead_runs
from scoring.trials.selectors import trials_to_retry


@dataclass(frozen=True, slots=True)
class WaitingItem:
    """Waiting work in words, with the URL name of the page where it is decided or shown, and the place on that page.

    `since` is when the oldest of it began to wait; None where that is not recorded.
    """

    page: str
    words: str
    since: datetime | None = None
    fragment: str = ""


def waiting_items(*, now: datetime) -> tuple[WaitingItem, ...]:
    """Return the work that waits for an organizer."""
    return (*_stuck_panels(now), *_scoring(now), *_people())


def oldest_first(waits: tuple[WaitingItem, ...]) -> tuple[WaitingItem, ...]:
    """Return the items, oldest first; items without a time come before them, in their order."""
    return tuple(sorted(waits, key=lambda each: each.since.timestamp() if each.since else 0.0))


def _stuck_panels(now: datetime) -> Iterator[WaitingItem]:
    """Yield the reasons why no remaining tasker may finish a picture."""
    for group in stuck_groups(now=now):
        words = f"{group.count_words} that nobody left may finish: {group.why}. {group.advice}"
        yield WaitingItem("overview", words, group.since, "stuck")


def _scoring(now: datetime) -> Iterator[WaitingItem]:
    """Yield what blocks scoring: missing things, and decisions that somebody has to make."""
    if (found := stuck(now=now)) is not None:
        yield WaitingItem("scoring-queue", found.words)
    trials, ended = trials_to_retry(), reruns_to_apply()
    yield from _counted("scoring-queue", trials, "finished_at", "trial gave up", "trials gave up")
    words = ("re-run is to be applied or stopped", "re-runs are to be applied or stopped")
    yield from _counted("scoring-queue", ended, "asked_at", *words)


def _people() -> Iterator[WaitingItem]:
    questions = Question.objects.filter(answered_at__isnull=True)
    gold = KnownPicture.objects.filter(use=KnownUse.GOLD, retired_at__isnull=True, held_at__isnull=False)
    paused = Tasker.objects.filter(state=TaskerState.PAUSED, user__isnull=False)
    links = TaskerLink.objects.filter(kind=LinkKind.SUSPECTED, ended_at__isnull=True)
    # One picture may have several reports.
    reports = open_reports().order_by().values("image").annotate(reported_at=Min("reported_at"))
    for page, rows, since, one, several in (
        ("reports", reports, "reported_at", "picture reported by taskers", "pictures reported by taskers"),
        ("organizer-questions", questions, "asked_at", "question without an answer", "questions without an answer"),
        ("gold", gold, "held_at", "gold picture held", "gold pictures held"),
        ("organizer-taskers", paused, "", "tasker paused", "taskers paused"),
        ("organizer-taskers", links, "linked_at", "pair of taskers who may copy", "pairs of taskers who may copy"),
        ("organizer-teams", pending_requests(), "asked_at", "team asks to attack", "teams ask to attack"),
    ):
        yield from _counted(page, rows, since, one, several)
    if unsent := sum(failing_letters(kind.objects.all()).count() for kind in (Message, Digest, ReleaseLetter)):
        yield WaitingItem("message-outbox", _words(unsent, "letter failed to be sent", "letters failed to be sent"))
    if different := open_differences():
        words = _words(different, "difference in the leaderboard", "differences in the leaderboard")
        yield WaitingItem("leaderboard-check", words)
    if trouble := signing_trouble(settings.RELEASE_DIR):
        yield WaitingItem("organizer-releases", trouble, None, "signatures")


def in_line(*, to_release: Week | None, board: Mapping[str, Any]) -> Iterator[WaitingItem]:
    """Yield work that waits for a scorer, the board, or the release of an ended week; most of it continues by itself.
    `board` is the result of `case_backlog`."""
    queued, dead = RunState.QUEUED, dead_runs()
    runs, trials = Run.objects.filter(state=queued), Trial.objects.filter(state=queued)
    yield from _counted("scoring-queue", runs, "created_at", "run waits for a scorer", "runs wait for a scorer")
    yield from _counted("scoring-queue", trials, "created_at", "trial waits for a scorer", "trials wait for a scorer")
    yield from _counted("overview", dead, "finished_at", "run gave up", "runs gave up", fragment="dead-runs")
    if board["open"]:
        words = _words(board["open"], "case before the board", "cases before the board")
        yield WaitingItem("overview", words, board["oldest"], "board-cases")
    if to_release is not None:
        yield WaitingItem("overview", f"week {to_release.name} is not released", to_release.end, "releases")


def _counted(
    page: str, rows: "QuerySet[Any, Any]", since: str, one: str, several: str, *, fragment: str = ""
) -> Iterator[WaitingItem]:
    """Yield the number of rows and the time of the oldest, in one statement; nothing without rows."""
    oldest = {"oldest": Min(since)} if since else {}
    found = rows.order_by().aggregate(count=Count("*"), **oldest)
    if found["count"]:
        yield WaitingItem(page, _words(found["count"], one, several), found.get("oldest"), fragment)


def _words(count: int, one: str, several: str) -> str:
    return f"{count:,} {one if count == 1 else several}"
