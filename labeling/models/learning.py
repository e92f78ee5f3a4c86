"""Models: versions of the instructions, known pictures, and qualification attempts (R5)."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q

from common.choices import choices
from labeling.enums import AttemptKind, KnownUse, TieBreak, Topic
from labeling.models.panels import Image, Panel, Tasker


class InstructionVersion(models.Model):
    """One version of the instructions. Every response records the one it was given under.

    The text itself is in the templates; a version may add a `clarification`, which is shown with its date. With
    `requalify` everybody passes a short qualification before the next picture.
    """

    version = models.PositiveSmallIntegerField(unique=True)
    summary = models.TextField()
    clarification = models.TextField(blank=True)
    requalify = models.BooleanField(default=False)
    in_force_from = models.DateTimeField()
    published_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )

    class Meta:
        constraints = [models.CheckConstraint(condition=~Q(summary=""), name="instructions_say_what_changed")]

    def __str__(self) -> str:
        return f"instructions {self.version}"


class KnownPicture(models.Model):
    """A picture whose right answers are known, for one use (R5, R6).

    `accepts_bird` and `accepts_bicycle` are the lists of answers that count as right. `outline` is canonical JSON as in
    Response, empty where nothing is to be outlined; an outline is right from `min_iou_percent` on. `reasons` are
    words by language and question, as {"en": {"complete": "The tail lies outside of the image."}}.
    Gold names the settled `panel` on which its answers are kept, without a place.
    """

    public_id = models.UUIDField(unique=True, default=uuid.uuid4)
    image = models.OneToOneField(Image, on_delete=models.PROTECT, related_name="known")
    panel = models.ForeignKey(Panel, null=True, on_delete=models.PROTECT, related_name="+", db_index=False)
    use = models.CharField(max_length=13, choices=choices(KnownUse))
    topic = models.CharField(max_length=13, choices=choices(Topic))
    position = models.PositiveSmallIntegerField(default=0)
    accepts_bird = models.JSONField()
    accepts_bicycle = models.JSONField()
    outline = models.TextField(blank=True)
    min_iou_percent = models.PositiveSmallIntegerField(default=70)
    complete = models.BooleanField(null=True)
    unoccluded = models.BooleanField(null=True)
    real = models.BooleanField(null=True)
    reasons = models.JSONField(default=dict)
    # How often it was dealt as gold; at most the policy's cap.
    uses = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    # Retired: for ever. Held: until an organizer has looked at a tasker's report.
    retired_at = models.DateTimeField(null=True)
    retired_because = models.TextField(blank=True)
    held_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(min_iou_percent__lte=100), name="known_iou_is_a_share"),
            models.CheckConstraint(
                condition=Q(use=KnownUse.GOLD, panel__isnull=False) | (~Q(use=KnownUse.GOLD) & Q(panel__isnull=True)),
                name="known_panel_exactly_for_gold",
            ),
            models.CheckConstraint(
                condition=Q(retired_at__isnull=True) | ~Q(retired_because=""), name="known_retired_with_reason"
            ),
        ]
        indexes = [
            models.Index(
                fields=["use", "uses", "id"],
                name="known_usable",
                condition=Q(retired_at__isnull=True, held_at__isnull=True),
            )
        ]

    def __str__(self) -> str:
        return f"{self.use}: {self.topic}, image {self.image_id}"


class LessonSeen(models.Model):
    """A worked example of the tutorial that a tasker has gone through (R5)."""

    tasker = models.ForeignKey(Tasker, on_delete=models.PROTECT, related_name="lessons_seen", db_index=False)
    known = models.ForeignKey(KnownPicture, on_delete=models.PROTECT, related_name="+")
    seen_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["tasker", "known"], name="lesson_seen_once")]

    def __str__(self) -> str:
        return f"{self.tasker_id} saw {self.known_id}"


class QualificationAttempt(models.Model):
    """One attempt at the qualification (R5): `needed` of `size` fully right answers pass. A short one follows new
    instructions, or a rule of monitoring."""

    tasker = models.ForeignKey(Tasker, on_delete=models.PROTECT, related_name="attempts", db_index=False)
    number = models.PositiveSmallIntegerField()
    kind = models.CharField(max_length=5, choices=choices(AttemptKind))
    size = models.PositiveSmallIntegerField()
    needed = models.PositiveSmallIntegerField()
    instructions = models.PositiveSmallIntegerField()
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)
    passed = models.BooleanField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tasker", "number"], name="attempt_number_once"),
            models.UniqueConstraint(
                fields=["tasker"], condition=Q(finished_at__isnull=True), name="attempt_one_at_a_time"
            ),
            models.CheckConstraint(
                condition=Q(finished_at__isnull=True, passed__isnull=True)
                | Q(finished_at__isnull=False, passed__isnull=False),
                name="attempt_finished_is_decided",
            ),
        ]

    def __str__(self) -> str:
        return f"try {self.number} of {self.tasker_id}"


class QualificationItem(models.Model):
    """One picture of an attempt: the answers and their marks, null before. No tasker gets a picture twice (R8)."""

    public_id = models.UUIDField(unique=True, default=uuid.uuid4)
    attempt = models.ForeignKey(QualificationAttempt, on_delete=models.PROTECT, related_name="items", db_index=False)
    tasker = models.ForeignKey(Tasker, on_delete=models.PROTECT, related_name="+", db_index=False)
    known = models.ForeignKey(KnownPicture, on_delete=models.PROTECT, related_name="items")
    position = models.PositiveSmallIntegerField()
    tie_break = models.CharField(max_length=9, choices=choices(TieBreak))
    answers = models.JSONField(null=True)
    marks = models.JSONField(null=True)
    right = models.BooleanField(null=True)
    milliseconds = models.PositiveIntegerField(default=0)
    answered_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["attempt", "position"], name="item_position_once"),
            models.UniqueConstraint(fields=["tasker", "known"], name="item_fresh_for_tasker"),
        ]

    def __str__(self) -> str:
        return f"picture {self.position} of {self.attempt_id}"
