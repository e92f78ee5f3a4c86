"""The model of recorded versions of the policy."""

from django.conf import settings
from django.db import models


class PolicyVersion(models.Model):
    """One recorded version of the contest's policy; the newest one whose time has come is in force.

    Rows are never changed: a future version is cancelled by a newer version that begins no later. Versions recorded by
    migrations and programs have no author.
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
