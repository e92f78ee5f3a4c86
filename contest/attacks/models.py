"""Models of daily quotas, perceptual hashes and near duplicates of attacks (R25, R26)."""

from django.conf import settings
from django.db import models

from contest.core.models import Team
from labeling.models import Image


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
