"""What the board decides beside pictures."""

from django.conf import settings
from django.db import models

from common.choices import choices
from contest.core.enums import DecisionKind
from policy.models import PolicyVersion


class BoardDecision(models.Model):
    """A decision of the board with its public reason. Append-only but for forgetting the account.

    `subject` names the rows it is about (`{"defense": [3, 4]}`), `details` what was decided about them. `case` is the
    motion that was carried (R21); decisions of before the board voted on them have none.
    """

    kind = models.CharField(max_length=8, choices=choices(DecisionKind))
    subject = models.JSONField()
    details = models.JSONField(default=dict)
    reason = models.TextField()
    policy = models.ForeignKey(PolicyVersion, on_delete=models.PROTECT, related_name="+")
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    decided_at = models.DateTimeField()
    case = models.ForeignKey("contest.Case", on_delete=models.PROTECT, null=True, related_name="made")

    class Meta:
        constraints = [models.CheckConstraint(condition=~models.Q(reason=""), name="board_decision_has_reason")]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"
