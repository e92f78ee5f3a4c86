"""Trials of a defense before publication (R31). Private pictures and answers are never shown."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from common.choices import choices
from labeling.enums import Label
from scoring.enums import RunState, TrialKind
from scoring.models.defenses import Defense
from scoring.models.leased import Leased, lease_while_running


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
