"""Model of the examinations that board members make before an award (R37)."""

from django.conf import settings
from django.db import models

from adjudication.models import Ruling
from labeling.models import Image
from scoring.models import Defense


class Examination(models.Model):
    """A board member's confirmation, after examining it, that a rejected picture is invalid (R37). Append-only but for
    forgetting the account.

    `defense` is the one whose award waits for it; `ruling` is the confirmed rejection: after another ruling the picture
    is examined again.
    """

    image = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="examinations")
    defense = models.ForeignKey(Defense, on_delete=models.PROTECT, related_name="examinations")
    confirmed_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    ruling = models.ForeignKey(Ruling, on_delete=models.PROTECT, null=True, related_name="examinations")
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["image", "defense", "ruling", "confirmed_by"], name="examination_once_per_member"
            )
        ]

    def __str__(self) -> str:
        return f"image {self.image_id} for {self.defense_id}"
