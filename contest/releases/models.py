"""Models of release builds and their progress, of subscribers, and of letters about releases (R39)."""

from functools import partial

from django.conf import settings
from django.db import models
from django.db.models import Q

from common.choices import choices
from common.ids import random_id
from contest.core.enums import BuildState
from contest.core.models import Release
from contest.outbox.models import Posted


class ReleaseBuild(models.Model):
    """A release on its way: `stage` in words, `done` of `total` steps of it. Ended with `release` or with `error`.

    `asked_by` is empty for a build that the sweep began. With `incomplete` an organizer allowed that it leaves out what
    still waits. `seen_at` is the last sign of life of the building process.
    """

    week = models.CharField(max_length=8)
    state = models.CharField(max_length=7, choices=choices(BuildState), default=BuildState.WAITING.value)
    stage = models.CharField(max_length=80, blank=True)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    asked_at = models.DateTimeField()
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    incomplete = models.BooleanField(default=False)
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


class Subscriber(models.Model):
    """An address that gets a letter about each release, since its owner confirmed it by a link.

    `key` is in the link that ends the subscription, in every letter.
    """

    email = models.EmailField(unique=True)
    key = models.CharField(max_length=24, unique=True, default=partial(random_id, "N", 20))
    confirmed_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"subscriber {self.pk}"


class Announcement(models.Model):
    """Records that the letters about a release were stored, once, for everybody subscribed by then."""

    release = models.OneToOneField(Release, on_delete=models.PROTECT, related_name="announcement")
    announced_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"announcement of {self.release_id}"


class ReleaseLetter(Posted):
    """One letter to one subscriber about one release."""

    announcement = models.ForeignKey(Announcement, on_delete=models.PROTECT, related_name="letters")
    subscriber = models.ForeignKey(Subscriber, on_delete=models.CASCADE, related_name="letters")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["announcement", "subscriber"], name="release_letter_once")]
        indexes = [models.Index(fields=["id"], name="release_letter_due", condition=Q(taken_at__isnull=True))]

    def __str__(self) -> str:
        return f"letter {self.pk}"
