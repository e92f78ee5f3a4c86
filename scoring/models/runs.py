"""Defenses, their runs over pictures, and what they answered."""

from functools import partial

from django.db import models
from django.db.models import Q

from common.choices import choices
from common.ids import random_id
from labeling.models import Image
from scoring.enums import Fault, Outcome, RunState


class Defense(models.Model):
    """A program that answers bird, bicycle or abstain (R28).

    `digest` pins exactly what runs: for a reference defense the SHA-256 of its code and weights. `demo` marks one
    that is no real contender, and every page says so. Another digest is another row: each version keeps its own
    predictions, and at most one version of a name is in force (published, not retired).
    """

    public_id = models.CharField(max_length=16, unique=True, default=partial(random_id, "D", 5))
    name = models.CharField(max_length=80)
    reference = models.CharField(max_length=40, blank=True)
    digest = models.CharField(max_length=80)
    description = models.TextField(blank=True)
    demo = models.BooleanField(default=False)
    created_at = models.DateTimeField()
    published_at = models.DateTimeField(null=True, blank=True)
    # When a newer version of the same name took its place; a retired version gets no new runs.
    retired_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["name", "digest"], name="defense_version_once"),
            models.UniqueConstraint(
                fields=["name"],
                condition=Q(published_at__isnull=False, retired_at__isnull=True),
                name="defense_one_version_in_force",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class PlanMark(models.Model):
    """How far the planning of one defense has come, so that a sweep with nothing to do reads next to nothing.

    Rulings up to `through_ruling` have their `rounds` rounds planned and are not looked at again. `seen_ruling` was
    the newest at `seen_at`; it becomes `through_ruling` only later, because a ruling with a lower number may still be
    on its way to be committed. The row is also the lock that lets one planner at a time plan for this defense.
    """

    defense = models.OneToOneField(Defense, on_delete=models.PROTECT, related_name="plan_mark")
    rounds = models.PositiveSmallIntegerField(default=0)
    through_ruling = models.BigIntegerField(default=0)
    seen_ruling = models.BigIntegerField(default=0)
    seen_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.defense_id} planned through ruling {self.through_ruling}"


class Run(models.Model):
    """One pass of a defense over a fixed plan of pictures (R29), done under a lease with fencing.

    `round` is 1..evaluation_runs, each with a fresh seed. A write needs the current `attempt`: a worker that lost its
    lease can change nothing.
    """

    defense = models.ForeignKey(Defense, on_delete=models.PROTECT, related_name="runs")
    round = models.PositiveSmallIntegerField()
    seed = models.BigIntegerField()
    batch_size = models.PositiveSmallIntegerField()
    state = models.CharField(max_length=8, choices=choices(RunState), default=RunState.QUEUED.value)
    attempt = models.PositiveSmallIntegerField(default=0)
    worker = models.CharField(max_length=80, blank=True)
    lease_until = models.DateTimeField(null=True)
    not_before = models.DateTimeField(null=True)
    fault = models.CharField(max_length=20, choices=choices(Fault), blank=True)
    fault_text = models.TextField(blank=True)
    device = models.CharField(max_length=120, blank=True)
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=~Q(state=RunState.RUNNING) | Q(lease_until__isnull=False), name="run_lease_while_running"
            )
        ]
        indexes = [
            models.Index(fields=["defense", "id"], name="run_queue", condition=Q(state=RunState.QUEUED)),
            models.Index(fields=["lease_until"], name="run_lease", condition=Q(state=RunState.RUNNING)),
            models.Index(fields=["finished_at"], name="run_finished", condition=Q(state=RunState.FINISHED)),
        ]

    def __str__(self) -> str:
        return f"run {self.pk} of {self.defense_id}, round {self.round}"


class RunItem(models.Model):
    """One picture in a run's plan. The pair of defense and picture gets each round once, whoever plans it."""

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="items")
    defense = models.ForeignKey(Defense, on_delete=models.PROTECT, related_name="+")
    round = models.PositiveSmallIntegerField()
    image = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="run_items")
    position = models.PositiveIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["defense", "image", "round"], name="run_item_once"),
            models.UniqueConstraint(fields=["run", "position"], name="run_item_position_once"),
        ]

    def __str__(self) -> str:
        return f"image {self.image_id} at {self.position} of run {self.run_id}"


class Prediction(models.Model):
    """What a defense answered for one picture in one run. Append-only.

    `answer` is -1 abstain, 0 bicycle, 1 bird; scores are informative. `batch` and `row` say where in the fixed plan
    the picture stood; `latency_us` is the wall time of its batch in microseconds.
    """

    item = models.OneToOneField(RunItem, on_delete=models.PROTECT)
    image = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="predictions")
    defense = models.ForeignKey(Defense, on_delete=models.PROTECT, related_name="predictions")
    round = models.PositiveSmallIntegerField()
    answer = models.SmallIntegerField(choices=[(o.value, o.name.lower()) for o in Outcome])
    score_bicycle = models.FloatField()
    score_bird = models.FloatField()
    pixels_sha256 = models.CharField(max_length=64)
    defense_digest = models.CharField(max_length=80)
    device = models.CharField(max_length=120)
    batch_size = models.PositiveSmallIntegerField()
    batch = models.PositiveIntegerField()
    row = models.PositiveSmallIntegerField()
    seed = models.BigIntegerField()
    attempt = models.PositiveSmallIntegerField()
    latency_us = models.PositiveIntegerField()
    predicted_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["defense", "image", "round"], name="prediction_once"),
        ]

    def __str__(self) -> str:
        return f"{self.defense_id} on image {self.image_id}, round {self.round}: {self.answer}"
