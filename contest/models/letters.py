"""Letters to members of teams that are written down and not sent yet, or were."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from common.choices import choices
from contest.enums import LetterKind
from contest.models.teams import Team


class TeamLetter(models.Model):
    """One letter to one member of a team, written down together with what it tells of.

    `facts` is all that its text is made of, as it was then. `taken_at` is when a sweep took it to send it: then it is
    never sent again, unless the mail server refused it, which empties the field until `not_before`.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="letters")
    kind = models.CharField(max_length=20, choices=choices(LetterKind))
    facts = models.JSONField()
    made_at = models.DateTimeField()
    taken_at = models.DateTimeField(null=True)
    not_before = models.DateTimeField(null=True)
    tries = models.PositiveSmallIntegerField(default=0)

    class Meta:
        indexes = [models.Index(fields=["id"], name="team_letter_due", condition=Q(taken_at__isnull=True))]

    def __str__(self) -> str:
        return f"{self.kind} letter {self.pk}"
