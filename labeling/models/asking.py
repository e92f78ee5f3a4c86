"""Models: taskers' reports of pictures, and their questions to organizers."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from common.choices import choices
from labeling.enums import ReportDecision, ReportKind
from labeling.models.learning import InstructionVersion
from labeling.models.panels import Assignment, Image, Tasker


class Report(models.Model):
    """A tasker's report that something is wrong with a picture, which is held until an organizer decides."""

    assignment = models.OneToOneField(Assignment, on_delete=models.PROTECT, related_name="report")
    image = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="reports")
    tasker = models.ForeignKey(Tasker, on_delete=models.PROTECT, related_name="reports")
    kind = models.CharField(max_length=13, choices=choices(ReportKind))
    words = models.TextField(blank=True)
    reported_at = models.DateTimeField()
    decision = models.CharField(max_length=8, choices=choices(ReportDecision), blank=True)
    decided_at = models.DateTimeField(null=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    reply = models.TextField(blank=True)

    class Meta:
        indexes = [models.Index(fields=["reported_at"], name="report_open", condition=Q(decided_at__isnull=True))]
        constraints = [
            models.CheckConstraint(
                condition=Q(decided_at__isnull=True, decision="") | (Q(decided_at__isnull=False) & ~Q(decision="")),
                name="report_decided_with_decision",
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} on image {self.image_id}"


class Question(models.Model):
    """A tasker's question about the task; its answer goes to all taskers as a dated clarification."""

    tasker = models.ForeignKey(Tasker, on_delete=models.PROTECT, related_name="questions")
    text = models.TextField()
    asked_at = models.DateTimeField()
    answer = models.TextField(blank=True)
    answered_at = models.DateTimeField(null=True)
    answered_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    # The version of the instructions that carries the answer to everybody; null for an answer to one alone.
    instructions = models.ForeignKey(InstructionVersion, null=True, on_delete=models.PROTECT, related_name="questions")

    class Meta:
        indexes = [models.Index(fields=["asked_at"], name="question_open", condition=Q(answered_at__isnull=True))]
        constraints = [
            models.CheckConstraint(condition=~Q(text=""), name="question_asks"),
            models.CheckConstraint(
                condition=Q(answered_at__isnull=True, answer="") | (Q(answered_at__isnull=False) & ~Q(answer="")),
                name="question_answered_with_answer",
            ),
        ]

    def __str__(self) -> str:
        return self.text[:60]
