"""What breaks a defense (R29)."""

from django.db import models

from adjudication.models import Ruling
from labeling.models import Image
from scoring.models import Defense, Prediction


class Break(models.Model):
    """A confident mistake of a defense on a valid image: the ruling and the prediction that prove it.

    It breaks the defense where an attack sent the image (R29): `contest.core.breaks` says which rows do.
    """

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
