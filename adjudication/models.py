"""The model of rulings, the verdicts on pictures: rows are appended, never changed (R16)."""

from fractions import Fraction

from django.db import models
from django.db.models import F, Q

from adjudication.enums import DecidedBy, Verdict
from adjudication.wording import verdict_words
from common.choices import choices
from labeling.enums import Label
from labeling.models import Image, Panel
from policy.models import PolicyVersion


class Ruling(models.Model):
    """One ruling on one image; the one with the highest number is in force.

    `smallest_box_numerator/denominator` is the exact share of the image that the smallest box covers; both empty when
    nobody outlined anything.
    `response_ids` are the counted responses, in the order of their places.
    """

    image = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="rulings")
    number = models.PositiveSmallIntegerField()
    panel = models.ForeignKey(Panel, on_delete=models.PROTECT, related_name="rulings")
    verdict = models.CharField(max_length=8, choices=choices(Verdict))
    label = models.CharField(max_length=8, choices=choices(Label), blank=True)
    reasons = models.JSONField(default=list)
    smallest_box_numerator = models.BigIntegerField(null=True)
    smallest_box_denominator = models.BigIntegerField(null=True)
    policy = models.ForeignKey(PolicyVersion, on_delete=models.PROTECT, related_name="+")
    response_ids = models.JSONField()
    decided_at = models.DateTimeField(db_index=True)
    decided_by = models.CharField(max_length=8, choices=choices(DecidedBy))
    explanation = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["image", "number"], name="ruling_number_once"),
            models.CheckConstraint(
                condition=Q(verdict=Verdict.VALID) & ~Q(label="") | Q(verdict=Verdict.REJECTED, label=""),
                name="ruling_label_exactly_when_valid",
            ),
            models.CheckConstraint(
                condition=Q(decided_by=DecidedBy.RULES) | ~Q(explanation=""), name="ruling_of_board_explained"
            ),
            models.CheckConstraint(
                condition=Q(smallest_box_numerator__isnull=True, smallest_box_denominator__isnull=True)
                | Q(smallest_box_numerator__lte=F("smallest_box_denominator")),
                name="ruling_box_is_a_share",
            ),
        ]

    @property
    def smallest_box(self) -> Fraction | None:
        """Return the exact share of the image that the smallest box covers (R14); None where there is no box."""
        whole = self.smallest_box_denominator
        return Fraction(self.smallest_box_numerator or 0, whole) if whole else None

    @property
    def words(self) -> str:
        """Return the ruling in words, for example `valid, a bird` or `rejected: it is a depiction`."""
        return verdict_words(self.verdict, self.label, self.reasons)

    def __str__(self) -> str:
        return f"ruling {self.number} on image {self.image_id}: {self.verdict}"
