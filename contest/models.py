"""Teams, what they send, what breaks, and what is published."""

from functools import partial

from django.conf import settings
from django.db import models

from adjudication.models import Ruling
from common.ids import random_id
from labeling.models import Image
from scoring.models import Defense, Prediction


class Team(models.Model):
    """A team that attacks or defends."""

    public_id = models.CharField(max_length=16, unique=True, default=partial(random_id, "G", 5))
    name = models.CharField(max_length=80, unique=True)
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


class Member(models.Model):
    """A person in a team; one of them is its captain."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="members")
    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="membership")
    captain = models.BooleanField(default=False)

    def __str__(self) -> str:
        return f"{self.user_id} in {self.team_id}"


class Attack(models.Model):
    """A picture a team sent (R26). `received_at` is when the last byte had arrived (R23)."""

    public_id = models.CharField(max_length=16, unique=True, default=partial(random_id, "A", 8))
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="attacks")
    image = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="attacks")
    received_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "image"], name="attack_once_per_team_and_image")]

    def __str__(self) -> str:
        return self.public_id


class Break(models.Model):
    """A confident mistake of a defense on a valid image (R29): the ruling and the prediction that prove it."""

    defense = models.ForeignKey(Defense, on_delete=models.PROTECT, related_name="breaks")
    image = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="breaks")
    ruling = models.ForeignKey(Ruling, on_delete=models.PROTECT, related_name="breaks")
    prediction = models.ForeignKey(Prediction, on_delete=models.PROTECT, related_name="+")
    found_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["defense", "image", "ruling"], name="break_once_per_ruling"),
        ]

    def __str__(self) -> str:
        return f"image {self.image_id} breaks {self.defense_id}"


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
