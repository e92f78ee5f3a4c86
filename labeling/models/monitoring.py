"""Models: gold marks, monitoring rules and events, states of taskers, notices, voided responses (R6)."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q

from common.choices import choices
from labeling.enums import MonitoringAction, TaskerState
from labeling.models.learning import KnownPicture
from labeling.models.panels import Response, Tasker


class GoldMark(models.Model):
    """How one answer on a gold picture compares with the known answer. Append-only.

    `marks` is {question: right}; `iou_percent` is null where no outline was to be compared.
    """

    response = models.OneToOneField(Response, on_delete=models.PROTECT, related_name="gold_mark")
    known = models.ForeignKey(KnownPicture, on_delete=models.PROTECT, related_name="gold_marks")
    tasker = models.ForeignKey(Tasker, on_delete=models.PROTECT, related_name="gold_marks", db_index=False)
    right = models.BooleanField()
    marks = models.JSONField()
    iou_percent = models.FloatField(null=True)
    marked_at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["tasker", "marked_at"], name="gold_mark_of_tasker")]

    def __str__(self) -> str:
        return f"{'right' if self.right else 'wrong'} on {self.known_id}"


class MonitoringRule(models.Model):
    """Collector -> condition -> action: when `collector` over the last `window` answers, with at least `minimum` of
    them, is `comparison` `threshold`, then `action`. A rule is never changed: it is retired and another one added."""

    name = models.CharField(max_length=80)
    collector = models.CharField(max_length=40)
    window = models.PositiveIntegerField()
    minimum = models.PositiveIntegerField()
    comparison = models.CharField(max_length=2)
    threshold = models.FloatField()
    action = models.CharField(max_length=9, choices=choices(MonitoringAction))
    words = models.TextField()
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    retired_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(comparison__in=["<", "<=", ">", ">="]), name="rule_compares"),
        ]

    def __str__(self) -> str:
        return self.name


class MonitoringEvent(models.Model):
    """A rule that fired for a tasker, with the figures that fired it. Append-only."""

    rule = models.ForeignKey(MonitoringRule, on_delete=models.PROTECT, related_name="events", db_index=False)
    tasker = models.ForeignKey(Tasker, on_delete=models.PROTECT, related_name="+")
    action = models.CharField(max_length=9, choices=choices(MonitoringAction))
    figures = models.JSONField()
    fired_at = models.DateTimeField(db_index=True)

    class Meta:
        indexes = [models.Index(fields=["rule", "tasker", "fired_at"], name="watch_event_latest")]

    def __str__(self) -> str:
        return f"{self.rule_id} fired for {self.tasker_id}"


class StateChange(models.Model):
    """A change of a tasker's state: why, and by whom or by which event. Append-only.

    `code` is the kind of reason in one word; `reason` is what the tasker reads.
    """

    tasker = models.ForeignKey(Tasker, on_delete=models.PROTECT, related_name="state_changes", db_index=False)
    before = models.CharField(max_length=12, choices=choices(TaskerState))
    after = models.CharField(max_length=12, choices=choices(TaskerState))
    code = models.CharField(max_length=30)
    reason = models.TextField()
    event = models.ForeignKey(MonitoringEvent, null=True, on_delete=models.PROTECT, related_name="+", db_index=False)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    changed_at = models.DateTimeField()

    class Meta:
        constraints = [models.CheckConstraint(condition=~Q(reason=""), name="state_change_has_reason")]
        indexes = [models.Index(fields=["tasker", "changed_at"], name="state_change_of_tasker")]

    def __str__(self) -> str:
        return f"{self.tasker_id}: {self.before} to {self.after}"


class Notice(models.Model):
    """A message that a tasker sees on the labeling page until they mark it as seen."""

    public_id = models.UUIDField(unique=True, default=uuid.uuid4)
    tasker = models.ForeignKey(Tasker, on_delete=models.PROTECT, related_name="notices", db_index=False)
    code = models.CharField(max_length=30)
    text = models.TextField()
    event = models.ForeignKey(MonitoringEvent, null=True, on_delete=models.PROTECT, related_name="+", db_index=False)
    told_at = models.DateTimeField()
    seen_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["tasker", "told_at"], name="notice_of_tasker")]

    def __str__(self) -> str:
        return self.code


class Voiding(models.Model):
    """An organizer's decision that unsettled answers of a tasker do not count (R6). Append-only."""

    tasker = models.ForeignKey(Tasker, on_delete=models.PROTECT, related_name="voidings")
    reason = models.TextField()
    since = models.DateTimeField(null=True)
    voided_at = models.DateTimeField()
    voided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )

    class Meta:
        constraints = [models.CheckConstraint(condition=~Q(reason=""), name="voiding_has_reason")]

    def __str__(self) -> str:
        return f"answers of {self.tasker_id} voided {self.voided_at}"


class VoidedResponse(models.Model):
    """A response that stays on record and no longer counts; its place was replaced (R6). Append-only."""

    response = models.OneToOneField(Response, on_delete=models.PROTECT, related_name="voided")
    voiding = models.ForeignKey(Voiding, on_delete=models.PROTECT, related_name="responses")

    def __str__(self) -> str:
        return f"response {self.response_id} voided"
