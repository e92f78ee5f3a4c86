"""Runs of defenses over pictures, their predictions, and re-runs."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from common.choices import choices
from labeling.models import Image
from scoring.enums import DefenseAnswer, RerunState, RunState
from scoring.models.defenses import Defense
from scoring.models.leased import Leased, lease_while_running


class PlanningProgress(models.Model):
    """How far the planning of one defense has come, so that a sweep with nothing to do reads next to nothing.

    Rulings up to `through_ruling` have their `rounds` rounds planned and are not looked at again. `seen_ruling` was
    the newest at `seen_at`; it becomes `through_ruling` only later, because a ruling with a lower number may still be
    on its way to be committed. The row is also the lock that lets one planner at a time plan for this defense.
    """

    defense = models.OneToOneField(Defense, on_delete=models.PROTECT, related_name="+")
    rounds = models.PositiveSmallIntegerField(default=0)
    through_ruling = models.BigIntegerField(default=0)
    seen_ruling = models.BigIntegerField(default=0)
    seen_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.defense_id} planned through ruling {self.through_ruling}"


class Rerun(models.Model):
    """A set of runs done again, which replaces the answers before it all at once or not at all.

    Until it is applied its answers count for nothing; afterwards the older ones stay in the record as superseded.
    `scope` says which answers are meant (`scoring.rerun_scope.Scope`), and `kinds` how many there are of each kind that
    is planned apart: `[round, batch size, fresh, width of the pictures, answers]`.
    """

    defense = models.ForeignKey(Defense, on_delete=models.PROTECT, related_name="reruns")
    reason = models.TextField()
    scope = models.JSONField(default=dict)
    kinds = models.JSONField(default=list)
    state = models.CharField(max_length=9, choices=choices(RerunState), default=RerunState.RUNNING.value)
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    asked_at = models.DateTimeField()
    ended_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["defense"],
                condition=Q(state__in=[RerunState.PREPARING.value, RerunState.RUNNING.value]),
                name="rerun_one_at_a_time",
            )
        ]

    def __str__(self) -> str:
        return f"re-run {self.pk} of {self.defense_id}"


class Run(Leased):
    """One pass of a defense over a fixed plan of pictures (R29).

    `round` is 1..evaluation_runs, each with a fresh seed. A `fresh` run gets a process of its own; others may share one
    with the runs of the same round beside them. `splits` counts how often a fault parted its pictures.
    """

    defense = models.ForeignKey(Defense, on_delete=models.PROTECT, related_name="runs")
    rerun = models.ForeignKey(Rerun, on_delete=models.PROTECT, null=True, related_name="runs")
    round = models.PositiveSmallIntegerField()
    seed = models.BigIntegerField()
    batch_size = models.PositiveSmallIntegerField()
    fresh = models.BooleanField(default=False)
    splits = models.PositiveSmallIntegerField(default=0)

    class Meta:
        constraints = [lease_while_running("run_lease_while_running")]
        indexes = [
            models.Index(fields=["defense", "id"], name="run_queue", condition=Q(state=RunState.QUEUED)),
            models.Index(fields=["id"], name="run_turn", condition=Q(state=RunState.QUEUED)),
            models.Index(fields=["lease_until"], name="run_lease", condition=Q(state=RunState.RUNNING)),
            models.Index(fields=["finished_at"], name="run_finished", condition=Q(state=RunState.FINISHED)),
        ]

    def __str__(self) -> str:
        return f"run {self.pk} of {self.defense_id}, round {self.round}"


def _once(name: str) -> list[models.BaseConstraint]:
    """A pair of defense and picture has each round once: in the first runs, and in each set of runs done again."""
    fields = ["defense", "image", "round"]
    return [
        models.UniqueConstraint(fields=fields, condition=Q(rerun__isnull=True), name=f"{name}_once"),
        models.UniqueConstraint(fields=["rerun", *fields], condition=Q(rerun__isnull=False), name=f"{name}_rerun_once"),
    ]


class RunItem(models.Model):
    """One picture in a run's plan. The pair of defense and picture gets each round once, whoever plans it."""

    # Where an index of several columns begins with a column, it has none of its own: rows come by the million.
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="items", db_index=False)
    rerun = models.ForeignKey(Rerun, on_delete=models.PROTECT, null=True, related_name="+", db_index=False)
    defense = models.ForeignKey(Defense, on_delete=models.PROTECT, related_name="+")
    round = models.PositiveSmallIntegerField()
    image = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="run_items")
    position = models.PositiveIntegerField()

    class Meta:
        constraints = [
            *_once("run_item"),
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
    image = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="predictions", db_index=False)
    defense = models.ForeignKey(Defense, on_delete=models.PROTECT, related_name="predictions")
    rerun = models.ForeignKey(Rerun, on_delete=models.PROTECT, null=True, related_name="predictions", db_index=False)
    round = models.PositiveSmallIntegerField()
    answer = models.SmallIntegerField(choices=[(o.value, o.name.lower()) for o in DefenseAnswer])
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
    predicted_at = models.DateTimeField()

    class Meta:
        constraints = _once("prediction")
        # Which answer to a question is in force: asked for every place in a plan.
        indexes = [models.Index(fields=["image", "defense", "round"], name="prediction_of_question")]

    def __str__(self) -> str:
        return f"{self.defense_id} on image {self.image_id}, round {self.round}: {self.answer}"


class SupersededPrediction(models.Model):
    """An answer that a set of runs done again took the place of. Append-only."""

    prediction = models.OneToOneField(Prediction, on_delete=models.PROTECT, related_name="superseded")
    by = models.OneToOneField(Prediction, on_delete=models.PROTECT, related_name="supersedes")
    rerun = models.ForeignKey(Rerun, on_delete=models.PROTECT, related_name="superseded")

    def __str__(self) -> str:
        return f"prediction {self.prediction_id} by {self.by_id}"
