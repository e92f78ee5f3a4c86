"""What is published of each week (R39), and how far the building of it is."""

from django.db import models
from django.db.models import Q

from common.choices import choices
from contest.enums import BuildState


class Release(models.Model):
    """A published part of the record of one week (R39). Part 0 is the release, part n its n-th errata."""

    week = models.CharField(max_length=8)
    part = models.PositiveSmallIntegerField(default=0)
    manifest_sha256 = models.CharField(max_length=64)
    previous_sha256 = models.CharField(max_length=64, blank=True)
    counts = models.JSONField()
    bytes = models.PositiveBigIntegerField()
    released_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["week", "part"], name="release_part_once")]

    @property
    def name(self) -> str:
        """Return the folder's name, for example `release-2026-W47-errata-1`."""
        return f"release-{self.week}" + (f"-errata-{self.part}" if self.part else "")

    def __str__(self) -> str:
        return self.name


class ReleaseBuild(models.Model):
    """A release on its way: `stage` in words, `done` of `total` steps of it. Ended with `release` or with `error`."""

    week = models.CharField(max_length=8)
    state = models.CharField(max_length=7, choices=choices(BuildState), default=BuildState.WAITING.value)
    stage = models.CharField(max_length=80, blank=True)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    asked_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    seen_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    error = models.TextField(blank=True)
    release = models.ForeignKey(Release, on_delete=models.PROTECT, null=True, related_name="builds")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["week"],
                condition=Q(state__in=[BuildState.WAITING.value, BuildState.RUNNING.value]),
                name="release_build_one_at_a_time",
            )
        ]

    def __str__(self) -> str:
        return f"{self.week} {self.state}"
