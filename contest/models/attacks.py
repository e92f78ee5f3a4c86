"""Attacks: pictures that teams sent, with the receipt that each got (R23-R26)."""

from functools import partial

from django.conf import settings
from django.db import models

from common.ids import random_id
from contest.models.teams import Team
from labeling.models import Image
from policy.models import PolicyVersion
from scoring.models import Defense


class Attack(models.Model):
    """A picture a team sent (R26). `received_at` is when the last byte had arrived (R23), `week` the one it fell in.

    `policy` is what the week, the quota and the size were decided by. `of_quota` says the how many-th of the team's day
    it was. Without targets it is meant for all staked defenses. `copy_of` is the first attack with the same pixels,
    another team's, which gets the credit. `upload` is common to the pictures that were sent together. `original_*` are
    of the file as this team sent it (R2); the picture has those of who has the credit.
    """

    public_id = models.CharField(max_length=16, unique=True, default=partial(random_id, "A", 8))
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="attacks")
    image = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="attacks")
    received_at = models.DateTimeField(db_index=True)
    week = models.CharField(max_length=8)
    policy = models.ForeignKey(PolicyVersion, on_delete=models.PROTECT, null=True, related_name="+")
    of_quota = models.PositiveSmallIntegerField(default=0)
    upload = models.CharField(max_length=32, blank=True)
    file_name = models.CharField(max_length=200, blank=True)
    original_sha256 = models.CharField(max_length=64, blank=True, default="", db_default="")
    original_format = models.CharField(max_length=8, blank=True, default="", db_default="")
    warnings = models.JSONField(default=list)
    copy_of = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="copies")
    targets = models.ManyToManyField(Defense, related_name="attacks", through="AttackTarget")
    sent_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    withdrawn_at = models.DateTimeField(null=True)
    withdrawn_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "image"], name="attack_once_per_team_and_image")]
        indexes = [models.Index(fields=["week", "id"], name="attack_of_week")]

    def __str__(self) -> str:
        return self.public_id


class AttackTarget(models.Model):
    """A staked defense that an attack was sent against."""

    attack = models.ForeignKey(Attack, on_delete=models.PROTECT)
    defense = models.ForeignKey(Defense, on_delete=models.PROTECT)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["attack", "defense"], name="attack_target_once")]

    def __str__(self) -> str:
        return f"{self.attack_id} at {self.defense_id}"


class QuotaDay(models.Model):
    """How many pictures a team sent on a calendar day of the contest's zone (R25). The row is the lock of the day."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="quota_days")
    day = models.DateField()
    used = models.PositiveSmallIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "day"], name="quota_day_once")]

    def __str__(self) -> str:
        return f"{self.used} of {self.team_id} on {self.day}"


class PictureHash(models.Model):
    """A perceptual hash of a picture: 64 bits, as a signed number."""

    image = models.OneToOneField(Image, on_delete=models.PROTECT, related_name="perceptual_hash")
    bits = models.BigIntegerField()

    def __str__(self) -> str:
        return f"{self.bits:016x} of {self.image_id}"


class NearDuplicate(models.Model):
    """Two pictures that look alike, the later one first: flagged, never refused (R26). `distance` is in bits."""

    image = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="near_duplicates")
    like = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="+")
    distance = models.PositiveSmallIntegerField()
    found_at = models.DateTimeField()
    seen_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    seen_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["image", "like"], name="near_duplicate_once")]

    def __str__(self) -> str:
        return f"{self.image_id} like {self.like_id}"
