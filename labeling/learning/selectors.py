"""Queries for a tasker's tutorial and qualification (R5)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext as _

from common.errors import NotFound
from labeling.enums import AttemptKind, KnownUse, TaskerState
from labeling.models import (
    KnownPicture,
    LessonSeen,
    QualificationAttempt,
    QualificationItem,
    StateChange,
    Tasker,
)
from labeling.selectors import instructions_in_force
from policy.numbers import Policy

Due = Literal["tutorial", "qualification", "short_qualification"]


def requalification_due(tasker: Tasker, now: datetime) -> bool:
    """Say whether newer instructions require a short qualification of this tasker; no query (R5)."""
    return tasker.instructions < instructions_in_force(now).qualified_since


def due_item(tasker: Tasker, now: datetime) -> Due | None:
    """Return what this tasker has to do before the next picture; None for nothing, or for a paused tasker.

    No query for a qualified tasker: their row is enough.
    """
    if tasker.state == TaskerState.QUALIFIED:
        return "short_qualification" if requalification_due(tasker, now) else None
    if tasker.state == TaskerState.PAUSED:
        return None
    if was_qualified(tasker):
        return "short_qualification"
    return "qualification" if tasker.tutorial_done_at else "tutorial"


def was_qualified(tasker: Tasker) -> bool:
    """Say whether the tasker was qualified before, so that a short attempt suffices."""
    return StateChange.objects.filter(tasker=tasker, before=TaskerState.QUALIFIED).exists()


def usable(use: KnownUse) -> QuerySet[KnownPicture]:
    """Return the known pictures of one use that are neither retired nor held."""
    return KnownPicture.objects.filter(use=use, retired_at__isnull=True, held_at__isnull=True)


def lessons() -> list[KnownPicture]:
    """Return the worked examples in their order."""
    return list(usable(KnownUse.TUTORIAL).select_related("image").order_by("position", "id"))


def lessons_seen(tasker: Tasker) -> set[int]:
    """Return the ids of the worked examples this tasker has gone through."""
    return set(LessonSeen.objects.filter(tasker=tasker).values_list("known_id", flat=True))


def fresh_for(tasker: Tasker) -> QuerySet[KnownPicture]:
    """Return the pictures of the qualification pool that this tasker has never had."""
    asked = QualificationItem.objects.filter(tasker=tasker).values("known")
    return usable(KnownUse.QUALIFICATION).exclude(pk__in=asked)


def open_attempt(tasker: Tasker) -> QualificationAttempt | None:
    """Return the tasker's unfinished attempt; None without one."""
    return QualificationAttempt.objects.filter(tasker=tasker, finished_at__isnull=True).first()


def attempts_of(tasker: Tasker) -> list[QualificationAttempt]:
    """Return all attempts of the tasker, newest first, with how many pictures were fully `right`."""
    rows = QualificationAttempt.objects.filter(tasker=tasker)
    return list(rows.annotate(right=Count("items", filter=Q(items__right=True))).order_by("-number"))


def failed_since_pass(attempts: Sequence[QualificationAttempt]) -> list[QualificationAttempt]:
    """Return the failed attempts after the last passed one; `attempts` come newest first."""
    failed: list[QualificationAttempt] = []
    for attempt in attempts:
        if attempt.passed:
            break
        if attempt.passed is False:
            failed.append(attempt)
    return failed


def next_try_from(attempts: Sequence[QualificationAttempt], policy: Policy) -> datetime | None:
    """Return when the next attempt may begin (R5); None for at any time. `attempts` come newest first."""
    failed = failed_since_pass(attempts)
    if len(failed) < policy.free_tries or failed[0].finished_at is None:
        return None
    return failed[0].finished_at + timedelta(hours=policy.retry_hours)


def size_and_needed(kind: AttemptKind, policy: Policy) -> tuple[int, int]:
    """Return how many pictures an attempt has, and how many have to be fully right (R5)."""
    if kind is AttemptKind.SHORT:
        return policy.short_qualification_size, policy.short_qualification_needed
    return policy.qualification_size, policy.qualification_needed


def next_item(attempt: QualificationAttempt) -> QualificationItem | None:
    """Return the first picture of the attempt without an answer."""
    rows = QualificationItem.objects.filter(attempt=attempt, answered_at__isnull=True)
    return rows.select_related("known__image", "attempt").order_by("position").first()


def item_of(tasker: Tasker, item_id: UUID) -> QualificationItem:
    """Return a picture of the tasker's own attempt; NotFound for another tasker's."""
    rows = QualificationItem.objects.select_related("known__image", "attempt")
    item = rows.filter(public_id=item_id, tasker=tasker).first()
    if item is None:
        raise NotFound(_("There is no such picture in a try of yours."), "not_found")
    return item


@dataclass(frozen=True, slots=True)
class PoolHealth:
    """The state of the pool: its pictures, full attempts for a new tasker, and taskers for whom too few are left."""

    pictures: int
    tries: int
    run_out: list[Tasker]

    @property
    def needs_pictures(self) -> bool:
        """Say whether an organizer should add pictures now."""
        return bool(self.run_out) or self.tries < 2


def pool_health(policy: Policy) -> PoolHealth:
    """Return how many attempts the pool still allows, and the taskers who cannot begin another one."""
    total = usable(KnownUse.QUALIFICATION).count()
    asked = Count("known", filter=Q(known__retired_at__isnull=True, known__held_at__isnull=True))
    seen = QualificationItem.objects.filter(tasker__state=TaskerState.LEARNING).values("tasker").annotate(asked=asked)
    short = [row["tasker"] for row in seen if total - row["asked"] < policy.qualification_size]
    stuck = Tasker.objects.filter(pk__in=short).exclude(attempts__finished_at__isnull=True).order_by("public_id")
    return PoolHealth(total, total // policy.qualification_size, list(stuck))
