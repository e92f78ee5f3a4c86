"""Recorded versions of the policy."""

from django.conf import settings
from django.db import models


class PolicyVersion(models.Model):
    """One recorded version of the contest's policy; the newest in force is the one that decides.

    One that is to come is called back by a newer one that holds before it: rows are never changed. The migrations and
    programs record versions too, by nobody.
    """

    version = models.PositiveIntegerField(unique=True)
    numbers = models.JSONField()
    in_force_from = models.DateTimeField()
    reason = models.TextField()
    recorded_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    recorded_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"policy {self.version}"
