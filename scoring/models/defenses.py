"""Defenses, framework checks and copy flags."""

from functools import partial

from django.conf import settings
from django.db import models
from django.db.models import Q

from common.choices import choices
from common.ids import random_id
from scoring.enums import Likeness


class Defense(models.Model):
    """A program that answers bird, bicycle or abstain (R28).

    `digest` pins exactly what runs: for a reference defense the SHA-256 of its code and weights, for a container
    `sha256:…` of its image. `image` is what a container engine calls it (`sha256:…`, or `name@sha256:…` of a registry
    that the scorers reach), `archive` the SHA-256 of the image archive in the store, empty for a registry's. `layers`
    (digests of the image's file systems), `weights` and `source` (SHA-256 of the files handed in, the source as a zip
    in the store) are for telling copies. `demo` marks a defense that is no real contender, and every page says so.
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
