"""Models of submitted defenses, of the history of their stakes (R32, R33) and of warm-up measurements (R40)."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from common.choices import choices
from contest.core.enums import StakeEnd
from contest.core.models import Stake, Team
from scoring.models import Defense


class DefenseEntry(models.Model):
    """A defense as a team submitted it. `due_at`: by then it is published if it is eligible (R32).

    Without `opened_at` its source is closed: it can be attacked and staked and cannot win (R33). `training_code` is the
    SHA-256 of the submitted archive.
    """

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="entries")
    defense = models.OneToOneField(Defense, on_delete=models.PROTECT, related_name="entry")
    received_at = models.DateTimeField()
    due_at = models.DateTimeField()
    licence = models.CharField(max_length=200)
    training_code = models.CharField(max_length=64, blank=True)
    opened_at = models.DateTimeField(null=True)
    handed_in_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    withdrawn_at = models.DateTimeField(null=True)
    withdrawn_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")

    def __str__(self) -> str:
        return f"{self.defense_id} of {self.team_id}"


class StakeChange(models.Model):
    """The end of a stake as known from `known_at` on; empty fields if it was in force. Append-only.

    An overruled ruling can undo an end (R22): the stake has its present state, its changes have the history. A stake
    without changes was always as its own row says.
    """

    stake = models.ForeignKey(Stake, on_delete=models.PROTECT, related_name="changes")
    end = models.CharField(max_length=9, choices=choices(StakeEnd), blank=True)
    ended_at = models.DateTimeField(null=True)
    known_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(ended_at__isnull=True, end="") | (Q(ended_at__isnull=False) & ~Q(end="")),
                name="stake_change_ends_somehow",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.stake_id}: {self.end}"


class WarmupMeasurement(models.Model):
    """What the fixed attacks of the warm-up found about a defense (R40); the newest one is in force. Append-only.

    `worst_accuracy` is the accuracy at 80 % coverage, 0 to 1, where each picture counts with the worst answer that any
    attack got. `report` is the whole `report.json`.
    """

    defense = models.ForeignKey(Defense, on_delete=models.PROTECT, related_name="warmups")
    measured_at = models.DateTimeField()
    worst_accuracy = models.FloatField()
    report = models.JSONField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(worst_accuracy__gte=0, worst_accuracy__lte=1), name="warmup_accuracy_is_share"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.defense_id}: {self.worst_accuracy:.3f}"
