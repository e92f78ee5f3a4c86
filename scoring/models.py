"""The models of scoring: work under a lease, defenses, runs and predictions, and trials."""

from functools import partial

from django.conf import settings
from django.db import models
from django.db.models import Q

from common.choices import choices
from common.ids import random_id
from labeling.enums import Label
from labeling.models import Image
from scoring.enums import DefenseAnswer, Fault, Likeness, RerunState, RunState, TrialKind

# Work under a lease ---------------------------------------------------------------------------------------------------


class Leased(models.Model):
    """A piece of work for one scorer at a time, with fencing: a write needs the current `attempt`.

    A scorer that lost its lease can change nothing. `tries` counts the platform's faults. `worker` is the
    name of the scorer (Scorer.name) that has it or had it last; `device` says what did the work, in words.
    """

    state = models.CharField(max_length=8, choices=choices(RunState), default=RunState.QUEUED.value)
    attempt = models.PositiveSmallIntegerField(default=0)
    tries = models.PositiveSmallIntegerField(default=0)
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
        abstract = True


def lease_while_running(name: str) -> models.CheckConstraint:
    """Return the constraint, called `name`, that work in progress has an end of its lease."""
    return models.CheckConstraint(condition=~Q(state=RunState.RUNNING) | Q(lease_until__isnull=False), name=name)


class Scorer(models.Model):
    """A process that scores: one name, one device, alive while `seen_at` is young.

    `held` says in words what it does now, empty when it waits. The row is only for the overview; leases decide.
    """

    name = models.CharField(max_length=80, unique=True)
    device = models.CharField(max_length=120)
    runtime = models.CharField(max_length=20)
    held = models.CharField(max_length=120, blank=True)
    started_at = models.DateTimeField()
    seen_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


# Defenses -------------------------------------------------------------------------------------------------------------


class Defense(models.Model):
    """A program that answers bird, bicycle or abstain (R28).

    `digest` pins exactly what runs: for a reference defense the SHA-256 of its code and weights, for a container
    `sha256:…` of its image. `image` is its name for a container engine (`sha256:…`, or `name@sha256:…` of a registry
    that the scorers reach), `archive` the SHA-256 of the image archive in the store, empty for a registry's. `layers`
    (digests of the image's file systems), `weights` and `source` (SHA-256 of the files handed in, the source as a zip
    in the store) are for finding copies. `demo` marks a defense that is no real contender, and every page says so.
    Another digest is another row: each version keeps its own predictions, and at most one version of a name is in
    force (published, not retired).
    """

    public_id = models.CharField(max_length=16, unique=True, default=partial(random_id, "D", 5))
    name = models.CharField(max_length=80)
    reference = models.CharField(max_length=40, blank=True)
    image = models.CharField(max_length=200, blank=True)
    archive = models.CharField(max_length=64, blank=True)
    digest = models.CharField(max_length=80)
    layers = models.JSONField(default=list, blank=True)
    weights = models.CharField(max_length=64, blank=True)
    source = models.CharField(max_length=64, blank=True)
    description = models.TextField(blank=True)
    demo = models.BooleanField(default=False)
    created_at = models.DateTimeField()
    published_at = models.DateTimeField(null=True, blank=True)
    # When a newer version of the same name took its place; a retired version gets no new runs.
    retired_at = models.DateTimeField(null=True, blank=True)
    # Read from a release of another database: its program is not here, so nothing is run.
    copied = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["name", "digest"], name="defense_version_once"),
            models.UniqueConstraint(
                fields=["name"],
                condition=Q(published_at__isnull=False, retired_at__isnull=True),
                name="defense_one_version_in_force",
            ),
            models.CheckConstraint(condition=Q(reference="") | Q(image=""), name="defense_one_way_to_run"),
        ]

    def __str__(self) -> str:
        return self.name


class FrameworkCheck(models.Model):
    """A person's answer to the question of R31 (4): is it readable TensorFlow, PyTorch, Caffe or NumPy? Append-only."""

    defense = models.ForeignKey(Defense, on_delete=models.PROTECT, related_name="framework_checks")
    passed = models.BooleanField()
    reason = models.TextField()
    checked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    checked_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.defense_id} {'passed' if self.passed else 'failed'} the framework check"


class CopyFlag(models.Model):
    """A defense that looks like another one with a trivial change, with the figures that say so. Append-only."""

    defense = models.ForeignKey(Defense, on_delete=models.PROTECT, related_name="copy_flags")
    original = models.ForeignKey(Defense, on_delete=models.PROTECT, related_name="+")
    likeness = models.CharField(max_length=8, choices=choices(Likeness))
    figures = models.JSONField()
    found_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["defense", "original", "likeness"], name="copy_flag_once"),
            models.CheckConstraint(condition=~Q(defense=models.F("original")), name="copy_flag_of_another"),
        ]

    def __str__(self) -> str:
        return f"{self.defense_id} looks like {self.original_id} by its {self.likeness}"


# Runs and predictions -------------------------------------------------------------------------------------------------


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
    """A set of repeated runs, which replaces the earlier answers all at once or not at all.

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
    with the runs of the same round beside them. `splits` counts how often a fault split its pictures off, `kills` the
    tries on which the program was killed, by itself or from outside.
    """

    defense = models.ForeignKey(Defense, on_delete=models.PROTECT, related_name="runs")
    rerun = models.ForeignKey(Rerun, on_delete=models.PROTECT, null=True, related_name="runs")
    round = models.PositiveSmallIntegerField()
    seed = models.BigIntegerField()
    batch_size = models.PositiveSmallIntegerField()
    fresh = models.BooleanField(default=False)
    splits = models.PositiveSmallIntegerField(default=0)
    kills = models.PositiveSmallIntegerField(default=0)

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
        # Which answer to a question is in force: looked up for every place in a plan.
        indexes = [models.Index(fields=["image", "defense", "round"], name="prediction_of_question")]

    def __str__(self) -> str:
        return f"{self.defense_id} on image {self.image_id}, round {self.round}: {self.answer}"


class SupersededPrediction(models.Model):
    """An answer that a re-run replaced. Append-only."""

    prediction = models.OneToOneField(Prediction, on_delete=models.PROTECT, related_name="superseded")
    by = models.OneToOneField(Prediction, on_delete=models.PROTECT, related_name="supersedes")
    rerun = models.ForeignKey(Rerun, on_delete=models.PROTECT, related_name="superseded")

    def __str__(self) -> str:
        return f"prediction {self.prediction_id} by {self.by_id}"


# Trials before publication (R31); private pictures and answers are never shown ----------------------------------------


class PrivateSet(models.Model):
    """A version of the private eligibility set (R31). Its pictures are not Images, so that nothing serves them."""

    number = models.PositiveSmallIntegerField(unique=True)
    note = models.TextField()
    # The folder or manifest that its pictures come from: an import goes on with the same alone. "" when unknown.
    path = models.TextField(default="")
    imported_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    imported_at = models.DateTimeField()
    # Until then pictures are still coming in; a complete set never changes.
    completed_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"private set {self.number}"


class PrivatePicture(models.Model):
    """One picture of a private set: the pixels lie in the private store under their hash, the class here."""

    private_set = models.ForeignKey(PrivateSet, on_delete=models.PROTECT, related_name="pictures")
    pixels_sha256 = models.CharField(max_length=64)
    label = models.CharField(max_length=7, choices=choices(Label))
    source = models.CharField(max_length=200)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["private_set", "pixels_sha256"], name="private_picture_once"),
            models.CheckConstraint(condition=Q(label__in=[each.value for each in Label]), name="private_picture_label"),
        ]

    def __str__(self) -> str:
        return f"{self.pixels_sha256} in {self.private_set_id}"


class Trial(Leased):
    """One pass of a defense over the pictures of its kind, whose result is totals (R31).

    `totals` is what may be shown; `log` is kept for a smoke test alone; `answers` holds a row for each answer
    (`scoring.trials.answers`), for the board's disputes and never shown. `private_set` is set for the kind that needs
    it.
    """

    defense = models.ForeignKey(Defense, on_delete=models.PROTECT, related_name="trials")
    kind = models.CharField(max_length=8, choices=choices(TrialKind))
    number = models.PositiveSmallIntegerField()
    private_set = models.ForeignKey(PrivateSet, on_delete=models.PROTECT, null=True, related_name="+")
    seed = models.BigIntegerField()
    batch_size = models.PositiveSmallIntegerField()
    totals = models.JSONField(default=dict, blank=True)
    log = models.TextField(blank=True)
    answers = models.BinaryField(default=bytes)
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")

    class Meta:
        constraints = [
            lease_while_running("trial_lease_while_running"),
            models.UniqueConstraint(fields=["defense", "kind", "number"], name="trial_number_once"),
            models.UniqueConstraint(
                fields=["defense", "kind"],
                condition=Q(state__in=[RunState.QUEUED.value, RunState.RUNNING.value]),
                name="trial_one_at_a_time",
            ),
            models.CheckConstraint(
                condition=Q(kind=TrialKind.PRIVATE.value, private_set__isnull=False)
                | (~Q(kind=TrialKind.PRIVATE.value) & Q(private_set__isnull=True)),
                name="trial_private_set",
            ),
        ]
        indexes = [models.Index(fields=["id"], name="trial_queue", condition=Q(state=RunState.QUEUED.value))]

    def __str__(self) -> str:
        return f"{self.kind} trial {self.number} of {self.defense_id}"
