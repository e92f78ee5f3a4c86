"""Models: flags of gold pictures that may have leaked, and links between taskers (R6)."""

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from common.choices import choices
from labeling.enums import LinkKind
from labeling.models import KnownPicture, Tasker


class GoldFlag(models.Model):
    """A gold picture whose pass rate rose suddenly, with the figures: it may have leaked. Append-only."""

    known = models.ForeignKey(KnownPicture, on_delete=models.PROTECT, related_name="flags")
    figures = models.JSONField()
    flagged_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.known_id} flagged {self.flagged_at}"


class TaskerLink(models.Model):
    """Two taskers who may be one person, or copy from each other: while it lasts they are never on one panel.

    Found by the sweep (`suspected`, with its figures) or added by an organizer (`declared`).
    """

    first = models.ForeignKey(Tasker, on_delete=models.PROTECT, related_name="links_as_first", db_index=False)
    second = models.ForeignKey(Tasker, on_delete=models.PROTECT, related_name="links_as_second")
    kind = models.CharField(max_length=9, choices=choices(LinkKind))
    reason = models.TextField()
    figures = models.JSONField(default=dict)
    linked_at = models.DateTimeField()
    linked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    ended_at = models.DateTimeField(null=True)
    ended_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    ended_because = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(first__lt=F("second")), name="link_in_one_direction"),
            models.UniqueConstraint(
                fields=["first", "second"], condition=Q(ended_at__isnull=True), name="link_once_at_a_time"
            ),
            models.CheckConstraint(
                condition=Q(ended_at__isnull=True) | ~Q(ended_because=""), name="link_ended_with_reason"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.first_id} and {self.second_id}"
